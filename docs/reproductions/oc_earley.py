r"""Each cause of oc-earley's findings, against the engine alone: its Vocabulary, Index, Guide and CompiledSchema.

Run with oc-earley 0.1.0 (Python 3.11, Linux x86-64) in an environment that has it:

    python docs/reproductions/oc_earley.py

Every block shows what the engine answers, what the exact answer is, and why. A vocabulary is a list of tokens, and EOS
is the id after the last of them. Where both answers are one, the comparison is marked `same`. The exit status is 0.
"""

import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.metadata import version

# This file has the name of the package that it imports: its own folder is not to be searched.
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:] = [folder for folder in sys.path if os.path.abspath(folder) != HERE]
oc_earley = import_module("oc_earley")

BYTES = [bytes([byte]) for byte in range(256)]
Cause = Callable[[], None]
CAUSES: list[Cause] = []


def cause(function: Cause) -> Cause:
    """List the function among the causes."""
    CAUSES.append(function)
    return function


def vocabulary(tokens: Sequence[bytes]) -> oc_earley.Vocabulary:
    """The engine's vocabulary of the tokens; EOS comes after them."""
    return oc_earley.Vocabulary(len(tokens), {token: [place] for place, token in enumerate(tokens)})


def of_pattern(pattern: str, tokens: Sequence[bytes] = BYTES) -> oc_earley.Guide:
    """A guide of a pattern."""
    return oc_earley.Guide(oc_earley.Index(pattern, vocabulary(tokens)))


def of_schema(schema: str) -> oc_earley.Guide:
    """A guide of a schema over single bytes."""
    return oc_earley.CompiledSchema.from_json_schema(schema, vocabulary(BYTES)).guide(32)


def allowed(pattern: str, tokens: Sequence[bytes], path: Sequence[bytes] = ()) -> list[str]:
    """The tokens that the engine allows after the path."""
    walker = of_pattern(pattern, tokens)
    for token in path:
        walker.advance(tokens.index(token))
    return sorted(ascii([*tokens, b"EOS"][number])[2:-1] for number in walker.get_tokens())


def writes(make: Callable[[str], oc_earley.Guide], source: str, text: str) -> str:
    """Whether the text can be written to its end, byte by byte, with every byte a token."""
    try:
        walker = make(source)
    except ValueError as error:
        return f"refused: {str(error)[:90]}"
    for place, byte in enumerate(text.encode()):
        if byte not in walker.get_tokens():
            return f"no, it stops after {text.encode()[:place]!r}"
        walker.advance(byte)
    return "yes" if walker.is_accepting() else "no, it is not whole"


def says(case: str, engine: object, exact: object, why: str) -> None:
    """One comparison; what comes after no or refused is the engine's own reason."""
    agree = engine == exact or (exact in ("no", "refused") and str(engine).startswith(str(exact)))
    print(f"  {case}\n    engine: {engine}\n    exact:  {exact}   [{'same' if agree else 'differs'}: {why}]")


@cause
def sorted_members() -> None:
    """Members come in the order of their names, whatever order the schema has: a choice."""
    schema = '{"type":"object","properties":{"b":{"type":"null"},"a":{"type":"null"}},"additionalProperties":false}'
    why = "members in the order of the schema"
    says(f'{schema}: {{"b":null,"a":null}}', writes(of_schema, schema, '{"b":null,"a":null}'), "yes", why)
    says(f'{schema}: {{"a":null,"b":null}}', writes(of_schema, schema, '{"a":null,"b":null}'), "no", why)
    schema = '{"const":{"b":1,"a":2}}'
    says(f'{schema}: {{"b":1,"a":2}}', writes(of_schema, schema, '{"b":1,"a":2}'), "yes", why)


@cause
def first_branch() -> None:
    """In a pattern, where an earlier branch of an alternation is whole, the later branches end."""
    says("a|ab after a", allowed("a|ab", [b"a", b"b"], [b"a"]), ["EOS", "b"], "ab is a member")
    says("ab|a after a", allowed("ab|a", [b"a", b"b"], [b"a"]), ["EOS", "b"], "the same language")
    pattern = r"0\t(?:\x00|.\n)"
    says(f"{pattern}: 0 TAB 00 0a", writes(of_pattern, pattern, "0\t\0\n"), "yes", "the dot takes U+0000")
    says('{"enum":[1,12]}: 12', writes(of_schema, '{"enum":[1,12]}', "12"), "yes", "schemas are not touched")


