r"""Each cause of lm-format-enforcer's findings, against the engine alone: its parsers and its TokenEnforcer.

Run with lm-format-enforcer 0.11.3 and interegular 0.3.3 (Python 3.11, Linux x86-64) in an environment that has them:

    python docs/reproductions/lm_format_enforcer.py

Every block shows what the engine answers, what the exact answer is, and why. A vocabulary is a list of tokens, and EOS
is the id after the last of them. The engine is told the tokens' text and a decoder, both made as its integration with
Hugging Face's tokenizers makes them: bytes that are no UTF-8 become U+FFFD, and the decoder strips U+FFFD at the end.
Where both answers are one, the comparison is marked `same`. The engine logs to standard error. The exit status is 0.
"""

import time
from collections.abc import Callable, Sequence
from importlib.metadata import version
from itertools import pairwise
from typing import Any

from lmformatenforcer import CharacterLevelParser, JsonSchemaParser, RegexParser, TokenEnforcer
from lmformatenforcer.exceptions import LMFormatEnforcerException
from lmformatenforcer.tokenenforcer import TokenEnforcerTokenizerData

Cause = Callable[[], None]
CAUSES: list[Cause] = []
BYTES = [bytes([byte]) for byte in range(256)]
ASCII = [*BYTES[32:127], b"\t", b"\n", b"\r"]


def cause(function: Cause) -> Cause:
    """List the function among the causes."""
    CAUSES.append(function)
    return function


def data(tokens: Sequence[bytes]) -> TokenEnforcerTokenizerData:
    """The tokens as the engine takes them."""
    regular = [(number, token.decode("utf-8", "replace"), False) for number, token in enumerate(tokens)]

    def decoded(taken: list[int]) -> str:
        return b"".join(tokens[number] for number in taken).decode("utf-8", "replace").rstrip("\ufffd")

    return TokenEnforcerTokenizerData(regular, decoded, len(tokens), False, len(tokens) + 1)


def lists(parser: CharacterLevelParser, tokens: Sequence[bytes], path: Sequence[bytes]) -> list[set[bytes]]:
    """The tokens that the engine allows at the start and after each step of the path, as far as it can be taken."""
    enforcer = TokenEnforcer(data(tokens), parser)
    names = [*tokens, b"EOS"]
    found = []
    for length in range(len(path) + 1):
        answer = enforcer.get_allowed_tokens([tokens.index(token) for token in path[:length]])
        found.append({names[number] for number in answer.allowed_tokens})
        if length < len(path) and path[length] not in found[-1]:
            break
    return found


def allowed(parser: CharacterLevelParser, tokens: Sequence[bytes], path: Sequence[bytes] = ()) -> str:
    """The tokens that the engine allows after the path, in ASCII."""
    found = lists(parser, tokens, path)
    if len(found) <= len(path):
        return f"{path[len(found) - 1]!r} is not allowed"
    shown = sorted(ascii(token)[2:-1] for token in found[-1])
    return " ".join(shown) if 0 < len(shown) <= 12 else f"{len(shown)} tokens" if shown else "nothing"


def writes(parser: CharacterLevelParser, text: str) -> str:
    """Whether the text can be written to its end, each of its characters and each of ASCII's a token."""
    path = [character.encode() for character in text]
    found = lists(parser, [*ASCII, *sorted({*path} - {*ASCII})], path)
    if len(found) <= len(path):
        return f"no, it stops after {text[: len(found) - 1]!a}"
    return "yes" if b"EOS" in found[-1] else "no, it is not whole"


def says(case: str, engine: str, exact: str, why: str) -> None:
    """One comparison; what comes after no or refused is the engine's own reason."""
    agree = engine == exact or (exact in ("no", "refused") and engine.startswith(exact))
    print(f"  {case}\n    engine: {engine}\n    exact:  {exact}   [{'same' if agree else 'differs'}: {why}]")


def schema_writes(schema: dict[str, Any], text: str, exact: str, why: str) -> None:
    """One comparison of whether a text can be written under a schema."""
    says(f"{schema}: {text!a}", writes(JsonSchemaParser(schema), text), exact, why)


