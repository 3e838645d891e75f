r"""Literals, escapes and brackets: the atoms of a pattern, read as sets of characters (SPEC §1).

An escape means the same set inside and outside brackets. The pitfall: `\xHH` is a byte in the dialect `bytes` and a
code point in `unicode`, where it may stand for two bytes. Read `charsets.py` for the sets, `utf8.py` for the bytes.
"""

import re
import string
from dataclasses import dataclass
from functools import lru_cache
from typing import NoReturn

from reference.charsets import DIGIT, SPACE, WORD, Dialect, Ranges, complement, normalised
from reference.errors import PatternError
from reference.nodes import ByteSet, Node, sequence, union
from reference.utf8 import byte_ranges, encode

_CONTROLS = {"n": 0x0A, "r": 0x0D, "t": 0x09, "f": 0x0C, "v": 0x0B}
_CLASSES: dict[str, Ranges] = {"d": DIGIT, "w": WORD, "s": SPACE}
_ITSELF = frozenset(string.punctuation + " ")
_HEX2 = re.compile(r"[0-9a-fA-F]{2}")
_HEX4 = re.compile(r"[0-9a-fA-F]{4}|\{[0-9a-fA-F]+\}")
_FOREIGN = dict.fromkeys(
    string.digits, "is a back-reference or an octal byte; write the group again, or '\\xHH' for a byte"
) | {
    "A": "is an anchor; a pattern matches whole strings, remove it",
    "Z": "is an anchor; a pattern matches whole strings, remove it",
    "b": "is a word boundary, which the dialect does not have; write the alternatives out",
    "B": "is a word boundary, which the dialect does not have; write the alternatives out",
    "p": "is a Unicode property, which the dialect does not have; list the ranges in brackets",
    "P": "is a Unicode property, which the dialect does not have; list the ranges in brackets",
    "u": "needs the dialect unicode; write the UTF-8 bytes, or the character itself outside brackets",
}


@dataclass(slots=True)
class Cursor:
    """A place in a pattern."""

    text: str
    dialect: Dialect
    position: int = 0

    def peek(self, ahead: int = 0) -> str:
        """The character at the place, or so many after it; empty past the end."""
        return self.text[self.position + ahead : self.position + ahead + 1]

    def refuse(self, message: str, position: int | None = None) -> NoReturn:
        """Raise PatternError at a position, the cursor's when none is given."""
        raise PatternError(message, self.position if position is None else position)


def literal(cursor: Cursor) -> Node:
    """A character that stands for itself: its UTF-8 bytes, as one atom."""
    code = ord(cursor.peek())
    _check_scalar(cursor, code)
    cursor.position += 1
    return _literal(code)


def escape(cursor: Cursor) -> Ranges:
    """The set that a backslash and what follows it stand for."""
    letter = cursor.peek(1)
    if letter in _CONTROLS or (letter and letter in _ITSELF):
        cursor.position += 2
        return _single(_CONTROLS.get(letter, ord(letter)))
    if letter.lower() in _CLASSES:
        cursor.position += 2
        members = _CLASSES[letter.lower()]
        return members if letter.islower() else complement(members, cursor.dialect)
    if letter == "x":
        return _single(_hexadecimal(cursor, _HEX2, "two hexadecimal digits; write such as '\\x0a'"))
    if letter == "u" and cursor.dialect == "unicode":
        wanted = "four hexadecimal digits or some in braces; write such as '\\u00e9' or '\\u{1f600}'"
        return _single(_hexadecimal(cursor, _HEX4, wanted))
    _refuse_escape(cursor, letter)


def bracket(cursor: Cursor) -> Ranges:
    """The set that `[…]` or `[^…]` stands for."""
    start = cursor.position
    negated = cursor.peek(1) == "^"
    cursor.position += 2 if negated else 1
    if cursor.peek() == "]":
        cursor.refuse("the brackets list nothing; list a member, or write '\\]' for the bracket", start)
    ranges: list[tuple[int, int]] = []
    while cursor.peek() != "]":
        if not cursor.peek():
            cursor.refuse("'[' is never closed; add ']' or write '\\['", start)
        ranges += _item(cursor)
    cursor.position += 1
    members = normalised(ranges)
    return complement(members, cursor.dialect) if negated else members


