"""Strategies for small automata and vocabularies at the edges, and the definition of a mask, walked naively."""

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st

from reference.dfa import DEAD, Dfa
from reference.vocabulary import Vocabulary

EDGE_BYTES = (0x00, 0x22, 0x41, 0x61, 0x7A, 0x7F, 0x80, 0xA9, 0xBF, 0xC3, 0xE6, 0xFF)
TEXTS = ("a", 'a"', "é", "漢a", "😀", "aaé", "\x00\x7f", "Az", "zé漢")


def table(rows: Iterable[dict[int, int]], accept: Iterable[int]) -> Dfa:
    """A Dfa from live edges, byte → state, and the accepting states."""
    rows = list(rows)
    trans = np.full((len(rows), 256), DEAD, np.int32)
    for state, row in enumerate(rows):
        for byte, target in row.items():
            trans[state, byte] = target
    accepting = np.zeros(len(rows), np.bool_)
    accepting[list(accept)] = True
    return Dfa(accepting, trans)


def trimmed(rows: list[dict[int, int]], accept: set[int]) -> Dfa:
    """The automaton of the live states; the start is made to accept if it is not one."""
    live = set(accept)
    for _ in rows:
        live |= {state for state, row in enumerate(rows) if live & set(row.values())}
    if 0 not in live:
        return trimmed(rows, accept | {0})
    number = {state: place for place, state in enumerate(sorted(live))}
    kept = [
        {byte: number[goal] for byte, goal in rows[state].items() if goal in live} for state in sorted(live)
    ]
    return table(kept, (number[state] for state in accept))


@st.composite
def dfas(draw: st.DrawFn) -> Dfa:
    """Automata of 1 to 5 live states with edges over ranges between edge bytes, whole loops among them."""
    states = range(draw(st.integers(1, 5)))
    edge = st.tuples(st.sampled_from(EDGE_BYTES), st.sampled_from(EDGE_BYTES), st.sampled_from(states))
    rows: list[dict[int, int]] = []
    for state in states:
        row = dict.fromkeys(range(256), state) if draw(st.booleans()) else {}
        for low, high, target in draw(st.lists(edge, max_size=4)):
            row |= dict.fromkeys(range(low, high + 1), target)
        for low, high, _ in draw(st.lists(edge, max_size=2)):
            row = {byte: target for byte, target in row.items() if not low <= byte <= high}
        rows.append(row)
    return trimmed(rows, set(draw(st.lists(st.sampled_from(states), min_size=1))))


def pieces() -> st.SearchStrategy[bytes]:
    """Short bytes of the edge bytes, and texts cut anywhere, inside a character too."""
    cut = st.tuples(st.sampled_from(TEXTS), st.integers(0, 4), st.integers(1, 6))
    return st.lists(st.sampled_from(EDGE_BYTES), max_size=4).map(bytes) | cut.map(
        lambda t: t[0].encode()[t[1] : t[2]]
    )


@st.composite
def vocabularies(draw: st.DrawFn, max_size: int = 70) -> Vocabulary:
    """Up to 70 ids over few pieces, so that many are repeated, with specials, empty tokens and up to three EOS ids."""
    pool = draw(st.lists(st.none() | pieces(), min_size=1, max_size=12))
    tokens = draw(st.lists(st.sampled_from(pool), min_size=1, max_size=max_size))
    eos = draw(st.frozensets(st.integers(0, len(tokens) - 1), max_size=3))
    return Vocabulary(tuple(tokens), eos, "drawn")


def after(dfa: Dfa, state: int, data: bytes) -> int:
    """δ*(state, data), from the table alone."""
    for byte in data:
        if state == DEAD:
            return DEAD
        state = int(dfa.trans[state, byte])
    return state


def naive_allowed(dfa: Dfa, state: int, vocabulary: Vocabulary) -> set[int]:
    """The definition: δ*(s, bytes(t)) ≠ DEAD for tokens with bytes, s accepting for EOS ids, no other."""
    ending = set(vocabulary.eos) if dfa.accept[state] else set()
    with_bytes = {token for token, piece in enumerate(vocabulary.tokens) if piece} - vocabulary.eos
    return ending | {
        token for token in with_bytes if after(dfa, state, vocabulary.tokens[token] or b"") != DEAD
    }


def least_tokens(dfa: Dfa, vocabulary: Vocabulary, state: int, limit: int) -> int | None:
    """The fewest tokens to the end of an output by trying all sequences, None when more than `limit`."""
    frontier, ends = {state}, bool(vocabulary.eos)
    pieces = [p for t, p in enumerate(vocabulary.tokens) if p and t not in vocabulary.eos]
    for taken in range(limit + 1):
        if any(dfa.accept[s] for s in frontier):
            return taken + ends if taken + ends <= limit else None
        frontier = {goal for s in frontier for p in pieces if (goal := after(dfa, s, p)) >= 0}
    return None


PAIRS = {ord("("): ord(")"), ord("["): ord("]"), ord("{"): ord("}")}


@dataclass(frozen=True)
class Brackets:
    """Balanced brackets of three kinds, at any depth: the state is the stack of closers that are still due."""

    start: bytes = b""

    def is_accepting(self, state: bytes) -> bool:
        return not state

    def next_state(self, state: bytes, byte: int) -> bytes | None:
        if byte in PAIRS:
            return state + bytes([PAIRS[byte]])
        return state[:-1] if state and state[-1] == byte else None


@dataclass(frozen=True)
class Wrapped:
    """A table that does not look like one; its states are texts."""

    dfa: Dfa
    start: str = "0"

    def is_accepting(self, state: str) -> bool:
        return bool(self.dfa.accept[int(state)])

    def next_state(self, state: str, byte: int) -> Hashable | None:
        target = int(self.dfa.trans[int(state), byte])
        return None if target == DEAD else str(target)


def ids(mask: Any) -> set[int]:
    """The True places of a mask."""
    return {int(token) for token in np.flatnonzero(mask)}
