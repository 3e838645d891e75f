"""The automaton decoder's grammar: the same language of calls, through schema, pattern and canonical automaton.

Nothing here knows of names, arguments or values. Tokens may reach over what are phases to the procedural decoder, so
the two allow different tokens at some places; the calls that they can write are the same set.
"""

from collections.abc import Sequence

from engine.calls.grammar import Words, call_pattern
from engine.calls.inputs import Function
from engine.samples import shortest_endings
from reference.compile import regex_to_dfa
from reference.dfa import DEAD
from reference.lookahead import forced_bytes
from reference.masks import TokenIndex
from reference.vocabulary import Vocabulary


class Compiled:
    """The language of calls as one automaton; a Grammar whose positions are states."""

    start: int = 0

    def __init__(self, functions: Sequence[Function], vocabulary: Vocabulary) -> None:
        """Compile; all masks are made at once."""
        self.dfa = regex_to_dfa(call_pattern(functions))
        self.index = TokenIndex(self.dfa, vocabulary)
        self.index.bitmask_table()
        self._endings = shortest_endings(self.dfa)

    def is_complete(self, position: int) -> bool:
        """Whether the bytes so far are a call; a call is no beginning of another."""
        return bool(self.dfa.accept[position])

    def forced(self, position: int) -> bytes:
        """The longest bytes that every completion starts with."""
        return forced_bytes(self.dfa, position)

    def bitmask(self, position: int) -> Words:
        """The packed mask of the state."""
        return self.index.bitmask(position)

    def advance(self, position: int, token: int) -> int:
        """The state after an allowed token."""
        return self.index.next_state(position, token)

    def step(self, position: int, data: bytes) -> int | None:
        """δ*(position, data)."""
        after = self.dfa.step(position, data)
        return None if after == DEAD else after

    def ending(self, position: int) -> bytes:
        """The shortest way to acceptance."""
        return self._endings[position]