def pattern_writes(pattern: str, text: str, exact: str, why: str) -> None:
    """One comparison of whether a text can be written under a pattern."""
    says(f"{pattern}: {text[:12]!a}", writes(RegexParser(pattern), text), exact, why)


@cause
def piece_is_replacement() -> None:
    """A token that is no UTF-8 by itself is matched as the character U+FFFD."""
    why = "no character begins with a9 or ff"
    for pattern in (".", r"[^\x00-\x7f]"):
        says(f"{pattern} at the start", allowed(RegexParser(pattern), [b"\xa9", b"\xff"]), "nothing", why)
    string, tokens = {"type": "string"}, [b'"', b"\xa9"]
    found = allowed(JsonSchemaParser(string), tokens, [b'"', b"\xa9", b'"'])
    says(f'{string} after " a9 "', found, r"b'\xa9' is not allowed", why)
    why = "c3 a9 is é; the README says that only characters that are tokens can be generated"
    says("é at the start", allowed(RegexParser("é"), [b"\xc3", b"\xa9"]), r"\xc3", why)
    why = "c3 begins U+00C0 to U+00FF"
    says(
        r"[\x00-\xff]* at the start",
        allowed(RegexParser(r"[\x00-\xff]*"), [b"\xc3", b"a"]),
        r"EOS \xc3 a",
        why,
    )


@cause
def piece_adds_nothing() -> None:
    """After a token that ends inside a character the parser stands where it stood before."""
    tokens = [b"\xc3", b"\xa9", b"b"]
    why = "c3 alone is no text, and only 80 to bf go on"
    says("[^a]* after c3", allowed(RegexParser("[^a]*"), tokens, [b"\xc3"]), r"\xa9", why)
    says(
        "[^a] after c3 c3 c3",
        allowed(RegexParser("[^a]"), tokens, [b"\xc3"] * 3),
        r"b'\xc3' is not allowed",
        why,
    )


@cause
def character_without_a_token() -> None:
    """In a JSON string, a character that pieces put together, and no token is by itself, ends the output there."""
    tokens, path = [b'"', b"\xd0", b"\xaf"], [b'"', b"\xd0", b"\xaf"]
    why = "the string is open; its end is a quote"
    string = {"type": "string"}
    says(f'{string} after " d0 af', allowed(JsonSchemaParser(string), tokens, path), r'" \xd0', why)
    tokens.append("Я".encode())
    found = allowed(JsonSchemaParser(string), tokens, path)
    says("the same, with a token Я", found, r'" \xd0 \xd0\xaf', "here af is matched as U+FFFD")


@cause
def long_token() -> None:
    """Where a token of about a thousand characters or more could come, the output ends: Python's recursion limit."""
    for length in (300, 3000):
        tokens = [b"a" * length, b"a"]
        found = lists(RegexParser("a*"), tokens, ())[0]
        shown = " ".join(sorted(f"a × {len(token)}" if token[:1] == b"a" else "EOS" for token in found))
        exact = f"EOS a × 1 a × {length}"
        says(
            f"a*, a token of {length} letters, at the start",
            shown,
            exact,
            "all are members; the log: RecursionError",
        )


@cause
def control_characters() -> None:
    """A JSON string takes raw control characters."""
    string = {"type": "string"}
    found = allowed(JsonSchemaParser(string), [b'"', b"\x01", b"\x7f"], [b'"', b"\x01", b'"'])
    says(f'{string} after " 01 "', found, r"b'\x01' is not allowed", "RFC 8259: U+0000 to U+001F are escaped")


@cause
def comma_before_the_end() -> None:
    """A comma may stand before the end of an object that has members left."""
    schema = {"type": "object", "properties": {"x": {"type": "integer"}, "y": {"type": "integer"}}}
    schema_writes(schema, '{"x":0,}', "no", "after a comma comes a name")
    schema_writes({}, '{"":0,}', "no", "after a comma comes a name; an open object has always members left")


