"""Budgeted masks: of the tokens that a mask allows, those after which the output can be finished in what is left.

With d the token distance of a state (EOS counted), token t is allowed in state s with r tokens left iff it is allowed
in s and 1 + d(next(s, t)) ≤ r; EOS iff s accepts and 1 ≤ r. So a budget of at least d(start) never runs out before the
output is whole: whatever is taken, d of the new state is at most r − 1. Next: constraint.
"""

from operator import index as as_int
from weakref import WeakKeyDictionary

import numpy as np

from reference.automata import DEAD
from reference.bitmasks import Bools
from reference.errors import MaskError
from reference.masks import TokenIndex
from reference.token_graph import token_graph

_KEPT_ROWS = 512


class BudgetMasks:
    """The budgeted masks of one index, kept as they are made."""

    def __init__(self, index: TokenIndex) -> None:
        """Know every state's distance."""
        self._distances = token_graph(index).distances
        self._longest = int(self._distances.max(initial=0))
        self._kept: dict[tuple[int, int], Bools] = {}

    def check(self, budget: int) -> int:
        """The budget as an int; one that no whole output fits in is a MaskError with the least that one does."""
        try:
            tokens = as_int(budget)
        except TypeError:
            raise MaskError(f"budget {budget!r} is not an integer; give a number of tokens") from None
        least = int(self._distances[0])
        if least == DEAD:
            raise MaskError(
                f"budget {tokens}: no output can be finished with this vocabulary; see stuck_states()"
            )
        if tokens < least:
            raise MaskError(
                f"budget {tokens}: the shortest output takes {least} tokens, EOS counted; give at least {least}"
            )
        return tokens

    def mask(self, index: TokenIndex, state: int, remaining: int) -> Bools:
        """What may be taken in this state with so many tokens left, bool[V], read-only."""
        key = (index.check_state(state), min(remaining, self._longest + 1))
        mask = self._kept.get(key)
        if mask is None:
            if len(self._kept) >= _KEPT_ROWS:
                self._kept.clear()
            mask = self._made(index, *key)
            mask.setflags(write=False)
            self._kept[key] = mask
        return mask

    def _made(self, index: TokenIndex, state: int, remaining: int) -> Bools:
        """The rule as it stands in the module's first lines."""
        reached = index.successors(state)
        needed = np.append(self._distances, DEAD)[reached]
        mask: Bools = (needed != DEAD) & (1 + needed <= remaining)
        mask[list(index.vocabulary.eos)] = index.is_accepting(state) and remaining >= 1
        return mask


_BUDGETS: WeakKeyDictionary[TokenIndex, BudgetMasks] = WeakKeyDictionary()


def budget_masks_of(index: TokenIndex) -> BudgetMasks:
    """The budgeted masks of an index, shared by every constraint on it."""
    masks = _BUDGETS.get(index)
    if masks is None:
        masks = _BUDGETS[index] = BudgetMasks(index)
    return masks
