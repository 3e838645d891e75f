"""The phases of the procedural decoder: one of several texts over a trie, or a value over its small automaton.

A phase ends with the fixed text that follows it, which makes its language prefix-free: where a phase is whole, it ends.
It also lets a token close a value and write some of the structure after it, as models like to do (`"}}` is one token):
with masks that stopped at the closing quote, a model that prefers such a token would go on with the string instead.
"""

from collections.abc import Iterator, Sequence
from typing import Protocol

import numpy as np

from engine.calls.grammar import Words
from engine.calls.inputs import ValueType
from engine.samples import shortest_endings
from reference.bitmasks import pack
from reference.compile import regex_to_dfa
from reference.dfa import DEAD
from reference.lookahead import forced_bytes
from reference.masks import TokenIndex
from reference.schema import INTEGER, NUMBER, STRING, escape
from reference.vocabulary import Vocabulary


class Phase(Protocol):
    """One stretch of a call; states are integers, 0 is its beginning."""

    def is_end(self, state: int) -> bool:
        """Whether the phase is whole."""

    def forced(self, state: int) -> bytes:
        """Bytes that must come within this phase."""

    def bitmask(self, state: int) -> Words:
        """The packed mask of tokens that stay within this phase."""

    def step(self, state: int, data: bytes) -> int:
        """The state after bytes, DEAD when the phase cannot hold them."""

    def ending(self, state: int) -> bytes:
        """A shortest way to the end of the phase."""


class Spellings:
    """Token ids by their bytes, and packed masks of ids."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        """Index the tokens that stand for text."""
        self.vocabulary = vocabulary
        self._ids: dict[bytes, list[int]] = {}
        for token, data in enumerate(vocabulary.tokens):
            if data and token not in vocabulary.eos:
                self._ids.setdefault(data, []).append(token)

    def mask_of(self, texts: set[bytes]) -> Words:
        """The packed mask of all tokens whose bytes are one of these."""
        mask = np.zeros(len(self.vocabulary), np.bool_)
        mask[[token for text in texts for token in self._ids.get(text, ())]] = True
        return pack(mask)


class Texts:
    """One of several texts, none the beginning of another, over their trie."""

    def __init__(self, texts: Sequence[bytes], spellings: Spellings) -> None:
        """Build the trie; its nodes are numbered as they are made, the root is 0."""
        self._children: list[dict[int, int]] = [{}]
        self._spellings = spellings
        self._masks: dict[int, Words] = {}
        self.ends = {self._add(text): position for position, text in enumerate(texts)}

    def is_end(self, state: int) -> bool:
        """Whether a text is whole."""
        return state in self.ends

    def forced(self, state: int) -> bytes:
        """The way down while there is one way only."""
        way = bytearray()
        while len(self._children[state]) == 1:
            ((byte, state),) = self._children[state].items()
            way.append(byte)
        return bytes(way)

    def bitmask(self, state: int) -> Words:
        """Tokens whose bytes lead down the trie."""
        if state not in self._masks:
            self._masks[state] = self._spellings.mask_of(set(self._below(state, b"")))
        return self._masks[state]

    def step(self, state: int, data: bytes) -> int:
        """The node after bytes, DEAD when there is none."""
        for byte in data:
            state = self._children[state].get(byte, DEAD)
            if state == DEAD:
                break
        return state

    def ending(self, state: int) -> bytes:
        """The shortest text below, the first in byte order of those."""
        wholes = [data for data in self._below(state, b"") if self.is_end(self.step(state, data))]
        return b"" if self.is_end(state) else min(wholes, key=lambda data: (len(data), data))

    def _add(self, text: bytes) -> int:
        node = 0
        for byte in text:
            if byte not in self._children[node]:
                self._children[node][byte] = len(self._children)
                self._children.append({})
            node = self._children[node][byte]
        return node

    def _below(self, state: int, way: bytes) -> Iterator[bytes]:
        """All ways down from a node, the empty one left out."""
        queue = [(state, way)]
        for node, way in queue:
            for byte, child in self._children[node].items():
                yield way + bytes([byte])
                queue.append((child, way + bytes([byte])))


class Value:
    """A value over the masks of its small automaton."""

    def __init__(self, pattern: str, vocabulary: Vocabulary) -> None:
        """Compile the prefix-free pattern of the value and what follows it."""
        self._dfa = regex_to_dfa(pattern)
        self._index = TokenIndex(self._dfa, vocabulary)
        self._endings = shortest_endings(self._dfa)

    def is_end(self, state: int) -> bool:
        """Whether the value and what follows it are whole."""
        return bool(self._dfa.accept[state])

    def forced(self, state: int) -> bytes:
        """What every completion goes on with."""
        return forced_bytes(self._dfa, state)

    def bitmask(self, state: int) -> Words:
        """The mask of the state; a position is never at the end of a phase, so that EOS is not in it."""
        return self._index.bitmask(state)

    def step(self, state: int, data: bytes) -> int:
        """δ*(state, data)."""
        return self._dfa.step(state, data)

    def ending(self, state: int) -> bytes:
        """The shortest way to acceptance."""
        return self._endings[state]


def value_phase(kind: ValueType, follower: str, spellings: Spellings) -> Phase:
    """The phase of a value of this type and the fixed text after it."""
    if kind == "boolean":
        return Texts([f"{word}{follower}".encode() for word in ("true", "false")], spellings)
    patterns = {"string": STRING, "integer": INTEGER, "number": NUMBER}
    return Value(patterns[kind] + escape(follower), spellings.vocabulary)
