"""Brzozowski derivatives: membership, viable prefixes and a whole automaton from the pattern text alone.

A string is a member when the derivative of the pattern by all of it is nullable, and a viable prefix when that
derivative is not empty. In dialect `unicode` the symbols are characters while an automaton reads bytes: a state is then
a term and the pending bytes of a cut character, and which characters can still come is asked of Python's codec. No
UTF-8 range is split here: UTF-8 keeps the order of code points, so the characters whose bytes begin with the pending
ones are an interval, and two bisections over encoded characters find it. The pitfall is that many pending bytes are
alike (all lead bytes of a `.`); they are one state exactly when the same completions lead to the same terms.
Read next: canonical.py, which makes the automaton comparable, and certificates.py, which makes it checkable.
"""

import codecs
from bisect import bisect_left
from collections.abc import Iterator
from functools import cache, lru_cache

from oracles.charset import BYTES, SCALARS, stretches
from oracles.pattern_reader import Dialect, PatternRefused, read
from oracles.terms import NONE, OracleLimit, Terms

DEAD = -1
State = tuple[int, bytes]
Run = tuple[bytes, bytes, int]
Key = int | tuple[Run, ...]


class Language:
    """The language of one pattern: its arena of terms, its first term, and the stretches of symbols it tells apart."""

    def __init__(self, pattern: str, dialect: Dialect) -> None:
        """Read the pattern; a language without members is refused."""
        self.terms = Terms()
        self.is_bytes = dialect == "bytes"
        self.start = read(pattern, dialect, self.terms)
        if self.start == NONE:
            raise PatternRefused(0, "no string at all is in this language")
        sets = (numbers for kind, numbers in self.terms.nodes if kind == "set")
        family = (tuple(zip(edges[::2], edges[1::2], strict=True)) for edges in sets)
        self.stretches = stretches(family, BYTES if self.is_bytes else SCALARS)

    def after(self, term: int, symbol: int) -> int:
        """The derivative of a term by a symbol, which the first symbol of its stretch stands for."""
        return self.terms.known_derivative(term, self.stretches.first(symbol))

    def after_text(self, text: str) -> int:
        """The derivative of the pattern by all characters of a text."""
        term = self.start
        for character in text:
            term = self.after(term, ord(character))
        return term

    def after_bytes(self, data: bytes) -> int:
        """The derivative of the pattern by all bytes."""
        term = self.start
        for byte in data:
            term = self.after(term, byte)
        return term

    def is_accepting(self, state: State) -> bool:
        """Whether what led to the state is a member: the term is nullable and no character is cut."""
        return self.terms.nullable[state[0]] and not state[1]

    def step(self, state: State, byte: int) -> State | None:
        """The state after one more byte, None when nothing can follow."""
        term, pending = state
        if self.is_bytes:
            after = self.after(term, byte)
            return None if after == NONE else (after, b"")
        data = pending + bytes((byte,))
        character = _decoded(data)
        if character is None:
            return (term, data) if self.ahead(term, data) else None
        after = self.after(term, ord(character))
        return None if after == NONE else (after, b"")

    def ahead(self, term: int, pending: bytes) -> tuple[Run, ...]:
        """What can complete the pending bytes: runs (first, last, term after) of completions, in order.

        Two cuts with the same runs have the same future, whatever came before them.
        """
        runs: list[tuple[int, int, int]] = []
        for low, high in self._pieces(*begun(pending)):
            after = self.after(term, low)
            if runs and runs[-1][1:] == (low - 1, after):
                runs[-1] = (runs[-1][0], high, after)
            elif after != NONE:
                runs.append((low, high, after))
        cut = len(pending)
        return tuple((_encoded(low)[cut:], _encoded(high)[cut:], after) for low, high, after in runs)

    def key(self, state: State) -> Key:
        """What tells states apart: the term between characters, the runs ahead inside one."""
        return self.ahead(*state) if state[1] else state[0]

    def _pieces(self, low: int, high: int) -> Iterator[tuple[int, int]]:
        """The interval [low, high] cut where the stretches are."""
        starts = self.stretches.starts
        for index in range(self.stretches.of(low), self.stretches.of(high) + 1 if low <= high else 0):
            end = starts[index + 1] - 1 if index + 1 < len(starts) else high
            yield max(low, starts[index]), min(high, end)


def automaton(
    pattern: str, dialect: Dialect = "bytes", *, max_states: int = 50_000
) -> tuple[list[int], list[list[int]]]:
    """The derivative automaton: the accepting states, and a table n × 256 in which −1 is dead; the start is 0.

    Every state is live and reached; states are numbered as found, and some may be equivalent (see canonical.py).
    """
    chosen = language(pattern, dialect)
    states, numbers, table = [(chosen.start, b"")], {chosen.key((chosen.start, b"")): 0}, []
    for state in states:
        row = []
        for after in _successors(chosen, state):
            if after is not None and numbers.setdefault(chosen.key(after), len(states)) == len(states):
                states.append(after)
            row.append(DEAD if after is None else numbers[chosen.key(after)])
        if len(states) > max_states:
            raise OracleLimit(f"more than {max_states} derivative states, which is the oracle's bound here")
        table.append(row)
    return [number for number, state in enumerate(states) if chosen.is_accepting(state)], table


def is_member(pattern: str, data: bytes, dialect: Dialect = "bytes") -> bool:
    """Whether the bytes are a member; in dialect `unicode` they are decoded first, and must decode."""
    chosen = language(pattern, dialect)
    if dialect == "bytes":
        return chosen.terms.nullable[chosen.after_bytes(data)]
    try:
        return chosen.terms.nullable[chosen.after_text(data.decode("utf-8"))]
    except UnicodeDecodeError:
        return False


def is_viable(pattern: str, data: bytes, dialect: Dialect = "bytes") -> bool:
    """Whether some member begins with the bytes, which may end inside a character."""
    chosen = language(pattern, dialect)
    if dialect == "bytes":
        return chosen.after_bytes(data) != NONE
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        term = chosen.after_text(decoder.decode(data))
    except UnicodeDecodeError:
        return False
    pending = decoder.getstate()[0]
    return bool(chosen.ahead(term, pending)) if pending else term != NONE


@lru_cache(maxsize=64)
def language(pattern: str, dialect: Dialect = "bytes") -> Language:
    """The language of a pattern, kept for the questions that follow."""
    return Language(pattern, dialect)


@cache
def begun(pending: bytes) -> tuple[int, int]:
    """The interval (first, last) of code points whose UTF-8 begins with the bytes; first > last when there is none."""
    codes = range(0x110000)
    first = bisect_left(codes, pending, key=_encoded)
    return first, bisect_left(codes, pending + b"\xff", key=_encoded) - 1


def _successors(chosen: Language, state: State) -> Iterator[State | None]:
    """The states after the bytes 0 to 255."""
    return (chosen.step(state, byte) for byte in range(256))


def _encoded(code: int) -> bytes:
    """The UTF-8 bytes of a code point; a surrogate, which no set holds, keeps its place in the order."""
    return chr(code).encode("utf-8", "surrogatepass")


def _decoded(data: bytes) -> str | None:
    """The character that the bytes are, None when they are none or not yet one."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return None
