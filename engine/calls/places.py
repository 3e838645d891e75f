"""Where the values of a JSON text stand: line numbers for messages about well-formed files of the wrong shape.

The text has been read whole before (reference.jsontext says where it is no JSON); this walk follows the same text once
more and only remembers lines. Scalars are skipped by the standard library's scanner.
"""

import json
import re

Path = tuple[str | int, ...]
_SPACE = re.compile(r"[ \t\n\r]*")
_DECODER = json.JSONDecoder(parse_int=str, parse_float=str)


class Places:
    """Line of every value in a JSON text, by its path of keys and positions."""

    def __init__(self, text: str) -> None:
        """Walk a text that is known to be JSON."""
        self._text = text
        self._lines: dict[Path, int] = {}
        self._value(0, ())

    def line(self, path: Path) -> int:
        """The line of the value at this path, or of the nearest value around it."""
        while path not in self._lines:
            path = path[:-1]
        return self._lines[path]

    def _value(self, at: int, path: Path) -> int:
        at = self._skip(at)
        self._lines[path] = line_of(self._text, at)
        if self._text[at] == "[":
            return self._items(at + 1, path)
        if self._text[at] == "{":
            return self._members(at + 1, path)
        return int(_DECODER.raw_decode(self._text, at)[1])

    def _items(self, at: int, path: Path) -> int:
        at, position = self._skip(at), 0
        while self._text[at] != "]":
            at = self._separator(self._value(at, (*path, position)))
            position += 1
        return at + 1

    def _members(self, at: int, path: Path) -> int:
        at = self._skip(at)
        while self._text[at] != "}":
            key, at = _DECODER.raw_decode(self._text, at)
            at = self._separator(self._value(self._skip(at) + 1, (*path, key)))
        return at + 1

    def _separator(self, at: int) -> int:
        at = self._skip(at)
        return self._skip(at + 1) if self._text[at] == "," else at

    def _skip(self, at: int) -> int:
        match = _SPACE.match(self._text, at)
        return match.end() if match else at


def line_of(text: str, position: int) -> int:
    """The line, from 1, of a position in a text."""
    return text.count("\n", 0, position) + 1
