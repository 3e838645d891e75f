"""Looking ahead: forced bytes, token distances and stuck states, each against a search written from its definition."""

from itertools import takewhile

import pytest
from hypothesis import given, settings

from properties.automata_and_vocabularies import (
    Brackets,
    Wrapped,
    after,
    dfas,
    least_tokens,
    naive_allowed,
    table,
    vocabularies,
)
from reference.compile import regex_to_dfa
from reference.dfa import Dfa
from reference.errors import MaskError
from reference.lookahead import forced_bytes, stuck_states, token_distances
from reference.masks import TokenIndex
from reference.vocabulary import Vocabulary, load_vocabulary

few = settings(max_examples=40, deadline=None)
HAND = Vocabulary((b"a", b"b", b"c", None), frozenset({3}), "hand")


@pytest.mark.parametrize(
    ("pattern", "prefix", "forced"),
    [
        (r"\{\"city\":\"(?:a|b)*\"\}", b"", b'{"city":"'),
        (r"\{\"city\":\"(?:a|b)*\"\}", b'{"city":"a"', b"}"),
        ("abc(?:def)?", b"", b"abc"),
        ("abc(?:def)?", b"abc", b""),
        ("abc(?:def)?", b"abcd", b"ef"),
        ("cat|car", b"", b"ca"),
        ("é|è", b"", b"\xc3"),
        ("a*", b"", b""),
        ("(?:ab)*c", b"a", b"b"),
    ],
)
def test_forced_bytes_are_what_a_person_would_write(pattern: str, prefix: bytes, forced: bytes) -> None:
    dfa = regex_to_dfa(pattern)
    assert forced_bytes(dfa, dfa.step(0, prefix)) == forced


def completions(dfa: Dfa, state: int, length: int) -> list[bytes]:
    """Completions of at most this length that take, of the bytes between two states, no more than two."""
    found = [b""] if dfa.accept[state] else []
    if length == 0:
        return found
    bytes_to: dict[int, list[int]] = {}
    for byte in range(256):
        if dfa.trans[state, byte] >= 0:
            bytes_to.setdefault(int(dfa.trans[state, byte]), []).append(byte)
    for target, labels in bytes_to.items():
        ends = completions(dfa, target, length - 1)
        found += [bytes([label]) + end for label in labels[:2] for end in ends]
    return found


def common_prefix(texts: list[bytes]) -> bytes:
    """The longest byte string that all of the texts start with."""
    columns = takewhile(lambda column: len(set(column)) == 1, zip(*texts, strict=False))
    return bytes(column[0] for column in columns)


@few
@given(dfas().filter(lambda dfa: dfa.n_states <= 3))
def test_forced_bytes_are_the_longest_common_prefix_of_all_completions(dfa: Dfa) -> None:
    """A byte that is not forced has a rival or an end within n bytes, and either is completed within n more."""
    for state in range(dfa.n_states):
        assert forced_bytes(dfa, state) == common_prefix(completions(dfa, state, 2 * dfa.n_states))


@few
@given(dfas())
def test_forced_bytes_through_an_index_are_those_of_the_table(dfa: Dfa) -> None:
    forced = forced_bytes(dfa, 0)
    assert forced_bytes(TokenIndex(dfa, HAND), 0) == forced
    assert forced_bytes(TokenIndex(Wrapped(dfa), HAND), 0) == forced


def test_a_stack_forces_nothing_while_it_may_grow() -> None:
    assert forced_bytes(TokenIndex(Brackets(), HAND), 0) == b""


def test_states_that_cannot_end_have_no_forced_bytes_and_do_not_hang() -> None:
    for rows in ([{97: 1}, {97: 0}], [{97: 1}, {}]):
        with pytest.raises(MaskError, match="cannot reach acceptance"):
            forced_bytes(table(rows, []), 0)


@pytest.mark.parametrize("state", [-1, 3])
def test_forced_bytes_of_a_state_out_of_range_are_refused(state: int) -> None:
    with pytest.raises(MaskError, match=f"state {state} is not one of 0 … 2"):
        forced_bytes(regex_to_dfa("ab?"), state)


