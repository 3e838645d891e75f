"""Masks as goldens write them: ascending ids, and the packed form in lower-case hex."""

from collections.abc import Iterable

import numpy as np


def packed(allowed: Iterable[int], size: int) -> bytes:
    """ceil(size / 8) bytes, bit i % 8 of byte i // 8 is token i (docs/porting.md)."""
    bits = np.zeros(size, dtype=bool)
    bits[list(allowed)] = True
    return np.packbits(bits, bitorder="little").tobytes()


def unpacked(data: bytes, size: int) -> list[int]:
    """The ascending ids of a packed mask."""
    bits = np.unpackbits(np.frombuffer(data, dtype=np.uint8), bitorder="little")
    return [int(token) for token in np.flatnonzero(bits[:size])]
