"""What a mutation tool could change in token_masks and tables unseen by their own tests (docs/mutation.md)."""

import numpy as np
import pytest

from oracles.errors import OracleError
from oracles.tables import DEAD, checked
from oracles.token_masks import mask_rows, next_state

NO_AUTOMATON = "the automaton has no state, or accepts in a state that it does not have"
LIVE = [1] * 256
CUT = [DEAD, 2, *[1] * 254]


def test_dead_stays_dead_though_the_last_row_is_live() -> None:
    automaton = checked([1], [LIVE, LIVE])
    assert [automaton.step(state, 0x61) for state in (DEAD, 0, 1)] == [DEAD, 1, 1]


@pytest.mark.parametrize(
    ("accept", "table", "message"),
    [
        ([], [[0] * 256, [0] * 255], "table, state 1: 255 entries instead of 256"),
        ([], [[0] * 257], "table, state 0: 257 entries instead of 256"),
        ([], [LIVE, CUT], "table, state 1: an entry outside -1 to 1"),
        ([], [LIVE, [-2, *[1] * 255]], "table, state 1: an entry outside -1 to 1"),
        ([2], [LIVE, LIVE], NO_AUTOMATON),
        ([-1], [LIVE, LIVE], NO_AUTOMATON),
        ([1, -1], [LIVE, LIVE], NO_AUTOMATON),
        ([], [], NO_AUTOMATON),
        ([0], [], NO_AUTOMATON),
    ],
)
def test_what_is_no_automaton_is_told_exactly(
    accept: list[int], table: list[list[int]], message: str
) -> None:
    with pytest.raises(OracleError) as error:
        checked(accept, table)
    assert str(error.value) == message


def test_the_least_and_largest_entries_are_taken() -> None:
    automaton = checked([0, 2], [CUT, LIVE, CUT])
    assert automaton.accept == {0, 2}
    assert [automaton.step(0, byte) for byte in (0, 1, 2, 255)] == [DEAD, 2, 1, 1]


def test_an_automaton_may_accept_nothing() -> None:
    assert checked([], [[0] * 256]).accept == frozenset()


def test_bytes_that_all_rows_treat_alike_are_one_class() -> None:
    automaton = checked([], [CUT, LIVE, LIVE])
    assert automaton.classes == (0, 1, *[2] * 254)
    assert automaton.rows == ((DEAD, 2, 1), (1, 1, 1), (1, 1, 1))


def test_a_row_is_made_of_bools() -> None:
    rows = list(mask_rows([1], [CUT, [DEAD] * 256, LIVE], [b"\x00", b"\x01", None], [2]))
    assert [row.dtype for row in rows] == [np.bool_] * 3
    assert [row.tolist() for row in rows] == [[False, True, False], [False, False, True], [True, True, False]]


def test_a_token_that_dies_does_not_come_back_to_life() -> None:
    """From 0, byte 0 is dead; the last row would lead on, were it asked for a dead state."""
    table = [CUT, LIVE, LIVE]
    tokens = [b"\x00\x01", b"\x01\x00", b"\x02", b"", None, b"\x02"]
    assert [next_state([1], table, 0, token, tokens, [5]) for token in range(6)] == [
        DEAD,
        1,
        1,
        DEAD,
        DEAD,
        DEAD,
    ]
    assert [next_state([1], table, 1, token, tokens, [5]) for token in range(6)] == [1, 1, 1, DEAD, DEAD, 1]
    assert next_state([1], table, 2, 5, tokens, [5]) == DEAD
