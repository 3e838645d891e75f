"""The graph oracle: what it says of automata small enough to see, and that it sees what was broken."""

from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oracles import graphs
from oracles.derivatives import automaton
from oracles.errors import OracleError

Plain = tuple[list[int], list[list[int]]]
DEAD = -1


def made_of(size: int, accept: list[int], edges: dict[tuple[int, str], int]) -> Plain:
    table = [[DEAD] * 256 for _ in range(size)]
    for (state, text), target in edges.items():
        for byte in text.encode():
            table[state][byte] = target
    return accept, table


HAND = automaton("(cat|car|dog)s?")
LOOP = made_of(3, [2], {(0, "a"): 1, (1, "b"): 0, (1, "c"): 2})


def plain_distance(
    accept: Sequence[int], table: Any, tokens: Any, eos: Sequence[int], state: int, most: int
) -> int:
    """The least count by trying every sequence of tokens, shortest first."""
    texts = [token for i, token in enumerate(tokens) if token and i not in eos]
    for count in range(most + 1):
        for chosen in product(texts, repeat=count):
            at = state
            for byte in b"".join(chosen):
                at = DEAD if at == DEAD else table[at][byte]
            if at in accept:
                return count + bool(eos)
    return -1


def test_a_trim_automaton_has_no_idle_state() -> None:
    assert graphs.untrimmed(*HAND) == []
    assert graphs.untrimmed([0], [[0] * 256]) == []


def test_an_idle_state_is_named_with_its_reason() -> None:
    accept, table = made_of(4, [1, 2], {(0, "a"): 1, (0, "b"): 3, (2, "a"): 1, (3, "x"): 3})
    assert [str(idle) for idle in graphs.untrimmed(accept, table)] == [
        "2 is not reached from the start",
        "3 does not reach acceptance",
    ]


def test_every_cut_edge_of_the_hand_example_leaves_a_state_idle() -> None:
    accept, table = HAND
    # From 3 both t and r lead on, so either may go; every other edge is the only way to or from some state.
    for state, row in enumerate(table):
        for byte in [
            byte
            for byte, target in enumerate(row)
            if target != DEAD and (state, byte) not in {(3, 0x72), (3, 0x74)}
        ]:
            broken = [list(other) for other in table]
            broken[state][byte] = DEAD
            assert graphs.untrimmed(accept, broken), (state, byte)


def test_an_automaton_that_accepts_nothing_is_idle_throughout() -> None:
    assert {idle.state for idle in graphs.untrimmed([], [[0] * 256])} == {0}


def test_a_stuck_state_comes_with_the_shortest_tokens_to_it() -> None:
    accept, table = automaton("xab|xcd")
    (trap,) = graphs.stuck(accept, table, [b"x", b"a", b"xa", b"xc", b"d", None], [5])
    assert (trap.path, str(trap)) == ((2,), f"{trap.state}, reached by tokens [2]")
    assert table[trap.state][ord("b")] != DEAD


def test_a_state_that_no_tokens_reach_is_stuck_without_a_path() -> None:
    accept, table = automaton("ab")
    assert [str(trap) for trap in graphs.stuck(accept, table, [b"ab", None], [1])] == [
        "1, which no tokens reach"
    ]


def test_an_accepting_state_is_never_stuck_even_without_eos() -> None:
    accept, table = automaton("a")
    assert graphs.stuck(accept, table, [b"a"], []) == []
    assert graphs.dead_ends(accept, table, [b"a"], []) == []


def test_tokens_that_go_round_and_never_out_are_a_dead_end_and_not_stuck() -> None:
    tokens = [b"ab", b"a", b"b", None]
    assert graphs.stuck(*LOOP, tokens, [3]) == []
    assert [(trap.state, trap.path) for trap in graphs.dead_ends(*LOOP, tokens, [3])] == [(0, ()), (1, (1,))]
    assert graphs.dead_ends(*LOOP, [*tokens[:3], b"c"], [9]) == []


def test_a_component_comes_with_the_way_in_and_once_around() -> None:
    accept, table = automaton("x(?:ab)*c")
    (only,) = graphs.components(accept, table, [b"x", b"a", b"b", b"c", None], [4])
    assert (only.path, only.cycle) == ((0,), (1, 2))
    assert graphs.components(accept, table, [b"x", b"a", b"c", None], [3]) == []
    (itself,) = graphs.components(accept, table, [b"x", b"ab", b"c", None], [3])
    assert (itself.states, itself.cycle) == ((1,), (1,))


