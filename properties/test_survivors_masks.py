"""What a mutation tool could change in masks, constraint, trie, walk unseen by other tests (docs/mutation.md)."""

import math
import string

import numpy as np
import pytest

from properties.automata_and_vocabularies import Brackets, ids, naive_allowed
from reference.automata import steps_of
from reference.bitmasks import pack, unpack
from reference.compile import regex_to_dfa
from reference.constraint import Constraint, apply_mask
from reference.errors import MaskError
from reference.masks import TokenIndex
from reference.trie import GROUP, _groups, build_trie
from reference.vocabulary import Vocabulary

HAND = Vocabulary((b"a", b"b", b"", None, None), frozenset({4}), "hand")


def pairs_of(count: int) -> Vocabulary:
    """Every pair of the bytes from the space on, none in byte order, among single bytes, a special and an EOS."""
    letters = range(0x20, 0x20 + count)
    pairs = [bytes([first, second]) for second in reversed(letters) for first in letters]
    return Vocabulary((None, *pairs, *(bytes([letter]) for letter in letters), b"a", None), frozenset({0}))


@pytest.mark.parametrize(("token", "what"), [(1, "'b'"), (2, "empty"), (3, "special or padding"), (4, "EOS")])
def test_a_token_that_is_not_allowed_is_described(token: int, what: str) -> None:
    index = TokenIndex(regex_to_dfa("a"), HAND)
    with pytest.raises(MaskError) as refusal:
        index.next_state(0, token)
    assert str(refusal.value) == f"token {token} ({what}) is not allowed in state 0; ask mask() first"


@pytest.mark.parametrize(
    ("state", "message"),
    [
        ("0", "state '0' is not an integer; start from 0 and advance"),
        (2, "state 2 is not one of 0 … 1; start from 0 and advance"),
    ],
)
def test_a_state_is_a_whole_number_in_range(state: int, message: str) -> None:
    with pytest.raises(MaskError) as refusal:
        TokenIndex(regex_to_dfa("a"), HAND).mask(state)
    assert str(refusal.value) == message


@pytest.mark.parametrize(
    ("token", "message"),
    [
        (0.5, "token 0.5 is not an integer; give an id of the vocabulary"),
        (5, "token 5 is not one of 0 … 4; give an id of the vocabulary"),
    ],
)
def test_a_token_is_a_whole_number_in_range(token: int, message: str) -> None:
    with pytest.raises(MaskError) as refusal:
        TokenIndex(regex_to_dfa("a"), HAND).check_token(token)
    assert str(refusal.value) == message


def test_a_row_without_any_allowed_token_says_why() -> None:
    with pytest.raises(MaskError) as refusal:
        apply_mask([0.0], [False])
    assert str(refusal.value) == ("mask: no token is allowed; an output that is done, or stuck, cannot go on")


def test_whole_numbers_are_logits_too() -> None:
    assert apply_mask(np.array([1, 2]), [True, False]).tolist() == [1.0, -math.inf]
    assert apply_mask(np.array([1, 2], np.uint8), [True, False]).dtype == np.float64


def test_rows_of_over_4096_tokens_stand_beside_smaller_ones() -> None:
    """Pairs of 66 bytes: 4356 at the start, 4290 from the states before and at `[!-a]`, single bytes, the end."""
    vocabulary, dfa = pairs_of(66), regex_to_dfa("[ -a][ -a][!-a][ -a]")
    rows = TokenIndex(dfa, vocabulary).table()
    assert [int(row.sum()) for row in rows] == [4356 + 67, 4290 + 67, 4290 + 66, 67, 1]
    assert all(ids(row) == naive_allowed(dfa, state, vocabulary) for state, row in enumerate(rows))


def test_a_row_of_exactly_4096_tokens_is_whole() -> None:
    vocabulary = Vocabulary(pairs_of(64).tokens[1 : 1 + 64 * 64])
    row = TokenIndex(regex_to_dfa("[ -_][ -_]"), vocabulary).bitmask(0)
    assert row.tolist() == [0xFFFFFFFF] * 128


def test_states_past_those_made_together_have_their_own_rows() -> None:
    vocabulary, dfa = Vocabulary((b"a", b"aa", b"b" * 9, None), frozenset({3})), regex_to_dfa("a{150}")
    table = TokenIndex(dfa, vocabulary).bitmask_table()
    assert table.ravel().tolist() == [0b0011] * 149 + [0b0001, 0b1000]


def test_rows_are_kept_and_of_the_unpacked_the_last_512() -> None:
    index = TokenIndex(regex_to_dfa("a{600}"), HAND)
    assert index.bitmask(0) is index.bitmask(0)
    rows = [index.mask(state) for state in range(512)]
    assert all(index.mask(state) is row for state, row in enumerate(rows))
    assert index.mask(512) is index.mask(512)
    assert index.mask(0) is not rows[0]


def test_an_automaton_without_a_list_of_states_says_what_to_do() -> None:
    with pytest.raises(MaskError) as refusal:
        TokenIndex(Brackets(), HAND).all_states()
    assert str(refusal.value) == "this automaton has no finite list of states; ask for one state at a time"


