"""Sets of symbols as sorted ranges, and the stretches that a family of sets cuts an alphabet into.

A symbol is a byte (dialect `bytes`) or a Unicode scalar value (dialect `unicode`); both are plain integers here, so
one module serves both dialects. The pitfall is the surrogates: they lie inside the code points and are in no set.
Read next: terms.py, whose leaves are these sets.
"""

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass

Ranges = tuple[tuple[int, int], ...]

BYTES: Ranges = ((0x00, 0xFF),)
SCALARS: Ranges = ((0x0000, 0xD7FF), (0xE000, 0x10FFFF))


def merged(ranges: Iterable[tuple[int, int]]) -> Ranges:
    """The union of ranges: sorted, and apart by at least one symbol."""
    out: list[tuple[int, int]] = []
    for low, high in sorted(ranges):
        if out and low <= out[-1][1] + 1:
            out[-1] = (out[-1][0], max(out[-1][1], high))
        else:
            out.append((low, high))
    return tuple(out)


def intersection(left: Ranges, right: Ranges) -> Ranges:
    """The symbols that are in both."""
    pairs = ((max(a, c), min(b, d)) for a, b in left for c, d in right)
    return merged((low, high) for low, high in pairs if low <= high)


def complement(ranges: Ranges, alphabet: Ranges) -> Ranges:
    """The symbols of the alphabet that are not in the set."""
    gaps, start = [], 0
    for low, high in merged(ranges):
        gaps.append((start, low - 1))
        start = high + 1
    gaps.append((start, alphabet[-1][1]))
    return intersection(tuple((low, high) for low, high in gaps if low <= high), alphabet)


@dataclass(frozen=True, slots=True)
class Stretches:
    """An alphabet cut into stretches of neighbouring symbols; `starts[i]` is the first symbol of the i-th."""

    starts: tuple[int, ...]

    def of(self, symbol: int) -> int:
        """The stretch that the symbol lies in."""
        return bisect_right(self.starts, symbol) - 1

    def first(self, symbol: int) -> int:
        """The first symbol of the stretch that the symbol lies in: it stands for all of them."""
        return self.starts[self.of(symbol)]


def stretches(family: Iterable[Ranges], alphabet: Ranges) -> Stretches:
    """The cut that the borders of a family of sets and of the alphabet draw: no set tells a stretch's symbols apart."""
    edges = (edge for ranges in (*family, alphabet) for low, high in ranges for edge in (low, high + 1))
    return Stretches(tuple(sorted({0, *(edge for edge in edges if edge <= alphabet[-1][1])})))
