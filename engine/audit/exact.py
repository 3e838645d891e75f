"""The truth an engine is held to: the exact mask of every state, and a shortest token path to each.

A state is the reference's canonical state, or DONE once EOS was taken. Masks are packed as the protocol packs them,
so that a comparison over a whole vocabulary is one XOR of two byte rows. The masks themselves are the reference's
(`reference.masks`), which `maskproof verify` holds to the oracles.
"""

from collections import deque
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from engine.audit.policies import Policy, language
from engine.audit.scenario import Grammar
from engine.protocol import Packed
from reference.dfa import DEAD, Dfa
from reference.masks import TokenIndex
from reference.vocabulary import Vocabulary

DONE = -2
Path = tuple[int, ...]


class Exact:
    """The exact masks of one grammar over one vocabulary, under the policy that a port declares."""

    def __init__(self, grammar: Grammar, vocabulary: Vocabulary, policy: Policy) -> None:
        """Compile the grammar and index the vocabulary; raises Refused for a grammar outside the reference's subset."""
        self.grammar, self.vocabulary, self.policy = grammar, vocabulary, policy
        self.dfa: Dfa = compiled(grammar, policy)
        self.index = TokenIndex(self.dfa, vocabulary)
        self.width = -(-len(vocabulary) // 8)
        self._masks: dict[int, Packed] = {DONE: np.zeros(self.width, np.uint8)}
        self._rows: dict[int, list[int]] = {}
        self._paths: dict[int, Path] = {}
        self._firsts: dict[int, tuple[list[int], list[int]]] = {}

    def mask(self, state: int) -> Packed:
        """The packed mask of a state, uint8[ceil(V/8)]: nothing when DONE."""
        found = self._masks.get(state)
        if found is None:
            found = self._masks[state] = self.index.bitmask(state).view(np.uint8)[: self.width]
        return found

    def is_complete(self, state: int) -> bool:
        """Whether the bytes so far are a member."""
        return state == DONE or bool(self.dfa.accept[state])

    def after(self, state: int, token: int) -> int:
        """The state after a token, DEAD when it is not allowed, DONE after EOS."""
        if state == DONE or not 0 <= token < len(self.vocabulary) or not self.is_allowed(state, token):
            return DEAD
        return (
            DONE if token in self.vocabulary.eos else self.step(state, self.vocabulary.tokens[token] or b"")
        )

    def step(self, state: int, data: bytes) -> int:
        """The state after some bytes, as `Dfa.step`; rows are turned to lists when they are met."""
        for byte in data:
            if state == DEAD:
                break
            row = self._rows.get(state)
            if row is None:
                row = self._rows[state] = self.dfa.trans[state].tolist()
            state = row[byte]
        return state

    def is_allowed(self, state: int, token: int) -> bool:
        """Whether the mask of the state has the token."""
        return bool(self.mask(state)[token // 8] >> (token % 8) & 1)

    def follow(self, path: Path, state: int = 0) -> int:
        """The state after a path of tokens, DEAD when one of them is not allowed."""
        for token in path:
            state = self.after(state, token)
            if state == DEAD:
                break
        return state

    def paths(self) -> dict[int, Path]:
        """For every state that tokens reach from the start a shortest token path, found breadth-first, once."""
        if not self._paths:
            self._paths[0] = ()
            queue = deque([0])
            while queue:
                state = queue.popleft()
                for target, token in zip(*self.first_tokens(state), strict=True):
                    if target not in self._paths:
                        self._paths[target] = (*self._paths[state], token)
                        queue.append(target)
        return self._paths

    def first_tokens(self, state: int) -> tuple[list[int], list[int]]:
        """The states that one token with bytes leads to, and for each the lowest such token."""
        if state not in self._firsts:
            after = self.index.successors(state)
            after[sorted(self.vocabulary.eos)] = DEAD
            targets, tokens = np.unique(after, return_index=True)
            alive = targets != DEAD
            self._firsts[state] = (targets[alive].tolist(), tokens[alive].tolist())
        return self._firsts[state]


@lru_cache(maxsize=256)
def exact(grammar: Grammar, vocabulary: Vocabulary, policy: Policy) -> Exact:
    """The exact masks, kept for the grammars asked last."""
    return Exact(grammar, vocabulary, policy)


@lru_cache(maxsize=256)
def compiled(grammar: Grammar, policy: Policy) -> Dfa:
    """The canonical automaton of a grammar under a policy."""
    return language(grammar.kind, grammar.source, policy)


def ids(packed: Packed, size: int) -> npt.NDArray[np.intp]:
    """The token ids of a packed mask, ascending."""
    return np.flatnonzero(np.unpackbits(packed, count=size, bitorder="little"))
