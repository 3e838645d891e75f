"""Masks from first principles by themselves: against the definition, walked byte by byte, and against derivatives."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles.canonical import canonical
from oracles.derivatives import automaton, is_member, is_viable
from oracles.errors import OracleError
from oracles.pattern_reader import PatternRefused
from oracles.token_masks import allowed, mask_rows, next_state
from properties.oracle_subjects import automata, chances, patterns, strings

PIECES = [
    b"",
    b"a",
    b"b",
    b"aa",
    b"ab",
    b"a\x00",
    b"\xc3",
    b"\xa9",
    b"\xc3\xa9",
    b"a\xc3",
    b"\xa9a",
    b"\xe6\xbc",
    b"\xff",
    b"0",
    b"00a",
]


@st.composite
def vocabularies(draw: st.DrawFn) -> tuple[list[bytes | None], set[int]]:
    """Tokens with doubles, empties and specials, that begin or end inside a character, and none, one or more EOS."""
    tokens = draw(st.lists(st.sampled_from([None, *PIECES]), min_size=1, max_size=40))
    return tokens, draw(st.sets(st.integers(0, len(tokens) - 1), max_size=3))


def by_definition(accept, table, state: int, token: bytes | None, is_end: bool) -> bool:
    """t ∈ allowed(s) ⇔ δ*(s, bytes(t)) is not dead; an EOS ⇔ s accepts; an id without bytes never."""
    if is_end or not token:
        return is_end and state in accept
    for byte in token:
        state = table[state][byte] if state >= 0 else -1
    return state >= 0


@chances(200)
@given(automata(5), vocabularies())
def test_every_row_is_what_the_definition_says_of_every_token(subject, vocabulary):
    (accept, table), (tokens, eos) = subject, vocabulary
    rows = list(mask_rows(accept, table, tokens, eos))
    assert [row.shape for row in rows] == [(len(tokens),)] * len(table)
    for state, row in enumerate(rows):
        expected = [
            by_definition(accept, table, state, token, number in eos) for number, token in enumerate(tokens)
        ]
        assert row.tolist() == expected


@chances(80)
@given(
    st.sampled_from(["bytes", "unicode"]).flatmap(
        lambda name: st.tuples(patterns(name), st.just(name), strings(name))
    )
)
def test_the_row_of_the_state_that_a_prefix_leads_to_is_what_derivatives_allow_after_it(question):
    """{t : mask_rows[δ*(0, p)][t]} = {t : p · bytes(t) is viable}, the two computed without each other."""
    written, dialect, prefix = question
    tokens: list[bytes | None] = [*PIECES, None, b"EOS"]
    try:
        accept, table = automaton(written.text, dialect)
    except PatternRefused:
        return
    state = 0
    for byte in prefix:
        state = table[state][byte] if state >= 0 else -1
    said = allowed(written.text, dialect, prefix, tokens, {len(tokens) - 1})
    if state < 0:
        assert said == set()
    else:
        assert said == set(np.flatnonzero(list(mask_rows(accept, table, tokens, {len(tokens) - 1}))[state]))


@given(automata(), vocabularies())
def test_the_next_state_is_live_for_exactly_the_tokens_of_the_row(subject, vocabulary):
    accept, table = subject
    tokens, eos = vocabulary
    for state, row in enumerate(mask_rows(accept, table, tokens, eos)):
        reached = [next_state(accept, table, state, token, tokens, eos) for token in range(len(tokens))]
        assert [place != -1 for place in reached] == row.tolist()
        assert all(reached[end] in (state, -1) for end in eos)


def test_the_next_state_is_where_all_bytes_lead():
    accept, table = automaton("abc|ad")
    tokens = [b"a", b"ab", b"abc", b"ac", b"", None, None]
    walked = [next_state(accept, table, 0, token, tokens, {6}) for token in range(7)]
    one = table[0][97]
    two = table[one][98]
    assert walked == [one, two, table[two][99], -1, -1, -1, -1]
    assert next_state(accept, table, walked[2], 6, tokens, {6}) == walked[2]


def test_the_hand_example_allows_a_first_and_then_b_and_the_end():
    tokens = [b"a", b"b", b"c", None]
    rows = [row.tolist() for row in mask_rows(*canonical(*automaton("ab?")), tokens, {3})]
    assert rows == [[True, False, False, False], [False, True, False, True], [False, False, False, True]]
    assert allowed("ab?", "bytes", b"", tokens, {3}) == {0}
    assert allowed("ab?", "bytes", b"a", tokens, {3}) == {1, 3}
    assert allowed("ab?", "bytes", b"ab", tokens, {3}) == {3}
    assert allowed("ab?", "bytes", b"b", tokens, {3}) == set()


def test_a_token_may_split_a_character_but_not_begin_none():
    tokens = [b"\xe6", b"\xe6\xbc", b"\xe6\x80", b"\xed\xa0", b"\xa2", b"\xe6\xbc\xa2\xe6"]
    assert allowed("漢{1,2}", "unicode", b"", tokens, ()) == {0, 1, 5}
    assert allowed("漢{1,2}", "unicode", b"\xe6\xbc", tokens, ()) == {4}


def test_each_later_byte_is_walked_from_where_the_earlier_ones_led():
    """The pitfall: `ab` in `a|b` would be allowed if its second byte were walked from the start."""
    accept, table = automaton("a|b")
    assert [row.tolist() for row in mask_rows(accept, table, [b"ab", b"a"], ())] == [
        [False, True],
        [False, False],
    ]


def test_an_eos_id_is_judged_by_acceptance_alone_whatever_bytes_it_has():
    accept, table = automaton("a?")
    assert [row.tolist() for row in mask_rows(accept, table, [b"b", b"a"], {0, 1})] == [
        [True, True],
        [True, True],
    ]


def test_a_vocabulary_of_specials_only_allows_nothing_but_the_end():
    accept, table = automaton("a?")
    assert [row.tolist() for row in mask_rows(accept, table, [None, b"", None], {2})] == [
        [False, False, True]
    ] * 2
    assert [row.tolist() for row in mask_rows(accept, table, [], ())] == [[], []]


@pytest.mark.parametrize("eos", [-1, 2, 10**9])
def test_an_eos_id_outside_the_vocabulary_is_an_error(eos):
    with pytest.raises(OracleError, match=rf"EOS id {eos} is outside the vocabulary of 2 ids"):
        allowed("a", "bytes", b"", [b"a", None], {eos})


def test_every_single_wrong_bit_of_a_table_of_masks_is_seen():
    """Each bit of the rows, turned, is no longer what membership and viability of prefix · token say."""
    pattern, tokens = "(é|a{2})b?", PIECES
    accept, table = canonical(*automaton(pattern))
    prefixes = {0: b""}
    for state, row in enumerate(table):
        for byte, after in enumerate(row):
            prefixes.setdefault(after, prefixes[state] + bytes((byte,)))
    for state, row in enumerate(mask_rows(accept, table, tokens, {0})):
        truth = [is_viable(pattern, prefixes[state] + token) for token in tokens]
        truth[0] = is_member(pattern, prefixes[state])
        for bit in range(len(tokens)):
            wrong = row.copy()
            wrong[bit] = not wrong[bit]
            assert wrong.tolist() != truth
        assert row.tolist() == truth
