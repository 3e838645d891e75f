r"""Each cause of maskforge's findings, against the engine alone: its Vocabulary, Compiler and Session.

Run with maskforge 0.1.1 (Python 3.11, Linux x86-64) in an environment that has it:

    python docs/reproductions/maskforge.py

Every block shows what the engine answers, what the exact answer is, and why. The vocabulary is every single byte and
EOS, id 256. Where both answers are one, the comparison is marked `same`. The exit status is 0.
"""

import os
import sys
from collections.abc import Callable
from importlib import import_module
from importlib.metadata import version

# This file has the name of the package that it imports: its own folder is not to be searched.
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:] = [folder for folder in sys.path if os.path.abspath(folder) != HERE]
maskforge = import_module("maskforge")

EOS = 256
VOCABULARY = maskforge.Vocabulary.from_id_ordered_tokens(
    [*(bytes([byte]) for byte in range(256)), None], EOS, EOS + 1
)
Cause = Callable[[], None]
CAUSES: list[Cause] = []


def cause(function: Cause) -> Cause:
    """List the function among the causes."""
    CAUSES.append(function)
    return function


def told(schema: str, path: bytes = b"") -> str:
    """What the engine makes of a schema: refused, or what a session says and allows after the bytes of the path."""
    try:
        session = maskforge.Compiler.without_cache().compile(schema).bind(VOCABULARY).start_session()
        for byte in path:
            session.advance(byte)
    except maskforge.MaskforgeError as error:
        return f"refused: {error}"
    mask = bytearray(4 * session.mask_word_count)
    session.write_mask(mask)
    found = [number for number in range(EOS + 1) if mask[number // 8] >> (number % 8) & 1]
    shown = " ".join("EOS" if number == EOS else ascii(chr(number))[1:-1] for number in found)
    return f"is_dead {session.is_dead}, is_accepting {session.is_accepting}, allows: {shown or 'nothing'}"


def says(case: str, engine: str, exact: str, why: str) -> None:
    """One comparison; what comes after refused is the engine's own reason."""
    agree = engine == exact or (exact == "refused" and engine.startswith("refused"))
    print(f"  {case}\n    engine: {engine}\n    exact:  {exact}   [{'same' if agree else 'differs'}: {why}]")


@cause
def empty_enum() -> None:
    """`enum` without values compiles to a session that says at the start that it is dead: a choice."""
    why = "no value is valid; JSON Schema says that enum should, not must, have a value"
    says('{"enum":[]}', told('{"enum":[]}'), "refused", why)
    says('{"anyOf":[]}', told('{"anyOf":[]}'), "refused", "JSON Schema: it must have a branch")


@cause
def bounds_out_of_order() -> None:
    """`minItems` above `maxItems` compiles to a session that says at the start that it is dead: a choice."""
    schema = '{"type":"array","items":{"type":"null"},"minItems":3,"maxItems":2}'
    says(schema, told(schema), "refused", "no value is valid, and the schema is well formed")


@cause
def names_that_cannot_go_on() -> None:
    """Under some closed objects a name may have f0 to f4 in it, after which the mask is empty."""
    for kind in ('{"type":"array"}', '{"type":"string","pattern":"^b$"}'):
        schema = (
            f'{{"type":"object","properties":{{"ab":{kind}}},"required":["ab"],"additionalProperties":false}}'
        )
        for path, shown, rest in ((b'{"', '{"', "a"), (b'{"a', '{"a', "b")):
            live = rf"is_dead False, is_accepting False, allows: \\ {rest}"
            says(
                f"{schema} after {shown}", told(schema, path), live, "the one name is ab, or an escape of it"
            )
            why = "nothing can follow, and the session does not say that it is dead"
            says(f"{schema} after {shown} f1", told(schema, path + b"\xf1"), "refused", why)


@cause
def numbers_that_cannot_end() -> None:
    """Where a constant or a bound is a number, any number may be written; after a wrong one the output never ends."""
    for schema in ('{"enum":[1]}', '{"type":"number","minimum":3,"maximum":5}'):
        for text in (b"2", b"2 "):
            why = "no text that begins so is valid; white space goes on for ever, and is_dead is false"
            says(f"{schema} after {text.decode()!r}", told(schema, text), "refused", why)
    whole = r"is_dead False, is_accepting True, allows: \t \n \r   EOS"
    says("{\"enum\":[1]} after '1 '", told('{"enum":[1]}', b"1 "), whole, "white space, or the end")
    bounded = '{"type":"integer","minimum":3,"maximum":5}'
    says(f"{bounded} after '2'", told(bounded, b"2"), "refused", "no integer from 3 to 5 begins so")


def main() -> None:
    """Run every cause."""
    print(f"maskforge {version('maskforge')}")
    for function in CAUSES:
        print(f"\n{function.__name__}: {function.__doc__}")
        function()


if __name__ == "__main__":
    main()
