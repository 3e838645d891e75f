"""A JSON Schema's language as a z3 regular expression, straight from the schema and RFC 8259: no pattern in between.

Compact JSON, members in the order of `properties`. The shapes are other ones than a pattern writer would choose, so
that one slip cannot be made twice: strings come from Unicode scalar values through UTF-8, bounds count `(I,)ᵏ I`, an
object is the union over which member comes *first*, with every later one behind a comma. The values of `enum` and
`const` are what Python's `json.dumps` writes. The pitfall: a keyword this module does not know must never be passed
over, since it would widen the language unseen; it is an OracleError.
"""

import json
from collections.abc import Callable, Sequence
from typing import Any

import z3

from oracles.derivatives import is_member
from oracles.errors import OracleError
from oracles.z3_questions import TIMEOUT_MS, Outcome, confirmed, equal, is_in
from oracles.z3_reader import Regex, byte_set, concat, literal, regex_of, repeat, union, utf8

ANNOTATIONS = frozenset(
    (
        "title",
        "description",
        "default",
        "examples",
        "$schema",
        "$comment",
        "deprecated",
        "readOnly",
        "writeOnly",
    )
)


def schema_equals(schema: Any, pattern: str, timeout_ms: int = TIMEOUT_MS) -> Outcome:
    """The pattern (dialect bytes) has exactly the schema's texts as members, or a string that only one of them has."""
    return _equals(schema_regex(schema), pattern, timeout_ms)


def json_object_equals(depth: int, pattern: str, timeout_ms: int = TIMEOUT_MS) -> Outcome:
    """The pattern (dialect bytes) is exactly the JSON objects nested at most `depth` levels, or a witness."""
    return _equals(json_object(depth), pattern, timeout_ms)


def schema_regex(schema: Any) -> Regex:
    """The z3 regular expression of a schema of the subset."""
    if not isinstance(schema, dict):
        raise OracleError(f"schema {schema!r} is not an object")
    words = {key: value for key, value in schema.items() if key not in ANNOTATIONS}
    if "anyOf" in words:
        _only(words, {"anyOf"})
        return union([schema_regex(part) for part in _nonempty(words["anyOf"])])
    if "const" in words or "enum" in words:
        return _values(words)
    kind = words.get("type")
    if not isinstance(kind, str) or kind not in _KINDS:
        raise OracleError(f"schema type {kind!r} is not in the subset")
    known, build = _KINDS[kind]
    _only(words, known | {"type"})
    return build(words)


def json_object(depth: int) -> Regex:
    """Any JSON object in compact form, objects and arrays nested at most `depth` levels."""
    if depth < 1:
        raise OracleError(f"depth {depth}: an object is one level itself")
    leaves = [string(), number(), literal(b"true"), literal(b"false"), literal(b"null")]
    value = union(leaves)
    for _ in range(depth - 1):
        value = union([*leaves, _listed(b"[", value, b"]"), _listed(b"{", _entry(value), b"}")])
    return _listed(b"{", _entry(value), b"}")


def string() -> Regex:
    """A JSON string: scalars from U+0020 but `"` and the backslash, the short escapes, `u` and any four hex digits."""
    plain = union([utf8(0x20, 0x21), utf8(0x23, 0x5B), utf8(0x5D, 0x10FFFF)])
    hexadecimal = byte_set([(0x30, 0x39), (0x41, 0x46), (0x61, 0x66)])
    short = union([literal(bytes([byte])) for byte in b'"\\/bfnrt'])
    escape = concat([literal(b"\\"), union([short, concat([literal(b"u"), *[hexadecimal] * 4])])])
    return concat([literal(b'"'), z3.Star(union([plain, escape])), literal(b'"')])


def integer() -> Regex:
    """An optional minus, then 0 or digits that do not begin with 0."""
    nonzero = concat([byte_set([(0x31, 0x39)]), z3.Star(_digit())])
    return concat([z3.Option(literal(b"-")), union([nonzero, literal(b"0")])])


def number() -> Regex:
    """An integer, then digits after a point, then an exponent, the last two optional."""
    digits = z3.Plus(_digit())
    sign = z3.Option(union([literal(b"-"), literal(b"+")]))
    exponent = concat([union([literal(b"E"), literal(b"e")]), sign, digits])
    return concat([integer(), z3.Option(concat([literal(b"."), digits])), z3.Option(exponent)])


def written(value: Any) -> bytes:
    """The one compact text of a value: Python's json.dumps, non-ASCII raw."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()


def _equals(exact: Regex, pattern: str, timeout_ms: int) -> Outcome:
    """The derivative oracle judges the pattern's side of a witness; the schema's side is z3's ground evaluation."""
    outcome = equal(exact, regex_of(pattern), timeout_ms)
    return confirmed(outcome, lambda witness: is_in(witness, exact) != is_member(pattern, witness))


