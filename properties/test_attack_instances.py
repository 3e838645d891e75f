"""Attacks on the instance oracle: what is an annotation here must not choose how an instance is judged."""

from typing import Any

import pytest

from engine.obligations import instances_agree
from engine.subject import Settings, Subject
from engine.suite import schema_language
from oracles.instances import check_text
from reference.vocabulary import load_vocabulary

INTEGER = {"type": "integer"}
DRAFTS = ["http://json-schema.org/draft-04/schema#", "http://json-schema.org/draft-07/schema#", "urn:mine"]


@pytest.mark.parametrize("value", [1, True, None, [], {"k": []}, 0.5, "", *DRAFTS])
@pytest.mark.parametrize("depth", [0, 1, 2])
def test_the_dialect_that_a_schema_names_changes_no_verdict(value: Any, depth: int) -> None:
    schema: dict[str, Any] = {"type": "object", "properties": {"b": INTEGER, "a": INTEGER}, "$schema": value}
    text = '{"b":1,"a":2}'
    for _ in range(depth):
        schema, text = {"anyOf": [{"type": "array", "items": schema}], "$schema": value}, f"[{text}]"
    assert check_text(schema, text.encode()) is None
    for wrong in ('{"a":2,"b":1}', '{"b":1,"c":2}', '{"b":1,"b":1}', '{"b":1.5}'):
        assert check_text(schema, text.replace('{"b":1,"a":2}', wrong).encode()) is not None


def test_a_member_or_a_value_named_so_is_no_annotation() -> None:
    schema = {"type": "object", "properties": {"$schema": {"const": {"$schema": 1}}}}
    assert check_text(schema, b'{"$schema":{"$schema":1}}') is None
    assert check_text(schema, b'{"$schema":{}}') is not None


def test_a_schema_that_names_its_dialect_oddly_is_verified() -> None:
    language = schema_language("odd", {"type": "array", "items": {"type": "integer", "$schema": {"k": 1}}})
    subject = Subject(language, load_vocabulary("toy"), Settings(samples=20))
    assert instances_agree(subject).verdict == "tested"
