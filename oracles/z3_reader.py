"""Pattern text → z3 regular expression over single bytes: a third reading, by Python's own `re` parser.

The idea: nothing here knows the grammar of patterns. `re._parser` reads the text, its tree is mapped node by
node to z3. A z3 character stands for one byte, 0 to 255; the `unicode` dialect is mapped to the bytes of UTF-8,
because z3's characters end at U+2FFFF. The pitfall: Python's grammar is wider than the dialect (anchors,
look-around, lazy and possessive quantifiers, flags); what the dialect does not have is an OracleError, yet
refusing a bad pattern at the right place is not this module's work. Read z3_questions next.
"""

import re
import warnings
from collections.abc import Iterable, Sequence
from re import _constants as sre  # type: ignore[attr-defined, unused-ignore]
from re import _parser as sre_parser  # type: ignore[attr-defined, unused-ignore]
from typing import Any, Literal, TypeAlias

import z3

from oracles.errors import OracleError

Dialect = Literal["bytes", "unicode"]
Regex: TypeAlias = Any  # z3.ReRef
Range = tuple[int, int]

MAX_PATTERN = 1_000_000
"""Longer patterns are not read: z3 would be handed a term that it cannot walk in useful time."""

LENGTHS: tuple[Range, ...] = (
    (0, 0x7F),
    (0x80, 0x7FF),
    (0x800, 0xD7FF),
    (0xE000, 0xFFFF),
    (0x10000, 0x10FFFF),
)
"""Unicode scalar values, cut where the length of their UTF-8 form changes and where the surrogates lie."""

_WORD: dict[Any, tuple[Range, ...]] = {
    sre.CATEGORY_DIGIT: ((48, 57),),
    sre.CATEGORY_SPACE: ((9, 13), (32, 32)),
    sre.CATEGORY_WORD: ((48, 57), (65, 90), (95, 95), (97, 122)),
}
_NOT_WORD = {
    sre.CATEGORY_NOT_DIGIT: sre.CATEGORY_DIGIT,
    sre.CATEGORY_NOT_SPACE: sre.CATEGORY_SPACE,
    sre.CATEGORY_NOT_WORD: sre.CATEGORY_WORD,
}


def regex_of(pattern: str, dialect: Dialect = "bytes") -> Regex:
    """The z3 regular expression whose members, byte for character, are the pattern's members."""
    if len(pattern) > MAX_PATTERN:
        raise OracleError(f"pattern of {len(pattern)} characters: z3 is given at most {MAX_PATTERN}")
    try:
        return _Translation(dialect).sequence(_tree(pattern, dialect))
    except RecursionError:
        raise OracleError("pattern: nested too deeply for Python's own parser") from None


def literal(data: bytes) -> Regex:
    """{data}."""
    return z3.Re(text(data))


def text(data: bytes) -> Any:
    """The z3 string with one character a byte."""
    return z3.StringVal("".join(f"\\u{{{byte:x}}}" for byte in data))


def byte_set(ranges: Iterable[Range]) -> Regex:
    """The one-byte strings of these ranges."""
    return union([z3.Range(text(bytes([low])), text(bytes([high]))) for low, high in ranges])


def union(parts: Sequence[Regex]) -> Regex:
    """A | B | …, the empty language when there is none."""
    if not parts:
        return z3.Empty(z3.ReSort(z3.StringSort()))
    return parts[0] if len(parts) == 1 else z3.Union(*parts)


def concat(parts: Sequence[Regex]) -> Regex:
    """A · B · …, the empty string when there is none."""
    if not parts:
        return literal(b"")
    return parts[0] if len(parts) == 1 else z3.Concat(*parts)


def repeat(part: Regex, low: int, high: int | None) -> Regex:
    """Aᵐ … Aⁿ, without end when `high` is None (z3 reads an upper bound of 0 as no bound, so it is not used)."""
    if high == 0:
        return literal(b"")
    if high is None:
        return z3.Star(part) if low == 0 else z3.Concat(z3.Loop(part, low, low), z3.Star(part))
    return z3.Option(part) if (low, high) == (0, 1) else z3.Loop(part, low, high)


def utf8(low: int, high: int) -> Regex:
    """The UTF-8 forms of the scalar values low … high: byte order is code point order, so an interval of strings."""
    parts = []
    for start, end in LENGTHS:
        first, last = max(low, start), min(high, end)
        if first <= last:
            parts.append(_interval(chr(first).encode(), chr(last).encode()))
    return union(parts)


def _interval(first: bytes, last: bytes) -> Regex:
    """Byte strings between two of one length, in dictionary order, whose bytes after the lead are 80 … bf."""
    if len(first) == 1:
        return byte_set([(first[0], last[0])])
    if first[0] == last[0]:
        return concat([literal(first[:1]), _interval(first[1:], last[1:])])
    rest = len(first) - 1
    low, high = b"\x80" * rest, b"\xbf" * rest
    parts = [concat([literal(first[:1]), _interval(first[1:], high)])]
    if last[0] - first[0] > 1:
        middle = byte_set([(first[0] + 1, last[0] - 1)])
        parts.append(concat([middle, z3.Loop(byte_set([(0x80, 0xBF)]), rest, rest)]))
    parts.append(concat([literal(last[:1]), _interval(low, last[1:])]))
    return union(parts)


