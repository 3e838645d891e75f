"""Exact distributions over whole outputs: worked examples, a sampler that agrees, and wrong samplers that do not."""

import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oracles.derivatives import automaton
from oracles.distributions import allowed, binomial_tail, counted, disagreement, outputs, renormalised
from oracles.errors import OracleError
from reference.compile import regex_to_dfa
from reference.constraint import Constraint
from reference.masks import TokenIndex
from reference.pcg32 import Pcg32
from reference.sampling import SamplingParams, constrained_sample
from reference.vocabulary import Vocabulary

Ids = tuple[int, ...]
Plain = tuple[list[int], list[list[int]]]

TOKENS = [b"a", b"b", b"c", None]
HAND = automaton("ab?")
PETS = automaton("(cat|car|dog)s?")
LETTERS = [bytes([byte]) for byte in b"catrdogs"] + [b"ca", b"dog", None]
EOS = len(LETTERS) - 1


def steady(ids: Ids) -> list[float]:
    return [0.0, 1.0, 5.0, 2.0]


def varied(ids: Ids) -> list[float]:
    return [math.sin(3 * token + 5 * len(ids) + sum(ids)) * 2 for token in range(len(LETTERS))]


def near(left: Mapping[Ids, float], right: Mapping[Ids, float]) -> bool:
    return left.keys() == right.keys() and all(math.isclose(left[ids], right[ids]) for ids in left)


def test_the_hand_example_has_two_outputs() -> None:
    """ab?, logits [0, 1, 5, 2]: a for certain, then EOS with e²/(e¹ + e²), else b and then EOS."""
    ending = math.exp(2) / (math.exp(1) + math.exp(2))
    found = outputs(*HAND, TOKENS, {3}, renormalised(steady))
    assert near(found.whole, {(0, 3): ending, (0, 1, 3): 1 - ending})
    assert found.cut == {}


def test_greedy_takes_the_least_id_of_the_greatest_logit() -> None:
    step = renormalised(lambda ids: [1.0, 7.0, 7.0, 7.0], temperature=0)
    assert outputs(*automaton("[abc]"), TOKENS, {3}, step).whole == {(1, 3): 1.0}


def test_a_temperature_divides_the_logits() -> None:
    ending = math.exp(4) / (math.exp(2) + math.exp(4))
    found = outputs(*HAND, TOKENS, {3}, renormalised(steady, temperature=0.5))
    assert math.isclose(found.whole[0, 3], ending)


def test_two_ids_with_one_text_and_two_eos_ids_are_outcomes_of_their_own() -> None:
    found = outputs(*automaton("a"), [b"a", b"a", None, None], {2, 3}, renormalised(lambda ids: [0.0] * 4))
    assert near(found.whole, dict.fromkeys([(0, 2), (0, 3), (1, 2), (1, 3)], 0.25))


def test_without_eos_an_output_ends_where_nothing_more_is_allowed() -> None:
    assert outputs(*HAND, [b"a", b"b"], set(), renormalised(steady)).whole == {(0, 1): 1.0}


def test_prefixes_that_are_too_long_or_stuck_are_cut_and_counted() -> None:
    found = outputs(*automaton("a*"), [b"a", None], {1}, renormalised(lambda ids: [0.0, 0.0]), longest=3)
    assert found.whole == {(1,): 0.5, (0, 1): 0.25, (0, 0, 1): 0.125}
    assert found.cut == {(0, 0, 0): 0.125}
    assert outputs(*automaton("ab"), [b"a", None], {1}, renormalised(lambda ids: [0.0, 0.0])).cut == {
        (0,): 1.0
    }


@settings(max_examples=40, deadline=None)
@given(st.lists(st.floats(-30, 30), min_size=len(LETTERS), max_size=len(LETTERS)), st.floats(0.1, 4))
def test_chances_add_up_to_one(logits: list[float], temperature: float) -> None:
    found = outputs(*PETS, LETTERS, {EOS}, renormalised(lambda ids: logits, temperature))
    assert math.isclose(math.fsum(found.whole.values()), 1, rel_tol=1e-12)
    assert found.cut == {}


def test_allowed_ids_are_those_of_which_all_bytes_stay_live() -> None:
    accept, table = PETS
    assert allowed(accept, table, [b"c", b"cx", b"", None, b"cat", b"cats"], {3}, 0).keys() == {0, 4, 5}
    assert allowed(accept, table, LETTERS, {EOS}, 6) == {EOS: 6}


def test_extreme_logits_give_no_nan() -> None:
    step = renormalised(lambda ids: [-math.inf, 1e30, 0.0, -1e30])
    assert step((), [0, 1, 3]) == {0: 0.0, 1: 1.0, 3: 0.0}
    with pytest.raises(OracleError, match="greatest allowed logit is -inf"):
        step((), [0])


def test_a_step_may_not_give_a_chance_to_what_is_not_allowed() -> None:
    with pytest.raises(OracleError, match="to 2, which is not allowed"):
        outputs(*HAND, TOKENS, {3}, lambda ids, after: {2: 1.0})


def test_a_tree_that_is_too_big_is_refused() -> None:
    with pytest.raises(OracleError, match="more than 50 outputs"):
        outputs(*automaton("[ab]*"), TOKENS, {3}, renormalised(lambda ids: [0.0] * 4), most=50)


