r"""Each cause of the findings of kbnf, and of formatron over it, against the two alone.

Run with kbnf 0.4.2 and formatron 0.5.0 (pydantic 2.14.4, Python 3.11, Linux x86-64) in an environment that has them:

    python docs/reproductions/kbnf.py

Every block shows what the engine answers, what the exact answer is, and why. The vocabulary is every single byte and
the longer tokens that a case names. formatron 0.5.0 imports `typing` from pydantic, which 2.14 does not have; it is put
there. formatron allows blanks between JSON's tokens: texts here have none. Where both answers are one, the comparison
is marked `same`. The exit status is 0.
"""

import json
import os
import sys
import time
import typing
from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.metadata import version

# This file has the name of a package that it imports: its own folder is not to be searched.
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:] = [folder for folder in sys.path if os.path.abspath(folder) != HERE]
import_module("pydantic").typing = typing
kbnf = import_module("kbnf")
formatter = import_module("formatron.formatter")
json_schema = import_module("formatron.schemas.json_schema")

BYTES = [bytes([byte]) for byte in range(256)]
Cause = Callable[[], None]
CAUSES: list[Cause] = []


def cause(function: Cause) -> Cause:
    """List the function among the causes."""
    CAUSES.append(function)
    return function


def vocabulary(tokens: Sequence[bytes]) -> kbnf.Vocabulary:
    """The engine's vocabulary of the tokens."""
    numbered = dict(enumerate(tokens))
    return kbnf.Vocabulary(
        {number: kbnf.Token(token) for number, token in numbered.items()},
        {number: token.decode("latin-1") for number, token in numbered.items()},
    )


def walked(grammar: str, *path: bytes, more: Sequence[bytes] = ()) -> str:
    """What the engine allows after the path, tokens that it refuses tried and passed over."""
    tokens = [*BYTES, *more]
    engine = kbnf.Engine(grammar, vocabulary(tokens))
    for token in path:
        try:
            engine.try_accept_new_token(tokens.index(token))
        except ValueError:
            continue
        except BaseException as error:  # a panic of the engine is no Exception
            return f"{type(error).__name__}: {error}"
    if engine.is_finished():
        return "finished"
    engine.compute_allowed_token_ids()
    numbers = engine.get_allowed_token_ids_from_last_computation()
    return " ".join(sorted(ascii(tokens[number])[2:-1] for number in numbers)) or "nothing"


def reads(grammar: str, text: str) -> str:
    """Whether the engine takes the text byte by byte, and is finished at its end."""
    try:
        return taken(kbnf.Engine(grammar, vocabulary(BYTES)), text)
    except ValueError as error:
        return f"refused: {error!s:.60}"


def taken(engine: kbnf.Engine, text: str) -> str:
    """Whether the engine takes the text byte by byte, and is finished at its end."""
    for place, byte in enumerate(text.encode()):
        if engine.is_finished():
            return f"no, it is finished after {text.encode()[:place]!r}"
        engine.compute_allowed_token_ids()
        if byte not in engine.get_allowed_token_ids_from_last_computation():
            return f"no, it stops after {text.encode()[:place]!r}"
        engine.try_accept_new_token(byte)
    return "yes" if engine.is_finished() else "no, it is not finished"


def writes(schema: str, text: str) -> str:
    """Whether formatron's grammar of the schema can write the text."""
    identity = {
        "$id": "https://example.com/s.json",
        "$schema": "https://json-schema.org/draft/2020-12/schema",
    }
    try:
        made = json_schema.create_schema({**identity, **json.loads(schema)})
        builder = formatter.FormatterBuilder()
        builder.append_str(f"{builder.json(made)}")
        grammar = builder.build(vocabulary(BYTES), lambda tokens: bytes(tokens).decode()).grammar_str
    except (ValueError, TypeError, AssertionError) as error:
        return f"refused: {type(error).__name__} {error!s:.60}"
    return taken(kbnf.Engine(grammar, vocabulary(BYTES)), text)


def says(case: str, engine: str, exact: str, why: str) -> None:
    """One comparison; what comes after no or refused is the engine's own."""
    agree = engine == exact or (exact == "no" and engine.startswith(("no", "refused")))
    print(f"  {case}\n    engine: {engine}\n    exact:  {exact}   [{'same' if agree else 'differs'}: {why}]")


