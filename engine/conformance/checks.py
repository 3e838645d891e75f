"""What is judged of an answer, streamed or not: each check is one function that returns what is wrong, or None.

A check never judges the model: where the model did not do what the case needs, the case is undecided.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from jsonschema import Draft202012Validator

from engine.conformance.exchange import Answer, Exchange, whole

Problem = str | None
Check = Callable[..., Problem]
CHECKS: dict[str, Check] = {}
REQUEST = "Say exactly: "
PROBE_TOKENS = 400


class UndecidedError(Exception):
    """The answer does not show whether the server is right."""


@dataclass(frozen=True, slots=True)
class Context:
    """The exchange under judgement, and a way to ask for more."""

    exchange: Exchange
    ask: Callable[[dict[str, Any]], Exchange]

    @property
    def answers(self) -> list[Answer]:
        """The choices."""
        return self.exchange.answers()

    @property
    def body(self) -> dict[str, Any]:
        """The request."""
        return self.exchange.body or {}


def check(function: Check) -> Check:
    """Register a check under its name."""
    CHECKS[function.__name__] = function
    return function


@check
def choices(context: Context, count: int = 1) -> Problem:
    """There are so many choices, numbered from 0."""
    document = context.exchange.document
    if context.exchange.is_stream:
        numbers = {c.get("index") for chunk in context.exchange.chunks for c in chunk.get("choices") or []}
    else:
        numbers = {c.get("index") for c in (document or {}).get("choices") or []}
    return (
        None
        if numbers == set(range(count))
        else f"choices have the indices {sorted(map(str, numbers))}, not 0 … {count - 1}"
    )


@check
def calls(context: Context, least: int = 1, most: int = 1, names: list[str] | None = None) -> Problem:
    """Every choice has so many calls, of these tools."""
    for answer in context.answers:
        if not least <= len(answer.calls) <= most:
            return f"{len(answer.calls)} calls, not {least} … {most}"
        for call in answer.calls:
            if names is not None and call.name not in names:
                return f"a call of {call.name!r}, not of {' or '.join(names)}"
    return None


@check
def no_calls(context: Context) -> Problem:
    """Nothing is called."""
    found = [call.name for answer in context.answers for call in answer.calls]
    return f"calls of {', '.join(map(str, found))}" if found else None


@check
def arguments_fit(context: Context) -> Problem:
    """Every call's arguments are the text of an object that its tool's schema accepts."""
    schemas = {tool["function"]["name"]: tool["function"].get("parameters") for tool in context.body["tools"]}
    for answer in context.answers:
        if answer.finish_reason == "length":
            raise UndecidedError("the answer was cut by max_tokens")
        for call in answer.calls:
            problem = _arguments_problem(call.arguments, schemas.get(call.name))
            if problem:
                return problem
    return None


def _arguments_problem(arguments: Any, schema: dict[str, Any] | None) -> Problem:
    if not isinstance(arguments, str):
        return f"arguments are {type(arguments).__name__}, not text"
    try:
        value = json.loads(arguments)
    except ValueError as problem:
        return f"arguments {arguments[:80]!r} do not parse: {problem}"
    error = next(
        Draft202012Validator(schema or {"type": "object", "maxProperties": 0}).iter_errors(value), None
    )
    return f"arguments {arguments[:80]!r}: {error.message}" if error else None


@check
def arguments_text(context: Context) -> Problem:
    """Arguments are text, in every call."""
    kinds = {type(call.arguments).__name__ for answer in context.answers for call in answer.calls}
    return None if kinds <= {"str"} else f"arguments are {', '.join(sorted(kinds))}, not text"


@check
def content_null(context: Context) -> Problem:
    """Beside calls without text, content is null."""
    message = ((context.exchange.document or {}).get("choices") or [{}])[0].get("message") or {}
    if not message.get("tool_calls"):
        raise UndecidedError("the model called nothing")
    content = message.get("content")
    return None if content is None else f"content is {content!r} beside tool_calls, not null"


@check
def says(context: Context, content: str | None, calls: list[list[str]]) -> Problem:
    """The answer is what the conversation asked the model to write: this content and these [name, arguments] calls.

    A difference is the server's only when the model shows, asked once more without tools, that it does write the text.
    """
    problems = (_said_problem(answer, content or "", calls) for answer in context.answers)
    problem = next((problem for problem in problems if problem), None)
    if problem and not _obeys(context):
        raise UndecidedError(f"{problem}; but the model does not write the text without tools either")
    return problem


def _said_problem(answer: Answer, content: str, calls: list[list[str]]) -> Problem:
    shown = answer.content or ""
    if [call.name for call in answer.calls] != [name for name, _ in calls]:
        return f"calls of {[call.name for call in answer.calls]}, not of {[name for name, _ in calls]}"
    for call, (_, arguments) in zip(answer.calls, calls, strict=True):
        if not _same_json(call.arguments, arguments):
            return f"arguments {str(call.arguments)[:120]!r}, not {arguments!r}"
    return f"content {shown[:120]!r}, not {content!r}" if shown != content else None


def _obeys(context: Context) -> bool:
    """Whether the model repeats the text letter by letter when nothing but the conversation is asked."""
    messages = context.body["messages"]
    wanted = messages[-1]["content"].removeprefix(REQUEST).replace("\\n", "\n")
    asked = {
        "model": context.body["model"],
        "messages": messages,
        "temperature": 0,
        "max_tokens": PROBE_TOKENS,
    }
    plain = context.ask(asked)
    return [answer.content for answer in whole(plain.document)] == [wanted]


def _same_json(left: Any, right: str) -> bool:
    try:
        return isinstance(left, str) and json.loads(left) == json.loads(right)
    except ValueError:
        return False


@check
def finish_reason(context: Context, any_of: list[str]) -> Problem:
    """Every choice ends for one of these reasons."""
    reasons = {str(answer.finish_reason) for answer in context.answers}
    return (
        None
        if reasons <= set(any_of)
        else f"finish_reason {', '.join(sorted(reasons))}, not {' or '.join(any_of)}"
    )


@check
def ids(context: Context) -> Problem:
    """Every call has an id of its own, and the type function."""
    found = [call for answer in context.answers for call in answer.calls]
    texts = [call.id for call in found]
    if not all(isinstance(text, str) and text for text in texts):
        return "a call without an id"
    if len(set(texts)) < len(texts):
        return f"two calls with the id {max(texts, key=texts.count)!r}"
    return next((f"a call of type {call.type!r}" for call in found if call.type != "function"), None)


@check
def usage(context: Context, most: int | None = None) -> Problem:
    """Token counts are there, add up, and keep within max_tokens."""
    if context.exchange.is_stream:
        counts = next((c["usage"] for c in reversed(context.exchange.chunks) if c.get("usage")), None)
    else:
        counts = (context.exchange.document or {}).get("usage")
    if not isinstance(counts, dict):
        return "no usage"
    names = ("prompt_tokens", "completion_tokens", "total_tokens")
    if not all(isinstance(counts.get(name), int) and counts[name] >= 0 for name in names):
        return f"usage {counts} lacks counts"
    if counts["prompt_tokens"] + counts["completion_tokens"] != counts["total_tokens"]:
        return f"usage {counts} does not add up"
    if most is not None and counts["completion_tokens"] > most:
        return f"{counts['completion_tokens']} completion tokens, more than {most}"
    return None


@check
def is_cut(context: Context, most: int) -> Problem:
    """An answer that took all of max_tokens ends with finish_reason length."""
    problem = usage(context, most)
    if problem:
        return problem
    if context.exchange.document["usage"]["completion_tokens"] < most:
        raise UndecidedError("the model ended by itself")
    return finish_reason(context, ["length"])


@check
def json_object(context: Context) -> Problem:
    """The content is one JSON object and nothing else."""
    for answer in context.answers:
        if answer.finish_reason == "length":
            raise UndecidedError("the answer was cut by max_tokens")
        try:
            value = json.loads(answer.content or "")
        except ValueError:
            return f"content {str(answer.content)[:80]!r} is not JSON"
        if not isinstance(value, dict):
            return f"content is a JSON {type(value).__name__}, not an object"
    return None


@check
def stops_before(context: Context, text: str) -> Problem:
    """The stop text is not shown, and what is shown ends there."""
    for answer in context.answers:
        if text in (answer.content or ""):
            return f"the stop text {text!r} is shown"
    return None


@check
def logprobs(context: Context, top: int = 0) -> Problem:
    """Content tokens come with logprobs of at most 0, their bytes make the content, and `top` others with each."""
    for answer in context.answers:
        entries = answer.logprobs
        if not entries:
            return "no logprobs"
        if any(entry.get("logprob", 1) > 0 for entry in entries):
            return "a logprob above 0"
        if any(len(entry.get("top_logprobs") or []) > top for entry in entries):
            return f"more than {top} top_logprobs"
        text = b"".join(bytes(entry.get("bytes") or b"") for entry in entries).decode(
            "utf-8", errors="replace"
        )
        if text.rstrip("\ufffd") != (answer.content or "").rstrip("\ufffd"):
            return f"the logprobs' bytes are {text[:80]!r}, the content is {str(answer.content)[:80]!r}"
    return None


@check
def repeats(context: Context) -> Problem:
    """The same request with the same seed gives the same answer."""
    again = context.ask(context.body).answers()
    first, second = ([answer.plain() for answer in answers] for answers in (context.answers, again))
    return None if first == second else f"{str(first)[:100]} and then {str(second)[:100]}"


@check
def same_as_batch(context: Context) -> Problem:
    """The deltas of a stream join to the answer of the same request without a stream."""
    body = {name: value for name, value in context.body.items() if name not in ("stream", "stream_options")}
    batch, again = (context.ask(body).answers() for _ in range(2))
    if [answer.plain() for answer in batch] != [answer.plain() for answer in again]:
        raise UndecidedError("the server does not repeat itself at temperature 0")
    streamed = [answer.plain() for answer in context.answers]
    whole = [answer.plain() for answer in batch]
    return None if streamed == whole else f"streamed {str(streamed)[:120]}, whole {str(whole)[:120]}"


@check
def error(context: Context, status: list[int], code: str | None = None) -> Problem:
    """Refused with one of these statuses, in OpenAI's shape."""
    found = context.exchange.status
    if found not in status:
        return f"status {found}, not {' or '.join(map(str, status))}"
    body = context.exchange.document
    inner = body.get("error") if isinstance(body, dict) else None
    if not isinstance(inner, dict):
        return f"no error object in {context.exchange.text[:80]!r}"
    if not isinstance(inner.get("message"), str) or not inner["message"]:
        return "the error has no message"
    if not isinstance(inner.get("type"), str):
        return "the error has no type"
    if not all(inner.get(name) is None or isinstance(inner[name], str | int) for name in ("param", "code")):
        return "param or code of the error is no text"
    return f"code {inner.get('code')!r}, not {code!r}" if code and inner.get("code") != code else None


@check
def models(context: Context) -> Problem:
    """The list of models has at least one, each with an id."""
    data = (context.exchange.document or {}).get("data")
    if not isinstance(data, list) or not data:
        return "no list of models"
    return None if all(isinstance(entry.get("id"), str) for entry in data) else "a model without an id"
