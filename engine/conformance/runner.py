"""Cases asked of a server, one after the other, each with a verdict.

`tested`: the answer holds all that the case wants. `refuted`: it does not, request and response are in its detail.
`refused`: the server said in OpenAI's shape that it does not do this. `undecided`: the model did not write what the
case needs. `skipped`: the case needs something that was not given. A server that gives no answer is refuted (`hang`,
`crash`), one that answers what it must refuse too (`not_refused`).
"""

import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import httpx

import engine.conformance.stream_checks  # noqa: F401 (registers its checks)
from engine.conformance.cases import Case
from engine.conformance.checks import CHECKS, Context, UndecidedError, error
from engine.conformance.exchange import Exchange, ask
from engine.errors import BadInput
from engine.results import Record

SHOWN = 2000
OnRecord = Callable[[Record], None]


@dataclass(frozen=True, slots=True)
class Server(AbstractContextManager["Server"]):
    """A server under test: base URL such as http://127.0.0.1:8000/v1, key, and the model to ask for."""

    url: str
    client: httpx.Client
    model: str
    has_key: bool

    @classmethod
    def at(cls, url: str, *, key: str | None, model: str | None = None, seconds: float = 120.0) -> "Server":
        """Connect; without a model, the first one that the server lists is asked."""
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        client = httpx.Client(base_url=url.rstrip("/"), headers=headers, timeout=seconds)
        try:
            return cls(url.rstrip("/"), client, model or _first_model(client), bool(key))
        except (httpx.HTTPError, httpx.InvalidURL) as problem:
            client.close()
            raise BadInput(
                f"{url}: no server answers there ({problem}); give the base URL, with /v1"
            ) from problem

    def __exit__(self, *_: object) -> None:
        """Close the connections."""
        self.client.close()


def _first_model(client: httpx.Client) -> str:
    document = ask(client, "/models", None).document
    data = document.get("data") if isinstance(document, dict) else None
    if isinstance(data, list) and data and isinstance(data[0], dict) and isinstance(data[0].get("id"), str):
        found: str = data[0]["id"]
        return found
    raise BadInput(f"{client.base_url}: it lists no models; name one with --model")


def judge_all(server: Server, cases: Sequence[Case], on_record: OnRecord = lambda _: None) -> list[Record]:
    """The verdicts of all cases, each reported as it falls."""
    records = []
    for case in cases:
        records.append(judge(server, case))
        on_record(records[-1])
    return records


def judge(server: Server, case: Case) -> Record:
    """The verdict of one case."""
    started = time.perf_counter()
    verdict = _verdict(server, case)
    verdict["seconds"] = round(time.perf_counter() - started, 3)
    return Record(
        command="conform",
        subject=server.url,
        case=case.id,
        check=case.check,
        domain={"model": server.model},
        reproduce=f"maskproof conform {server.url} {case.id} --model {server.model}",
        **verdict,
    )


def _verdict(server: Server, case: Case) -> dict[str, Any]:
    if case.key is not None and not server.has_key:
        return {
            "verdict": "skipped",
            "message": "no API key was given, so a wrong one cannot be told from it",
        }
    exchange: Exchange | None = None
    try:
        for body in case.before:
            ask(server.client, case.path, {"model": server.model, **body})
        exchange = _ask(server, case)
        return _judged(server, case, exchange)
    except UndecidedError as reason:
        return {"verdict": "undecided", "message": str(reason)}
    except httpx.TimeoutException:
        return _refuted("hang", "no answer in time", case, exchange)
    except httpx.HTTPError as problem:
        return _refuted("crash", f"the connection broke: {problem}", case, exchange)
    except (TypeError, KeyError, AttributeError, IndexError, ValueError) as problem:
        return _refuted(
            "garbage", f"the answer has a shape that no client reads: {problem!r}", case, exchange
        )


def _ask(server: Server, case: Case) -> Exchange:
    body = None if case.request is None else {"model": case.model or server.model, **case.request}
    raw = None if case.raw is None else case.raw * case.times
    if case.key is None:
        return ask(server.client, case.path, body, raw)
    headers = {"Authorization": f"Bearer {case.key}"}
    with httpx.Client(base_url=server.url, headers=headers, timeout=server.client.timeout) as stranger:
        return ask(stranger, case.path, body, raw)


def _judged(server: Server, case: Case, exchange: Exchange) -> dict[str, Any]:
    wants_error = any(want["check"] == "error" for want in case.wants)
    context = Context(exchange, lambda body: ask(server.client, case.path, body))
    if not wants_error and exchange.status != 200:
        return _unanswered(context, case, exchange)
    for want in case.wants:
        arguments = {name: value for name, value in want.items() if name != "check"}
        problem = CHECKS[want["check"]](context, **arguments)
        if problem:
            kind = "not_refused" if want["check"] == "error" and exchange.status == 200 else "tools_differ"
            return _refuted(kind, f"{want['check']}: {problem}", case, exchange)
    return {"verdict": "tested", "method": ", ".join(want["check"] for want in case.wants)}


def _unanswered(context: Context, case: Case, exchange: Exchange) -> dict[str, Any]:
    """A good request that was not answered: honestly refused, or broken."""
    if error(context, [400, 422, 501]) is None:
        return {"verdict": "refused", "message": exchange.document["error"]["message"][:200]}
    kind = "crash" if exchange.status >= 500 else "tools_differ"
    return _refuted(kind, f"status {exchange.status} to a request that is in order", case, exchange)


def _refuted(kind: str, message: str, case: Case, exchange: Exchange | None) -> dict[str, Any]:
    detail: dict[str, Any] = {
        "request": case.raw if case.request is None else case.request,
        "expected": case.comment,
    }
    if exchange is not None:
        detail |= {"status": exchange.status, "response": exchange.text[:SHOWN]}
    return {"verdict": "refuted", "kind": kind, "message": message, "detail": detail}