@cause
def refused_token_moves() -> None:
    """A refused token moves the engine over the bytes of it that could come, though the error says it does not."""
    case, why = "start ::= 'ac'; take a, then ", "a refused token changes nothing"
    says(case + "x", walked("start ::= 'ac';", b"a", b"x"), "c", "x begins with no byte that may come")
    says(case + "cx", walked("start ::= 'ac';", b"a", b"cx", more=[b"cx"]), "c", why)
    case = "start ::= 'abcd'; take a, then bcx"
    says(case, walked("start ::= 'abcd';", b"a", b"bcx", more=[b"bcx"]), "b", why)


@cause
def refused_token_panics() -> None:
    """A refused token whose first bytes end a rule that began after the start makes the engine panic."""
    case = "start ::= 'a' m 'd'; m ::= #'n+' 'c'; take a, n, then cx"
    says(
        case,
        walked("start ::= 'a' m 'd'; m ::= #'n+' 'c';", b"a", b"n", b"cx", more=[b"cx"]),
        "c n",
        "cx is to be refused, and a refused token changes nothing",
    )


@cause
def first_whole_text() -> None:
    """The engine is finished at the first whole text, as its documentation says: it ends eagerly."""
    says("start ::= #'ab?'; after a", walked("start ::= #'ab?';", b"a"), "b, or the end", "ab is a member")
    says("start ::= #'ab?': ab", reads("start ::= #'ab?';", "ab"), "yes", "ab is a member")
    whole = walked("start ::= #'ab?';", b"ab", more=[b"ab"])
    says("the same after ab as one token", whole, "finished", "ab is a member that no other begins with")
    says("start ::= 'a' 'b'?: ab", reads("start ::= 'a' 'b'?;", "ab"), "yes", "the same without a regex")
    schema = '{"anyOf":[{"type":"integer"},{"type":"null"}]}'
    says(f"formatron, {schema}: 17", writes(schema, "17"), "yes", "17 is an integer")


@cause
def empty_text() -> None:
    """A text that is whole before any token is not seen as whole; the documentation has a note of this."""
    says(
        "start ::= #'a*'; at the start",
        walked("start ::= #'a*';"),
        "a, or the end",
        "the empty text is a member",
    )
    says("start ::= #'a*': the empty text", reads("start ::= #'a*';", ""), "yes", "it is a member")


@cause
def past_the_end() -> None:
    """A token that ends one whole text and begins a longer one is taken, and the engine is finished inside it."""
    more = [b"\xa9\xc3"]
    says(
        "start ::= #'é+'; c3, then a9 c3",
        walked("start ::= #'é+';", b"\xc3", b"\xa9\xc3", more=more),
        "\\xa9 \\xa9\\xc3",
        "the text is c3 a9 c3, which is not whole: its last character is cut",
    )
    case = "start ::= #'a|ab|abcd'; abc as one token"
    says(case, walked("start ::= #'a|ab|abcd';", b"abc", more=[b"abc"]), "d", "abc is not whole")


@cause
def unicode_classes() -> None:
    r"""`\d`, `\w` and `\s` are the Unicode classes of Rust's regex syntax: a choice."""
    for pattern, text in ((r"\\d", "\u0660"), (r"\\w", "é"), (r"\\s", "\xa0")):
        says(
            f"start ::= #'{pattern}': {text!a}",
            reads(f"start ::= #'{pattern}';", text),
            "no",
            "if it is ASCII",
        )


@cause
def optional_values() -> None:
    """formatron: of an optional member the value is optional, and the name is always written."""
    schema = '{"type":"object","properties":{"x":{"type":"integer"},"y":{"type":"integer"}}}'
    says(f'{schema}: {{"x":,"y":}}', writes(schema, '{"x":,"y":}'), "no", "no JSON text")
    says(f"{schema}: {{}}", writes(schema, "{}"), "yes", "both members are optional")
    says(f'{schema}: {{"y":1}}', writes(schema, '{"y":1}'), "yes", "x is optional")
    says(f'{schema}: {{"x":1,"y":2}}', writes(schema, '{"x":1,"y":2}'), "yes", "both members")


@cause
def bounded_items() -> None:
    """formatron: with `minItems` or `maxItems` the schema of the items is not read, and they are any JSON."""
    schema = '{"type":"array","items":{"type":"string"},"minItems":2,"maxItems":3}'
    says(f'{schema}: [1,{{}},"a"]', writes(schema, '[1,{},"a"]'), "no", "1 is no string")
    schema = '{"type":"array","items":{"type":"string"}}'
    says(f"{schema}: [1]", writes(schema, "[1]"), "no", "1 is no string")


