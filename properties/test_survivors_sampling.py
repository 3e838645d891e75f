"""What a mutation tool could change in pcg32, sampling without any other test seeing it (docs/mutation.md)."""

import math
import sys
import warnings
from dataclasses import fields

import pytest

from reference.errors import Refused
from reference.pcg32 import Pcg32
from reference.sampling import SamplingError, SamplingParams, distribution, sample

MOST = (1 << 64) - 1


@pytest.mark.parametrize(
    ("state", "inc", "message"),
    [
        (0, 0.5, "Pcg32: inc 0.5 is not an integer; give one of 0 … 2⁶⁴ − 1"),
        (0, MOST + 2, f"Pcg32: inc {MOST + 2} is not in 0 … 2⁶⁴ − 1; reduce it first"),
        (-1, 1, "Pcg32: state -1 is not in 0 … 2⁶⁴ − 1; reduce it first"),
        ("0", 1, "Pcg32: state '0' is not an integer; give one of 0 … 2⁶⁴ − 1"),
    ],
)
def test_a_generator_goes_on_from_whole_numbers_of_64_bits_only(state: int, inc: int, message: str) -> None:
    with pytest.raises(Refused) as refusal:
        Pcg32.at(state, inc)
    assert str(refusal.value) == message


def test_the_largest_state_increment_seed_and_sequence_are_taken() -> None:
    last = Pcg32.at(MOST, MOST)
    assert (last.state, last.inc) == (MOST, MOST)
    assert Pcg32(MOST, MOST).inc == MOST


def test_top_p_of_one_keeps_tokens_of_no_weight() -> None:
    """1 is off: a token that top_k kept stays a candidate though it adds nothing to the sum."""
    ids, probabilities = distribution([0.0, -math.inf], [True, True], SamplingParams(top_k=2))
    assert (ids.tolist(), probabilities.tolist()) == ([0, 1], [1.0, 0.0])


@pytest.mark.parametrize(
    ("params", "penalised"),
    [
        (SamplingParams(repetition_penalty=2), 1.0),
        (SamplingParams(presence_penalty=0.5), 1.5),
        (SamplingParams(frequency_penalty=0.5), 1.0),
        (SamplingParams(presence_penalty=0.5, frequency_penalty=0.5), 0.5),
        (SamplingParams(presence_penalty=1, frequency_penalty=1), -1.0),
    ],
)
def test_each_penalty_works_alone(params: SamplingParams, penalised: float) -> None:
    """Token 1 has logit 2 and is twice in the output; token 0 is nowhere."""
    _, probabilities = distribution([2.0, 2.0], [True, True], params, [], [1, 1])
    assert math.log(probabilities[1] / probabilities[0]) == pytest.approx(penalised - 2)


def test_an_empty_prompt_and_output_hold_no_token() -> None:
    params = SamplingParams(repetition_penalty=2, presence_penalty=1, frequency_penalty=1)
    assert distribution([2.0, 2.0], [True, True], params)[1].tolist() == [0.5, 0.5]


@pytest.mark.parametrize("what", ["prompt", "output"])
def test_an_id_that_the_logits_lack_is_refused_with_the_ids_that_they_have(what: str) -> None:
    prompt, output = ([4], []) if what == "prompt" else ([], [4])
    with pytest.raises(SamplingError) as refusal:
        sample([0.0] * 4, [True] * 4, SamplingParams(), prompt, output, Pcg32(0, 0))
    assert str(refusal.value) == (f"sampling, {what}: an id outside 0 … 3; give ids that the logits have")


def test_ties_go_by_id_in_a_long_row_too() -> None:
    """A sort that is not stable keeps the order of a short row by chance."""
    logits = [float(token % 2) for token in range(5000)]
    ids, _ = distribution(logits, [True] * 5000, SamplingParams(top_k=1000))
    assert ids.tolist() == list(range(1, 2000, 2))


def test_an_infinite_logit_is_alone_at_any_temperature() -> None:
    ids, probabilities = distribution([math.inf, 0.0], [True, True], SamplingParams(temperature=1e-3))
    assert (ids.tolist(), probabilities.tolist()) == ([0, 1], [1.0, 0.0])


@pytest.mark.parametrize(("logits", "temperature"), [([1e308, -1e308], 1.0), ([0.0, -1e308], 1e-300)])
def test_logits_far_apart_are_no_cause_for_a_warning(logits: list[float], temperature: float) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ids, probabilities = distribution(logits, [True, True], SamplingParams(temperature=temperature))
    assert (ids.tolist(), probabilities.tolist()) == ([0, 1], [1.0, 0.0])


HUGE = 10**5000
"""Longer than the digits that Python writes without being told to."""


@pytest.mark.parametrize("name", [field.name for field in fields(SamplingParams)])
def test_an_integer_of_any_size_is_in_range_or_refused_in_a_line(name: str) -> None:
    with pytest.raises(SamplingError) as refusal:
        SamplingParams(**{name: HUGE})
    told = f"sampling, {name}: an integer of {HUGE.bit_length()} bits is out of range; give "
    assert str(refusal.value).startswith(told)


def test_a_temperature_past_the_doubles_is_refused_and_the_largest_double_draws() -> None:
    with pytest.raises(SamplingError):
        SamplingParams(temperature=10**309)
    ids, probabilities = distribution(
        [1.0, 0.0], [True, True], SamplingParams(temperature=sys.float_info.max)
    )
    assert (ids.tolist(), probabilities.tolist()) == ([0, 1], [0.5, 0.5])


def test_a_generator_told_a_long_integer_says_so_in_a_line() -> None:
    with pytest.raises(Refused) as refusal:
        Pcg32(HUGE, 0)
    assert f"an integer of {HUGE.bit_length()} bits is not in" in str(refusal.value)