@cause
def constants_that_are_no_strings() -> None:
    """A constant that is no string ends the output at the start."""
    for value, text in (
        ({"op": "set"}, '{"op":"set"}'),
        ([1], "[1]"),
        (1.5, "1.5"),
        (True, "true"),
        (None, "null"),
    ):
        found = lists(JsonSchemaParser({"const": value}), ASCII, ())[0]
        shown = " ".join(sorted(token.decode() for token in found))
        says(
            f"const {text} at the start", shown, f"{text[0]}, or a blank", "the log: no attribute startswith"
        )


@cause
def names_with_quotes() -> None:
    """Names and constants with a quote or a control character are matched as they are, not as JSON writes them."""
    schema = {"type": "object", "properties": {'q"': {"type": "null"}}}
    schema_writes(schema, '{"q\\"":null}', "yes", "the name as JSON writes it")
    schema_writes(schema, '{"q"', "no", "an open object; the log: KeyError 'q'")
    tokens = [b"{", b'"', b"q", b'":']
    found = allowed(JsonSchemaParser(schema), tokens, [b"{", b'"', b"q"])
    says('the same after {"q, with a token `":`', found, "nothing", "no token begins with a backslash")
    schema_writes({"enum": ['a"b']}, '"a\\"b"', "yes", "the value as JSON writes it")
    schema_writes({"enum": ['a"b']}, '"a"', "no", "another value")
    tokens = [b'"', b"\x01", b"\\", b"u", b"0", b"1"]
    found = allowed(JsonSchemaParser({"enum": ["\x01"]}), tokens, [b'"'])
    says('{"enum":["\\u0001"]} after "', found, "\\\\", "RFC 8259: U+0000 to U+001F are escaped")


@cause
def blanks_after_the_quote() -> None:
    """Blanks between the opening quote of a string and its first other character are taken and not counted."""
    schema_writes({"enum": [" b", "a"]}, '" a"', "no", "another value than the two")
    schema_writes({"enum": [" b", "a"]}, '" b"', "yes", "the first value")
    schema_writes({"type": "string", "maxLength": 1}, '"   a"', "no", "four characters are more than one")
    schema_writes({"type": "string", "minLength": 2}, '"  "', "yes", "two characters")
    found = allowed(JsonSchemaParser({"enum": ["\t", "/"]}), [b'"', b"\t", b"/"], [b'"', b"\t"])
    says('{"enum":["\\t","/"]} after " and a raw TAB', found, r"b'\t' is not allowed", "a TAB is escaped")


@cause
def lookahead() -> None:
    """Where a lookahead stands, every character is allowed, and a wrong one leaves the output with nothing to go on."""
    tokens = [b"a", b"b", b"c"]
    why = "no form of the dialect; no other character than b could follow"
    says("a(?=b) after a", allowed(RegexParser("a(?=b)"), tokens, [b"a"]), "refused", why)
    says(
        "a(?=b) after a c",
        allowed(RegexParser("a(?=b)"), tokens, [b"a", b"c"]),
        "refused",
        "a c is no prefix",
    )
    says("(?!a)b after a", allowed(RegexParser("(?!a)b"), tokens, [b"a"]), "refused", "b is the one text")


@cause
def empty_set() -> None:
    """`[]` is a set of no characters, which allows nothing."""
    says("[] at the start", allowed(RegexParser("[]"), [b"]", b"a"]), "refused", "no text is a member")


@cause
def pattern_forms() -> None:
    """Patterns are interegular's, which have forms that the suite's dialect refuses: a choice."""
    for pattern, text in (
        ("a**", "aa"),
        ("a*?", "aa"),
        ("a++", "aa"),
        ("a{2}{3}", "aaaaaa"),
        ("a{1001}", "a" * 1001),
        ("(?P<n>a)", "a"),
        ("(?i)a", "A"),
    ):
        pattern_writes(pattern, text, "refused", "no form of the dialect")


@cause
def bounds_of_arrays() -> None:
    """`minItems` above `maxItems`, and a negative `minItems`, are read; of the first, the smaller counts."""
    nulls = {"type": "array", "items": {"type": "null"}}
    schema_writes(nulls | {"minItems": 3, "maxItems": 2}, "[null,null]", "refused", "no value is valid")
    schema_writes(nulls | {"minItems": -1}, "[]", "refused", "JSON Schema: a non-negative integer")


