"""The z3 oracle: it reads as Python reads, proves what is one language, and shows what is not, with a string."""

import json
import re
import warnings
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fixtures import ROOT
from oracles import bisimulation
from oracles.derivatives import automaton
from oracles.errors import OracleError
from oracles.z3_automata import Table
from oracles.z3_languages import Outcome, automaton_equals, compare, included
from oracles.z3_questions import bytes_of, confirmed, equal, is_in, shortened
from oracles.z3_reader import (
    LENGTHS,
    literal,
    python_pattern,
    python_text,
    regex_of,
    repeat,
    text,
    union,
    utf8,
)

STRING = (
    r'"(?:[\x20\x21\x23-\x5b\x5d-\x7f]|[\xc2-\xdf][\x80-\xbf]|\xe0[\xa0-\xbf][\x80-\xbf]'
    r"|[\xe1-\xec\xee\xef][\x80-\xbf]{2}|\xed[\x80-\x9f][\x80-\xbf]|\xf0[\x90-\xbf][\x80-\xbf]{2}"
    r'|[\xf1-\xf3][\x80-\xbf]{3}|\xf4[\x80-\x8f][\x80-\xbf]{2}|\\["\\/bfnrt]|\\u[0-9a-fA-F]{4})*"'
)
INTEGER = r"-?(?:0|[1-9][0-9]*)"
NUMBER = INTEGER + r"(?:\.[0-9]+)?(?:[eE][+\-]?[0-9]+)?"

ATOMS = st.sampled_from(
    [
        "a",
        "b",
        "ab",
        r"\x00",
        r"\xff",
        r"\n",
        ".",
        r"\d",
        r"\W",
        "[ab]",
        "[^a]",
        r"[\x80-\xff-]",
        "é",
        r"\.",
        "(?:)",
    ]
)
PATTERNS = st.recursive(
    ATOMS,
    lambda inner: st.one_of(
        st.tuples(inner, inner).map("".join),
        st.tuples(inner, inner).map(lambda two: f"(?:{two[0]}|{two[1]})"),
        st.tuples(inner, st.sampled_from(["*", "+", "?", "{2}", "{0}", "{1,}", "{0,2}", "{0,0}"])).map(
            lambda two: f"(?:{two[0]}){two[1]}"
        ),
    ),
    max_leaves=5,
)
TEXTS = st.lists(
    st.sampled_from([b"a", b"b", b"\x00", b"\xff", b"\n", b"0", "é".encode(), b"\xa9", b"."]), max_size=6
)


def is_full(pattern: str, data: bytes) -> bool:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        return re.fullmatch(python_pattern(pattern), data) is not None


# The reading


@settings(max_examples=150, deadline=None)
@given(PATTERNS, TEXTS.map(b"".join))
def test_the_bytes_reading_is_that_of_re(pattern: str, data: bytes) -> None:
    assert is_in(data, regex_of(pattern)) == is_full(pattern, data)


@settings(max_examples=150, deadline=None)
@given(
    PATTERNS.map(lambda p: p.replace(r"\xff", r"\u{1F600}").replace("[ab]", "[a-é漢]")),
    st.lists(st.sampled_from("ab\x00ÿ\n0é漢.😀\U0010ffff"), max_size=5).map("".join),
)
def test_the_unicode_reading_is_that_of_re_with_ascii_classes(pattern: str, data: str) -> None:
    expected = re.fullmatch(python_text(pattern), data, re.ASCII) is not None
    assert is_in(data.encode(), regex_of(pattern, "unicode")) == expected


def test_a_non_ascii_literal_is_one_atom() -> None:
    assert compare("é*", r"(?:\xc3\xa9)*").verdict == "equal"
    assert compare("é*", r"\xc3\xa9*") == Outcome("differ", b"", "z3 regular expressions", 1)


def test_a_star_over_groups_and_bounds_of_zero_are_read_as_written() -> None:
    assert compare("(?:ab){0}", "").verdict == "equal"
    assert compare("(?:ab){0,0}c", "c").verdict == "equal"
    assert compare("(?:ab){0,}", "(?:ab)*").verdict == "equal"
    assert equal(repeat(literal(b"a"), 0, 0), literal(b""), 1000).verdict == "equal"


@pytest.mark.parametrize(
    "pattern",
    [
        "a*?",
        "a++",
        "^a",
        r"\ba",
        r"a\Z",
        "(?=a)",
        "(a)\\1",
        "(?i)a",
        "(?i:a)",
        "(?>a)",
        "(a",
        "é\\é",
        "[é]",
        r"\p",
    ],
)
def test_what_the_dialect_does_not_have_is_no_question(pattern: str) -> None:
    with pytest.raises(OracleError, match=r"^pattern: "):
        regex_of(pattern)


def test_a_pattern_nested_or_long_beyond_reason_is_no_question_and_no_crash() -> None:
    with pytest.raises(OracleError, match="nested too deeply"):
        regex_of("(" * 5000 + "a" + ")" * 5000)
    with pytest.raises(OracleError, match="at most 1000000"):
        regex_of("a" * 1_000_001)


