"""What is judged of a stream itself: its frame, its first and last chunks, and how calls are cut into deltas."""

from collections.abc import Iterator
from typing import Any

from engine.conformance.checks import Context, Problem, UndecidedError, check


def _choices(context: Context) -> Iterator[dict[str, Any]]:
    for chunk in context.exchange.chunks:
        yield from chunk.get("choices") or []


def _call_deltas(context: Context) -> list[tuple[int, dict[str, Any]]]:
    """(choice, delta) of every call delta, in order."""
    return [
        (choice.get("index", 0), delta)
        for choice in _choices(context)
        for delta in (choice.get("delta") or {}).get("tool_calls") or []
    ]


@check
def stream_frame(context: Context) -> Problem:
    """It is a stream of server-sent events, every one JSON, all of one answer."""
    if not context.exchange.kind.startswith("text/event-stream"):
        return f"content type {context.exchange.kind!r}, not text/event-stream"
    lines = [line for line in context.exchange.lines if line != "[DONE]"]
    if len(lines) != len(context.exchange.chunks):
        return "an event that is no JSON object"
    for name in ("id", "model", "object"):
        values = {str(chunk.get(name)) for chunk in context.exchange.chunks}
        if len(values) != 1:
            return f"chunks differ in {name}: {', '.join(sorted(values))[:80]}"
    kind = context.exchange.chunks[0].get("object")
    return None if kind == "chat.completion.chunk" else f"object {kind!r}, not 'chat.completion.chunk'"


@check
def stream_done(context: Context) -> Problem:
    """The last event is [DONE], once."""
    lines = context.exchange.lines
    return (
        None
        if lines.count("[DONE]") == 1 and lines[-1] == "[DONE]"
        else "the stream does not end with [DONE]"
    )


@check
def stream_role(context: Context) -> Problem:
    """The first delta of every choice says role assistant."""
    seen: set[int] = set()
    for choice in _choices(context):
        number = choice.get("index", 0)
        role = (choice.get("delta") or {}).get("role")
        if number not in seen and role != "assistant":
            return f"the first delta of choice {number} has role {role!r}"
        seen.add(number)
    return None


@check
def stream_finish(context: Context) -> Problem:
    """Every choice ends with exactly one finish_reason, in its last chunk."""
    reasons: dict[int, list[Any]] = {}
    for choice in _choices(context):
        reasons.setdefault(choice.get("index", 0), []).append(choice.get("finish_reason"))
    for number, given in reasons.items():
        if given[-1] is None:
            return f"choice {number} has no finish_reason in its last chunk"
        if any(reason is not None for reason in given[:-1]):
            return f"choice {number} has a finish_reason before its last chunk"
    return None if reasons else "no choices"


@check
def stream_calls(context: Context) -> Problem:
    """Indices count from 0 in order of appearance; id, type and name come in a call's first delta only."""
    begun: dict[int, int] = {}
    deltas = _call_deltas(context)
    if not deltas:
        raise UndecidedError("the model called nothing")
    for choice, delta in deltas:
        index, count = delta.get("index"), begun.get(choice, 0)
        function = delta.get("function") or {}
        if index == count and isinstance(function.get("name"), str):
            begun[choice] = count + 1
            if not delta.get("id") or delta.get("type") != "function":
                return f"call {index} begins without id or type"
        elif index != count - 1:
            return f"index {index} after {count} calls have begun"
        elif "name" in function or "id" in delta or "type" in delta:
            return f"call {index} repeats its name, id or type in a later delta"
    return None


@check
def stream_no_nulls(context: Context) -> Problem:
    """No field inside a call's delta is null: clients add the texts up."""
    for _, delta in _call_deltas(context):
        function = delta.get("function") or {}
        nulls = [name for name, value in [*delta.items(), *function.items()] if value is None]
        if nulls:
            return f"{', '.join(nulls)} is null in a call's delta"
    return None


@check
def stream_in_pieces(context: Context) -> Problem:
    """Arguments or content come in more than one delta: the answer is passed on as it is made."""
    fragments = [
        delta for _, delta in _call_deltas(context) if (delta.get("function") or {}).get("arguments")
    ]
    texts = [choice for choice in _choices(context) if (choice.get("delta") or {}).get("content")]
    if len(fragments) > 1 or len(texts) > 1:
        return None
    return "the whole answer came in one delta"


@check
def stream_usage(context: Context) -> Problem:
    """The last chunk has no choice and the usage; no chunk before it has one."""
    last = context.exchange.chunks[-1]
    if last.get("choices") != [] or not isinstance(last.get("usage"), dict):
        return "the last chunk is not the usage without choices"
    early = any(chunk.get("usage") for chunk in context.exchange.chunks[:-1])
    return "usage in a chunk before the last" if early else None