@cause
def both_bounds() -> None:
    """formatron: with `minItems` and `maxItems` an array has more than `minItems` items."""
    schema = '{"type":"array","items":{"type":"string"},"minItems":2,"maxItems":3}'
    says(f'{schema}: ["a","b"]', writes(schema, '["a","b"]'), "yes", "two items are enough")
    says(f'{schema}: ["a","b","c"]', writes(schema, '["a","b","c"]'), "yes", "three are not too many")


@cause
def least_items() -> None:
    """formatron: with `minItems` alone there are no commas after the last item that must be there."""
    schema = '{"type":"array","items":{"type":"null"},"minItems":2}'
    says(f"{schema}: [null,nullnull]", writes(schema, "[null,nullnull]"), "no", "no JSON text")
    says(f"{schema}: [null,null,null]", writes(schema, "[null,null,null]"), "yes", "three are at least two")


@cause
def constant_objects() -> None:
    """formatron: objects in `const` lose their names, and arrays in them become a choice of their items."""
    schema = '{"const":{"op":1}}'
    says(f"{schema}: {{1}}", writes(schema, "{1}"), "no", "no JSON text")
    says(f'{schema}: {{"op":1}}', writes(schema, '{"op":1}'), "yes", "the constant")
    schema = '{"const":{"path":["a","b"]}}'
    says(f'{schema}: {{"a"}}', writes(schema, '{"a"}'), "no", "no JSON text")


@cause
def names_as_patterns() -> None:
    """formatron: names and constants are put into regexes as they are, and their characters and escapes act there."""
    schema = '{"type":"object","properties":{"a.b":{"type":"null"}},"required":["a.b"]}'
    says(f'{schema}: {{"a>b":null}}', writes(schema, '{"a>b":null}'), "no", "the name is a.b")
    schema = '{"type":"object","properties":{"a+b{2}":{"type":"null"}},"required":["a+b{2}"]}'
    says(f'{schema}: {{"aabb":null}}', writes(schema, '{"aabb":null}'), "no", "the name is a+b{2}")
    says(f'{schema}: {{"a+b{{2}}":null}}', writes(schema, '{"a+b{2}":null}'), "yes", "the name is a+b{2}")
    schema = '{"type":"array","items":{"enum":[2.5,"c*"]}}'
    says(f"{schema}: [2x5]", writes(schema, "[2x5]"), "no", "no JSON text")
    says(f'{schema}: [""]', writes(schema, '[""]'), "no", "the string is c*")
    schema, why = (
        '{"type":"array","items":{"enum":["\\t","\\u0001"]}}',
        "RFC 8259: U+0000 to U+001F are escaped",
    )
    says(f"{schema}: a raw TAB in quotes", writes(schema, '["\t"]'), "no", why)
    says(f'{schema}: ["\\t"]', writes(schema, '["\\t"]'), "yes", "the first value")


@cause
def names_without_escapes() -> None:
    """formatron: a quote in a name is written without its backslash."""
    schema = '{"type":"object","properties":{"q\\"":{"type":"null"}},"required":["q\\""]}'
    says(f'{schema}: {{"q"":null}}', writes(schema, '{"q"":null}'), "no", "no JSON text")
    says(f'{schema}: {{"q\\"":null}}', writes(schema, '{"q\\"":null}'), "yes", "a quote in a name is escaped")


@cause
def solidus() -> None:
    r"""formatron: a string without bounds cannot have the escape `\/`, and one with bounds can."""
    schema = '{"type":"array","items":{"type":"string"}}'
    says(f'{schema}: ["\\/"]', writes(schema, '["\\/"]'), "yes", "RFC 8259 has this escape")
    schema = '{"type":"array","items":{"type":"string","maxLength":2}}'
    says(f'{schema}: ["\\/"]', writes(schema, '["\\/"]'), "yes", "RFC 8259 has this escape")


@cause
def open_objects() -> None:
    """formatron: an object without `properties` takes any members: JSON Schema's default, and the suite's is closed."""
    says('{"type":"object"}: {"a":1}', writes('{"type":"object"}', '{"a":1}'), "no", "if objects are closed")
    schema = '{"type":"object","additionalProperties":false}'
    says(f'{schema}: {{"a":1}}', writes(schema, '{"a":1}'), "no", "no member is allowed, and that is said")


