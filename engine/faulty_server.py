"""Servers that are wrong on purpose, one fault each: what the conformance cases must tell from a right one.

A fault stands between the right server and the client and changes a request on its way in or an answer on its way out.
Its name is a flag of the conformance cases; exactly the cases that carry the flag must fail.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

Json = dict[str, Any]


def _same(value: Any, _: Json) -> Any:
    return value


@dataclass(frozen=True, slots=True)
class Fault:
    """What is changed: request, whole answer or chunks (these two with the request), an error, the list of models.

    `breaks_on` are requests answered with a bare status 500; `lets_all_in` is a server that asks for no key.
    """

    name: str
    request: Callable[[Json], Json] = lambda request: request
    whole: Callable[[Json, Json], Json] = _same
    chunks: Callable[[list[Json], Json], list[Json]] = _same
    error: Callable[[int, Json], tuple[int, Any]] = lambda status, body: (status, body)
    models: Callable[[Json], Json] = lambda models: models
    breaks_on: Callable[[Json], bool] = lambda request: False
    says_done: bool = True
    lets_all_in: bool = False


class FaultyServer:
    """An ASGI application around the right one; an answer is held back until it is whole, then changed."""

    def __init__(self, inner: ASGIApp, fault: Fault) -> None:
        """`inner` is the right server."""
        self._inner, self._fault = inner, fault

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Change one exchange."""
        if scope["type"] != "http":
            return await self._inner(scope, receive, send)
        body = await _body(receive)
        request = _fields(body)
        if request is not None:
            body = json.dumps(self._fault.request(request)).encode()
        status, kind, answer = await self._ask(scope, body, receive)
        if self._fault.breaks_on(request or {}):
            status, kind, answer = 500, b"text/plain", b"Internal Server Error"
        elif kind.startswith(b"text/event-stream"):
            answer = self._stream(answer, request or {})
        else:
            status, answer = self._document(scope["path"], status, answer, request or {})
        await send({"type": "http.response.start", "status": status, "headers": [(b"content-type", kind)]})
        await send({"type": "http.response.body", "body": answer})

    async def _ask(self, scope: Scope, body: bytes, receive: Receive) -> tuple[int, bytes, bytes]:
        """Status, content type and body of the right server's answer."""
        sent: list[Message] = []

        async def keep(message: Message) -> None:
            sent.append(message)

        headers = [pair for pair in scope["headers"] if pair[0] != b"content-length"]
        await self._inner({**scope, "headers": headers}, _once(body, receive), keep)
        kind = dict(sent[0]["headers"]).get(b"content-type", b"")
        return sent[0]["status"], kind, b"".join(message.get("body", b"") for message in sent[1:])

    def _stream(self, answer: bytes, request: Json) -> bytes:
        lines = [line[6:] for line in answer.decode().split("\n\n") if line]
        chunks = self._fault.chunks([json.loads(line) for line in lines if line != "[DONE]"], request)
        written = [json.dumps(chunk) for chunk in chunks] + ["[DONE]"] * self._fault.says_done
        return "".join(f"data: {line}\n\n" for line in written).encode()

    def _document(self, path: str, status: int, answer: bytes, request: Json) -> tuple[int, bytes]:
        document: Any = json.loads(answer)
        if status != 200:
            status, document = self._fault.error(status, document)
        elif path.endswith("/models"):
            document = self._fault.models(document)
        else:
            document = self._fault.whole(document, request)
        return status, json.dumps(document).encode()


def _fields(body: bytes) -> Json | None:
    try:
        fields = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return fields if isinstance(fields, dict) else None


async def _body(receive: Receive) -> bytes:
    body, more = b"", True
    while more:
        message = await receive()
        body, more = body + message.get("body", b""), message.get("more_body", False)
    return body


def _once(body: bytes, receive: Receive) -> Receive:
    sent = False

    async def receive_changed() -> Message:
        nonlocal sent
        if sent:
            return await receive()
        sent = True
        return {"type": "http.request", "body": body, "more_body": False}

    return receive_changed
