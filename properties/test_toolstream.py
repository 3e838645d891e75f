"""The streaming parser held to the whole-text oracle: for every text and cut, the same events and fold."""

import itertools
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oracles import tool_text
from properties.tool_texts import CALL, PING, TEXTS
from reference.errors import Refused
from reference.toolstream import (
    Arguments,
    CallStart,
    Content,
    Event,
    ToolCall,
    ToolParser,
    collect,
    delta_json,
    finish_reason,
    message_json,
)


def run(pieces: list[str], request_id: str = "req7") -> list[list[Event]]:
    parser = ToolParser(request_id)
    return [*(parser.push(piece) for piece in pieces), parser.finish()]


def plain(event: Event) -> tuple[str | int, ...]:
    if isinstance(event, Content):
        return ("content", event.text)
    if isinstance(event, CallStart):
        return ("call", event.index, event.id, event.name)
    return ("arguments", event.index, event.fragment)


def fold(events: list[list[Event]]) -> tuple[str | None, list[tuple[str, str, str]]]:
    content, calls = collect([event for group in events for event in group])
    return content, [(call.id, call.name, call.arguments) for call in calls]


def agree(pieces: list[str]) -> None:
    events = run(pieces)
    assert [[plain(event) for event in group] for group in events] == tool_text.events(pieces, "req7")
    assert fold(events) == tool_text.answer("".join(pieces), "req7")


@pytest.mark.parametrize("name", TEXTS)
def test_every_two_way_split_agrees_with_the_whole_text(name: str) -> None:
    text = TEXTS[name]
    for cut in range(len(text) + 1):
        agree([text[:cut], text[cut:]])


@pytest.mark.parametrize("name", TEXTS)
def test_one_character_at_a_time_agrees_with_the_whole_text(name: str) -> None:
    agree(list(TEXTS[name]))


SCRAPS = st.sampled_from(
    [
        "<tool_call>",
        '{"name":"',
        "f",
        '","arguments":',
        "{",
        "}",
        "[",
        "]",
        '"',
        "\\",
        "\n",
        "</tool_call>",
        " ",
        "é🐈",
        "<",
        "<tool",
        "}</tool",
        CALL,
        PING,
        '{"a":1}',
        "null",
    ]
)


@settings(max_examples=300, deadline=None)
@given(st.lists(SCRAPS, max_size=14).map("".join), st.data())
def test_any_text_cut_anywhere_agrees_with_the_whole_text(text: str, data: st.DataObject) -> None:
    cuts = data.draw(st.lists(st.integers(0, len(text)), max_size=8).map(sorted))
    places = [0, *cuts, len(text)]
    agree([text[start:end] for start, end in itertools.pairwise(places)])


@pytest.mark.parametrize("name", TEXTS)
def test_nothing_is_lost_nothing_is_twice_and_no_markup_is_shown(name: str) -> None:
    """content + markup + arguments = the text, with the parser's shares taken from its events, not from the oracle."""
    text = TEXTS[name]
    content, calls = fold(run(list(text)))
    roles = tool_text.spans(text)
    markup = sum(span.end - span.start for span in roles if span.role == "markup")
    assert len(content or "") + sum(len(call[2]) for call in calls) + markup == len(text)


def test_bytes_of_a_character_cut_by_tokens_reach_the_parser_whole() -> None:
    """An incremental decoder before the parser holds the bytes of a cut character; the fold does not change."""
    import codecs

    text = TEXTS["non-ascii"]
    decoder = codecs.getincrementaldecoder("utf-8")()
    pieces = [decoder.decode(bytes([byte])) for byte in text.encode()]
    agree([*pieces, decoder.decode(b"", True)])


@pytest.mark.parametrize(
    "name", ["hand-example", "parallel", "four-calls", "empty-arguments", "unicode-escapes"]
)
def test_the_answer_written_back_is_the_text(name: str) -> None:
    """rendered(collect(parse(text))) = text when all content stands before the calls."""
    text = TEXTS[name]
    content, calls = fold(run([text]))
    blocks = [f'<tool_call>{{"name":"{n}","arguments":{a}}}</tool_call>' for _, n, a in calls]
    assert text == (content or "") + "\n".join(blocks)


def test_a_parser_says_whether_a_call_is_open() -> None:
    parser = ToolParser("r")
    opened = [parser.is_inside_call for piece in ("a", CALL[:-1], ">") if parser.push(piece) is not None]
    assert opened == [False, True, False]


def test_a_finished_parser_takes_no_more() -> None:
    parser = ToolParser("r")
    parser.finish()
    with pytest.raises(Refused, match="this answer is finished"):
        parser.push("hi")


def test_two_parsers_share_nothing() -> None:
    first, second = ToolParser("a"), ToolParser("b")
    first.push(CALL[:30])
    assert second.push("hi") == [Content("hi")]


def test_a_call_comes_out_the_same_in_one_piece() -> None:
    assert run([PING]) == [[CallStart(0, "call_req7_0", "ping"), Arguments(0, "{}")], []]


def test_messages_and_deltas_have_the_shapes_clients_read() -> None:
    call = ToolCall("call_r_0", "f", '{"a":"é"}')
    message = {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {"id": "call_r_0", "type": "function", "function": {"name": "f", "arguments": '{"a":"é"}'}}
        ],
    }
    assert json.loads(message_json(None, [call])) == json.loads(message_json("", [call])) == message
    assert json.loads(message_json("x", [])) == {"role": "assistant", "content": "x"}
    assert json.loads(message_json(None, [])) == {"role": "assistant", "content": ""}
    assert json.loads(delta_json(Content("x"))) == {"content": "x"}


@pytest.mark.parametrize(
    ("calls", "engine", "expected"), [(0, "stop", "stop"), (0, "length", "length"), (2, "stop", "tool_calls")]
)
def test_the_finish_reason_is_tool_calls_when_any_call_was_made(
    calls: int, engine: str, expected: str
) -> None:
    assert finish_reason(calls, engine) == expected
