"""The bisimulation oracle by itself: against brute force on short strings, and on automata known to be wrong."""

from itertools import product

import pytest
from hypothesis import given

from oracles.bisimulation import difference, is_bisimilar, shortest
from oracles.canonical import canonical
from oracles.derivatives import automaton
from oracles.errors import OracleError
from oracles.tables import checked
from properties.oracle_subjects import automata, chances, spoilt_automata, wrong_automata

SHORT = [bytes(word) for length in range(8) for word in product((0x00, 0x61, 0xFF), repeat=length)]
WORDS = canonical(*automaton("(cat|car|dog)s?"))
NUMBERS = canonical(*automaton("-?(?:0|[1-9][0-9]*)(?:\\.[0-9]+)?"))
CHARACTERS = canonical(*automaton("[é漢]{1,2}.?", "unicode"))


def accepts(automaton_, data: bytes) -> bool:
    """Membership, step by step, in the words of the definition."""
    state = 0
    for byte in data:
        state = automaton_[1][state][byte] if state >= 0 else -1
    return state in automaton_[0]


@chances(120)
@given(automata(3), automata(3))
def test_the_difference_is_the_first_string_on_which_they_disagree(one, other):
    """difference(A, B) = min {w : w ∈ L(A) ⇎ w ∈ L(B)}, shorter first, then by bytes.

    With dead, each side has at most 4 states, so that strings of up to 6 bytes tell them apart if any do.
    """
    first = next((word for word in SHORT if accepts(one, word) != accepts(other, word)), None)
    assert difference(*one, *other) == first


@chances(80)
@given(automata(5), automata(5))
def test_union_find_and_the_breadth_first_search_agree(one, other):
    """No string tells the two apart ⇔ merging what must be equal meets no contradiction."""
    left, right = checked(*one), checked(*other)
    assert is_bisimilar(left, right) == (shortest(left, right) is None)


@chances(60)
@given(automata(5))
def test_an_automaton_equals_itself(one):
    assert difference(*one, *one) is None


@pytest.mark.parametrize("subject", [WORDS, NUMBERS, CHARACTERS], ids=["words", "numbers", "characters"])
def test_every_automaton_with_one_fault_is_told_apart_by_a_string_that_shows_it(subject):
    faults = list(wrong_automata(*subject))
    assert len(faults) > 3 * len(subject[1])
    for name, wrong in faults:
        witness = difference(*subject, *wrong)
        assert witness is not None, name
        assert accepts(subject, witness) != accepts(wrong, witness), name


@pytest.mark.parametrize("subject", [WORDS, NUMBERS, CHARACTERS], ids=["words", "numbers", "characters"])
def test_faults_that_leave_the_language_as_it_is_are_no_difference(subject):
    for name, spoilt in spoilt_automata(*subject):
        assert difference(*subject, *spoilt) is None, name


def test_a_language_that_differs_in_the_empty_string_only_says_so():
    assert difference(*automaton("a*"), *automaton("a+")) == b""


def test_of_two_shortest_strings_the_first_in_byte_order_is_told():
    assert difference(*automaton("[ab]"), *automaton("[cd]")) == b"a"


def test_a_live_state_without_a_way_to_acceptance_is_as_good_as_dead():
    going_nowhere = [[1] * 256, [1] * 256]
    assert difference([0], going_nowhere, [0], [[-1] * 256]) is None


@pytest.mark.parametrize(
    ("accept", "table", "message"),
    [
        ([0], [[0] * 255], "table, state 0: 255 entries instead of 256"),
        ([0], [[1] * 256], "table, state 0: an entry outside -1 to 0"),
        ([0], [[-2] * 256], "table, state 0: an entry outside -1 to 0"),
        ([1], [[0] * 256], "the automaton has no state, or accepts in a state that it does not have"),
        ([-1], [[0] * 256], "the automaton has no state, or accepts in a state that it does not have"),
        ([], [], "the automaton has no state, or accepts in a state that it does not have"),
    ],
)
def test_a_table_that_is_no_automaton_is_an_error_and_no_verdict(accept, table, message):
    with pytest.raises(OracleError) as error:
        difference(accept, table, [0], [[0] * 256])
    assert str(error.value) == message
