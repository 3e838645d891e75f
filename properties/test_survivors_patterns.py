"""What a mutation tool could change in patterns, atoms, charsets, utf8 unseen by other tests (docs/mutation.md)."""

import pytest

from reference.charsets import Dialect, normalised
from reference.errors import PatternError, TooLarge
from reference.patterns import ByteSet, Repeat, Sequence, parse
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


@pytest.mark.parametrize("dialect", ["bytes", "unicode"])
@pytest.mark.parametrize(
    ("letter", "byte"), [("n", 0x0A), ("r", 0x0D), ("t", 0x09), ("f", 0x0C), ("v", 0x0B)], ids=list("nrtfv")
)
def test_each_letter_of_a_control_character_is_that_byte(letter: str, byte: int, dialect: Dialect) -> None:
    """ASCII: HT 09, LF 0A, VT 0B, FF 0C, CR 0D."""
    assert parse(f"\\{letter}", dialect) == parse(f"[\\{letter}]", dialect) == ByteSet(1 << byte)


@pytest.mark.parametrize(
    ("code", "shown"),
    [
        ((1 << 64) - 1, "0xffffffffffffffff"),
        (1 << 64, "a number of 65 bits"),
        (1 << 65, "a number of 66 bits"),
    ],
    ids=["64 bits", "65 bits", "66 bits"],
)
def test_a_number_in_braces_is_shown_whole_up_to_64_bits(code: int, shown: str) -> None:
    with pytest.raises(PatternError) as refusal:
        parse(f"a\\u{{{code:x}}}", "unicode")
    assert (
        str(refusal.value) == f"pattern, position 1: {shown} is over the last code point, U+10FFFF; lower it"
    )


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (" -\x01", " -\\u{1}"),
        ("~-a", "~-a"),
        ("\x7f-a", "\\u{7f}-a"),
        (f"\\u{{{'0' * 32}7a}}-a", f"\\u{{{'0' * 32}7a}}-a"),
        (f"\\u{{{'0' * 33}7a}}-a", f"\\u{{{'0' * 33}7..."),
    ],
    ids=["space", "tilde", "DEL", "40 characters", "41 characters"],
)
def test_a_range_in_a_message_is_printable_and_of_forty_characters_at_most(text: str, shown: str) -> None:
    with pytest.raises(PatternError) as refusal:
        parse(f"[{text}]", "unicode")
    assert str(refusal.value) == f"pattern, position 1: the range '{shown}' runs backwards; swap its ends"


@pytest.mark.parametrize("dialect", ["bytes", "unicode"])
def test_every_printable_character_without_a_meaning_is_itself(dialect: Dialect) -> None:
    for character in set(map(chr, range(0x20, 0x7F))) - set("()[.*+?{|^$\\"):
        assert parse(character, dialect) == ByteSet(1 << ord(character))


def test_a_dot_is_one_atom_between_others() -> None:
    """SPEC §1: any byte but 0A."""
    a, dot, b = (ByteSet(bits) for bits in (1 << 0x61, (1 << 256) - 1 - (1 << 0x0A), 1 << 0x62))
    assert parse("a.b") == Sequence((a, dot, b))
    assert parse("aa..") == Sequence((a, a, dot, dot))


def test_a_range_whose_upper_end_is_a_class_of_one_range_is_refused_as_such() -> None:
    with pytest.raises(PatternError) as refusal:
        parse(r"[!-\d]")
    told = r"'!-\d' has a class at an end of a range; escape the hyphen as '\-'"
    assert str(refusal.value) == f"pattern, position 1: {told}"


def test_the_first_character_of_two_bytes_is_refused_in_brackets_of_bytes() -> None:
    with pytest.raises(PatternError) as refusal:
        parse("[\x80]")
    told = "U+0080 inside brackets is several bytes; use '|' or the dialect unicode"
    assert str(refusal.value) == f"pattern, position 1: {told}"


def test_ranges_that_touch_are_one() -> None:
    assert normalised([(3, 4), (1, 2)]) == ((1, 4),)
    assert normalised([(4, 4), (1, 2)]) == ((1, 2), (4, 4))


def test_equal_bounds_are_a_count() -> None:
    assert parse("a{3,3}") == Repeat(parse("a"), 3, 3)


def test_the_innermost_open_group_is_the_one_that_is_named() -> None:
    with pytest.raises(PatternError) as refusal:
        parse("(a(b(c")
    assert refusal.value.position == 4


def test_the_limits_are_the_last_that_fit_and_the_place_is_told() -> None:
    assert parse("aaaa", max_length=4) == parse("(?:a)aaa")
    assert parse("((a))", max_nesting=2) == parse("a")
    with pytest.raises(TooLarge) as refusal:
        parse("((a))", max_nesting=1)
    told = "pattern, position 1: groups are nested over max_nesting=1; flatten them"
    assert str(refusal.value) == told