@lru_cache(maxsize=4096)
def set_node(characters: Ranges, dialect: Dialect) -> Node:
    """The tree of one character out of a set: a byte set, or the UTF-8 sequences by shared tails."""
    if dialect == "bytes":
        return _byte_set(characters)
    heads: dict[Ranges, list[tuple[int, int]]] = {}
    for head, *tail in byte_ranges(characters):
        heads.setdefault(tuple(tail), []).append(head)
    branches = [
        sequence([_byte_set(lead), *(_byte_set((each,)) for each in tail)]) for tail, lead in heads.items()
    ]
    return union(branches) if branches else ByteSet(0)


@lru_cache(maxsize=4096)
def _literal(code: int) -> Node:
    parts: list[Node] = [ByteSet(1 << byte) for byte in encode(code)]
    return sequence(parts)


def _byte_set(ranges: Ranges | list[tuple[int, int]]) -> ByteSet:
    return ByteSet(sum(((2 << high - low) - 1) << low for low, high in normalised(ranges)))


def _single(code: int) -> Ranges:
    return ((code, code),)


def _item(cursor: Cursor) -> Ranges:
    """One member of the brackets, or a range of two members and the hyphen between them."""
    start = cursor.position
    low = _member(cursor)
    if cursor.peek() != "-" or cursor.peek(1) in ("", "]"):
        return low
    cursor.position += 1
    high = _member(cursor)
    shown = _visible(cursor.text[start : cursor.position])
    if low != _single(low[0][0]) or high != _single(high[0][0]):
        cursor.refuse(f"'{shown}' has a class at an end of a range; escape the hyphen as '\\-'", start)
    if low[0][0] > high[0][0]:
        cursor.refuse(f"the range '{shown}' runs backwards; swap its ends", start)
    return ((low[0][0], high[0][0]),)


def _member(cursor: Cursor) -> Ranges:
    if cursor.peek() == "\\":
        return escape(cursor)
    code = ord(cursor.peek())
    _check_scalar(cursor, code)
    if code >= 0x80 and cursor.dialect == "bytes":
        cursor.refuse(f"U+{code:04X} inside brackets is several bytes; use '|' or the dialect unicode")
    cursor.position += 1
    return _single(code)


def _hexadecimal(cursor: Cursor, form: re.Pattern[str], wanted: str) -> int:
    digits = form.match(cursor.text, cursor.position + 2)
    if digits is None:
        cursor.refuse(f"'\\{cursor.peek(1)}' comes without {wanted}")
    code = int(digits[0].strip("{}"), 16)
    _check_scalar(cursor, code)
    cursor.position = digits.end()
    return code


def _check_scalar(cursor: Cursor, code: int) -> None:
    if 0xD800 <= code < 0xE000:
        cursor.refuse(f"U+{code:04X} is a surrogate, which has no UTF-8 form; remove it")
    if code > 0x10FFFF:
        cursor.refuse(f"{_shown(code)} is over the last code point, U+10FFFF; lower it")


def _shown(code: int) -> str:
    return f"{code:#x}" if code < 1 << 64 else f"a number of {code.bit_length()} bits"


def _refuse_escape(cursor: Cursor, letter: str) -> NoReturn:
    if not letter:
        cursor.refuse("a backslash ends the pattern; write '\\\\' for the character")
    why = _FOREIGN.get(letter, "is an unknown escape; write the character alone, or a byte as '\\xHH'")
    cursor.refuse(f"'\\{_visible(letter)}' {why}")


def _visible(text: str) -> str:
    """The text on one short line of printable ASCII."""
    if len(text) > 40:
        text = f"{text[:37]}..."
    return "".join(each if " " <= each <= "~" else f"\\u{{{ord(each):x}}}" for each in text)
