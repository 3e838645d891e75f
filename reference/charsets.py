"""Sets of characters as sorted ranges, and the two alphabets a pattern can be read over (SPEC §1).

A set is a tuple of inclusive ranges `(low, high)`, sorted, disjoint, none touching the next. The alphabet decides
what the complement is taken over and what bytes one character stands for: a byte is itself in `bytes`, a Unicode
scalar value is its UTF-8 sequence in `unicode` (surrogates are in no set). Read `patterns.py` next.
"""

from collections.abc import Iterable
from typing import Literal, TypeAlias

Dialect = Literal["bytes", "unicode"]
Ranges: TypeAlias = tuple[tuple[int, int], ...]

UNIVERSE: dict[Dialect, Ranges] = {
    "bytes": ((0x00, 0xFF),),
    "unicode": ((0x0000, 0xD7FF), (0xE000, 0x10FFFF)),
}
"""All characters of each dialect."""


def normalised(ranges: Iterable[tuple[int, int]]) -> Ranges:
    """The same set as sorted ranges with gaps between them."""
    merged: list[tuple[int, int]] = []
    for low, high in sorted(ranges):
        if merged and low <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(high, merged[-1][1]))
        else:
            merged.append((low, high))
    return tuple(merged)


def intersection(left: Iterable[tuple[int, int]], right: Ranges) -> Ranges:
    """left ∩ right."""
    return normalised(
        (max(low, floor), min(high, ceiling))
        for low, high in left
        for floor, ceiling in right
        if max(low, floor) <= min(high, ceiling)
    )


def complement(ranges: Ranges, dialect: Dialect) -> Ranges:
    """The characters of the dialect that are not in the set; gaps that end before they begin meet nothing."""
    gaps: list[tuple[int, int]] = []
    floor = 0
    for low, high in normalised(ranges):
        gaps.append((floor, low - 1))
        floor = high + 1
    gaps.append((floor, UNIVERSE[dialect][-1][1]))
    return intersection(gaps, UNIVERSE[dialect])


DIGIT: Ranges = ((0x30, 0x39),)
WORD: Ranges = ((0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A))
SPACE: Ranges = ((0x09, 0x0D), (0x20, 0x20))
NEWLINE: Ranges = ((0x0A, 0x0A),)
