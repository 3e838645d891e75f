"""The token trie: every prefix of every token once, so that a walk over it shares the common beginnings.

Nodes are numbered level by level, the root is 0, and the children of a node lie side by side. Tokens are sorted by
their bytes, so that the tokens under any node lie side by side too: an answer for a whole subtree is one range. EOS
ids, specials and empty tokens are not in the trie at all: no walk can allow them. Next: automata, walk, masks.
"""

from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from reference.vocabulary import Vocabulary

Ints = NDArray[np.intp]
"""Whole numbers as they index arrays."""


def _groups() -> NDArray[np.uint64]:
    """For every byte the bit of its group: neighbours that a pattern seldom tells apart share one of at most 64."""
    ascii = [*range(0x20, 0x31), *range(0x3A, 0x42), 0x47, *range(0x5B, 0x62), 0x67, *range(0x7B, 0x81)]
    utf8 = [0x90, 0xA0, 0xC0, 0xC2, 0xE0, 0xE1, 0xED, 0xEE, 0xF0, 0xF1, 0xF4, 0xF5]
    is_first = np.zeros(256, np.uint64)
    is_first[[0x09, 0x0A, 0x0B, 0x0D, 0x0E, *ascii, *utf8]] = 1
    return np.uint64(1) << np.cumsum(is_first)


GROUP = _groups()
"""Byte → its group as one bit of 64."""


def group_set(bytes_in: NDArray[np.bool_]) -> NDArray[np.uint64]:
    """Per row of a bool[n, 256] set of bytes: the groups that lie in it whole, as bits."""
    bits = np.unique(GROUP)
    whole = np.stack([bytes_in[:, bit == GROUP].all(axis=1) for bit in bits], axis=1)
    return np.asarray((whole * bits).sum(axis=1))


@dataclass(frozen=True)
class TokenTrie:
    """Prefixes of the tokens as parallel arrays over nodes; `first`, `own_end` and `end` count places in `order`.

    Tokens that end at a node are order[first:own_end], those at it or under it order[first:end]. Its children are the
    nodes child … child + children − 1; `below` has the group of every byte on an edge under it. `rank` is the inverse
    of `order` over all V ids: len(order) for an id that is not in the trie.
    """

    order: Ints
    rank: Ints
    byte: Ints
    first: Ints
    own_end: Ints
    end: Ints
    child: Ints
    children: Ints
    below: NDArray[np.uint64]

    def __len__(self) -> int:
        """The number of nodes, the root among them."""
        return len(self.byte)


_TRIES: WeakKeyDictionary[Vocabulary, TokenTrie] = WeakKeyDictionary()


def trie_of(vocabulary: Vocabulary) -> TokenTrie:
    """The trie of a vocabulary, built once and kept as long as the vocabulary lives."""
    trie = _TRIES.get(vocabulary)
    if trie is None:
        trie = _TRIES[vocabulary] = build_trie(vocabulary)
    return trie


@dataclass(frozen=True)
class _Sorted:
    """Tokens in byte order: one buffer, where each begins, its length, what it shares with the one before."""

    buffer: NDArray[np.uint8]
    offset: Ints
    length: Ints
    shared: Ints


def _sorted_tokens(pieces: list[bytes]) -> _Sorted:
    """The arrays of sorted tokens; `shared[i]` is the length of the longest common prefix of tokens i − 1 and i."""
    length = np.fromiter(map(len, pieces), np.intp)
    offset = np.cumsum(length) - length
    buffer = np.frombuffer(b"".join(pieces), np.uint8)
    shared = np.zeros(len(pieces), np.intp)
    equal, depth = np.arange(1, len(pieces)), 0
    while len(equal):
        equal = equal[np.minimum(length[equal - 1], length[equal]) > depth]
        equal = equal[buffer[offset[equal - 1] + depth] == buffer[offset[equal] + depth]]
        depth += 1
        shared[equal] = depth
    return _Sorted(buffer, offset, length, shared)


