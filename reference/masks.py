"""Token masks: for every state, which tokens keep the output finishable.

Token t is allowed in state s iff δ*(s, bytes(t)) ≠ DEAD, all of its bytes walked; a special or an empty token never;
an EOS id exactly when s accepts, whatever bytes it has. Masks are made when they are first asked for, kept, and shared
by every constraint on the index: they are read-only. Next: constraint, lookahead.
"""

from operator import index as as_int

import numpy as np

from reference.automata import DEAD, ByteAutomaton, Steps, Table, steps_of
from reference.bitmasks import Bools, Words, places_of, set_rows, unpack, words
from reference.errors import MaskError
from reference.trie import Ints, TokenTrie, trie_of
from reference.vocabulary import Vocabulary
from reference.walk import Ranges, walk

_STATES_AT_ONCE = 64
_KEPT_BOOL_ROWS = 512


class TokenIndex:
    """The token masks of one automaton over one vocabulary; state 0 is the start."""

    def __init__(self, automaton: Table | ByteAutomaton, vocabulary: Vocabulary) -> None:
        """Take any automaton whose states are all live: a table such as a Dfa, or a ByteAutomaton."""
        self.automaton, self.vocabulary = automaton, vocabulary
        self.steps: Steps = steps_of(automaton)
        self.trie: TokenTrie = trie_of(vocabulary)
        self._eos = np.zeros(words(len(vocabulary)), np.uint32)
        for token in vocabulary.eos:
            self._eos[token // 32] |= np.uint32(1 << token % 32)
        self._rows: dict[int, Words] = {}
        self._masks: dict[int, Bools] = {}
        self._table: Words | None = None

    def __len__(self) -> int:
        """V, the width of a mask."""
        return len(self.vocabulary)

    @property
    def n_states(self) -> int:
        """The number of states; for an automaton without a table, of those met so far."""
        return len(self.steps)

    def is_accepting(self, state: int) -> bool:
        """Whether an output that led to this state is whole."""
        return self.steps.is_accepting(self.check_state(state))

    def bitmask(self, state: int) -> Words:
        """The packed mask of a state, uint32[W], padding bits 0; rows that were made are kept (19 KB for Qwen3)."""
        state = self.check_state(state)
        row = self._rows.get(state)
        if row is None:
            row = self._made(np.array([state], np.intp))[0]
            row.setflags(write=False)
            self._rows[state] = row
        return row

    def mask(self, state: int) -> Bools:
        """The mask of a state, bool[V]."""
        state = self.check_state(state)
        mask = self._masks.get(state)
        if mask is None:
            if len(self._masks) >= _KEPT_BOOL_ROWS:
                self._masks.clear()
            mask = unpack(self.bitmask(state), len(self))
            mask.setflags(write=False)
            self._masks[state] = mask
        return mask

    def allowed(self, state: int) -> list[int]:
        """The allowed ids of a state, ascending."""
        ids: list[int] = np.flatnonzero(self.mask(state)).tolist()
        return ids

    def bitmask_table(self) -> Words:
        """The packed masks of all states, uint32[n, W], read-only; from then on a state's row is a view of it."""
        if self._table is None:
            self._table = self._made(self.all_states())
            self._table.setflags(write=False)
            self._rows = dict(enumerate(self._table))
        return self._table

    def table(self) -> Bools:
        """The masks of all states, bool[n, V], unpacked anew at every call."""
        return unpack(self.bitmask_table(), len(self))

    def next_state(self, state: int, token: int) -> int:
        """δ*(state, bytes(token)) when the token is allowed; an allowed EOS moves no bytes and leaves the state."""
        state, token = self.check_state(state), self.check_token(token)
        if token in self.vocabulary.eos:
            reached = state if self.steps.is_accepting(state) else DEAD
        else:
            reached = self._walked(state, self.vocabulary.tokens[token] or b"")
        if reached == DEAD:
            raise MaskError(
                f"token {token} ({self.describe(token)}) is not allowed in state {state}; ask mask() first"
            )
        return reached

    def successors(self, state: int) -> Ints:
        """Per token the state after it, [V]; DEAD where it is not allowed, the state itself for an allowed EOS."""
        state = self.check_state(state)
        reached = np.full(len(self), DEAD, np.intp)
        for ranges in self.ranges(np.array([state], np.intp)):
            tokens = self.trie.order[places_of(ranges.first, ranges.end)]
            reached[tokens] = np.repeat(ranges.state, ranges.end - ranges.first)
        if self.steps.is_accepting(state):
            reached[sorted(self.vocabulary.eos)] = state
        return reached

    def ranges(self, states: Ints) -> list[Ranges]:
        """All tokens with bytes that live from these states, as ranges of the trie's order."""
        return list(walk(self.trie, self.steps, states))

    def all_states(self) -> Ints:
        """0 … n − 1; an automaton without a table has no list of its states, and is refused."""
        if not self.steps.finite:
            raise MaskError("this automaton has no finite list of states; ask for one state at a time")
        return np.arange(len(self.steps))

    def check_state(self, state: int) -> int:
        """The state as an int, or a MaskError when it is not one of the automaton's."""
        return _checked(state, len(self.steps), "state", "start from 0 and advance")

    def check_token(self, token: int) -> int:
        """The token as an int, or a MaskError when it is not one of the vocabulary's."""
        return _checked(token, len(self), "token", "give an id of the vocabulary")

    def describe(self, token: int) -> str:
        """What a token is, for a message."""
        if token in self.vocabulary.eos:
            return "EOS"
        piece = self.vocabulary.tokens[token]
        return "special or padding" if piece is None else repr(piece)[1:] if piece else "empty"

    def _walked(self, state: int, piece: bytes) -> int:
        """δ*(state, piece) one byte after the other, DEAD for the empty piece, which is never allowed."""
        reached = np.array([state if piece else DEAD], np.intp)
        for value in np.frombuffer(piece, np.uint8):
            if reached[0] == DEAD:
                break
            reached = self.steps.step(reached, value[None])
        return int(reached[0])

    def _made(self, states: Ints) -> Words:
        """The packed masks of these states, made now, uint32[len(states), W]."""
        table = np.zeros((len(states), words(len(self))), np.uint32)
        for start in range(0, len(states), _STATES_AT_ONCE):
            part = slice(start, start + _STATES_AT_ONCE)
            if found := self.ranges(states[part]):
                together = Ranges(*(np.concatenate(columns) for columns in zip(*found, strict=True)))
                set_rows(table[part], together, self.trie)
        for row, state in zip(table, states.tolist(), strict=True):
            if self.steps.is_accepting(state):
                row |= self._eos
        return table


def _checked(value: int, count: int, what: str, remedy: str) -> int:
    """A plain int in 0 … count − 1."""
    try:
        number = as_int(value)
    except TypeError:
        raise MaskError(f"{what} {value!r} is not an integer; {remedy}") from None
    if not 0 <= number < count:
        raise MaskError(f"{what} {number} is not one of 0 … {count - 1}; {remedy}")
    return number
