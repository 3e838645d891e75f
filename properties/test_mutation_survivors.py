"""What a general mutation tool could change in the reference without any other test seeing it (docs/mutation.md)."""

import math

import pytest

from reference.errors import PatternError, Refused
from reference.patterns import Repeat, parse
from reference.pcg32 import Pcg32
from reference.sampling import SamplingParams, distribution
from reference.utf8 import byte_ranges

MOST = (1 << 64) - 1


def test_leading_zeros_of_a_bound_count_for_nothing() -> None:
    assert parse("a{0000000003}") == Repeat(parse("a"), 3, 3)


@pytest.mark.parametrize(("digits", "shown"), [("9" * 12, "9" * 12), ("9" * 13, "9" * 9 + "...")])
def test_a_bound_of_up_to_twelve_digits_is_shown_whole(digits: str, shown: str) -> None:
    with pytest.raises(PatternError) as refusal:
        parse(f"a{{{digits}}}")
    assert f"the bound {shown} is over 1000; " in str(refusal.value)


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


def test_all_scalars_are_the_nine_products_of_rfc_3629() -> None:
    """§4, UTF8-1 to UTF8-4: no set is cut finer than the encoding asks for."""
    tail = (0x80, 0xBF)
    assert list(byte_ranges(((0, 0x10FFFF),))) == [
        ((0x00, 0x7F),),
        ((0xC2, 0xDF), tail),
        ((0xE0, 0xE0), (0xA0, 0xBF), tail),
        ((0xE1, 0xEC), tail, tail),
        ((0xED, 0xED), (0x80, 0x9F), tail),
        ((0xEE, 0xEF), tail, tail),
        ((0xF0, 0xF0), (0x90, 0xBF), tail, tail),
        ((0xF1, 0xF3), tail, tail, tail),
        ((0xF4, 0xF4), (0x80, 0x8F), tail, tail),
    ]