@cause
def refused_while_writing() -> None:
    """`pattern` beside `maxLength` is refused when the string is near, not when the schema is read."""
    schema = {"type": "object", "properties": {"v": {"type": "string", "pattern": "^[ab]*$", "maxLength": 2}}}
    parser, path = JsonSchemaParser(schema), [b"{", b'"', b"v", b'"', b":"]
    try:
        answer = allowed(parser, ASCII, path)
    except LMFormatEnforcerException as error:
        answer = f"refused: {str(error)[:70]}"
    says("JsonSchemaParser(schema)", "read", "refused", "or read, and enforced to the end")
    says('after {"v":', answer, '" or a blank', "what the schema allows")


@cause
def keywords_without_effect() -> None:
    """Bounds of numbers, uniqueItems, contains, prefixItems, not, and rules on members are read and change nothing."""
    nulls = {"a": {"type": "null"}, "b": {"type": "null"}}
    closed = {"type": "object", "additionalProperties": False}
    for schema, text in (
        ({"type": "integer", "minimum": 10}, "9"),
        ({"type": "number", "minimum": 100}, "9e1"),
        ({"type": "integer", "maximum": 10}, "11"),
        ({"type": "number", "maximum": 1.5}, "1.6"),
        ({"type": "number", "exclusiveMinimum": 1}, "1"),
        ({"type": "number", "exclusiveMaximum": 1}, "1"),
        ({"type": "integer", "multipleOf": 3}, "4"),
        ({"type": "integer", "multipleOf": 3}, "-4"),
        ({"type": "array", "items": {"type": "integer"}, "uniqueItems": True}, "[1,1]"),
        ({"type": "array", "items": {"type": "integer"}, "contains": {"const": 2}}, "[1]"),
        ({"type": "array", "prefixItems": [{"type": "null"}], "items": False}, "[1]"),
        ({"type": "string", "not": {"const": "a"}}, '"a"'),
        (closed | {"properties": nulls, "minProperties": 1}, "{}"),
        (closed | {"properties": nulls, "maxProperties": 1}, '{"a":null,"b":null}'),
        (closed | {"patternProperties": {"^a": {"type": "null"}}}, '{"ab":1}'),
        (
            {"type": "object", "propertyNames": {"enum": ["a"]}, "additionalProperties": {"type": "null"}},
            '{"b":null}',
        ),
        (closed | {"properties": nulls, "dependentRequired": {"a": ["b"]}}, '{"a":null}'),
    ):
        schema_writes(schema, text, "no", "the schema excludes it")


@cause
def time_of_large_classes() -> None:
    """Where most characters are allowed, the time for a list grows with the square of the number of tokens."""
    for size in (500, 1000, 2000):
        letters = [chr(0x4E00 + number) for number in range(size + 1)]
        tokens = [letter.encode() for letter in letters]
        tokens += [(first + second).encode() for first, second in pairwise(letters)]
        begun = time.perf_counter()
        lists(RegexParser("[^a]*"), tokens, ())
        seconds = time.perf_counter() - begun
        print(
            f"  [^a]* at the start, {len(tokens)} tokens\n    engine: {seconds:.2f} s   [exact: all, and EOS]"
        )


@cause
def integers() -> None:
    """An integer may have a fraction after `-0`, and an exponent below zero; found by hand."""
    schema_writes({"type": "integer"}, "-0.5", "no", "no integer")
    schema_writes({"type": "integer"}, "1e-5", "no", "no integer")
    schema_writes({"type": "number"}, "1.e5", "no", "RFC 8259: a digit follows the point")


@cause
def no_items() -> None:
    """`maxItems` 0 allows an item; found by hand."""
    schema_writes({"type": "array", "items": {"type": "null"}, "maxItems": 0}, "[null]", "no", "one item")


def main() -> None:
    """Run every cause."""
    print(f"lm-format-enforcer {version('lm-format-enforcer')}, interegular {version('interegular')}")
    for function in CAUSES:
        print(f"\n{function.__name__}: {function.__doc__}")
        function()


if __name__ == "__main__":
    main()
