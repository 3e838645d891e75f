"""Ranges of Unicode scalar values as sequences of byte ranges (RFC 3629, §3).

Within one length of the encoding, the bytes of consecutive scalars count up like digits. A range is therefore cut
where its ends differ in a byte that is followed by less than all continuation bytes; each piece is then a product
of byte ranges. The pitfall is the surrogate gap: U+D800 to U+DFFF have no UTF-8 form. Read `nfa.py` next.
"""

from bisect import bisect_right
from collections.abc import Iterator
from itertools import pairwise

from reference.charsets import UNIVERSE, Ranges, intersection

ByteRanges = tuple[tuple[int, int], ...]
"""One byte range a position: the product is a set of encoded scalars."""

_LENGTH_BORDERS = (0x00, 0x80, 0x800, 0x10000, 0x110000)


def encode(scalar: int) -> bytes:
    """The one to four bytes of a scalar value: a lead byte that tells the length, then six bits a byte."""
    length = bisect_right(_LENGTH_BORDERS, scalar)
    if length == 1:
        return bytes([scalar])
    lead = (0xF00 >> length) & 0xFF | scalar >> 6 * (length - 1)
    return bytes([lead, *(0x80 | scalar >> 6 * place & 0x3F for place in reversed(range(length - 1)))])


def byte_ranges(scalars: Ranges) -> Iterator[ByteRanges]:
    """Disjoint products of byte ranges whose union is the encodings of the set."""
    for low, high in intersection(scalars, UNIVERSE["unicode"]):
        for floor, ceiling in pairwise(_LENGTH_BORDERS):
            if max(low, floor) < min(high + 1, ceiling):
                yield from _products(max(low, floor), min(high, ceiling - 1))


def _products(low: int, high: int) -> Iterator[ByteRanges]:
    """Cut one range, all of one encoded length, into products."""
    pending = [(low, high)]
    while pending:
        low, high = pending.pop()
        cut = _cut(low, high)
        if cut is None:
            yield tuple(zip(encode(low), encode(high), strict=True))
        else:
            pending += [(cut, high), (low, cut - 1)]


def _cut(low: int, high: int) -> int | None:
    """Where the first piece ends and the second begins, None when the range is one product already."""
    if high < 0x80:
        return None
    for bits in (6, 12, 18):
        block = (1 << bits) - 1
        if low >> bits != high >> bits:
            if low & block:
                return (low | block) + 1
            if high & block != block:
                return high & ~block
    return None
