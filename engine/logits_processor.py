"""A LogitsProcessor for transformers' `generate()`: every row constrained from the end of its prompt on.

A row's state is found from its own ids since the prompt, at every call anew, so that beams may be reordered, copied and
dropped between calls without a word to the processor; a short memory of the last two steps makes that one lookup and
one advance. Prompts are padded on the left to one width, which is the width of the first call: what stands before it is
never read.

Three kinds of row need care. One that took an EOS id is fed on with padding: only EOS ids are left allowed. One that no
allowed token can have led to is a beam that search made out of −inf candidates: all its scores stay −inf, so that it
never wins; when every row is such, the processor was used for another prompt than its own, and that is an error. And
where a budget is given, masks keep every row completable, so that `max_new_tokens` = budget never cuts an output short.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from transformers import LogitsProcessor

from engine.errors import BadInput
from engine.models.masking import unpacked
from reference.bitmasks import words
from reference.constraint import Constraint
from reference.errors import MaskError
from reference.masks import TokenIndex

Ids = tuple[int, ...]
Words = NDArray[np.uint32]


class ConstraintProcessor(LogitsProcessor):  # type: ignore[misc]
    """Sets the scores of forbidden tokens to −inf; one object serves one call of `generate()`."""

    def __init__(self, index: TokenIndex, *, budget: int | None = None) -> None:
        """Constrain to the index; the vocabulary needs an EOS id, or `generate()` could never end an output."""
        if not index.vocabulary.eos:
            raise BadInput(
                f"vocabulary {index.vocabulary.name}: no EOS id, so that generate() could never stop; give one"
            )
        self._index = index
        self._first = Constraint(index, budget=budget)
        self._only_eos = _bits(index.vocabulary.eos, len(index))
        self._prompts: torch.Tensor | None = None
        self._known: dict[Ids, Constraint | None] = {}

    def __call__(self, input_ids: torch.LongTensor, scores: torch.FloatTensor) -> Any:
        """Scores with −inf for every token that the row's state does not allow."""
        if scores.shape[1] < len(self._index):
            raise BadInput(
                f"scores for {scores.shape[1]} tokens, but the vocabulary has {len(self._index)}; pad neither"
            )
        tails = self._tails(input_ids)
        constraints = [self._constraint(tail) for tail in tails]
        if all(constraint is None for constraint in constraints):
            raise BadInput(
                f"row 0: {list(tails[0])} since the prompt is not allowed by the constraint; "
                "make a new processor for every call of generate()"
            )
        self._known = dict(zip(tails, constraints, strict=True)) | {
            tail[:-1]: self._known[tail[:-1]] for tail in tails if tail[:-1] in self._known
        }
        masks = np.stack([self._mask(constraint) for constraint in constraints])
        allowed = torch.zeros_like(scores, dtype=torch.bool)
        allowed[:, : len(self._index)] = unpacked(masks, scores[:, : len(self._index)])
        return scores.masked_fill(~allowed, -torch.inf)

    def _tails(self, input_ids: torch.Tensor) -> list[Ids]:
        """The ids of every row since the prompt."""
        if self._prompts is None:
            self._prompts = input_ids.unique(dim=0)
        width = self._prompts.shape[1]
        begins = input_ids[:, :width]
        if begins.shape[1] < width or not _is_among(begins, self._prompts):
            raise BadInput(
                "rows do not begin with the prompts of the first call; make a new processor for every generate()"
            )
        return [tuple(row) for row in input_ids[:, width:].tolist()]

    def _constraint(self, tail: Ids) -> Constraint | None:
        """Where a row stands, from its longest known beginning on; None when no allowed token led there."""
        known = len(tail)
        while known and tail[:known] not in self._known:
            known -= 1
        constraint = self._known[tail[:known]] if known else self._first
        for token in tail[known:]:
            if constraint is None or constraint.done:
                break
            constraint = _advanced(constraint, token)
        return constraint

    def _mask(self, constraint: Constraint | None) -> Words:
        if constraint is None:
            return np.zeros_like(self._only_eos)
        row = self._only_eos if constraint.done else constraint.bitmask()
        if not row.any():
            raise BadInput(
                f"state {constraint.state}: this vocabulary has no token that goes on here; see stuck_states()"
            )
        return row


def _advanced(constraint: Constraint, token: int) -> Constraint | None:
    after = constraint.fork()
    try:
        after.advance(token)
    except MaskError:
        return None
    return after


def _is_among(rows: torch.Tensor, prompts: torch.Tensor) -> bool:
    """Whether every row is one of the prompts."""
    return bool((rows[:, None, :] == prompts[None, :, :]).all(dim=2).any(dim=1).all())


def _bits(ids: frozenset[int] | Sequence[int], size: int) -> Words:
    row = np.zeros(words(size), np.uint32)
    for token in ids:
        row[token // 32] |= np.uint32(1 << token % 32)
    return row
