"""Integers of any length to digits and back, exactly, in time near the length.

Python's own conversions stop at 4,300 digits, or at as few as 640 when the interpreter is told so, and take quadratic
time. A long integer is cut into shorter pieces (256 bytes have at most 617 digits), which are put together again
neighbours first, so that the large products are few: from digits as integers, to digits as decimals, whose
multiplication is fast and whose digits are at hand.
"""

from decimal import MAX_EMAX, MAX_PREC, MIN_EMIN, Context, Decimal, Inexact, localcontext
from itertools import zip_longest
from typing import TypeVar

_DIGITS = 600
_BYTES = 256
_EXACT = Context(prec=MAX_PREC, Emax=MAX_EMAX, Emin=MIN_EMIN, traps=[Inexact])
_Number = TypeVar("_Number", int, Decimal)


def int_of(digits: str) -> int:
    """The integer that decimal digits, with or without a minus before them, stand for."""
    if len(digits) <= _DIGITS:
        return int(digits)
    magnitude = digits.removeprefix("-")
    parts = [int(magnitude[max(0, end - _DIGITS) : end]) for end in range(len(magnitude), 0, -_DIGITS)]
    base: int = 10**_DIGITS
    value = _combined(parts, base)
    return -value if digits.startswith("-") else value


def digits_of(value: int) -> str:
    """The decimal digits of an integer, a minus before them when it is negative."""
    if value.bit_length() <= 8 * _BYTES:
        return int.__repr__(value)
    data = abs(value).to_bytes((value.bit_length() + 7) // 8, "little")
    with localcontext(_EXACT):
        pieces = (data[place : place + _BYTES] for place in range(0, len(data), _BYTES))
        parts = [Decimal(int.from_bytes(piece, "little")) for piece in pieces]
        text = str(_combined(parts, Decimal(1 << 8 * _BYTES)))
    return f"-{text}" if value < 0 else text


def _combined(parts: list[_Number], base: _Number) -> _Number:
    """Σ parts[i] · base^i."""
    while len(parts) > 1:
        pairs = zip_longest(parts[::2], parts[1::2])
        parts = [low if high is None else low + base * high for low, high in pairs]
        if len(parts) > 1:
            base *= base
    return parts[0]