@cause
def lazy_quantifiers() -> None:
    """A lazy quantifier is read, and the text ends at the first place where it may."""
    says("a*: aa", writes(of_pattern, "a*", "aa"), "yes", "two letters a")
    says("a*?: aa", writes(of_pattern, "a*?", "aa"), "refused", "read as a*, it would be a member")


@cause
def control_characters() -> None:
    """A string of type string cannot hold U+007F to U+009F, though a constant can."""
    why = "RFC 8259 forbids U+0000 to U+001F alone"
    for text in ('"\x7f"', '"\x85"', '"\xa0"'):
        says(f'{{"type":"string"}}: {text!a}', writes(of_schema, '{"type":"string"}', text), "yes", why)
    says('{"const":"\\u007f"}: DEL', writes(of_schema, '{"const":"\\u007f"}', '"\x7f"'), "yes", why)


@cause
def exponents() -> None:
    """The exponent of a number must have a sign."""
    why = "RFC 8259: the sign is optional"
    says('{"type":"number"}: 0E0', writes(of_schema, '{"type":"number"}', "0E0"), "yes", why)
    says('{"type":"number"}: 0E+0', writes(of_schema, '{"type":"number"}', "0E+0"), "yes", why)


@cause
def constants() -> None:
    """Numbers in enum and const are written from a parsed value, and `0` and `-0.0` are one: a choice of spelling."""
    for text, written in (("-0.0", "0"), ("1.5e-05", "1.5e-5"), ("1e+16", "1e16")):
        schema = f'{{"const":{text}}}'
        says(f"{schema}: {text}", writes(of_schema, schema, text), "yes", "the spelling that the schema has")
        says(
            f"{schema}: {written}", writes(of_schema, schema, written), "no", "another spelling of the value"
        )
    schema = '{"enum":[0,-0.0]}'
    says(
        schema, writes(of_schema, schema, "0"), "yes", "JSON Schema: the entries should, not must, be unique"
    )


@cause
def unicode_classes() -> None:
    r"""`\d`, `\w` and `\s` are the Unicode classes of Rust's regex syntax: a choice."""
    for pattern, text in ((r"\d", "\u0660"), (r"\w", "é"), (r"\s", "\xa0")):
        says(f"{pattern}: {text!a}", writes(of_pattern, pattern, text), "no", "if the class is ASCII")


@cause
def escapes() -> None:
    r"""A string of type string has no `\u` escape, a constant has it where it must: a choice of spelling."""
    why = "RFC 8259: any character may be escaped"
    says('{"type":"string"}: "\\u0001"', writes(of_schema, '{"type":"string"}', '"\\u0001"'), "yes", why)
    why = "the one way to write U+0001"
    says(
        '{"enum":["\\u0001"]}: "\\u0001"', writes(of_schema, '{"enum":["\\u0001"]}', '"\\u0001"'), "yes", why
    )


@cause
def bounds_out_of_order() -> None:
    """`minItems` above `maxItems` compiles, and the guide allows nothing from the start."""
    schema = '{"type":"array","items":{"type":"null"},"minItems":3,"maxItems":2}'
    try:
        engine: object = of_schema(schema).get_tokens()
    except ValueError as error:
        engine = f"refused: {error}"
    says(f"{schema} at the start", engine, "refused", "no value is valid")


@cause
def many_optional_members() -> None:
    """The time and memory to compile double, and more, with every optional member."""
    for count in (8, 10, 12):
        members = {f"p{number}": {"type": "null"} for number in range(count)}
        begun = time.perf_counter()
        of_schema(json.dumps({"type": "object", "properties": members, "additionalProperties": False}))
        print(f"  {count} optional members\n    engine: {time.perf_counter() - begun:.2f} s")


@cause
def pattern_forms() -> None:
    """Patterns are Rust's regex syntax, which has forms that the suite's dialect refuses: a choice."""
    for pattern, text in (
        ("a**", "aa"),
        ("a++", "aa"),
        ("a{2}{3}", "aaaaaa"),
        ("a{1001}", "a" * 1001),
        (r"\p{L}", "é"),
        ("(?P<n>a)", "a"),
        ("(?i)a", "A"),
        ("a$", "a"),
    ):
        says(
            f"{pattern}: {text[:12]}", writes(of_pattern, pattern, text), "refused", "no form of the dialect"
        )


def main() -> None:
    """Run every cause."""
    print(f"oc-earley {version('oc_earley')}")
    for function in CAUSES:
        print(f"\n{function.__name__}: {function.__doc__}")
        function()


if __name__ == "__main__":
    main()
