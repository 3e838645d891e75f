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
    """Allowed tokens order[first:end] that lead from states[origin] to `state`, elementwise; none is empty."""

    origin: Ints
    state: Ints
    first: Ints
    end: Ints


def walk(trie: TokenTrie, steps: Steps, states: Ints) -> Iterator[Ranges]:
    """All tokens that live from each of the states; no (origin, token) comes twice."""
    node, state, origin = np.zeros(len(states), np.intp), states.astype(np.intp), np.arange(len(states))
    while node.size:
        is_open = (trie.below.take(node) & ~steps.loops(state)) != 0
        first = trie.first.take(node)
        end = np.where(is_open, trie.own_end.take(node), trie.end.take(node))
        some = (end > first).nonzero()[0]
        if some.size:
            yield Ranges(origin.take(some), state.take(some), first.take(some), end.take(some))
        pair, child = _children(trie, node, is_open.nonzero()[0])
        reached = steps.step(state.take(pair), trie.byte.take(child))
        live = (reached >= 0).nonzero()[0]
        node, origin, state = child.take(live), origin.take(pair.take(live)), reached.take(live)


def _children(trie: TokenTrie, node: Ints, pairs: Ints) -> tuple[Ints, Ints]:
    """For every child of the nodes of these pairs, the pair that it comes from and the child."""
    parent = node.take(pairs)
    count = trie.children.take(parent)
    before = count.cumsum() - count
    child = (trie.child.take(parent) - before).repeat(count)
    return pairs.repeat(count), child + np.arange(child.size)
