"""Is a byte automaton exactly a pattern's language: one z3 query a step, and no derivative of ours in between.

L is the language, w(s) a shortest word that leads from the start to state s. The table is L's automaton if
  (1) s accepts ⇔ w(s) ∈ L, for every reachable state, and
  (2) for every step s → t over a set C of bytes:  ∀ c ∈ C, ∀ x:  w(s)·c·x ∈ L ⇔ w(t)·x ∈ L,
      and where the table has no step:             ∀ c ∈ C, ∀ x:  w(s)·c·x ∉ L.
By induction over the length of x: the table accepts x from s ⇔ w(s)·x ∈ L; from the start, w = "", that is equality.
Each line of (2) is one question to z3 about all strings x; it stays cheap where a regular expression for the whole
table would explode. The pitfalls: (2) alone holds of automata that accept nothing, so (1) is asked of every state; and
one solver must be asked all, push and pop, for a fresh one a question derives the language from the start each time.
"""

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import z3

from oracles.derivatives import is_member
from oracles.errors import OracleError
from oracles.z3_questions import Outcome, bytes_of, confirmed, is_in, shortened, solver
from oracles.z3_reader import Dialect, Range, Regex, byte_set, regex_of, text

DEAD = -1
TIMEOUT_MS = 60_000
_METHOD = "z3, one query a step of the automaton"


def automaton_equals(
    pattern: str,
    dialect: Dialect,
    accept: Iterable[int],
    table: Sequence[Sequence[int]],
    timeout_ms: int = TIMEOUT_MS,
) -> Outcome:
    """The automaton (accepting states, rows of 256, start 0) accepts exactly the pattern's members, or a witness.

    The limit is processor time for all steps together, so that a busy machine does not change the verdict, and the
    same number of milliseconds by the clock for each step.
    """
    automaton = Table(frozenset(accept), table)
    outcome = _decide(automaton, regex_of(pattern, dialect), timeout_ms)
    return confirmed(outcome, lambda w: is_member(pattern, w, dialect) != automaton.accepts(w))


@dataclass(frozen=True, slots=True)
class Table:
    """A byte automaton as plain data; start 0, DEAD where there is no step."""

    accept: frozenset[int]
    rows: Sequence[Sequence[int]]

    def __post_init__(self) -> None:
        """Refuse a table that is not one: no state, a row that is not 256 long, a state that does not exist."""
        states = range(len(self.rows))
        if not states or any(state not in states for state in self.accept):
            raise OracleError(f"automaton: accepting states {sorted(self.accept)} of {len(states)} states")
        for state, row in enumerate(self.rows):
            if len(row) != 256 or any(target != DEAD and target not in states for target in row):
                raise OracleError(
                    f"automaton, state {state}: not 256 steps to states 0 to {len(states) - 1} or -1"
                )

    def accepts(self, data: bytes) -> bool:
        """The run over data ends in an accepting state."""
        state = 0
        for byte in data:
            state = self.rows[state][byte]
            if state == DEAD:
                return False
        return state in self.accept

    def words(self) -> dict[int, bytes]:
        """A shortest word to each reachable state, breadth first."""
        words, order = {0: b""}, [0]
        for state in order:
            for byte, target in enumerate(self.rows[state]):
                if target != DEAD and target not in words:
                    words[target] = words[state] + bytes([byte])
                    order.append(target)
        return words

    def steps(self, state: int) -> Iterator[tuple[int, list[Range]]]:
        """The targets of a state, DEAD among them, each with the byte ranges that lead there."""
        ranges: dict[int, list[Range]] = {}
        for byte, target in enumerate(self.rows[state]):
            known = ranges.setdefault(int(target), [])
            if known and known[-1][1] == byte - 1:
                known[-1] = (known[-1][0], byte)
            else:
                known.append((byte, byte))
        yield from ranges.items()


def _decide(automaton: Table, regex: Regex, timeout_ms: int) -> Outcome:
    deadline, queries, words = time.thread_time() + timeout_ms / 1000, 0, automaton.words()
    asked, c, x = solver(timeout_ms), z3.String("c"), z3.String("x")
    for state, word in words.items():
        if is_in(word, regex) != (state in automaton.accept):
            return _differ(automaton, regex, (word,), queries)
        for target, ranges in automaton.steps(state):
            if _is_first_way(words, word, target, ranges):
                continue
            if time.thread_time() > deadline:
                return _unknown(f"{timeout_ms} ms of processor time ended after {queries} steps", queries)
            queries += 1
            asked.push()
            asked.add(z3.InRe(c, byte_set(ranges)), _step_fails(regex, word, words.get(target), c, x))
            answer = asked.check()
            if answer == z3.unknown:
                return _unknown(
                    f"state {state}: z3: {asked.reason_unknown()} (limit {timeout_ms} ms)", queries
                )
            if answer == z3.sat:
                byte, rest = (bytes_of(asked.model().eval(part, model_completion=True)) for part in (c, x))
                tried = (word + byte + rest, words.get(target, b"") + rest)
                return _differ(automaton, regex, tried, queries)
            asked.pop()
    return Outcome("equal", None, _METHOD, queries)


def _is_first_way(words: dict[int, bytes], word: bytes, target: int, ranges: list[Range]) -> bool:
    """The step is the one that the target's word was made by, where both sides are the same text."""
    return target != DEAD and all(
        words[target] == word + bytes([low]) and low == high for low, high in ranges
    )


def _step_fails(regex: Regex, word: bytes, target_word: bytes | None, c: Any, x: Any) -> Any:
    """Some completion after word·c is judged otherwise than after the target's word; any at all after a dead step."""
    after = z3.InRe(_joined(word, c, x), regex)
    return after if target_word is None else after != z3.InRe(_joined(target_word, x), regex)


def _joined(word: bytes, *parts: Any) -> Any:
    pieces = [text(word), *parts] if word else [*parts]
    return z3.Concat(*pieces) if len(pieces) > 1 else pieces[0]


def _differ(automaton: Table, regex: Regex, tried: Iterable[bytes], queries: int) -> Outcome:
    """The misjudged one of the strings that z3's model names, made shorter."""

    def differs(data: bytes) -> bool:
        return is_in(data, regex) != automaton.accepts(data)

    for witness in tried:
        if differs(witness):
            return Outcome("differ", shortened(witness, differs), _METHOD, queries)
    return _unknown(f"z3's model {tried!r} does not stand when evaluated", queries)


def _unknown(note: str, queries: int) -> Outcome:
    return Outcome("unknown", None, _METHOD, queries, note)