@pytest.mark.parametrize("edge", [bound for pair in LENGTHS for bound in pair])
def test_utf8_has_both_ends_of_every_length_and_not_their_neighbours(edge: int) -> None:
    only = utf8(edge, edge)
    for code in (edge - 1, edge, edge + 1):
        if 0 <= code <= 0x10FFFF and not 0xD800 <= code <= 0xDFFF:
            assert is_in(chr(code).encode(), only) == (code == edge)


def test_utf8_of_all_scalars_is_well_formed_utf8_and_nothing_else() -> None:
    """The table of well-formed byte sequences (Unicode, table 3-7), proven for all strings."""
    table = STRING[len('"(?:[\\x20\\x21\\x23-\\x5b\\x5d-\\x7f]|') : STRING.index(r'|\\["')]
    assert equal(utf8(0, 0x10FFFF), regex_of(r"[\x00-\x7f]|" + table), 5000).verdict == "equal"


@settings(max_examples=80, deadline=None)
@given(st.integers(0, 0x10FFFF), st.integers(0, 0x10FFFF), st.characters(exclude_categories=["Cs"]))
def test_utf8_of_a_range_has_its_characters_alone(one: int, other: int, character: str) -> None:
    low, high = sorted((one, other))
    assert is_in(character.encode(), utf8(low, high)) == (low <= ord(character) <= high)


# Two languages


@settings(max_examples=60, deadline=None)
@given(PATTERNS, PATTERNS)
def test_z3_and_bisimulation_agree_on_what_is_one_language(pattern_a: str, pattern_b: str) -> None:
    """compare(A, B) is `equal` exactly when their derivative automata are bisimilar; its witness tells them apart."""
    outcome = compare(pattern_a, pattern_b)
    apart = bisimulation.difference(*automaton(pattern_a), *automaton(pattern_b))
    assert outcome.verdict == ("equal" if apart is None else "differ")
    if outcome.witness is not None:
        assert is_full(pattern_a, outcome.witness) != is_full(pattern_b, outcome.witness)


@settings(max_examples=60, deadline=None)
@given(PATTERNS, PATTERNS)
def test_equal_is_inclusion_both_ways(pattern_a: str, pattern_b: str) -> None:
    there, back = included(pattern_a, pattern_b), included(pattern_b, pattern_a)
    both = {there.verdict, back.verdict} == {"included"}
    assert both == (compare(pattern_a, pattern_b).verdict == "equal")
    if there.witness is not None:
        assert is_full(pattern_a, there.witness) and not is_full(pattern_b, there.witness)


EQUAL = [
    ("(cat|car|dog)s?", "cats?|cars?|dogs?"),
    (INTEGER, "-?[1-9][0-9]*|-?0"),
    ("(?:a*b*)*", "[ab]*"),
    ("(?:a|b)*a(?:a|b){9}", "(?:a|b)*a(?:a|b){4}(?:a|b){5}"),
    ("a{1000}", "(?:a{500}){2}"),
]
DIFFERENT = [
    ("(cat|car|dog)s?", "(cat|car|dog)s*"),
    (INTEGER, "-?[0-9]+"),
    (NUMBER, NUMBER.replace("[0-9]+", "[0-9]*", 1)),
    (STRING, STRING.replace("[\\xa0-\\xbf]", "[\\x80-\\xbf]")),
    (STRING, STRING.replace("{4}", "{3,4}")),
    (STRING, STRING.replace("\\x5d-\\x7f", "\\x5d-\\x7e")),
    (STRING, STRING.replace("\\xf4[\\x80-\\x8f]", "\\xf4[\\x80-\\x90]")),
    ("a{200}", "a{199}"),
    ("(?:a|b)*a(?:a|b){9}", "(?:a|b)*a(?:a|b){8}"),
    ("2.5", r"2\.5"),
]


@pytest.mark.parametrize(("pattern_a", "pattern_b"), EQUAL)
def test_one_language_written_in_two_ways_is_proven_equal(pattern_a: str, pattern_b: str) -> None:
    assert compare(pattern_a, pattern_b).verdict == "equal"


@pytest.mark.parametrize(("pattern_a", "pattern_b"), DIFFERENT)
def test_every_mutant_of_a_pattern_is_killed_by_a_string_that_re_confirms(
    pattern_a: str, pattern_b: str
) -> None:
    outcome = compare(pattern_a, pattern_b)
    assert outcome.verdict == "differ" and outcome.witness is not None
    assert is_full(pattern_a, outcome.witness) != is_full(pattern_b, outcome.witness)


def test_the_unicode_dialect_is_compared_over_its_bytes() -> None:
    assert compare("[^a]", r"[\x00-`]|[b-\u{10FFFF}]", "unicode").verdict == "equal"
    assert compare(".", "[^a]", "unicode").verdict == "differ"
    assert compare("[é-漢]", "[é-語]", "unicode").witness is not None


def test_a_language_without_members_can_be_compared() -> None:
    assert compare(r"[^\x00-\xff]", r"a[^\x00-\xff]").verdict == "equal"
    assert compare(r"[^\x00-\xff]", "a").witness == b"a"