def _level_starts(tokens: _Sorted) -> list[Ints]:
    """Per depth the places of the tokens that bring a new prefix of that length; the root's level is [0]."""
    levels = [np.zeros(1, np.intp)]
    reaching, depth = np.arange(len(tokens.length), dtype=np.intp), 1
    while len(reaching := reaching[tokens.length[reaching] >= depth]):
        levels.append(reaching[tokens.shared[reaching] < depth])
        depth += 1
    return levels


def _own_ends(tokens: _Sorted, levels: list[Ints]) -> list[Ints]:
    """Per node the end of the run of tokens whose bytes are exactly its prefix, which sort before what it begins."""
    length, count = tokens.length, len(tokens.length)
    repeated = np.zeros(count, np.bool_)
    repeated[1:] = tokens.shared[1:] == length[1:]
    run_starts = np.append(np.flatnonzero(~repeated), count)
    run_end = run_starts[np.searchsorted(run_starts, np.arange(count), "right")]
    ends = [
        np.where(length[starts] == depth, run_end[starts], starts)
        for depth, starts in enumerate(levels[1:], 1)
    ]
    return [np.zeros(1, np.intp), *(end.astype(np.intp) for end in ends)]


def build_trie(vocabulary: Vocabulary) -> TokenTrie:
    """The trie of the tokens that have bytes and do not end the output, level by level from sorted order."""
    ids = [token for token, piece in enumerate(vocabulary.tokens) if piece and token not in vocabulary.eos]
    ids.sort(key=lambda token: vocabulary.tokens[token] or b"")
    tokens = _sorted_tokens([vocabulary.tokens[token] or b"" for token in ids])
    levels = _level_starts(tokens)
    labels = [np.zeros(1, np.intp)]
    labels += [
        tokens.buffer[tokens.offset[starts] + depth].astype(np.intp)
        for depth, starts in enumerate(levels[1:])
    ]
    own_ends = _own_ends(tokens, levels)
    children = _child_counts(levels)
    ends, below = _subtrees(labels, own_ends, children)
    counts = np.concatenate(children).astype(np.intp)
    rank = np.full(len(vocabulary), len(ids), np.intp)
    rank[ids] = np.arange(len(ids), dtype=np.intp)
    return TokenTrie(
        order=np.array(ids, np.intp),
        rank=rank,
        byte=np.concatenate(labels),
        first=np.concatenate(levels),
        own_end=np.concatenate(own_ends),
        end=np.concatenate(ends),
        child=(1 + np.cumsum(counts) - counts).astype(np.intp),
        children=counts,
        below=np.concatenate(below),
    )


def _child_counts(levels: list[Ints]) -> list[Ints]:
    """Per level the number of children of every node: a child hangs on the last node that begins at or before it."""
    counts = []
    for starts, following in zip(levels, [*levels[1:], levels[0][:0]], strict=True):
        parent = np.searchsorted(starts, following, "right") - 1
        counts.append(np.bincount(parent, minlength=len(starts)))
    return counts


def _subtrees(
    labels: list[Ints], own_ends: list[Ints], children: list[Ints]
) -> tuple[list[Ints], list[NDArray[np.uint64]]]:
    """Per level, from the deepest up: where each subtree ends in `order`, and the groups of the bytes in it."""
    ends: list[Ints] = [own_ends[-1]]
    below = [np.zeros(len(own_ends[-1]), np.uint64)]
    for depth in range(len(labels) - 2, -1, -1):
        has_children = children[depth] > 0
        after = np.cumsum(children[depth])
        end, groups = own_ends[depth].copy(), np.zeros(len(own_ends[depth]), np.uint64)
        end[has_children] = ends[0][after[has_children] - 1]
        of_child = below[0] | GROUP[labels[depth + 1]]
        firsts = (after - children[depth])[has_children]
        groups[has_children] = np.bitwise_or.reduceat(of_child, firsts)
        ends.insert(0, end)
        below.insert(0, groups)
    return ends, below
