"""Sampling: SPEC §6 by hand, against a second computation in plain Python, and at the edges of float64."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reference.compile import regex_to_dfa
from reference.constraint import Constraint
from reference.errors import MaskError, Refused
from reference.masks import TokenIndex
from reference.pcg32 import Pcg32
from reference.sampling import SamplingError, SamplingParams, constrained_sample, distribution, sample
from reference.vocabulary import Vocabulary

many = settings(max_examples=100, deadline=None)
HAND = Vocabulary((b"a", b"b", b"c", None), frozenset({3}), "hand")
GREEDY = SamplingParams(temperature=0)
INFINITY = math.inf


def all_of(size: int) -> list[bool]:
    return [True] * size


def test_the_generator_gives_the_published_numbers() -> None:
    generator = Pcg32(42, 54)
    expected = "a15c02b7 7b47f409 ba1d3330 83d2f293 bfa4784b cbed606e"
    assert " ".join(f"{generator.next_u32():08x}" for _ in range(6)) == expected


def test_uniform_is_the_next_number_over_two_to_the_32() -> None:
    assert [Pcg32(42, 54).uniform(), Pcg32(42, 54).uniform()] == [0xA15C02B7 / 2**32] * 2


def test_a_generator_goes_on_from_its_state_and_increment() -> None:
    one = Pcg32(7, 3)
    one.next_u32()
    other = Pcg32.at(one.state, one.inc)
    assert [one.next_u32() for _ in range(5)] == [other.next_u32() for _ in range(5)]


def test_two_sequences_of_one_seed_differ() -> None:
    generators = [Pcg32(1, sequence) for sequence in range(100)]
    streams = {tuple(generator.next_u32() for _ in range(3)) for generator in generators}
    assert len(streams) == 100


@pytest.mark.parametrize(
    ("seed", "sequence", "message"),
    [
        (-1, 0, "seed -1 is not in"),
        (1 << 64, 0, "is not in 0"),
        (0, -1, "sequence -1"),
        (0.5, 0, "seed 0.5 is not an"),
    ],
)
def test_a_seed_or_sequence_out_of_range_is_refused(seed: int, sequence: int, message: str) -> None:
    with pytest.raises(Refused, match=message):
        Pcg32(seed, sequence)


def test_an_even_increment_is_refused() -> None:
    with pytest.raises(Refused, match="inc 2 is even"):
        Pcg32.at(0, 2)


def test_the_hand_example_takes_a_and_then_the_end() -> None:
    """a with logprob 0 although c has the largest logit; then EOS with logprob 2 − ln(e¹ + e²)."""
    constraint = Constraint(TokenIndex(regex_to_dfa("ab?"), HAND))
    rng = Pcg32(42, 54)
    assert constrained_sample([0.0, 1, 5, 2], constraint, GREEDY, [], [], rng) == (0, 0.0)
    token, logprob = constrained_sample([0.0, 1, 5, 2], constraint, GREEDY, [], [0], rng)
    assert token == 3 and logprob == pytest.approx(2 - math.log(math.e + math.e**2), abs=1e-15)
    assert constraint.done
    with pytest.raises(MaskError, match="no token is allowed"):
        constrained_sample([0.0, 1, 5, 2], constraint, GREEDY, [], [0, 3], rng)


def test_a_refused_row_of_logits_leaves_the_constraint_where_it_was() -> None:
    constraint = Constraint(TokenIndex(regex_to_dfa("ab?"), HAND))
    for logits in ([0.0, 1, 5], [0.0, math.nan, 5, 2]):
        with pytest.raises(MaskError):
            constrained_sample(logits, constraint, GREEDY, [], [], Pcg32(0, 0))
        assert constraint.state == 0 and not constraint.done


def test_greedy_takes_the_lowest_id_of_the_largest_and_draws_nothing() -> None:
    rng = Pcg32(1, 1)
    before = rng.state
    assert sample([1.0, 3, 3, 3], [True, False, True, True], GREEDY, [], [], rng)[0] == 2
    assert rng.state == before


def test_a_draw_moves_the_generator_by_one_number() -> None:
    rng, twin = Pcg32(1, 1), Pcg32(1, 1)
    sample([1.0, 2], all_of(2), SamplingParams(), [], [], rng)
    twin.next_u32()
    assert rng.state == twin.state


def test_the_mask_comes_before_top_k() -> None:
    """The forbidden token has the largest logit: top_k = 1 is the best of those that are allowed."""
    ids, probabilities = distribution([1.0, 9, 2], [True, False, True], SamplingParams(top_k=1))
    assert ids.tolist() == [2] and probabilities.tolist() == [1]


def test_top_k_breaks_ties_by_id_and_keeps_exactly_k() -> None:
    assert distribution([1.0, 2, 2, 2], all_of(4), SamplingParams(top_k=2))[0].tolist() == [1, 2]
    assert distribution([1.0, 2, 2, 2], all_of(4), SamplingParams(top_k=9))[0].tolist() == [0, 1, 2, 3]


def test_top_p_keeps_the_token_that_crosses() -> None:
    logits = np.log([0.5, 0.3, 0.2])
    for top_p, kept in ((0.4, [0]), (0.55, [0, 1]), (0.81, [0, 1, 2]), (1.0, [0, 1, 2]), (1e-9, [0])):
        assert distribution(logits, all_of(3), SamplingParams(top_p=top_p))[0].tolist() == kept


def test_top_p_reached_exactly_keeps_no_more() -> None:
    assert distribution([0.0] * 4, all_of(4), SamplingParams(top_p=0.5))[0].tolist() == [0, 1]


def test_top_p_is_of_what_top_k_kept() -> None:
    """Of four equal tokens top_k keeps two, and half of those is one."""
    assert distribution([0.0] * 4, all_of(4), SamplingParams(top_k=2, top_p=0.5))[0].tolist() == [0]


def test_min_p_is_relative_to_the_best_and_after_the_temperature() -> None:
    logits = np.log([0.6, 0.3, 0.1])
    assert distribution(logits, all_of(3), SamplingParams(min_p=0.49))[0].tolist() == [0, 1]
    assert distribution(logits, all_of(3), SamplingParams(min_p=0.51))[0].tolist() == [0]
    assert distribution(logits, all_of(3), SamplingParams(min_p=0.51, temperature=4))[0].tolist() == [0, 1, 2]
    assert distribution([1.0, 1, 0], all_of(3), SamplingParams(min_p=1.0))[0].tolist() == [0, 1]


def test_penalties_by_hand() -> None:
    """Repetition looks at prompt and output: L / r above 0, L · r below; the other two look at the output."""
    params = SamplingParams(repetition_penalty=2, presence_penalty=0.5, frequency_penalty=0.25)
    ids, probabilities = distribution([4.0, -1, 3, 1], all_of(4), params, prompt=[0, 1], output=[1, 3, 3])
    penalised = np.array([4 / 2, -1 * 2 - 0.25 - 0.5, 3, 1 / 2 - 2 * 0.25 - 0.5])
    assert ids.tolist() == [0, 1, 2, 3]
    assert probabilities == pytest.approx(np.exp(penalised) / np.exp(penalised).sum(), abs=1e-15)


def test_the_logprob_is_at_temperature_one_and_before_the_cuts() -> None:
    params = SamplingParams(temperature=0.01, top_k=1)
    token, logprob = sample([1.0, 2, 7], [True, True, False], params, [], [], Pcg32(0, 0))
    assert token == 1 and logprob == pytest.approx(2 - math.log(math.e + math.e**2), abs=1e-15)


def second_computation(
    logits: list[float], mask: list[bool], params: SamplingParams, prompt: list[int], output: list[int]
) -> dict[int, float]:
    """SPEC §6 in plain Python, token by token, for finite logits and a temperature above 0."""
    scores = {}
    for token in [t for t, allowed in enumerate(mask) if allowed]:
        score = logits[token]
        if token in prompt or token in output:
            score = score / params.repetition_penalty if score > 0 else score * params.repetition_penalty
        score -= params.frequency_penalty * output.count(token) + params.presence_penalty * (token in output)
        scores[token] = score / params.temperature
    best = max(scores.values())
    chances = {token: math.exp(score - best) for token, score in scores.items()}
    ranked = sorted(chances, key=lambda token: (-chances[token], token))
    ranked = ranked[: params.top_k] if params.top_k else ranked
    total = math.fsum(chances[token] for token in ranked)
    sums = itertools.accumulate(chances[token] / total for token in ranked)
    count = next((n for n, s in enumerate(sums, 1) if s >= params.top_p - 1e-12), len(ranked))
    kept = [token for token in ranked[:count] if chances[token] >= params.min_p * chances[ranked[0]]]
    total = math.fsum(chances[token] for token in kept)
    return {token: chances[token] / total for token in kept}


params_drawn = st.builds(
    SamplingParams,
    temperature=st.floats(0.2, 5),
    top_k=st.integers(0, 6),
    top_p=st.sampled_from([0.17, 0.33, 0.61, 0.93, 1.0]),
    min_p=st.sampled_from([0.0, 0.05, 0.3]),
    repetition_penalty=st.sampled_from([0.5, 1.0, 1.3]),
    presence_penalty=st.sampled_from([-0.7, 0.0, 1.1]),
    frequency_penalty=st.sampled_from([-0.3, 0.0, 0.9]),
)
rows = st.lists(st.tuples(st.floats(-8, 8, width=16), st.booleans()), min_size=1, max_size=9)


@many
@given(rows, params_drawn, st.data())
def test_the_distribution_is_that_of_a_second_computation(
    row: list[tuple[float, bool]], params: SamplingParams, data: st.DataObject
) -> None:
    logits, mask = [logit for logit, _ in row], [allowed for _, allowed in row]
    if not any(mask):
        return
    tokens = st.lists(st.integers(0, len(row) - 1), max_size=5)
    prompt, output = data.draw(tokens), data.draw(tokens)
    expected = second_computation(logits, mask, params, prompt, output)
    ids, probabilities = distribution(logits, mask, params, prompt, output)
    assert ids.tolist() == sorted(expected)
    assert probabilities == pytest.approx([expected[token] for token in sorted(expected)], abs=1e-12)


@many
@given(rows, params_drawn, st.integers(0, 2**32 - 1))
def test_a_draw_is_the_first_id_whose_running_sum_passes_u(
    row: list[tuple[float, bool]], params: SamplingParams, seed: int
) -> None:
    logits, mask = [logit for logit, _ in row], [allowed for _, allowed in row]
    if not any(mask):
        return
    u = Pcg32(seed, 0).uniform()
    ids, probabilities = distribution(logits, mask, params)
    expected = next(t for t, c in zip(ids, itertools.accumulate(probabilities), strict=True) if c > u - 1e-12)
    token, _ = sample(logits, mask, params, [], [], Pcg32(seed, 0))
    sums = np.cumsum(probabilities)
    if np.abs(sums - u).min() > 1e-9:
        assert token == expected
    assert token in ids


def test_a_running_sum_that_equals_u_is_not_past_it() -> None:
    """u = 0 does not draw a first token of weight 0, and u = 1/2 draws the second of two equal ones."""
    zero, half = Pcg32.at(0, 1), Pcg32.at(1 << 58 | 1 << 40, 1)
    assert sample([-INFINITY, 0.0], all_of(2), SamplingParams(), [], [], zero)[0] == 1
    assert sample([0.0, 0.0], all_of(2), SamplingParams(), [], [], half)[0] == 1
    assert (Pcg32.at(0, 1).uniform(), Pcg32.at(1 << 58 | 1 << 40, 1).uniform()) == (0, 0.5)


def test_draws_follow_the_distribution() -> None:
    """Pearson's χ² of 20,000 draws from one stream, far below its 0.001 quantile of 16.3 for 3 degrees of freedom."""
    logits, mask, rng = [0.0, 1, 9, 2, -1], [True, True, False, True, True], Pcg32(42, 54)
    ids, probabilities = distribution(logits, mask, SamplingParams(temperature=1.5))
    counts = dict.fromkeys(ids.tolist(), 0)
    for _ in range(20_000):
        counts[sample(logits, mask, SamplingParams(temperature=1.5), [], [], rng)[0]] += 1
    expected = probabilities * 20_000
    assert sum((n - e) ** 2 / e for n, e in zip(counts.values(), expected, strict=True)) < 16.3


