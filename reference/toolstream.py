"""A model's text read as it arrives: content at once, calls announced early, markup never shown (SPEC §8).

A call is written `<tool_call>{"name":"f","arguments":OBJECT}</tool_call>`, and a newline that is all that
stands between two calls belongs to the markup. The text is cut anywhere, so the rule is about what is
*certain*: a character is passed on the moment it can be nothing but content or arguments, and is held while
it could still be markup. The pitfalls: a fragment dropped because name and arguments came in one piece, an
opener looked for in the current piece only, a brace inside a string taken for the end. Read next:
`reference.tools`, which writes the grammar of the same text.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from reference.errors import Refused
from reference.jsontext import JsonValue, dumps

OPENER = "<tool_call>"
CLOSER = "}</tool_call>"
HEADER_FRONT = OPENER + '{"name":"'
HEADER_BACK = '","arguments":'
NAME_CHARACTERS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-")
NAME_LIMIT = 64
HEADER_LIMIT = len(HEADER_FRONT) + NAME_LIMIT + len(HEADER_BACK)


@dataclass(frozen=True, slots=True)
class Content:
    """Text for the user."""

    text: str


@dataclass(frozen=True, slots=True)
class CallStart:
    """Call number `index` of this answer begins."""

    index: int
    id: str
    name: str


@dataclass(frozen=True, slots=True)
class Arguments:
    """The next characters of call `index`'s arguments."""

    index: int
    fragment: str


Event = Content | CallStart | Arguments


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call as the client sees it; `arguments` is JSON text, never an object."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Header:
    """A whole header: the name it gives and the position after `"arguments":`."""

    name: str
    end: int


@dataclass(frozen=True, slots=True)
class Value:
    """Where the arguments stand: first character read or "", open braces, inside a string, after a backslash."""

    first: str = ""
    depth: int = 0
    in_string: bool = False
    escaped: bool = False


def read_header(text: str) -> Header | Literal["partial", "no"]:
    """What `text` begins with: a whole header, the beginning of one, or something that is none."""
    if not text.startswith(HEADER_FRONT):
        return "partial" if HEADER_FRONT.startswith(text) else "no"
    end = len(HEADER_FRONT)
    while end < len(text) and text[end] in NAME_CHARACTERS:
        end += 1
    name, back = text[len(HEADER_FRONT) : end], text[end : end + len(HEADER_BACK)]
    if len(name) > NAME_LIMIT or not HEADER_BACK.startswith(back) or (back and not name):
        return "no"
    return Header(name, end + len(back)) if back == HEADER_BACK else "partial"


def step(value: Value, character: str) -> Value | Literal["after", "before"]:
    """The arguments one character on; "after" when it is their last, "before" when it no longer belongs to them.

    An object ends with the brace that closes it. Any other value ends before the brace that closes the call.
    """
    first = value.first or character
    if value.in_string:
        closes = character == '"' and not value.escaped
        return Value(first, value.depth, not closes, character == "\\" and not value.escaped)
    if character == "}" and value.depth == 0:
        return "before"
    if character == "}" and value.depth == 1 and first == "{":
        return "after"
    depth = value.depth + (character == "{") - (character == "}")
    return Value(first, depth, character == '"')


