"""The canonical DFA over bytes: two patterns with one language have identical tables (SPEC §2).

Start is state 0, every state is live, and DEAD (−1) stands for "no member can follow". What makes it canonical is
made in `minimise.py`; `compile.py` is the whole way from a pattern.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from reference.errors import MaskError

DEAD = -1
"""δ's value where no accepting state is reachable."""


@dataclass(frozen=True, slots=True, eq=False)
class Dfa:
    """`accept[s]`: the bytes that lead to s are a member; `trans[s, b]`: δ(s, b), int32 of shape (n, 256)."""

    accept: npt.NDArray[np.bool_]
    trans: npt.NDArray[np.int32]

    def __post_init__(self) -> None:
        """Freeze the arrays: a table that a mask was made from must not change."""
        self.accept.setflags(write=False)
        self.trans.setflags(write=False)

    @property
    def n_states(self) -> int:
        """The number of states; they are 0 … n_states − 1."""
        return len(self.accept)

    def step(self, state: int, data: bytes) -> int:
        """δ*(s, data): δ byte by byte, where DEAD stays DEAD; raises MaskError for a state out of range."""
        if not DEAD <= state < self.n_states:
            raise MaskError(
                f"state {state} is out of range; the automaton has the states 0 to {self.n_states - 1}"
            )
        for byte in data:
            if state == DEAD:
                break
            state = int(self.trans[state, byte])
        return state

    def matches(self, data: bytes) -> bool:
        """Whether data is in the language: δ*(0, data) accepts."""
        state = self.step(0, data)
        return state != DEAD and bool(self.accept[state])

    def byte_classes(self) -> npt.NDArray[np.intp]:
        """The class of each byte: b, c are one class iff trans[:, b] == trans[:, c]; numbered by first byte."""
        columns = [column.tobytes() for column in np.ascontiguousarray(self.trans.T)]
        number = {column: index for index, column in enumerate(dict.fromkeys(columns))}
        return np.array([number[column] for column in columns], dtype=np.intp)

    def __eq__(self, other: object) -> bool:
        """Identical tables; for canonical automata that is: one language."""
        if not isinstance(other, Dfa):
            return NotImplemented
        return np.array_equal(self.accept, other.accept) and np.array_equal(self.trans, other.trans)

    def __hash__(self) -> int:
        """Equal automata hash alike."""
        return hash((self.accept.tobytes(), self.trans.tobytes()))
