"""Masks against their definition: the sentences of SPEC §5, one by one, on drawn automata and vocabularies."""

import re
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from properties.automata_and_vocabularies import (
    Brackets,
    Wrapped,
    after,
    dfas,
    ids,
    naive_allowed,
    table,
    vocabularies,
)
from reference.bitmasks import pack, unpack, words
from reference.compile import regex_to_dfa
from reference.dfa import DEAD, Dfa
from reference.errors import MaskError
from reference.masks import TokenIndex
from reference.trie import GROUP, build_trie, group_set, trie_of
from reference.vocabulary import Vocabulary, load_vocabulary

few = settings(max_examples=40, deadline=None)
HAND = Vocabulary((b"a", b"b", b"c", None), frozenset({3}), "hand")


def test_the_hand_example_allows_a_first_and_then_b_or_the_end() -> None:
    index = TokenIndex(regex_to_dfa("ab?"), HAND)
    assert [index.allowed(state) for state in range(3)] == [[0], [1, 3], [3]]
    assert [index.bitmask(state).tolist() for state in range(3)] == [[0b0001], [0b1010], [0b1000]]
    assert index.next_state(0, 0) == 1 and index.next_state(1, 1) == 2


@few
@given(dfas(), vocabularies())
def test_no_allowed_token_kills_the_prefix(dfa: Dfa, vocabulary: Vocabulary) -> None:
    """t ∈ allowed(s), t no EOS ⇒ bytes(t) is not empty and δ*(s, bytes(t)) ≠ DEAD."""
    index = TokenIndex(dfa, vocabulary)
    for state in range(dfa.n_states):
        for token in set(index.allowed(state)) - vocabulary.eos:
            piece = vocabulary.tokens[token]
            assert piece and after(dfa, state, piece) != DEAD


@few
@given(dfas(), vocabularies())
def test_every_surviving_token_is_allowed(dfa: Dfa, vocabulary: Vocabulary) -> None:
    """δ*(s, bytes(t)) ≠ DEAD ⇒ t ∈ allowed(s), for every token with bytes that is no EOS."""
    index = TokenIndex(dfa, vocabulary)
    for state in range(dfa.n_states):
        assert naive_allowed(dfa, state, vocabulary) - vocabulary.eos <= set(index.allowed(state))


@few
@given(dfas(), vocabularies())
def test_the_output_may_end_exactly_where_it_is_whole(dfa: Dfa, vocabulary: Vocabulary) -> None:
    """An EOS id is allowed ⇔ s accepts, whatever bytes the id has."""
    index = TokenIndex(dfa, vocabulary)
    for state in range(dfa.n_states):
        assert ids(index.mask(state)) & vocabulary.eos == (
            vocabulary.eos if dfa.accept[state] else frozenset()
        )


@few
@given(dfas(), vocabularies())
def test_specials_and_empty_tokens_are_never_allowed(dfa: Dfa, vocabulary: Vocabulary) -> None:
    silent = {token for token, piece in enumerate(vocabulary.tokens) if not piece} - vocabulary.eos
    assert not TokenIndex(dfa, vocabulary).table()[:, sorted(silent)].any()


@few
@given(dfas(), vocabularies())
def test_two_ids_with_the_same_bytes_get_the_same_answer(dfa: Dfa, vocabulary: Vocabulary) -> None:
    answers: dict[bytes, list[bool]] = {}
    masks = TokenIndex(dfa, vocabulary).table()
    for token, piece in enumerate(vocabulary.tokens):
        if piece and token not in vocabulary.eos:
            assert answers.setdefault(piece, masks[:, token].tolist()) == masks[:, token].tolist()


