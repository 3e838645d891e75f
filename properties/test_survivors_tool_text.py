"""What a mutation tool could change in the whole-text oracle unseen by other tests (docs/mutation.md)."""

import pytest

from oracles.tool_text import _beginnings, _header_beginning, answer, certain, events, value_end
from properties.tool_texts import PING

HEADER = '<tool_call>{"name":"aZ_-09","arguments"'
LONG = "n" * 64


def test_every_beginning_of_a_sequence_is_matched_and_nothing_else() -> None:
    assert _beginnings(["a", "[bc]"]) == "(?:a(?:[bc])?)?"


@pytest.mark.parametrize("length", range(1, len(HEADER) + 1))
def test_every_beginning_of_a_header_may_yet_be_one(length: int) -> None:
    held = _header_beginning().search("<x " + HEADER[:length])
    assert held is not None
    assert (held.start(), held.end()) == (3, 3 + length)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a",
        "<x",
        "<TOOL",
        "< tool",
        "<tool_call> ",
        '<tool_call>{"name":""',
        '<tool_call>{"name":"f","ARG',
        '<tool_call>{"name":"f" ',
        '<tool_call>{"name":"a.b',
        '<tool_call>{"name":"é',
        f'<tool_call>{{"name":"{LONG}n',
        HEADER + ":",
    ],
)
def test_what_can_be_no_header_is_not_held(text: str) -> None:
    assert _header_beginning().search(text) is None


def test_a_name_of_64_characters_is_held() -> None:
    assert _header_beginning().fullmatch(f'<tool_call>{{"name":"{LONG}')
    assert _header_beginning().fullmatch(f'<tool_call>{{"name":"{LONG}","arg')


def test_the_end_of_an_object_is_told_from_where_it_begins() -> None:
    assert value_end('{}{"a":1}', 2) == 9
    assert value_end('{"a":1} {}', 8) == 10


def test_the_end_of_what_is_no_json_is_where_its_braces_close() -> None:
    assert value_end("xx{a:{}}}", 2) == 8
    assert value_end("{a}}", 0) == 3
    assert value_end("{a", 0) is None
    assert value_end("xx1}}", 2) == 3


def test_an_object_before_a_call_does_not_move_the_end_of_its_arguments() -> None:
    assert answer('{"a":1} <tool_call>{"name":"f","arguments":{"q":2}}</tool_call>', "r") == (
        '{"a":1} ',
        [("call_r_0", "f", '{"q":2}')],
    )


def test_a_newline_before_the_first_call_is_content() -> None:
    content, calls = answer("\n" + PING, "r")
    assert (content, len(calls)) == ("\n", 1)


def test_a_newline_after_a_call_that_was_not_closed_is_certain_at_once() -> None:
    """`}</tool_call>` must follow the arguments; where a newline stands, all from there on is content."""
    text = '<tool_call>{"name":"f","arguments":{}\n'
    assert [(span.role, span.start, span.end) for span in certain(text)] == [
        ("markup", 0, 35),
        ("arguments", 35, 37),
        ("content", 37, 38),
    ]


def test_a_newline_after_a_call_waits_for_what_follows() -> None:
    first = '<tool_call>{"name":"f","arguments":{}}</tool_call>'
    call = [("call", 0, "call_r_0", "f"), ("arguments", 0, "{}")]
    again = [("call", 1, "call_r_1", "f"), ("arguments", 1, "{}")]
    assert events([first, "\n", first], "r") == [call, [], again, []]
    assert events([first, "\n", "x"], "r") == [call, [], [("content", "\nx")], []]
    assert events([first + "\n<tool", "_x", "\n"], "r") == [
        call,
        [("content", "\n<tool_x")],
        [("content", "\n")],
        [],
    ]
    assert events([first + "\n<tool"], "r") == [call, [("content", "\n<tool")]]


def test_a_call_whose_arguments_come_later_is_told_once() -> None:
    pieces = ['<tool_call>{"name":"f","arguments":', "{", "}", "}</tool_call>", "<tool_call>"]
    assert events(pieces, "r") == [
        [("call", 0, "call_r_0", "f")],
        [("arguments", 0, "{")],
        [("arguments", 0, "}")],
        [],
        [],
        [("content", "<tool_call>")],
    ]


def test_no_pieces_have_one_empty_list_for_the_end() -> None:
    assert events([], "r") == [[]]
    assert events(["", ""], "r") == [[], [], []]