def _only(words: dict[str, Any], known: set[str] | frozenset[str]) -> None:
    for name in words:
        if name not in known:
            raise OracleError(f"schema keyword {name!r} is not known beside {sorted(known)}")


def _digit() -> Regex:
    return byte_set([(0x30, 0x39)])


def _entry(value: Regex) -> Regex:
    return concat([string(), literal(b":"), value])


def _listed(opener: bytes, item: Regex, closer: bytes, low: int = 0, high: int | None = None) -> Regex:
    """low … high items between brackets, a comma between each two."""
    bounds = [low] if high is None else [low, high]
    if any(type(bound) is not int or bound < 0 for bound in bounds) or bounds != sorted(bounds):
        raise OracleError(f"at least {low} and at most {high} items")
    some = literal(b"") if high == 0 else _some(item, max(low, 1), high)
    return concat([literal(opener), z3.Option(some) if low == 0 else some, literal(closer)])


def _some(item: Regex, low: int, high: int | None) -> Regex:
    """At least one: a first item and then any number, each behind a comma; or, when counted, `(I,)ᵏ I`.

    The first form is the cheaper one to prove by far: after an item a solver need not guess if it was the last.
    """
    comma = literal(b",")
    if high is None:
        first = concat([item, *[comma, item] * (low - 1)]) if low < 10 else _some(item, low, low)
        return concat([first, z3.Star(concat([comma, item]))])
    return concat([repeat(concat([item, comma]), low - 1, high - 1), item])


def _values(words: dict[str, Any]) -> Regex:
    """The texts of `const` or `enum`, all of the `type` beside it if there is one."""
    _only(words, {"const" if "const" in words else "enum", "type"})
    values = [words["const"]] if "const" in words else _nonempty(words["enum"])
    if "type" in words and not all(has_type(value, words["type"]) for value in values):
        raise OracleError(f"a value that is no {words['type']!r} beside that type")
    return union([literal(written(value)) for value in values])


def has_type(value: Any, kind: Any) -> bool:
    """The JSON value is of this JSON Schema type."""
    if isinstance(value, bool) or value is None:
        return bool(kind == ("null" if value is None else "boolean"))
    if isinstance(value, int | float):
        return kind == "number" or (kind == "integer" and value == value // 1)
    names: dict[type, str] = {str: "string", list: "array", dict: "object"}
    return bool(kind == names.get(type(value)))


def _array(words: dict[str, Any]) -> Regex:
    if "items" not in words:
        raise OracleError("an array without 'items'")
    return _listed(b"[", schema_regex(words["items"]), b"]", words.get("minItems", 0), words.get("maxItems"))


def _object(words: dict[str, Any]) -> Regex:
    if words.get("additionalProperties", False) is not False:
        raise OracleError("'additionalProperties' other than false")
    properties, required = words.get("properties", {}), words.get("required", [])
    if not isinstance(properties, dict) or any(name not in properties for name in required):
        raise OracleError("'required' names what 'properties' does not have")
    members = [
        concat([literal(written(name) + b":"), schema_regex(part)]) for name, part in properties.items()
    ]
    return concat(
        [literal(b"{"), _members(members, [name in required for name in properties]), literal(b"}")]
    )


def _members(members: Sequence[Regex], needed: Sequence[bool]) -> Regex:
    """⋃ᵢ memberᵢ · ∏ⱼ﹥ᵢ (`,` memberⱼ, left out at will unless needed), i up to the first that is needed."""
    choices = [] if any(needed) else [literal(b"")]
    for first, member in enumerate(members):
        later = [concat([literal(b","), part]) for part in members[first + 1 :]]
        wanted = needed[first + 1 :]
        tail = [part if must else z3.Option(part) for part, must in zip(later, wanted, strict=True)]
        choices.append(concat([member, *tail]))
        if needed[first]:
            break
    return union(choices)


def _nonempty(values: Any) -> Sequence[Any]:
    if not isinstance(values, list) or not values:
        raise OracleError("an empty list of choices")
    return values


_KINDS: dict[str, tuple[frozenset[str], Callable[[dict[str, Any]], Regex]]] = {
    "string": (frozenset(), lambda _: string()),
    "integer": (frozenset(), lambda _: integer()),
    "number": (frozenset(), lambda _: number()),
    "boolean": (frozenset(), lambda _: union([literal(b"false"), literal(b"true")])),
    "null": (frozenset(), lambda _: literal(b"null")),
    "array": (frozenset(("items", "minItems", "maxItems")), _array),
    "object": (frozenset(("properties", "required", "additionalProperties")), _object),
}