@few
@given(dfas(), vocabularies())
def test_bit_t_of_the_packed_row_is_token_t_and_the_padding_is_zero(dfa: Dfa, vocabulary: Vocabulary) -> None:
    index = TokenIndex(dfa, vocabulary)
    for state in range(dfa.n_states):
        row, mask = index.bitmask(state), index.mask(state)
        assert row.dtype == np.uint32 and row.shape == (-(-len(vocabulary) // 32),)
        bits = [int(row[token // 32]) >> token % 32 & 1 for token in range(32 * len(row))]
        assert bits == [*mask.tolist(), *[0] * (32 * len(row) - len(vocabulary))]


@few
@given(dfas(), vocabularies())
def test_the_table_is_the_rows_and_the_rows_become_views_of_it(dfa: Dfa, vocabulary: Vocabulary) -> None:
    one_by_one, at_once = TokenIndex(dfa, vocabulary), TokenIndex(dfa, vocabulary)
    packed = at_once.bitmask_table()
    assert np.array_equal(packed, [one_by_one.bitmask(state) for state in range(dfa.n_states)])
    assert np.array_equal(at_once.table(), [one_by_one.mask(state) for state in range(dfa.n_states)])
    assert all(np.shares_memory(at_once.bitmask(state), packed) for state in range(dfa.n_states))


@few
@given(dfas(), vocabularies(), st.data())
def test_token_by_token_is_the_whole_string(dfa: Dfa, vocabulary: Vocabulary, data: st.DataObject) -> None:
    """next_state over a path of tokens = δ* over their bytes joined, and its mask is that state's."""
    index = TokenIndex(dfa, vocabulary)
    state, text = 0, b""
    for _ in range(6):
        choices = sorted(set(index.allowed(state)) - vocabulary.eos)
        if not choices:
            break
        token = data.draw(st.sampled_from(choices))
        state, text = index.next_state(state, token), text + (vocabulary.tokens[token] or b"")
        assert state == after(dfa, 0, text)
        assert ids(index.mask(state)) == naive_allowed(dfa, after(dfa, 0, text), vocabulary)


@few
@given(dfas(), vocabularies())
def test_a_token_is_taken_exactly_when_the_mask_allows_it(dfa: Dfa, vocabulary: Vocabulary) -> None:
    index = TokenIndex(dfa, vocabulary)
    for state in range(dfa.n_states):
        successors = index.successors(state)
        for token in range(len(vocabulary)):
            if index.mask(state)[token]:
                expected = (
                    state if token in vocabulary.eos else after(dfa, state, vocabulary.tokens[token] or b"")
                )
                assert index.next_state(state, token) == successors[token] == expected
            else:
                assert successors[token] == DEAD
                with pytest.raises(MaskError, match=rf"token {token} \(.*\) is not allowed in state {state}"):
                    index.next_state(state, token)


@few
@given(dfas(), vocabularies())
def test_an_automaton_without_a_table_has_the_masks_of_its_table(dfa: Dfa, vocabulary: Vocabulary) -> None:
    """The same automaton behind `next_state` alone, with texts for states, along every path of three tokens."""
    tabled, discovered = TokenIndex(dfa, vocabulary), TokenIndex(Wrapped(dfa), vocabulary)
    same = {(0, 0)}
    for _ in range(3):
        for state, number in sorted(same):
            assert np.array_equal(tabled.bitmask(state), discovered.bitmask(number))
            allowed = tabled.allowed(state)
            same |= {(tabled.next_state(state, t), discovered.next_state(number, t)) for t in allowed}


BRACKETS = Vocabulary(
    (b"(", b")", b"[", b"]", b"((", b"))", b"[]", b"(]", b")(", b"{[(", b")]}", b"x", None), frozenset({12})
)


@few
@given(st.lists(st.sampled_from(sorted(range(12))), max_size=12))
def test_masks_follow_a_stack_of_any_depth(tokens: list[int]) -> None:
    """Context-free: t is allowed ⇔ no closer is wrong, EOS ⇔ the stack is empty; judged by rewriting text."""

    def is_viable(text: str) -> bool:
        while (shorter := re.sub(r"\(\)|\[\]|\{\}", "", text)) != text:
            text = shorter
        return not re.search(r"[)\]}x]", text)

    def is_balanced(text: str) -> bool:
        return is_viable(text) and text.count("(") + text.count("[") + text.count("{") == sum(
            map(text.count, ")]}")
        )

    index = TokenIndex(Brackets(), BRACKETS)
    state, text = 0, ""
    for token in tokens:
        viable = {t for t, piece in enumerate(BRACKETS.tokens) if piece and is_viable(text + piece.decode())}
        assert ids(index.mask(state)) == viable | ({12} if is_balanced(text) else set())
        if token in viable:
            piece = BRACKETS.tokens[token] or b""
            state, text = index.next_state(state, token), text + piece.decode()


def test_a_stack_goes_a_thousand_deep_and_all_the_way_back() -> None:
    index = TokenIndex(Brackets(), BRACKETS)
    state = 0
    for token in [4] * 500 + [5] * 500:
        assert index.mask(state)[token] and not (state and index.mask(state)[12])
        state = index.next_state(state, token)
    assert state == 0 and index.mask(state)[12]


def test_an_automaton_without_a_list_of_states_has_no_table() -> None:
    index = TokenIndex(Brackets(), BRACKETS)
    with pytest.raises(MaskError, match="no finite list of states; ask for one state at a time"):
        index.bitmask_table()


@pytest.mark.parametrize("size", [1, 31, 32, 33, 64, 65])
def test_the_ids_at_the_borders_of_words_are_right(size: int) -> None:
    """One state that takes `a` and ends: with all tokens `b` but one, that one is the only bit, wherever it is."""
    dfa = table([{ord("a"): 0}], [0])
    for place in {0, size - 1, size // 2, *(p for p in (31, 32) if p < size)}:
        tokens = [b"b"] * size
        tokens[place] = b"a"
        assert TokenIndex(dfa, Vocabulary(tuple(tokens))).allowed(0) == [place]
        ending = Vocabulary(tuple([b"b"] * size), frozenset({place}))
        assert TokenIndex(dfa, ending).allowed(0) == [place]


def test_a_token_that_splits_a_character_waits_for_its_other_half() -> None:
    """é is c3 a9: after its first half only what begins with a9 lives; a token may end inside the next."""
    tokens = (b"\xc3", b"\xa9", b"\xa9\xc3", "é".encode(), b"\xc3\xa9\xc3", b"\xc3\xa8", b"a", None)
    index = TokenIndex(regex_to_dfa("é+"), Vocabulary(tokens, frozenset({7})))
    half = index.next_state(0, 0)
    assert index.allowed(0) == [0, 3, 4]
    assert index.allowed(half) == [1, 2]
    assert index.next_state(half, 2) == index.next_state(index.next_state(0, 3), 0)
    assert index.allowed(index.next_state(half, 1)) == [0, 3, 4, 7]


def test_later_bytes_are_walked_from_the_state_of_the_byte_before() -> None:
    """`ba` begins with a live byte from the second state and its own second byte is live only from the first."""
    index = TokenIndex(regex_to_dfa("ab"), Vocabulary((b"ab", b"ba", b"aa", b"bb", b"b")))
    assert [index.allowed(state) for state in range(3)] == [[0], [4], []]


def test_a_vocabulary_without_tokens_has_empty_masks() -> None:
    index = TokenIndex(regex_to_dfa("a*"), Vocabulary(()))
    assert index.mask(0).shape == (0,) and index.bitmask(0).shape == (0,) and index.table().shape == (1, 0)


def test_masks_cannot_be_written_to() -> None:
    index = TokenIndex(regex_to_dfa("ab?"), HAND)
    for row in (index.mask(0), index.bitmask(0), index.bitmask_table()):
        with pytest.raises(ValueError, match="read-only"):
            row[...] = 0


@pytest.mark.parametrize(
    ("state", "message"),
    [
        (-1, "state -1 is not one of 0 … 2"),
        (3, "state 3 is not one of 0 … 2"),
        ("0", "state '0' is not an integer"),
    ],
)
def test_a_state_that_the_automaton_does_not_have_is_refused(state: int, message: str) -> None:
    index = TokenIndex(regex_to_dfa("ab?"), HAND)
    for question in (index.mask, index.bitmask, index.successors, index.is_accepting, index.allowed):
        with pytest.raises(MaskError, match=message):
            question(state)


@pytest.mark.parametrize("token", [-1, 4])
def test_a_token_that_the_vocabulary_does_not_have_is_refused(token: int) -> None:
    with pytest.raises(MaskError, match=f"token {token} is not one of 0 … 3; give an id of the vocabulary"):
        TokenIndex(regex_to_dfa("ab?"), HAND).next_state(0, token)


def test_a_table_that_is_none_is_refused() -> None:
    class Odd:
        accept = np.ones(2, np.bool_)
        trans = np.full((2, 255), DEAD, np.int32)

    with pytest.raises(MaskError, match=r"trans is \(2, 255\)"):
        TokenIndex(Odd(), HAND)
    Odd.trans = np.full((2, 256), 2, np.int32)
    with pytest.raises(MaskError, match="outside −1 … 1"):
        TokenIndex(Odd(), HAND)


@few
@given(st.integers(1, 3), st.integers(0, 70), st.randoms(use_true_random=False))
def test_packing_and_unpacking_are_inverse(rows: int, size: int, random: object) -> None:
    mask = np.array([[random.random() < 0.5 for _ in range(size)] for _ in range(rows)], np.bool_).reshape(
        rows, size
    )  # type: ignore[attr-defined]
    assert pack(mask).shape == (rows, words(size))
    assert np.array_equal(unpack(pack(mask), size), mask)


def test_a_packed_row_of_another_width_or_with_a_padding_bit_is_refused() -> None:
    with pytest.raises(MaskError, match="2 words for 32 tokens; give 1"):
        unpack(np.zeros(2, np.uint32), 32)
    with pytest.raises(MaskError, match="at or past token 31 is set"):
        unpack(np.array([1 << 31], np.uint32), 31)


@few
@given(vocabularies())
def test_the_trie_holds_every_prefix_once_and_every_token_under_its_prefix(vocabulary: Vocabulary) -> None:
    trie = build_trie(vocabulary)
    tokens = {t: piece for t, piece in enumerate(vocabulary.tokens) if piece and t not in vocabulary.eos}
    prefix = [b""] * len(trie)
    for node in range(len(trie)):
        for child in range(trie.child[node], trie.child[node] + trie.children[node]):
            prefix[child] = prefix[node] + bytes([trie.byte[child]])
    assert sorted(prefix) == sorted(
        {b"", *(p[:end] for p in tokens.values() for end in range(1, len(p) + 1))}
    )
    for node, text in enumerate(prefix):
        under = {t: piece for t, piece in tokens.items() if piece.startswith(text)}
        assert set(trie.order[trie.first[node] : trie.end[node]].tolist()) == set(under)
        exact = {t for t, piece in under.items() if piece == text}
        assert set(trie.order[trie.first[node] : trie.own_end[node]].tolist()) == exact
        groups = np.bitwise_or.reduce(
            [GROUP[b] for p in under.values() for b in p[len(text) :]] or [np.uint64(0)]
        )
        assert trie.below[node] == groups


def test_a_group_is_in_a_set_of_bytes_only_when_all_of_its_bytes_are() -> None:
    everything = np.ones((1, 256), np.bool_)
    assert group_set(everything)[0] == np.bitwise_or.reduce(GROUP)
    for byte in range(256):
        without = everything.copy()
        without[0, byte] = False
        assert group_set(without)[0] == np.bitwise_or.reduce(GROUP) & ~GROUP[byte]


def test_one_vocabulary_has_one_trie() -> None:
    assert trie_of(HAND) is trie_of(HAND)


STRING_OBJECT = r'\{"name":"(?:[ !#-\[\]-\x7f]|[\xc2-\xdf][\x80-\xbf]|\\["\\nt])*","age":-?[0-9]+\}'


def test_masks_over_the_whole_qwen3_vocabulary_are_the_definition() -> None:
    """Every id at the start, inside the string, after a backslash, inside a character, in the number, at the end."""
    vocabulary = load_vocabulary("qwen3")
    dfa = regex_to_dfa(STRING_OBJECT)
    index = TokenIndex(dfa, vocabulary)
    index.bitmask_table()
    for prefix in (
        b"",
        b'{"name":"',
        b'{"name":"\\',
        b'{"name":"\xc3',
        b'{"name":"a","age":-',
        b'{"name":"","age":1}',
    ):
        state = dfa.step(0, prefix)
        assert ids(index.mask(state)) == naive_allowed(dfa, state, vocabulary)


def test_a_full_table_takes_milliseconds() -> None:
    """A guard against a slow path, ten times wider than what an idle machine needs (about 20 ms and 0.4 ms)."""
    vocabulary = load_vocabulary("qwen3")
    trie_of(vocabulary)
    for pattern, limit in ((STRING_OBJECT, 0.2), ("(cat|car|dog)s?", 0.01)):
        dfa, best = regex_to_dfa(pattern), 1.0
        for _ in range(5):
            began = time.perf_counter()
            TokenIndex(dfa, vocabulary).bitmask_table()
            best = min(best, time.perf_counter() - began)
        assert best < limit
