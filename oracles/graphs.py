"""States as nodes: what networkx says of reachability, over bytes and over the tokens of a vocabulary.

Two graphs. Over bytes, s → t where some byte leads from s to t: every state of a trim automaton is reachable from the
start and reaches acceptance. Over tokens, s → t where some token's bytes lead from s to t, and s → END where the output
may end: a state that is live over bytes can still be *stuck* (no token goes on) or a *dead end* (tokens go on and none
ever reaches END). The pitfall is a token that is cut by a dead byte: all of its bytes are walked, here for the whole
vocabulary at once, one column of bytes after the other, and never through a trie. The witnesses are paths of token ids.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias

import networkx as nx
import numpy as np

from oracles.errors import OracleError

DEAD = -1
END = -1
"""The node of whole outputs, beside the states 0, 1, …"""

Table: TypeAlias = Sequence[Sequence[int]]
Graph: TypeAlias = Any  # nx.DiGraph
Ints: TypeAlias = "np.ndarray[Any, np.dtype[np.int64]]"


@dataclass(frozen=True, slots=True)
class Idle:
    """A state that a trim automaton would not have, and why."""

    state: int
    why: str

    def __str__(self) -> str:
        """The state's number and the reason."""
        return f"{self.state} {self.why}"


@dataclass(frozen=True, slots=True)
class Trap:
    """A state from which this vocabulary cannot finish, and a shortest way to it in token ids (None: there is none)."""

    state: int
    path: tuple[int, ...] | None

    def __str__(self) -> str:
        """The state's number and the way to it."""
        if self.path is None:
            return f"{self.state}, which no tokens reach"
        return f"{self.state}, reached by tokens {list(self.path)}"


@dataclass(frozen=True, slots=True)
class Component:
    """States that tokens lead around in, the tokens to the least of them and the tokens once around it."""

    states: tuple[int, ...]
    path: tuple[int, ...] | None
    cycle: tuple[int, ...]


def untrimmed(accept: Iterable[int], table: Table) -> list[Idle]:
    """The states that the start does not reach, and those from which acceptance is not reached."""
    graph = byte_graph(table)
    reached = {0} | nx.descendants(graph, 0)
    graph.add_node(END)
    graph.add_edges_from((state, END) for state in set(accept))
    finishing = nx.ancestors(graph, END)
    idle = [
        Idle(state, "is not reached from the start") for state in range(len(table)) if state not in reached
    ]
    return idle + [
        Idle(state, "does not reach acceptance") for state in range(len(table)) if state not in finishing
    ]


def byte_graph(table: Table) -> Graph:
    """s → t where a byte leads from s to t."""
    graph = nx.DiGraph()
    graph.add_nodes_from(range(len(table)))
    graph.add_edges_from(
        (state, int(target)) for state, row in enumerate(table) for target in set(row) - {DEAD}
    )
    return graph


def token_graph(
    accept: Iterable[int], table: Table, tokens: Sequence[bytes | None], eos: Iterable[int]
) -> Graph:
    """s → t labelled with the least id that leads there; s → END where s accepts, labelled with the least EOS id.

    A vocabulary without EOS ends an output as soon as it is whole: the label is None then.
    """
    ends = set(eos)
    ending = min(ends, default=None)
    graph = nx.DiGraph(has_eos=ending is not None)
    graph.add_nodes_from([*range(len(table)), END])
    texts = [None if i in ends else token for i, token in enumerate(tokens)]
    for state, ids, targets in token_steps(table, texts):
        found, first = np.unique(targets, return_index=True)
        graph.add_edges_from(
            (state, int(t), {"token": int(ids[i])}) for t, i in zip(found, first, strict=True)
        )
    graph.add_edges_from((state, END, {"token": ending}) for state in accept)
    return graph


