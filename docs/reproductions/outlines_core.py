r"""Each cause of outlines-core's findings, against the engine alone: its Vocabulary, Index, Guide and json_schema.

Run with outlines-core 0.2.14 (Python 3.11, Linux x86-64) in an environment that has it:

    python docs/reproductions/outlines_core.py

Every block shows what the engine answers, what the exact answer is, and why. A vocabulary is a list of tokens, and EOS
is the id after the last of them. Where both answers are one, the comparison is marked `same`. The exit status is 0.
"""

import os
import sys
from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
from importlib.metadata import version

# This file has the name of the package that it imports: its own folder is not to be searched.
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:] = [folder for folder in sys.path if os.path.abspath(folder) != HERE]
outlines_core = import_module("outlines_core")
json_schema = import_module("outlines_core.json_schema")

Cause = Callable[[], None]
CAUSES: list[Cause] = []


def cause(function: Cause) -> Cause:
    """List the function among the causes."""
    CAUSES.append(function)
    return function


def guide(pattern: str, tokens: Sequence[bytes]) -> outlines_core.Guide:
    """A guide of the pattern over the tokens."""
    vocabulary = outlines_core.Vocabulary(len(tokens), {token: [place] for place, token in enumerate(tokens)})
    return outlines_core.Guide(outlines_core.Index(pattern, vocabulary))


def allowed(pattern: str, tokens: Sequence[bytes], path: Sequence[bytes] = ()) -> list[str]:
    """The tokens that the engine allows after the path."""
    walker = guide(pattern, tokens)
    for token in path:
        walker.advance(tokens.index(token))
    return shown(tokens[number] if number < len(tokens) else b"EOS" for number in walker.get_tokens())


def shown(tokens: Iterable[bytes]) -> list[str]:
    """Tokens as readable text, sorted."""
    return sorted(ascii(token)[2:-1] for token in tokens)


def pattern_of(schema: str) -> str:
    """The pattern that the engine writes for a schema, without white space, or the word refused."""
    try:
        return str(json_schema.build_regex_from_schema(schema, ""))
    except ValueError:
        return "refused"


def writes(pattern: str, text: str) -> str:
    """Whether the text can be written to its end, byte by byte, with every byte a token."""
    try:
        walker = guide(pattern, [bytes([byte]) for byte in range(256)])
    except ValueError:
        return "refused"
    for place, byte in enumerate(text.encode()):
        if byte not in walker.get_tokens():
            return f"no, it stops after {text.encode()[:place]!r}"
        walker.advance(byte)
    return "yes" if walker.is_finished() else "no, it is not whole"


def says(case: str, engine: object, exact: object, why: str) -> None:
    """One comparison; where the exact answer is no, a refusal agrees with it."""
    mark = (
        "same"
        if engine == exact or (exact == "no" and str(engine).startswith(("no", "refused")))
        else "differs"
    )
    print(f"  {case}\n    engine: {engine}\n    exact:  {exact}   [{mark}: {why}]")


@cause
def last_byte() -> None:
    """A token is left out when the text is whole before its last byte and not whole after it."""
    says("(12)* at the start", allowed("(12)*", [b"1", b"2"]), ["1", "EOS"], "12 is a member, so 1 may come")
    says(
        "the same with 12 as one token",
        allowed("(12)*", [b"1", b"2", b"12"]),
        ["1", "12", "EOS"],
        "before the last byte of 12 the text is 1, which is not whole, and 12 is kept",
    )
    tokens = [b"\xc3", b"\xa9", b"\xa9\xc3"]
    says(
        "é+ after c3",
        allowed("é+", tokens, [b"\xc3"]),
        shown([b"\xa9", b"\xa9\xc3"]),
        "a9 c3 ends the first é, where the text is whole, and begins another",
    )
    number = pattern_of('{"type":"number"}')
    says(
        '{"type":"number"} after 7',
        allowed(number, [b"7", b"."], [b"7"]),
        [".", "7", "EOS"],
        "7.7 is a number",
    )


@cause
def first_branch() -> None:
    """Where an earlier branch of an alternation is whole, the later branches end: leftmost-first matching."""
    says("a|ab after a", allowed("a|ab", [b"a", b"b"], [b"a"]), ["EOS", "b"], "ab is a member")
    says("ab|a after a", allowed("ab|a", [b"a", b"b"], [b"a"]), ["EOS", "b"], "the same language")
    says("a|ab at the start", allowed("a|ab", [b"a", b"ab"]), ["a", "ab"], "ab is a member")
    pattern = pattern_of('{"enum":[1,12]}')
    says('{"enum":[1,12]}: 12', writes(pattern, "12"), "yes", "12 is one of the two values")
    pattern = r"0\t(?:\x00|.\n)"
    says(
        f"{pattern} : 0 TAB 00 0a", writes(pattern, "0\t\0\n"), "yes", "the dot takes U+0000, and \\n follows"
    )


