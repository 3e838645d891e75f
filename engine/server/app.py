"""Routes: chat completions (streamed or not), models, health. Each request is bounded before any work is done on it."""

import asyncio
import hmac
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from engine.server import answers
from engine.server.errors import ApiError, internal
from engine.server.generation import Finished, Item
from engine.server.queue import Job
from engine.server.service import Prepared, Service

log = logging.getLogger("maskproof.server")
Handler = Callable[[Request], Awaitable[Response]]
GONE_POLL_SECONDS = 0.25


def create_app(service: Service, api_key: str | None = None) -> Starlette:
    """The application over a service; with a key, every /v1 route asks for it."""

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        yield
        await asyncio.to_thread(service.close)

    def guarded(handler: Handler) -> Handler:
        async def answer(request: Request) -> Response:
            try:
                _check_key(request, api_key)
                return await handler(request)
            except ApiError as error:
                return error_response(error)
            except ClientDisconnect:
                return Response(status_code=499)
            except Exception:
                log.exception("request failed")
                return error_response(internal("the request could not be answered"))

        return answer

    async def health(_: Request) -> Response:
        return JSONResponse({"status": "ok", "model": service.model.name, **service.scheduler.load()})

    async def models(_: Request) -> Response:
        return JSONResponse({"object": "list", "data": [service.model_object()]})

    async def model(request: Request) -> Response:
        service.check_name(request.path_params["name"])
        return JSONResponse(service.model_object())

    async def chat(request: Request) -> Response:
        prepared = await service.prepare(await read_body(request, service))
        return (
            await _streamed(service, prepared)
            if prepared.stream
            else await _whole(service, prepared, request)
        )

    routes = [
        Route("/healthz", health),
        Route("/v1/models", guarded(models)),
        Route("/v1/models/{name:path}", guarded(model)),
        Route("/v1/chat/completions", guarded(chat), methods=["POST"]),
    ]
    return Starlette(routes=routes, lifespan=lifespan, exception_handlers={HTTPException: _http_error})


def error_response(error: ApiError) -> JSONResponse:
    """The error in OpenAI's shape; 429 says when to come back."""
    headers = {"Retry-After": "1"} if error.status == 429 else None
    return JSONResponse(error.body(), status_code=error.status, headers=headers)


async def _http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    message = f"{request.method} {request.url.path[:80]}: {error.detail}"
    code = {404: "not_found", 405: "method_not_allowed"}.get(error.status_code)
    return error_response(ApiError(error.status_code, message, code=code))


def _check_key(request: Request, api_key: str | None) -> None:
    if api_key is None:
        return
    scheme, _, given = request.headers.get("authorization", "").partition(" ")
    same = hmac.compare_digest(given.strip().encode(), api_key.encode())
    if scheme.lower() != "bearer" or not same:
        raise ApiError(401, "no valid API key; send Authorization: Bearer KEY", code="invalid_api_key")


async def read_body(request: Request, service: Service) -> bytes:
    """The body, within the limits of size and time."""
    limit = service.limits.body
    declared = request.headers.get("content-length", "")
    too_large = ApiError(413, f"the body is over {limit} bytes; send less", code="request_too_large")
    if declared.isascii() and declared.isdigit() and int(declared[:20]) > limit:
        raise too_large
    try:
        async with asyncio.timeout(service.limits.body_seconds):
            return await _up_to(request, limit, too_large)
    except TimeoutError:
        raise ApiError(408, "the body did not come in time", code="request_timeout") from None


async def _up_to(request: Request, limit: int, too_large: ApiError) -> bytes:
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > limit:
            raise too_large
    return bytes(body)


class Receiver:
    """Items of one job as they come from the model thread."""

    def __init__(self, service: Service, prepared: Prepared) -> None:
        """Queue the job; raises ApiError when there is no room."""
        self._items: asyncio.Queue[Item | ApiError] = asyncio.Queue()
        self._open = prepared.plan.choices
        loop = asyncio.get_running_loop()
        self.job = Job(
            prepared.plan, lambda item: _post(loop, self._items, item), service.limits.request_seconds
        )
        service.scheduler.submit(self.job)

    async def __aiter__(self) -> AsyncIterator[Item]:
        """Every item up to the end of the last choice; raises ApiError when the job failed."""
        try:
            while self._open:
                item = await self._items.get()
                if isinstance(item, ApiError):
                    raise item
                self._open -= isinstance(item, Finished)
                yield item
        finally:
            self.job.cancel()


def _post(
    loop: asyncio.AbstractEventLoop, items: "asyncio.Queue[Item | ApiError]", item: Item | ApiError
) -> None:
    loop.call_soon_threadsafe(items.put_nowait, item)


async def _whole(service: Service, prepared: Prepared, request: Request) -> Response:
    """The answer when it is complete; a client that leaves frees its rows."""
    receiver = Receiver(service, prepared)
    watcher = asyncio.create_task(_cancel_when_gone(request, receiver.job))
    choices = [answers.Gathered() for _ in range(prepared.plan.choices)]
    try:
        async for item in receiver:
            choices[item.choice].add(item)
    finally:
        watcher.cancel()
    with_logprobs = prepared.plan.top_logprobs is not None
    return JSONResponse(answers.completion(prepared.heading, choices, with_logprobs=with_logprobs))


async def _cancel_when_gone(request: Request, job: Job) -> None:
    while not await request.is_disconnected():
        await asyncio.sleep(GONE_POLL_SECONDS)
    job.fail(ApiError(499, "the client is gone"))


async def _streamed(service: Service, prepared: Prepared) -> Response:
    receiver = Receiver(service, prepared)
    return JobResponse(receiver.job, _event_lines(receiver, prepared))


class JobResponse(StreamingResponse):
    """A stream of server-sent events; however it ends, its job is over."""

    def __init__(self, job: Job, lines: AsyncIterator[str]) -> None:
        """Lines of one job."""
        super().__init__(lines, media_type="text/event-stream", headers={"Cache-Control": "no-cache"})
        self._job = job

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the lines; a client that leaves ends it too."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._job.cancel()


async def _event_lines(receiver: Receiver, prepared: Prepared) -> AsyncIterator[str]:
    heading, tokens = prepared.heading, 0
    for choice in range(prepared.plan.choices):
        yield answers.event_line(answers.first_chunk(heading, choice))
    try:
        async for item in receiver:
            tokens += item.tokens if isinstance(item, Finished) else 0
            yield answers.event_line(answers.chunk(heading, item))
    except ApiError as error:
        yield answers.event_line(error.body())
        return
    if prepared.include_usage:
        yield answers.event_line(answers.usage_chunk(heading, tokens))
    yield answers.DONE
