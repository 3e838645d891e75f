"""Looking ahead before a token is drawn: forced bytes, the tokens an output still needs, states with no way out.

All of it comes from two graphs over the states: bytes, where every state is live, and tokens, where one may not be: the
vocabulary may lack a token that the language asks for. Such a state is *stuck*, and is found before generation.
Next: budget, sampling.
"""

from operator import index as as_int
from typing import NamedTuple

import numpy as np

from reference.automata import DEAD, Table
from reference.errors import MaskError
from reference.masks import TokenIndex
from reference.token_graph import TokenGraph, token_graph
from reference.trie import Ints

_BYTES = np.arange(256)


def forced_bytes(automaton: Table | TokenIndex, state: int) -> bytes:
    """The longest byte string that every completion from this state starts with: one live byte after the other.

    It ends at a state that accepts, since the empty completion starts with nothing else. An automaton without a table
    is asked through its TokenIndex.
    """
    state = (
        automaton.check_state(state) if isinstance(automaton, TokenIndex) else _table_state(automaton, state)
    )
    forced, seen = bytearray(), set()
    while not _accepts(automaton, state):
        reached = _after_each_byte(automaton, state)
        live = np.flatnonzero(reached >= 0)
        if len(live) == 0 or state in seen:
            raise MaskError(
                f"state {state} cannot reach acceptance; give an automaton whose states are all live"
            )
        if len(live) > 1:
            break
        seen.add(state)
        forced.append(int(live[0]))
        state = int(reached[live[0]])
    return bytes(forced)


def _table_state(table: Table, state: int) -> int:
    """A state of a table, as a plain int."""
    number = as_int(state)
    if not 0 <= number < len(table.accept):
        raise MaskError(f"state {number} is not one of 0 … {len(table.accept) - 1}; start from 0 and step")
    return number


def _accepts(automaton: Table | TokenIndex, state: int) -> bool:
    """Whether the state accepts."""
    return (
        automaton.is_accepting(state) if isinstance(automaton, TokenIndex) else bool(automaton.accept[state])
    )


def _after_each_byte(automaton: Table | TokenIndex, state: int) -> Ints:
    """δ(state, b) for b of 0 to 255."""
    if isinstance(automaton, TokenIndex):
        return automaton.steps.step(np.full(256, state), _BYTES)
    return np.asarray(automaton.trans[state], np.intp)


def token_distances(index: TokenIndex) -> Ints:
    """Per state the fewest tokens to the end of a whole output, EOS counted; DEAD where tokens cannot get there.

    Without EOS in the vocabulary an output ends where it is whole: an accepting state has distance 0, with EOS 1.
    """
    return token_graph(index).distances


class StuckState(NamedTuple):
    """A state that tokens lead into and not to a whole output: a shortest path to it, and how many tokens it allows.

    `allowed` is 0 where nothing can follow at all; elsewhere what follows leads to such states or round for ever.
    """

    state: int
    path: tuple[int, ...]
    allowed: int


def stuck_states(index: TokenIndex) -> list[StuckState]:
    """Every stuck state that tokens lead into from the start, nearest first; none means that masks never run out.

    Each path has the fewest tokens there are; its states are the lowest, and its tokens the lowest between them.
    """
    graph = token_graph(index)
    level = graph.onward.levels(np.zeros(1, np.intp))
    stuck = np.flatnonzero((level != DEAD) & (graph.distances == DEAD)).tolist()
    stuck.sort(key=lambda state: (level[state], state))
    return [
        StuckState(state, _path(index, graph, level, state), len(index.allowed(state))) for state in stuck
    ]


def _path(index: TokenIndex, graph: TokenGraph, level: Ints, state: int) -> tuple[int, ...]:
    """Tokens from the start to a state, found backwards: at each step the lowest state that is one level nearer."""
    tokens: list[int] = []
    while level[state] > 0:
        before = graph.back.others(state)
        origin = int(before[level[before] == level[state] - 1].min())
        tokens.append(int((index.successors(origin) == state).argmax()))
        state = origin
    return tuple(reversed(tokens))
