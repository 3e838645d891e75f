r"""Each cause of XGrammar's findings, against the engine alone: its TokenizerInfo, GrammarCompiler and GrammarMatcher.

Run with xgrammar 0.2.9 (Python 3.11, Linux x86-64) in an environment that has it:

    python docs/reproductions/xgrammar.py

Every block shows what the engine answers, what the exact answer is, and why. A vocabulary is a list of tokens, and EOS,
the stop id, is after the last of them. Schemas are compiled to compact JSON in the schema's order, not in strict mode.
Where both answers are one, the comparison is marked `same`. The engine warns on standard error. The exit status is 0.
"""

import os
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.metadata import version

# This file has the name of the package that it imports: its own folder is not to be searched.
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:] = [folder for folder in sys.path if os.path.abspath(folder) != HERE]
xgrammar = import_module("xgrammar")

BYTES = [bytes([byte]) for byte in range(256)]
Cause = Callable[[], None]
CAUSES: list[Cause] = []


def cause(function: Cause) -> Cause:
    """List the function among the causes."""
    CAUSES.append(function)
    return function


def compiler(tokens: Sequence[bytes], stops: Sequence[int] | None = None) -> xgrammar.GrammarCompiler:
    """A compiler over the tokens; EOS, an empty token after them, is the stop id unless others are named."""
    raw = [*tokens, b""]
    ends = [len(tokens)] if stops is None else list(stops)
    info = xgrammar.TokenizerInfo(raw, xgrammar.VocabType.RAW, vocab_size=len(raw), stop_token_ids=ends)
    return xgrammar.GrammarCompiler(info, max_threads=1)


def of_pattern(pattern: str, made: xgrammar.GrammarCompiler) -> xgrammar.GrammarMatcher:
    """A matcher of a pattern."""
    return xgrammar.GrammarMatcher(made.compile_regex(pattern))


def of_schema(schema: str, made: xgrammar.GrammarCompiler) -> xgrammar.GrammarMatcher:
    """A matcher of a schema's compact texts."""
    compiled = made.compile_json_schema(
        schema, any_whitespace=False, separators=(",", ":"), strict_mode=False
    )
    return xgrammar.GrammarMatcher(compiled)


Make = Callable[[str, xgrammar.GrammarCompiler], xgrammar.GrammarMatcher]


