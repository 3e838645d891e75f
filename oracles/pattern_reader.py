"""Pattern text → term: the derivative oracle's own reader of both dialects, with its own refusals.

The reader goes over the text once, with a stack of open groups instead of recursion. What stands at a place is decided
by the character there: an atom is pushed, a quantifier takes the atom that was pushed last, and only an atom. The
pitfall is a character outside ASCII in dialect `bytes`: it is several bytes but one atom, so `é*` repeats both bytes.
Read next: derivatives.py.
"""

import string
from dataclasses import dataclass, field
from typing import Literal, NoReturn

from oracles.charset import BYTES, SCALARS, Ranges, complement, intersection, merged
from oracles.errors import OracleError
from oracles.terms import OracleLimit, Terms

Dialect = Literal["bytes", "unicode"]

LONGEST_PATTERN = 200_000
DEEPEST_GROUP = 1_000
LARGEST_BOUND = 1_000

CONTROLS = {"n": 0x0A, "r": 0x0D, "t": 0x09, "f": 0x0C, "v": 0x0B}
CLASSES: dict[str, Ranges] = {
    "d": ((0x30, 0x39),),
    "w": ((0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A)),
    "s": ((0x09, 0x0D), (0x20, 0x20)),
}
NEWLINE: Ranges = ((0x0A, 0x0A),)


class PatternRefused(OracleError):  # noqa: N818 (the word of STYLE)
    """The pattern is outside the dialect; `position` counts characters from 0."""

    def __init__(self, position: int, reason: str) -> None:
        """Say where and why."""
        super().__init__(f"pattern, position {position}: {reason}")
        self.position = position
        self.reason = reason


def read(pattern: str, dialect: Dialect, terms: Terms) -> int:
    """The term of a pattern, built in the arena `terms`; raises PatternRefused or OracleLimit."""
    if dialect not in ("bytes", "unicode"):
        raise OracleError(f"dialect {dialect!r} is not known; it is 'bytes' or 'unicode'")
    if len(pattern) > LONGEST_PATTERN:
        raise OracleLimit(f"a pattern of {len(pattern)} characters; the oracle reads up to {LONGEST_PATTERN}")
    return _Reader(pattern, dialect, terms).whole()


@dataclass(slots=True)
class _Group:
    """An open group: where it opened, its finished branches, and the atoms of the branch being read."""

    opened: int
    branches: list[list[int]] = field(default_factory=list)
    atoms: list[int] = field(default_factory=list)
    repeatable: bool = False


