"""Thompson NFA → deterministic automaton: the subset construction over byte classes.

Two bytes are one class when every edge of the NFA treats them alike: a JSON string has about twenty classes, not 256.
A state is the set of NFA states that a prefix can be in, of which only those with a byte edge (and the accepting one)
are kept: the epsilon edges are behind us. The same edges leave many states, so what they partition the classes into
is remembered. Two limits hold the cost: states, and NFA states visited (`max_work`). Read `minimise.py` next.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from reference.dfa import DEAD
from reference.errors import TooLarge
from reference.nfa import Nfa

MAX_STATES = 50_000
"""Subset states, the empty one not counted."""

MAX_WORK = 5_000_000
"""NFA states visited, as members of subsets and in their closures."""

Subset = frozenset[int]


@dataclass(frozen=True, slots=True)
class ClassTable:
    """A deterministic automaton over byte classes: start 0, `table[s, c]` the state after a byte of class c or DEAD."""

    accept: npt.NDArray[np.bool_]
    table: npt.NDArray[np.int32]
    byte_class: npt.NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class _Classes:
    """The byte classes of an NFA, numbered by first byte; `holders[c]` has bit i when edge set i contains class c."""

    set_index: dict[int, int]
    byte_class: npt.NDArray[np.intp]
    holders: list[int]


@dataclass(frozen=True, slots=True)
class _Split:
    """How some edge sets divide the classes: `groups[g]` the sets that a class lies in, `place[c]` the g of class c."""

    groups: list[list[int]]
    place: npt.NDArray[np.intp]


def determinise(nfa: Nfa, *, max_states: int = MAX_STATES, max_work: int = MAX_WORK) -> ClassTable:
    """The subset construction: a row for each subset, in order of discovery, until no row finds a new one.

    Raises TooLarge at a limit.
    """
    classes = byte_classes(nfa)
    search = _Search(nfa, classes, max_states, max_work)
    search.number(search.closure(frozenset([nfa.start])))
    rows = [search.row(subset) for subset in search.subsets]  # the list grows while it is walked
    accept = np.array([nfa.accept in subset for subset in search.subsets])
    return ClassTable(accept, np.array(rows), classes.byte_class)


def byte_classes(nfa: Nfa) -> _Classes:
    """Bytes that lie in the same edge sets are one class."""
    sets = list(dict.fromkeys(bits for bits in nfa.sets if bits is not None))
    packed = b"".join(bits.to_bytes(32, "little") for bits in sets)
    member = np.unpackbits(np.frombuffer(packed, np.uint8).reshape(-1, 32), axis=1, bitorder="little")
    columns = np.packbits(member, axis=0, bitorder="little").T
    keys = [column.tobytes() for column in columns]
    number = {key: index for index, key in enumerate(dict.fromkeys(keys))}
    byte_class = np.array([number[key] for key in keys], dtype=np.intp)
    return _Classes(
        {bits: i for i, bits in enumerate(sets)},
        byte_class,
        [int.from_bytes(key, "little") for key in number],
    )


class _Search:
    """The subsets found so far, and what is remembered between them."""

    def __init__(self, nfa: Nfa, classes: _Classes, max_states: int, max_work: int) -> None:
        self.classes, self.max_states, self.max_work = classes, max_states, max_work
        self.accept = nfa.accept
        self.edge = [None if bits is None else classes.set_index[bits] for bits in nfa.sets]
        self.epsilon = [
            tuple(state + offset for offset in offsets) for state, offsets in enumerate(nfa.epsilon)
        ]
        self.subsets: list[Subset] = []
        self.ids: dict[Subset, int] = {}
        self.closures: dict[Subset, Subset] = {}
        self.splits: dict[int, _Split] = {}
        self.work = 0

    def number(self, subset: Subset) -> int:
        """The state of a subset, a new one when it is seen first; DEAD for the empty subset."""
        if not subset:
            return DEAD
        state = self.ids.setdefault(subset, len(self.subsets))
        if state == len(self.subsets):
            if state == self.max_states:
                raise TooLarge(f"pattern: over max_states={self.max_states:,} subset states; simplify it")
            self.subsets.append(subset)
        return state

    def row(self, subset: Subset) -> npt.NDArray[np.int32]:
        """The states after one byte of each class: one closure for all classes that the same edges take."""
        reached = self.move(subset)
        split = self.split(reached)
        states = [self.number(self.closure(_joined(reached, sets))) for sets in split.groups]
        return np.array(states, dtype=np.int32)[split.place]

    def move(self, subset: Subset) -> dict[int, set[int]]:
        """Edge set ↦ the NFA states that the edges with this set lead to, each followed to where it matters."""
        self.spend(len(subset))
        reached: dict[int, set[int]] = {}
        for state in subset:
            edge = self.edge[state]
            if edge is not None:
                reached.setdefault(edge, set()).add(self.settled(state + 1))
        return reached

    def settled(self, state: int) -> int:
        """The end of a chain of states with one epsilon edge and nothing else: ends of branches meet there."""
        while len(self.epsilon[state]) == 1:
            (state,) = self.epsilon[state]
            self.work += 1
        return state

    def split(self, edges: Iterable[int]) -> _Split:
        """The classes grouped by which of the given edge sets hold them."""
        key = 0
        for edge in edges:
            key |= 1 << edge
        found = self.splits.get(key)
        if found is None:
            found = self.splits[key] = _split(key, self.classes.holders)
        return found

    def closure(self, states: Subset) -> Subset:
        """The NFA states with a byte edge, and the accepting one, that epsilon edges lead to from any of these."""
        found = self.closures.get(states)
        if found is None:
            seen, pending = set(states), list(states)
            while pending:
                fresh = [target for target in self.epsilon[pending.pop()] if target not in seen]
                seen.update(fresh)
                pending += fresh
            self.spend(len(seen))
            kept = (state for state in seen if self.edge[state] is not None or state == self.accept)
            found = self.closures[states] = frozenset(kept)
        return found

    def spend(self, visited: int) -> None:
        """Count NFA states visited, up to the limit."""
        self.work += visited
        if self.work > self.max_work:
            raise TooLarge(
                f"pattern: over max_work={self.max_work:,} NFA states visited; nest fewer repetitions"
            )


def _joined(reached: dict[int, set[int]], sets: list[int]) -> Subset:
    return frozenset[int]().union(*(reached[index] for index in sets))


def _split(sets: int, holders: list[int]) -> _Split:
    """Class c goes with the classes that lie in the same ones of the given edge sets (bits)."""
    shared = [holder & sets for holder in holders]
    number = {common: group for group, common in enumerate(dict.fromkeys(shared))}
    groups = [[index for index in range(common.bit_length()) if common >> index & 1] for common in number]
    return _Split(groups, np.array([number[common] for common in shared], dtype=np.intp))
