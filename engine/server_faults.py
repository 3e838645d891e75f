"""The faults of the wrong servers, each a few lines: the seed's pitfalls s12 to s16 and what users of servers reported.

To add one: a `Fault` in FAULTS, its flag with a meaning in a file of fixtures/conformance, and the flag on every case
that it breaks.
"""

import copy
import json
from collections.abc import Callable, Iterator
from typing import Any

from engine.faulty_server import Fault, Json

Call = dict[str, Any]
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


def _messages(document: Json) -> Iterator[Json]:
    for choice in document.get("choices", []):
        yield choice["message"]


def _deltas(chunks: list[Json]) -> Iterator[Json]:
    for chunk in chunks:
        for choice in chunk["choices"]:
            yield choice["delta"]


def _each_call(change: Callable[[Call], None]) -> Callable[[Json, Json], Json]:
    """A change of every call of a whole answer."""

    def changed(document: Json, _: Json) -> Json:
        for message in _messages(document):
            for call in message.get("tool_calls", []):
                change(call)
        return document

    return changed


def _each_delta(change: Callable[[Call, Json], None]) -> Callable[[list[Json], Json], list[Json]]:
    """A change of every call delta of a stream, given the request too."""

    def changed(chunks: list[Json], request: Json) -> list[Json]:
        for delta in _deltas(chunks):
            for call in delta.get("tool_calls", []):
                change(call, request)
        return chunks

    return changed


def _fragments(chunks: list[Json]) -> list[list[Json]]:
    """The chunks that carry fragments of arguments, by call."""
    found: dict[tuple[int, int], list[Json]] = {}
    for chunk in chunks:
        for choice in chunk["choices"]:
            for call in choice["delta"].get("tool_calls", []):
                if call["function"].get("arguments"):
                    found.setdefault((choice["index"], call["index"]), []).append(chunk)
    return list(found.values())


def _without(chunks: list[Json], dropped: list[Json]) -> list[Json]:
    gone = {id(chunk) for chunk in dropped}
    return [chunk for chunk in chunks if id(chunk) not in gone]


def _drop_fragments(which: slice) -> Callable[[list[Json], Json], list[Json]]:
    def changed(chunks: list[Json], _: Json) -> list[Json]:
        return _without(chunks, [chunk for call in _fragments(chunks) for chunk in call[which]])

    return changed


def _text_of(fragments: list[Json]) -> str:
    return "".join(c["choices"][0]["delta"]["tool_calls"][0]["function"]["arguments"] for c in fragments)


def _send_twice(chunks: list[Json], _: Json) -> list[Json]:
    for fragments in _fragments(chunks):
        again = copy.deepcopy(fragments[-1])
        again["choices"][0]["delta"]["tool_calls"][0]["function"]["arguments"] = _text_of(fragments)
        place = next(i for i, chunk in enumerate(chunks) if chunk is fragments[-1])
        chunks.insert(place + 1, again)
    return chunks


def _in_one_delta(chunks: list[Json], _: Json) -> list[Json]:
    for fragments in _fragments(chunks):
        text = _text_of(fragments)
        fragments[0]["choices"][0]["delta"]["tool_calls"][0]["function"]["arguments"] = text
        chunks = _without(chunks, fragments[1:])
    return chunks


def _as_object(call: Call) -> None:
    call["function"]["arguments"] = _parsed(call["function"]["arguments"])


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _encoded_twice(call: Call) -> None:
    text = call["function"]["arguments"]
    call["function"]["arguments"] = text if isinstance(_parsed(text), str) else json.dumps(text)


def _emptied(call: Call) -> None:
    if call["function"]["arguments"] == "{}":
        call["function"]["arguments"] = ""


def _ascii_only(call: Call) -> None:
    call["function"]["arguments"] = call["function"]["arguments"].encode("ascii", "replace").decode()


def _cut_at_marker(call: Call) -> None:
    call["function"]["arguments"] = call["function"]["arguments"].partition("</tool_call>")[0]


def _cut_stream_at_marker(chunks: list[Json], _: Json) -> list[Json]:
    dropped: list[Json] = []
    for fragments in _fragments(chunks):
        ends = [n for n in range(len(fragments)) if "</tool_call>" in _text_of(fragments[: n + 1])]
        dropped += [fragments[n] for n in ends]
    return _without(chunks, dropped)


def _set(name: str, value: Any) -> Callable[[Call], None]:
    return lambda call: call.update({name: value})


def _set_index(call: Call, _: Json) -> None:
    call["index"] = 0


