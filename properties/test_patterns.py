"""Patterns: what a text of each dialect means, held against Python's `re` and `regex` and to trees made by hand."""

import itertools
import re
import string
import warnings
from itertools import pairwise

import pytest
import regex
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from properties.pattern_strategies import (
    Both,
    byte_patterns,
    byte_strings,
    unicode_patterns,
    unicode_strings,
    walks,
)
from reference.charsets import Dialect, complement, intersection, normalised
from reference.compile import regex_to_dfa
from reference.dfa import Dfa
from reference.errors import EmptyLanguage, PatternError, Refused
from reference.patterns import EMPTY, ByteSet, Repeat, Sequence, Union, parse
from reference.utf8 import byte_ranges, encode

A, B = ByteSet(1 << ord("a")), ByteSet(1 << ord("b"))


def compiled(pattern: str, dialect: Dialect = "bytes") -> Dfa:
    try:
        return regex_to_dfa(pattern, dialect)
    except EmptyLanguage:
        assume(False)
        raise


@settings(max_examples=120, deadline=None)
@given(byte_patterns(), st.lists(byte_strings, max_size=20), st.integers(0, 2**32))
@example(Both("é*", "(?:\u00c3\u00a9)*"), [b"\xc3\xa9\xc3\xa9", b"\xc3\xa9\xa9", b""], 0)
def test_a_byte_pattern_matches_what_python_re_matches(
    pattern: Both, strings: list[bytes], seed: int
) -> None:
    """dfa.matches(w) ⇔ re.fullmatch(pattern, w), on random strings and on strings that the automaton lives through."""
    dfa = compiled(pattern.ours)
    python = re.compile(pattern.python.encode("latin-1"))
    for data in [*strings, *walks(dfa, seed, 20)]:
        assert dfa.matches(data) == (python.fullmatch(data) is not None), data


@settings(max_examples=120, deadline=None)
@given(unicode_patterns(), st.lists(unicode_strings, max_size=20), st.integers(0, 2**32))
def test_a_unicode_pattern_matches_what_python_re_matches(
    pattern: Both, strings: list[str], seed: int
) -> None:
    """dfa.matches(utf8(w)) ⇔ re.fullmatch(pattern, w) ⇔ regex.fullmatch(pattern, w)."""
    dfa = compiled(pattern.ours, "unicode")
    python, second = (
        re.compile(pattern.python, re.ASCII),
        regex.compile(pattern.python, regex.ASCII | regex.V0),
    )
    lived = [data.decode() for data in walks(dfa, seed, 20, longest=12) if is_utf8(data)]
    for text in [*strings, *lived]:
        expected = python.fullmatch(text) is not None
        assert (second.fullmatch(text) is not None) == expected, text
        assert dfa.matches(text.encode()) == expected, text


@settings(max_examples=100, deadline=None)
@given(unicode_patterns(), st.integers(0, 2**32))
def test_every_member_of_a_unicode_pattern_is_well_formed_utf8(pattern: Both, seed: int) -> None:
    dfa = compiled(pattern.ours, "unicode")
    for data in walks(dfa, seed, 30, longest=12):
        assert not dfa.matches(data) or is_utf8(data)


def is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


@settings(max_examples=300, deadline=None)
@given(st.text("ab0-^$[](){}|*+?.,\\xdnq:=\n é", max_size=9), st.lists(byte_strings, max_size=6))
@example("[a-z-9]", [b"-", b"5"])
@example("a{0}|{", [])
@example("[[-]", [b"[", b"-"])
@example("(?:)*", [b""])
def test_whatever_is_read_at_all_means_what_python_reads(pattern: str, strings: list[bytes]) -> None:
    """A text is refused with a position inside it, or `re` reads it too and they agree."""
    dfa = read(pattern, "bytes")
    if isinstance(dfa, EmptyLanguage):
        return
    if isinstance(dfa, PatternError):
        assert dfa.position is not None and 0 <= dfa.position <= len(pattern)
        return
    assert isinstance(dfa, Dfa)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        python = re.compile("".join(f"(?:{c})" if c > "\x7f" else c for c in pattern).encode())
    for data in strings:
        assert dfa.matches(data) == (python.fullmatch(data) is not None), data


def test_all_short_texts_are_read_as_python_reads_them() -> None:
    """All 7,381 texts of up to four of the nine characters, on all strings of up to two of five letters."""
    words = [bytes(word) for length in range(3) for word in itertools.product(b"ab-^]", repeat=length)]
    for length in range(5):
        for letters in itertools.product("a-^|*()[]", repeat=length):
            pattern = "".join(letters)
            dfa = read(pattern, "bytes")
            if isinstance(dfa, Dfa):
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", FutureWarning)
                    python = re.compile(pattern.encode())
                assert [dfa.matches(word) for word in words] == [
                    python.fullmatch(word) is not None for word in words
                ]


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=12), st.sampled_from(["bytes", "unicode"]))
def test_any_text_is_a_pattern_or_is_refused(pattern: str, dialect: Dialect) -> None:
    """Nothing but Refused leaves the compiler, and its message is one line with a remedy."""
    outcome = read(pattern, dialect)
    assert isinstance(outcome, Dfa) or ("\n" not in str(outcome) and "; " in str(outcome))


def read(pattern: str, dialect: Dialect) -> Dfa | Refused:
    try:
        return regex_to_dfa(pattern, dialect)
    except Refused as error:
        return error


