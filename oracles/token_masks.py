"""Masks from first principles: walk every byte of every token, and say which tokens are still alive.

The definition is one line: token t is allowed in state s exactly when δ*(s, bytes(t)) is not dead, an EOS id exactly
when s accepts, and an id without bytes never. Two ways to answer it stand here, and neither has a trie: `allowed` asks
the derivatives of the pattern about prefix · token, one token at a time; `mask_rows` walks a table, all tokens at once,
one byte column after the other. The pitfall is a token's later bytes: each is walked from where the earlier ones led.
"""

from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import takewhile

import numpy as np
from numpy.typing import NDArray

from oracles.derivatives import is_member, is_viable
from oracles.errors import OracleError
from oracles.pattern_reader import Dialect
from oracles.tables import DEAD, Table, checked

Row = NDArray[np.bool_]
Token = bytes | None


def allowed(
    pattern: str, dialect: Dialect, prefix: bytes, tokens: Sequence[Token], eos: Iterable[int]
) -> set[int]:
    """{t : prefix · bytes(t) is a viable prefix}, with each EOS id exactly when the prefix is a member."""
    ends = _ends(tokens, eos)
    walked = ((number, prefix + token) for number, token in enumerate(tokens) if token and number not in ends)
    alive = {number for number, data in walked if is_viable(pattern, data, dialect)}
    return alive | (ends if is_member(pattern, prefix, dialect) else set())


def mask_rows(
    accept: Iterable[int], table: Table, tokens: Sequence[Token], eos: Iterable[int]
) -> Iterator[Row]:
    """For each state, in order, the row of its allowed ids: bool, as long as the vocabulary."""
    accepting, ends = set(accept), _ends(tokens, eos)
    checked(accepting, table)
    steps, columns = np.asarray(table, dtype=np.int32), _columns(tuple(tokens), frozenset(ends))
    for state in range(len(steps)):
        row = np.zeros(len(tokens), dtype=np.bool_)
        row[columns.alive(steps, state)] = True
        row[sorted(ends)] = state in accepting
        yield row


def next_state(
    accept: Container[int], table: Table, state: int, token: int, tokens: Sequence[Token], eos: Iterable[int]
) -> int:
    """δ*(state, bytes(token)); an EOS stays in an accepting state. DEAD for what is not allowed: no mask is asked."""
    if token in _ends(tokens, eos):
        return state if state in accept else DEAD
    text = tokens[token]
    if not text:
        return DEAD
    for byte in text:
        state = DEAD if state == DEAD else table[state][byte]
    return state


@dataclass(frozen=True, slots=True)
class _Columns:
    """Tokens with bytes, longest first: their ids, and for each position the bytes there of those that are so long."""

    ids: NDArray[np.int64]
    at: tuple[NDArray[np.uint8], ...]

    def alive(self, steps: NDArray[np.int32], state: int) -> NDArray[np.int64]:
        """The ids of the tokens that lead to a live state; a token leaves the walk where it dies or ends."""
        places, states = np.arange(len(self.ids)), np.full(len(self.ids), state, dtype=np.int32)
        whole = []
        for column in self.at:
            going = int(np.searchsorted(places, len(column)))
            whole.append(places[going:])
            after = steps[states[:going], column[places[:going]]]
            places, states = places[:going][after != DEAD], after[after != DEAD]
        chosen: NDArray[np.int64] = self.ids[np.concatenate([*whole, places])]
        return chosen


@lru_cache(maxsize=2)
def _columns(tokens: tuple[Token, ...], ends: frozenset[int]) -> _Columns:
    """The tokens that have bytes and are no EOS, sorted by length and cut into columns; kept for the next language."""
    walked = [(number, token) for number, token in enumerate(tokens) if token and number not in ends]
    walked.sort(key=lambda pair: -len(pair[1]))
    columns: list[NDArray[np.uint8]] = []
    while walked and len(columns) < len(walked[0][1]):
        position = len(columns)
        reaching = takewhile(lambda pair: len(pair[1]) > position, walked)  # noqa: B023 (used up at once)
        columns.append(np.fromiter((token[position] for _, token in reaching), dtype=np.uint8))
    return _Columns(np.array([number for number, _ in walked], dtype=np.int64), tuple(columns))


def _ends(tokens: Sequence[Token], eos: Iterable[int]) -> set[int]:
    """The EOS ids, which must be ids of the vocabulary."""
    ends = set(eos)
    for end in ends:
        if not 0 <= end < len(tokens):
            raise OracleError(f"EOS id {end} is outside the vocabulary of {len(tokens)} ids")
    return ends
