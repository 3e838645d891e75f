"""The language of an answer, token by token: whole from the start, free, or free until the trigger of a call.

In automatic choice the text is free until it ends with `<tool_call>`, however the tokens spell it; a token that would
run past the trigger is masked, since the rest must be the grammar's. When too few tokens are left for the shortest
call, the token that would complete the trigger is masked too: no call begins that cannot end.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.server.compiler import Automaton
from reference.constraint import Constraint
from reference.errors import MaskError
from reference.lookahead import token_distances
from reference.masks import TokenIndex
from reference.vocabulary import Vocabulary

Bools = NDArray[np.bool_]
ENOUGH = 1 << 30


def free_text(trigger: bytes = b"", *, ends_there: bool = False) -> Automaton:
    """All byte strings that do not contain `trigger`, and those that end with its first occurrence if it `ends_there`.

    State k < len(trigger): the longest suffix that begins the trigger has k bytes; state len(trigger): it is whole.
    """
    size = max(len(trigger), 1)
    count = size + (1 if ends_there else 0)
    trans = np.full((count, 256), -1, dtype=np.int32)
    accept = np.ones(count, dtype=np.bool_)
    for state in range(size):
        for byte in range(256):
            after = _longest_beginning(trigger[:state] + bytes([byte]), trigger)
            whole = bool(trigger) and after == len(trigger)
            trans[state, byte] = after if not whole or ends_there else -1
    return Automaton(accept, trans)


def _longest_beginning(text: bytes, trigger: bytes) -> int:
    """The length of the longest beginning of `trigger` that ends `text`."""
    return next(n for n in range(min(len(text), len(trigger)), -1, -1) if text.endswith(trigger[:n]))


class Triggered(Constraint):
    """Free text up to the trigger, then the rest of a call, within `tokens` tokens (EOS not counted)."""

    __slots__ = ("_left", "_needed", "_quiet", "_rest")

    def __init__(
        self, free: TokenIndex, quiet: TokenIndex, rest: TokenIndex, needed: int, tokens: int
    ) -> None:
        """`free` may end with the trigger, `quiet` never has it; `rest` needs `needed` tokens with its EOS."""
        super().__init__(free)
        self._quiet, self._rest, self._needed, self._left = quiet, rest, needed, tokens

    def mask(self) -> Bools:
        """The rest's mask once the trigger is there; before, the trigger only while a whole call fits after it."""
        if self.done or self.index is self._rest or self._budget_after_trigger() >= self._needed:
            return super().mask()
        return self._quiet.mask(self.state)

    def advance(self, token: int) -> None:
        """Take a token; the one that completes the trigger moves on to the rest."""
        if self.index is self._rest or self.done:
            return super().advance(token)
        if not self.mask()[token]:
            raise MaskError(
                f"token {token} ({self.index.describe(token)}) is not allowed here; ask mask() first"
            )
        super().advance(token)
        self._left -= 1
        if self.state == self.index.n_states - 1:
            self.index, self.state, self.remaining = self._rest, 0, self._budget_after_trigger() + 1

    def _budget_after_trigger(self) -> int:
        """Tokens left for the rest, EOS counted, once one more is spent on the trigger."""
        return self._left - 1 + bool(self.index.vocabulary.eos)

    @property
    def is_free(self) -> bool:
        """No call has begun."""
        return self.index is not self._rest


@dataclass(frozen=True, slots=True)
class Language:
    """What an answer may be: free text, all of `whole`, or free text up to the trigger and then `whole`."""

    vocabulary: Vocabulary
    free: TokenIndex | None
    quiet: TokenIndex | None
    whole: TokenIndex | None
    needed: int
    has_calls: bool

    @property
    def is_free(self) -> bool:
        """Whether the answer begins as free text."""
        return self.free is not None

    def begin(self, tokens: int) -> Constraint:
        """A constraint for an answer of at most `tokens` tokens, EOS not counted.

        An answer that cannot be whole within them is decoded as if there were more, and cut.
        """
        if self.whole is None:
            assert self.free is not None
            return Constraint(self.free)
        if self.free is not None:
            assert self.quiet is not None
            return Triggered(self.free, self.quiet, self.whole, self.needed, tokens)
        budget = tokens + bool(self.vocabulary.eos)
        return Constraint(self.whole, budget=budget if budget >= self.needed else ENOUGH)


def is_free_now(constraint: Constraint) -> bool:
    """Whether the output stands in free text that a call may follow."""
    return isinstance(constraint, Triggered) and constraint.is_free


def is_at_end(constraint: Constraint, vocabulary: Vocabulary) -> bool:
    """Whether the output is whole and nothing but EOS may follow, so that EOS need not be drawn."""
    return (
        not is_free_now(constraint)
        and constraint.is_complete()
        and not _goes_on(constraint.mask(), vocabulary)
    )


def _goes_on(mask: Bools, vocabulary: Vocabulary) -> bool:
    return int(np.count_nonzero(mask)) > int(np.count_nonzero(mask[sorted(vocabulary.eos)]))


def tokens_needed(index: TokenIndex) -> int | None:
    """The fewest tokens of a whole output, EOS counted; None when this vocabulary cannot write one."""
    distance = int(token_distances(index)[0])
    return distance if distance >= 0 else None