class ToolParser:
    """One answer's parser: `push` every piece in order, then `finish`; the fold is the same for every cut."""

    def __init__(self, request_id: str) -> None:
        """Calls get the ids `call_<request id>_<index>`."""
        self._request_id = request_id
        self._held = ""
        self._calls = 0
        self._place: Literal["text", "after call", "value", "closer", "finished"] = "text"
        self._value = Value()
        self._events: list[Event] = []

    @property
    def is_inside_call(self) -> bool:
        """A call was announced and its closing markup is not whole yet."""
        return self._place in ("value", "closer")

    def push(self, piece: str) -> list[Event]:
        """The events that are certain once `piece` is there; neighbours of one kind come as one event."""
        if self._place == "finished":
            raise Refused("tool parser: this answer is finished; make a new ToolParser for the next one")
        self._held += piece
        while self._advance():
            pass
        events, self._events = self._events, []
        return events

    def finish(self) -> list[Event]:
        """What was held is content after all; only a closer that the end of the text cut off stays markup."""
        held = "" if self._place == "closer" else self._held
        self._place, self._held = "finished", ""
        return [Content(held)] if held else []

    def _advance(self) -> bool:
        """Read as far as this place goes; true when another place took over."""
        if self._place == "value":
            return self._read_value()
        if self._place == "closer":
            return self._read_closer()
        return self._read_text()

    def _read_text(self) -> bool:
        separated = self._place == "after call" and self._held.startswith("\n")
        if separated and self._start_call(1) != "no":
            return self._place == "value"
        position = self._held.find("<")
        while position != -1:
            found = read_header(self._held[position : position + HEADER_LIMIT])
            if found != "no":
                break
            position = self._held.find("<", position + 1)
        self._emit_content(len(self._held) if position == -1 else position)
        return self._start_call(0) not in ("no", "partial")

    def _start_call(self, skip: int) -> Header | Literal["partial", "no"]:
        """Announce the call whose header begins after `skip` held characters, if it is whole."""
        found = read_header(self._held[skip : skip + HEADER_LIMIT])
        if isinstance(found, Header):
            self._events.append(CallStart(self._calls, f"call_{self._request_id}_{self._calls}", found.name))
            self._held = self._held[skip + found.end :]
            self._place, self._value = "value", Value()
        return found

    def _read_value(self) -> bool:
        for position, character in enumerate(self._held):
            after = step(self._value, character)
            if isinstance(after, str):
                self._emit_arguments(position + (after == "after"))
                self._place = "closer"
                return True
            self._value = after
        self._emit_arguments(len(self._held))
        return False

    def _read_closer(self) -> bool:
        if self._held.startswith(CLOSER):
            self._held, self._place = self._held[len(CLOSER) :], "after call"
        elif CLOSER.startswith(self._held):
            return False
        else:
            self._place = "text"
        self._calls += 1
        return True

    def _emit_content(self, count: int) -> None:
        """Two contents never meet in one push: a second one is read only after a call, whose event is between."""
        if count:
            self._events.append(Content(self._held[:count]))
            self._held, self._place = self._held[count:], "text"

    def _emit_arguments(self, count: int) -> None:
        if count:
            self._events.append(Arguments(self._calls, self._held[:count]))
            self._held = self._held[count:]


def collect(events: Sequence[Event]) -> tuple[str | None, list[ToolCall]]:
    """The fold of a stream: all content (None when there is none) and the calls in order."""
    content = "".join(event.text for event in events if isinstance(event, Content))
    starts = [event for event in events if isinstance(event, CallStart)]
    return content or None, [ToolCall(start.id, start.name, _arguments_of(start, events)) for start in starts]


def _arguments_of(start: CallStart, events: Sequence[Event]) -> str:
    parts = [
        event.fragment for event in events if isinstance(event, Arguments) and event.index == start.index
    ]
    return "".join(parts)


def finish_reason(calls: int, engine: str) -> str:
    """`tool_calls` when any call was made, else the engine's own reason."""
    return "tool_calls" if calls else engine


def message_json(content: str | None, calls: Sequence[ToolCall]) -> str:
    """The assistant message; content is null beside calls when there is no text, and a string without them."""
    message: dict[str, JsonValue] = {"role": "assistant", "content": content or None}
    if calls:
        message["tool_calls"] = [_call_value(call) for call in calls]
    else:
        message["content"] = content or ""
    return dumps(message)


def _call_value(call: ToolCall) -> JsonValue:
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}


def delta_json(event: Event) -> str:
    """One event as the `delta` of a chunk: id, type and name in a call's first delta only, then fragments."""
    if isinstance(event, Content):
        return dumps({"content": event.text})
    if isinstance(event, CallStart):
        start = _call_value(ToolCall(event.id, event.name, ""))
        return dumps({"tool_calls": [{"index": event.index, **start}]})  # type: ignore[dict-item]
    return dumps({"tool_calls": [{"index": event.index, "function": {"arguments": event.fragment}}]})