class _Reader:
    """One pass over one pattern."""

    def __init__(self, text: str, dialect: Dialect, terms: Terms) -> None:
        self.text = text
        self.terms = terms
        self.is_bytes = dialect == "bytes"
        self.alphabet = BYTES if self.is_bytes else SCALARS
        self.at = 0
        self.groups = [_Group(-1)]

    def whole(self) -> int:
        """Read to the end and close the outermost group."""
        while self.at < len(self.text):
            self.item()
        if len(self.groups) > 1:
            self.refuse("this '(' is never closed", self.groups[-1].opened)
        return self.union(self.groups[0])

    def item(self) -> None:
        """Read one atom, quantifier, bar or bracket of a group."""
        character = self.text[self.at]
        if character in "*+?{":
            self.quantifier()
        elif character in "()|":
            {"(": self.open, ")": self.close, "|": self.bar}[character]()
        elif character in "^$":
            self.refuse(f"{character!r} is an anchor; a pattern always matches the whole string")
        else:
            self.push(self.bracket() if character == "[" else self.single())

    def push(self, atom: int) -> None:
        """Add an atom, which a quantifier may follow, to the branch being read."""
        self.groups[-1].atoms.append(atom)
        self.groups[-1].repeatable = True

    def open(self) -> None:
        """`(` or `(?:`."""
        if self.text[self.at + 1 : self.at + 2] == "?" and self.text[self.at + 2 : self.at + 3] != ":":
            self.refuse("'(?' opens only '(?:' in this dialect")
        if len(self.groups) > DEEPEST_GROUP:
            raise OracleLimit(f"groups nested deeper than {DEEPEST_GROUP}, which is the oracle's bound")
        self.groups.append(_Group(self.at))
        self.at += 3 if self.text.startswith("(?:", self.at) else 1

    def close(self) -> None:
        """`)`."""
        if len(self.groups) == 1:
            self.refuse("this ')' closes nothing")
        self.at += 1
        self.push(self.union(self.groups.pop()))

    def bar(self) -> None:
        """`|`."""
        group = self.groups[-1]
        group.branches.append(group.atoms)
        group.atoms, group.repeatable = [], False
        self.at += 1

    def union(self, group: _Group) -> int:
        """The union of a group's branches; an empty branch is the empty string."""
        return self.terms.either(self.terms.sequence(branch) for branch in (*group.branches, group.atoms))

    def quantifier(self) -> None:
        """`*`, `+`, `?`, `{m}`, `{m,}` or `{m,n}`, on the atom just read."""
        start, group = self.at, self.groups[-1]
        low, high = self.bounds()
        if not group.repeatable:
            self.refuse(
                "there is nothing to repeat" if not group.atoms else "a quantifier on a quantifier", start
            )
        group.repeatable = False
        body = group.atoms.pop()
        counted = self.terms.times(body, low, low if high is None else high)
        group.atoms.append(counted if high is not None else self.terms.then(counted, self.terms.star(body)))

    def bounds(self) -> tuple[int, int | None]:
        """The least and the greatest number of repetitions, None when there is no greatest."""
        sign = self.text[self.at]
        self.at += 1
        if sign != "{":
            return {"*": (0, None), "+": (1, None), "?": (0, 1)}[sign]
        start, end = self.at - 1, self.text.find("}", self.at)
        inside = self.text[self.at : end]
        low, comma, high = inside.partition(",")
        if end < 0 or not _is_number(low) or not (high == "" or _is_number(high)):
            self.refuse("this '{' begins no quantifier; write '\\{' for the character", start)
        self.at = end + 1
        return self.in_order(_bound(low), _bound(high or low) if high or not comma else None, start)

    def in_order(self, low: int, high: int | None, start: int) -> tuple[int, int | None]:
        """Refuse bounds that are too large or the wrong way round."""
        if max(low, high or 0) > LARGEST_BOUND:
            self.refuse(f"a bound over {LARGEST_BOUND}", start)
        if high is not None and low > high:
            self.refuse(f"the bounds {low} and {high} are the wrong way round", start)
        return low, high

    def single(self) -> int:
        """One character outside brackets: a literal, `.` or an escape."""
        character = self.text[self.at]
        if character == ".":
            self.at += 1
            return self.terms.symbols(complement(NEWLINE, self.alphabet))
        if self.is_bytes and not character.isascii():
            return self.terms.sequence(self.terms.symbols(((byte, byte),)) for byte in self.encoded())
        return self.terms.symbols(self.element())

    def encoded(self) -> bytes:
        """The UTF-8 bytes of a literal character outside ASCII."""
        self.scalar(ord(self.text[self.at]), self.at)
        self.at += 1
        return self.text[self.at - 1].encode()

    def bracket(self) -> int:
        """`[…]` or `[^…]`."""
        start = self.at
        negated = self.text.startswith("[^", start)
        self.at += 2 if negated else 1
        if self.text.startswith("]", self.at):
            self.refuse("an empty pair of brackets; write '\\]' for the character", start)
        ranges: list[tuple[int, int]] = []
        while not self.text.startswith("]", self.at):
            if self.at >= len(self.text):
                self.refuse("this '[' is never closed", start)
            ranges.extend(self.range())
        self.at += 1
        chosen = intersection(merged(ranges), self.alphabet)
        return self.terms.symbols(complement(chosen, self.alphabet) if negated else chosen)

    def range(self) -> Ranges:
        """One element of brackets, or a range `a-z` between two; `-` is itself first, last and after a range."""
        start = self.at
        low = self.element()
        if not self.text.startswith("-", self.at) or self.text.startswith("-]", self.at):
            return low
        self.at += 1
        if self.at >= len(self.text):
            self.refuse("this range has no end", start)
        high = self.element()
        if not (_is_one(low) and _is_one(high)):
            self.refuse("a class escape cannot be the end of a range", start)
        if low[0][0] > high[0][0]:
            self.refuse("the ends of this range are the wrong way round", start)
        return ((low[0][0], high[0][0]),)

    def element(self) -> Ranges:
        """A literal or an escape: the symbols that it stands for."""
        character = self.text[self.at]
        if character == "\\":
            return self.escape()
        if self.is_bytes and not character.isascii():
            self.refuse(f"{character!r} in brackets is not one byte; write the alternatives out")
        self.at += 1
        return _one(self.scalar(ord(character), self.at - 1))

    def escape(self) -> Ranges:
        r"""`\` and what follows."""
        start = self.at
        name = self.text[start + 1 : start + 2]
        self.at += 2
        if name == "":
            self.refuse("a '\\' with nothing after it", start)
        if name in string.punctuation or name == " ":
            return _one(ord(name))
        if name in CONTROLS:
            return _one(CONTROLS[name])
        if name.lower() in CLASSES and name.isascii():
            chosen = CLASSES[name.lower()]
            return chosen if name.islower() else complement(chosen, self.alphabet)
        if name == "x" or (name == "u" and not self.is_bytes):
            return _one(self.scalar(self.code(name, start), start))
        return self.refuse(f"the escape '\\{name}' is not one of this dialect", start)

    def code(self, name: str, start: int) -> int:
        r"""The number in `\xHH`, `\uHHHH` or `\u{H…}`, whose name has been read."""
        end = self.at + (2 if name == "x" else 4)
        digits = self.text[self.at : end] if end <= len(self.text) else ""
        if name == "u" and self.text.startswith("{", self.at):
            end = self.text.find("}", self.at) + 1
            digits = self.text[self.at + 1 : end - 1] if end else ""
        if not digits or not set(digits) <= set(string.hexdigits):
            self.refuse(f"'\\{name}' without its hexadecimal digits", start)
        self.at = end
        return int(digits.lstrip("0")[:7] or "0", 16)

    def scalar(self, code: int, position: int) -> int:
        """The code itself when it is a Unicode scalar value."""
        if not any(low <= code <= high for low, high in SCALARS):
            self.refuse(f"{code:#x} is no Unicode scalar value", position)
        return code

    def refuse(self, reason: str, position: int | None = None) -> NoReturn:
        """Raise PatternRefused at a position, the present one when none is given."""
        raise PatternRefused(self.at if position is None else position, reason)


def _one(code: int) -> Ranges:
    return ((code, code),)


def _is_one(ranges: Ranges) -> bool:
    return len(ranges) == 1 and ranges[0][0] == ranges[0][1]


def _is_number(digits: str) -> bool:
    return digits != "" and set(digits) <= set(string.digits)


def _bound(digits: str) -> int:
    """The value of a bound, cut off just above the largest one."""
    significant = digits.lstrip("0") or "0"
    return int(significant) if len(significant) <= 4 else LARGEST_BOUND + 1
