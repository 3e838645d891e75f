"""JSON Schema of the subset → pattern over compact JSON (SPEC §4). Every keyword outside the subset is refused by name.

Members come in the order of `properties`. The pitfalls: the comma before a later optional member, `maxItems` off by
one, enum values that are not escaped, sorted properties. What is read from a schema is a form (its parts, and how
their patterns are put together); the walk over forms keeps its own stack, so that depth is a limit with a message.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import NoReturn

from reference.errors import Refused, SchemaError, TooLarge
from reference.jsontext import JsonValue, dumps, loads

STRING = (
    r'"(?:[\x20\x21\x23-\x5b\x5d-\x7f]|[\xc2-\xdf][\x80-\xbf]|\xe0[\xa0-\xbf][\x80-\xbf]'
    r"|[\xe1-\xec\xee\xef][\x80-\xbf]{2}|\xed[\x80-\x9f][\x80-\xbf]|\xf0[\x90-\xbf][\x80-\xbf]{2}"
    r'|[\xf1-\xf3][\x80-\xbf]{3}|\xf4[\x80-\x8f][\x80-\xbf]{2}|\\["\\/bfnrt]|\\u[0-9a-fA-F]{4})*"'
)
INTEGER = r"-?(?:0|[1-9][0-9]*)"
NUMBER = r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+\-]?[0-9]+)?"
BOOLEAN = "(?:true|false)"
NULL = "null"

MAX_LENGTH = 1_000_000
"""Characters of the pattern that a schema becomes."""

MAX_DEPTH = 512
"""Schemas inside one another."""

MAX_ITEMS = 1_001
"""The largest bound on items: one item, and the 1,000 repetitions that a pattern may ask for."""

ANNOTATIONS = frozenset(
    [
        "title",
        "description",
        "default",
        "examples",
        "$schema",
        "$comment",
        "deprecated",
        "readOnly",
        "writeOnly",
    ]
)
"""Keywords that never change the language."""

_SCALARS = {"string": STRING, "integer": INTEGER, "number": NUMBER, "boolean": BOOLEAN, "null": NULL}
_OWN_KEYWORDS: dict[str, tuple[str, ...]] = {
    "object": ("properties", "required", "additionalProperties"),
    "array": ("items", "minItems", "maxItems"),
    **dict.fromkeys(_SCALARS, ()),
}
_CHOICES = ("enum", "const", "anyOf")
_SUBSET = ("type", *_CHOICES, *_OWN_KEYWORDS["object"], *_OWN_KEYWORDS["array"])
_TO_ESCAPE = re.compile("[^A-Za-z0-9_\x80-\U0010ffff]|[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class _Form:
    """A schema read at its own level: the schemas in it with their places, and what their patterns become."""

    parts: list[tuple[str, JsonValue]]
    pattern: Callable[[list[str]], str]


@dataclass(frozen=True, slots=True)
class _Member:
    """A member of an object: `text` is its escaped key and the colon."""

    text: str
    required: bool


def json_schema_to_regex(
    schema: JsonValue, *, max_length: int = MAX_LENGTH, max_depth: int = MAX_DEPTH
) -> str:
    """The pattern (dialect `bytes`) of the compact JSON values that a schema of the subset describes.

    Raises SchemaError with the path of what is outside the subset, TooLarge over a limit.
    """
    forms, done = [_form(schema, "", max_length)], [list[str]()]
    while forms:
        parts = forms[-1].parts
        if len(done[-1]) < len(parts):
            place, part = parts[len(done[-1])]
            if len(forms) == max_depth:
                raise TooLarge(f"schema: nested more than max_depth={max_depth} deep; flatten it")
            forms.append(_form(part, place, max_length))
            done.append([])
        else:
            text = forms.pop().pattern(done.pop())
            _check_length(len(text), max_length)
            if done:
                done[-1].append(text)
    return text


def schema_from_text(text: str | bytes) -> JsonValue:
    """The schema of a JSON text, its properties in the order of the text; a key given twice is refused."""
    return loads(text, unique_keys=True)


def json_object_regex(depth: int, *, max_length: int = MAX_LENGTH) -> str:
    """The pattern of all compact JSON objects whose containers nest at most `depth` levels, arrays counted."""
    if depth < 1:
        raise SchemaError(f"json_object depth {depth} leaves no room for the object itself; use 1 or more")
    scalars = f"{STRING}|{NUMBER}|true|false|null"
    value = f"(?:{scalars})"
    for _ in range(depth - 1):
        value = f"(?:{scalars}|{_array(value, 0, None)}|{_any_object(value)})"
        _check_length(len(value), max_length)
    return _any_object(value)


def escape(text: str) -> str:
    """The pattern that matches exactly a text: letters, digits, `_` and non-ASCII as they are, the rest escaped."""
    return _TO_ESCAPE.sub(_escaped, text)


def _escaped(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code >= 0x80:
        raise Refused(
            f"text, position {match.start()}: U+{code:04X} is a lone surrogate, not a character; remove it"
        )
    return "\\" + match[0] if 0x20 <= code < 0x7F else f"\\x{code:02x}"


def _check_length(length: int, max_length: int) -> None:
    if length > max_length:
        raise TooLarge(
            f"schema: its pattern is longer than max_length={max_length:,} characters; split the schema"
        )


def _refuse(message: str, *path: str) -> NoReturn:
    raise SchemaError(message, ".".join(part for part in path if part))


def _form(schema: JsonValue, place: str, max_length: int) -> _Form:
    """Read one schema: a choice among values or schemas, or one of the seven types."""
    if not isinstance(schema, dict):
        _refuse(f"{_shown(schema)} is no schema of the subset; write an object with a type", place)
    for keyword in schema:
        if keyword not in _SUBSET and keyword not in ANNOTATIONS:
            _refuse(f"keyword {_shown(keyword)} is outside the subset; remove it", place, str(keyword))
    for choice in _CHOICES:
        if choice in schema:
            return _choice(schema, choice, place)
    kind = _type(schema, place)
    for keyword in schema:
        if keyword != "type" and keyword in _SUBSET and keyword not in _OWN_KEYWORDS[kind]:
            _refuse(
                f"keyword '{keyword}' does not belong to type '{kind}'; remove one of them", place, keyword
            )
    if kind == "object":
        return _object(schema, place, max_length)
    if kind == "array":
        return _items(schema, place)
    return _Form([], lambda _: _SCALARS[kind])


def _type(schema: dict[str, JsonValue], place: str) -> str:
    """The one type that a schema names."""
    if "type" not in schema:
        _refuse("no type and none of enum, const, anyOf: every value would do; name a type", place)
    kind = schema["type"]
    if isinstance(kind, list):
        _refuse(f"{_shown(kind)} is a list; name one type, or use anyOf", place, "type")
    if not isinstance(kind, str) or kind not in _OWN_KEYWORDS:
        _refuse(f"{_shown(kind)} is no type; the types are {', '.join(_OWN_KEYWORDS)}", place, "type")
    return kind


def _choice(schema: dict[str, JsonValue], choice: str, place: str) -> _Form:
    """const → its text; enum → any of the texts; anyOf → any of the patterns."""
    for keyword in schema:
        if keyword != choice and keyword not in ANNOTATIONS and not (keyword == "type" and choice != "anyOf"):
            _refuse(f"keyword '{keyword}' stands beside {choice}; keep one of them", place, keyword)
    given = schema[choice]
    values = [given] if choice == "const" else given
    if not isinstance(values, list) or not values:
        _refuse(f"{_shown(given)} is no list with at least one entry; list the choices", place, choice)
    if choice == "anyOf":
        parts = [(_inside(place, f"anyOf[{index}]"), value) for index, value in enumerate(values)]
        return _Form(parts, _union)
    if "type" in schema:
        _check_values(values, _type(schema, place), place, choice)
    texts = [_exactly(value, place, choice) for value in values]
    return _Form([], lambda _: texts[0] if choice == "const" else _union(texts))


def _check_values(values: list[JsonValue], kind: str, place: str, choice: str) -> None:
    for value in values:
        if not _has_type(value, kind):
            _refuse(f"{_shown(value)} is not of type '{kind}'; change the type or the value", place, choice)


def _has_type(value: JsonValue, kind: str) -> bool:
    """JSON Schema's types: a number without a fraction is an integer, however it is written."""
    match value:
        case None:
            return kind == "null"
        case bool():
            return kind == "boolean"
        case int():
            return kind in ("integer", "number")
        case float():
            return kind == "number" or (kind == "integer" and value.is_integer())
        case str():
            return kind == "string"
        case list():
            return kind == "array"
        case _:
            return kind == "object"


