"""Sampling one token of a constrained row of logits, exactly as written here, in float64.

The order is mask → penalties → temperature → top_k → top_p → min_p → draw. Nothing after the mask ever sees a logit of
a token that is not allowed; that is the point of doing it first. With L the penalised logits of the allowed tokens:

- *penalties*: for a token in the prompt or the output, L / r where L > 0 and L · r elsewhere (r = repetition_penalty);
  then, for a token that is n > 0 times in the output, L − frequency_penalty · n − presence_penalty.
- *temperature* T: weights w = exp((L − max L) / T). T = 0 is greedy: the largest L, the lowest id among equals; nothing
  is drawn then, and the generator stays where it is.
- *top_k*: the k largest weights, lower ids first among equals, exactly k of them when there are as many; 0 is off.
- *top_p*: of those, largest first (lower ids first among equals), the fewest whose sum is at least top_p of the sum of
  all that top_k kept; 1 is off.
- *min_p*: of those, the ones whose weight is at least min_p times the largest; 0 is off.
- *draw*: ids ascending, running sums c₁ … cₙ of their weights, u = uniform(): the first i with cᵢ > u · cₙ. It exists,
  as u ≤ 1 − 2⁻³², and a token of weight 0 is never it.
- *logprob*: the log-softmax of L over all allowed tokens, at temperature 1, before top_k, top_p and min_p.

Infinite logits have limits, and the limits are used: where max L is +inf or −inf, the tokens that have that logit are
equal and all others have weight 0. So a row whose allowed logits are all −inf is uniform over the allowed tokens: it
never gives NaN, never raises in the middle of a batch, and never falls back on a token that the mask forbids.
"""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reference.constraint import Constraint, apply_mask
from reference.errors import Refused, shown
from reference.pcg32 import Pcg32
from reference.trie import Ints

Floats = NDArray[np.float64]


class SamplingError(Refused):
    """A sampling parameter out of its range, or a prompt or output with ids that the logits do not have."""


@dataclass(frozen=True, slots=True)
class SamplingParams:
    """How a token is drawn; the defaults draw from the plain softmax. `seed` is for whoever makes the generator."""

    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0
    min_p: float = 0.0
    repetition_penalty: float = 1.0
    presence_penalty: float = 0.0
    frequency_penalty: float = 0.0
    seed: int | None = None

    def __post_init__(self) -> None:
        """Refuse what is out of range: T ≥ 0, k ≥ 0, 0 < top_p ≤ 1, 0 ≤ min_p ≤ 1, r > 0, penalties in −2 … 2."""
        for name, (is_in_range, remedy) in _RANGES.items():
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not is_in_range(value):
                raise SamplingError(f"sampling, {name}: {shown(value)} is out of range; give {remedy}")
        for name, most in (("top_k", (1 << 31) - 1), ("seed", (1 << 64) - 1)):
            value = getattr(self, name)
            if name == "seed" and value is None:
                continue
            if type(value) is not int or not 0 <= value <= most:
                raise SamplingError(
                    f"sampling, {name}: {shown(value)} is out of range; give an integer of 0 to {most}"
                )


_LARGEST = sys.float_info.max
"""The largest finite double; an integer past it has no quotient with one."""

_RANGES: dict[str, tuple[Callable[[float], bool], str]] = {
    "temperature": (lambda value: 0 <= value <= _LARGEST, "a finite number of at least 0"),
    "top_p": (lambda value: 0 < value <= 1, "a number above 0 and at most 1"),
    "min_p": (lambda value: 0 <= value <= 1, "a number of 0 to 1"),
    "repetition_penalty": (lambda value: 0 < value <= _LARGEST, "a finite number above 0"),
    "presence_penalty": (lambda value: -2 <= value <= 2, "a number of −2 to 2"),
    "frequency_penalty": (lambda value: -2 <= value <= 2, "a number of −2 to 2"),
}


def constrained_sample(
    logits: ArrayLike,
    constraint: Constraint,
    params: SamplingParams,
    prompt: Sequence[int],
    output: Sequence[int],
    rng: Pcg32,
) -> tuple[int, float]:
    """Mask, draw one token, advance the constraint by it; returns the token and its logprob."""
    token, logprob = sample(logits, constraint.mask(), params, prompt, output, rng)
    constraint.advance(token)
    return token, logprob


