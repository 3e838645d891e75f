"""Constraint: where one output stands, and what may come next; the small stateful session over a shared TokenIndex.

A constraint is a state number, whether EOS was taken, and the tokens left when there is a budget. Everything large
(masks, trie, automaton) belongs to the index, so that a fork is a copy of three numbers. Next: lookahead, sampling.
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reference.bitmasks import Bools, Words, pack, words
from reference.budget import budget_masks_of
from reference.errors import MaskError
from reference.masks import TokenIndex


class Constraint:
    """One output under way: `state`, `done` once EOS was taken, `remaining` tokens (EOS counted) or None for no budget.

    With a budget of at least the token distance of the start, every output is whole before the budget is spent; a
    smaller one is refused here, with that distance.
    """

    __slots__ = ("done", "index", "remaining", "state")

    def __init__(self, index: TokenIndex, *, budget: int | None = None) -> None:
        """Stand at the start."""
        self.index = index
        self.state = 0
        self.done = False
        self.remaining = None if budget is None else budget_masks_of(index).check(budget)

    def mask(self) -> Bools:
        """What may come next, bool[V], read-only: nothing after EOS, and within a budget what can still be finished."""
        if self.done:
            return np.broadcast_to(np.False_, len(self.index))
        if self.remaining is None:
            return self.index.mask(self.state)
        return budget_masks_of(self.index).mask(self.index, self.state, self.remaining)

    def bitmask(self) -> Words:
        """The mask packed, uint32[⌈V / 32⌉], read-only."""
        if self.done:
            return np.broadcast_to(np.uint32(0), words(len(self.index)))
        if self.remaining is None:
            return self.index.bitmask(self.state)
        return pack(self.mask())

    def advance(self, token: int) -> None:
        """Take a token; one that is not allowed is a MaskError and changes nothing."""
        token = self.index.check_token(token)
        if self.done:
            raise MaskError(
                f"token {token} ({self.index.describe(token)}) comes after EOS; the output is done"
            )
        reached = self.index.next_state(self.state, token)
        if self.remaining is not None and not self.mask()[token]:
            raise MaskError(
                f"token {token} ({self.index.describe(token)}) cannot be followed to a whole output within the "
                f"{self.remaining} tokens left; ask mask() first"
            )
        self.state = reached
        self.done = token in self.index.vocabulary.eos
        self.remaining = None if self.remaining is None else self.remaining - 1

    def is_complete(self) -> bool:
        """Whether the bytes so far are a member; it stays so when EOS is taken."""
        return self.index.is_accepting(self.state)

    def fork(self) -> "Constraint":
        """An independent copy."""
        copy = Constraint(self.index)
        copy.state, copy.done, copy.remaining = self.state, self.done, self.remaining
        return copy


def apply_mask(logits: ArrayLike, mask: ArrayLike) -> NDArray[Any]:
    """A new row of logits with −inf where the mask is False, in the logits' float type; the input is left as it is.

    Refused: anything but one row of numbers and one bool row of its length, a NaN, and a mask that allows nothing.
    """
    row, allowed = np.asarray(logits), np.asarray(mask)
    if row.dtype.kind in "iu":
        row = row.astype(np.float64)
    if row.dtype.kind != "f" or row.ndim != 1:
        raise MaskError(f"logits: {row.dtype} of shape {row.shape}; give one row of floats")
    if allowed.dtype != np.bool_ or allowed.shape != row.shape:
        raise MaskError(
            f"mask: {allowed.dtype} of shape {allowed.shape} for {len(row)} logits; give bool of that length"
        )
    if not allowed.any():
        raise MaskError("mask: no token is allowed; an output that is done, or stuck, cannot go on")
    if np.isnan(row).any():
        raise MaskError(f"logits: NaN at token {int(np.isnan(row).argmax())}; look at the model's numbers")
    return np.where(allowed, row, row.dtype.type(-np.inf))
