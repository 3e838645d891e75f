"""The audit's questions about texts: those that readers read in two ways, and how they are spelled."""

import json

import pytest

from engine.audit.refusals import ambiguous, spellings


@pytest.mark.parametrize("name", ["twice", "escaped-name", "escaped-name-first"])
def test_a_name_given_twice_is_tried_on_objects_that_say_themselves_that_they_are_open(name: str) -> None:
    """Silence is closed in the suite's subset, and ports write so; an open object has to say it."""
    (found,) = [one for one in ambiguous() if one.id == name]
    assert json.loads(found.grammar.source)["additionalProperties"] is True


@pytest.mark.parametrize(
    ("text", "spaced"),
    [
        ('{"a":1,"\\u0061":"x"}', '{"a": 1, "\\u0061": "x"}'),
        ('{"a":1,"a":[2,9e1]}', '{"a": 1, "a": [2, 9e1]}'),
        ('{"a,:\\"":","}', '{"a,:\\"": ","}'),
    ],
)
def test_a_text_is_respelled_between_its_strings_alone(text: str, spaced: str) -> None:
    assert spellings(text, (b",", b":")) == [text, spaced]
    assert spellings(text, (b", ", b": ")) == [spaced, spaced]
