"""The whole-text oracle on its own: every character has one role, and small cases worked out by hand."""

import itertools

import pytest

from oracles.tool_text import answer, balanced_end, certain, events, spans, value_end
from properties.tool_texts import CALL, PING, TEXTS


@pytest.mark.parametrize("name", TEXTS)
def test_every_character_has_exactly_one_role(name: str) -> None:
    """The spans are a partition of the text: consecutive, no gap, no overlap."""
    text = TEXTS[name]
    roles = spans(text)
    assert "".join(text[span.start : span.end] for span in roles) == text
    assert all(before.end == after.start for before, after in itertools.pairwise(roles))


@pytest.mark.parametrize("name", TEXTS)
def test_what_is_certain_after_a_prefix_stays_as_it_is(name: str) -> None:
    """shown(prefix) is a beginning of shown(text): nothing shown is ever taken back."""
    text = TEXTS[name]
    shown = [
        "".join(text[s.start : s.end] for s in certain(text[:n]) if s.role != "markup")
        for n in range(len(text))
    ]
    assert all(later.startswith(earlier) for earlier, later in itertools.pairwise(shown))


def test_a_call_and_its_text_are_read() -> None:
    content, calls = answer("Sure." + CALL, "req7")
    assert content == "Sure."
    assert calls == [("call_req7_0", "get_weather", '{"city":"Paris"}')]


def test_the_newline_is_markup_only_when_it_is_all_between_two_calls() -> None:
    assert answer(PING + "\n" + PING, "r")[0] is None
    assert answer(PING + "\n\n" + PING, "r")[0] == "\n\n"
    assert answer(PING + "\n", "r")[0] == "\n"


def test_a_cut_closer_is_markup_and_a_broken_one_is_content() -> None:
    assert answer(TEXTS["unfinished-closer"], "r") == (None, [("call_r_0", "f", "{}")])
    assert answer(TEXTS["broken-closer"], "r") == ("} </tool_call> x", [("call_r_0", "f", "{}")])


def test_an_end_marker_inside_a_string_ends_nothing() -> None:
    assert answer(TEXTS["closer-in-string"], "r")[1] == [
        ("call_r_0", "f", '{"q":"what is }</tool_call> for"}')
    ]


def test_the_two_ways_to_find_the_end_of_an_object_agree() -> None:
    """For every text with an object that `json` reads, counting braces outside strings stops at the same place."""
    values = ['{"a":"}"}x', '{"a":"\\""}}', "{}", '{"a":[{"b":{}}]},', '{"\\\\":"{"} ']
    assert (
        [value_end(v, 0) for v in values] == [balanced_end(v, 0, 0, 1) for v in values] == [9, 10, 2, 16, 10]
    )


def test_events_of_the_hand_example() -> None:
    pieces = ["Sure.<tool_", 'call>{"name":"get_weather","argu', 'ments":{"city":"Pa', 'ris"}}</tool_call>']
    assert events(pieces, "req7") == [
        [("content", "Sure.")],
        [],
        [("call", 0, "call_req7_0", "get_weather"), ("arguments", 0, '{"city":"Pa')],
        [("arguments", 0, 'ris"}')],
        [],
    ]