def _tool_index() -> Callable[[list[Json], Json], list[Json]]:
    def changed(chunks: list[Json], request: Json) -> list[Json]:
        names = [tool["function"]["name"] for tool in request.get("tools", [])]
        place = 0
        for delta in _deltas(chunks):
            for call in delta.get("tool_calls", []):
                place = names.index(call["function"]["name"]) if "name" in call["function"] else place
                call["index"] = place
        return chunks

    return changed


def _name_every_delta(value: Callable[[str], Any]) -> Callable[[list[Json], Json], list[Json]]:
    def changed(chunks: list[Json], _: Json) -> list[Json]:
        name = ""
        for delta in _deltas(chunks):
            for call in delta.get("tool_calls", []):
                name = call["function"].get("name", name)
                call["function"].setdefault("name", value(name))
        return chunks

    return changed


def _finish(before: str, after: str) -> dict[str, Any]:
    """Fault fields that turn one finish_reason into another."""

    def choices(document: Json) -> None:
        for choice in document["choices"]:
            if choice["finish_reason"] == before:
                choice["finish_reason"] = after

    def whole(document: Json, _: Json) -> Json:
        choices(document)
        return document

    def chunks(chunks: list[Json], _: Json) -> list[Json]:
        for chunk in chunks:
            choices(chunk)
        return chunks

    return {"whole": whole, "chunks": chunks}


def _early_finish(chunks: list[Json], _: Json) -> list[Json]:
    for choice in chunks[0]["choices"]:
        choice["finish_reason"] = "stop"
    return chunks


def _is_last(chunk: Json) -> bool:
    return any(choice["finish_reason"] for choice in chunk["choices"])


def _no_role(chunks: list[Json], _: Json) -> list[Json]:
    for delta in _deltas(chunks):
        delta.pop("role", None)
    return chunks


def _numbered_ids(chunks: list[Json], _: Json) -> list[Json]:
    return [{**chunk, "id": f"{chunk['id']}-{number}"} for number, chunk in enumerate(chunks)]


def _before_call(text: str) -> dict[str, Any]:
    """Fault fields that put markup at the end of the text that comes before a call."""

    def whole(document: Json, _: Json) -> Json:
        for message in _messages(document):
            if message.get("tool_calls") and message["content"]:
                message["content"] += text
        return document

    def chunks(chunks: list[Json], _: Json) -> list[Json]:
        texts = [delta for delta in _deltas(chunks) if delta.get("content")]
        if texts and any(delta.get("tool_calls") for delta in _deltas(chunks)):
            texts[-1]["content"] += text
        return chunks

    return {"whole": whole, "chunks": chunks}


def _empty_content(document: Json, _: Json) -> Json:
    for message in _messages(document):
        message["content"] = message["content"] or ""
    return document


def _first_call_only(document: Json, _: Json) -> Json:
    for message in _messages(document):
        if "tool_calls" in message:
            message["tool_calls"] = message["tool_calls"][:1]
    return document


def _first_stream_call_only(chunks: list[Json], _: Json) -> list[Json]:
    later = [c for c in chunks for o in c["choices"] for d in o["delta"].get("tool_calls", []) if d["index"]]
    return _without(chunks, later)


def _drop_full_stop(chunks: list[Json], _: Json) -> list[Json]:
    texts = [delta for delta in _deltas(chunks) if delta.get("content")]
    if texts:
        texts[-1]["content"] = texts[-1]["content"].rstrip(".")
    return chunks


def _drop_cut_calls(chunks: list[Json], _: Json) -> list[Json]:
    cut = any(choice["finish_reason"] == "length" for chunk in chunks for choice in chunk["choices"])
    calls = [chunk for chunk in chunks for o in chunk["choices"] if "tool_calls" in o["delta"]]
    return _without(chunks, calls) if cut else chunks


def _usage(change: Callable[[Json], Any]) -> dict[str, Any]:
    """Fault fields that change the token counts of whole answers and of streams."""

    def document(value: Json) -> Json:
        return {**value, "usage": change(value["usage"])} if value.get("usage") else value

    return {
        "whole": lambda value, _: document(value),
        "chunks": lambda chunks, _: [document(chunk) for chunk in chunks],
    }


def _raw_in_auto(document: Json, request: Json) -> Json:
    """Calls of automatic choice stay in the text."""
    for message in _messages(document) if request.get("tool_choice", "auto") == "auto" else ():
        for call in message.pop("tool_calls", []):
            function = call["function"]
            text = (
                f'<tool_call>{{"name":"{function["name"]}","arguments":{function["arguments"]}}}</tool_call>'
            )
            message["content"] = (message["content"] or "") + text
    return document


