"""Tool calls as a request asks for them, and the grammar that its `tool_choice` makes of them (SPEC §7).

The pitfalls: a schema keyword outside the subset accepted, so that the schema is weakened in silence; a named
choice that still allows every tool. Read next: `reference.toolprompt` for what the model is told,
`reference.toolstream` for what it answers.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from reference.errors import JsonTextError, SchemaError, TooLarge
from reference.jsontext import JsonValue, dumps, loads
from reference.schema import escape, json_object_regex, json_schema_to_regex
from reference.tool_errors import ToolError, bad_shape, unsupported
from reference.toolprompt import Tool, render_messages, render_prompt
from reference.toolstream import CLOSER, OPENER

__all__ = [
    "Grammar",
    "Named",
    "Tool",
    "ToolError",
    "ToolRequest",
    "grammar",
    "parse_tool_request",
    "render_messages",
    "render_prompt",
    "vocab_bytes",
]

NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
TOOL_LIMIT = 128
PARALLEL_LIMIT = 4
OBJECT_DEPTH = 3
NO_PARAMETERS: dict[str, JsonValue] = {"type": "object", "properties": {}}


@dataclass(frozen=True, slots=True)
class Named:
    """The choice of one tool by name."""

    name: str


Choice = Literal["auto", "none", "required"] | Named


@dataclass(frozen=True, slots=True)
class ToolRequest:
    """The tool fields of a request, with their defaults filled in."""

    tools: tuple[Tool, ...]
    choice: Choice
    response_format: Literal["text", "json_object"]
    parallel: bool


@dataclass(frozen=True, slots=True)
class Grammar:
    """The pattern that the output matches from its first byte, or from the end of `trigger` when there is one."""

    pattern: str
    trigger: str | None


class Tokenizer(Protocol):
    """What `vocab_bytes` asks of a tokenizer."""

    @property
    def vocab_size(self) -> int:
        """Ids run from 0 to `vocab_size` − 1."""
        ...

    def token_bytes(self, token: int) -> bytes:
        """The bytes that a token stands for."""
        ...


def parse_tool_request(body: str) -> ToolRequest:
    """The tool fields of a chat request's JSON text; ToolError says what is wrong and where."""
    try:
        fields = loads(body, unique_keys=True)
    except JsonTextError as error:
        raise ToolError(400, None, None, f"request body: {error}; send one JSON object") from None
    if not isinstance(fields, dict):
        raise ToolError(400, None, None, "request body: it is not a JSON object; send one")
    tools = _tools(fields.get("tools"))
    choice = _choice(fields.get("tool_choice"), tools)
    response_format = _response_format(fields.get("response_format"))
    if response_format == "json_object" and tools and choice != "none":
        raise bad_shape("response_format", 'json_object goes with tools only when tool_choice is "none"')
    parallel = fields.get("parallel_tool_calls")
    if parallel is not None and not isinstance(parallel, bool):
        raise bad_shape("parallel_tool_calls", "it is true or false")
    return ToolRequest(tools, choice, response_format, parallel is not False)


def _tools(value: JsonValue) -> tuple[Tool, ...]:
    if value is None:
        return ()
    if not isinstance(value, list):
        raise bad_shape("tools", "it is a list of tools")
    if len(value) > TOOL_LIMIT:
        raise bad_shape("tools", f"{len(value)} tools are more than {TOOL_LIMIT}")
    tools = tuple(_tool(entry, f"tools[{i}]") for i, entry in enumerate(value))
    first: dict[str, int] = {}
    for i, tool in enumerate(tools):
        if first.setdefault(tool.name, i) != i:
            raise bad_shape(
                f"tools[{i}].function.name", f"{tool.name!r} is tools[{first[tool.name]}] already"
            )
    return tools


def _tool(entry: JsonValue, place: str) -> Tool:
    if not isinstance(entry, dict):
        raise bad_shape(place, "a tool is an object")
    if entry.get("type") != "function":
        raise bad_shape(f"{place}.type", f'it is {dumps(entry.get("type"))}; the only type is "function"')
    function = entry.get("function")
    if not isinstance(function, dict):
        raise bad_shape(f"{place}.function", "it is an object with a name")
    name, description = function.get("name"), function.get("description")
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise bad_shape(f"{place}.function.name", "a name is 1 to 64 of A-Z a-z 0-9 _ -")
    if description is not None and not isinstance(description, str):
        raise bad_shape(f"{place}.function.description", "it is text")
    return Tool(name, description, _parameters(function.get("parameters"), f"{place}.function.parameters"))