def python_pattern(pattern: str) -> bytes:
    """The text that Python's `re` reads over bytes as the `bytes` dialect does: a non-ASCII literal is one group.

    SPEC §1 has `é*` repeat both bytes of é; in a bytes pattern Python would repeat the second byte alone.
    """
    pieces, inside = [], False
    for piece in re.findall(r"\\.|.", pattern, re.DOTALL):
        inside = piece != "]" and (inside or piece == "[")
        if piece.isascii():
            pieces.append(piece)
        elif inside or len(piece) > 1:
            raise OracleError(
                f"pattern: {piece!r} in brackets or escaped, which the bytes dialect does not have"
            )
        else:
            pieces.append("(?:" + "".join(f"\\x{byte:02x}" for byte in piece.encode()) + ")")
    return "".join(pieces).encode()


def python_text(pattern: str) -> str:
    r"""The text that Python's `re` reads over code points as the `unicode` dialect: `\u{H…}` becomes `\UHHHHHHHH`."""

    def plain(match: re.Match[str]) -> str:
        digits = match[1]
        return match[0] if digits is None else f"\\U{int(digits, 16):08x}"

    return re.sub(r"\\u\{([0-9a-fA-F]{1,8})\}|\\.", plain, pattern, flags=re.DOTALL)


def _tree(pattern: str, dialect: Dialect) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        try:
            if dialect == "bytes":
                tree = sre_parser.parse(python_pattern(pattern))
            else:
                tree = sre_parser.parse(python_text(pattern), re.ASCII)
        except (re.error, OverflowError) as error:
            raise OracleError(f"pattern: Python's parser says {error}") from None
    if tree.state.flags & ~(re.ASCII | re.UNICODE):
        raise OracleError("pattern: flags are not in the dialect")
    return tree


class _Translation:
    """From the nodes of Python's parser to z3, over one dialect's characters."""

    def __init__(self, dialect: Dialect) -> None:
        self.universe: tuple[Range, ...] = ((0, 255),) if dialect == "bytes" else LENGTHS
        self.unicode = dialect == "unicode"

    def sequence(self, nodes: Any) -> Regex:
        """Runs of literals become one z3 string, the rest is concatenated."""
        parts: list[Regex] = []
        run = bytearray()
        for name, value in nodes:
            if name is sre.LITERAL and self._is_in_universe(value):
                run += chr(value).encode() if self.unicode else bytes([value])
                continue
            if run:
                parts.append(literal(bytes(run)))
                run.clear()
            parts.append(self._node(name, value))
        if run:
            parts.append(literal(bytes(run)))
        return concat(parts)

    def _node(self, name: Any, value: Any) -> Regex:
        if name in (sre.IN, sre.LITERAL, sre.NOT_LITERAL, sre.ANY):
            return self._set(self._ranges(name, value))
        if name is sre.BRANCH:
            return union([self.sequence(branch) for branch in value[1]])
        if name is sre.SUBPATTERN and not (value[1] or value[2]):
            return self.sequence(value[3])
        if name is sre.MAX_REPEAT:
            low, high, body = value
            return repeat(self.sequence(body), low, None if high is sre.MAXREPEAT else high)
        raise OracleError(f"pattern: {str(name).lower()} is not in the dialect")

    def _is_in_universe(self, char: int) -> bool:
        return any(low <= char <= high for low, high in self.universe)

    def _set(self, ranges: list[Range]) -> Regex:
        inside = _intersection(ranges, self.universe)
        return union([utf8(low, high) for low, high in inside]) if self.unicode else byte_set(inside)

    def _ranges(self, name: Any, value: Any) -> list[Range]:
        if name is sre.ANY:
            return _complement([(10, 10)])
        if name is sre.NOT_LITERAL:
            return _complement([(value, value)])
        if name is sre.LITERAL:
            return [(value, value)]
        if name is sre.RANGE:
            return [value]
        if name is sre.CATEGORY:
            return list(_WORD[value]) if value in _WORD else _complement(_WORD[_NOT_WORD[value]])
        if name is sre.IN:
            negated = value[0][0] is sre.NEGATE
            inside = [item for part in value[negated:] for item in self._ranges(*part)]
            return _complement(inside) if negated else inside
        raise OracleError(f"pattern: {str(name).lower()} is not in the dialect's sets")


def _complement(ranges: Iterable[Range]) -> list[Range]:
    """What the ranges leave out of 0 … 10ffff."""
    gaps, free = [], 0
    for low, high in sorted(ranges):
        if low > free:
            gaps.append((free, low - 1))
        free = max(free, high + 1)
    return [*gaps, (free, 0x10FFFF)] if free <= 0x10FFFF else gaps


def _intersection(left: Iterable[Range], right: Iterable[Range]) -> list[Range]:
    both = [(max(a, c), min(b, d)) for a, b in left for c, d in right]
    return sorted((low, high) for low, high in both if low <= high)
