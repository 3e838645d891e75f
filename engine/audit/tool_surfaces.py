"""The tool surfaces that a port announces: the golden cases, and their streams cut anew with the audit's seed."""

import random
from collections.abc import Iterator, Sequence
from typing import Any

from engine.audit.findings import Subject
from engine.audit.runner import Runner
from engine.audit.surfaces import Ask, judge
from engine.golden.document import FOLDER, Case, read
from engine.golden.replay import Difference, asker
from engine.results import Record
from reference.toolstream import Arguments, CallStart, Event, ToolParser

FILES = {
    "requests": "tool_request",
    "errors": "tool_request",
    "grammars": "tool_grammar",
    "renderings": "tool_render",
    "streams": "tool_stream",
}
CUTS = 3
"""Random cuts of every stream's text."""


def records(runner: Runner, subject: Subject, features: Sequence[str], seed: int) -> Iterator[Record]:
    """One record a golden case of an announced op, and one a text cut at random places."""
    for name, op in FILES.items():
        if op in features:
            for case in read(FOLDER / "tools" / f"{name}.json")["cases"]:
                yield judge(subject, f"tools/{name}#{case['id']}", op, _golden(runner, name, case), runner)
    if "tool_stream" in features:
        yield from _streams(runner, subject, random.Random(seed))


def _golden(runner: Runner, name: str, case: Case) -> Ask:
    def ask() -> tuple[str, str]:
        try:
            asker(f"tools/{name}")(runner.port, 0, case)
        except Difference as difference:
            return "tools_differ", str(difference)
        return "", ""

    return ask


def _streams(runner: Runner, subject: Subject, chance: random.Random) -> Iterator[Record]:
    texts = {"".join(case["pieces"]): case for case in read(FOLDER / "tools" / "streams.json")["cases"]}
    for text, case in texts.items():
        for number in range(CUTS):
            pieces = _cut(text, chance)
            ask = _stream(runner, case["request_id"], pieces)
            name = f"tools/streams#{case['id']}/cut-{number}"
            yield judge(subject, name, "tool_stream", ask, runner, text=text, pieces=pieces)


def _cut(text: str, chance: random.Random) -> list[str]:
    """The text in pieces of one to nine characters."""
    pieces, place = [], 0
    while place < len(text):
        width = chance.randint(1, 9)
        pieces.append(text[place : place + width])
        place += width
    return pieces or [""]


def _stream(runner: Runner, request_id: str, pieces: list[str]) -> Ask:
    def ask() -> tuple[str, str]:
        parser = ToolParser(request_id)
        expected = [[_plain(event) for event in parser.push(piece)] for piece in pieces]
        last = [_plain(event) for event in parser.finish()]
        fields: dict[str, Any] = {"request_id": request_id, "pieces": pieces, "engine_finish": "stop"}
        answer = runner.port.request("tool_stream", **fields)
        for place, (told, wanted) in enumerate(zip(answer.get("events", []), expected, strict=False)):
            if told != wanted:
                return "tools_differ", f"after piece {place}: {told!r} where {wanted!r} is exact"
        if (len(answer.get("events", [])), answer.get("finish")) != (len(expected), last):
            return "tools_differ", f"at the end: {answer.get('finish')!r} where {last!r} is exact"
        return "", ""

    return ask


def _plain(event: Event) -> list[Any]:
    if isinstance(event, CallStart):
        return ["call", event.index, event.id, event.name]
    if isinstance(event, Arguments):
        return ["arguments", event.index, event.fragment]
    return ["content", event.text]
