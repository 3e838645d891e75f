"""Certificates: a claim about a pattern and a table, with everything a small checker needs to believe neither side.

The maker uses what this folder can do, and judges nothing: for a wrong table it writes down what it finds, and the
checker says what is wrong. What each part of the document means stands at the top of check_certificate.py, which
shares no code with this file. The pitfall is size: words are linked to earlier words and paths to their next step, so
that a certificate grows with the automaton and not with the lengths of the strings that it speaks of.
"""

from collections.abc import Iterable
from typing import Any

from oracles.derivatives import Language, State
from oracles.pattern_reader import Dialect
from oracles.tables import DEAD, Automaton, Table, checked
from oracles.terms import OracleLimit, Terms

FORMAT = 1
LARGEST = 5_000


def make_certificate(pattern: str, dialect: Dialect, accept: Iterable[int], table: Table) -> dict[str, Any]:
    """The certificate of the claim that this table is the canonical automaton of this pattern.

    Raises OracleError when the pattern is refused or the table is none, OracleLimit above 5,000 states.
    """
    automaton = checked(accept, table)
    if len(automaton.rows) > LARGEST:
        raise OracleLimit(f"a certificate of {len(automaton.rows)} states; the oracle writes up to {LARGEST}")
    language = Language(pattern, dialect)
    pairs = relation(language, automaton)
    listed, number = listing(language.terms, [state[0] for state, _ in pairs])
    return {
        "format": FORMAT,
        "claim": _claim(pattern, dialect, automaton),
        "terms": listed,
        "relation": [[number[term], pending.hex(), target] for (term, pending), target in pairs],
        "live": live(automaton),
        "splits": splits(automaton),
    }


def relation(language: Language, automaton: Automaton) -> list[tuple[State, int]]:
    """The pairs (derivative state, state) that a breadth-first walk from both starts meets while both are live."""
    pairs: list[tuple[State, int]] = [((language.start, b""), 0)]
    seen = {(language.key((language.start, b"")), 0)}
    for state, target in pairs:
        for byte in range(256):
            after, goal = language.step(state, byte), automaton.step(target, byte)
            if (after is None) != (goal == DEAD):
                return pairs
            if after is not None and (language.key(after), goal) not in seen:
                seen.add((language.key(after), goal))
                pairs.append((after, goal))
    return pairs


def listing(terms: Terms, wanted: list[int]) -> tuple[list[list[Any]], dict[int, int]]:
    """The wanted terms and all they are built of, each after its parts, and the number of each in that list."""
    order = dict.fromkeys((0, 1))
    for term in wanted:
        order.update(dict.fromkeys(_parts_first(terms, term, order)))
    number = {term: place for place, term in enumerate(order)}
    return [_written(terms, term, number) for term in order], number


def _parts_first(terms: Terms, term: int, known: dict[int, None]) -> list[int]:
    """A term and its parts that are not known yet, parts first."""
    found: dict[int, None] = {}
    todo = [term]
    while todo:
        missing = [part for part in _parts(terms, todo[-1]) if part not in known and part not in found]
        if missing:
            todo.append(missing[0])
        else:
            found[todo.pop()] = None
    return [part for part in found if part not in known]


def _parts(terms: Terms, term: int) -> tuple[int, ...]:
    """The terms that a term is built of."""
    kind, numbers = terms.nodes[term]
    return {"then": numbers, "either": numbers, "star": numbers, "times": numbers[:1]}.get(kind, ())


def _written(terms: Terms, term: int, number: dict[int, int]) -> list[Any]:
    """One row of the list: the kind, then its numbers, in which parts have the numbers of the list."""
    kind, numbers = terms.nodes[term]
    parts = [number[part] for part in _parts(terms, term)]
    return [kind, *(sorted(parts) if kind == "either" else parts), *numbers[len(parts) :]]


def live(automaton: Automaton) -> list[list[int]]:
    """For each state the least number of bytes to acceptance, and the first class to get there; −1, −1 if none does."""
    distance = dict.fromkeys(automaton.accept, 0)
    into: dict[int, list[int]] = {}
    for state, row in enumerate(automaton.rows):
        for after in set(row) - {DEAD}:
            into.setdefault(after, []).append(state)
    todo = sorted(distance)
    for state in todo:
        for before in into.get(state, ()):
            if (
                distance.setdefault(before, distance[state] + 1) == distance[state] + 1
                and before not in automaton.accept
            ):
                todo.append(before)
    return [_next(automaton, state, distance) for state in range(len(automaton.rows))]


def _next(automaton: Automaton, state: int, distance: dict[int, int]) -> list[int]:
    """The distance of a state, and the first class whose byte lessens it."""
    if state in automaton.accept or state not in distance:
        return [distance.get(state, -1), -1]
    nearer = [distance.get(after) == distance[state] - 1 for after in automaton.rows[state]]
    return [distance[state], nearer.index(True)]


def splits(automaton: Automaton) -> list[list[int]]:
    """The splits that set all states and dead apart, as far as any do; the checker's head says what they mean."""
    splitting = _Splitting(automaton)
    before = 0
    while before < len(splitting.cuts):
        before = len(splitting.cuts)
        for block in range(before + 1):
            while splitting.cut(block):
                pass
    return splitting.cuts


class _Splitting:
    """Blocks of states (the last is dead), cut in two again and again, by words that only one part accepts."""

    def __init__(self, automaton: Automaton) -> None:
        self.automaton = automaton
        self.cuts: list[list[int]] = []
        self.words: list[bytes] = []
        self.blocks = [list(range(len(automaton.rows) + 1))]
        self.block_of = [0] * len(self.blocks[0])
        if automaton.accept:
            self._cut(0, DEAD, DEAD, [state in automaton.accept for state in range(len(automaton.rows))])

    def cut(self, block: int) -> bool:
        """Cut the block by a class that leads its members into different blocks; False when there is none."""
        for number in range(len(self.automaton.rows[0])):
            reached = {self.block_of[self._step(state, number)] for state in self.blocks[block]}
            if len(reached) > 1:
                earlier = self._apart(*sorted(reached)[:2])
                accepts = [bool(self.words[earlier][row[number]]) for row in self.automaton.rows]
                self._cut(block, number, earlier, accepts)
                return True
        return False

    def _cut(self, block: int, number: int, earlier: int, accepts: list[bool]) -> None:
        """Move the states of the block that accept the word into a new block."""
        self.cuts.append([block, number, earlier])
        self.words.append(bytes([*accepts, False]))
        members = self.blocks[block]
        self.blocks[block] = [state for state in members if not self.words[-1][state]]
        self.blocks.append([state for state in members if self.words[-1][state]])
        for state in self.blocks[-1]:
            self.block_of[state] = len(self.cuts)

    def _step(self, state: int, number: int) -> int:
        """The state after a byte of a class; dead, the last one, stays dead."""
        return self.automaton.rows[state][number] if state < len(self.automaton.rows) else DEAD

    def _apart(self, one: int, other: int) -> int:
        """The cut that set two blocks apart: go back from the younger to what it was cut from, until both are one."""
        cut = DEAD
        while one != other:
            one, other = min(one, other), max(one, other)
            cut, other = other - 1, self.cuts[other - 1][0]
        return cut


def _claim(pattern: str, dialect: Dialect, automaton: Automaton) -> dict[str, Any]:
    """What is claimed: the pattern, and the automaton over its classes of bytes."""
    table = [list(row) for row in automaton.rows]
    classes = list(automaton.classes)
    return {
        "pattern": pattern,
        "dialect": dialect,
        "accept": sorted(automaton.accept),
        "classes": classes,
        "table": table,
    }