@cause
def lazy_quantifiers() -> None:
    """A lazy quantifier is read, and the text ends at the first place where it may."""
    says("a*: aa", writes("a*", "aa"), "yes", "two letters a")
    says(
        "a*?: aa",
        writes("a*?", "aa"),
        "refused",
        "read as a*, it would be a member: a* and a*? have the same",
    )
    says(
        "(?:a|b)+?: ab",
        writes("(?:a|b)+?", "ab"),
        "refused",
        "the same: without the lazy mark it is a member",
    )


@cause
def control_characters() -> None:
    """A JSON string cannot hold U+007F to U+009F."""
    string = pattern_of('{"type":"string"}')
    why = "RFC 8259 forbids U+0000 to U+001F alone"
    says('{"type":"string"}: "\\x7f"', writes(string, '"\x7f"'), "yes", why)
    says('{"type":"string"}: "\\x85"', writes(string, '"\x85"'), "yes", why)
    says('{"type":"string"}: "\\xa0"', writes(string, '"\xa0"'), "yes", why)


@cause
def exponents() -> None:
    """The exponent of a number must have a sign."""
    numbers = pattern_of('{"type":"array","items":{"type":"number"}}')
    says("an array of numbers: [0E0]", writes(numbers, "[0E0]"), "yes", "RFC 8259: the sign is optional")
    says("an array of numbers: [0E+0]", writes(numbers, "[0E+0]"), "yes", "the same number with its sign")


@cause
def constants() -> None:
    """Numbers in enum and const are written from a parsed value: a choice of spelling."""
    why = "the spelling that the schema has; the value is the same"
    for text in ("1.5e-05", "100000000000000000000000", "1e+16", "-0.0"):
        says(
            f'{{"enum":[{text}]}}',
            pattern_of(f'{{"enum":[{text}]}}'),
            f"({escaped(text)})",
            why,
        )


def escaped(text: str) -> str:
    """The number as a pattern, as the engine escapes it."""
    return "".join("\\" + character if character in ".+-" else character for character in text)


@cause
def large_integers() -> None:
    """An integer beyond 64 bits in enum or const is read as a double, and written as another value."""
    for text, written in (
        ("18446744073709551617", "1.8446744073709552e+19"),
        ("-9223372036854775809", "-9.223372036854776e+18"),
    ):
        pattern = pattern_of(f'{{"enum":[{text}]}}')
        says(f'{{"enum":[{text}]}}: {text}', writes(pattern, text), "yes", "the value")
        says(f'{{"enum":[{text}]}}: {written}', writes(pattern, written), "no", "another value")
    text = "18446744073709551615"
    says(
        f'{{"enum":[{text}]}}: {text}',
        writes(pattern_of(f'{{"enum":[{text}]}}'), text),
        "yes",
        "64 bits hold it",
    )


@cause
def names() -> None:
    """The name of a property is written into the pattern without its JSON escapes, though a string in enum has them."""
    pattern = pattern_of('{"type":"object","properties":{"q\\"":{"type":"null"}},"required":["q\\""]}')
    says(
        'property q" : {"q"":null}',
        writes(pattern, '{"q"":null}'),
        "no",
        "no JSON text",
    )
    says(
        'property q" : {"q\\"":null}', writes(pattern, '{"q\\"":null}'), "yes", "a quote in a name is escaped"
    )
    pattern = pattern_of('{"enum":["q\\""]}')
    says('{"enum":["q\\""]}: "q\\""', writes(pattern, '"q\\""'), "yes", "the same text as a value")


@cause
def open_objects() -> None:
    """An object without `properties` takes any members, JSON Schema's default, and the suite's is closed: a choice."""
    why = "if objects are closed"
    says('{"type":"object"}: {"a":1}', writes(pattern_of('{"type":"object"}'), '{"a":1}'), "no", why)
    schema = '{"type":"object","properties":{}}'
    says(f'{schema}: {{"a":1}}', writes(pattern_of(schema), '{"a":1}'), "no", why)
    schema = '{"type":"object","additionalProperties":false}'
    says(schema, pattern_of(schema), r"\{\}", "one value is valid: the object without members")


@cause
def unicode_classes() -> None:
    r"""`\d`, `\w` and `\s` are the Unicode classes of Rust's regex syntax: a choice."""
    for pattern, text in ((r"\d", "\u0660"), (r"\w", "é"), (r"\s", "\xa0")):
        says(
            f"{pattern}: {text!a}",
            writes(pattern, text),
            "no",
            "if the class is ASCII",
        )