EXTREMES = [-INFINITY, -1e308, -1e30, -65504.0, -1.0, -0.0, 0.0, 5e-324, 1.0, 65504.0, 1e30, 1e308, INFINITY]
WILD = st.builds(
    SamplingParams,
    temperature=st.sampled_from([0.0, 1e-300, 1e-3, 1.0, 1e3, 1e300]),
    top_k=st.integers(0, 3),
    top_p=st.sampled_from([1e-300, 0.5, 1.0]),
    min_p=st.sampled_from([0.0, 1e-300, 1.0]),
    repetition_penalty=st.sampled_from([1e-300, 1.0, 1e300]),
    presence_penalty=st.sampled_from([-2.0, 0.0, 2.0]),
    frequency_penalty=st.sampled_from([-2.0, 0.0, 2.0]),
)


@many
@given(
    st.lists(st.tuples(st.sampled_from(EXTREMES), st.booleans()), min_size=1, max_size=8),
    WILD,
    st.sampled_from([np.float16, np.float32, np.float64]),
    st.integers(0, 2**32),
)
def test_no_logits_give_nan_or_a_forbidden_token(
    row: list[tuple[float, bool]], params: SamplingParams, dtype: type, seed: int
) -> None:
    with np.errstate(over="ignore"):
        logits = np.array([logit for logit, _ in row]).astype(dtype)
    mask = [allowed for _, allowed in row]
    if not any(mask):
        return
    tokens = list(range(len(row)))[::2]
    with np.errstate(invalid="raise", divide="raise"):
        token, logprob = sample(logits, mask, params, tokens, tokens, Pcg32(seed, 1))
        ids, probabilities = distribution(logits, mask, params, tokens, tokens)
    assert mask[token] and token in ids
    assert math.isfinite(logprob) and logprob <= 0
    assert np.isfinite(probabilities).all() and probabilities.sum() == pytest.approx(1)