# Counts


@given(st.integers(1, 30), st.integers(0, 30), st.integers(1, 19))
def test_a_binomial_tail_is_the_sum_of_its_masses(draws: int, count: int, twentieths: int) -> None:
    count, chance = min(count, draws), Fraction(twentieths, 20)
    masses = [math.comb(draws, k) * chance**k * (1 - chance) ** (draws - k) for k in range(draws + 1)]
    side = masses[count:] if count > draws * chance else masses[: count + 1]
    assert math.isclose(binomial_tail(count, draws, float(chance)), float(sum(side)), rel_tol=1e-9)


def test_what_cannot_be_and_what_must_be_have_tails_of_nought_and_one() -> None:
    assert [binomial_tail(count, 5, 0.0) for count in (0, 1)] == [1.0, 0.0]
    assert [binomial_tail(count, 5, 1.0) for count in (4, 5)] == [0.0, 1.0]
    assert disagreement({(0,): 1.0}, {}) is None


def test_one_output_that_cannot_be_is_a_disagreement() -> None:
    found = disagreement({(0,): 1.0}, {(0,): 10_000, (1,): 1})
    assert found is not None and (found.ids, found.tail) == ((1,), 0.0)


Sampler = Callable[[Plain, Random], Ids]


def drawn(chances: Mapping[int, float], random: Random) -> int:
    return random.choices(list(chances), weights=list(chances.values()))[0]


def sampled(plain: Plain, random: Random, take: Callable[[Ids, Sequence[int], Random], int]) -> Ids:
    """A loop of its own: allowed ids, one of them by `take`, until EOS."""
    (accept, table), state, ids = plain, 0, ()
    while True:
        after = allowed(accept, table, LETTERS, {EOS}, state)
        token = take(ids, sorted(after), random)
        ids = (*ids, token)
        if token == EOS:
            return ids
        state = after[token]


def exact(ids: Ids, after: Sequence[int], random: Random) -> int:
    return drawn(renormalised(varied)(ids, after), random)


def uniform(ids: Ids, after: Sequence[int], random: Random) -> int:
    return random.choice(after)


def unmasked_then_first(ids: Ids, after: Sequence[int], random: Random) -> int:
    token = drawn(renormalised(varied)(ids, range(len(LETTERS))), random)
    return token if token in after else after[0]


def warmer(ids: Ids, after: Sequence[int], random: Random) -> int:
    return drawn(renormalised(varied, temperature=1.3)(ids, after), random)


def one_step_late(ids: Ids, after: Sequence[int], random: Random) -> int:
    return drawn(renormalised(varied)(ids[:-1], after), random)


def renormalised_at_the_end() -> dict[Ids, float]:
    """The mask taken after sampling: free runs of which those are kept that are members."""
    every = range(len(LETTERS))

    def free(ids: Ids, after: Sequence[int]) -> dict[int, float]:
        chances = renormalised(varied)(ids, every)
        return {token: chances[token] for token in after}

    return outputs(*PETS, LETTERS, {EOS}, free).whole


CHANCES = outputs(*PETS, LETTERS, {EOS}, renormalised(varied)).whole


def test_a_sampler_that_follows_the_definition_is_believed() -> None:
    random = Random(1)
    assert disagreement(CHANCES, counted(sampled(PETS, random, exact) for _ in range(4000))) is None


@pytest.mark.parametrize("mutant", [uniform, unmasked_then_first, warmer, one_step_late])
def test_every_wrong_sampler_is_seen(mutant: Any) -> None:
    random = Random(1)
    assert disagreement(CHANCES, counted(sampled(PETS, random, mutant) for _ in range(4000))) is not None


def test_a_mask_taken_after_sampling_is_seen() -> None:
    free, random = renormalised_at_the_end(), Random(1)
    assert free.keys() == CHANCES.keys() and math.fsum(free.values()) < 1
    counts = counted(random.choices(list(free), weights=list(free.values()), k=4000))
    assert disagreement(CHANCES, counts) is not None


# The reference's sampler


def reference_output(index: TokenIndex, rng: Pcg32, params: SamplingParams) -> Ids:
    constraint, ids = Constraint(index), ()
    while not constraint.done:
        logits = np.array(varied(ids), dtype=np.float64)
        token, _ = constrained_sample(logits, constraint, params, [], list(ids), rng)
        ids = (*ids, int(token))
    return ids


@pytest.mark.parametrize("temperature", [0.0, 0.7, 1.0])
def test_the_reference_draws_from_the_exact_distribution(temperature: float) -> None:
    index = TokenIndex(
        regex_to_dfa("(cat|car|dog)s?"), Vocabulary(tuple(LETTERS), frozenset({EOS}), "letters")
    )
    rng, params = Pcg32(42, 54), SamplingParams(temperature=temperature)
    counts = counted(reference_output(index, rng, params) for _ in range(2000))
    chances = outputs(*PETS, LETTERS, {EOS}, renormalised(varied, temperature)).whole
    assert disagreement(chances, counts) is None
    assert (
        disagreement(outputs(*PETS, LETTERS, {EOS}, renormalised(varied, temperature + 0.5)).whole, counts)
        is not None
    )
