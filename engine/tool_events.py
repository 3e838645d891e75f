"""Tool requests and stream events as plain JSON data: how goldens, ports and the audit write them, said once."""

from typing import Any

from reference.jsontext import dumps
from reference.tools import Named, ToolRequest
from reference.toolstream import Arguments, CallStart, Content, Event


def request_fields(request: ToolRequest) -> dict[str, Any]:
    """The tool fields of a request: each tool's parameters as compact JSON text, a named choice as an object."""
    return {
        "tools": [
            {"name": tool.name, "description": tool.description, "parameters": dumps(tool.parameters)}
            for tool in request.tools
        ],
        "choice": {"name": request.choice.name} if isinstance(request.choice, Named) else request.choice,
        "response_format": request.response_format,
        "parallel": request.parallel,
    }


def event_fields(event: Event) -> list[Any]:
    """An event as a list: its kind, then its values in order."""
    match event:
        case Content(text):
            return ["content", text]
        case CallStart(index, identifier, name):
            return ["call", index, identifier, name]
        case Arguments(index, fragment):
            return ["arguments", index, fragment]


def event_of(fields: list[Any]) -> Event:
    """The event that such a list is."""
    kinds = {"call": CallStart, "arguments": Arguments, "content": Content}
    made: Event = kinds[fields[0]](*fields[1:])
    return made
