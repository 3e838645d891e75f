"""Servers for tests: in this process, on loopback, ended with the block."""

from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from engine.server.run import serving


class Recorded:
    """The right server's answers, each request answered once: what a fault does to an answer costs no new one."""

    def __init__(self, inner: ASGIApp) -> None:
        self._inner = inner
        self._known: dict[tuple[object, ...], list[Message]] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self._inner(scope, receive, send)
        message = await receive()
        body = message.get("body", b"")
        while message.get("more_body"):
            message = await receive()
            body += message.get("body", b"")
        asked = (scope["method"], scope["path"], dict(scope["headers"]).get(b"authorization"), body)
        if asked not in self._known:
            self._known[asked] = await self._ask(scope, body, receive)
        for part in self._known[asked]:
            await send(part)

    async def _ask(self, scope: Scope, body: bytes, receive: Receive) -> list[Message]:
        sent: list[Message] = []
        asked = iter([{"type": "http.request", "body": body, "more_body": False}])

        async def once() -> Message:
            return next(asked, None) or await receive()

        async def keep(message: Message) -> None:
            sent.append(message)

        headers = [pair for pair in scope["headers"] if pair[0] != b"content-length"]
        await self._inner({**scope, "headers": headers}, once, keep)
        return sent


@contextmanager
def served(app: ASGIApp) -> Iterator[str]:
    """The base URL of an application for the length of the block."""
    config = uvicorn.Config(app, log_level="error", access_log=False, lifespan="off")
    with serving(uvicorn.Server(config)) as url:
        yield url
