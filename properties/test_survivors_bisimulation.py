"""What a mutation tool could change in the bisimulation oracle unseen by other tests (docs/mutation.md)."""

import pytest

from oracles import bisimulation
from oracles.tables import checked

ANY = ([1], [[1] * 256, [-1] * 256])
"""All strings of one byte: one class of bytes."""
BUT_Q = ([1], [[-1 if byte == ord("q") else 1 for byte in range(256)], [-1] * 256])
"""All strings of one byte but `q`."""


def test_bytes_that_only_one_side_tells_apart_are_asked_apart() -> None:
    assert bisimulation.joint_symbols(checked(*ANY), checked(*BUT_Q)) == [0, ord("q")]
    assert bisimulation.joint_symbols(checked(*BUT_Q), checked(*ANY)) == [0, ord("q")]
    assert bisimulation.difference(*ANY, *BUT_Q) == b"q"
    assert bisimulation.difference(*BUT_Q, *ANY) == b"q"
    assert not bisimulation.is_bisimilar(checked(*ANY), checked(*BUT_Q))


def test_states_of_the_two_sides_that_have_one_number_are_two_states() -> None:
    """Over one table: {a} and {empty}, then {empty, a} and {empty}."""
    table = [[1 if byte == ord("a") else -1 for byte in range(256)], [-1] * 256]
    assert bisimulation.difference([1], table, [0], table) == b""
    assert bisimulation.difference([0, 1], table, [0], table) == b"a"


def test_equal_languages_are_not_searched_for_a_string(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bisimulation, "shortest", lambda left, right: pytest.fail("searched"))
    assert bisimulation.difference(*ANY, *ANY) is None


def test_a_chain_of_merged_states_ends_at_one_root() -> None:
    """A loop of two states and one of three are one language: every state of one is merged with each of the other."""
    two = ([0, 1], [[1] * 256, [0] * 256])
    three = ([0, 1, 2], [[1] * 256, [2] * 256, [0] * 256])
    assert bisimulation.difference(*two, *three) is None
    assert bisimulation.difference(*two, [0, 1], three[1]) == b"\x00\x00"