@cause
def many_optional_members() -> None:
    """formatron: the time to compile doubles, and more, with every optional member; in kbnf, with every `?`."""
    known = vocabulary(BYTES)
    for count in (6, 8, 10):
        begun = time.perf_counter()
        schema = {"type": "object", "properties": {f"p{number}": {"type": "null"} for number in range(count)}}
        writes(json.dumps(schema), "{")
        seconds = time.perf_counter() - begun
        print(f"  formatron, {count} optional members\n    engine: {seconds:.2f} s")
    for count in (10, 12, 14):
        begun = time.perf_counter()
        rules = "".join(f" m{number} ::= '{number};';" for number in range(count))
        kbnf.Engine(f"start ::= 'x' {' '.join(f'm{number}?' for number in range(count))};{rules}", known)
        seconds = time.perf_counter() - begun
        print(f"  kbnf, 'x' and {count} optional rules\n    engine: {seconds:.2f} s")


UNENFORCED = (
    ('{"items":{"type":"null"}}', "[1]", "1 is not null"),
    ('{"type":"integer","multipleOf":3}', "4", "4 is no multiple of 3"),
    ('{"type":"integer","multipleOf":3}', "-4", "nor is -4"),
    ('{"type":"array","items":{"type":"integer"},"uniqueItems":true}', "[1,1]", "two items are equal"),
    ('{"type":"array","items":{"type":"integer"},"contains":{"const":2}}', "[1]", "no item is 2"),
    ('{"oneOf":[{"type":"integer"},{"enum":[1,"a"]}]}', "1", "1 is valid under both"),
    ('{"allOf":[{"enum":["a","b"]},{"enum":["b","c"]}]}', '"a"', "a is in the first alone"),
    ('{"type":"string","not":{"const":"a"}}', '"a"', "it is the one string excluded"),
    ('{"if":{"type":"string"},"then":{"const":"a"}}', '"b"', "a string must be a"),
    ('{"type":"string","enum":["a",1]}', "1", "1 is no string"),
    (
        '{"type":"object","properties":{"a":{"type":"null"},"b":{"type":"null"}},"maxProperties":1}',
        '{"a":null,"b":null}',
        "it has two",
    ),
    (
        '{"type":"object","patternProperties":{"^a":{"type":"null"}},"additionalProperties":false}',
        '{"ab":1}',
        "ab begins with a, and 1 is not null",
    ),
    (
        '{"type":"object","propertyNames":{"enum":["a"]},"additionalProperties":{"type":"null"}}',
        '{"b":null}',
        "b is no name allowed",
    ),
    ('{"type":"object","properties":{"a":{"type":"null"}},"required":["b"]}', '{"a":null}', "b is missing"),
)


@cause
def keywords() -> None:
    """formatron: these keywords are read, and texts of values that they forbid can be written."""
    for schema, text, why in UNENFORCED:
        inside = (
            f'{{"type":"object","properties":{{"v":{schema}}},"required":["v"],"additionalProperties":false}}'
        )
        says(f"v is {schema}: {text}", writes(inside, f'{{"v":{text}}}'), "no", why)


@cause
def pattern_forms() -> None:
    """Patterns are Rust's regex syntax, which has forms that the suite's dialect refuses: a choice."""
    for pattern, text in (
        ("a**", "a"),
        ("a*?", "a"),
        ("a++", "a"),
        ("a{2}{3}", "aaaaaa"),
        ("a{1001}", "a" * 1001),
        (r"\\p{L}", "é"),
        ("(?P<n>a)", "a"),
        ("(?i)a", "A"),
        ("^a", "a"),
        (r"\\Aa", "a"),
        ("a$", "a"),
    ):
        says(
            f"#'{pattern}': {text[:12]}",
            reads(f"start ::= #'{pattern}';", text),
            "refused",
            "no form of the dialect",
        )


@cause
def anchors_inside() -> None:
    """A pattern with an anchor inside compiles, and after the first letter nothing is allowed."""
    says("start ::= #'a^b'; at the start", walked("start ::= #'a^b';"), "refused", "it has no member")
    says("start ::= #'a^b'; after a", walked("start ::= #'a^b';", b"a"), "refused", "it has no member")


def main() -> None:
    """Run every cause."""
    print(f"kbnf {version('kbnf')}, formatron {version('formatron')}")
    for function in CAUSES:
        print(f"\n{function.__name__}: {function.__doc__}")
        function()


if __name__ == "__main__":
    main()