def _fenced(document: Json, request: Json) -> Json:
    for message in _messages(document) if request.get("response_format") else ():
        message["content"] = f"```json\n{message['content']}\n```"
    return document


def _stops(request: Json) -> list[str]:
    stop = request.get("stop") or []
    return [stop] if isinstance(stop, str) else stop


def _show_stop(document: Json, request: Json) -> Json:
    for message in _messages(document):
        message["content"] = (message["content"] or "") + "".join(_stops(request)) or None
    return document


def _show_stop_streamed(chunks: list[Json], request: Json) -> list[Json]:
    texts = [delta for delta in _deltas(chunks) if delta.get("content")]
    if texts:
        texts[-1]["content"] += "".join(_stops(request))
    return chunks


def _no_logprobs(document: Json) -> Json:
    for choice in document["choices"]:
        choice["logprobs"] = None
    return document


def _keep_state() -> Callable[[Json, Json], Json]:
    """What was cut inside a call comes out in the next answer."""
    left: list[str] = []

    def changed(document: Json, request: Json) -> Json:
        for choice in document["choices"]:
            message = choice["message"]
            if left and not message.get("tool_calls"):
                message["content"] = left.pop() + (message["content"] or "")
            if choice["finish_reason"] == "length" and "tool_choice" in request:
                left.append("<tool_")
        return document

    return changed


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
        Fault("s14", chunks=_drop_fragments(slice(1, None, 2))),
        Fault("s15", chunks=_before_call("<tool_")["chunks"]),
        Fault("s16", whole=_empty_content),
        Fault("arguments-object", whole=_each_call(_as_object)),
        Fault("arguments-encoded-twice", whole=_each_call(_encoded_twice)),
        Fault("empty-arguments", whole=_each_call(_emptied)),
        Fault("ascii-mangled", whole=_each_call(_ascii_only)),
        Fault("string-blind", whole=_each_call(_cut_at_marker), chunks=_cut_stream_at_marker),
        Fault("finish-stop", **_finish("tool_calls", "stop")),
        Fault("finish-never-length", **_finish("length", "stop")),
        Fault("ids-same", whole=_each_call(_set("id", "call_0"))),
        Fault("ids-missing", whole=_each_call(_set("id", None))),
        Fault("history-crash", breaks_on=_has_tool_message),
        Fault("state-kept", whole=_keep_state()),
        Fault("done-missing", says_done=False),
        Fault("chunk-ids-differ", chunks=_numbered_ids),
        Fault("role-missing", chunks=_no_role),
        Fault("last-chunk-missing", chunks=lambda chunks, _: [c for c in chunks if not _is_last(c)]),
        Fault("finish-early", chunks=_early_finish),
        Fault("first-fragment-lost", chunks=_drop_fragments(slice(0, 1))),
        Fault("last-fragment-lost", chunks=_drop_fragments(slice(-1, None))),
        Fault("arguments-sent-twice", chunks=_send_twice),
        Fault("markup-leaked", **_before_call("</tool_call>")),
        Fault("index-wrong", chunks=_each_delta(_set_index)),
        Fault("index-of-tool", chunks=_tool_index()),
        Fault("name-repeated", chunks=_name_every_delta(lambda name: name)),
        Fault("null-names", chunks=_name_every_delta(lambda _: None)),
        Fault("parallel-dropped", whole=_first_call_only, chunks=_first_stream_call_only),
        Fault("not-streamed", chunks=_in_one_delta),
        Fault("stream-differs", chunks=_drop_full_stop),
        Fault("cut-call-dropped", chunks=_drop_cut_calls),
        Fault("usage-missing", **_usage(lambda usage: None)),
        Fault("usage-wrong", **_usage(lambda usage: {**usage, "total_tokens": usage["total_tokens"] + 1})),
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
        Fault("stream-only-parser", whole=_raw_in_auto),
        Fault("none-calls", request=_choose(lambda choice, _: "required" if choice == "none" else None)),
        Fault("json-fenced", whole=_fenced),
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
        Fault("stop-shown", whole=_show_stop, chunks=_show_stop_streamed),
        Fault("seed-ignored", request=_dropped("seed")),
        Fault(
            "logprobs-missing",
            whole=lambda d, _: _no_logprobs(d),
            chunks=lambda c, _: [_no_logprobs(x) for x in c],
        ),
    ]
