"""Tool calls found in a whole text at once: patterns for the markup, `json` for the arguments, no streaming state.

Every character of the text is given exactly one role (content, markup, or the arguments of one call), so what
a streaming parser shows can be held to an account: nothing lost, nothing twice, no markup shown. `events`
answers for a cut text too: what is certain after a prefix, minus what was certain after the one before.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Literal

HEADER = re.compile(r'<tool_call>\{"name":"(?P<name>[A-Za-z0-9_-]{1,64})","arguments":')
CLOSER = "}</tool_call>"
QUOTED = re.compile(r'"(?:[^"\\]|\\.|\\\Z)*(?:"|\Z)', re.DOTALL)
Item = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Span:
    """Characters `start` to `end` and their role; `call` is the call's number, `name` is set on a call's header."""

    role: Literal["content", "markup", "arguments"]
    start: int
    end: int
    call: int = -1
    name: str = ""


def _beginnings(parts: Sequence[str]) -> str:
    """A pattern for every beginning, the empty one too, of the sequence of one-character patterns `parts`."""
    return "".join(f"(?:{part}" for part in parts) + ")?" * len(parts)


def _header_beginning() -> re.Pattern[str]:
    front = [re.escape(character) for character in '<tool_call>{"name":"']
    back = _beginnings([re.escape(character) for character in '","arguments"'])
    unfinished = r"[A-Za-z0-9_-]{1,64}" + back
    return re.compile("(?=<)" + _beginnings([*front, unfinished]) + r"\Z")


BEGINNING = _header_beginning()


def value_end(text: str, start: int) -> int | None:
    """Where the arguments that begin at `start` end: by `json` when they are an object, else by counting braces."""
    if text.startswith("{", start):
        try:
            return json.JSONDecoder().raw_decode(text, start)[1]
        except (ValueError, RecursionError):
            return balanced_end(text[start:], start, 0, 1)
    return balanced_end(text[start:], start, -1, 0)


def balanced_end(tail: str, start: int, level: int, keep: int) -> int | None:
    """The first place outside strings where opened minus closed braces falls to `level`, and `keep` characters on."""
    bare = QUOTED.sub(lambda found: "_" * len(found.group()), tail)
    levels = accumulate((character == "{") - (character == "}") for character in bare)
    fall = (place for place, now in enumerate(levels) if bare[place] == "}" and now == level)
    place = next(fall, None)
    return None if place is None else start + place + keep


def spans(text: str) -> list[Span]:
    """The roles of all characters of a finished text, in order and without a gap."""
    found: list[Span] = []
    position, calls, after_call = 0, 0, False
    while header := HEADER.search(text, position):
        between = text[position : header.start()]
        role: Literal["content", "markup"] = "markup" if after_call and between == "\n" else "content"
        found.append(Span(role, position, header.start()))
        found.append(Span("markup", header.start(), header.end(), calls, header["name"]))
        end = value_end(text, header.end())
        stop = len(text) if end is None else end
        found.append(Span("arguments", header.end(), stop, calls))
        closer = text[stop : stop + len(CLOSER)]
        is_cut = stop + len(closer) == len(text) and CLOSER.startswith(closer)
        position = stop + len(closer) if closer == CLOSER or is_cut else stop
        found.append(Span("markup", stop, position))
        after_call = closer == CLOSER
        calls += 1
    found.append(Span("content", position, len(text)))
    return [span for span in found if span.start < span.end]


def certain(text: str) -> list[Span]:
    """The roles that stay as they are whatever follows `text`: an end that may yet be markup is left out."""
    found = spans(text)
    if not found or found[-1].role != "content":
        return found
    last = found.pop()
    tail = text[last.start :]
    held = BEGINNING.search(tail)
    after_call = text[: last.start].endswith(CLOSER)
    if after_call and tail[0] == "\n" and BEGINNING.fullmatch(tail[1:] or "<"):
        return found
    end = len(text) if held is None else last.start + held.start()
    return [*found, Span("content", last.start, end)] if last.start < end else found


def items(text: str, roles: Sequence[Span], request_id: str) -> list[Item]:
    """What is shown: `("content", s)`, `("call", index, id, name)`, `("arguments", index, s)`, in order."""
    shown: list[Item] = []
    for span in roles:
        part = text[span.start : span.end]
        if span.role == "content":
            shown.append(("content", part))
        elif span.role == "arguments":
            shown.append(("arguments", span.call, part))
        elif span.name:
            shown.append(("call", span.call, f"call_{request_id}_{span.call}", span.name))
    return shown


def events(pieces: Sequence[str], request_id: str) -> list[list[Item]]:
    """The events due after every piece, and a last list for the end of the text."""
    whole = "".join(pieces)
    known = [*((text, certain(text)) for text in accumulate(pieces)), (whole, spans(whole))]
    shown = [items(text, roles, request_id) for text, roles in known]
    return [_news(before, now) for before, now in pairwise([[], *shown])]


def _news(before: Sequence[Item], now: Sequence[Item]) -> list[Item]:
    if not before:
        return list(now)
    kept = len(before) - 1
    old, new = before[kept], now[kept]
    rest = str(new[-1])[len(str(old[-1])) :]
    return [*([(*new[:-1], rest)] if rest else []), *now[len(before) :]]


def answer(text: str, request_id: str) -> tuple[str | None, list[tuple[str, str, str]]]:
    """The content of a finished text (None when there is none) and its calls as (id, name, arguments)."""
    roles = spans(text)
    content = "".join(text[span.start : span.end] for span in roles if span.role == "content")
    names = [span.name for span in roles if span.name]
    arguments = {span.call: text[span.start : span.end] for span in roles if span.role == "arguments"}
    calls = [(f"call_{request_id}_{i}", name, arguments.get(i, "")) for i, name in enumerate(names)]
    return content or None, calls
