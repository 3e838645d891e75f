"""JSON Schema of the subset → pattern over compact JSON (SPEC §4). Every keyword outside the subset is refused by name.

Members come in the order of `properties` (sorting them is pitfall s02). Each schema is read as a form: the schemas in
it, and how their patterns are put together. The walk over forms keeps its own stack, so that depth is a limit with a
message. The texts themselves are in `schema_text.py`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NoReturn

from reference.errors import Refused, SchemaError, TooLarge, shown
from reference.jsontext import JsonValue, dumps, loads
from reference.schema_text import (
    BOOLEAN,
    INTEGER,
    MAX_LENGTH,
    NULL,
    NUMBER,
    STRING,
    Member,
    any_object,
    array,
    check_length,
    choice,
    escape,
    members,
)

__all__ = [
    "ANNOTATIONS",
    "BOOLEAN",
    "INTEGER",
    "NULL",
    "NUMBER",
    "STRING",
    "escape",
    "json_object_regex",
    "json_schema_to_regex",
    "schema_from_text",
]

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


@dataclass(frozen=True, slots=True)
class _Form:
    """A schema read at its own level: the schemas in it with their places, and what their patterns become."""

    parts: list[tuple[str, JsonValue]]
    pattern: Callable[[list[str]], str]


def json_schema_to_regex(
    schema: JsonValue, *, max_length: int = MAX_LENGTH, max_depth: int = MAX_DEPTH
) -> str:
    """The pattern (dialect `bytes`) of the compact JSON values that a schema of the subset describes.

    Raises SchemaError with the path of what is outside the subset, TooLarge over a limit.
    """
    forms, done = [_form(schema, "", max_length)], [list[str]()]
    while True:
        parts = forms[-1].parts
        if len(done[-1]) < len(parts):
            place, part = parts[len(done[-1])]
            if len(forms) == max_depth:
                raise TooLarge(f"schema: nested more than max_depth={max_depth} deep; flatten it")
            forms.append(_form(part, place, max_length))
            done.append([])
            continue
        text = forms.pop().pattern(done.pop())
        check_length(len(text), max_length)
        if not forms:
            return text
        done[-1].append(text)


def schema_from_text(text: str | bytes) -> JsonValue:
    """The schema of a JSON text, its properties in the order of the text; a key given twice is refused."""
    return loads(text, unique_keys=True)


def json_object_regex(depth: int, *, max_length: int = MAX_LENGTH) -> str:
    """The pattern of all compact JSON objects whose containers nest at most `depth` levels, arrays counted."""
    if depth < 1:
        raise SchemaError(f"json_object depth {depth} leaves no room for the object itself; use 1 or more")
    scalars = [STRING, NUMBER, "true", "false", "null"]
    value = choice(scalars)
    for _ in range(depth - 1):
        value = choice([*scalars, array(value, 0, None), any_object(value)])
        check_length(len(value), max_length)
    return any_object(value)


def _form(schema: JsonValue, place: str, max_length: int) -> _Form:
    """Read one schema: a choice among values or schemas, or one of the seven types."""
    if not isinstance(schema, dict):
        _refuse(f"{_shown(schema)} is no schema of the subset; write an object with a type", place)
    for keyword in schema:
        if keyword not in _SUBSET and keyword not in ANNOTATIONS:
            _refuse(
                f"the keyword {_shown(keyword)} is outside the subset; remove it", place, _name(str(keyword))
            )
    for keyword in _CHOICES:
        if keyword in schema:
            return _choice(schema, keyword, place)
    kind = _type(schema, place)
    for keyword in schema:
        if keyword in _SUBSET and keyword not in ("type", *_OWN_KEYWORDS[kind]):
            _refuse(f"'{keyword}' does not belong to type '{kind}'; remove one of them", place, keyword)
    if kind == "object":
        return _object(schema, place, max_length)
    if kind == "array":
        return _array(schema, place)
    return _Form([], lambda _: _SCALARS[kind])


def _type(schema: dict[str, JsonValue], place: str) -> str:
    """The one type that a schema names."""
    if "type" not in schema:
        _refuse("neither type nor enum, const, anyOf: any value would do; name a type", place)
    kind = schema["type"]
    if isinstance(kind, list):
        _refuse("a list of types is outside the subset; name one, or use anyOf", place, "type")
    if not isinstance(kind, str) or kind not in _OWN_KEYWORDS:
        _refuse(f"{_shown(kind)} is no type; use one of {', '.join(_OWN_KEYWORDS)}", place, "type")
    return kind


def _choice(schema: dict[str, JsonValue], keyword: str, place: str) -> _Form:
    """const → its text; enum → any of the texts; anyOf → any of the patterns."""
    beside = {keyword} if keyword == "anyOf" else {keyword, "type"}
    for other in schema:
        if other not in beside and other not in ANNOTATIONS:
            _refuse(f"'{other}' beside '{keyword}' is outside the subset; keep one of them", place, other)
    given = schema[keyword]
    values = [given] if keyword == "const" else given
    if not isinstance(values, list) or not values:
        _refuse(f"{_shown(given)} is no list with at least one entry; list the choices", place, keyword)
    if keyword == "anyOf":
        return _Form([(_path(place, f"anyOf[{i}]"), value) for i, value in enumerate(values)], choice)
    kind = _type(schema, place) if "type" in schema else None
    texts = [_exactly(value, kind, _path(place, keyword)) for value in values]
    return _Form([], lambda _: texts[0] if keyword == "const" else choice(texts))


def _exactly(value: JsonValue, kind: str | None, place: str) -> str:
    """The pattern of one value's compact text; the value is of the type, if one is given."""
    if kind is not None and not _has_type(value, kind):
        _refuse(f"{_shown(value)} is not of type '{kind}'; change the type or the value", place)
    return escape(_text(value, place))


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