def test_distances_count_eos_where_there_is_one() -> None:
    accept, table = HAND
    letters = [bytes([byte]) for byte in b"catrdogs"]
    assert graphs.distances(accept, table, [*letters, None], [8]) == [4, 3, 3, 2, 2, 1, 1]
    assert graphs.distances(accept, table, letters, []) == [3, 2, 2, 1, 1, 0, 0]
    assert graphs.distances(accept, table, [*letters, None, b"cat"], [8])[0] == 2
    assert graphs.distances(accept, table, [b"c", None], [1]) == [-1, -1, -1, -1, -1, 1, 1]


def test_a_shortest_ending_is_as_long_as_its_distance() -> None:
    accept, table = HAND
    tokens = [b"c", b"a", b"t", b"ca", b"dogs", None]
    graph = graphs.token_graph(accept, table, tokens, [5])
    assert graphs.shortest_ending(graph, 0) == (4, 5)
    assert graphs.shortest_ending(graph, 1) == (1, 2, 5)
    assert graphs.shortest_ending(graph, 4) is None


def test_an_eos_id_that_has_bytes_is_only_an_end() -> None:
    accept, table = automaton("ab")
    assert graphs.distances(accept, table, [b"a", b"b"], [1]) == [-1, -1, 1]


def test_a_token_is_cut_by_a_dead_byte_in_its_middle() -> None:
    _, table = made_of(2, [1], {(0, "a"): 1, (1, "a"): 1})
    ((_, ids, targets), _) = graphs.token_steps(table, [b"a", b"aba", b"", None, b"aa", b"ab"])
    assert (ids.tolist(), targets.tolist()) == ([0, 4], [1, 1])


def test_a_table_that_is_not_256_wide_is_no_question() -> None:
    with pytest.raises(OracleError, match=r"a table of shape \(1, 3\) has not 256 columns"):
        graphs.distances([0], [[0, 0, 0]], [b"a"], [])


TABLES = st.integers(1, 4).flatmap(
    lambda size: st.tuples(
        st.lists(st.integers(0, size - 1), unique=True),
        st.lists(st.lists(st.integers(-1, size - 1), min_size=3, max_size=3), min_size=size, max_size=size),
    )
)
TOKENS = st.lists(
    st.one_of(st.none(), st.binary(max_size=3).map(lambda b: bytes(97 + x % 3 for x in b))), max_size=5
)


def wide(rows: list[list[int]]) -> list[list[int]]:
    return [[DEAD] * 97 + row + [DEAD] * 156 for row in rows]


@settings(max_examples=60, deadline=None)
@given(TABLES, TOKENS, st.sets(st.integers(0, 4), max_size=2))
def test_distances_are_those_of_trying_every_sequence(plain: Any, tokens: Any, eos: set[int]) -> None:
    """distance(s) = min{k : some k tokens lead from s to acceptance} + [there is an EOS]."""
    accept, table = plain[0], wide(plain[1])
    found = graphs.distances(accept, table, tokens, eos)
    assert found == [
        plain_distance(accept, table, tokens, sorted(eos), state, len(table)) for state in range(len(table))
    ]


@settings(max_examples=60, deadline=None)
@given(TABLES, TOKENS, st.sets(st.integers(0, 4), max_size=2))
def test_stuck_states_are_dead_ends_and_dead_ends_have_no_distance(
    plain: Any, tokens: Any, eos: set[int]
) -> None:
    accept, table = plain[0], wide(plain[1])
    ends = {trap.state for trap in graphs.dead_ends(accept, table, tokens, eos)}
    assert {trap.state for trap in graphs.stuck(accept, table, tokens, eos)} <= ends
    assert ends == {
        s for s, distance in enumerate(graphs.distances(accept, table, tokens, eos)) if distance == -1
    }


def without_eos(accept: Any, table: Any, tokens: Any, eos: Any) -> list[int]:
    return [distance - 1 for distance in graphs.distances(accept, table, tokens, eos)]


def over_bytes(accept: Any, table: Any, tokens: Any, eos: Any) -> list[int]:
    return graphs.distances(accept, table, [bytes([byte]) for byte in range(256)], [256])


def first_byte_only(accept: Any, table: Any, tokens: Any, eos: Any) -> list[int]:
    return graphs.distances(accept, table, [token and token[:1] for token in tokens], eos)


@pytest.mark.parametrize("mutant", [without_eos, over_bytes, first_byte_only])
def test_the_distances_kill_every_wrong_way_to_count(mutant: Callable[..., list[int]]) -> None:
    tokens = [b"ca", b"t", b"c", b"dogs", None]
    assert mutant(*HAND, tokens, [4]) != graphs.distances(*HAND, tokens, [4])
