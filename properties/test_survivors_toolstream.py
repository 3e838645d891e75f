"""What a mutation tool could change in toolstream without any other test seeing it (docs/mutation.md)."""

import pytest

from reference.errors import Refused
from reference.toolstream import (
    Arguments,
    CallStart,
    Content,
    Event,
    Header,
    ToolCall,
    ToolParser,
    Value,
    collect,
    delta_json,
    message_json,
    read_header,
    step,
)


def test_a_finished_parser_says_what_to_do() -> None:
    parser = ToolParser("r")
    parser.finish()
    with pytest.raises(Refused) as refusal:
        parser.push("")
    assert str(refusal.value) == (
        "tool parser: this answer is finished; make a new ToolParser for the next one"
    )


def test_finishing_twice_gives_what_was_held_once() -> None:
    parser = ToolParser("r")
    assert parser.push("<tool") == []
    assert (parser.finish(), parser.finish()) == ([Content("<tool")], [])


def test_the_brace_that_closes_an_object_ends_the_arguments_whatever_follows() -> None:
    """A string inside does not make the parser forget that the arguments are an object."""
    header = '<tool_call>{"name":"f","arguments":'
    assert ToolParser("r").push(header + '{"a":"b"}X') == [
        CallStart(0, "call_r_0", "f"),
        Arguments(0, '{"a":"b"}'),
        Content("X"),
    ]


def test_the_last_character_of_arguments_says_on_which_side_they_end() -> None:
    assert step(Value(), "}") == step(Value("1"), "}") == "before"
    assert step(Value("{", 1), "}") == "after"
    assert step(Value("[", 1), "}") == Value("[", 0)


@pytest.mark.parametrize("length", [1, 63, 64])
def test_a_name_of_up_to_64_characters_makes_a_header(length: int) -> None:
    text = f'<tool_call>{{"name":"{"n" * length}","arguments":'
    assert read_header(text) == read_header(text + "{}") == Header("n" * length, len(text))
    assert read_header(text[:-1]) == "partial"


@pytest.mark.parametrize("name", ["", "n" * 65, "n.n", "é"])
def test_any_other_name_makes_none(name: str) -> None:
    assert read_header(f'<tool_call>{{"name":"{name}","arguments":') == "no"


def test_the_json_of_a_call_is_written_member_by_member() -> None:
    """The text, not only the value: a client that compares strings sees one order."""
    function = '"function":{"name":"f","arguments":"{}"}'
    assert message_json(None, [ToolCall("i", "f", "{}")]) == (
        '{"role":"assistant","content":null,"tool_calls":[{"id":"i","type":"function",' + function + "}]}"
    )
    assert message_json("x", []) == '{"role":"assistant","content":"x"}'
    assert delta_json(Content("x")) == '{"content":"x"}'
    start = '{"tool_calls":[{"index":2,"id":"i","type":"function","function":{"name":"f","arguments":""}}]}'
    assert delta_json(CallStart(2, "i", "f")) == start
    assert delta_json(Arguments(2, "{")) == '{"tool_calls":[{"index":2,"function":{"arguments":"{"}}]}'


def test_each_call_collects_its_own_arguments() -> None:
    events: list[Event] = [
        CallStart(0, "i", "f"),
        CallStart(1, "j", "g"),
        Arguments(1, "b"),
        Arguments(0, "a"),
        Arguments(1, "c"),
    ]
    assert collect(events) == (None, [ToolCall("i", "f", "a"), ToolCall("j", "g", "bc")])
