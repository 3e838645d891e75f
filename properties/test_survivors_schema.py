"""What a mutation tool could change in schema, schema_text without any other test seeing it (docs/mutation.md)."""

from typing import Any

import pytest

from properties.refused_inputs import SCHEMAS
from reference.errors import SchemaError, TooLarge
from reference.schema import MAX_ITEMS, escape, json_schema_to_regex
from reference.schema_text import check_length

INSIDE = {
    "properties.p": lambda schema: {"type": "object", "properties": {"p": schema}},
    "items": lambda schema: {"type": "array", "items": schema},
    "anyOf[1]": lambda schema: {"anyOf": [{"type": "null"}, schema]},
}


@pytest.mark.parametrize("outside", INSIDE)
@pytest.mark.parametrize(
    ("schema", "place", "message"), [case[1:] for case in SCHEMAS], ids=[case[0] for case in SCHEMAS]
)
def test_a_refusal_inside_a_schema_names_the_whole_path(
    schema: Any, place: str, message: str, outside: str
) -> None:
    with pytest.raises(SchemaError) as refusal:
        json_schema_to_regex(INSIDE[outside](INSIDE["properties.p"](schema)))
    path = f"{outside}.properties.p" + (f".{place}" if place else "")
    assert (refusal.value.place, str(refusal.value)) == (path, f"schema, {path}: {message}")


VALUES: dict[str, list[Any]] = {
    "null": [None],
    "boolean": [True, False],
    "integer": [0, -1, 2.0, 10**30],
    "number": [0, 2.0, 0.5],
    "string": ["", "null"],
    "array": [[], [1]],
    "object": [{}, {"a": 1}],
}
EVERY = [None, True, False, 0, -1, 2.0, 10**30, 0.5, "", "null", [], [1], {}, {"a": 1}]


@pytest.mark.parametrize("kind", VALUES)
@pytest.mark.parametrize("value", EVERY, ids=repr)
def test_a_constant_beside_a_type_is_of_that_type(kind: str, value: Any) -> None:
    """True is no 1 here, and 1 is no 1.0: the lists go by type and value."""
    fits = any(type(one) is type(value) and one == value for one in VALUES[kind])
    fits = fits or (kind == "number" and type(value) in (int, float))
    if fits:
        assert json_schema_to_regex({"type": kind, "const": value}) == json_schema_to_regex({"const": value})
    else:
        with pytest.raises(SchemaError):
            json_schema_to_regex({"type": kind, "const": value})


def test_a_property_with_half_a_character_is_refused_where_it_is() -> None:
    inner = {"type": "object", "properties": {"\ud800": {"type": "null"}}}
    with pytest.raises(SchemaError) as refusal:
        json_schema_to_regex({"type": "object", "properties": {"p": inner}})
    assert refusal.value.place == "properties.p.properties"


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("n" * 60, "n" * 60),
        ("n" * 61, f"'{'n' * 56}..."),
        ("a\nb", r"'a\nb'"),
        ("é", "é"),
    ],
)
def test_a_name_in_a_path_stays_short_and_on_one_line(name: str, shown: str) -> None:
    with pytest.raises(SchemaError) as refusal:
        json_schema_to_regex({"type": "object", "properties": {name: {}}})
    assert refusal.value.place == f"properties.{shown}"


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("x" * 58, f"'{'x' * 58}'"),
        ("x" * 59, f"'{'x' * 56}..."),
        ((1 << 200) - 1, f"{str((1 << 200) - 1)[:57]}..."),
        (1 << 200, "an integer of 201 bits"),
    ],
)
def test_a_value_in_a_message_is_cut_at_sixty_characters(value: Any, shown: str) -> None:
    with pytest.raises(SchemaError) as refusal:
        json_schema_to_regex({"type": value})
    assert str(refusal.value).startswith(f"schema, type: {shown} is no type; ")


def test_bounds_go_up_to_the_most_that_a_pattern_counts() -> None:
    pattern = json_schema_to_regex({"type": "array", "items": {"type": "null"}, "minItems": MAX_ITEMS})
    assert pattern == r"\[null(?:,null){1000,}\]"


def test_a_pattern_may_be_as_long_as_the_limit() -> None:
    schema: Any = {"type": "object", "properties": {"a": {"const": "x" * 1_000_000}}}
    whole = rf"\{{(?:{escape(chr(34) + 'a' + chr(34))}:{escape(chr(34) + 'x' * 1_000_000 + chr(34))}|)\}}"
    assert json_schema_to_regex(schema, max_length=len(whole)) == whole
    with pytest.raises(TooLarge):
        json_schema_to_regex(schema, max_length=len(whole) - 1)
    check_length(5, 5)


def test_an_object_in_an_object_is_written_by_hand() -> None:
    null: Any = {"type": "object", "properties": {"a": {"type": "null"}}, "required": ["a"]}
    outer: Any = {"type": "object", "properties": {"p": null}, "required": ["p"]}
    assert json_schema_to_regex(outer) == r"\{\"p\":\{\"a\":null\}\}"
