"""Changes of right answers into wrong ones: whole answers, chunks of a stream, and errors told as something else."""

import copy
import json
from collections.abc import Callable, Iterator
from typing import Any

from engine.faulty_server import Json

Call = dict[str, Any]


def messages(document: Json) -> Iterator[Json]:
    """The messages of a whole answer."""
    for choice in document.get("choices", []):
        yield choice["message"]


def deltas(chunks: list[Json]) -> Iterator[Json]:
    """The deltas of a stream, in order."""
    for chunk in chunks:
        for choice in chunk["choices"]:
            yield choice["delta"]


def each_call(change: Callable[[Call], None]) -> Callable[[Json, Json], Json]:
    """A change of every call of a whole answer."""

    def changed(document: Json, _: Json) -> Json:
        for message in messages(document):
            for call in message.get("tool_calls", []):
                change(call)
        return document

    return changed


def each_delta(change: Callable[[Call, Json], None]) -> Callable[[list[Json], Json], list[Json]]:
    """A change of every call delta of a stream, given the request too."""

    def changed(chunks: list[Json], request: Json) -> list[Json]:
        for delta in deltas(chunks):
            for call in delta.get("tool_calls", []):
                change(call, request)
        return chunks

    return changed


def by_call(chunks: list[Json]) -> list[list[Json]]:
    """The chunks that carry fragments of arguments, by call."""
    found: dict[tuple[int, int], list[Json]] = {}
    for chunk in chunks:
        for choice in chunk["choices"]:
            for call in choice["delta"].get("tool_calls", []):
                if call["function"].get("arguments"):
                    found.setdefault((choice["index"], call["index"]), []).append(chunk)
    return list(found.values())


def without(chunks: list[Json], dropped: list[Json]) -> list[Json]:
    """The chunks but for these very ones."""
    gone = {id(chunk) for chunk in dropped}
    return [chunk for chunk in chunks if id(chunk) not in gone]


def drop_fragments(which: slice) -> Callable[[list[Json], Json], list[Json]]:
    """A stream that loses these fragments of every call's arguments."""

    def changed(chunks: list[Json], _: Json) -> list[Json]:
        return without(chunks, [chunk for call in by_call(chunks) for chunk in call[which]])

    return changed


def text_of(fragments: list[Json]) -> str:
    """The fragments of one call joined."""
    return "".join(c["choices"][0]["delta"]["tool_calls"][0]["function"]["arguments"] for c in fragments)


def send_twice(chunks: list[Json], _: Json) -> list[Json]:
    """Every call's arguments are sent once more, whole, after their last fragment."""
    for fragments in by_call(chunks):
        again = copy.deepcopy(fragments[-1])
        again["choices"][0]["delta"]["tool_calls"][0]["function"]["arguments"] = text_of(fragments)
        place = next(i for i, chunk in enumerate(chunks) if chunk is fragments[-1])
        chunks.insert(place + 1, again)
    return chunks


def in_one_delta(chunks: list[Json], _: Json) -> list[Json]:
    """Every call's arguments come in their first delta."""
    for fragments in by_call(chunks):
        text = text_of(fragments)
        fragments[0]["choices"][0]["delta"]["tool_calls"][0]["function"]["arguments"] = text
        chunks = without(chunks, fragments[1:])
    return chunks


def as_object(call: Call) -> None:
    """Arguments become the object that they are the text of."""
    call["function"]["arguments"] = parsed(call["function"]["arguments"])


def parsed(text: str) -> Any:
    """The value of a JSON text, the text itself when it is none."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def encoded_twice(call: Call) -> None:
    """Arguments become the JSON text of their text."""
    text = call["function"]["arguments"]
    call["function"]["arguments"] = text if isinstance(parsed(text), str) else json.dumps(text)


def emptied(call: Call) -> None:
    """Arguments without members become an empty text."""
    if call["function"]["arguments"] == "{}":
        call["function"]["arguments"] = ""


def ascii_only(call: Call) -> None:
    """Characters outside ASCII become question marks."""
    call["function"]["arguments"] = call["function"]["arguments"].encode("ascii", "replace").decode()


def cut_at_marker(call: Call) -> None:
    """Arguments end at an end marker inside a string."""
    call["function"]["arguments"] = call["function"]["arguments"].partition("</tool_call>")[0]


def cut_stream_at_marker(chunks: list[Json], _: Json) -> list[Json]:
    """So do those of a stream."""
    dropped: list[Json] = []
    for fragments in by_call(chunks):
        ends = [n for n in range(len(fragments)) if "</tool_call>" in text_of(fragments[: n + 1])]
        dropped += [fragments[n] for n in ends]
    return without(chunks, dropped)


def put(name: str, value: Any) -> Callable[[Call], None]:
    """A call whose field has this value."""
    return lambda call: call.update({name: value})


def index_zero(call: Call, _: Json) -> None:
    """Every delta says index 0."""
    call["index"] = 0


def tool_index() -> Callable[[list[Json], Json], list[Json]]:
    """Every delta's index is the place of the called tool in the request."""

    def changed(chunks: list[Json], request: Json) -> list[Json]:
        names = [tool["function"]["name"] for tool in request.get("tools", [])]
        place = 0
        for delta in deltas(chunks):
            for call in delta.get("tool_calls", []):
                place = names.index(call["function"]["name"]) if "name" in call["function"] else place
                call["index"] = place
        return chunks

    return changed