def token_steps(table: Table, tokens: Sequence[bytes | None]) -> Iterator[tuple[int, Ints, Ints]]:
    """For each state: the ids whose bytes all stay live from it, ascending, and the states they lead to."""
    matrix = np.asarray(table, dtype=np.int64)
    if matrix.ndim != 2 or matrix.shape[1] != 256:
        raise OracleError(f"automaton: a table of shape {matrix.shape} has not 256 columns")
    columns = _columns(tuple(tokens))
    every = np.array([i for i, token in enumerate(tokens) if token], dtype=np.int64)
    for state in range(len(matrix)):
        ids, at = every, np.full(every.size, state, dtype=np.int64)
        for column in columns:
            byte = column[ids]
            at = np.where(byte < 0, at, matrix[at, byte])
            ids, at = ids[at >= 0], at[at >= 0]
        yield state, ids, at


def stuck(
    accept: Iterable[int], table: Table, tokens: Sequence[bytes | None], eos: Iterable[int]
) -> list[Trap]:
    """The states that are not accepting and from which no token goes on."""
    graph = token_graph(accept, table, tokens, eos)
    return _traps(graph, (state for state in range(len(table)) if graph.out_degree(state) == 0))


def dead_ends(
    accept: Iterable[int], table: Table, tokens: Sequence[bytes | None], eos: Iterable[int]
) -> list[Trap]:
    """The states from which no sequence of tokens, of any length, makes the output whole; stuck ones are among them."""
    graph = token_graph(accept, table, tokens, eos)
    finishing = nx.ancestors(graph, END)
    return _traps(graph, (state for state in range(len(table)) if state not in finishing))


def distances(
    accept: Iterable[int], table: Table, tokens: Sequence[bytes | None], eos: Iterable[int]
) -> list[int]:
    """For each state the least number of tokens that end the output, EOS counted where there is one; −1: none does."""
    graph = token_graph(accept, table, tokens, eos)
    steps = nx.single_source_shortest_path_length(graph.reverse(copy=False), END)
    spare = 0 if graph.graph["has_eos"] else 1
    return [steps[state] - spare if state in steps else DEAD for state in range(len(table))]


def shortest_ending(graph: Graph, state: int) -> tuple[int, ...] | None:
    """Token ids of a shortest way from a state of a token graph to END, EOS last where the vocabulary has one."""
    return _tokens(graph, state, END)


def components(
    accept: Iterable[int], table: Table, tokens: Sequence[bytes | None], eos: Iterable[int]
) -> list[Component]:
    """The strongly connected components of the token graph in which output can go on without end."""
    graph = token_graph(accept, table, tokens, eos)
    circling = (c for c in nx.strongly_connected_components(graph) if graph.subgraph(c).number_of_edges())
    return [_component(graph, tuple(sorted(states))) for states in sorted(circling, key=min)]


@lru_cache(maxsize=2)
def _columns(tokens: tuple[bytes | None, ...]) -> list[Any]:
    """Column k: each token's byte k, −1 past its end; kept for the vocabulary that many languages are asked over."""
    longest = max((len(token) for token in tokens if token), default=0)
    columns = np.full((longest, len(tokens)), -1, dtype=np.int16)
    for i, token in enumerate(tokens):
        if token:
            columns[: len(token), i] = np.frombuffer(token, dtype=np.uint8)
    return list(columns)


def _traps(graph: Graph, states: Iterable[int]) -> list[Trap]:
    return [Trap(state, _tokens(graph, 0, state)) for state in states]


def _component(graph: Graph, states: tuple[int, ...]) -> Component:
    least, inside = states[0], graph.subgraph(states)
    ways = [(graph.edges[least, t]["token"], _tokens(inside, t, least)) for t in inside.successors(least)]
    cycles = [(token, *way) for token, way in ways if way is not None]
    return Component(states, _tokens(graph, 0, least), min(cycles, key=len))


def _tokens(graph: Graph, source: int, target: int) -> tuple[int, ...] | None:
    """Labels along a shortest path, None when there is none."""
    try:
        nodes = nx.shortest_path(graph, source, target)
    except nx.NetworkXNoPath:
        return None
    labels = (graph.edges[edge]["token"] for edge in nx.utils.pairwise(nodes))
    return tuple(label for label in labels if label is not None)
