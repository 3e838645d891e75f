"""What a mutation tool could change in masks, constraint without any other test seeing it (docs/mutation.md)."""

import math

import numpy as np
import pytest

from reference.compile import regex_to_dfa
from reference.constraint import apply_mask
from reference.errors import MaskError
from reference.masks import TokenIndex
from reference.vocabulary import Vocabulary

HAND = Vocabulary((b"a", b"b", b"", None, None), frozenset({4}), "hand")


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