def _exactly(value: JsonValue, *path: str) -> str:
    """The pattern of one value's compact text."""
    try:
        return escape(dumps(value))
    except Refused as error:
        _refuse(str(error), *path)


def _items(schema: dict[str, JsonValue], place: str) -> _Form:
    """An array: the pattern of its items between the bounds."""
    if "items" not in schema:
        _refuse("an array without items could hold anything; give items a schema", place)
    low = _bound(schema, "minItems", place) or 0
    high = _bound(schema, "maxItems", place)
    if high is not None and high < low:
        _refuse(
            f"{high} is less than minItems {low}, so no array would do; swap the bounds", place, "maxItems"
        )
    return _Form([(_inside(place, "items"), schema["items"])], lambda parts: _array(parts[0], low, high))


def _bound(schema: dict[str, JsonValue], keyword: str, place: str) -> int | None:
    """A bound on the number of items, None when it is not given."""
    if keyword not in schema:
        return None
    value = schema[keyword]
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        _refuse(f"{_shown(value)} is no count; write an integer from 0", place, keyword)
    if value > MAX_ITEMS:
        _refuse(
            f"{_shown(value)} is over {MAX_ITEMS}, the most a pattern can count; lower it", place, keyword
        )
    return value


def _array(item: str, low: int, high: int | None) -> str:
    """low to high items: the first by itself, the others after a comma."""
    if high == 0:
        return r"\[\]"
    if low == 0:
        more = "*" if high is None else f"{{0,{high - 1}}}"
        return rf"\[(?:{item}(?:,{item}){more})?\]"
    more = f"{{{low - 1},{'' if high is None else high - 1}}}"
    return rf"\[{item}(?:,{item}){'*' if more == '{0,}' else more}\]"


