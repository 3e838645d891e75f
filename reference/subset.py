"""Thompson NFA → deterministic automaton: the subset construction over byte classes.

Two bytes are one class when every edge of the NFA treats them alike: a JSON string has about twenty classes, not 256.
A state is the set of NFA states that a prefix can be in, of which only those with a byte edge (and the accepting one)
are kept: the epsilon edges are behind us. The same edges leave many states, so what they partition the classes into
is remembered. Two limits hold the cost: states, and NFA states visited (`max_work`). Read `minimise.py` next.
"""

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from reference.dfa import DEAD
from reference.errors import TooLarge
from reference.nfa import Nfa

MAX_STATES = 50_000
"""Subset states, the empty one not counted."""

MAX_WORK = 10_000_000
"""NFA states visited, by closures and as members of subsets."""

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
    """How some edge sets, taken together, divide the classes: `groups[g]` the sets a class lies in, `place[c]` its g."""

    groups: list[list[int]] = field(default_factory=list)
    place: list[int] = field(default_factory=list)


def determinise(nfa: Nfa, *, max_states: int = MAX_STATES, max_work: int = MAX_WORK) -> ClassTable:
    """The subset construction from the start's closure, in order of discovery; raises TooLarge at a limit."""
    classes = byte_classes(nfa)
    search = _Search(nfa, classes, max_states, max_work)
    search.number(search.closure(nfa.start))
    rows = [search.row(subset) for subset in search.subsets]
    accept = np.array([nfa.accept in subset for subset in search.subsets])
    return ClassTable(accept, np.array(rows, dtype=np.int32), classes.byte_class)


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
        self.nfa, self.classes, self.max_states, self.max_work = nfa, classes, max_states, max_work
        self.label = [-1 if bits is None else classes.set_index[bits] for bits in nfa.sets]
        self.subsets: list[Subset] = []
        self.ids: dict[Subset, int] = {}
        self.closures: dict[int, Subset] = {}
        self.splits: dict[int, _Split] = {}
        self.work = 0

    def number(self, subset: Subset) -> int:
        """The state of a subset, a new one when it is seen first; DEAD for the empty subset."""
        if not subset:
            return DEAD
        state = self.ids.setdefault(subset, len(self.subsets))
        if state == len(self.subsets):
            if state == self.max_states:
                raise TooLarge(
                    f"pattern: more than max_states={self.max_states:,} states; simplify it or raise the limit"
                )
            self.spend(len(subset))
            self.subsets.append(subset)
        return state

    def row(self, subset: Subset) -> list[int]:
        """The states after one byte of each class."""
        reached = self.move(subset)
        split = self.split(reached)
        states = [self.number(_joined([reached[index] for index in group])) for group in split.groups]
        return [states[group] for group in split.place]

    def move(self, subset: Subset) -> dict[int, Subset]:
        """Edge set ↦ the NFA states behind the edges of that set, closed over epsilon."""
        targets: dict[int, list[Subset]] = {}
        for state in subset:
            label = self.label[state]
            if label >= 0:
                targets.setdefault(label, []).append(self.closure(state + 1))
        return {label: _joined(closures) for label, closures in targets.items()}

    def split(self, reached: dict[int, Subset]) -> _Split:
        """The classes grouped by which of the given edge sets hold them."""
        key = 0
        for label in reached:
            key |= 1 << label
        found = self.splits.get(key)
        if found is None:
            found = self.splits[key] = _split(key, self.classes.holders)
        return found

    def closure(self, state: int) -> Subset:
        """The NFA states with a byte edge, and the accepting one, that epsilon edges lead to."""
        found = self.closures.get(state)
        if found is not None:
            return found
        epsilon, seen, pending = self.nfa.epsilon, {state}, [state]
        while pending:
            here = pending.pop()
            fresh = [here + offset for offset in epsilon[here] if here + offset not in seen]
            seen.update(fresh)
            pending += fresh
            if len(seen) > self.max_work:
                break
        self.spend(len(seen))
        found = frozenset(each for each in seen if self.label[each] >= 0 or each == self.nfa.accept)
        self.closures[state] = found
        return found

    def spend(self, visited: int) -> None:
        """Count NFA states visited, up to the limit."""
        self.work += visited
        if self.work > self.max_work:
            raise TooLarge(
                f"pattern: its subsets visit more than max_work={self.max_work:,} NFA states; nest fewer repetitions"
            )


def _joined(subsets: list[Subset]) -> Subset:
    if len(subsets) == 1:
        return subsets[0]
    return frozenset().union(*subsets)


def _split(sets: int, holders: list[int]) -> _Split:
    split, group_of = _Split(), dict[int, int]()
    for holder in holders:
        shared = holder & sets
        if shared not in group_of:
            group_of[shared] = len(group_of)
            split.groups.append([i for i in range(shared.bit_length()) if shared >> i & 1])
        split.place.append(group_of[shared])
    return split
