"""JSON text → Python values (RFC 8259): key order kept, integers exact, every refusal at its position (SPEC §3).

The reader keeps its own stack of open containers, so that depth is a limit with a message and never a crash of the
interpreter. The pitfall is order: the members of an object come in the order of the text, and a key given twice has
its last value at its first place (or is refused, in a schema). Read `jsonwriter.py` for the way back, then `schema.py`.
"""

import math
import re
from typing import NoReturn

from reference.errors import JsonTextError
from reference.integers import int_of
from reference.jsonwriter import JsonValue, dumps, quote

__all__ = ["MAX_DEPTH", "JsonValue", "dumps", "loads", "quote"]

MAX_DEPTH = 512
"""Containers inside one another that the reader takes."""

_SPACE = re.compile(r"[ \t\n\r]*")
_NUMBER = re.compile(r"(-?(?:0|[1-9][0-9]*))((?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)")
_PLAIN = re.compile('[^"\\\\\x00-\x1f\ud800-\udfff]*')
_HEX4 = re.compile(r"[0-9a-fA-F]{4}")
_WORD = re.compile(r"[A-Za-z]+")
_WORDS: dict[str, JsonValue] = {"null": None, "true": True, "false": False}
_ESCAPES = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}


def loads(text: str | bytes, *, unique_keys: bool = False, max_depth: int = MAX_DEPTH) -> JsonValue:
    """The value of a JSON text; with `unique_keys` a key given twice is refused.

    Raises JsonTextError with the position of the first character that cannot be read.
    """
    return _Reader(_decoded(text), unique_keys, max_depth).document()


def _decoded(text: str | bytes) -> str:
    if isinstance(text, str):
        return text
    try:
        return text.decode("utf-8")
    except UnicodeDecodeError as error:
        position = len(text[: error.start].decode("utf-8"))
        byte = text[error.start]
        raise JsonTextError(f"byte {byte:#04x} is not UTF-8 here; save the text as UTF-8", position) from None


