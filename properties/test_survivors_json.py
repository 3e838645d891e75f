"""What a mutation tool could change in jsontext, integers without any other test seeing it (docs/mutation.md)."""

import pytest

from properties.test_jsontext import digits_up_to
from reference.errors import JsonTextError
from reference.jsontext import dumps, loads

NO_VALUE = "begins no JSON value; write a string, number, true, false, null, '[' or '{'"
OVERFLOWS = "overflows to infinity; a double ends near 1.8e308"
LONE = "is a lone surrogate; write both halves of the pair"


@pytest.mark.parametrize(
    ("text", "character"),
    [
        (r'"\ud800\udc00"', "\U00010000"),
        (r'"\udbff\udfff"', "\U0010ffff"),
        (r'"\ud7ff\ue000"', "\ud7ff\ue000"),
    ],
)
def test_the_first_and_last_of_each_kind_of_code_unit_are_read(text: str, character: str) -> None:
    """RFC 8259, §7 and RFC 2781, §2.1: halves are D800 to DBFF and DC00 to DFFF, the units around them characters."""
    assert loads(text) == character


@pytest.mark.parametrize(
    ("text", "half"),
    [
        (r'"\udc00\udc00"', r"\udc00"),
        (r'"\udfff\udc00"', r"\udfff"),
        (r'"\ud800\ue000"', r"\ud800"),
        (r'"\udbff\udbff"', r"\udbff"),
    ],
)
def test_two_code_units_that_are_no_pair_are_refused(text: str, half: str) -> None:
    with pytest.raises(JsonTextError) as refusal:
        loads(text)
    assert str(refusal.value) == f"JSON, position 1: {half} {LONE}"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("n" * 20, f"'{'n' * 20}' {NO_VALUE}"),
        ("n" * 21, f"'{'n' * 20}' {NO_VALUE}"),
        ("123456789012345.6e999", f"123456789012345.6e99 {OVERFLOWS}"),
    ],
)
def test_a_message_shows_twenty_characters_of_a_word_or_number(text: str, message: str) -> None:
    with pytest.raises(JsonTextError) as refusal:
        loads(text)
    assert str(refusal.value) == f"JSON, position 0: {message}"


@pytest.mark.parametrize(("length", "shown"), [(60, '"' + "k" * 60 + '"'), (61, '"' + "k" * 57 + '..."')])
def test_a_key_given_twice_is_shown_whole_up_to_sixty_characters(length: int, shown: str) -> None:
    key = '"' + "k" * length + '"'
    with pytest.raises(JsonTextError) as refusal:
        loads(f"{{{key}:1,{key}:2}}", unique_keys=True)
    assert str(refusal.value) == f"JSON, position {length + 6}: the key {shown} is given twice; keep one"


@pytest.mark.parametrize(
    ("power", "digits"),
    [
        (10**599, "1" + "0" * 599),
        (10**640, "1" + "0" * 640),
        (10**700 - 1, "9" * 700),
        (10**2000, "1" + "0" * 2000),
    ],
)
@pytest.mark.parametrize("sign", [1, -1])
def test_integers_are_exact_under_the_lowest_limit_that_python_can_be_given(
    power: int, digits: str, sign: int
) -> None:
    """640 digits, by hand: SPEC §3 has integers exact at any size, whatever the interpreter was told."""
    text = digits if sign > 0 else f"-{digits}"
    with digits_up_to(640):
        assert loads(text) == sign * power
        assert dumps(sign * power) == text
