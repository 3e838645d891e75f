"""Packed masks: rows of bits, and the two ways to set them from ranges of a walk.

Token t is bit t % 32 of word t // 32 (little-endian), the layout that engines share; bits past the vocabulary are 0.
A row with few tokens is set bit by bit. A row with many is first made in the trie's order, where a range is one step
up and one step down, and brought into id order by one gather. Next: masks.
"""

import numpy as np
from numpy.typing import NDArray

from reference.errors import MaskError
from reference.trie import Ints, TokenTrie
from reference.walk import Ranges

Bools = NDArray[np.bool_]
Words = NDArray[np.uint32]

_MANY = 4096


def words(size: int) -> int:
    """W = ⌈V / 32⌉, the words of a packed row."""
    return -(-size // 32)


def pack(mask: Bools) -> Words:
    """Packed rows of bool rows, along the last axis; padding bits are 0."""
    size = mask.shape[-1]
    octets = np.zeros((*mask.shape[:-1], 4 * words(size)), np.uint8)
    octets[..., : -(-size // 8)] = np.packbits(mask, axis=-1, bitorder="little")
    return octets.view("<u4").astype(np.uint32, copy=False)


def unpack(bitmask: Words, size: int) -> Bools:
    """Bool rows of packed ones for `size` tokens; a width other than ⌈size / 32⌉ and a set padding bit are refused."""
    if bitmask.shape[-1] != words(size):
        raise MaskError(f"bitmask: {bitmask.shape[-1]} words for {size} tokens; give {words(size)}")
    octets = np.ascontiguousarray(bitmask, "<u4").view(np.uint8)
    bits = np.unpackbits(octets, axis=-1, bitorder="little").view(np.bool_)
    if bits[..., size:].any():
        raise MaskError(f"bitmask: a bit at or past token {size} is set; padding bits are 0")
    return bits[..., :size]


def places_of(first: Ints, end: Ints) -> Ints:
    """All places of the ranges, one range after the other."""
    count = end - first
    before = np.cumsum(count) - count
    return np.repeat(first - before, count) + np.arange(count.sum())


def set_rows(table: Words, ranges: Ranges, trie: TokenTrie) -> None:
    """Set the bits of every range in the row of its origin; the rows are all 0 before."""
    count = np.bincount(ranges.origin, ranges.end - ranges.first)
    is_few = (count <= _MANY)[ranges.origin]
    _set_few(table, Ranges(*(column[is_few] for column in ranges)), trie)
    for row in np.flatnonzero(count > _MANY):
        mine = ranges.origin == row
        table[row] = _row_of_many(ranges.first[mine], ranges.end[mine], trie)


def _set_few(table: Words, ranges: Ranges, trie: TokenTrie) -> None:
    """Bit by bit; no bit comes twice, so that adding is setting."""
    token = trie.order[places_of(ranges.first, ranges.end)]
    row = np.repeat(ranges.origin, ranges.end - ranges.first)
    bit = np.uint32(1) << (token & 31).astype(np.uint32)
    np.add.at(table.reshape(-1), row * table.shape[1] + (token >> 5), bit)


def _row_of_many(first: Ints, end: Ints, trie: TokenTrie) -> Words:
    """One row: +1 where a range begins, −1 where it ends, summed over the trie's order, then read by id."""
    change = np.zeros(len(trie.order) + 1, np.int8)
    change[first] += 1
    change[end] -= 1
    return pack(np.cumsum(change, dtype=np.int8).view(np.bool_)[trie.rank])
