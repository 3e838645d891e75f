"""Tree → Thompson NFA (epsilon edges), as arrays that can be copied by slices.

Every fragment has one start and one end; nothing outside points into it but at its start. A byte edge always leads
from state q to q + 1 and every epsilon edge is kept as an OFFSET, so a fragment is a slice that can stand anywhere:
`a{1000}` is one slice a thousand times. The size is known before anything is built (`size`), which is how
`((a{1000}){1000}){1000}` is refused at once. Read `subset.py` next.
"""

from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from reference.errors import TooLarge
from reference.nodes import ByteSet, Node, Repeat, Sequence, Union, postorder

MAX_NFA_STATES = 500_000
"""States of the Thompson automaton."""


@dataclass(frozen=True, slots=True)
class Nfa:
    """`sets[q]`: the bytes on the edge q → q + 1, None without one; `epsilon[q]`: the offsets d of edges q → q + d."""

    sets: list[int | None]
    epsilon: list[tuple[int, ...]]
    start: int
    accept: int


class _Fragment(NamedTuple):
    """The states from `first` to the last one made so far, entered at `start` and left at `end`."""

    first: int
    start: int
    end: int


def thompson(root: Node, *, max_nfa_states: int = MAX_NFA_STATES) -> Nfa:
    """Thompson's automaton of a tree; raises TooLarge before it is built."""
    order = postorder(root)
    states = size(order, max_nfa_states)
    if states > max_nfa_states:
        raise TooLarge(
            f"pattern: repetitions unfold to more than max_nfa_states={max_nfa_states:,} states; lower the bounds"
        )
    builder = _Builder()
    for node in order:
        builder.add(node)
    (whole,) = builder.done
    return Nfa(builder.sets, builder.epsilon, whole.start, whole.end)


def size(order: list[Node], ceiling: int) -> int:
    """States that Thompson's automaton of a tree in postorder has, ceiling + 1 when they are more."""
    done: list[int] = []
    for node in order:
        match node:
            case ByteSet():
                states = 2
            case Sequence(parts):
                states = max(1, _pop_sum(done, len(parts)))
            case Union(branches):
                states = 2 + _pop_sum(done, len(branches))
            case Repeat():
                states = 2 + _copies(node) * done.pop()
        done.append(min(states, ceiling + 1))
    return done[0]


def _pop_sum(done: list[int], count: int) -> int:
    total = sum(done[len(done) - count :])
    del done[len(done) - count :]
    return total


def _copies(node: Repeat) -> int:
    """How many times the body stands in the automaton; with no upper bound the last copy loops."""
    return max(1, node.low) if node.high is None else node.high


class _Builder:
    """The arrays being built; `done` are the finished fragments that wait for the node above them, left to right."""

    def __init__(self) -> None:
        self.sets: list[int | None] = []
        self.epsilon: list[tuple[int, ...]] = []
        self.done: list[_Fragment] = []

    def add(self, node: Node) -> None:
        """Make the fragment of a node from those of the nodes below it."""
        first = len(self.sets)
        match node:
            case ByteSet(bits):
                self.done.append(_Fragment(first, self.state(bits), self.state()))
            case Sequence(parts):
                self.done.append(self.chain(self.take(len(parts))))
            case Union(branches):
                self.done.append(self.either(self.take(len(branches))))
            case Repeat():
                self.done.append(self.repeat(self.done.pop(), node))

    def state(self, bits: int | None = None) -> int:
        """A new state, with a byte edge to the one that comes after it when `bits` are given."""
        self.sets.append(bits)
        self.epsilon.append(())
        return len(self.sets) - 1

    def link(self, source: int, target: int) -> None:
        """An epsilon edge."""
        self.epsilon[source] += (target - source,)

    def take(self, count: int) -> list[_Fragment]:
        """The last `count` fragments, left to right."""
        taken = self.done[len(self.done) - count :]
        del self.done[len(self.done) - count :]
        return taken

    def chain(self, parts: list[_Fragment]) -> _Fragment:
        """One part after the other; no part is a single state."""
        if not parts:
            only = self.state()
            return _Fragment(only, only, only)
        for left, right in pairwise(parts):
            self.link(left.end, right.start)
        return _Fragment(parts[0].first, parts[0].start, parts[-1].end)

    def either(self, branches: list[_Fragment]) -> _Fragment:
        """A new start to every branch, every branch to a new end; there are two or more."""
        start, end = self.state(), self.state()
        self.epsilon[start] = tuple(branch.start - start for branch in branches)
        for branch in branches:
            self.link(branch.end, end)
        return _Fragment(branches[0].first, start, end)

    def repeat(self, body: _Fragment, node: Repeat) -> _Fragment:
        """The copies in a chain between a new start and a new end, which is reached after `low` of them or more."""
        copies = self.copy(body, _copies(node))
        start, end = self.state(), self.state()
        if copies:
            self.chain(copies)
            self.link(start, copies[0].start)
        if node.low == 0:
            self.link(start, end)
        for made in copies[max(0, node.low - 1) :]:
            self.link(made.end, end)
        if node.high is None:
            self.link(copies[-1].end, copies[-1].start)
        return _Fragment(body.first, start, end)

    def copy(self, body: _Fragment, count: int) -> list[_Fragment]:
        """The fragment `count` times in a row, the first being itself; 0 takes it away."""
        first = body.first
        length = len(self.sets) - first
        sets, epsilon = self.sets[first:], self.epsilon[first:]
        self.sets[first:], self.epsilon[first:] = sets * count, epsilon * count
        shifts = (length * place for place in range(count))
        return [_Fragment(first + shift, body.start + shift, body.end + shift) for shift in shifts]
