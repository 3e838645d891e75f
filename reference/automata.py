"""Deterministic byte automata as a walk sees them: numbered states, and many steps at a time.

Masks need nothing of an automaton but a start, a step over one byte, and whether a state accepts; and that every state
is live (some string leads from it to acceptance). A table (`Dfa`) has that at once. Any other automaton, one with a
stack for a context-free language for instance, is given numbers for its states as a walk meets them. Next: walk.
"""

from collections.abc import Hashable
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from reference.errors import MaskError
from reference.trie import Ints, group_set

DEAD = -1
_UNKNOWN = -2


@runtime_checkable
class Table(Protocol):
    """A finite automaton as a table: states 0 … n − 1, start 0, trans[state, byte] is DEAD where no member follows."""

    @property
    def accept(self) -> NDArray[np.bool_]:
        """Which states accept, bool[n]."""

    @property
    def trans(self) -> NDArray[np.int32]:
        """δ as int32[n, 256]."""


class ByteAutomaton(Protocol):
    """A deterministic automaton over bytes whose states are any hashable values, all of them live."""

    @property
    def start(self) -> Hashable:
        """The state before the first byte."""

    def is_accepting(self, state: Any) -> bool:
        """Whether the bytes that led to this state are a member."""

    def next_state(self, state: Any, byte: int) -> Hashable | None:
        """δ(state, byte), None when no member follows."""


class Steps(Protocol):
    """An automaton with numbered states, 0 the start, that takes many steps in one call."""

    finite: bool

    def __len__(self) -> int:
        """The number of states that have numbers now."""

    def step(self, states: Ints, byte: Ints) -> Ints:
        """δ, elementwise."""

    def is_accepting(self, state: int) -> bool:
        """Whether the state accepts."""

    def loops(self, states: Ints) -> NDArray[np.uint64]:
        """Per state, groups of bytes (trie.GROUP) all of which lead from the state back to itself."""


class TableSteps:
    """Steps over a table."""

    finite = True

    def __init__(self, table: Table) -> None:
        """Keep the table flat and find the loops of every state."""
        self.accept = np.asarray(table.accept)
        trans = np.ascontiguousarray(table.trans)
        if trans.shape != (len(self.accept), 256):
            raise MaskError(
                f"automaton: trans is {trans.shape}, accept {self.accept.shape}; give int32[n, 256] and bool[n]"
            )
        if trans.size and (trans.min() < DEAD or trans.max() >= len(trans)):
            raise MaskError(
                f"automaton: trans leads to a state outside −1 … {len(trans) - 1}; number the states from 0"
            )
        self._flat = trans.ravel()
        self._loops = group_set(trans == np.arange(len(trans), dtype=np.int32)[:, None])

    def __len__(self) -> int:
        """n."""
        return len(self.accept)

    def step(self, states: Ints, byte: Ints) -> Ints:
        """trans[states, byte]."""
        return self._flat.take((states << 8) | byte).astype(np.intp)

    def is_accepting(self, state: int) -> bool:
        """accept[state]."""
        return bool(self.accept[state])

    def loops(self, states: Ints) -> NDArray[np.uint64]:
        """The groups that loop, found at the start."""
        return self._loops.take(states)


class DiscoveredSteps:
    """Steps over an automaton whose states get their numbers in the order they are met; the start is 0."""

    finite = False

    def __init__(self, automaton: ByteAutomaton) -> None:
        """Know the start and no step yet."""
        self._automaton = automaton
        self._states: list[Any] = []
        self._numbers: dict[Hashable, int] = {}
        self._trans = np.full((16, 256), _UNKNOWN, np.intp)
        self._number(automaton.start)

    def __len__(self) -> int:
        """The states met so far."""
        return len(self._states)

    def _number(self, state: Hashable | None) -> int:
        """The number of a state, a new one when it is met for the first time; DEAD for None."""
        if state is None:
            return DEAD
        number = self._numbers.setdefault(state, len(self._states))
        if number == len(self._states):
            self._states.append(state)
            if number == len(self._trans):
                self._trans = np.concatenate([self._trans, np.full_like(self._trans, _UNKNOWN)])
        return number

    def step(self, states: Ints, byte: Ints) -> Ints:
        """δ of every pair; the automaton is asked once for each pair that is new."""
        reached = self._trans[states, byte]
        new = np.flatnonzero(reached == _UNKNOWN)
        for pair in np.unique((states[new] << 8) | byte[new]).tolist():
            state, value = pair >> 8, pair & 255
            number = self._number(self._automaton.next_state(self._states[state], value))
            self._trans[state, value] = number
        return self._trans[states, byte] if len(new) else reached

    def is_accepting(self, state: int) -> bool:
        """What the automaton says of the state with this number."""
        return self._automaton.is_accepting(self._states[state])

    def loops(self, states: Ints) -> NDArray[np.uint64]:
        """None known: a walk over such an automaton visits every live pair."""
        return np.zeros(len(states), np.uint64)


def steps_of(automaton: Table | ByteAutomaton) -> Steps:
    """Table steps for what has a table, discovered ones for anything else."""
    if isinstance(automaton, Table):
        return TableSteps(automaton)
    return DiscoveredSteps(automaton)
