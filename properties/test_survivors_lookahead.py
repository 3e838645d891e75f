"""What a mutation tool could change in lookahead, budget, token_graph unseen by other tests (docs/mutation.md)."""

import pytest

from reference.budget import budget_masks_of
from reference.compile import regex_to_dfa
from reference.errors import MaskError
from reference.lookahead import stuck_states, token_distances
from reference.masks import TokenIndex
from reference.token_graph import token_graph
from reference.vocabulary import Vocabulary

HAND = Vocabulary((b"x", b"y", b"zww", b"a", None), frozenset({4}), "hand")


def test_stuck_states_come_nearest_first() -> None:
    """`Q` has no token. By hand, bytes in order: 1 is x, 2 z, 3 xy, 4 zw, 5 xyQ, 6 zww; 6 is a token away, 3 two."""
    index = TokenIndex(regex_to_dfa("xyQ|zwwQQ"), HAND)
    assert [(stuck.state, stuck.path) for stuck in stuck_states(index)] == [
        (0, ()),
        (1, (0,)),
        (6, (2,)),
        (3, (0, 1)),
    ]


def test_an_edge_of_the_token_graph_stands_once() -> None:
    graph = token_graph(TokenIndex(regex_to_dfa("aaa"), HAND))
    assert [graph.onward.others(state).tolist() for state in range(4)] == [[1], [2], [3], []]
    assert [graph.back.others(state).tolist() for state in range(4)] == [[], [0], [1], [2]]


def test_distances_are_known_past_the_states_that_are_looked_at_together() -> None:
    index = TokenIndex(regex_to_dfa("a{300}"), HAND)
    assert token_distances(index).tolist() == list(range(301, 0, -1))


def test_what_is_made_for_an_index_is_kept_with_it() -> None:
    index = TokenIndex(regex_to_dfa("a{3}"), HAND)
    masks = budget_masks_of(index)
    assert budget_masks_of(index) is masks
    assert token_graph(index) is token_graph(index)
    assert masks.mask(index, 1, 3) is masks.mask(index, 1, 3)


def test_any_budget_over_the_longest_distance_is_one() -> None:
    index = TokenIndex(regex_to_dfa("a{3}"), HAND)
    masks = budget_masks_of(index)
    assert masks.mask(index, 0, 5) is masks.mask(index, 0, 10**30)
    assert masks.mask(index, 0, 4) is not masks.mask(index, 0, 5)


def test_a_budgeted_mask_cannot_be_written_to() -> None:
    index = TokenIndex(regex_to_dfa("a"), HAND)
    with pytest.raises(ValueError, match="read-only"):
        budget_masks_of(index).mask(index, 0, 2)[0] = True


def test_a_budget_is_a_whole_number() -> None:
    masks = budget_masks_of(TokenIndex(regex_to_dfa("a"), HAND))
    with pytest.raises(MaskError) as refusal:
        masks.check(2.5)  # type: ignore[arg-type]
    assert str(refusal.value) == "budget 2.5 is not an integer; give a number of tokens"
