"""The faults of the wrong servers, each a few lines: the seed's pitfalls s12 to s16 and what users of servers reported.

To add one: a `Fault` in FAULTS, its flag with a meaning in a file of fixtures/conformance, and the flag on every case
that it breaks.
"""

from collections.abc import Callable
from typing import Any

from engine.fault_changes import (
    as_object,
    ascii_only,
    before_call,
    cut_at_marker,
    cut_stream_at_marker,
    drop_cut_calls,
    drop_fragments,
    drop_full_stop,
    each_call,
    each_delta,
    early_finish,
    emptied,
    empty_content,
    encoded_twice,
    fenced,
    finish,
    first_call_only,
    first_stream_call_only,
    in_one_delta,
    index_zero,
    is_last,
    keep_state,
    name_every_delta,
    no_logprobs,
    no_role,
    numbered_ids,
    put,
    raw_in_auto,
    send_twice,
    show_stop,
    show_stop_streamed,
    tool_index,
    usage,
)
from engine.faulty_server import Fault, Json

SUBSET = frozenset(
    {
        "type",
        "properties",
        "required",
        "additionalProperties",
        "items",
        "minItems",
        "maxItems",
        "enum",
        "const",
        "anyOf",
    }
)


def _choose(change: Callable[[Any, Json], Any]) -> Callable[[Json], Json]:
    """A request whose tool_choice is replaced; None leaves it as it is."""

    def changed(request: Json) -> Json:
        new = change(request.get("tool_choice"), request)
        return request if new is None else {**request, "tool_choice": new}

    return changed


def _any_tool(request: Json) -> Json:
    choice = request.get("tool_choice")
    if not isinstance(choice, dict) or _is_unknown_choice(choice, request):
        return request
    return {**request, "tool_choice": "required", "parallel_tool_calls": False}


def _dropped(*names: str) -> Callable[[Json], Json]:
    return lambda request: {name: value for name, value in request.items() if name not in names}


def _weakened(value: Any) -> Any:
    """A schema without the keywords that are not known."""
    if not isinstance(value, dict):
        return value
    kept = {name: part for name, part in value.items() if name in SUBSET}
    if isinstance(kept.get("properties"), dict):
        kept["properties"] = {name: _weakened(part) for name, part in kept["properties"].items()}
    return kept


def _accept_keywords(request: Json) -> Json:
    for tool in request.get("tools", []):
        function = tool.get("function", {})
        if "parameters" in function:
            function["parameters"] = _weakened(function["parameters"])
    return request


def _is_unknown_choice(choice: Any, request: Json) -> bool:
    if isinstance(choice, dict):
        names = [tool["function"].get("name") for tool in request.get("tools", [])]
        return choice["function"]["name"] not in names
    return choice not in (None, "none", "auto", "required")


def _has_tool_message(request: Json) -> bool:
    messages = request.get("messages")
    return isinstance(messages, list) and any(message.get("role") == "tool" for message in messages)


def faults() -> list[Fault]:
    """All faults, new ones at every call: one of them keeps state."""
    return [
        Fault("s12", request=_accept_keywords),
        Fault("s13", request=_any_tool),
        Fault("s14", chunks=drop_fragments(slice(1, None, 2))),
        Fault("s15", chunks=before_call("<tool_")["chunks"]),
        Fault("s16", whole=empty_content),
        Fault("arguments-object", whole=each_call(as_object)),
        Fault("arguments-encoded-twice", whole=each_call(encoded_twice)),
        Fault("empty-arguments", whole=each_call(emptied)),
        Fault("ascii-mangled", whole=each_call(ascii_only)),
        Fault("string-blind", whole=each_call(cut_at_marker), chunks=cut_stream_at_marker),
        Fault("finish-stop", **finish("tool_calls", "stop")),
        Fault("finish-never-length", **finish("length", "stop")),
        Fault("ids-same", whole=each_call(put("id", "call_0"))),
        Fault("ids-missing", whole=each_call(put("id", None))),
        Fault("history-crash", breaks_on=_has_tool_message),
        Fault("state-kept", whole=keep_state()),
        Fault("done-missing", says_done=False),
        Fault("chunk-ids-differ", chunks=numbered_ids),
        Fault("role-missing", chunks=no_role),
        Fault("last-chunk-missing", chunks=lambda chunks, _: [c for c in chunks if not is_last(c)]),
        Fault("finish-early", chunks=early_finish),
        Fault("first-fragment-lost", chunks=drop_fragments(slice(0, 1))),
        Fault("last-fragment-lost", chunks=drop_fragments(slice(-1, None))),
        Fault("arguments-sent-twice", chunks=send_twice),
        Fault("markup-leaked", **before_call("</tool_call>")),
        Fault("index-wrong", chunks=each_delta(index_zero)),
        Fault("index-of-tool", chunks=tool_index()),
        Fault("name-repeated", chunks=name_every_delta(lambda name: name)),
        Fault("null-names", chunks=name_every_delta(lambda _: None)),
        Fault("parallel-dropped", whole=first_call_only, chunks=first_stream_call_only),
        Fault("not-streamed", chunks=in_one_delta),
        Fault("stream-differs", chunks=drop_full_stop),
        Fault("cut-call-dropped", chunks=drop_cut_calls),
        Fault("usage-missing", **usage(lambda usage: None)),
        Fault("usage-wrong", **usage(lambda usage: {**usage, "total_tokens": usage["total_tokens"] + 1})),
        Fault(
            "required-ignored", request=_choose(lambda choice, _: "auto" if choice == "required" else None)
        ),
        Fault("parallel-forced", request=lambda request: {**request, "parallel_tool_calls": True}),
        Fault(
            "auto-never-calls",
            request=_choose(lambda c, r: "none" if "tools" in r and c in (None, "auto") else None),
        ),
        Fault(
            "auto-always-calls",
            request=_choose(lambda c, r: "required" if "tools" in r and c in (None, "auto") else None),
        ),
        Fault("stream-only-parser", whole=raw_in_auto),
        Fault("none-calls", request=_choose(lambda choice, _: "required" if choice == "none" else None)),
        Fault("json-fenced", whole=fenced),
        Fault("errors-as-text", error=lambda status, body: (status, {"error": body["error"]["message"]})),
        Fault("errors-are-500", error=lambda status, body: (500, body)),
        Fault("errors-are-200", error=lambda status, body: (200, body)),
        Fault(
            "unknown-choice-accepted",
            request=_choose(lambda c, r: "auto" if _is_unknown_choice(c, r) else None),
        ),
        Fault(
            "any-model",
            request=lambda request: {**request, "model": "echo"} if "model" in request else request,
        ),
        Fault("any-key", lets_all_in=True),
        Fault("models-missing", models=lambda models: {**models, "data": []}),
        Fault("n-ignored", request=_dropped("n")),
        Fault("max-tokens-ignored", request=_dropped("max_tokens")),
        Fault("stop-ignored", request=_dropped("stop")),
        Fault("stop-shown", whole=show_stop, chunks=show_stop_streamed),
        Fault("seed-ignored", request=_dropped("seed")),
        Fault(
            "logprobs-missing",
            whole=lambda d, _: no_logprobs(d),
            chunks=lambda c, _: [no_logprobs(x) for x in c],
        ),
    ]