@few
@given(dfas(), vocabularies(max_size=25))
def test_the_distance_of_a_state_is_the_fewest_tokens_to_the_end_of_an_output(
    dfa: Dfa, vocabulary: Vocabulary
) -> None:
    """By trying all sequences of up to n + 1 tokens; a longer shortest way does not exist in n states."""
    expected = [least_tokens(dfa, vocabulary, state, dfa.n_states + 1) for state in range(dfa.n_states)]
    distances = token_distances(TokenIndex(dfa, vocabulary)).tolist()
    assert distances == [-1 if least is None else least for least in expected]


def test_distances_count_eos_only_where_there_is_one() -> None:
    dfa = regex_to_dfa("abc?")
    assert token_distances(TokenIndex(dfa, HAND)).tolist() == [3, 2, 1, 1]
    assert token_distances(TokenIndex(dfa, Vocabulary((b"a", b"b", b"c")))).tolist() == [2, 1, 0, 0]
    assert token_distances(TokenIndex(dfa, Vocabulary((b"abc", b"a", b"b", b"c")))).tolist() == [1, 1, 0, 0]


def test_a_long_token_shortens_the_way_and_a_missing_one_closes_it() -> None:
    dfa = regex_to_dfa("abcd")
    assert token_distances(TokenIndex(dfa, Vocabulary((b"ab", b"cd", b"bcd")))).tolist() == [2, 1, 1, -1, 0]


@few
@given(dfas(), vocabularies(max_size=25))
def test_stuck_states_are_those_that_tokens_reach_and_cannot_end_from(
    dfa: Dfa, vocabulary: Vocabulary
) -> None:
    """Reached by tokens, no way to the end by tokens; each with a path that leads there in the fewest tokens."""
    nearest = {0: 0}
    frontier = [0]
    for state in frontier:
        for token in naive_allowed(dfa, state, vocabulary) - vocabulary.eos:
            goal = after(dfa, state, vocabulary.tokens[token] or b"")
            if goal not in nearest:
                nearest[goal] = nearest[state] + 1
                frontier.append(goal)
    ends = {s for s in nearest if least_tokens(dfa, vocabulary, s, dfa.n_states + 1) is not None}
    found = stuck_states(TokenIndex(dfa, vocabulary))
    assert {stuck.state for stuck in found} == set(nearest) - ends
    for stuck in found:
        text = b"".join(vocabulary.tokens[token] or b"" for token in stuck.path)
        assert after(dfa, 0, text) == stuck.state and len(stuck.path) == nearest[stuck.state]
        assert stuck.allowed == len(naive_allowed(dfa, stuck.state, vocabulary))


def test_a_stuck_state_comes_with_the_path_that_a_person_would_give() -> None:
    index = TokenIndex(
        regex_to_dfa("ab(?:c|dz)"), Vocabulary((b"a", b"b", b"ab", b"c", b"d", None), frozenset({5}))
    )
    (stuck,) = stuck_states(index)
    assert (stuck.path, stuck.allowed) == ((2, 4), 0)


def test_a_state_that_goes_round_for_ever_is_stuck_and_has_tokens() -> None:
    index = TokenIndex(regex_to_dfa("a|b(?:c)*d"), Vocabulary((b"a", b"b", b"c", None), frozenset({3})))
    (stuck,) = stuck_states(index)
    assert (stuck.path, stuck.allowed) == ((1,), 1)


def test_a_whole_output_without_eos_is_not_stuck() -> None:
    assert stuck_states(TokenIndex(regex_to_dfa("ab"), Vocabulary((b"a", b"b")))) == []


def test_no_vocabulary_with_all_bytes_has_stuck_states() -> None:
    vocabulary = Vocabulary((*(bytes([byte]) for byte in range(256)), None), frozenset({256}))
    for pattern in (r"[\x00-\xff]{3}", "é*|日本", r"\x00\xff+"):
        assert stuck_states(TokenIndex(regex_to_dfa(pattern), vocabulary)) == []


def test_the_toy_vocabulary_is_stuck_on_a_line_break_and_not_on_cut_characters() -> None:
    toy = load_vocabulary("toy")
    assert [stuck.path for stuck in stuck_states(TokenIndex(regex_to_dfa(r"1\n2|3"), toy))] == [(17,)]
    assert stuck_states(TokenIndex(regex_to_dfa("(?:é|漢|😀)+"), toy)) == []


def test_distances_of_an_automaton_without_a_list_of_states_are_refused() -> None:
    for question in (token_distances, stuck_states):
        with pytest.raises(MaskError, match="no finite list of states"):
            question(TokenIndex(Brackets(), HAND))
