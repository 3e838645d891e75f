"""Pattern text → tree of byte sets (SPEC §1).

One pass from left to right with a stack of open groups, so that nesting is a limit with a message and never a crash.
What stands between `(`, `|` and `)` is a sequence; a quantifier binds the one atom before it. The pitfall: a
non-ASCII literal is ONE atom of several bytes, so `é*` repeats both. Read `atoms.py` for the atoms,
then `nfa.py`.
"""

import re
from dataclasses import dataclass, field

from reference.atoms import Cursor, bracket, escape, literal, set_node
from reference.charsets import NEWLINE, Dialect, complement
from reference.errors import Refused, TooLarge
from reference.nodes import EMPTY, ByteSet, Node, Repeat, Sequence, Union, sequence, union

__all__ = ["EMPTY", "ByteSet", "Dialect", "Node", "Repeat", "Sequence", "Union", "parse"]

MAX_LENGTH = 1_000_000
"""Characters of a pattern."""

MAX_NESTING = 1_000
"""Groups inside one another."""

MAX_BOUND = 1_000
"""The largest m or n of `{m,n}`."""

_COUNTS = re.compile(r"\{([0-9]+)(,?)([0-9]*)\}")
_EXTENSIONS = {
    "=": "lookahead",
    "!": "lookahead",
    "<": "lookbehind or a name",
    "P": "a name",
    "#": "a comment",
}
_SIMPLE: dict[str, tuple[int, int | None]] = {"*": (0, None), "+": (1, None), "?": (0, 1)}


def parse(
    pattern: str, dialect: Dialect = "bytes", *, max_length: int = MAX_LENGTH, max_nesting: int = MAX_NESTING
) -> Node:
    """The tree of a pattern; raises PatternError with the position, TooLarge over a limit."""
    if dialect not in ("bytes", "unicode"):
        raise Refused(f"dialect {dialect!r} is unknown; use 'bytes' or 'unicode'")
    if len(pattern) > max_length:
        raise TooLarge(f"pattern: {len(pattern):,} characters are over max_length={max_length:,}; shorten it")
    return _Parser(Cursor(pattern, dialect), max_nesting).tree()


@dataclass(slots=True)
class _Group:
    """What is read so far between `(` at `start` and its `)`."""

    start: int
    branches: list[Node] = field(default_factory=list)
    parts: list[Node] = field(default_factory=list)
    quantified: bool = False

    def node(self) -> Node:
        """The union of the branches, the last one included."""
        return union([*self.branches, sequence(self.parts)])


class _Parser:
    """The pass over a pattern; `groups` are the open ones, the whole pattern first."""

    def __init__(self, cursor: Cursor, max_nesting: int) -> None:
        self.cursor, self.max_nesting = cursor, max_nesting
        self.groups = [_Group(0)]

    def tree(self) -> Node:
        """The tree of the whole text."""
        while character := self.cursor.peek():
            self.read(character)
        if len(self.groups) > 1:
            self.cursor.refuse("'(' is never closed; add ')' or write '\\('", self.groups[-1].start)
        return self.groups[0].node()

    def read(self, character: str) -> None:
        """Read one construct."""
        if character in "*+?{":
            self.quantify(*self.counts(character))
        elif character == "(":
            self.open_group()
        elif character == ")":
            self.close_group()
        elif character == "|":
            self.next_branch()
        else:
            self.append(self.atom(character))

    def atom(self, character: str) -> Node:
        """A set, an escape or a literal."""
        cursor = self.cursor
        if character == "[":
            return set_node(bracket(cursor), cursor.dialect)
        if character == "\\":
            return set_node(escape(cursor), cursor.dialect)
        if character == ".":
            cursor.position += 1
            return set_node(complement(NEWLINE, cursor.dialect), cursor.dialect)
        if character in "^$":
            cursor.refuse(
                f"'{character}' is an anchor; remove it (whole strings match) or write '\\{character}'"
            )
        return literal(cursor)

    def append(self, node: Node) -> None:
        """One more part of the open branch."""
        group = self.groups[-1]
        group.parts.append(node)
        group.quantified = False

    def next_branch(self) -> None:
        """Begin the branch after a `|`."""
        group = self.groups[-1]
        group.branches.append(sequence(group.parts))
        group.parts = []
        self.cursor.position += 1

    def open_group(self) -> None:
        """Begin the group at a `(` or `(?:`."""
        cursor = self.cursor
        if len(self.groups) > self.max_nesting:
            place = f"pattern, position {cursor.position}"
            raise TooLarge(f"{place}: groups are nested over max_nesting={self.max_nesting:,}; flatten them")
        if cursor.peek(1) == "?" and cursor.peek(2) != ":":
            self.refuse_extension()
        self.groups.append(_Group(cursor.position))
        cursor.position += 3 if cursor.peek(1) == "?" else 1

    def close_group(self) -> None:
        """Make the open group one part of the group around it."""
        if len(self.groups) == 1:
            self.cursor.refuse("')' closes nothing; remove it or write '\\)'")
        self.cursor.position += 1
        self.append(self.groups.pop().node())

    def counts(self, character: str) -> tuple[int, int | None]:
        """The bounds of the quantifier at the cursor."""
        if character != "{":
            return _SIMPLE[character]
        cursor = self.cursor
        form = _COUNTS.match(cursor.text, cursor.position)
        if form is None:
            cursor.refuse("'{' is no quantifier {m}, {m,} or {m,n} here; write '\\{' for the character")
        low = self.bound(form[1])
        if not form[2]:
            return low, low
        high = self.bound(form[3]) if form[3] else None
        if high is not None and high < low:
            cursor.refuse(f"'{{{low},{high}}}' asks for at least {low} and at most {high}; swap the bounds")
        return low, high

    def bound(self, digits: str) -> int:
        """One bound of a repetition, within the limit."""
        significant = digits.lstrip("0") or "0"
        if len(significant) > 4 or int(significant) > MAX_BOUND:
            shown = significant if len(significant) <= 12 else f"{significant[:9]}..."
            self.cursor.refuse(f"the bound {shown} is over {MAX_BOUND}; nest two repetitions or lower it")
        return int(significant)

    def quantify(self, low: int, high: int | None) -> None:
        """Repeat the last part of the open branch."""
        cursor, group, sign = self.cursor, self.groups[-1], self.cursor.peek()
        if not group.parts:
            cursor.refuse(f"'{sign}' has nothing to repeat; put an atom before it or write '\\{sign}'")
        if group.quantified:
            cursor.refuse(f"'{sign}' follows a quantifier (none is lazy or possessive here); group the first")
        group.parts[-1] = Repeat(group.parts[-1], low, high)
        group.quantified = True
        cursor.position = 1 + (cursor.text.index("}", cursor.position) if sign == "{" else cursor.position)

    def refuse_extension(self) -> None:
        """Name what `(?` would begin elsewhere."""
        letter = self.cursor.peek(2) if self.cursor.peek(2) in _EXTENSIONS else ""
        name = _EXTENSIONS.get(letter, "an extension")
        self.cursor.refuse(
            f"'(?{letter}' is {name}, which the dialect does not have; write '(?:' and spell it out"
        )
