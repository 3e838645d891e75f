"""Sampling by the definition, one Python float at a time: PCG32, the filters in their order, the draw, the logprob.

Source: SPEC §6 and O'Neill, "PCG" (2014), the XSH-RR 64/32 member. Sums are math.fsum, so that a faster form that
accumulates rounding is seen to differ. Ties are broken by the lower id everywhere.
"""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

MULTIPLIER = 6364136223846793005
MASK64 = 2**64 - 1


def pcg32(seed: int, sequence: int) -> Iterator[int]:
    """The stream of 32-bit outputs of a PCG-XSH-RR generator seeded as in the paper's pcg32_srandom."""
    increment = (2 * sequence + 1) & MASK64
    state = (increment + seed) & MASK64
    state = (state * MULTIPLIER + increment) & MASK64
    while True:
        yield pcg32_output(state)
        state = (state * MULTIPLIER + increment) & MASK64


def pcg32_output(state: int) -> int:
    """The output function: xorshift high, then rotate right by the top five bits."""
    word = (((state >> 18) ^ state) >> 27) & 0xFFFFFFFF
    turn = state >> 59
    return ((word >> turn) | (word << (32 - turn))) & 0xFFFFFFFF


def penalised(
    logits: Mapping[int, float], params: Mapping[str, float], prompt: Sequence[int], output: Sequence[int]
) -> dict[int, float]:
    """Repetition over prompt and output (divide what is above 0, multiply the rest), then frequency and presence."""
    seen, counts = set(prompt) | set(output), Counter(output)
    repetition = params.get("repetition_penalty", 1.0)
    result: dict[int, float] = {}
    for token, logit in logits.items():
        value = logit
        if token in seen:
            value = value / repetition if value > 0 else value * repetition
        value -= params.get("frequency_penalty", 0.0) * counts[token]
        value -= params.get("presence_penalty", 0.0) * (counts[token] > 0)
        result[token] = value
    return result


def softmax(scores: Mapping[int, float]) -> dict[int, float]:
    """exp(s − max) over its sum."""
    top = max(scores.values())
    weights = {token: math.exp(score - top) for token, score in scores.items()}
    total = math.fsum(weights.values())
    return {token: weight / total for token, weight in weights.items()}


def kept(scores: Mapping[int, float], params: Mapping[str, float]) -> dict[int, float]:
    """The probabilities left by temperature, top_k, top_p and min_p, in that order, renormalised."""
    temperature = params.get("temperature", 1.0)
    ranked = sorted(scores, key=lambda token: (-scores[token], token))
    top_k = int(params.get("top_k", 0))
    if top_k:
        ranked = ranked[:top_k]
    chances = softmax({token: scores[token] / temperature for token in ranked})
    ranked = _nucleus(ranked, chances, params.get("top_p", 1.0))
    floor = params.get("min_p", 0.0) * max(chances.values())
    left = {token: chances[token] for token in ranked if chances[token] >= floor}
    total = math.fsum(left.values())
    return {token: chance / total for token, chance in left.items()}


def draw(
    logits: Sequence[float],
    allowed: Sequence[int],
    params: Mapping[str, float],
    prompt: Sequence[int],
    output: Sequence[int],
    uniform: float,
) -> tuple[int, float]:
    """The token and its logprob; at temperature 0 the greatest score, and `uniform` is not looked at."""
    scores = penalised({token: float(logits[token]) for token in allowed}, params, prompt, output)
    if params.get("temperature", 1.0) == 0:
        token = min(scores, key=lambda token: (-scores[token], token))
    else:
        token = _first_above(kept(scores, params), uniform)
    top = max(scores.values())
    # Relative to the greatest first: 1e30 − (1e30 + ln 5) would lose the ln 5.
    return token, (scores[token] - top) - math.log(
        math.fsum(math.exp(score - top) for score in scores.values())
    )


def _nucleus(ranked: list[int], chances: Mapping[int, float], top_p: float) -> list[int]:
    """The shortest head of the ranking whose chances reach top_p."""
    if top_p >= 1:
        return ranked
    for length in range(1, len(ranked) + 1):
        if math.fsum(chances[token] for token in ranked[:length]) >= top_p:
            return ranked[:length]
    return ranked


def _first_above(chances: Mapping[int, float], uniform: float) -> int:
    """Walk ids in ascending order; the first whose cumulative chance is above the draw, the last one failing that."""
    total = 0.0
    for token in sorted(chances):
        total += chances[token]
        if uniform < total:
            return token
    return max(token for token in chances if chances[token] > 0)