def _parameters(value: JsonValue, place: str) -> JsonValue:
    if value is None:
        return NO_PARAMETERS
    if not isinstance(value, dict):
        raise bad_shape(place, "it is a JSON Schema object")
    try:
        json_schema_to_regex(value)
    except (SchemaError, TooLarge) as error:
        raise unsupported(place, str(error)) from None
    if value.get("type") != "object":
        raise bad_shape(f"{place}.type", 'arguments are an object; write "type": "object"')
    return value


def _choice(value: JsonValue, tools: Sequence[Tool]) -> Choice:
    if value is None:
        return "auto" if tools else "none"
    if value == "none":
        return "none"
    if value == "auto" or value == "required":
        if not tools:
            raise bad_shape("tool_choice", f'{value!r} needs tools; give some or choose "none"')
        return "auto" if value == "auto" else "required"
    if not isinstance(value, dict):
        raise bad_shape("tool_choice", 'it is "none", "auto", "required" or a function')
    return _named(value, tools)


def _named(value: dict[str, JsonValue], tools: Sequence[Tool]) -> Named:
    if value.get("type") != "function":
        raise bad_shape("tool_choice.type", f'it is {dumps(value.get("type"))}; the only type is "function"')
    function = value.get("function")
    if not isinstance(function, dict):
        raise bad_shape("tool_choice.function", "it is an object with a name")
    name = function.get("name")
    if not isinstance(name, str):
        raise bad_shape("tool_choice.function.name", "it is the name of a tool")
    if all(tool.name != name for tool in tools):
        raise bad_shape("tool_choice.function.name", f"{name!r} is not among the tools")
    return Named(name)


def _response_format(value: JsonValue) -> Literal["text", "json_object"]:
    if value is None:
        return "text"
    if not isinstance(value, dict):
        raise bad_shape("response_format", 'it is an object such as {"type": "json_object"}')
    if value.get("type") == "json_schema":
        raise unsupported(
            "response_format", "json_schema is not decoded; describe the value as a tool's parameters"
        )
    kinds: dict[JsonValue, Literal["text", "json_object"]] = {"text": "text", "json_object": "json_object"}
    kind = value.get("type")
    if not isinstance(kind, str) or kind not in kinds:
        raise bad_shape("response_format.type", f'it is {dumps(kind)}; take "text" or "json_object"')
    return kinds[kind]


def grammar(request: ToolRequest) -> Grammar | None:
    """The language of the answer: None is free text, which calls nothing."""
    if request.choice == "none":
        is_object = request.response_format == "json_object"
        return Grammar(json_object_regex(OBJECT_DEPTH), None) if is_object else None
    if request.choice == "auto":
        return Grammar(_any_of(request.tools, _rest), OPENER)
    if isinstance(request.choice, Named):
        chosen = [tool for tool in request.tools if tool.name == request.choice.name]
        return Grammar(_call(chosen[0]), None)
    one = _any_of(request.tools, _call)
    return Grammar(f"{one}(?:\\n{one}){{0,{PARALLEL_LIMIT - 1}}}" if request.parallel else one, None)


def _any_of(tools: Sequence[Tool], write: Callable[[Tool], str]) -> str:
    """`(?:A|B|…)` over the tools in order, the one pattern alone when there is one tool."""
    patterns = [write(tool) for tool in tools]
    return patterns[0] if len(patterns) == 1 else "(?:" + "|".join(patterns) + ")"


def _call(tool: Tool) -> str:
    return escape(OPENER) + _rest(tool)


def _rest(tool: Tool) -> str:
    front = escape(f'{{"name":"{tool.name}","arguments":')
    return front + json_schema_to_regex(tool.parameters) + escape(CLOSER)


def vocab_bytes(tokenizer: Tokenizer, specials: Iterable[int]) -> list[bytes | None]:
    """Every token's bytes, None for the special ones, so that no chat marker is ever generated."""
    hidden = frozenset(specials)
    return [
        None if token in hidden else tokenizer.token_bytes(token) for token in range(tokenizer.vocab_size)
    ]