@pytest.mark.parametrize(
    ("pattern", "tree"),
    [
        ("", EMPTY),
        ("a", A),
        ("ab", Sequence((A, B))),
        ("a|b", Union((A, B))),
        ("a|", Union((A, EMPTY))),
        ("()", EMPTY),
        ("(a)(?:b)", Sequence((A, B))),
        ("a*", Repeat(A, 0, None)),
        ("a+", Repeat(A, 1, None)),
        ("a?", Repeat(A, 0, 1)),
        ("a{2}", Repeat(A, 2, 2)),
        ("a{2,}", Repeat(A, 2, None)),
        ("a{00002,1000}", Repeat(A, 2, 1000)),
        ("a{0000}", Repeat(A, 0, 0)),
        ("a*|b?", Union((Repeat(A, 0, None), Repeat(B, 0, 1)))),
        ("(?:a*|b)?", Repeat(Union((Repeat(A, 0, None), B)), 0, 1)),
        ("ab*", Sequence((A, Repeat(B, 0, None)))),
        ("(ab)*", Repeat(Sequence((A, B)), 0, None)),
        ("(a*)*", Repeat(Repeat(A, 0, None), 0, None)),
        ("é+", Repeat(Sequence((ByteSet(1 << 0xC3), ByteSet(1 << 0xA9))), 1, None)),
        ("[ab]", ByteSet(0b11 << ord("a"))),
        ("[a-b]", ByteSet(0b11 << ord("a"))),
        ("[a-a]", A),
        ("[a-]", ByteSet(1 << ord("a") | 1 << ord("-"))),
        ("[-a]", ByteSet(1 << ord("a") | 1 << ord("-"))),
        ("[a-b-]", ByteSet(0b11 << ord("a") | 1 << ord("-"))),
        ("[a-b-a]", ByteSet(0b11 << ord("a") | 1 << ord("-"))),
        ("[+--]", ByteSet(0b111 << ord("+"))),
        ("[^-]", ByteSet((1 << 256) - 1 - (1 << ord("-")))),
        ("[[^]", ByteSet(1 << ord("[") | 1 << ord("^"))),
        (".", ByteSet((1 << 256) - 1 - (1 << 0x0A))),
        (r"\xff", ByteSet(1 << 0xFF)),
        (r"\d", ByteSet(0x3FF << ord("0"))),
        (r"[^\x00-\xfe]", ByteSet(1 << 0xFF)),
    ],
)
def test_trees_worked_out_by_hand(pattern: str, tree: object) -> None:
    assert parse(pattern) == tree


@pytest.mark.parametrize("dialect", ["bytes", "unicode"])
def test_every_escape_of_punctuation_is_the_character(dialect: Dialect) -> None:
    for character in string.punctuation + " ":
        assert parse(f"\\{character}", dialect) == parse(f"[\\{character}]", dialect)
        assert regex_to_dfa(f"\\{character}", dialect).matches(character.encode())


@pytest.mark.parametrize("letter", "dwsDWS")
def test_class_escapes_are_ascii_in_both_dialects(letter: str) -> None:
    r"""Over one byte or one scalar, `\d \w \s` are Python's ASCII classes."""
    python = re.compile(f"\\{letter}", re.ASCII)
    in_bytes, in_unicode = regex_to_dfa(f"\\{letter}"), regex_to_dfa(f"\\{letter}", "unicode")
    for code in range(256):
        expected = python.fullmatch(chr(code)) is not None
        assert in_bytes.matches(bytes([code])) == expected
        assert in_unicode.matches(chr(code).encode()) == expected


def test_the_scalars_are_encoded_as_python_encodes_them() -> None:
    """All 1,112,064 scalar values."""
    for scalar in [*range(0xD800), *range(0xE000, 0x110000)]:
        assert encode(scalar) == chr(scalar).encode()


edges = st.sampled_from(
    [0, 1, 0x7F, 0x80, 0x7FF, 0x800, 0xD7FF, 0xD800, 0xDFFF, 0xE000, 0xFFFF, 0x10000, 0x10FFFF]
)
scalars = st.integers(0, 0x10FFFF) | edges
spans = st.tuples(scalars, scalars).map(lambda pair: (min(pair), max(pair)))


@settings(max_examples=300, deadline=None)
@given(st.lists(spans, max_size=4))
@example([(0, 0x10FFFF)])
def test_byte_ranges_are_the_encodings_of_a_set_and_nothing_else(ranges: list[tuple[int, int]]) -> None:
    """Σ |products| = |set|, and the ends of each product decode to scalars of the set: with disjointness, equality."""
    wanted = intersection(ranges, ((0, 0xD7FF), (0xE000, 0x10FFFF)))
    count, previous = 0, b""
    for product in sorted(byte_ranges(wanted)):
        low, high = (bytes(pair[end] for pair in product).decode() for end in (0, 1))
        size = 1
        for first, last in product:
            size *= last - first + 1
        assert ord(high) - ord(low) + 1 == size
        assert any(floor <= ord(low) and ord(high) <= ceiling for floor, ceiling in wanted)
        assert previous < low.encode()
        count, previous = count + size, high.encode()
    assert count == sum(high - low + 1 for low, high in wanted)


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 255), st.integers(0, 255)).map(lambda p: (min(p), max(p))), max_size=5)
)
def test_sets_of_bytes_are_sets(ranges: list[tuple[int, int]]) -> None:
    """normalised and complement, against Python's own sets of the 256 bytes."""
    members = {byte for low, high in ranges for byte in range(low, high + 1)}
    inside = normalised(ranges)
    assert {b for low, high in inside for b in range(low, high + 1)} == members
    assert all(left[1] + 1 < right[0] for left, right in pairwise(inside))
    outside = complement(normalised(ranges), "bytes")
    assert {b for low, high in outside for b in range(low, high + 1)} == set(range(256)) - members
    assert all(left[1] + 1 < right[0] for left, right in pairwise(outside))