def sample(
    logits: ArrayLike,
    mask: ArrayLike,
    params: SamplingParams,
    prompt: Sequence[int],
    output: Sequence[int],
    rng: Pcg32,
) -> tuple[int, float]:
    """One token that the mask allows, and its logprob; rng moves by one number, at temperature 0 by none."""
    ids, relative = _relative_logits(logits, mask, params, prompt, output)
    if params.temperature == 0:
        place = int(relative.argmax())
    else:
        places, weights = _survivors(relative, params)
        sums = weights.cumsum()
        place = int(places[sums.searchsorted(rng.uniform() * sums[-1], side="right")])
    return int(ids[place]), float(relative[place] - np.log(np.exp(relative).sum()))


def distribution(
    logits: ArrayLike,
    mask: ArrayLike,
    params: SamplingParams,
    prompt: Sequence[int] = (),
    output: Sequence[int] = (),
) -> tuple[Ints, Floats]:
    """The ids that a draw chooses from, ascending, and their probabilities."""
    ids, relative = _relative_logits(logits, mask, params, prompt, output)
    if params.temperature == 0:
        return ids[[relative.argmax()]], np.ones(1)
    places, weights = _survivors(relative, params)
    return ids[places], weights / weights.sum()


def _relative_logits(
    logits: ArrayLike, mask: ArrayLike, params: SamplingParams, prompt: Sequence[int], output: Sequence[int]
) -> tuple[Ints, Floats]:
    """The allowed ids, ascending, and L − max L for each: 0 for the best, −inf for what has no chance at all."""
    ids = np.flatnonzero(mask)
    allowed = apply_mask(logits, mask)[ids].astype(np.float64)
    with np.errstate(over="ignore"):
        penalised = _penalise(allowed, ids, len(np.asarray(mask)), params, prompt, output)
        best = penalised.max()
        if np.isinf(best):
            return ids, np.where(penalised == best, 0.0, -np.inf)
        return ids, penalised - best


def _penalise(
    allowed: Floats,
    ids: Ints,
    size: int,
    params: SamplingParams,
    prompt: Sequence[int],
    output: Sequence[int],
) -> Floats:
    """L of the allowed tokens: repetition over prompt and output, then frequency and presence over the output."""
    in_prompt, in_output = _known_ids(prompt, size, "prompt"), _known_ids(output, size, "output")
    ratio, frequency, presence = params.repetition_penalty, params.frequency_penalty, params.presence_penalty
    if ratio == 1 and frequency == presence == 0:
        return allowed
    count = np.bincount(in_output, minlength=size)[ids]
    is_repeated = (np.bincount(in_prompt, minlength=size)[ids] + count) > 0
    scaled = np.where(allowed > 0, allowed / ratio, allowed * ratio)
    lowered: Floats = np.where(is_repeated, scaled, allowed) - frequency * count - presence * (count > 0)
    return lowered


def _known_ids(tokens: Sequence[int], size: int, what: str) -> Ints:
    """A list of ids as an array, each of them an id of the logits."""
    ids = np.asarray(tokens if len(tokens) else np.zeros(0, np.intp))
    if ids.dtype.kind not in "iu" or ids.ndim != 1:
        raise SamplingError(f"sampling, {what}: {ids.dtype} of shape {ids.shape}; give a list of token ids")
    if ids.size and not 0 <= ids.min() <= ids.max() < size:
        raise SamplingError(f"sampling, {what}: an id outside 0 … {size - 1}; give ids that the logits have")
    return ids.astype(np.intp)


def _survivors(relative: Floats, params: SamplingParams) -> tuple[Ints, Floats]:
    """Places and weights that are left after temperature, top_k, top_p and min_p, in ascending order of place."""
    with np.errstate(over="ignore"):
        weights = np.exp(relative / params.temperature)
    if params.top_k == 0 and params.top_p == 1:
        places = np.arange(len(weights))
    else:
        places = (-weights).argsort(kind="stable")
        places = places[: params.top_k or len(places)]
        places = np.sort(places[: _nucleus(weights[places], params.top_p)])
    places = places[weights[places] >= params.min_p]
    return places, weights[places]


def _nucleus(descending: Floats, top_p: float) -> int:
    """How many of the largest weights it takes to reach top_p of their sum."""
    if top_p == 1:
        return len(descending)
    sums = descending.cumsum()
    return int(sums.searchsorted(top_p * sums[-1], side="left")) + 1
