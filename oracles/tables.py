"""Automata as plain tables: what every oracle that judges one takes in, checked before it is believed.

An automaton is a list of accepting states and a table of n rows of 256 states, −1 where no member can follow; it starts
in state 0. Read next: bisimulation.py, canonical.py.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from oracles.errors import OracleError

DEAD = -1
Table = Sequence[Sequence[int]]


@dataclass(frozen=True, slots=True)
class Automaton:
    """A checked automaton: its accepting states, and its rows, over the classes of bytes that all rows treat alike.

    `classes[b]` numbers the class of byte b, by first byte; `rows[s][k]` is the state after a byte of class k.
    """

    accept: frozenset[int]
    classes: tuple[int, ...]
    rows: tuple[tuple[int, ...], ...]

    def step(self, state: int, byte: int) -> int:
        """δ(s, b); dead stays dead."""
        return DEAD if state == DEAD else self.rows[state][self.classes[byte]]


def checked(accept: Iterable[int], table: Table) -> Automaton:
    """The automaton that a list of accepting states and a table stand for; raises OracleError when they are none."""
    rows = [[int(entry) for entry in row] for row in table]
    accepting = frozenset(int(state) for state in accept)
    for state, row in enumerate(rows):
        if len(row) != 256:
            raise OracleError(f"table, state {state}: {len(row)} entries instead of 256")
        if min(row) < DEAD or max(row) >= len(rows):
            raise OracleError(f"table, state {state}: an entry outside -1 to {len(rows) - 1}")
    if not rows or not accepting.issubset(range(len(rows))):
        raise OracleError("the automaton has no state, or accepts in a state that it does not have")
    return _over_classes(accepting, rows)


def _over_classes(accept: frozenset[int], rows: list[list[int]]) -> Automaton:
    """Put bytes with one column into one class."""
    numbers: dict[tuple[int, ...], int] = {}
    classes = tuple(numbers.setdefault(column, len(numbers)) for column in zip(*rows, strict=True))
    first = [classes.index(number) for number in range(len(numbers))]
    return Automaton(accept, classes, tuple(tuple(row[byte] for byte in first) for row in rows))
