"""Constraint and apply_mask: an output is walked, refused, forked, ended; logits are masked and never changed."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from properties.automata_and_vocabularies import after, dfas, ids, least_tokens, naive_allowed, vocabularies
from reference.bitmasks import pack
from reference.budget import budget_masks_of
from reference.compile import regex_to_dfa
from reference.constraint import Constraint, apply_mask
from reference.dfa import Dfa
from reference.errors import MaskError
from reference.lookahead import token_distances
from reference.masks import TokenIndex
from reference.vocabulary import Vocabulary

few = settings(max_examples=40, deadline=None)
HAND = Vocabulary((b"a", b"b", b"c", None), frozenset({3}), "hand")


def hand() -> Constraint:
    return Constraint(TokenIndex(regex_to_dfa("ab?"), HAND))


def test_the_hand_example_step_by_step() -> None:
    constraint = hand()
    assert (ids(constraint.mask()), constraint.is_complete(), constraint.done) == ({0}, False, False)
    constraint.advance(0)
    assert (ids(constraint.mask()), constraint.is_complete(), constraint.done) == ({1, 3}, True, False)
    constraint.advance(3)
    assert (ids(constraint.mask()), constraint.is_complete(), constraint.done) == (set(), True, True)


def test_after_eos_nothing_is_allowed_and_nothing_is_taken() -> None:
    constraint = hand()
    for token in (0, 3):
        constraint.advance(token)
    assert not constraint.mask().any() and not constraint.bitmask().any()
    assert constraint.mask().shape == (4,) and constraint.bitmask().shape == (1,)
    for token in range(4):
        with pytest.raises(MaskError, match=rf"token {token} .* comes after EOS; the output is done"):
            constraint.advance(token)


@few
@given(dfas(), vocabularies(), st.data())
def test_a_refused_token_changes_nothing(dfa: Dfa, vocabulary: Vocabulary, data: st.DataObject) -> None:
    constraint = Constraint(TokenIndex(dfa, vocabulary))
    for _ in range(4):
        allowed = constraint.mask()
        for token in range(-1, len(vocabulary) + 1):
            if not (0 <= token < len(vocabulary) and allowed[token]):
                before = (constraint.state, constraint.done, constraint.remaining)
                with pytest.raises(MaskError):
                    constraint.advance(token)
                assert (constraint.state, constraint.done, constraint.remaining) == before
        if not allowed.any():
            break
        constraint.advance(data.draw(st.sampled_from(sorted(ids(allowed)))))


@few
@given(dfas(), vocabularies(), st.data())
def test_a_constraint_says_of_every_prefix_what_the_definition_says(
    dfa: Dfa, vocabulary: Vocabulary, data: st.DataObject
) -> None:
    constraint, text = Constraint(TokenIndex(dfa, vocabulary)), b""
    for _ in range(6):
        state = after(dfa, 0, text)
        assert constraint.is_complete() == dfa.accept[state]
        assert ids(constraint.mask()) == (set() if constraint.done else naive_allowed(dfa, state, vocabulary))
        assert np.array_equal(constraint.bitmask(), pack(constraint.mask()))
        if not constraint.mask().any():
            break
        token = data.draw(st.sampled_from(sorted(ids(constraint.mask()))))
        constraint.advance(token)
        assert constraint.done == (token in vocabulary.eos)
        text += b"" if constraint.done else vocabulary.tokens[token] or b""


def test_a_fork_goes_its_own_way() -> None:
    constraint = hand()
    constraint.advance(0)
    fork = constraint.fork()
    fork.advance(1)
    assert (ids(constraint.mask()), ids(fork.mask())) == ({1, 3}, {3})
    fork.advance(3)
    assert fork.done and not constraint.done


def test_a_fork_keeps_what_is_left_of_the_budget() -> None:
    constraint = Constraint(TokenIndex(regex_to_dfa("a*"), HAND), budget=3)
    constraint.advance(0)
    fork = constraint.fork()
    fork.advance(0)
    assert (ids(fork.mask()), ids(constraint.mask())) == ({3}, {0, 3})


@few
@given(dfas(), vocabularies(), st.data())
def test_any_budget_from_the_least_upwards_always_gives_a_whole_output(
    dfa: Dfa, vocabulary: Vocabulary, data: st.DataObject
) -> None:
    """Whatever allowed token is taken, some token is allowed until the output is whole, within the budget."""
    index = TokenIndex(dfa, vocabulary)
    least = int(token_distances(index)[0])
    if least < 0:
        with pytest.raises(MaskError, match="no output can be finished with this vocabulary"):
            Constraint(index, budget=1000)
        return
    budget = least + data.draw(st.integers(0, 4))
    constraint, taken = Constraint(index, budget=budget), 0
    while constraint.mask().any():
        constraint.advance(data.draw(st.sampled_from(sorted(ids(constraint.mask())))))
        taken += 1
    assert constraint.is_complete() and taken <= budget
    assert constraint.done or not vocabulary.eos


@few
@given(dfas(), vocabularies(max_size=20), st.integers(0, 4))
def test_a_budgeted_mask_allows_exactly_what_can_still_be_finished(
    dfa: Dfa, vocabulary: Vocabulary, budget: int
) -> None:
    """t is allowed with r left ⇔ it is allowed, and the state after it needs at most r − 1 tokens."""
    index = TokenIndex(dfa, vocabulary)
    if least_tokens(dfa, vocabulary, 0, budget) is None:
        with pytest.raises(MaskError):
            Constraint(index, budget=budget)
        return
    plain = naive_allowed(dfa, 0, vocabulary)
    expected = {t for t in plain & vocabulary.eos if budget >= 1}
    for token in plain - vocabulary.eos if budget else ():
        goal = after(dfa, 0, vocabulary.tokens[token] or b"")
        expected |= {token} if least_tokens(dfa, vocabulary, goal, budget - 1) is not None else set()
    assert ids(Constraint(index, budget=budget).mask()) == expected


def test_with_no_token_left_not_even_the_end_is_allowed() -> None:
    index = TokenIndex(regex_to_dfa("a*"), HAND)
    masks = budget_masks_of(index)
    assert [ids(masks.mask(index, 0, remaining)) for remaining in (0, 1, 2)] == [set(), {3}, {0, 3}]


def test_a_budget_below_the_least_is_refused_with_that_number() -> None:
    index = TokenIndex(regex_to_dfa("abc"), HAND)
    with pytest.raises(
        MaskError, match="budget 3: the shortest output takes 4 tokens, EOS counted; give at least 4"
    ):
        Constraint(index, budget=3)
    assert Constraint(index, budget=4).remaining == 4


def test_a_token_that_the_budget_forbids_is_refused_and_says_so() -> None:
    constraint = Constraint(TokenIndex(regex_to_dfa("a*"), HAND), budget=1)
    assert ids(constraint.mask()) == {3}
    with pytest.raises(MaskError, match="cannot be followed to a whole output within the 1 tokens left"):
        constraint.advance(0)
    assert constraint.remaining == 1


def test_a_budget_keeps_out_of_states_that_the_vocabulary_cannot_leave() -> None:
    """`az` is in the language and z is no token: with a budget, a that leads there is not taken at all."""
    vocabulary = Vocabulary((b"a", b"b", None), frozenset({2}))
    index = TokenIndex(regex_to_dfa("az|b"), vocabulary)
    assert ids(Constraint(index).mask()) == {0, 1}
    assert ids(Constraint(index, budget=100).mask()) == {1}


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_masked_logits_keep_their_type_and_the_input_its_values(dtype: type) -> None:
    logits = np.array([0, 1, 5, 2], dtype)
    masked = apply_mask(logits, [True, False, False, True])
    assert masked.dtype == dtype and masked.tolist() == [0, -np.inf, -np.inf, 2]
    assert logits.tolist() == [0, 1, 5, 2] and not np.shares_memory(masked, logits)


@few
@given(st.lists(st.tuples(st.floats(allow_nan=False, width=32), st.booleans()), min_size=1, max_size=40))
def test_exactly_the_disallowed_logits_become_minus_infinity(row: list[tuple[float, bool]]) -> None:
    logits, mask = zip(*row, strict=True)
    if not any(mask):
        return
    masked = apply_mask(np.array(logits, np.float32), np.array(mask))
    assert masked.tolist() == [logit if allowed else -np.inf for logit, allowed in row]


def test_a_row_that_shares_memory_or_cannot_be_written_is_masked_too() -> None:
    logits = np.arange(8, dtype=np.float32)
    logits.setflags(write=False)
    assert apply_mask(logits[::2], np.array([True, False, True, False])).tolist() == [0, -np.inf, 4, -np.inf]


@pytest.mark.parametrize(
    ("logits", "mask", "message"),
    [
        ([0.0, 1.0], [False, False], "mask: no token is allowed"),
        ([0.0, 1.0], [True], r"mask: bool of shape \(1,\) for 2 logits"),
        ([0.0], [True, True], r"mask: bool of shape \(2,\) for 1 logits"),
        ([0.0, float("nan")], [True, False], "logits: NaN at token 1"),
        ([0.0, 1.0], [1, 0], "mask: int64 of shape"),
        ([[0.0, 1.0]], [[True, True]], r"logits: float64 of shape \(1, 2\)"),
        (["a"], [True], "logits: <U1"),
        ([], [], "mask: float64 of shape"),
    ],
)
def test_logits_and_masks_that_do_not_fit_are_refused(
    logits: list[float], mask: list[bool], message: str
) -> None:
    with pytest.raises(MaskError, match=message):
        apply_mask(logits, mask)
