"""The JSON a client reads: completions, chunks, models; shapes only, no decisions.

Message and deltas are the reference's own texts (`message_json`, `delta_json`), so that what the goldens pin is what
goes over the wire.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from engine.server.generation import Finished, Item, Piece
from engine.server.logprobs import TokenLogprob
from reference.jsontext import dumps
from reference.toolstream import Event, collect, delta_json, message_json


@dataclass(frozen=True, slots=True)
class Heading:
    """What every object of one answer repeats."""

    request_id: str
    created: int
    model: str
    prompt_tokens: int

    def fields(self, kind: str) -> dict[str, Any]:
        """id, object, created, model."""
        return {
            "id": f"chatcmpl-{self.request_id}",
            "object": kind,
            "created": self.created,
            "model": self.model,
        }

    def usage(self, completion_tokens: int) -> dict[str, int]:
        """Tokens in, tokens out, and their sum."""
        total = self.prompt_tokens + completion_tokens
        return {
            "prompt_tokens": self.prompt_tokens,
            "completion_tokens": completion_tokens,
            "total_tokens": total,
        }


@dataclass(slots=True)
class Gathered:
    """What came of one choice so far."""

    events: list[Event] = field(default_factory=list)
    logprobs: list[TokenLogprob] = field(default_factory=list)
    finished: Finished | None = None

    def add(self, item: Item) -> None:
        """One item more."""
        self.logprobs.extend(item.logprobs)
        if isinstance(item, Piece):
            self.events.append(item.event)
        else:
            self.finished = item


def completion(heading: Heading, choices: Sequence[Gathered], *, with_logprobs: bool) -> dict[str, Any]:
    """The whole answer of a request that does not stream."""
    tokens = sum(choice.finished.tokens for choice in choices if choice.finished)
    return {
        **heading.fields("chat.completion"),
        "choices": [_choice(i, choice, with_logprobs) for i, choice in enumerate(choices)],
        "usage": heading.usage(tokens),
    }


def _choice(number: int, choice: Gathered, with_logprobs: bool) -> dict[str, Any]:
    content, calls = collect(choice.events)
    return {
        "index": number,
        "message": json.loads(message_json(content, calls)),
        "logprobs": _logprobs(choice.logprobs) if with_logprobs else None,
        "finish_reason": choice.finished.reason if choice.finished else None,
    }


def _logprobs(entries: Iterable[TokenLogprob]) -> dict[str, Any]:
    return {"content": [entry.as_plain() for entry in entries], "refusal": None}


def first_chunk(heading: Heading, choice: int) -> dict[str, Any]:
    """The chunk that opens a choice: the role, and content that is no null."""
    return _chunk(heading, choice, {"role": "assistant", "content": ""}, None)


def chunk(heading: Heading, item: Item) -> dict[str, Any]:
    """One item as a chunk."""
    logprobs = _logprobs(item.logprobs) if item.logprobs else None
    if isinstance(item, Finished):
        return _chunk(heading, item.choice, {}, item.reason, logprobs)
    return _chunk(heading, item.choice, json.loads(delta_json(item.event)), None, logprobs)


def _chunk(
    heading: Heading, choice: int, delta: dict[str, Any], reason: str | None, logprobs: Any = None
) -> dict[str, Any]:
    body = {"index": choice, "delta": delta, "logprobs": logprobs, "finish_reason": reason}
    return {**heading.fields("chat.completion.chunk"), "choices": [body]}


def usage_chunk(heading: Heading, completion_tokens: int) -> dict[str, Any]:
    """The last chunk when usage is asked for: no choice, only the counts."""
    usage = heading.usage(completion_tokens)
    return {**heading.fields("chat.completion.chunk"), "choices": [], "usage": usage}


def event_line(value: dict[str, Any]) -> str:
    """One server-sent event."""
    return f"data: {dumps(value)}\n\n"


DONE = "data: [DONE]\n\n"


def model_object(name: str, created: int) -> dict[str, Any]:
    """An entry of /v1/models."""
    return {"id": name, "object": "model", "created": created, "owned_by": "maskproof"}