@pytest.mark.parametrize("value", [-INFINITY, INFINITY, 0.0, -1e30, 1e308])
def test_equal_logits_are_uniform_over_the_allowed_tokens(value: float) -> None:
    """Also where every allowed logit is −inf, and one that is not allowed is larger."""
    logits, mask = [value, 7.0, value, value], [True, False, True, True]
    ids, probabilities = distribution(logits, mask, SamplingParams())
    assert ids.tolist() == [0, 2, 3] and probabilities == pytest.approx([1 / 3] * 3)
    assert sample(logits, mask, GREEDY, [], [], Pcg32(0, 0)) == (0, pytest.approx(-math.log(3)))


def test_a_logit_of_minus_infinity_is_not_drawn_while_another_is_allowed() -> None:
    for seed in range(50):
        assert sample([-INFINITY, -1e30], all_of(2), SamplingParams(), [], [], Pcg32(seed, 0)) == (1, 0.0)


def test_plus_infinity_takes_all() -> None:
    ids, probabilities = distribution([INFINITY, 1e308, INFINITY], all_of(3), SamplingParams(top_k=2))
    assert dict(zip(ids.tolist(), probabilities.tolist(), strict=True)) == {0: 0.5, 2: 0.5}


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_the_arithmetic_is_float64_whatever_the_logits_are(dtype: type) -> None:
    logits = np.array([0.1, 0.2, 0.3], dtype)
    _, narrow = sample(logits, all_of(3), GREEDY, [], [], Pcg32(0, 0))
    _, wide = sample(logits.astype(np.float64), all_of(3), GREEDY, [], [], Pcg32(0, 0))
    assert narrow == wide


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("temperature", [-0.1, math.nan, INFINITY, "1", None, True]),
        ("top_k", [-1, 1.5, 1 << 31, True, None]),
        ("top_p", [0, -0.1, 1.01, math.nan, None]),
        ("min_p", [-0.1, 1.01, math.nan]),
        ("repetition_penalty", [0, -1, INFINITY, math.nan]),
        ("presence_penalty", [-2.1, 2.1, math.nan]),
        ("frequency_penalty", [-2.1, 2.1, math.nan]),
        ("seed", [-1, 1 << 64, 0.5, True]),
    ],
)
def test_parameters_out_of_range_are_refused_by_name(name: str, values: list[object]) -> None:
    for value in values:
        with pytest.raises(SamplingError, match=f"sampling, {name}: .* is out of range; give "):
            SamplingParams(**{name: value})