@cause
def escapes() -> None:
    r"""A string of type string has no `\u` escape, a string in enum has it where it must: a choice of spelling."""
    string = pattern_of('{"type":"string"}')
    says(
        '{"type":"string"}: "\\u0001"',
        writes(string, '"\\u0001"'),
        "yes",
        "RFC 8259: any character may be escaped",
    )
    pattern = pattern_of('{"enum":["\\u0001"]}')
    says(
        '{"enum":["\\u0001"]}: "\\u0001"', writes(pattern, '"\\u0001"'), "yes", "the one way to write U+0001"
    )


UNENFORCED = (
    ('{"type":"integer","minimum":10}', "9", "9 < 10"),
    ('{"type":"integer","maximum":10}', "11", "11 > 10"),
    ('{"type":"number","exclusiveMinimum":1}', "1", "1 is not above 1"),
    ('{"type":"number","exclusiveMaximum":1}', "1", "1 is not below 1"),
    ('{"type":"number","maximum":1.5}', "1.6", "1.6 > 1.5"),
    ('{"type":"integer","multipleOf":3}', "4", "4 is no multiple of 3"),
    ('{"type":"integer","multipleOf":3}', "-4", "nor is -4"),
    ('{"type":"array","items":{"type":"integer"},"uniqueItems":true}', "[1,1]", "two items are equal"),
    ('{"type":"array","items":{"type":"integer"},"contains":{"const":2}}', "[1]", "no item is 2"),
    ('{"oneOf":[{"type":"integer"},{"enum":[1,"a"]}]}', "1", "1 is valid under both"),
    ('{"type":"string","not":{"const":"a"}}', '"a"', "it is the one string excluded"),
    ('{"type":"string","anyOf":[{"const":"a"},{"const":1}]}', "1", "1 is no string"),
    ('{"type":"string","enum":["a",1]}', "1", "1 is no string"),
    ('{"type":"object","properties":{"a":{"type":"null"}},"minProperties":1}', "{}", "it has none"),
    (
        '{"type":"object","properties":{"a":{"type":"null"},"b":{"type":"null"}},"maxProperties":1}',
        '{"a":null,"b":null}',
        "it has two",
    ),
    (
        '{"type":"object","propertyNames":{"enum":["a"]},"additionalProperties":{"type":"null"}}',
        '{"b":null}',
        "b is no name allowed",
    ),
    (
        '{"type":"object","properties":{"a":{"type":"null"},"b":{"type":"null"}},"dependentRequired":{"a":["b"]}}',
        '{"a":null}',
        "a needs b",
    ),
    ('{"type":"object","properties":{"a":{"type":"null"}},"required":["b"]}', '{"a":null}', "b is missing"),
)


@cause
def keywords() -> None:
    """These keywords are read, and texts of values that they forbid can be written."""
    for schema, text, why in UNENFORCED:
        inside = (
            f'{{"type":"object","properties":{{"v":{schema}}},"required":["v"],"additionalProperties":false}}'
        )
        says(f"v is {schema}: {text}", writes(pattern_of(inside), f'{{"v":{text}}}'), "no", why)


@cause
def empty_choice() -> None:
    """`enum` and `anyOf` without entries become a pattern whose one member is the empty text."""
    for schema in ('{"enum":[]}', '{"anyOf":[]}'):
        says(
            schema,
            allowed(pattern_of(schema), [b"a"]),
            "refused",
            "no value is valid, no text is empty",
        )


@cause
def key_twice() -> None:
    """Of a key that a schema gives twice the last is taken."""
    pattern = pattern_of('{"type":"null","type":"boolean"}')
    says('{"type":"null","type":"boolean"}', pattern, "refused", "RFC 8259: the names should be unique")


@cause
def malformed_keywords() -> None:
    """`required` that is no list is taken as if it were not there, and a negative `minItems` as if it were 0."""
    schema = '{"type":"object","properties":{"a":{"type":"null"}},"required":"a"}'
    says(schema, pattern_of(schema), "refused", "the value of required must be an array")
    schema = '{"type":"array","items":{"type":"null"},"minItems":-1}'
    says(schema, pattern_of(schema), "refused", "the value of minItems must not be negative")


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
        says(f"{pattern}: {text[:12]}", writes(pattern, text), "refused", "no form of the dialect")


def main() -> None:
    """Run every cause."""
    print(f"outlines-core {version('outlines_core')}")
    for function in CAUSES:
        print(f"\n{function.__name__}: {function.__doc__}")
        function()


if __name__ == "__main__":
    main()
