"""Schemas to z3 without a pattern in between: the right pattern is proven exact, every wrong one is shown to be."""

import json
import re
from typing import Any

import pytest
import z3

from engine.suite import languages
from oracles.errors import OracleError
from oracles.z3_questions import bytes_of, is_in
from oracles.z3_schemas import json_object_equals, schema_equals, schema_regex, written
from reference.jsontext import loads
from reference.schema import json_object_regex

STRING = (
    r'"(?:[\x20\x21\x23-\x5b\x5d-\x7f]|[\xc2-\xdf][\x80-\xbf]|\xe0[\xa0-\xbf][\x80-\xbf]'
    r"|[\xe1-\xec\xee\xef][\x80-\xbf]{2}|\xed[\x80-\x9f][\x80-\xbf]|\xf0[\x90-\xbf][\x80-\xbf]{2}"
    r'|[\xf1-\xf3][\x80-\xbf]{3}|\xf4[\x80-\x8f][\x80-\xbf]{2}|\\["\\/bfnrt]|\\u[0-9a-fA-F]{4})*"'
)
INTEGER = r"-?(?:0|[1-9][0-9]*)"
NUMBER = INTEGER + r"(?:\.[0-9]+)?(?:[eE][+\-]?[0-9]+)?"

PAIR = {"type": "object", "properties": {"x": {"type": "integer"}, "y": {"type": "integer"}}}
CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
FIRST = PAIR | {"required": ["x"]}
LAST = PAIR | {"required": ["y"]}
BITS = {"type": "array", "items": {"enum": [0, 1]}}
X, Y = rf"\"x\":{INTEGER}", rf"\"y\":{INTEGER}"

EXACT = [
    ({"type": "string"}, STRING),
    ({"type": "number"}, NUMBER),
    ({"type": "integer"}, INTEGER),
    ({"type": "boolean"}, "true|false"),
    ({"type": "null"}, "null"),
    (CITY, r"\{\"city\":" + STRING + r"\}"),
    (PAIR, rf"\{{(?:{X}(?:,{Y})?|(?:{Y}|))\}}"),
    (FIRST, rf"\{{{X}(?:,{Y})?\}}"),
    (LAST, rf"\{{(?:{X},{Y}|{Y})\}}"),
    ({"type": "object"}, r"\{\}"),
    (BITS, r"\[(?:[01](?:,[01])*)?\]"),
    (BITS | {"minItems": 1}, r"\[[01](?:,[01])*\]"),
    (BITS | {"minItems": 3}, r"\[[01](?:,[01]){2,}\]"),
    (BITS | {"maxItems": 0}, r"\[\]"),
    (BITS | {"maxItems": 1}, r"\[[01]?\]"),
    (BITS | {"maxItems": 3}, r"\[(?:[01](?:,[01]){0,2})?\]"),
    (BITS | {"minItems": 2, "maxItems": 3}, r"\[[01](?:,[01]){1,2}\]"),
    ({"const": {"a": [-0.0, 1e16, 1.5e-05]}}, r"\{\"a\"\:\[\-0\.0\,1e\+16\,1\.5e\-05\]\}"),
    ({"enum": ['é"\\\n\x7f', None, 10**24]}, r'"é\\"\\\\\\n\x7f"|null|1000000000000000000000000'),
    ({"anyOf": [{"type": "null"}, {"type": "integer"}], "title": "maybe"}, rf"null|{INTEGER}"),
]
WRONG = [
    (PAIR, rf"\{{(?:{Y}(?:,{X})?|(?:{X}|))\}}"),  # members sorted the other way
    (PAIR, rf"\{{(?:{X}(?:{Y})?|(?:{Y}|))\}}"),  # no comma before the later one
    (PAIR, rf"\{{(?:{X}(?:,{Y})?|{Y})\}}"),  # no empty object
    (FIRST, rf"\{{(?:{X}(?:,{Y})?|(?:{Y}|))\}}"),  # required taken for optional
    ({"enum": [2.5]}, "2.5"),  # a value that is not escaped
    ({"enum": [1.5e-05]}, r"0\.000015"),  # a float unlike Python's
    (BITS | {"maxItems": 3}, r"\[(?:[01](?:,[01]){0,3})?\]"),  # one item too many
    (BITS | {"minItems": 1}, r"\[(?:[01](?:,[01])*)?\]"),  # the least number forgotten
    (BITS, r"\[(?:[01],?)*\]"),  # a comma at the end
    ({"type": "integer"}, NUMBER),
    (
        {"type": "string"},
        STRING.replace("[1-9a-f]", "").replace(r"\xed[\x80-\x9f]", r"\xed[\x80-\xbf]"),
    ),  # surrogates
    ({"const": "é"}, r'"\\u00e9"'),  # non-ASCII written as an escape
]


