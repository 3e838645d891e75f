"""What a mutation tool could change in nfa, subset, minimise, dfa, compile unseen by other tests (docs/mutation.md)."""

import numpy as np
import pytest

from reference.compile import regex_to_dfa
from reference.dfa import DEAD
from reference.errors import EmptyLanguage, PatternError, Refused, SchemaError, TooLarge
from reference.minimise import canonical, moore
from reference.nfa import size, thompson
from reference.nodes import postorder
from reference.patterns import parse
from reference.subset import ClassTable, determinise


@pytest.mark.parametrize(
    ("pattern", "states"),
    [
        ("", 1),
        ("a", 2),
        ("ab", 4),
        ("a|b", 6),
        ("a?", 4),
        ("a*", 4),
        ("a{3}", 8),
        ("a{2,}", 6),
        ("a{0}", 2),
        ("(?:ab|c){2,3}", 2 + 3 * (2 + 4 + 2)),
    ],
)
def test_the_size_of_the_nfa_is_known_before_it_is_built(pattern: str, states: int) -> None:
    """By hand: 2 a byte set, 2 more a union and a repetition, whose body stands as often as it must."""
    tree = parse(pattern)
    assert size(postorder(tree), 1000) == states
    assert len(thompson(tree, max_nfa_states=states).sets) == states
    with pytest.raises(TooLarge) as refusal:
        thompson(tree, max_nfa_states=states - 1)
    told = f"pattern: repetitions unfold to more than max_nfa_states={states - 1} states; lower the bounds"
    assert str(refusal.value) == told


def test_a_size_over_the_ceiling_is_told_as_one_more() -> None:
    assert [size(postorder(parse("a{9}")), ceiling) for ceiling in (3, 19, 20)] == [4, 20, 20]


@pytest.mark.parametrize(("pattern", "work"), [("ab", 7), ("a*", 8), ("(?:a|b)c", 13)])
def test_the_work_of_the_subset_construction_is_counted(pattern: str, work: int) -> None:
    """By hand: members of each subset, states of each closure (once), steps along chains of epsilon edges."""
    nfa = thompson(parse(pattern))
    assert determinise(nfa, max_work=work).table.dtype == np.int32
    with pytest.raises(TooLarge) as refusal:
        determinise(nfa, max_work=work - 1)
    told = f"pattern: over max_work={work - 1} NFA states visited; nest fewer repetitions"
    assert str(refusal.value) == told


def test_the_limits_on_the_text_reach_the_parser() -> None:
    assert regex_to_dfa("aaaa", max_length=4).n_states == 5
    with pytest.raises(Refused):
        regex_to_dfa("aaaaa", max_length=4)
    assert regex_to_dfa("((a))", max_nesting=2).n_states == 2
    with pytest.raises(Refused):
        regex_to_dfa("(((a)))", max_nesting=2)


def test_an_automaton_that_accepts_nothing_has_no_canonical_states() -> None:
    never = ClassTable(np.array([False]), np.array([[0]], np.int32), np.zeros(256, np.intp))
    assert canonical(never).accept.tolist() == []


def test_a_class_of_no_character_is_empty_and_not_a_fault() -> None:
    with pytest.raises(EmptyLanguage):
        regex_to_dfa(r"[^\u0000-\u{10ffff}]", "unicode")


def test_moores_blocks_are_whole_numbers() -> None:
    """Also when the first round splits nothing."""
    always = ClassTable(np.array([True]), np.array([[DEAD]], np.int32), np.zeros(256, np.intp))
    assert moore(always).dtype == np.intp


def test_hashes_of_different_automata_differ() -> None:
    assert len({hash(regex_to_dfa(pattern)) for pattern in ("a", "b", "ab", "a*")}) == 4


def test_errors_name_their_place() -> None:
    assert str(PatternError("wrong")) == "pattern: wrong"
    assert str(PatternError("wrong", 0)) == "pattern, position 0: wrong"
    assert (str(SchemaError("wrong")), SchemaError("wrong").place) == ("schema: wrong", "")
    assert (str(SchemaError("wrong", "a.b")), SchemaError("wrong", "a.b").place) == (
        "schema, a.b: wrong",
        "a.b",
    )
