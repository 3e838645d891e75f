"""The walk over the token trie from many states at once, level by level, along live (node, state) pairs only.

A pair whose state is DEAD is dropped with its whole subtree. A pair whose state loops on every byte under its node is
settled with its whole subtree: all tokens there are allowed and end in that same state. Every byte of every token that
remains is walked from the state that the byte before it led to. Next: masks, lookahead.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from reference.automata import Steps
from reference.trie import Ints, TokenTrie


class Ranges(NamedTuple):
    """Allowed tokens order[first:end] that lead from states[origin] to `state`, elementwise; ranges are not empty."""

    origin: Ints
    state: Ints
    first: Ints
    end: Ints


def walk(trie: TokenTrie, steps: Steps, states: Ints) -> Iterator[Ranges]:
    """All tokens that live from each of the states; no (origin, token) comes twice."""
    node, state = np.zeros(len(states), np.int32), states
    origin = np.arange(len(states), dtype=np.int32)
    while len(node):
        settled = (trie.below[node] & ~steps.loops(state)) == 0
        first = trie.first[node]
        end = np.where(settled, trie.end[node], trie.own_end[node])
        some = np.flatnonzero(end > first)
        if len(some):
            yield Ranges(origin[some], state[some], first[some], end[some])
        open_pairs = np.flatnonzero(~settled)
        node, origin, state = _step_down(trie, steps, node[open_pairs], origin[open_pairs], state[open_pairs])


def _step_down(
    trie: TokenTrie, steps: Steps, node: Ints, origin: Ints, state: Ints
) -> tuple[Ints, Ints, Ints]:
    """The live pairs among the children of these pairs."""
    count = trie.children[node]
    before = np.cumsum(count) - count
    child = np.repeat((trie.child[node] - before).astype(np.int32), count)
    child += np.arange(len(child), dtype=np.int32)
    reached = steps.step(np.repeat(state, count), trie.byte[child])
    live = np.flatnonzero(reached >= 0)
    return child[live], np.repeat(origin, count)[live], reached[live]
