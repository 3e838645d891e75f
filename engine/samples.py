"""Members of a language, paths to its states, and pairs of state and token, drawn from its automaton with a seed."""

from collections import deque
from collections.abc import Iterator

import numpy as np

from reference.dfa import DEAD, Dfa
from reference.masks import TokenIndex


def members(dfa: Dfa, count: int, seed: int, *, longest: int = 200) -> Iterator[bytes]:
    """`count` members: random live bytes until a coin says stop at an accepting state, then the shortest way out."""
    generator = np.random.default_rng(seed)
    finish = shortest_endings(dfa)
    for _ in range(count):
        yield _member(dfa, finish, generator, longest)


def shortest_endings(dfa: Dfa) -> list[bytes]:
    """For every state a shortest byte string that leads to acceptance, the least in byte order among those."""
    endings: list[bytes | None] = [b"" if accepting else None for accepting in dfa.accept]
    queue = deque(state for state in range(dfa.n_states) if dfa.accept[state])
    before = _predecessors(dfa)
    while queue:
        state = queue.popleft()
        for source, byte in before[state]:
            if endings[source] is None:
                endings[source] = bytes([byte]) + (endings[state] or b"")
                queue.append(source)
    return [ending if ending is not None else b"" for ending in endings]


def shortest_paths(dfa: Dfa) -> list[bytes]:
    """For every state the least of the shortest byte strings that reach it from the start."""
    paths: dict[int, bytes] = {0: b""}
    queue = deque([0])
    while queue:
        state = queue.popleft()
        for byte in np.flatnonzero(dfa.trans[state] != DEAD):
            target = int(dfa.trans[state, byte])
            if target not in paths:
                paths[target] = paths[state] + bytes([byte])
                queue.append(target)
    return [paths[state] for state in range(dfa.n_states)]


def token_pairs(index: TokenIndex, count: int, seed: int) -> Iterator[tuple[int, int]]:
    """Pairs (state, token) at `count` drawn states: any token, an allowed one, the first and last id, each EOS."""
    generator = np.random.default_rng(seed)
    ends = sorted({0, len(index) - 1} | index.vocabulary.eos)
    for _ in range(count):
        state = int(generator.integers(index.n_states))
        allowed = np.flatnonzero(index.mask(state))
        drawn = [int(generator.integers(len(index))), *map(int, generator.permutation(allowed)[:1])]
        yield from ((state, token) for token in drawn + ends)


def _member(dfa: Dfa, finish: list[bytes], generator: np.random.Generator, longest: int) -> bytes:
    state, text = 0, bytearray()
    while len(text) < longest:
        live = np.flatnonzero(dfa.trans[state] != DEAD)
        if live.size == 0 or (dfa.accept[state] and generator.random() < 0.2):
            break
        # Choosing the target first keeps structure as likely as the many bytes of a string's inside.
        target = generator.choice(np.unique(dfa.trans[state, live]))
        byte = int(generator.choice(np.flatnonzero(dfa.trans[state] == target)))
        text.append(byte)
        state = int(target)
    return bytes(text) + finish[state]


def _predecessors(dfa: Dfa) -> list[list[tuple[int, int]]]:
    before: list[list[tuple[int, int]]] = [[] for _ in range(dfa.n_states)]
    for state, byte in np.argwhere(dfa.trans != DEAD):
        before[int(dfa.trans[state, byte])].append((int(state), int(byte)))
    return before