def name_every_delta(value: Callable[[str], Any]) -> Callable[[list[Json], Json], list[Json]]:
    """Every later delta has a name, made of the right one."""

    def changed(chunks: list[Json], _: Json) -> list[Json]:
        name = ""
        for delta in deltas(chunks):
            for call in delta.get("tool_calls", []):
                name = call["function"].get("name", name)
                call["function"].setdefault("name", value(name))
        return chunks

    return changed


def finish(before: str, after: str) -> dict[str, Any]:
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


def early_finish(chunks: list[Json], _: Json) -> list[Json]:
    """The first chunk says why the answer ended."""
    for choice in chunks[0]["choices"]:
        choice["finish_reason"] = "stop"
    return chunks


def is_last(chunk: Json) -> bool:
    """Whether a chunk says why a choice ended."""
    return any(choice["finish_reason"] for choice in chunk["choices"])


def no_role(chunks: list[Json], _: Json) -> list[Json]:
    """No delta says whose turn it is."""
    for delta in deltas(chunks):
        delta.pop("role", None)
    return chunks


def numbered_ids(chunks: list[Json], _: Json) -> list[Json]:
    """Every chunk has an id of its own."""
    return [{**chunk, "id": f"{chunk['id']}-{number}"} for number, chunk in enumerate(chunks)]


def before_call(text: str) -> dict[str, Any]:
    """Fault fields that put markup at the end of the text that comes before a call."""

    def whole(document: Json, _: Json) -> Json:
        for message in messages(document):
            if message.get("tool_calls") and message["content"]:
                message["content"] += text
        return document

    def chunks(chunks: list[Json], _: Json) -> list[Json]:
        texts = [delta for delta in deltas(chunks) if delta.get("content")]
        if texts and any(delta.get("tool_calls") for delta in deltas(chunks)):
            texts[-1]["content"] += text
        return chunks

    return {"whole": whole, "chunks": chunks}


def empty_content(document: Json, _: Json) -> Json:
    """Content is an empty text where it is null."""
    for message in messages(document):
        message["content"] = message["content"] or ""
    return document


def first_call_only(document: Json, _: Json) -> Json:
    """Later calls of a whole answer are dropped."""
    for message in messages(document):
        if "tool_calls" in message:
            message["tool_calls"] = message["tool_calls"][:1]
    return document


def first_stream_call_only(chunks: list[Json], _: Json) -> list[Json]:
    """Later calls of a stream are dropped."""
    later = [c for c in chunks for o in c["choices"] for d in o["delta"].get("tool_calls", []) if d["index"]]
    return without(chunks, later)


def drop_full_stop(chunks: list[Json], _: Json) -> list[Json]:
    """The full stop at the end of a stream's content is lost."""
    texts = [delta for delta in deltas(chunks) if delta.get("content")]
    if texts:
        texts[-1]["content"] = texts[-1]["content"].rstrip(".")
    return chunks


def drop_cut_calls(chunks: list[Json], _: Json) -> list[Json]:
    """A stream that max_tokens cut loses its calls."""
    cut = any(choice["finish_reason"] == "length" for chunk in chunks for choice in chunk["choices"])
    calls = [chunk for chunk in chunks for o in chunk["choices"] if "tool_calls" in o["delta"]]
    return without(chunks, calls) if cut else chunks


def usage(change: Callable[[Json], Any]) -> dict[str, Any]:
    """Fault fields that change the token counts of whole answers and of streams."""

    def document(value: Json) -> Json:
        return {**value, "usage": change(value["usage"])} if value.get("usage") else value

    return {
        "whole": lambda value, _: document(value),
        "chunks": lambda chunks, _: [document(chunk) for chunk in chunks],
    }


def raw_in_auto(document: Json, request: Json) -> Json:
    """Calls of automatic choice stay in the text."""
    for message in messages(document) if request.get("tool_choice", "auto") == "auto" else ():
        for call in message.pop("tool_calls", []):
            function = call["function"]
            text = (
                f'<tool_call>{{"name":"{function["name"]}","arguments":{function["arguments"]}}}</tool_call>'
            )
            message["content"] = (message["content"] or "") + text
    return document


def fenced(document: Json, request: Json) -> Json:
    """A JSON object comes in a code fence."""
    for message in messages(document) if request.get("response_format") else ():
        message["content"] = f"```json\n{message['content']}\n```"
    return document


def stops(request: Json) -> list[str]:
    """The stop texts of a request."""
    stop = request.get("stop") or []
    return [stop] if isinstance(stop, str) else stop


def show_stop(document: Json, request: Json) -> Json:
    """The stop text is shown at the end."""
    for message in messages(document):
        message["content"] = (message["content"] or "") + "".join(stops(request)) or None
    return document


def show_stop_streamed(chunks: list[Json], request: Json) -> list[Json]:
    """So it is in a stream."""
    texts = [delta for delta in deltas(chunks) if delta.get("content")]
    if texts:
        texts[-1]["content"] += "".join(stops(request))
    return chunks


def no_logprobs(document: Json) -> Json:
    """No choice has logprobs."""
    for choice in document["choices"]:
        choice["logprobs"] = None
    return document


def keep_state() -> Callable[[Json, Json], Json]:
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