@pytest.mark.parametrize(("schema", "pattern"), EXACT)
def test_the_pattern_of_a_schema_is_proven_exact(schema: Any, pattern: str) -> None:
    assert schema_equals(schema, pattern).verdict == "equal"


@pytest.mark.parametrize(("schema", "pattern"), WRONG)
def test_every_wrong_pattern_of_a_schema_is_killed_by_a_string(schema: Any, pattern: str) -> None:
    outcome = schema_equals(schema, pattern)
    assert outcome.verdict == "differ" and outcome.witness is not None
    assert (re.fullmatch(pattern.encode("latin-1"), outcome.witness) is not None) != is_in(
        outcome.witness, schema_regex(schema)
    )


def nested(depth: int) -> str:
    leaves = f"{STRING}|{NUMBER}|true|false|null"
    value = f"(?:{leaves})"
    for _ in range(depth - 1):
        value = rf"(?:{leaves}|\[(?:{value}(?:,{value})*)?\]|{members(value)})"
    return members(value)


def members(value: str) -> str:
    return rf"\{{(?:{STRING}:{value}(?:,{STRING}:{value})*)?\}}"


@pytest.mark.parametrize("depth", [1, 2])
def test_the_language_of_objects_is_proven_at_its_depth_and_at_no_other(depth: int) -> None:
    assert json_object_equals(depth, nested(depth)).verdict == "equal"
    outcome = json_object_equals(depth, nested(depth + 1))
    assert outcome.verdict == "differ" and outcome.witness is not None
    assert json.loads(outcome.witness) is not None


def test_values_are_written_as_python_writes_them() -> None:
    assert [written(value) for value in (-0.0, 1e16, 1.5e-05, "é\x01\x7f", {"b": [], "a": None})] == [
        b"-0.0",
        b"1e+16",
        b"1.5e-05",
        '"é\\u0001\x7f"'.encode(),
        b'{"b":[],"a":null}',
    ]


@pytest.mark.parametrize(
    ("schema", "told"),
    [
        (True, "schema True is not an object"),
        ({}, "schema type None"),
        ({"type": ["string", "null"]}, "schema type"),
        ({"type": "string", "minLength": 1}, "keyword 'minLength'"),
        ({"type": "object", "patternProperties": {}}, "keyword 'patternProperties'"),
        ({"type": "object", "additionalProperties": True}, "additionalProperties"),
        ({"type": "object", "required": ["a"]}, "'required' names"),
        ({"type": "array"}, "without 'items'"),
        (
            {"type": "array", "items": {"type": "null"}, "minItems": 2, "maxItems": 1},
            "at least 2 and at most 1",
        ),
        ({"enum": []}, "empty list"),
        ({"const": 1, "minimum": 0}, "keyword 'minimum'"),
        ({"enum": ["a", 1], "type": "string"}, "no 'string'"),
        ({"anyOf": [{"type": "null"}], "type": "null"}, "keyword 'type'"),
    ],
)
def test_a_schema_outside_the_subset_is_no_question(schema: Any, told: str) -> None:
    with pytest.raises(OracleError, match=told):
        schema_regex(schema)


def test_a_type_that_all_values_have_changes_nothing() -> None:
    assert schema_equals({"enum": [1, 2.0], "type": "number"}, r"1|2\.0").verdict == "equal"
    assert schema_equals({"const": True, "type": "boolean"}, "true").verdict == "equal"


SCHEMAS = [language for language in languages() if language.kind == "schema"]


@pytest.mark.parametrize("language", SCHEMAS, ids=lambda language: str(language.id))
def test_the_reference_s_pattern_of_every_schema_of_the_suite_is_proven_exact(language: Any) -> None:
    assert schema_equals(loads(language.source), language.pattern).verdict == "equal"


@pytest.mark.parametrize("language", SCHEMAS, ids=lambda language: str(language.id))
def test_every_schema_of_the_suite_has_a_member_that_python_reads(language: Any) -> None:
    x, asked = z3.String("x"), z3.Solver()
    asked.add(z3.InRe(x, schema_regex(loads(language.source))))
    assert asked.check() == z3.sat
    json.loads(bytes_of(asked.model().eval(x)))


def test_the_reference_s_pattern_of_any_object_is_proven_exact() -> None:
    assert json_object_equals(2, json_object_regex(2)).verdict == "equal"