def _object(schema: dict[str, JsonValue], place: str, max_length: int) -> _Form:
    """An object: its members in the order of `properties`, the required ones always."""
    if schema.get("additionalProperties", False) is not False:
        value = _shown(schema["additionalProperties"])
        _refuse(
            f"{value} is outside the subset; only false is, which is also the default",
            place,
            "additionalProperties",
        )
    properties = schema.get("properties", {})
    if not isinstance(properties, dict):
        _refuse(f"{_shown(properties)} is no object; map each name to a schema", place, "properties")
    required = _required(schema, properties, place)
    members = [_Member(f"{_exactly(name, place, 'properties')}:", name in required) for name in properties]
    parts = [(_inside(place, f"properties.{name}"), part) for name, part in properties.items()]
    return _Form(parts, lambda patterns: _members(members, patterns, max_length))


def _required(schema: dict[str, JsonValue], properties: dict[str, JsonValue], place: str) -> set[str]:
    """The names that must be present."""
    names = schema.get("required", [])
    if not isinstance(names, list):
        _refuse(f"{_shown(names)} is no list; list the names of the required properties", place, "required")
    required: set[str] = set()
    for name in names:
        if not isinstance(name, str) or name not in properties:
            _refuse(
                f"{_shown(name)} is no name of a property; add it to properties or remove it",
                place,
                "required",
            )
        if name in required:
            _refuse(f"{_shown(name)} is named twice; keep one", place, "required")
        required.add(name)
    return required


def _members(members: list[_Member], patterns: list[str], max_length: int) -> str:
    r"""`\{` M(0) `\}`, built from the last member to the first.

    `first` is M(i), the members from i on when none is written yet; `later` is R(i), when some member is.
    """
    first = later = ""
    for member, pattern in zip(reversed(members), reversed(patterns), strict=True):
        written = member.text + pattern
        first = f"{written}{later}" if member.required else f"(?:{written}{later}|{first})"
        later = f",{written}{later}" if member.required else f"(?:,{written})?{later}"
        _check_length(len(later), max_length)
        if not member.required:
            _check_length(len(first), max_length)
    return rf"\{{{first}\}}"


def _any_object(value: str) -> str:
    return rf"\{{(?:{STRING}:{value}(?:,{STRING}:{value})*)?\}}"


def _union(patterns: list[str]) -> str:
    return f"(?:{'|'.join(patterns)})"


def _inside(place: str, name: str) -> str:
    return f"{place}.{name}" if place else name


def _shown(value: object) -> str:
    """A value for a message, cut when it is long."""
    if isinstance(value, int) and value.bit_length() > 200:
        return f"an integer of {value.bit_length()} bits"
    text = ascii(value) if isinstance(value, bool | int | float | str | None) else f"a {type(value).__name__}"
    return text if len(text) <= 60 else f"{text[:57]}..."
