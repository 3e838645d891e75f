"""The token graph: states, and an edge wherever some allowed token leads from one to another.

Most tokens of a large vocabulary lead from a state to few others, so that the graph is small where the mask table is
not. Next: lookahead, budget.
"""

from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np

from reference.automata import DEAD
from reference.bitmasks import places_of
from reference.masks import TokenIndex
from reference.trie import Ints

_STATES_AT_ONCE = 64


class Edges:
    """Edges between n states, found by one of their ends in one slice."""

    def __init__(self, by: Ints, other: Ints, n_states: int) -> None:
        """Sort the edges by the one end, then by the other."""
        self._other = other[np.lexsort((other, by))]
        count = np.bincount(by, minlength=n_states)
        self._end = count.cumsum()
        self._first = self._end - count

    def others(self, state: int) -> Ints:
        """The other ends of the edges of one state, ascending."""
        return self._other[self._first[state] : self._end[state]]

    def levels(self, seeds: Ints) -> Ints:
        """Per state the fewest edges from one of the seeds; DEAD where none leads."""
        level, depth, frontier = np.full(len(self._end), DEAD), 0, seeds
        while len(frontier):
            level[frontier] = depth
            reached = np.unique(self._other[places_of(self._first[frontier], self._end[frontier])])
            frontier = reached[level[reached] == DEAD]
            depth += 1
        return level


@dataclass(frozen=True, slots=True)
class TokenGraph:
    """Edges by origin (`onward`) and by target (`back`); per state the fewest tokens to the end, DEAD for no way."""

    onward: Edges
    back: Edges
    distances: Ints


_GRAPHS: WeakKeyDictionary[TokenIndex, TokenGraph] = WeakKeyDictionary()


def token_graph(index: TokenIndex) -> TokenGraph:
    """The token graph of an index, made once and kept as long as the index lives."""
    graph = _GRAPHS.get(index)
    if graph is None:
        graph = _GRAPHS[index] = _graph(index)
    return graph


def _graph(index: TokenIndex) -> TokenGraph:
    """Edges, then breadth-first against them from the accepting states; one more token where an output ends by EOS."""
    origin, target = _joined_pairs(index)
    onward, back = (Edges(*ends, index.n_states) for ends in ((origin, target), (target, origin)))
    accepting = np.flatnonzero([index.is_accepting(state) for state in range(index.n_states)])
    level = back.levels(accepting)
    return TokenGraph(onward, back, np.where(level == DEAD, DEAD, level + bool(index.vocabulary.eos)))


def _joined_pairs(index: TokenIndex) -> tuple[Ints, Ints]:
    """The pairs of states (origin, target) that some token with bytes joins, each once, ascending."""
    every, n_states = index.all_states(), index.n_states
    pairs = [np.zeros(0, np.intp)]
    for start in range(0, n_states, _STATES_AT_ONCE):
        states = every[start : start + _STATES_AT_ONCE]
        found = [states[ranges.origin] * n_states + ranges.state for ranges in index.ranges(states)]
        pairs += [np.unique(np.concatenate(found))] if found else []
    joined = np.concatenate(pairs)
    return joined // n_states, joined % n_states
