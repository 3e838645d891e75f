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
    """Under some closed objects a name may begin with f0 to f4, after which the mask is empty; found by hand."""
    for kind in ('{"type":"array"}', '{"type":"string","pattern":"^b$"}'):
        schema = (
            f'{{"type":"object","properties":{{"a":{kind}}},"required":["a"],"additionalProperties":false}}'
        )
        live = r"is_dead False, is_accepting False, allows: \\ a"
        says(f'{schema} after {{"', told(schema, b'{"'), live, "the one name is a, or an escape of it")
        why = "nothing can follow, and the session does not say that it is dead"
        says(f'{schema} after {{" f1', told(schema, b'{"\xf1'), "refused", why)


def main() -> None:
    """Run every cause."""
    print(f"maskforge {version('maskforge')}")
    for function in CAUSES:
        print(f"\n{function.__name__}: {function.__doc__}")
        function()


if __name__ == "__main__":
    main()