def test_the_numbers_of_a_table_are_read_by_value() -> None:
    """2³² is no state, though its last 32 bits are 0."""

    class Wide:
        accept = np.ones(1, np.bool_)
        trans = np.full((1, 256), 2**32, np.int64)

    with pytest.raises(MaskError, match=r"outside −1 … 0; number the states from 0"):
        steps_of(Wide())  # type: ignore[arg-type]


def test_a_packed_mask_within_a_budget_is_the_budgeted_one() -> None:
    """One token is left, so that only the end can come."""
    constraint = Constraint(TokenIndex(regex_to_dfa("a*"), HAND), budget=1)
    assert constraint.bitmask().tolist() == [0b10000]
    assert constraint.index.bitmask(0).tolist() == [0b10001]


def test_packed_rows_are_32_bit_words_whatever_order_their_bytes_came_in() -> None:
    packed = pack(np.array([True, False, True]))
    assert (packed.dtype, packed.tolist()) == (np.uint32, [0b101])
    assert unpack(np.array([0b101], ">u4"), 3).tolist() == [True, False, True]


def test_a_state_that_loops_on_all_below_takes_a_subtree_as_one_range() -> None:
    """`a` to `f` are one group, and the root stands for all four tokens."""
    index = TokenIndex(regex_to_dfa("[a-f]*"), Vocabulary((b"b", b"ab", b"a", b"aa")))
    (found,) = index.ranges(np.array([0]))
    assert [column.tolist() for column in found] == [[0], [0], [0], [4]]


def test_no_range_is_empty() -> None:
    """No token ends at the root or at `a`."""
    index = TokenIndex(regex_to_dfa("ab|c"), Vocabulary((b"ab", b"c", b"ad")))
    found = [(ranges.first.tolist(), ranges.end.tolist()) for ranges in index.ranges(np.array([0]))]
    assert found == [([2], [3]), ([0], [1])]


@pytest.mark.parametrize("byte", [0x00, 0x08, 0x22, 0x7F, 0x80, 0xFF])
def test_a_byte_that_alone_is_not_looped_on_is_walked(byte: int) -> None:
    dfa = regex_to_dfa(rf"[^\x{byte:02x}]*")
    index = TokenIndex(dfa, Vocabulary((bytes([ord("a"), byte]), b"ab", bytes([byte]))))
    assert index.allowed(0) == [1]


CONTROLS = (range(0x00, 0x09), range(0x0B, 0x0D), range(0x0E, 0x20))
LETTERS = (string.digits, "abcdef", "ghijklmnopqrstuvwxyz", "ABCDEF", "GHIJKLMNOPQRSTUVWXYZ")
FOLLOWING = (range(0x80, 0x90), range(0x90, 0xA0), range(0xA0, 0xC0))
LEADING = (
    range(0xC2, 0xE0),
    [0xE0],
    range(0xE1, 0xED),
    [0xED],
    [0xEE, 0xEF],
    [0xF0],
    range(0xF1, 0xF4),
    [0xF4],
)
NEVER = ([0xC0, 0xC1], range(0xF5, 0x100))


def test_bytes_share_a_group_as_patterns_and_characters_do() -> None:
    """Each sign and blank alone, hexadecimal letters and others; the bytes of UTF-8 as in RFC 3629, §4."""
    alone = [[byte] for byte in (string.punctuation + " \t\n\r\x7f").encode()]
    expected = [*CONTROLS, *alone, *(text.encode() for text in LETTERS), *FOLLOWING, *LEADING, *NEVER]
    bits = [int(bit) for bit in _groups()]
    assert np.array_equal(_groups(), GROUP) and all(bit.bit_count() == 1 for bit in bits)
    found = [[byte for byte, of_byte in enumerate(bits) if of_byte == bit] for bit in set(bits)]
    assert sorted(found) == sorted(map(list, expected))


def test_tokens_that_agree_only_past_their_first_byte_share_nothing() -> None:
    """By hand, level by level: the root; a, b; aa, bb; aab, bbb, bbc. What follows `b` in the buffer is `bbb`."""
    trie = build_trie(Vocabulary((b"bbc", b"b", b"aab", b"bbb")))
    assert trie.order.tolist() == [2, 1, 3, 0]
    assert bytes(trie.byte.tolist()) == b"\0ababbbc"
    assert trie.first.tolist() == [0, 0, 1, 0, 2, 0, 2, 3]
    assert trie.own_end.tolist() == [0, 0, 2, 0, 2, 1, 3, 4]
    assert trie.end.tolist() == [4, 1, 4, 1, 4, 1, 3, 4]
    across = build_trie(Vocabulary((b"cb", b"ab")))
    assert bytes(across.byte.tolist()) == b"\0acbb"


def test_a_trie_without_tokens_has_places_that_can_index() -> None:
    trie = build_trie(Vocabulary((None, b"")))
    assert len(trie) == 1 and len(trie.order) == 0 and trie.rank.tolist() == [0, 0]
    assert {trie.order.dtype, trie.rank.dtype, trie.first.dtype, trie.end.dtype} == {np.dtype(np.intp)}
