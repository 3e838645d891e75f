"""A request and its answer, read the way clients read it: deltas are joined by choice and by call index.

Nothing is repaired: a wrong index joins the arguments of two calls here as it does in a client.
"""

import json
from dataclasses import dataclass, field
from typing import Any

import httpx

DATA = "data:"


@dataclass(slots=True)
class Call:
    """A tool call as it was sent; `arguments` is whatever stood there, text when the server is right."""

    id: Any = None
    type: Any = None
    name: Any = None
    arguments: Any = ""


@dataclass(slots=True)
class Answer:
    """One choice, whole: from the message, or joined from its deltas."""

    content: Any = None
    calls: list[Call] = field(default_factory=list)
    finish_reason: Any = None
    logprobs: list[Any] | None = None

    def plain(self) -> tuple[Any, ...]:
        """What two answers to one request have in common: everything but the ids."""
        return self.content or None, [(call.name, call.arguments) for call in self.calls], self.finish_reason


@dataclass(frozen=True, slots=True)
class Exchange:
    """What was asked and what came back."""

    body: dict[str, Any] | None
    status: int
    kind: str
    text: str

    @property
    def document(self) -> Any:
        """The answer as JSON, None when it is none."""
        try:
            return json.loads(self.text)
        except ValueError:
            return None

    @property
    def is_stream(self) -> bool:
        """Whether a stream was asked for."""
        return bool(self.body and self.body.get("stream"))

    @property
    def lines(self) -> list[str]:
        """The data of the server-sent events, in order."""
        rows = self.text.replace("\r\n", "\n").split("\n")
        return [row.removeprefix(DATA).strip() for row in rows if row.startswith(DATA)]

    @property
    def chunks(self) -> list[dict[str, Any]]:
        """The events that are JSON objects."""
        found: list[dict[str, Any]] = []
        for line in self.lines:
            try:
                value = json.loads(line)
            except ValueError:
                continue
            if isinstance(value, dict):
                found.append(value)
        return found

    def answers(self) -> list[Answer]:
        """The choices in order of their index."""
        return joined(self.chunks) if self.is_stream else whole(self.document)


def ask(client: httpx.Client, path: str, body: dict[str, Any] | None, raw: str | None = None) -> Exchange:
    """Send one request and read all of the answer."""
    if body is None and raw is None:
        response = client.get(path)
    else:
        content = raw if raw is not None else json.dumps(body, ensure_ascii=False)
        response = client.post(path, content=content.encode(), headers={"Content-Type": "application/json"})
    kind = response.headers.get("content-type", "")
    return Exchange(body, response.status_code, kind, response.content.decode("utf-8", errors="replace"))


def whole(document: Any) -> list[Answer]:
    """The choices of a completion object."""
    choices = document.get("choices") if isinstance(document, dict) else None
    return (
        [_answer(choice) for choice in choices if isinstance(choice, dict)]
        if isinstance(choices, list)
        else []
    )


def _answer(choice: dict[str, Any]) -> Answer:
    message = choice.get("message") or {}
    logprobs = choice.get("logprobs") or {}
    calls = [_call(call) for call in message.get("tool_calls") or []]
    return Answer(message.get("content"), calls, choice.get("finish_reason"), logprobs.get("content"))


def _call(call: dict[str, Any]) -> Call:
    function = call.get("function") or {}
    return Call(call.get("id"), call.get("type"), function.get("name"), function.get("arguments"))


def joined(chunks: list[dict[str, Any]]) -> list[Answer]:
    """The choices of a stream, every delta added to what stands at its indices."""
    answers: dict[int, Answer] = {}
    calls: dict[tuple[int, Any], Call] = {}
    for chunk in chunks:
        for choice in chunk.get("choices") or []:
            number = choice.get("index", 0)
            answer = answers.setdefault(number, Answer())
            _add(answer, choice)
            for delta in (choice.get("delta") or {}).get("tool_calls") or []:
                place = (number, delta.get("index"))
                if place not in calls:
                    calls[place] = Call()
                    answer.calls.append(calls[place])
                _add_call(calls[place], delta)
    return [answers[number] for number in sorted(answers)]


def _add(answer: Answer, choice: dict[str, Any]) -> None:
    content = (choice.get("delta") or {}).get("content")
    if content is not None:
        answer.content = (answer.content or "") + content
    answer.finish_reason = choice.get("finish_reason") or answer.finish_reason
    entries = (choice.get("logprobs") or {}).get("content")
    if entries:
        answer.logprobs = (answer.logprobs or []) + entries


def _add_call(call: Call, delta: dict[str, Any]) -> None:
    function = delta.get("function") or {}
    call.id = delta.get("id") or call.id
    call.type = delta.get("type") or call.type
    call.name = function.get("name") or call.name
    fragment = function.get("arguments")
    if isinstance(fragment, str) and isinstance(call.arguments, str):
        call.arguments += fragment
    elif fragment is not None:
        call.arguments = fragment
