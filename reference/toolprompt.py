"""What the model is told: tools described in the system message, earlier calls and results written back (SPEC §7).

A conversation renders the way it was generated: an assistant turn's calls come back in the exact markup that
the grammar makes and the parser reads, so rendering a parsed answer gives the same text again. No text `null`
ever stands for arguments. Read next: `reference.toolstream`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from reference.errors import JsonTextError
from reference.jsontext import JsonValue, dumps, loads
from reference.tool_errors import bad_shape
from reference.toolstream import CLOSER, HEADER_BACK, HEADER_FRONT, read_header

PREAMBLE = "You can call these tools, one JSON object a line:"
INSTRUCTION = (
    "To call one, write exactly\n"
    '<tool_call>{"name":"<name>","arguments":<arguments>}</tool_call>\n'
    "with the arguments as compact JSON that follows the tool's parameters."
)
ROLES = {"system": "system", "developer": "system", "user": "user", "assistant": "assistant", "tool": "user"}
Turn = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Tool:
    """A function the model may call; `parameters` is a JSON Schema of the subset, its keys in the order given."""

    name: str
    description: str | None
    parameters: JsonValue


class Template(Protocol):
    """A model's chat template; one that `takes_tools` gets the messages and tools as they came."""

    @property
    def takes_tools(self) -> bool:
        """Whether the template itself describes tools and writes calls back."""
        ...

    def render(self, messages: Sequence[JsonValue], tools: Sequence[JsonValue], bos: str, eos: str) -> str:
        """The prompt text, ending where the assistant's answer begins."""
        ...


@dataclass(frozen=True, slots=True)
class ChatML:
    """A turn is `<|im_start|>role`, a newline, the content, `<|im_end|>`, a newline; small instruct models use it."""

    takes_tools: bool = False

    def render(self, messages: Sequence[JsonValue], tools: Sequence[JsonValue], bos: str, eos: str) -> str:
        """The turns and the opening of the assistant's."""
        turns = [message for message in messages if isinstance(message, dict)]
        written = [f"<|im_start|>{turn['role']}\n{turn['content']}<|im_end|>\n" for turn in turns]
        return "".join(written) + "<|im_start|>assistant\n"


def describe(tools: Sequence[Tool]) -> str:
    """The tools as the system message tells them; the schema's keys in the order given."""
    return "\n".join([PREAMBLE, *(dumps(tool_value(tool)) for tool in tools), INSTRUCTION])


def tool_value(tool: Tool) -> JsonValue:
    """A tool as it came, without what the request left out."""
    about: dict[str, JsonValue] = {} if tool.description is None else {"description": tool.description}
    return {"type": "function", "function": {"name": tool.name, **about, "parameters": tool.parameters}}


def render_messages(messages: JsonValue, tools: Sequence[Tool]) -> list[Turn]:
    """The conversation as (role, text) turns of system, user and assistant only."""
    if not isinstance(messages, list) or not messages:
        raise bad_shape("messages", "it is a list of at least one message")
    turns = [_turn(message, f"messages[{i}]") for i, message in enumerate(messages)]
    if not tools:
        return turns
    for i, (role, text) in enumerate(turns):
        if role == "system":
            return [
                *turns[:i],
                (role, f"{text}\n\n{describe(tools)}" if text else describe(tools)),
                *turns[i + 1 :],
            ]
    return [("system", describe(tools)), *turns]


def render_prompt(template: Template, messages: JsonValue, tools: Sequence[Tool], bos: str, eos: str) -> str:
    """The prompt: by the model's own template when it takes tools, else our turns through it."""
    turns = render_messages(messages, tools)
    if tools and template.takes_tools and isinstance(messages, list):
        own = [_own_message(message) for message in messages]
        return template.render(own, [tool_value(tool) for tool in tools], bos, eos)
    return template.render([{"role": role, "content": text} for role, text in turns], [], bos, eos)


def _own_message(message: JsonValue) -> JsonValue:
    """A message for a template that takes tools: text content, and arguments as the object that they are."""
    assert isinstance(message, dict)
    own: dict[str, JsonValue] = {"role": message["role"], "content": _text(message.get("content"), "")}
    if message["role"] == "developer":
        own["role"] = "system"
    calls = message.get("tool_calls")
    if isinstance(calls, list) and calls:
        pairs = [_call_of(call, "") for call in calls]
        own["tool_calls"] = [
            {"type": "function", "function": {"name": name, "arguments": loads(text)}} for name, text in pairs
        ]
    return own


def _turn(message: JsonValue, place: str) -> Turn:
    if not isinstance(message, dict):
        raise bad_shape(place, "a message is an object")
    role = message.get("role")
    if not isinstance(role, str) or role not in ROLES:
        raise bad_shape(f"{place}.role", f"it is {dumps(role)}; take {', '.join(ROLES)}")
    if role == "assistant":
        return role, _assistant_text(message, place)
    if message.get("content") is None:
        raise bad_shape(f"{place}.content", "it is missing; give text")
    text = _text(message["content"], f"{place}.content")
    if role != "tool":
        return ROLES[role], text
    if not isinstance(message.get("tool_call_id"), str):
        raise bad_shape(f"{place}.tool_call_id", "it is the id of the call that this answers")
    return "user", f"<tool_response>{text}</tool_response>"


def _assistant_text(message: dict[str, JsonValue], place: str) -> str:
    calls = message.get("tool_calls")
    if calls is not None and not isinstance(calls, list):
        raise bad_shape(f"{place}.tool_calls", "it is a list of calls")
    if not calls and message.get("content") is None:
        raise bad_shape(f"{place}.content", "an assistant message has text, tool_calls or both")
    text = _text(message.get("content"), f"{place}.content")
    pairs = [_call_of(call, f"{place}.tool_calls[{i}]") for i, call in enumerate(calls or [])]
    return text + "\n".join(
        f"{HEADER_FRONT}{name}{HEADER_BACK}{arguments}{CLOSER}" for name, arguments in pairs
    )


def _call_of(call: JsonValue, place: str) -> tuple[str, str]:
    """The name and the arguments' text of a call in the history."""
    function = call.get("function") if isinstance(call, dict) else None
    if not isinstance(function, dict):
        raise bad_shape(f"{place}.function", "it is an object with a name and arguments")
    name = function.get("name")
    if not isinstance(name, str) or isinstance(read_header(f"{HEADER_FRONT}{name}{HEADER_BACK}"), str):
        raise bad_shape(f"{place}.function.name", "a name is 1 to 64 of A-Z a-z 0-9 _ -")
    return name, _arguments_text(function.get("arguments"), f"{place}.function.arguments")


def _arguments_text(value: JsonValue, place: str) -> str:
    """The arguments as generated; what clients send for none (nothing, null, "", "null") is `{}`."""
    if value in (None, "", "null"):
        return "{}"
    try:
        read = loads(value) if isinstance(value, str) else value
    except JsonTextError as error:
        raise bad_shape(place, f"{error}; it is the text of a JSON object") from None
    if not isinstance(read, dict):
        raise bad_shape(place, "it is the text of a JSON object")
    return value.strip() if isinstance(value, str) else dumps(read)


def _text(content: JsonValue, place: str) -> str:
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        raise bad_shape(place, "it is text or a list of text parts")
    return "".join(_part(part, f"{place}[{i}]") for i, part in enumerate(content))


def _part(part: JsonValue, place: str) -> str:
    text = part.get("text") if isinstance(part, dict) and part.get("type") == "text" else None
    if not isinstance(text, str):
        raise bad_shape(place, 'only parts {"type": "text", "text": …} are read')
    return text
