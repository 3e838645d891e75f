"""What a mutation tool could change in patterns, utf8 without any other test seeing it (docs/mutation.md)."""

import pytest

from reference.errors import PatternError
from reference.patterns import Repeat, parse
from reference.utf8 import byte_ranges


def test_leading_zeros_of_a_bound_count_for_nothing() -> None:
    assert parse("a{0000000003}") == Repeat(parse("a"), 3, 3)


@pytest.mark.parametrize(("digits", "shown"), [("9" * 12, "9" * 12), ("9" * 13, "9" * 9 + "...")])
def test_a_bound_of_up_to_twelve_digits_is_shown_whole(digits: str, shown: str) -> None:
    with pytest.raises(PatternError) as refusal:
        parse(f"a{{{digits}}}")
    assert f"the bound {shown} is over 1000; " in str(refusal.value)


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
