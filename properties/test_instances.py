"""Instances: what the oracle makes is in the language, what it calls a near miss is not, and it says what is wrong."""

import json
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.samples import members
from engine.suite import Language, languages
from oracles.derivatives import is_member
from oracles.errors import OracleError
from oracles.instance_writer import CHARACTERS
from oracles.instances import check_object_text, check_text, invalid_instances, nesting, valid_instances
from reference.compile import regex_to_dfa
from reference.jsontext import loads
from reference.schema import json_object_regex, json_schema_to_regex

SCHEMAS = [language for language in languages() if language.kind == "schema"]
PAIR = {
    "type": "object",
    "properties": {"x": {"type": "integer"}, "y": {"type": "integer"}},
    "required": ["y"],
}
BITS = {"type": "array", "items": {"enum": [0, 1]}, "minItems": 1, "maxItems": 2}


def named(language: Language) -> str:
    return language.id


# The suite's languages, both ways


@pytest.mark.parametrize("language", SCHEMAS, ids=named)
@settings(max_examples=5, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_every_valid_instance_is_a_member(language: Language, seed: int) -> None:
    dfa = regex_to_dfa(language.pattern)
    assert [text for text in valid_instances(loads(language.source), 40, seed) if not dfa.matches(text)] == []


@pytest.mark.parametrize("language", SCHEMAS, ids=named)
@settings(max_examples=5, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_no_near_miss_is_a_member(language: Language, seed: int) -> None:
    dfa = regex_to_dfa(language.pattern)
    assert [text for text in invalid_instances(loads(language.source), 40, seed) if dfa.matches(text)] == []


@pytest.mark.parametrize("language", SCHEMAS, ids=named)
def test_every_sampled_member_parses_and_validates(language: Language) -> None:
    schema, texts = loads(language.source), list(members(regex_to_dfa(language.pattern), 60, 7))
    assert [(text, told) for text in texts if (told := check_text(schema, text))] == []


def test_every_sampled_object_is_one_of_its_depth() -> None:
    texts = list(members(regex_to_dfa(json_object_regex(2)), 100, 7))
    assert [(text, told) for text in texts if (told := check_object_text(2, text))] == []
    assert any(check_object_text(1, text) for text in texts)


@pytest.mark.parametrize("language", SCHEMAS, ids=named)
def test_valid_instances_pass_the_check_and_jsonschema_as_it_ships(language: Language) -> None:
    schema = loads(language.source)
    for text in valid_instances(schema, 60, 3):
        assert check_text(schema, text) is None, text
        jsonschema.validate(json.loads(text), schema)


# Schemas that hypothesis makes

LEAVES: st.SearchStrategy[Any] = st.sampled_from(
    [{"type": kind} for kind in ("string", "integer", "number", "boolean", "null")]
    + [{"const": ["é", -0.0]}, {"enum": ["a", 1, 1.5e-05, None]}, {"type": "object"}]
)


def objects(parts: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    members_of = st.dictionaries(st.sampled_from(["x", "", "a.b", 'q"', "漢"]), parts, max_size=3)
    return members_of.flatmap(
        lambda found: st.lists(st.sampled_from(sorted(found)) if found else st.nothing(), unique=True).map(
            lambda needed: {"type": "object", "properties": found, "required": needed}
        )
    )


def arrays(parts: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    bounds = st.sampled_from(
        [{}, {"minItems": 1}, {"maxItems": 2}, {"minItems": 1, "maxItems": 2}, {"maxItems": 0}]
    )
    return st.tuples(parts, bounds).map(lambda two: {"type": "array", "items": two[0], **two[1]})


SCHEMA = st.recursive(
    LEAVES,
    lambda parts: st.one_of(
        objects(parts), arrays(parts), st.lists(parts, min_size=1, max_size=2).map(lambda two: {"anyOf": two})
    ),
    max_leaves=4,
)


@settings(max_examples=40, deadline=None)
@given(SCHEMA, st.integers(0, 2**32))
def test_instances_of_any_schema_are_members_and_near_misses_are_not(schema: Any, seed: int) -> None:
    """∀ valid t: t ∈ L(schema); ∀ near miss t: t ∉ L(schema), by the derivative oracle on the reference's pattern."""
    pattern = json_schema_to_regex(schema)
    assert [t for t in valid_instances(schema, 8, seed) if not is_member(pattern, t)] == []
    if {"type": "object"} not in parts_of(schema):
        assert [t for t in invalid_instances(schema, 8, seed) if is_member(pattern, t)] == []


def parts_of(schema: Any) -> list[Any]:
    inner = [*schema.get("anyOf", []), *schema.get("properties", {}).values()]
    inner += [schema["items"]] if "items" in schema else []
    return [schema, *(part for one in inner for part in parts_of(one))]


# What is wrong is named


@pytest.mark.parametrize(
    ("schema", "text", "told"),
    [
        (PAIR, b'{"y":1}', None),
        (PAIR, b'{"x":-0,"y":1}', None),
        (PAIR, b'{"y":1,"x":2}', "not in the order"),
        (PAIR, b'{"x":1,"y":1,"z":1}', "not in the order"),
        (PAIR, b'{"y":1,"y":1}', "more than once"),
        (PAIR, b'{"x":1}', "'y' is a required property"),
        (PAIR, b'{"y":1.5}', r"\$.y: 1.5 is not of type 'integer'"),
        (PAIR, b'{"x": 1,"y":1}', "white space"),
        (PAIR, b'{"x":1"y":1}', "json.loads"),
        (PAIR, b'{"y":1}\n', "white space"),
        (PAIR, b'{"y":1', "json.loads"),
        (BITS, b"[0,1,1]", "too long"),
        (BITS, b"[0,1,]", "json.loads"),
        (BITS, b"[]", "non-empty|too short"),
        (BITS, b"[true]", "not one of"),
        ({"enum": [2.5]}, b"2x5", "json.loads"),
        ({"type": "string"}, b'"\x80"', "not UTF-8"),
        ({"type": "string"}, b'"\xed\xa0\x80"', "not UTF-8"),
        ({"type": "string"}, b'"\n"', "json.loads"),
        ({"type": "string"}, b'"a \\" b"', None),
        ({"type": "string"}, b'"\\ud800"', None),
        ({"anyOf": [PAIR, {"type": "null"}]}, b'{"y":1,"x":2}', "under any of the given schemas"),
        ({"type": "object"}, b'{"any":1,"any":2}', None),
    ],
)
def test_the_check_says_what_is_wrong(schema: Any, text: bytes, told: str | None) -> None:
    found = check_text(schema, text)
    if told is None:
        assert found is None
    else:
        with pytest.raises(AssertionError, match=told):
            raise AssertionError(found)


def test_numbers_beyond_float_and_beyond_the_digits_of_int_are_numbers() -> None:
    digits = b"9" * 5000
    assert check_text({"type": "number"}, b"-1e400") is None
    assert check_text({"type": "integer"}, digits) is None
    assert check_text({"type": "string"}, digits) == "$: an integer of 16610 bits is not of type 'string'"
    assert all(is_member(json_schema_to_regex({"type": "number"}), text) for text in (b"-1e400", digits))


def test_objects_are_counted_by_their_levels() -> None:
    assert [nesting(value) for value in (1, [], {"a": 1}, [{"a": [1]}, 2])] == [0, 1, 1, 3]
    assert check_object_text(1, b'{"a":1,"a":2}') is None
    assert check_object_text(1, b'{"a":[]}') == "nested 2 levels, 1 allowed"
    assert check_object_text(3, b"[{}]") == "list where an object belongs"
    assert check_object_text(3, b'{"a":01}').startswith("json.loads")  # type: ignore[union-attr]


def test_instances_come_again_for_the_same_seed_and_not_for_another() -> None:
    schema = {"type": "array", "items": {"type": "string"}}
    for made in (valid_instances, invalid_instances):
        assert made(schema, 30, 5) == made(schema, 30, 5) != made(schema, 30, 6)
        assert len(made(schema, 30, 5)) == 30


def test_strings_reach_every_edge_raw_and_escaped() -> None:
    texts = [text.decode() for text in valid_instances({"type": "string"}, 600, 1)]
    read = {character for text in texts for character in json.loads(text)}
    assert set(CHARACTERS) <= read
    assert any("\ud800" <= character <= "\udfff" for character in read)
    for spelling in ("\\/", "/", "\\u00", "\\b", "\\ud83d", "\x7f"):
        assert any(spelling in text.lower() for text in texts), spelling


def test_a_schema_of_which_nothing_is_known_makes_nothing() -> None:
    with pytest.raises(OracleError, match="type 'date' is not in the subset"):
        valid_instances({"type": "date"}, 1, 0)


# Each mutant of the schema translation makes members that fail, or valid instances that are none

Y_THEN_X = r"\{(?:\"y\":\d+(?:,\"x\":\d+)?)\}"
MUTANTS = [
    (PAIR, r"\{(?:\"x\":\d+)?\"y\":\d+\}"),  # no comma before a later member
    (PAIR, Y_THEN_X),  # members in another order
    (PAIR, r"\{(?:\"x\":\d+,)?(?:\"y\":\d+)?\}"),  # required taken for optional
    ({"enum": ["2.5"]}, r'"2.5"'),  # a value that is not escaped
    ({"enum": [1.5e-05, 2]}, r"0\.000015|2"),  # a float unlike Python's
    (BITS, r"\[[01](?:,[01]){0,2}\]"),  # one item too many
    (BITS, r"\[[01]\]"),  # one item too few
    ({"type": "string"}, r'"[^"\\]*"'),  # controls and bytes that are no UTF-8
    ({"type": "string"}, r'"[ !#-\[\]-~]*"'),  # ASCII alone
    ({"type": "integer"}, r"-?\d+"),  # a leading zero
    ({"type": "number"}, r"-?(?:0|[1-9]\d*)(?:\.\d+)?"),  # no exponent
]


@pytest.mark.parametrize(("schema", "pattern"), MUTANTS)
def test_every_mutant_of_a_translation_is_killed_one_way_or_the_other(schema: Any, pattern: str) -> None:
    dfa = regex_to_dfa(pattern)
    refused = [text for text in members(dfa, 200, 1) if check_text(schema, text)]
    lost = [text for text in valid_instances(schema, 200, 1) if not dfa.matches(text)]
    assert refused or lost
