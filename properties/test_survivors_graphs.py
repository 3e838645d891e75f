"""What a mutation tool could change in the graph oracle unseen by its own tests (docs/mutation.md)."""

import numpy as np

from oracles import graphs
from properties.test_graphs import made_of


def test_the_byte_zero_is_a_byte_and_not_the_end_of_a_token() -> None:
    accept, table = made_of(2, [1], {(0, "a"): 1})
    tokens = [b"\x00", b"a\x00", b"\x00a", b"a"]
    (_, ids, targets), (_, none, _) = graphs.token_steps(table, tokens)
    assert (ids.tolist(), targets.tolist(), none.tolist()) == ([3], [1], [])
    accept, table = made_of(2, [1], {(0, "\x00"): 1})
    assert graphs.distances(accept, table, [b"\x00", None], [1]) == [2, 1]


def test_the_ids_of_no_tokens_are_whole_numbers_too() -> None:
    ((_, ids, targets),) = graphs.token_steps([[0] * 256], [None, b""])
    assert [ids.dtype == np.int64, targets.dtype == np.int64, ids.size] == [True, True, 0]


def test_components_come_in_the_order_of_their_least_states() -> None:
    """Tokens go round in 0, in 1 and 3, in 2 and in 4, each by its own letter, and on by `x`."""
    round_about = {(0, "a"): 0, (1, "b"): 3, (3, "b"): 1, (2, "c"): 2, (4, "d"): 4}
    onward = {(0, "x"): 2, (2, "x"): 4, (4, "x"): 1}
    accept, table = made_of(5, [1], round_about | onward)
    found = graphs.components(accept, table, [b"a", b"b", b"c", b"d", b"x"], [])
    assert [(each.states, each.path, each.cycle) for each in found] == [
        ((0,), (), (0,)),
        ((1, 3), (4, 4, 4), (1, 1)),
        ((2,), (4,), (2,)),
        ((4,), (4, 4), (3,)),
    ]


def test_once_around_is_the_shortest_way_though_a_lesser_token_begins_a_longer_one() -> None:
    """From 0, `a` goes the long way by 1, 2 and 3, `b` the short way by 4; 5 leads nowhere and is met on the way."""
    long = {(0, "a"): 1, (1, "c"): 2, (2, "c"): 3, (3, "c"): 0}
    accept, table = made_of(6, [], long | {(0, "b"): 4, (4, "c"): 0, (1, "d"): 5, (4, "d"): 5, (0, "d"): 5})
    (only,) = graphs.components(accept, table, [b"a", b"b", b"c", b"d"], [])
    assert (only.states, only.path, only.cycle) == ((0, 1, 2, 3, 4), (), (1, 2))


def test_the_way_around_leaves_out_what_lies_off_it() -> None:
    """0 → 1 by `a`, then back by `d` and `e`, or by `b` and two times `f`; the way by `c` has no token."""
    edges = {
        (0, "a"): 1,
        (1, "c"): 2,
        (1, "d"): 3,
        (1, "b"): 4,
        (2, "e"): 0,
        (3, "e"): 0,
        (4, "f"): 5,
        (5, "f"): 0,
    }
    accept, table = made_of(6, [5], edges)
    (only,) = graphs.components(accept, table, [b"f", b"e", b"d", b"b", b"a"], [])
    assert (only.states, only.cycle) == ((0, 1, 3, 4, 5), (4, 2, 1))
