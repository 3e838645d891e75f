"""Any deterministic automaton → the canonical one: trim, Moore, breadth-first numbering (SPEC §2).

Trim removes the states from which nothing is accepted. Moore's refinement starts from accepting against not and
splits blocks until every state of a block moves to the same block on every class; one round is not enough (pitfall
s01). The numbering takes states in the order in which bytes 0 to 255 reach them. `moore` is the definition;
`refine` is what runs: it looks again only at states that lead into a block that was split.
"""

import numpy as np
import numpy.typing as npt

from reference.dfa import DEAD
from reference.subset import ClassTable

States = npt.NDArray[np.intp]


def canonical(automaton: ClassTable) -> ClassTable:
    """The minimal trim automaton of the same language, numbered breadth-first; no states when the language is empty."""
    trimmed = trim(automaton)
    return numbered(merged(trimmed, refine(trimmed))) if len(trimmed.accept) else trimmed


def trim(automaton: ClassTable) -> ClassTable:
    """The automaton without its dead states; without any state when the start is dead."""
    live = _live(automaton)
    if not live[0]:
        return _selected(automaton, np.array([], dtype=np.intp))
    return _selected(automaton, np.flatnonzero(live))


def moore(automaton: ClassTable) -> States:
    """Block of each state, by the definition: split by (block, block after each class) until no block splits."""
    block = automaton.accept.astype(np.intp)
    while True:
        after = np.where(automaton.table == DEAD, DEAD, block[automaton.table])
        _, finer = np.unique(np.column_stack([block, after]), axis=0, return_inverse=True)
        if finer.max() + 1 == len(np.unique(block)):
            return block
        block = finer.reshape(-1)


def refine(automaton: ClassTable) -> States:
    """The blocks of `moore`, in time that follows the splits: the largest part of a block keeps its name."""
    blocks = _Blocks(automaton.accept)
    sources = _Sources(automaton.table)
    dirty = np.arange(len(automaton.accept))
    while dirty.size:
        signatures = np.column_stack([blocks.of[dirty], blocks.of[automaton.table[dirty]]])
        dirty = sources.of(blocks.split(dirty, signatures))
    return blocks.of[:-1]


def merged(automaton: ClassTable, block: States) -> ClassTable:
    """One state a block, in the order of their first states, so that the start stays 0."""
    first = np.sort(np.unique(block, return_index=True)[1])
    state_of = np.empty(block.max() + 1, dtype=np.int32)
    state_of[block[first]] = np.arange(len(first))
    table = automaton.table[first]
    renamed = np.where(table == DEAD, DEAD, state_of[block[table]]).astype(np.int32)
    return ClassTable(automaton.accept[first], renamed, automaton.byte_class)


def numbered(automaton: ClassTable) -> ClassTable:
    """The states in breadth-first order from the start, bytes in order (classes are numbered by first byte)."""
    order, seen = [0], {0, DEAD}
    for state in order:
        fresh = [target for target in dict.fromkeys(automaton.table[state].tolist()) if target not in seen]
        seen.update(fresh)
        order += fresh
    return _selected(automaton, np.array(order))


def _selected(automaton: ClassTable, states: States) -> ClassTable:
    """These states in this order; every other state becomes DEAD."""
    rename = np.full(len(automaton.accept) + 1, DEAD, dtype=np.int32)
    rename[states] = np.arange(len(states))
    return ClassTable(automaton.accept[states], rename[automaton.table[states]], automaton.byte_class)


def _live(automaton: ClassTable) -> npt.NDArray[np.bool_]:
    """The states from which an accepting state is reachable, backwards from those."""
    sources = _Sources(automaton.table)
    live = automaton.accept.copy()
    frontier = np.flatnonzero(live)
    while frontier.size:
        found = sources.of(frontier)
        frontier = found[~live[found]]
        live[frontier] = True
    return live


class _Sources:
    """The states that lead into a state, for every state."""

    def __init__(self, table: npt.NDArray[np.int32]) -> None:
        source, column = np.nonzero(table != DEAD)
        pairs = np.unique(table[source, column].astype(np.int64) * len(table) + source)
        self.source = pairs % len(table)
        self.first = np.searchsorted(pairs, np.arange(len(table) + 1) * len(table))

    def of(self, targets: States) -> States:
        """The states with an edge into any of the targets, each once."""
        pieces = [self.source[self.first[t] : self.first[t + 1]] for t in targets.tolist()]
        return np.unique(np.concatenate(pieces)) if pieces else np.array([], dtype=np.intp)


class _Blocks:
    """A partition of the states: `of[s]` is the block of state s, and `of[DEAD]` (the last entry) is DEAD's own."""

    def __init__(self, accept: npt.NDArray[np.bool_]) -> None:
        self.of = np.append(accept.astype(np.intp), DEAD)
        self.size = {0: int((~accept).sum()), 1: int(accept.sum())}

    def split(self, states: States, signatures: npt.NDArray[np.intp]) -> States:
        """Split by the signatures of one state or more, those not given being alike; the states that change block."""
        parts: dict[int, dict[bytes, list[int]]] = {}
        for state, signature in zip(states.tolist(), signatures, strict=True):
            parts.setdefault(int(signature[0]), {}).setdefault(signature.tobytes(), []).append(state)
        return np.concatenate(
            [self.split_block(block, list(groups.values())) for block, groups in parts.items()]
        )

    def split_block(self, block: int, groups: list[list[int]]) -> States:
        """Give every part of a block but the largest a name of its own."""
        rest = self.size[block] - sum(map(len, groups))
        parts = [np.array(group, dtype=np.intp) for group in groups]
        if rest and rest < max(map(len, groups)):
            outside = np.setdiff1d(np.flatnonzero(self.of == block), np.concatenate(parts))
            parts.append(outside)
            rest = 0
        if not rest:
            parts.sort(key=len)
            parts.pop()
        for part in parts:
            name = len(self.size)
            self.of[part] = name
            self.size[name] = len(part)
            self.size[block] -= len(part)
        return np.concatenate(parts) if parts else np.array([], dtype=np.intp)