def _text(value: JsonValue, place: str) -> str:
    try:
        return dumps(value)
    except Refused as error:
        _refuse(str(error), place)


def _array(schema: dict[str, JsonValue], place: str) -> _Form:
    """An array: the pattern of its items between the bounds."""
    if "items" not in schema:
        _refuse("an array without items could hold anything; give items a schema", place)
    low = _bound(schema, "minItems", place) or 0
    high = _bound(schema, "maxItems", place)
    if high is not None and high < low:
        _refuse(f"{high} is less than minItems {low}; swap the bounds", place, "maxItems")
    return _Form([(_path(place, "items"), schema["items"])], lambda parts: array(parts[0], low, high))


def _bound(schema: dict[str, JsonValue], keyword: str, place: str) -> int | None:
    """A bound on the number of items, None when it is not given."""
    if keyword not in schema:
        return None
    value = schema[keyword]
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        _refuse(f"{_shown(value)} is no count of items; write an integer from 0", place, keyword)
    if value > MAX_ITEMS:
        _refuse(
            f"{_shown(value)} is over {MAX_ITEMS}, the most a pattern can count; lower it", place, keyword
        )
    return value


def _object(schema: dict[str, JsonValue], place: str, max_length: int) -> _Form:
    """An object: its members in the order of `properties`, the required ones always."""
    if schema.get("additionalProperties", False) is not False:
        value = _shown(schema["additionalProperties"])
        _refuse(f"{value} is outside the subset; write false or leave it out", place, "additionalProperties")
    properties = schema.get("properties", {})
    if not isinstance(properties, dict):
        _refuse(f"{_shown(properties)} is no object; map each name to a schema", place, "properties")
    required = _required(schema, properties, place)
    names = [f"{_exactly(name, 'string', _path(place, 'properties'))}:" for name in properties]
    must = [name in required for name in properties]

    def pattern(values: list[str]) -> str:
        return members(list(map(Member, names, values, must)), max_length)

    inside = ((_path(place, f"properties.{_name(name)}"), part) for name, part in properties.items())
    return _Form(list(inside), pattern)


def _required(schema: dict[str, JsonValue], properties: dict[str, JsonValue], place: str) -> set[str]:
    """The names that must be present."""
    names = schema.get("required", [])
    if not isinstance(names, list):
        _refuse(f"{_shown(names)} is no list; list the names of the required properties", place, "required")
    required: set[str] = set()
    for name in names:
        if not isinstance(name, str) or name not in properties:
            _refuse(f"{_shown(name)} is no name in properties; add it there or remove it", place, "required")
        if name in required:
            _refuse(f"{_shown(name)} is named twice; keep one", place, "required")
        required.add(name)
    return required


def _refuse(message: str, *path: str) -> NoReturn:
    raise SchemaError(message, _path(*path))


def _path(*parts: str) -> str:
    return ".".join(part for part in parts if part)


def _name(name: str) -> str:
    """A keyword or a property's name in a path, which stays short and on one line."""
    return name if name.isprintable() and len(name) <= 60 else _shown(name)


def _shown(value: object) -> str:
    """A value for a message, cut when it is long."""
    if not isinstance(value, bool | int | float | str | None):
        return f"a value of Python's type {type(value).__name__}"
    text = shown(value) if isinstance(value, int) else ascii(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
