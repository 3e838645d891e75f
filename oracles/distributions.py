"""The chances of whole outputs, by the definition, and how surprising a set of counts is beside them.

An output's chance is the product over its steps: at each prefix the allowed ids are found by walking their bytes, and
what the sampler would give them is renormalised over those. The tree of prefixes is walked to its leaves, so this is
for small languages. Counts are judged by exact binomial tails, not by an approximation: with k outcomes, an outcome
whose tail is below risk / 2k is refused, and a right sampler is refused with a chance below `risk`. The pitfall is a
chance that is only renormalised at the end: masks taken after sampling give another distribution, and this one sees it.
"""

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from oracles.errors import OracleError

DEAD = -1
Ids = tuple[int, ...]
Step = Callable[[Ids, Sequence[int]], Mapping[int, float]]
"""(ids so far, allowed ids) → the chance of each."""


@dataclass(frozen=True, slots=True)
class Outputs:
    """Chances of the whole outputs, EOS id at the end, and of the prefixes that were cut at the longest length."""

    whole: dict[Ids, float]
    cut: dict[Ids, float]


@dataclass(frozen=True, slots=True)
class Surprise:
    """The outcome whose count is least to be believed: its chance, its count, the chance of one at least as far out."""

    ids: Ids
    chance: float
    count: int
    draws: int
    tail: float


def outputs(
    accept: Collection[int],
    table: Sequence[Sequence[int]],
    tokens: Sequence[bytes | None],
    eos: Collection[int],
    step: Step,
    *,
    longest: int = 32,
    most: int = 100_000,
) -> Outputs:
    """P(ids) = ∏ step(prefix, allowed)[id] over all outputs of at most `longest` ids.

    An output ends with an EOS id, or, where the vocabulary has none, at a whole string after which nothing is allowed.
    """
    whole: dict[Ids, float] = {}
    cut: dict[Ids, float] = {}
    waiting: list[tuple[Ids, int, float]] = [((), 0, 1.0)]
    while waiting:
        ids, state, chance = waiting.pop()
        after = allowed(accept, table, tokens, eos, state)
        if not after:
            _end(whole if state in accept else cut, ids, chance)
        elif len(ids) == longest:
            _end(cut, ids, chance)
        else:
            for token, share in step(ids, sorted(after)).items():
                if token not in after:
                    raise OracleError(f"the step after {ids} gives a chance to {token}, which is not allowed")
                if token in eos:
                    _end(whole, (*ids, token), chance * share)
                elif share > 0:
                    waiting.append(((*ids, token), after[token], chance * share))
        if len(whole) + len(cut) + len(waiting) > most:
            raise OracleError(f"more than {most} outputs")
    return Outputs(whole, cut)


def allowed(
    accept: Collection[int],
    table: Sequence[Sequence[int]],
    tokens: Sequence[bytes | None],
    eos: Collection[int],
    state: int,
) -> dict[int, int]:
    """The allowed ids of a state and the states they lead to; EOS, from an accepting state, leads back to it."""
    after = {token: state for token in eos if state in accept}
    for token, data in enumerate(tokens):
        if data and token not in eos:
            target = _walk(table, state, data)
            if target != DEAD:
                after[token] = target
    return after


def renormalised(logits: Callable[[Ids], Sequence[float]], temperature: float = 1.0) -> Step:
    """exp(l / T) over the sum of the same over the allowed ids; at T = 0 all to the least id of the greatest logit."""

    def step(ids: Ids, allowed_ids: Sequence[int]) -> dict[int, float]:
        row = logits(ids)
        scores = {token: float(row[token]) for token in allowed_ids}
        top = max(scores.values())
        if math.isnan(top) or math.isinf(top):
            raise OracleError(f"after {ids}: the greatest allowed logit is {top}")
        if temperature == 0:
            return {min(token for token, score in scores.items() if score == top): 1.0}
        weights = {token: math.exp((score - top) / temperature) for token, score in scores.items()}
        total = math.fsum(weights.values())
        return {token: weight / total for token, weight in weights.items()}

    return step


def disagreement(
    chances: Mapping[Ids, float], counts: Mapping[Ids, int], risk: float = 1e-6
) -> Surprise | None:
    """The most surprising of k outcomes if its exact binomial tail is below risk / 2k, else None."""
    draws = sum(counts.values())
    outcomes = chances.keys() | counts.keys()
    surprises = [_surprise(ids, chances.get(ids, 0.0), counts.get(ids, 0), draws) for ids in outcomes]
    worst = min(surprises, key=lambda surprise: (surprise.tail, surprise.chance, surprise.ids), default=None)
    return worst if worst is not None and worst.tail < risk / (2 * len(outcomes)) else None


def binomial_tail(count: int, draws: int, chance: float) -> float:
    """P(X ≥ count) above the mean and P(X ≤ count) at or below it, for X ~ Binomial(draws, chance)."""
    if chance <= 0:
        return 1.0 if count == 0 else 0.0
    if chance >= 1:
        return 1.0 if count == draws else 0.0
    odds, is_above = chance / (1 - chance), count > draws * chance
    term, total, at = _mass(count, draws, chance), 0.0, count
    while term > total * 1e-18 and 0 <= at <= draws:
        total += term
        term *= (draws - at) / (at + 1) * odds if is_above else at / (draws - at + 1) / odds
        at += 1 if is_above else -1
    return min(total, 1.0)


def counted(drawn: Iterable[Ids]) -> dict[Ids, int]:
    """How often each output was drawn."""
    counts: dict[Ids, int] = {}
    for ids in drawn:
        counts[ids] = counts.get(ids, 0) + 1
    return counts


def _surprise(ids: Ids, chance: float, count: int, draws: int) -> Surprise:
    return Surprise(ids, chance, count, draws, binomial_tail(count, draws, chance))


def _mass(count: int, draws: int, chance: float) -> float:
    ways = math.lgamma(draws + 1) - math.lgamma(count + 1) - math.lgamma(draws - count + 1)
    return math.exp(ways + count * math.log(chance) + (draws - count) * math.log1p(-chance))


def _end(ends: dict[Ids, float], ids: Ids, chance: float) -> None:
    ends[ids] = ends.get(ids, 0.0) + chance


def _walk(table: Sequence[Sequence[int]], state: int, data: bytes) -> int:
    for byte in data:
        state = table[state][byte]
        if state == DEAD:
            return DEAD
    return state