# What is believed


def test_a_time_out_is_unknown_and_never_equal() -> None:
    deep = r"\{(?:" + STRING + ":(?:" + "|".join([STRING, NUMBER, r"\[(?:" + STRING + r")?\]"] * 3) + r"))?\}"
    outcome = automaton_equals(deep, "bytes", *automaton(deep), timeout_ms=1)
    assert (outcome.verdict, outcome.witness) == ("unknown", None)
    assert "1 ms" in outcome.note


def test_a_witness_that_the_other_oracle_does_not_see_is_no_witness() -> None:
    claimed = Outcome("differ", b"aa", "z3 regular expressions", 1)
    assert confirmed(claimed, lambda _: True) == claimed
    told = confirmed(claimed, lambda _: False)
    assert told == replace(claimed, verdict="unknown", witness=None, note="derivatives do not confirm b'aa'")


def test_a_witness_is_made_as_short_as_leaving_out_can_make_it() -> None:
    assert shortened(b"xxaxxbxx", lambda w: b"a" in w and b"b" in w) == b"ab"
    assert shortened(b"x", lambda w: True) == b""
    assert shortened(b"", lambda w: True) == b""
    assert shortened(b"x" * 64, lambda w: len(w) > 3, tries=2) == b"x" * 32


@given(st.binary(max_size=12))
def test_bytes_go_to_z3_and_come_back(data: bytes) -> None:
    assert bytes_of(text(data + b"\\u{41}")) == data + b"\\u{41}"
    assert is_in(data, literal(data)) and not is_in(data + b"x", literal(data))


# Automata


@settings(max_examples=40, deadline=None)
@given(PATTERNS)
def test_the_derivative_automaton_of_any_pattern_is_proven_by_steps(pattern: str) -> None:
    assert automaton_equals(pattern, "bytes", *automaton(pattern)).verdict == "equal"


def test_every_wrong_entry_of_the_hand_automaton_is_killed() -> None:
    """7 states × the 8 bytes in use and one more × every other target, and every accepting flag turned."""
    pattern = "(cat|car|dog)s?"
    accept, table = automaton(pattern)
    for state in range(len(table)):
        turned = set(accept) ^ {state}
        assert automaton_equals(pattern, "bytes", turned, table).verdict == "differ"
        for byte in b"catrdogsx":
            for target in {-1, 0, 4, len(table) - 1} - {table[state][byte]}:
                wrong = [list(row) for row in table]
                wrong[state][byte] = target
                outcome = automaton_equals(pattern, "bytes", accept, wrong)
                assert outcome.verdict == "differ" and outcome.witness is not None, (state, byte, target)
                assert is_full(pattern, outcome.witness) != Table(frozenset(accept), wrong).accepts(
                    outcome.witness
                )


@settings(max_examples=60, deadline=None)
@given(PATTERNS, st.data())
def test_a_random_change_of_an_automaton_is_judged_as_bisimulation_judges_it(pattern: str, data: Any) -> None:
    accept, table = automaton(pattern)
    wrong = [list(row) for row in table]
    state, byte = (
        data.draw(st.integers(0, len(table) - 1)),
        data.draw(st.sampled_from(b"ab\x00\xff\n0\xc3\xa9")),
    )
    wrong[state][byte] = data.draw(st.integers(-1, len(table) - 1))
    apart = bisimulation.difference(accept, table, accept, wrong)
    assert automaton_equals(pattern, "bytes", accept, wrong).verdict == (
        "equal" if apart is None else "differ"
    )


def test_an_automaton_that_accepts_nothing_is_not_a_pattern_s() -> None:
    assert automaton_equals("a", "bytes", [], [[-1] * 256]).witness == b"a"


def test_states_that_are_not_reached_do_not_matter() -> None:
    accept, table = automaton("ab?")
    more = [*table, [0] * 256]
    assert automaton_equals("ab?", "bytes", [*accept, len(table)], more).verdict == "equal"


@pytest.mark.parametrize(
    ("accept", "table"),
    [([0], []), ([1], [[-1] * 256]), ([0], [[-1] * 255]), ([0], [[1] * 256]), ([0], [[-2] * 256])],
)
def test_a_table_that_is_none_is_no_question(accept: list[int], table: list[list[int]]) -> None:
    with pytest.raises(OracleError, match=r"^automaton"):
        automaton_equals("a", "bytes", accept, table)


# The suite's languages

SUITE = json.loads((ROOT / "languages.json").read_text(encoding="utf-8"))["languages"]


@pytest.mark.parametrize("entry", [e for e in SUITE if e["kind"] == "pattern"], ids=lambda e: str(e["id"]))
def test_the_automaton_of_every_pattern_of_the_suite_is_proven_by_steps(entry: Any) -> None:
    pattern, dialect = entry["pattern"], entry["dialect"]
    assert automaton_equals(pattern, dialect, *automaton(pattern, dialect)).verdict == "equal"


def test_unions_of_nothing_and_of_one() -> None:
    assert not is_in(b"", union([])) and is_in(b"a", union([literal(b"a")]))
