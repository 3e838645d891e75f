"""Log-probabilities as a client reads them: over the allowed tokens, after penalties, at temperature 1 (SPEC §6)."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from reference.sampling import SamplingParams, distribution
from reference.vocabulary import Vocabulary

LOWEST = -9999.0
"""What stands for minus infinity, which JSON cannot write."""


@dataclass(frozen=True, slots=True)
class TokenLogprob:
    """A token, the logarithm of its probability, and the likeliest tokens at its place."""

    token: bytes
    logprob: float
    top: tuple["TokenLogprob", ...] = ()

    def as_plain(self) -> dict[str, Any]:
        """The entry of `logprobs.content`."""
        return {**self._plain(), "top_logprobs": [entry._plain() for entry in self.top]}

    def _plain(self) -> dict[str, Any]:
        text = self.token.decode("utf-8", errors="replace")
        logprob = self.logprob if math.isfinite(self.logprob) else LOWEST
        return {"token": text, "logprob": logprob, "bytes": list(self.token)}


def likeliest(
    logits: Any,
    mask: Any,
    params: SamplingParams,
    prompt: Sequence[int],
    output: Sequence[int],
    vocabulary: Vocabulary,
    count: int,
) -> tuple[TokenLogprob, ...]:
    """The `count` likeliest allowed tokens, likeliest first, the lower id first among equals; EOS has no bytes."""
    if not count:
        return ()
    plain = replace(params, temperature=1.0, top_k=0, top_p=1.0, min_p=0.0)
    ids, probabilities = distribution(logits, mask, plain, prompt, output)
    best = np.argsort(-probabilities, kind="stable")[:count]
    return tuple(
        TokenLogprob(vocabulary.tokens[ids[place]] or b"", math.log(probabilities[place]))
        for place in best
        if probabilities[place] > 0
    )
