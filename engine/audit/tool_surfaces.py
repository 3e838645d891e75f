"""The tool ops that a port announces: requests, grammars, conversations and streams, held to the reference.

Messages of refusals are a port's own words; their status, parameter and code are not. Streams are cut in one piece,
in single characters, and in seeded random places, and must give the same events as the reference for each cut.
"""

import json
import random
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from engine.audit.findings import Subject
from engine.audit.plan import DATA
from engine.audit.runner import Runner
from engine.audit.smallest import shorter_texts
from engine.audit.surfaces import Ask, Question, about_text, judge
from engine.protocol import PortError
from engine.results import Record
from engine.tool_events import event_fields, request_fields
from reference.jsontext import loads
from reference.tools import ToolError, grammar, parse_tool_request, render_messages
from reference.toolstream import (
    ToolParser,
    collect,
    finish_reason,
    message_json,
)

Fields = dict[str, Any]


def records(runner: Runner, subject: Subject, features: Sequence[str], seed: int) -> Iterator[Record]:
    """One record of each body or stream and each announced op."""
    if not any(feature.startswith("tool_") for feature in features):
        return
    document = json.loads((DATA / "tools.json").read_text(encoding="utf-8"))
    for op, wanted in ANSWERS.items():
        for entry in document["bodies"] if op in features else ():
            question = about_text(entry["body"], partial(_of_body, runner, op, wanted))
            yield judge(subject, f"tools:{entry['id']}", op, question, runner)
    for entry in document["streams"] if "tool_stream" in features else ():
        for name, pieces in cuts(entry["text"], seed):
            cut = Question(pieces, partial(_of_pieces, runner), _fewer_pieces, _shown)
            yield judge(subject, f"stream:{entry['id']}/{name}", "tool_stream", cut, runner)


def cuts(text: str, seed: int) -> Iterator[tuple[str, list[str]]]:
    """The text in one piece, in characters, and in random pieces."""
    yield "whole", [text]
    yield "characters", list(text)
    chance = random.Random(f"{seed} {text}")
    for number in range(6):
        places = sorted(chance.sample(range(len(text) + 1), min(len(text), chance.randint(1, 6))))
        ends = [*places, len(text)]
        yield f"cut-{number}", [text[first:end] for first, end in zip([0, *places], ends, strict=True)]


def _of_body(runner: Runner, op: str, wanted: Callable[[Fields], Fields], body: str) -> Ask:
    return _asked(runner, op, {"body": body}, wanted)


def _of_pieces(runner: Runner, pieces: list[str]) -> Ask:
    fields = {"request_id": "req7", "pieces": pieces, "engine_finish": "stop"}
    return _asked(runner, "tool_stream", fields, _stream)


def _fewer_pieces(pieces: list[str]) -> Iterator[list[str]]:
    """Pieces left out, two pieces as one, a shorter piece."""
    for place in range(len(pieces)):
        yield pieces[:place] + pieces[place + 1 :]
    for place in range(len(pieces) - 1):
        yield [*pieces[:place], pieces[place] + pieces[place + 1], *pieces[place + 2 :]]
    for place, piece in enumerate(pieces):
        yield from ([*pieces[:place], less, *pieces[place + 1 :]] for less in shorter_texts(piece))


def _shown(pieces: list[str]) -> Fields:
    return {"text": "".join(pieces), "pieces": pieces}


def _asked(runner: Runner, op: str, fields: Fields, wanted: Callable[[Fields], Fields]) -> Ask:
    def ask() -> tuple[str, str]:
        try:
            there = {
                name: value
                for name, value in runner.port.request(op, **fields).items()
                if name not in ("id", "ok")
            }
        except PortError as error:
            there = {"rejected": error.kind}
        try:
            right = wanted(fields)
        except ToolError:
            right = {"rejected": "invalid"}
        there, right = _comparable(there), _comparable(right)
        if there == right:
            return "", ""
        return (
            "tools_differ",
            f"{json.dumps(there, ensure_ascii=False)[:160]}, not {json.dumps(right, ensure_ascii=False)[:160]}",
        )

    return ask


def _comparable(fields: Fields) -> Fields:
    """Without the words of a refusal; a refusal by error answer is only that."""
    rejected = fields.get("rejected")
    if isinstance(rejected, str):
        return {"rejected": rejected in ("invalid", "refused")}
    if isinstance(rejected, dict):
        return {"rejected": {name: rejected.get(name) for name in ("status", "param", "code")}}
    return fields


def _request(fields: Fields) -> Fields:
    try:
        request = parse_tool_request(fields["body"])
    except ToolError as error:
        return {"rejected": {"status": error.status, "param": error.param, "code": error.code}}
    return {"request": request_fields(request)}


def _grammar(fields: Fields) -> Fields:
    made = grammar(parse_tool_request(fields["body"]))
    return {"pattern": made and made.pattern, "trigger": made and made.trigger}


def _render(fields: Fields) -> Fields:
    request, body = parse_tool_request(fields["body"]), loads(fields["body"])
    messages = body.get("messages") if isinstance(body, dict) else None
    return {"messages": [list(turn) for turn in render_messages(messages, request.tools)]}


def _stream(fields: Fields) -> Fields:
    parser = ToolParser(fields["request_id"])
    pushed = [parser.push(piece) for piece in fields["pieces"]]
    last = parser.finish()
    content, calls = collect([event for events in [*pushed, last] for event in events])
    return {
        "events": [[event_fields(event) for event in events] for events in pushed],
        "finish": [event_fields(event) for event in last],
        "message": json.loads(message_json(content, calls)),
        "finish_reason": finish_reason(len(calls), fields["engine_finish"]),
    }


ANSWERS: dict[str, Callable[[Fields], Fields]] = {
    "tool_request": _request,
    "tool_grammar": _grammar,
    "tool_render": _render,
}