def test_the_ends_of_every_range_are_in_it() -> None:
    SamplingParams(0, 0, 1, 0, 1e-9, -2, -2, 0)
    SamplingParams(1e9, (1 << 31) - 1, 1e-9, 1, 1e9, 2, 2, (1 << 64) - 1)


@pytest.mark.parametrize(("prompt", "output"), [([4], []), ([], [-1]), ([0.5], []), ([[0]], [])])
def test_prompts_and_outputs_with_ids_that_the_logits_lack_are_refused(
    prompt: list[int], output: list[int]
) -> None:
    with pytest.raises(SamplingError, match=f"sampling, {'prompt' if prompt else 'output'}: "):
        sample([0.0] * 4, all_of(4), SamplingParams(), prompt, output, Pcg32(0, 0))


def test_a_walk_is_the_same_for_the_same_seed() -> None:
    index = TokenIndex(regex_to_dfa("[abc]{20}"), HAND)

    def walk(seed: int) -> list[int]:
        constraint, rng, output = Constraint(index), Pcg32(seed, 0), list[int]()
        while not constraint.done:
            output.append(constrained_sample([0.0] * 4, constraint, SamplingParams(), [], output, rng)[0])
        return output

    assert walk(5) == walk(5) != walk(6)
    assert len(walk(5)) == 21
