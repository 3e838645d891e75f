"""Attacks on the reference's readers: what one reader takes the others take, and a refusal stays one short line."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles import derivatives
from oracles.check_certificate import Reader, Terms
from oracles.z3_reader import python_text
from reference.compile import regex_to_dfa
from reference.errors import Refused
from reference.schema import json_schema_to_regex, schema_from_text


@given(
    st.characters(codec="utf-8"),
    st.integers(min_value=0, max_value=6),
    st.sampled_from(["", "[", "[^", "[!-"]),
)
def test_a_code_point_in_braces_may_have_any_number_of_leading_zeros(
    character: str, zeros: int, before: str
) -> None:
    written = rf"\u{{{'0' * zeros}{ord(character):x}}}"
    pattern = f"{before}{written}{']' if before else ''}"
    if before == "[!-" and character < "!":
        with pytest.raises(Refused, match="runs backwards"):
            regex_to_dfa(pattern, "unicode")
        return
    dfa = regex_to_dfa(pattern, "unicode")
    assert dfa == regex_to_dfa(pattern.replace(written, rf"\u{{{ord(character):x}}}"), "unicode")
    assert dfa.matches(character.encode()) is (before != "[^")
    assert derivatives.is_member(pattern, character.encode(), "unicode") is (before != "[^")
    assert Reader(Terms(), pattern, "unicode").union() > 1
    if zeros < 3:
        assert f"\\U{ord(character):08x}" in python_text(pattern)


def test_a_million_zeros_before_a_digit_are_read_in_no_time() -> None:
    pattern = rf"\u{{{'0' * 999_000}61}}"
    assert np.array_equal(regex_to_dfa(pattern, "unicode").trans, regex_to_dfa("a").trans)


LONG = "n" * 100_000
FOREIGN = {"type": "string", "pattern": "a"}


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "properties": {"a\nb": FOREIGN}},
        {"type": "object", "properties": {"\x1b[2J\u2028": FOREIGN}},
        {"type": "object", "properties": {LONG: FOREIGN}},
        {"type": "object", "required": [LONG]},
        {"type": "string", "a\nb": 1},
        {"type": "string", LONG: 1},
        {"type": LONG},
        {"const": LONG, "type": "integer"},
        {"type": "array", "items": {"type": "null"}, "maxItems": 10**5000},
    ],
    ids=[
        "newline",
        "escape",
        "long name",
        "long required",
        "keyword",
        "long keyword",
        "long type",
        "long value",
        "bound",
    ],
)
def test_a_schema_is_refused_in_one_short_line_whatever_its_names(schema: dict[str, Any]) -> None:
    with pytest.raises(Refused) as refusal:
        json_schema_to_regex(schema)
    assert len(str(refusal.value).splitlines()) == 1
    assert len(str(refusal.value)) < 400


def test_a_long_key_given_twice_is_refused_in_one_short_line() -> None:
    with pytest.raises(Refused, match=r'position 100006: the key "nnn.*[.]{3}" is given twice') as refusal:
        schema_from_text(f'{{"{LONG}":1,"{LONG}":2}}')
    assert len(str(refusal.value)) < 200


@pytest.mark.parametrize(
    "pattern",
    [rf"[\u{{{'0' * 50_000}7a}}-a]", rf"\u{{{'f' * 50_000}}}", "a{" + "9" * 50_000 + "}", "[" + "a" * 50_000],
    ids=["backwards range", "code point", "bound", "open brackets"],
)
def test_a_long_pattern_is_refused_in_one_short_line(pattern: str) -> None:
    with pytest.raises(Refused) as refusal:
        regex_to_dfa(pattern, "unicode")
    assert len(str(refusal.value)) < 200