def masked(matcher: xgrammar.GrammarMatcher, size: int) -> list[int]:
    """The ids that the bitmask allows."""
    bitmask = xgrammar.allocate_token_bitmask(1, size)
    if not matcher.fill_next_token_bitmask(bitmask):
        return list(range(size))
    words = bitmask[0].tolist()
    return [number for number in range(size) if words[number // 32] >> (number % 32) & 1]


def allowed(make: Make, source: str, tokens: Sequence[bytes], path: Sequence[bytes] = ()) -> str:
    """The tokens that the bitmask allows after the path, in ASCII; runs of single bytes are told by their ends."""
    matcher = make(source, compiler(tokens))
    for token in path:
        assert matcher.accept_token(tokens.index(token)), token
    found = [[*tokens, b"EOS"][number] for number in masked(matcher, len(tokens) + 1)]
    shown = [ascii(token)[2:-1] for token in found]
    return " ".join(shown) if len(shown) <= 8 else f"{shown[0]} … {shown[-1]} ({len(shown)})"


def writes(make: Make, source: str, data: bytes) -> str:
    """Whether the text can be written to its end, byte by byte, with every byte a token."""
    try:
        matcher = make(source, compiler(BYTES))
    except RuntimeError as error:
        return f"refused: {str(error).strip()[:90]}"
    for place, byte in enumerate(data):
        if not matcher.accept_token(byte):
            return f"no, it stops after {data[:place]!r}"
    return "yes" if matcher.is_completed() else "no, it is not whole"


def says(case: str, engine: str, exact: str, why: str) -> None:
    """One comparison; what comes after no or refused is the engine's own reason."""
    agree = engine == exact or (exact in ("no", "refused") and engine.startswith(exact))
    print(f"  {case}\n    engine: {engine}\n    exact:  {exact}   [{'same' if agree else 'differs'}: {why}]")


@cause
def mask_past_the_end_of_a_loop() -> None:
    """Where a repeated class comes before another, the mask has tokens past the loop that accept_token refuses."""
    for pattern, token, why in (
        ("[a-z]+[.!?]", b"a\xe0", "e0 begins no character of the class"),
        (r"[a-z]+[\u2000-\u200a]b", b"a\n", "0a is the low byte of U+200A, not its UTF-8"),
        (r"\w+\s\w+", b"a(", "( is no white space; it is the low byte of U+2028, which is"),
    ):
        tokens = [b"a", token]
        says(f"{pattern} at the start", allowed(of_pattern, pattern, tokens), "a", why)
        taken = of_pattern(pattern, compiler(tokens)).accept_token(1)
        says(f"{pattern}: accept_token of {token!r}", str(taken), "False", "accept_token is right")


@cause
def encoded_surrogates() -> None:
    """The bytes of an encoded surrogate, ed a0 80 to ed bf bf, are a character."""
    why = "UTF-8 has no surrogates: after ed come 80 to 9f"
    says("[^a] after ed", allowed(of_pattern, "[^a]", BYTES, [b"\xed"]), r"\x80 … \x9f (32)", why)
    says("[^a]: ed a0 80", writes(of_pattern, "[^a]", b"\xed\xa0\x80"), "no", why)
    says(
        '{"type":"string"}: " ed a0 80 "',
        writes(of_schema, '{"type":"string"}', b'"\xed\xa0\x80"'),
        "no",
        why,
    )
    says("[^a]: f4 90 80 80", writes(of_pattern, "[^a]", b"\xf4\x90\x80\x80"), "no", "past U+10FFFF")


@cause
def dot_takes_newline() -> None:
    """A dot takes U+000A: a choice."""
    says(".: 0a", writes(of_pattern, ".", b"\n"), "no", "if a dot is every character but U+000A")


@cause
def unicode_space() -> None:
    r"""`\s` is the white space of ECMA-262, with U+00A0 and U+FEFF, and `\d` and `\w` are ASCII: a choice."""
    for text in ("\xa0", "\u2028", "\ufeff"):
        says(rf"\s: {text!a}", writes(of_pattern, r"\s", text.encode()), "no", "if the class is ASCII")
    says(r"\d: '\u0660'", writes(of_pattern, r"\d", "\u0660".encode()), "no", "the class is ASCII")


@cause
def minus_zero_integer() -> None:
    """An integer has no `-0`, a number has."""
    why = "RFC 8259 has -0, and 0 is an integer"
    says(
        '{"type":"integer"} after -',
        allowed(of_schema, '{"type":"integer"}', BYTES, [b"-"]),
        "0 … 9 (10)",
        why,
    )
    says('{"type":"number"}: -0', writes(of_schema, '{"type":"number"}', b"-0"), "yes", why)


@cause
def minus_zero_constant() -> None:
    """A constant `-0.0` is written `-0`, and `1.0` is written `1`: a choice of spelling."""
    for text in ("-0.0", "1.0"):
        schema = f'{{"const":{text}}}'
        says(
            f"{schema}: {text}", writes(of_schema, schema, text.encode()), "yes", "the spelling of the schema"
        )
        short = text[:-2].encode()
        says(
            f"{schema}: {short.decode()}",
            writes(of_schema, schema, short),
            "no",
            "another spelling of the value",
        )


@cause
def large_constants() -> None:
    """An integer of `enum` or `const` that does not fit 64 bits with a sign is written as the nearest double."""
    why = "the spelling of the schema"
    for text, written, value in (
        ("9223372036854775807", "9223372036854775807", "the largest of 64 bits with a sign"),
        ("100000000000000000000000", "1e+23", "the same value, spelled otherwise"),
        ("18446744073709551615", "1.8446744073709552e+19", "another value: 18446744073709552000"),
        ("12345678901234567890123", "1.2345678901234568e+22", "another value: 12345678901234568000000"),
    ):
        schema = f'{{"const":{text}}}'
        says(f"{schema}: {text}", writes(of_schema, schema, text.encode()), "yes", why)
        if written != text:
            says(f"{schema}: {written}", writes(of_schema, schema, written.encode()), "no", value)


@cause
def delete_in_constants() -> None:
    r"""U+007F in a constant is written `\u007f`; in a string of type string it may be itself: a choice of spelling."""
    schema = r'{"const":"\u007f"}'
    says(f"{schema}: DEL", writes(of_schema, schema, b'"\x7f"'), "yes", "the spelling of json.dumps")
    says(rf"{schema}: \u007f", writes(of_schema, schema, rb'"\u007f"'), "no", "another spelling of the value")
    says(
        '{"type":"string"}: DEL',
        writes(of_schema, '{"type":"string"}', b'"\x7f"'),
        "yes",
        "RFC 8259 allows it",
    )


@cause
def stop_id_with_text() -> None:
    """A stop id whose token has bytes is allowed where those bytes go on, and accepting it ends the output there."""
    tokens = [b"a", b"}"]
    matcher = of_pattern(r"a\}", compiler(tokens, stops=[1, 2]))
    matcher.accept_token(0)
    why = "a is not whole, and id 1 is an end, not text"
    says(r"a\}, stop ids 1 (`}`) and 2, after a", str(masked(matcher, 3)), "[]", why)
    taken = matcher.accept_token(1), matcher.is_terminated()
    says(
        "accept_token(1), is_terminated()",
        str(taken),
        "(False, False)",
        "the text so far is a, without its }",
    )


@cause
def anchors() -> None:
    """`^` and `$` are read and change nothing, in the middle as well."""
    for pattern, text in (("^a", "a"), ("a$", "a"), ("a^b", "ab")):
        why = "the dialect has no anchors" if "^b" not in pattern else "and no text has a start after a"
        says(f"{pattern}: {text}", writes(of_pattern, pattern, text.encode()), "refused", why)


@cause
def unknown_escapes() -> None:
    r"""A backslash before a letter that means nothing gives the letter, `\A` and `\Z` too; the engine warns."""
    for pattern, text in ((r"\q", "q"), (r"\Aa", "Aa"), (r"a\Z", "aZ")):
        says(
            f"{pattern}: {text}",
            writes(of_pattern, pattern, text.encode()),
            "refused",
            "no form of the dialect",
        )


@cause
def lazy_quantifiers() -> None:
    """A lazy quantifier is read as the quantifier: a choice."""
    says(
        "a*?: aa",
        writes(of_pattern, "a*?", b"aa"),
        "refused",
        "no form of the dialect; the language is that of a*",
    )


@cause
def large_counts() -> None:
    """A count over 1000 is read, and kept exactly: a choice."""
    says(
        "a{1001}: a, 1001 times",
        writes(of_pattern, "a{1001}", b"a" * 1001),
        "refused",
        "the dialect's limit is 1000",
    )
    says("a{1001}: a, 1000 times", writes(of_pattern, "a{1001}", b"a" * 1000), "no", "one too few")


@cause
def key_given_twice() -> None:
    """Of a key that a schema gives twice the last counts."""
    schema = '{"type":"null","type":"boolean"}'
    says(f"{schema}: true", writes(of_schema, schema, b"true"), "refused", "the suite reads no such JSON")


@cause
def empty_any_of() -> None:
    """`anyOf` without branches compiles, and the empty text is whole."""
    says(
        '{"anyOf":[]}: the empty text',
        writes(of_schema, '{"anyOf":[]}', b""),
        "refused",
        "no JSON text is empty",
    )


@cause
def negative_bound() -> None:
    """A negative `minItems` is read as none."""
    schema = '{"type":"array","items":{"type":"null"},"minItems":-1}'
    says(f"{schema}: []", writes(of_schema, schema, b"[]"), "refused", "JSON Schema: a non-negative integer")


def invalid(schema: str, text: str, why: str) -> None:
    """An instance that the schema does not allow."""
    says(f"{schema}: {text}", writes(of_schema, schema, text.encode()), "no", why)


@cause
def keywords_without_effect() -> None:
    """`uniqueItems`, `contains`, `not`, `if` with `then`, and `dependentRequired` are read and change nothing."""
    integers = '{"type":"array","items":{"type":"integer"}'
    invalid(integers + ',"uniqueItems":true}', "[1,1]", "1 comes twice")
    invalid(integers + ',"contains":{"const":2}}', "[1]", "no item is 2")
    invalid('{"type":"string","not":{"const":"a"}}', '"a"', "that value is excluded")
    invalid('{"if":{"type":"string"},"then":{"const":"a"}}', '"b"', "a string that is not a")
    members = '"properties":{"a":{"type":"null"},"b":{"type":"null"}},"dependentRequired":{"a":["b"]}'
    invalid(f'{{"type":"object",{members},"additionalProperties":false}}', '{"a":null}', "a without b")


@cause
def one_of() -> None:
    """`oneOf` whose branches overlap is read as `anyOf`; the engine warns."""
    invalid('{"oneOf":[{"type":"integer"},{"enum":[1,"a"]}]}', "1", "both branches hold")


@cause
def all_of() -> None:
    """`allOf` with several branches is read as any JSON; the engine warns."""
    schema = '{"allOf":[{"enum":["a","b"]},{"enum":["b","c"]}]}'
    invalid(schema, '"a"', "the second branch does not hold")
    invalid(schema, "null", "no branch holds")


@cause
def type_beside_a_choice() -> None:
    """A `type` beside `anyOf` or `enum` changes nothing."""
    invalid('{"type":"string","anyOf":[{"const":"a"},{"const":1}]}', "1", "1 is no string")
    invalid('{"type":"string","enum":["a",1]}', "1", "1 is no string")


@cause
def length_beside_a_pattern() -> None:
    """`maxLength` beside `pattern` changes nothing; the engine warns."""
    invalid('{"type":"string","pattern":"^[ab]*$","maxLength":2}', '"aba"', "three characters")


@cause
def lookahead_in_a_pattern() -> None:
    """A lookahead in the `pattern` of a schema changes nothing, though compile_regex refuses one; the engine warns."""
    invalid('{"type":"string","pattern":"^(?!a)[ab]*$"}', '"ab"', "it begins with a")
    says("(?!a)b: b", writes(of_pattern, "(?!a)b", b"b"), "refused", "no form of the dialect")


@cause
def required_without_a_schema() -> None:
    """A required name that `properties` does not have is not required, and cannot come first."""
    schema = '{"type":"object","properties":{"a":{"type":"null"}},"required":["b"]}'
    invalid(schema, '{"a":null}', "b is required")
    says(f'{schema}: {{"b":1}}', writes(of_schema, schema, b'{"b":1}'), "yes", "b is there, and of any value")
    invalid('{"type":"object","required":["b"]}', "{}", "b is required")


@cause
def name_by_escape() -> None:
    """In an object that is open, a name may be written once more with an escape, its value of any type."""
    schema = '{"type":"object","properties":{"a":{"type":"integer"}},"required":["a"]}'
    invalid(schema, '{"a":1,"\\u0061":"x"}', "a reader that takes the last of two reads a as x, no integer")
    invalid(schema, '{"a":1,"a":"x"}', "the same name, as it is")


def main() -> None:
    """Run every cause."""
    print(f"xgrammar {version('xgrammar')}")
    for function in CAUSES:
        print(f"\n{function.__name__}: {function.__doc__}")
        function()


if __name__ == "__main__":
    main()
