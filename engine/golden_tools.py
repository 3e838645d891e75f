"""The golden cases of tool calls: requests, errors, grammars, renderings, streams.

`build()` gives the cases by kind. Requests, errors and renderings were worked out by hand and are held to the
reference; a grammar's pattern is the reference's, its members and others are hand-picked and judged by
derivatives on the pattern; a stream's events are the reference's and the whole-text oracle's, which must
agree piece by piece.
"""

import json
from collections.abc import Sequence
from typing import Any

from engine.golden.agreement import Disagreement, agreed
from engine.tool_events import event_fields, request_fields
from fixtures import ROOT
from oracles import tool_text
from oracles.derivatives import is_member
from reference.jsontext import dumps, loads
from reference.tools import ToolError, grammar, parse_tool_request, render_messages
from reference.toolstream import (
    ToolParser,
    collect,
    finish_reason,
    message_json,
)

Case = dict[str, Any]
REQUEST_ID = "req7"
DATA = ROOT / "tool_requests.json"
BY_CHARACTER = (
    "hand-example",
    "parallel",
    "newline-then-mention",
    "closer-in-string",
    "less-than",
    "non-ascii",
)


def build() -> dict[str, list[Case]]:
    """All cases by kind, each value confirmed twice; raises Disagreement."""
    data = json.loads(DATA.read_text(encoding="utf-8"))
    texts = json.loads((ROOT / "tool_texts.json").read_text(encoding="utf-8"))["texts"]
    return {
        "requests": [_request(case) for case in data["requests"]],
        "errors": [_error(case) for case in data["errors"]],
        "grammars": [_grammar(case) for case in data["grammars"]],
        "renderings": [_rendering(case) for case in data["renderings"]],
        "streams": [
            _stream(text, way)
            for text in texts
            for way in _ways(text["id"])
            if way == "whole" or _pieces(text["text"], way) != [text["text"]]
        ],
    }


def inputs() -> list[bytes]:
    """What the cases are made from, for a digest."""
    return [DATA.read_bytes(), (ROOT / "tool_texts.json").read_bytes()]


def _agreed(case: Case, what: str, left: Any, right: Any) -> Any:
    return agreed(f"{case['id']}, {what}", left, right)


def _body(case: Case) -> str:
    return dumps(case["body"])


def _request(case: Case) -> Case:
    found = parse_tool_request(_body(case))
    expected = _agreed(case, "request", request_fields(found), case["request"])
    return _head(case, "reference", "hand") | {"body": _body(case), "request": expected}


def _error(case: Case) -> Case:
    body = case["text"] if "text" in case else _body(case)
    try:
        parse_tool_request(body)
    except ToolError as error:
        found = {"status": error.status, "param": error.param, "code": error.code}
        rejected = _agreed(case, "error", found, case["rejected"])
        _agreed(case, "names the fault", case["names"] in error.message, True)
        return _head(case, "reference", "hand") | {"body": body, "rejected": rejected, "names": case["names"]}
    raise Disagreement(f"{case['id']}: the reference accepts it")


def _grammar(case: Case) -> Case:
    found = grammar(parse_tool_request(_body(case)))
    pattern, trigger = (None, None) if found is None else (found.pattern, found.trigger)
    _agreed(case, "trigger", trigger, case["trigger"])
    if pattern is None:
        return _head(case, "reference", "hand") | {"body": _body(case), "pattern": None, "trigger": None}
    for text in case["members"] + case["others"]:
        _agreed(case, text, is_member(pattern, text.encode(), "bytes"), text in case["members"])
    languages = {"members": case["members"], "others": case["others"]}
    head = _head(case, "reference", "hand", "oracles.derivatives")
    return head | {"body": _body(case), "pattern": pattern, "trigger": trigger, **languages}


def _rendering(case: Case) -> Case:
    request = parse_tool_request(_body(case))
    messages = loads(_body(case))
    assert isinstance(messages, dict)
    found = [list(turn) for turn in render_messages(messages["messages"], request.tools)]
    expected = _agreed(case, "messages", found, case["messages"])
    return _head(case, "reference", "hand") | {"body": _body(case), "messages": expected}


def _head(case: Case, *confirmed_by: str) -> Case:
    return {
        "id": case["id"],
        "comment": case["comment"],
        "flags": case["flags"],
        "confirmed_by": list(confirmed_by),
    }


def _ways(name: str) -> list[str]:
    return ["whole", "by-7", *(["by-1"] if name in BY_CHARACTER else [])]


def _pieces(text: str, way: str) -> list[str]:
    if text == "" or way == "whole":
        return [text]
    size = int(way.removeprefix("by-"))
    return [text[start : start + size] for start in range(0, len(text), size)]


def _stream(entry: Case, way: str) -> Case:
    text, pieces = entry["text"], _pieces(entry["text"], way)
    case = {**entry, "id": f"{entry['id']}-{way}", "comment": f"{entry['comment']}; {_told(way)}"}
    parser = ToolParser(REQUEST_ID)
    pushed = [*(parser.push(piece) for piece in pieces), parser.finish()]
    events = [[event_fields(event) for event in group] for group in pushed]
    due = [[list(item) for item in group] for group in tool_text.events(pieces, REQUEST_ID)]
    _agreed(case, "events", events, due)
    content, calls = collect([event for group in pushed for event in group])
    engine = "length" if entry["id"].startswith("unfinished") else "stop"
    message = _agreed(case, "message", json.loads(message_json(content, calls)), _message(text))
    reason = _agreed(case, "finish_reason", finish_reason(len(calls), engine), _reason(text, engine))
    return _head(case, "reference", "oracles.tool_text") | {
        "request_id": REQUEST_ID,
        "pieces": pieces,
        "engine_finish": engine,
        "events": events[:-1],
        "finish": events[-1],
        "message": message,
        "finish_reason": reason,
    }


def _told(way: str) -> str:
    return {"whole": "in one piece", "by-7": "in pieces of seven", "by-1": "one character at a time"}[way]


def _message(text: str) -> Case:
    """The message as the whole-text oracle has it."""
    content, calls = tool_text.answer(text, REQUEST_ID)
    if not calls:
        return {"role": "assistant", "content": content or ""}
    told = [
        {"id": identifier, "type": "function", "function": {"name": name, "arguments": arguments}}
        for identifier, name, arguments in calls
    ]
    return {"role": "assistant", "content": content, "tool_calls": told}


def _reason(text: str, engine: str) -> str:
    calls: Sequence[Any] = tool_text.answer(text, REQUEST_ID)[1]
    return "tool_calls" if calls else engine