class _Reader:
    """One pass: `open` are the containers not yet closed, `keys` the members begun, `value` the last one read."""

    def __init__(self, text: str, unique_keys: bool, max_depth: int) -> None:
        self.text, self.unique_keys, self.max_depth = text, unique_keys, max_depth
        self.position = 0
        self.value: JsonValue
        self.open: list[list[JsonValue] | dict[str, JsonValue]] = []
        self.keys: list[str] = []

    def document(self) -> JsonValue:
        """The one value of the text, with nothing after it."""
        if self.text.startswith("\ufeff"):
            self.refuse("a byte-order mark comes before the value; remove it")
        while not self.read_value():
            pass
        if self.peek():
            self.refuse(f"{self.here()} follows the whole value; a text is one value")
        return self.value

    def read_value(self) -> bool:
        """Read a scalar, or open a container up to its first value; true when the outermost value is whole."""
        character = self.peek()
        if character == "[" or character == "{":
            self.open_container(character)
            if self.peek() != ("]" if character == "[" else "}"):
                return self.begin_member()
            self.position += 1
            self.value = self.open.pop()
        else:
            self.value = self.scalar(character)
        return self.attach()

    def open_container(self, character: str) -> None:
        """Push an empty array or object, within the depth limit."""
        if len(self.open) == self.max_depth:
            self.refuse(f"containers are nested more than {self.max_depth} deep; flatten the value")
        self.open.append([] if character == "[" else {})
        self.position += 1

    def attach(self) -> bool:
        """Put the last value where it belongs and close what ends after it; true when nothing is open any more."""
        while self.open:
            container = self.open[-1]
            if isinstance(container, list):
                container.append(self.value)
            else:
                container[self.keys.pop()] = self.value
            if not self.closes(container):
                return self.begin_member()
            self.value = self.open.pop()
        return True

    def closes(self, container: list[JsonValue] | dict[str, JsonValue]) -> bool:
        """Step over the comma (false) or the closing bracket (true) after a member."""
        closing = "]" if isinstance(container, list) else "}"
        character = self.peek()
        if character != "," and character != closing:
            self.refuse(f"{self.here()} comes after a member; write ',' or '{closing}'")
        self.position += 1
        return character == closing

    def begin_member(self) -> bool:
        """In an object, read the key and its colon; false, because the member's value comes next."""
        container = self.open[-1]
        if isinstance(container, dict):
            if self.peek() != '"':
                self.refuse(f"{self.here()} stands where a key belongs; write a string in double quotes")
            start = self.position
            key = self.string()
            if self.unique_keys and key in container:
                shown = quote(key if len(key) <= 60 else f"{key[:57]}...")
                self.refuse(f"the key {shown} is given twice; keep one", start)
            if self.peek() != ":":
                self.refuse(f"{self.here()} comes after a key; write ':'")
            self.position += 1
            self.keys.append(key)
        return False

    def scalar(self, character: str) -> JsonValue:
        """A string, a number or one of the three words."""
        if character == '"':
            return self.string()
        if number := _NUMBER.match(self.text, self.position):
            return self.number(number)
        word = _WORD.match(self.text, self.position)
        if word and word[0] in _WORDS:
            self.position = word.end()
            return _WORDS[word[0]]
        name = f"'{word[0][:20]}'" if word else self.here()
        self.refuse(f"{name} begins no JSON value; write a string, number, true, false, null, '[' or '{{'")

    def number(self, match: re.Match[str]) -> int | float:
        """An exact integer, or the nearest double of a number with a point or an exponent."""
        value = float(match[0]) if match[2] else int_of(match[1])
        if value in (math.inf, -math.inf):
            self.refuse(f"{match[0][:20]} overflows to infinity; a double ends near 1.8e308")
        self.position = match.end()
        return value

    def string(self) -> str:
        """The characters between two quotes, escapes resolved."""
        self.position += 1
        pieces: list[str] = []
        while True:
            plain = _PLAIN.match(self.text, self.position)
            assert plain is not None
            pieces.append(plain[0])
            self.position = plain.end()
            character = self.text[self.position : self.position + 1]
            if character == '"':
                self.position += 1
                return "".join(pieces)
            if character != "\\":
                self.refuse_in_string(character)
            pieces.append(self.escape())

    def escape(self) -> str:
        r"""The character that an escape stands for; two \u escapes make one above U+FFFF."""
        letter = self.text[self.position + 1 : self.position + 2]
        if not letter:
            self.refuse("the text ends inside an escape; close the string with '\"'", self.position + 1)
        if letter in _ESCAPES:
            self.position += 2
            return _ESCAPES[letter]
        if letter != "u":
            self.refuse(f"{letter!a} after a backslash is no escape; write '\\\\' for a backslash")
        start, code = self.position, self.code_unit()
        if not 0xD800 <= code < 0xE000:
            return chr(code)
        if code < 0xDC00 and self.text.startswith("\\u", self.position):
            low = self.code_unit()
            if 0xDC00 <= low < 0xE000:
                return chr(0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00))
        self.refuse(
            f"{self.text[start : start + 6]} is a lone surrogate; write both halves of the pair", start
        )

    def code_unit(self) -> int:
        r"""The number in `\uHHHH`."""
        digits = _HEX4.match(self.text, self.position + 2)
        if digits is None:
            self.refuse("'\\u' comes without four hexadecimal digits; write such as '\\u00e9'")
        self.position = digits.end()
        return int(digits[0], 16)

    def refuse_in_string(self, character: str) -> NoReturn:
        """What may not stand raw inside a string."""
        if not character:
            self.refuse("the text ends inside a string; close it with '\"'")
        if character < " ":
            code = f"{ord(character):04x}"
            self.refuse(f"a control character stands raw in a string; write '\\u{code}'")
        self.refuse(f"U+{ord(character):04X} is a lone surrogate, not a character; remove it")

    def peek(self) -> str:
        """The next character that is no space, empty at the end."""
        match = _SPACE.match(self.text, self.position)
        assert match is not None
        self.position = match.end()
        return self.text[self.position : self.position + 1]

    def here(self) -> str:
        """The character under the reader, for a message."""
        return ascii(self.text[self.position]) if self.position < len(self.text) else "the end of the text"

    def refuse(self, message: str, position: int | None = None) -> NoReturn:
        """Raise at a position, the current one when none is given."""
        raise JsonTextError(message, self.position if position is None else position)
