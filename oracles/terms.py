"""Terms of regular languages and their Brzozowski derivatives, equal when they are similar.

A term is a number; `nodes[term]` is its kind and its numbers, and one node has one number (hash-consing), so that
comparing two terms is comparing two integers. Building a term applies the laws below, and no others; terms that
the laws make one are called similar, and every language has finitely many dissimilar derivatives (Brzozowski 1964).

    none                 the empty language         none | r = r        none r = r none = none
    empty                the empty string           empty r = r empty = r
    set lo hi lo hi …    one symbol of the ranges
    then r s             concatenation              (r s) t = r (s t)
    either r s …         union                      a set of two members or more: flat, unordered, each once
    star r               any number of r
    times r m n          m to n of r, m ≤ n         times r 0 0 = times none 0 n = empty; times none m n = none, m ≥ 1

No constructor but `none` makes an empty language out of languages that are not empty, so a term is empty only when it
*is* `none`: death of a prefix shows in the term, with no search. Read next: pattern_reader.py, derivatives.py.
"""

from collections.abc import Iterable

from oracles.charset import Ranges
from oracles.errors import OracleError

NONE = 0
EMPTY = 1
Node = tuple[str, tuple[int, ...]]


class OracleLimit(OracleError):  # noqa: N818 (a bound, not an error)
    """The oracle stopped at a bound of its own: undecided, not refused."""


class Terms:
    """An arena of similarity-normalised terms; `effort` bounds the work spent on building and deriving them."""

    def __init__(self, effort: int = 12_000_000) -> None:
        """Start with the two constants, `none` and `empty`."""
        self.effort = effort
        self.nodes: list[Node] = [("none", ()), ("empty", ())]
        self.nullable: list[bool] = [False, True]
        self._numbers: dict[Node, int] = {node: number for number, node in enumerate(self.nodes)}
        self._derivatives: dict[tuple[int, int], int] = {}

    def symbols(self, ranges: Ranges) -> int:
        """{a : a in one of the ranges}."""
        return (
            self._number(("set", tuple(edge for pair in ranges for edge in pair)), False) if ranges else NONE
        )

    def then(self, head: int, tail: int) -> int:
        """L(head) · L(tail), nested to the right."""
        spine = []
        while self.nodes[head][0] == "then":
            first, head = self.nodes[head][1]
            spine.append(first)
        for part in (head, *reversed(spine)):
            tail = self._pair(part, tail)
        return tail

    def sequence(self, parts: Iterable[int]) -> int:
        """The concatenation of all parts, `empty` when there are none."""
        whole = EMPTY
        for part in reversed(list(parts)):
            whole = self.then(part, whole)
        return whole

    def either(self, members: Iterable[int]) -> int:
        """The union of the members."""
        flat: set[int] = set()
        for member in members:
            kind, numbers = self.nodes[member]
            flat.update(numbers if kind == "either" else (member,))
            self._spend(len(numbers) if kind == "either" else 1)
        flat.discard(NONE)
        if len(flat) < 2:
            return flat.pop() if flat else NONE
        return self._number(("either", tuple(sorted(flat))), any(self.nullable[member] for member in flat))

    def star(self, body: int) -> int:
        """Any number of members of the body, one after the other."""
        return self._number(("star", (body,)), True)

    def times(self, body: int, low: int, high: int) -> int:
        """At least `low` and at most `high` members of the body, one after the other."""
        if high == 0 or body == NONE:
            return NONE if low else EMPTY
        return self._number(("times", (body, low, high)), low == 0 or self.nullable[body])

    def derivative(self, term: int, symbol: int) -> int:
        """{w : symbol · w in L(term)}, by an explicit stack, since terms can nest as deep as patterns do."""
        todo = [term]
        while todo:
            top = todo[-1]
            missing = [part for part in self._read_by(top) if (part, symbol) not in self._derivatives]
            if missing:
                todo.extend(missing)
            else:
                todo.pop()
                self._derivatives[top, symbol] = self._derive(top, symbol)
        return self._derivatives[term, symbol]

    def known_derivative(self, term: int, symbol: int) -> int:
        """The derivative, from memory when it was asked before."""
        known = self._derivatives.get((term, symbol))
        return self.derivative(term, symbol) if known is None else known

    def _read_by(self, term: int) -> tuple[int, ...]:
        """The terms whose derivatives this one's is made of."""
        kind, numbers = self.nodes[term]
        if kind == "then":
            return numbers if self.nullable[numbers[0]] else numbers[:1]
        if kind == "either":
            return numbers
        return numbers[:1] if kind in ("star", "times") else ()

    def _derive(self, term: int, symbol: int) -> int:
        """One rule of the derivative a kind of term; the parts' derivatives are known."""
        kind, numbers = self.nodes[term]
        if kind == "set":
            return EMPTY if _holds(numbers, symbol) else NONE
        parts = [self._derivatives[part, symbol] for part in self._read_by(term)]
        if kind == "then":
            return self.either((self.then(parts[0], numbers[1]), *parts[1:]))
        if kind == "either":
            return self.either(parts)
        if kind == "star":
            return self.then(parts[0], term)
        if kind == "times":
            body, low, high = numbers
            return self.then(parts[0], self.times(body, max(low - 1, 0), high - 1))
        return NONE

    def _pair(self, head: int, tail: int) -> int:
        """L(head) · L(tail) for a head that is no concatenation."""
        if NONE in (head, tail):
            return NONE
        if EMPTY in (head, tail):
            return tail if head == EMPTY else head
        return self._number(("then", (head, tail)), self.nullable[head] and self.nullable[tail])

    def _number(self, node: Node, nullable: bool) -> int:
        """The number of a node, a new one when it was never built before."""
        self._spend(1)
        number = self._numbers.setdefault(node, len(self.nodes))
        if number == len(self.nodes):
            self.nodes.append(node)
            self.nullable.append(nullable)
        return number

    def _spend(self, work: int) -> None:
        self.effort -= work
        if self.effort < 0:
            raise OracleLimit("the derivatives of this pattern take more work than the oracle's bound")


def _holds(edges: tuple[int, ...], symbol: int) -> bool:
    """Whether the symbol lies in one of the ranges lo hi lo hi …"""
    return any(low <= symbol <= high for low, high in zip(edges[::2], edges[1::2], strict=True))
