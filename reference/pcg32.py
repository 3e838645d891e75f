"""Pcg32: the random numbers of sampling, the same in every language (PCG-XSH-RR 64/32 of O'Neill 2014).

State and increment are two 64-bit integers; a seed picks the place, a sequence picks one of 2⁶³ streams, so that one
seed and the number of a walk give every walk a stream of its own. Next: sampling.
"""

from operator import index as as_int

from reference.errors import Refused, shown

_MULTIPLIER = 6364136223846793005
_64 = (1 << 64) - 1


class Pcg32:
    """A generator of uniform 32-bit integers; `state` and `inc` are all there is to it."""

    __slots__ = ("inc", "state")

    def __init__(self, seed: int, sequence: int) -> None:
        """Seed as the reference implementation does: state 0, one step, add the seed, one step."""
        self.state, self.inc = 0, (_whole("sequence", sequence) << 1 | 1) & _64
        seed = _whole("seed", seed)
        self.next_u32()
        self.state = (self.state + seed) & _64
        self.next_u32()

    @classmethod
    def at(cls, state: int, inc: int) -> "Pcg32":
        """The generator that goes on from a state and an increment, which is odd."""
        if _whole("inc", inc) % 2 == 0:
            raise Refused(f"Pcg32: inc {inc} is even; an increment is odd")
        generator = cls.__new__(cls)
        generator.state, generator.inc = _whole("state", state), inc
        return generator

    def next_u32(self) -> int:
        """The next 32 bits: xorshift high, rotate by the top five bits of the old state."""
        old = self.state
        self.state = (old * _MULTIPLIER + self.inc) & _64
        shifted = ((old >> 18 ^ old) >> 27) & 0xFFFFFFFF
        turn = old >> 59
        return (shifted >> turn | shifted << (-turn & 31)) & 0xFFFFFFFF

    def uniform(self) -> float:
        """The next number of [0, 1): next_u32 · 2⁻³², exact in float64."""
        return self.next_u32() * 2.0**-32


def _whole(name: str, value: int) -> int:
    """A plain int of 0 … 2⁶⁴ − 1."""
    try:
        number = as_int(value)
    except TypeError:
        raise Refused(f"Pcg32: {name} {value!r} is not an integer; give one of 0 … 2⁶⁴ − 1") from None
    if not 0 <= number <= _64:
        raise Refused(f"Pcg32: {name} {shown(number)} is not in 0 … 2⁶⁴ − 1; reduce it first")
    return number
