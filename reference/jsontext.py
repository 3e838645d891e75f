"""JSON text in and out (RFC 8259): key order kept, integers exact, Python's compact form written (SPEC §3).

The reader and the writer keep their own stacks, so that depth is a limit with a message and never a crash of the
interpreter. The pitfall is the text that a port prints differently: floats are Python's shortest repr (`1.5e-05`),
`-0` is the integer 0, DEL and non-ASCII stay raw. Values are plain Python objects; read `schema.py` next.
"""

import math
import re
from collections.abc import Iterator
from typing import NoReturn, TypeAlias

from reference.errors import JsonTextError, Refused
from reference.integers import digits_of, int_of

JsonValue: TypeAlias = bool | int | float | str | list["JsonValue"] | dict[str, "JsonValue"] | None

MAX_DEPTH = 512
"""Containers inside one another that the reader takes."""

_SPACE = re.compile(r"[ \t\n\r]*")
_NUMBER = re.compile(r"(-?(?:0|[1-9][0-9]*))((?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)")
_PLAIN = re.compile('[^"\\\\\x00-\x1f\ud800-\udfff]*')
_HEX4 = re.compile(r"[0-9a-fA-F]{4}")
_WORD = re.compile(r"\w+")
_WORDS: dict[str, JsonValue] = {"null": None, "true": True, "false": False}
_SHORT = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_TO_ESCAPE = re.compile('["\\\\\x00-\x1f\ud800-\udfff]')
_ESCAPES = {chr(code): f"\\u{code:04x}" for code in range(0x20)} | {
    character: "\\" + letter for letter, character in _SHORT.items() if letter != "/"
}


def loads(text: str | bytes, *, unique_keys: bool = False, max_depth: int = MAX_DEPTH) -> JsonValue:
    """The value of a JSON text; a key given twice has its last value at its first place, or is refused.

    Raises JsonTextError with the position of the first character that cannot be read.
    """
    return _Reader(_decoded(text), unique_keys, max_depth).document()


def dumps(value: JsonValue) -> str:
    """The text of `json.dumps(value, separators=(",", ":"), ensure_ascii=False)`, at any depth.

    Raises Refused for NaN, infinities, lone surrogates, cycles and whatever is no JSON value.
    """
    return "".join(_pieces(value))


def quote(text: str) -> str:
    r"""The JSON string of a text: the short escapes, `\u00xx` for the other controls, the rest raw."""
    return f'"{_TO_ESCAPE.sub(_escaped, text)}"'


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
        self.value: JsonValue = None
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
            self.refuse(f"containers nested more than {self.max_depth} deep; flatten the value")
        self.open.append([] if character == "[" else {})
        self.position += 1

    def attach(self) -> bool:
        """Put the value read last where it belongs and close what ends after it; true when nothing is open."""
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
            self.refuse(f"{self.here()} after a member; ',' or {closing!r} comes here")
        self.position += 1
        return character == closing

    def begin_member(self) -> bool:
        """In an object, read the key and its colon; the value comes next in every container (so: not whole yet)."""
        container = self.open[-1]
        if isinstance(container, dict):
            if self.peek() != '"':
                self.refuse(f"{self.here()} where a key belongs; keys are strings in double quotes")
            start = self.position
            key = self.string()
            if self.unique_keys and key in container:
                self.refuse(f"the key {quote(key)} is given twice; keep one", start)
            if self.peek() != ":":
                self.refuse(f"{self.here()} after a key; ':' comes here")
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
        name = f"{word[0][:20]!r}" if word else self.here()
        self.refuse(f"{name} is no JSON value; strings take double quotes, the words are null, true, false")

    def number(self, match: re.Match[str]) -> int | float:
        """An exact integer, or the nearest double of a number with a point or an exponent."""
        whole, rest = match[1], match[2]
        value = float(match[0]) if rest else int_of(whole)
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
        if letter in _SHORT:
            self.position += 2
            return _SHORT[letter]
        if letter != "u":
            self.refuse(f"'\\{letter}' is no escape; write '\\\\' for a backslash")
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
            self.refuse("'\\u' without four hexadecimal digits; write '\\u00e9'")
        self.position = digits.end()
        return int(digits[0], 16)

    def refuse_in_string(self, character: str) -> NoReturn:
        """What may not stand raw inside a string."""
        if not character:
            self.refuse("the text ends inside a string; close it with '\"'")
        if character < " ":
            self.refuse(
                f"a raw control character U+{ord(character):04X} in a string; write '\\u{ord(character):04x}'"
            )
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


def _escaped(match: re.Match[str]) -> str:
    if match[0] not in _ESCAPES:
        place = f"JSON string, position {match.start()}"
        raise Refused(f"{place}: U+{ord(match[0]):04X} is a lone surrogate, not a character; remove it")
    return _ESCAPES[match[0]]


def _pieces(value: JsonValue) -> Iterator[str]:
    """The text in order; `pending` holds one iterator of (text before, value) and a closing bracket a container."""
    pending: list[tuple[Iterator[tuple[str, JsonValue]], str, int]] = []
    active: set[int] = set()
    prefix = ""
    while True:
        yield prefix
        if isinstance(value, list | tuple | dict):
            if id(value) in active:
                raise Refused("JSON value: a container holds itself; a text cannot say that")
            active.add(id(value))
            is_dict = isinstance(value, dict)
            yield "{" if is_dict else "["
            pending.append((_members(value), "}" if is_dict else "]", id(value)))
        else:
            yield _scalar_text(value)
        while pending:
            step = next(pending[-1][0], None)
            if step is not None:
                prefix, value = step
                break
            _, closing, identity = pending.pop()
            active.discard(identity)
            yield closing
        else:
            return


def _members(container: list[JsonValue] | dict[str, JsonValue]) -> Iterator[tuple[str, JsonValue]]:
    comma = ""
    if isinstance(container, dict):
        for key, member in container.items():
            if not isinstance(key, str):
                raise Refused(f"JSON value: {key!r} is no key; keys are strings")
            yield f"{comma}{quote(key)}:", member
            comma = ","
    else:
        for member in container:
            yield comma, member
            comma = ","


def _scalar_text(value: JsonValue) -> str:
    if isinstance(value, str):
        return quote(value)
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, int):
        return digits_of(value)
    if isinstance(value, float) and math.isfinite(value):
        return float.__repr__(value)
    raise Refused(f"JSON value: {value!r} has no JSON text; use null, a string or a finite number")
