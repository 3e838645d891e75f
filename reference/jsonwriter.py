"""Python values → compact JSON text, as Python's own writer prints it (SPEC §3).

The text is that of `json.dumps(value, separators=(",", ":"), ensure_ascii=False)`: floats as their shortest repr
(`1.5e-05`, `1e+16`), the short escapes, DEL and non-ASCII raw. The pitfall (s09) is any other way to print a float:
an enum value that is written otherwise cannot be reached. Containers are kept on a stack, so any depth is written.
"""

import math
import re
from collections.abc import Iterator
from typing import TypeAlias

from reference.errors import Refused
from reference.integers import digits_of

JsonValue: TypeAlias = bool | int | float | str | list["JsonValue"] | dict[str, "JsonValue"] | None

_TO_ESCAPE = re.compile('["\\\\\x00-\x1f\ud800-\udfff]')
_SHORT = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_ESCAPES = {chr(code): f"\\u{code:04x}" for code in range(0x20)} | _SHORT


def dumps(value: JsonValue) -> str:
    """The compact text of a value; raises Refused for NaN, infinities, lone surrogates, cycles and what is no JSON."""
    return "".join(_pieces(value))


def quote(text: str) -> str:
    r"""The JSON string of a text: the short escapes, `\u00xx` for the other controls, the rest raw."""
    return f'"{_TO_ESCAPE.sub(_escaped, text)}"'


def _escaped(match: re.Match[str]) -> str:
    if match[0] not in _ESCAPES:
        place = f"JSON string, position {match.start()}"
        raise Refused(f"{place}: U+{ord(match[0]):04X} is a lone surrogate, not a character; remove it")
    return _ESCAPES[match[0]]


def _pieces(value: JsonValue) -> Iterator[str]:
    """The text in order; the stack holds the open containers with what is still to come of each."""
    stack: list[tuple[JsonValue, Iterator[tuple[str, JsonValue]]]] = []
    inside: set[int] = set()
    while True:
        if isinstance(value, list | tuple | dict):
            if id(value) in inside:
                raise Refused("JSON value: a container holds itself, which no text can say; break the cycle")
            inside.add(id(value))
            stack.append((value, _members(value)))
            yield "{" if isinstance(value, dict) else "["
        else:
            yield _scalar(value)
        while stack:
            container, coming = stack[-1]
            following = next(coming, None)
            if following is not None:
                break
            stack.pop()
            inside.discard(id(container))
            yield "}" if isinstance(container, dict) else "]"
        else:
            return
        before, value = following
        yield before


def _members(container: list[JsonValue] | dict[str, JsonValue]) -> Iterator[tuple[str, JsonValue]]:
    """The text before each member (comma, key, colon) and the member."""
    comma = ""
    if isinstance(container, dict):
        for key, member in container.items():
            if not isinstance(key, str):
                kind = type(key).__name__
                raise Refused(f"JSON value: a key of Python's type {kind} is not a string; keys are strings")
            yield f"{comma}{quote(key)}:", member
            comma = ","
    else:
        for member in container:
            yield comma, member
            comma = ","


def _scalar(value: JsonValue) -> str:
    match value:
        case str():
            return quote(value)
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int():
            return digits_of(value)
        case float() if math.isfinite(value):
            return float.__repr__(value)
        case _:
            kind = f"a value of Python's type {type(value).__name__}"
            shown = float.__repr__(value) if isinstance(value, float) else kind
            raise Refused(f"JSON value: {shown} has no JSON text; use null, a string or a finite number")
