"""Tool events as data: written in one place, and read back as what they were."""

import re
from pathlib import Path

import pytest

import engine
from engine.tool_events import event_fields, event_of, request_fields
from reference.jsontext import loads
from reference.tools import parse_tool_request
from reference.toolstream import Arguments, CallStart, Content, Event

ENGINE = Path(engine.__path__[0])


@pytest.mark.parametrize(
    ("event", "fields"),
    [
        (Content("Sure."), ["content", "Sure."]),
        (CallStart(1, "call_req7_1", "f"), ["call", 1, "call_req7_1", "f"]),
        (Arguments(0, '{"a":'), ["arguments", 0, '{"a":']),
    ],
)
def test_an_event_is_a_list_of_its_kind_and_values(event: Event, fields: list[object]) -> None:
    assert event_fields(event) == fields
    assert event_of(fields) == event


@pytest.mark.parametrize(
    "written", [r'\["arguments",', r'"parallel": \w+\.parallel'], ids=["event", "request"]
)
def test_the_suite_writes_events_and_requests_in_one_place(written: str) -> None:
    """Apart from the pure port, which imports nothing of the suite: it is the example to follow."""
    files = [path for path in ENGINE.rglob("*.py") if path.name != "pure_port.py"]
    assert [path.name for path in files if re.search(written, path.read_text(encoding="utf-8"))] == [
        "tool_events.py"
    ]


def test_a_request_names_its_choice_and_keeps_the_parameters_as_text() -> None:
    function = (
        '{"name":"f","description":"d","parameters":{"type":"object","properties":{"a":{"type":"integer"}}}}'
    )
    body = (
        f'{{"messages":[],"tools":[{{"type":"function","function":{function}}}],'
        '"tool_choice":{"type":"function","function":{"name":"f"}}}'
    )
    fields = request_fields(parse_tool_request(body))
    assert fields["choice"] == {"name": "f"}
    assert loads(fields["tools"][0]["parameters"]) == {
        "type": "object",
        "properties": {"a": {"type": "integer"}},
    }
