"""The canonical DFA: the hand example, the laws that make tables equal, what minimal and canonical mean, the edges."""

import itertools
import math
from collections.abc import Callable
from functools import reduce

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from properties.pattern_strategies import BYTE_ATOMS, UNICODE_ATOMS, Both, byte_patterns, patterns, walks
from reference.charsets import Dialect
from reference.compile import regex_to_dfa
from reference.dfa import DEAD, Dfa
from reference.errors import EmptyLanguage, MaskError, TooLarge
from reference.minimise import States, _Blocks, canonical, moore, refine, trim
from reference.nfa import thompson
from reference.patterns import parse
from reference.subset import ClassTable, byte_classes, determinise


def live_edges(dfa: Dfa) -> list[tuple[int, str, int]]:
    states, byte_values = (dfa.trans != DEAD).nonzero()
    return [(int(s), chr(b), int(dfa.trans[s, b])) for s, b in zip(states, byte_values, strict=True)]


def test_the_hand_example_has_seven_states_and_eight_edges() -> None:
    """SPEC §2: `(cat|car|dog)s?`."""
    dfa = regex_to_dfa("(cat|car|dog)s?")
    assert dfa.n_states == 7
    assert dfa.accept.nonzero()[0].tolist() == [5, 6]
    expected = [
        (0, "c", 1),
        (0, "d", 2),
        (1, "a", 3),
        (2, "o", 4),
        (3, "r", 5),
        (3, "t", 5),
        (4, "g", 5),
        (5, "s", 6),
    ]
    assert live_edges(dfa) == expected
    assert dfa.trans.shape == (7, 256) and dfa.trans.dtype == np.int32 and dfa.accept.dtype == np.bool_


def test_the_hand_example_steps_and_matches() -> None:
    dfa = regex_to_dfa("(cat|car|dog)s?")
    assert [dfa.step(0, word) for word in (b"", b"c", b"ca", b"car", b"cars", b"carss", b"x")] == [
        0,
        1,
        3,
        5,
        6,
        DEAD,
        DEAD,
    ]
    assert dfa.step(3, b"ts") == 6
    assert [dfa.matches(word) for word in (b"", b"ca", b"cat", b"dogs", b"dogss")] == [
        False,
        False,
        True,
        True,
        False,
    ]


def test_dead_stays_dead() -> None:
    assert regex_to_dfa("a*").step(DEAD, b"aaa") == DEAD


@pytest.mark.parametrize("state", [-2, 7, 2**40])
def test_a_state_out_of_range_is_refused(state: int) -> None:
    dfa = regex_to_dfa("(cat|car|dog)s?")
    with pytest.raises(
        MaskError, match=f"^state {state} is out of range; the automaton has the states 0 to 6$"
    ):
        dfa.step(state, b"")


def test_the_tables_cannot_be_written() -> None:
    dfa = regex_to_dfa("a")
    with pytest.raises(ValueError, match="read-only"):
        dfa.trans[0, 0] = 1
    with pytest.raises(ValueError, match="read-only"):
        dfa.accept[0] = True


Law = Callable[[str, str, str], tuple[str, str]]

LAWS: dict[str, Law] = {
    "union commutes": lambda x, y, z: (f"{x}|{y}", f"{y}|{x}"),
    "union is associative and idempotent": lambda x, y, z: (f"{x}|({y}|{z})", f"(({x}|{y})|{z})|{x}"),
    "concatenation distributes from the right": lambda x, y, z: (f"({x}|{y}){z}", f"{x}{z}|{y}{z}"),
    "concatenation distributes from the left": lambda x, y, z: (f"{x}({y}|{z})", f"{x}{y}|{x}{z}"),
    "star unrolls": lambda x, y, z: (f"{x}*", f"|{x}{x}*"),
    "star of star": lambda x, y, z: (f"({x}*)*", f"{x}*"),
    "plus is one and star": lambda x, y, z: (f"{x}+", f"{x}{x}*"),
    "optional is empty or one": lambda x, y, z: (f"{x}?", f"|{x}"),
    "sliding": lambda x, y, z: (f"{x}({y}{x})*", f"({x}{y})*{x}"),
    "star of a union": lambda x, y, z: (f"({x}|{y})*", f"({x}*{y}*)*"),
    "star of a union, denesting": lambda x, y, z: (f"({x}|{y})*", f"{x}*({y}{x}*)*"),
    "counts are written out": lambda x, y, z: (f"{x}{{1,3}}", f"{x}|{x}{x}|{x}{x}{x}"),
    "at least two": lambda x, y, z: (f"{x}{{2,}}", f"{x}{x}+"),
    "none at all": lambda x, y, z: (f"{x}{{0}}{y}", y),
    "exactly m is m to m": lambda x, y, z: (f"{x}{{2}}", f"{x}{{2,2}}"),
    "repeated optional": lambda x, y, z: (f"({x}?){{3}}", f"{x}{{0,3}}"),
}


@pytest.mark.parametrize("law", LAWS)
@settings(max_examples=12, deadline=None)
@given(st.data(), st.sampled_from(["bytes", "unicode"]))
def test_one_language_written_twice_has_one_table(law: str, data: st.DataObject, dialect: Dialect) -> None:
    """L(p) = L(q) ⇒ the tables of p and q are identical."""
    atoms = BYTE_ATOMS if dialect == "bytes" else UNICODE_ATOMS
    made = [f"(?:{data.draw(patterns(atoms, depth=1)).ours})" for _ in range(3)]
    left, right = LAWS[law](*made)
    assert compiled(left, dialect) == compiled(right, dialect)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("[abc]", "a|b|c"),
        (r"\d", "[0-9]"),
        (r"\w", "[A-Za-z0-9_]"),
        (r"\s", r"[\t\n\v\f\r ]"),
        (r"\D|\d", r"[\x00-\xff]"),
        (".", r"[^\n]"),
        ("é", r"\xc3\xa9"),
        ("(a|b)*abb", "(b|a(a|ba)*bb|ab*aab*)*abb|(a|b)*abb"),
        ("(?:a{3})*|(?:a{5})*", "(?:a{15})*(?:|a{3}|a{5}|a{6}|a{9}|a{10}|a{12})"),
        ("(0|1(01*0)*1)*", "(?:1(?:01*0)*1|0)*"),
    ],
)
def test_equal_languages_from_the_book(one: str, other: str) -> None:
    assert regex_to_dfa(one) == regex_to_dfa(other)


@pytest.mark.parametrize(
    ("unicode_pattern", "byte_pattern"),
    [
        ("[é漢]", "é|漢"),
        (r"\xe9", "é"),
        (
            r"[\u0000-\u{10ffff}]",
            r"[\x00-\x7f]|[\xc2-\xdf][\x80-\xbf]|\xe0[\xa0-\xbf][\x80-\xbf]"
            r"|[\xe1-\xec\xee\xef][\x80-\xbf]{2}|\xed[\x80-\x9f][\x80-\xbf]|\xf0[\x90-\xbf][\x80-\xbf]{2}"
            r"|[\xf1-\xf3][\x80-\xbf]{3}|\xf4[\x80-\x8f][\x80-\xbf]{2}",
        ),
    ],
)
def test_the_two_dialects_meet_in_their_tables(unicode_pattern: str, byte_pattern: str) -> None:
    assert regex_to_dfa(unicode_pattern, "unicode") == regex_to_dfa(byte_pattern)


def test_different_languages_have_different_tables() -> None:
    words = ["", "a", "b", "aa", "ab", "a*", "a+", "a?", "[ab]", "(ab)*", "a{2,3}"]
    for one, other in itertools.combinations(words, 2):
        assert regex_to_dfa(one) != regex_to_dfa(other)
        assert hash(regex_to_dfa(one)) == hash(regex_to_dfa(f"(?:{one})"))


def compiled(pattern: str, dialect: Dialect = "bytes") -> Dfa:
    try:
        return regex_to_dfa(pattern, dialect)
    except EmptyLanguage:
        assume(False)
        raise


@settings(max_examples=150, deadline=None)
@given(byte_patterns())
def test_the_table_is_trim_minimal_and_numbered_breadth_first(pattern: Both) -> None:
    """Each property in its own words, on the finished table."""
    dfa = compiled(pattern.ours)
    assert reached_in_order(dfa) == list(range(dfa.n_states))
    assert all_live(dfa)
    assert all_told_apart(dfa)


def reached_in_order(dfa: Dfa) -> list[int]:
    """States in the order in which breadth-first search over bytes 0 to 255 meets them."""
    order = [0]
    for state in order:
        for target in dfa.trans[state].tolist():
            if target != DEAD and target not in order:
                order.append(target)
    return order


def all_live(dfa: Dfa) -> bool:
    """Every state leads to acceptance."""
    live = set(dfa.accept.nonzero()[0].tolist())
    while grown := {s for s in range(dfa.n_states) if s not in live and live & set(dfa.trans[s].tolist())}:
        live |= grown
    return len(live) == dfa.n_states


def all_told_apart(dfa: Dfa) -> bool:
    """Every pair of states, DEAD among them, has a string that one accepts and the other does not (table filling)."""
    accept = [*dfa.accept.tolist(), False]
    states = range(-1, dfa.n_states)
    apart = {(p, q) for p in states for q in states if accept[p] != accept[q]}
    step = [*dfa.trans.tolist(), [DEAD] * 256]
    columns = list({tuple(column) for column in zip(*step, strict=True)})
    while True:
        more = {
            (p, q)
            for p in states
            for q in states
            if (p, q) not in apart and any((c[p], c[q]) in apart for c in columns)
        }
        if not more:
            return all((p, q) in apart for p in states for q in states if p != q)
        apart |= more


@settings(max_examples=150, deadline=None)
@given(byte_patterns())
def test_the_fast_refinement_is_moores(pattern: Both) -> None:
    """`refine` and `moore` give one partition."""
    assert_same_partition(trim(determinise(thompson(parse(pattern.ours)))))


@settings(max_examples=200, deadline=None)
@given(st.integers(1, 12), st.integers(1, 3), st.data())
def test_the_fast_refinement_is_moores_on_any_table(states: int, classes: int, data: st.DataObject) -> None:
    """Tables that no pattern made, dense in equivalent states."""
    row = st.lists(st.integers(-1, states - 1), min_size=classes, max_size=classes)
    table = data.draw(st.lists(row, min_size=states, max_size=states))
    accept = data.draw(st.lists(st.booleans(), min_size=states, max_size=states))
    byte_class = np.minimum(np.arange(256), classes - 1)
    automaton = trim(ClassTable(np.array(accept), np.array(table, dtype=np.int32), byte_class))
    assume(len(automaton.accept))
    assert_same_partition(automaton)
    once = canonical(automaton)
    again = canonical(once)
    assert np.array_equal(once.table, again.table) and np.array_equal(once.accept, again.accept)


@pytest.mark.parametrize(
    "pattern", ["(a{500}){3}", "[ab]*a[ab]{9}", "(a{7})*|(a{11})*|(a{13})*", "(ab{40}|ba{40}){3}"]
)
def test_a_state_changes_its_block_a_logarithm_of_times(
    pattern: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The largest part of a block keeps its name: at most n·log₂ n moves, so no pattern makes refinement hang."""
    moved: list[int] = []
    split = _Blocks.split

    def counted(self: _Blocks, states: States, signatures: States) -> States:
        changed = split(self, states, signatures)
        moved.append(len(changed))
        return changed

    monkeypatch.setattr(_Blocks, "split", counted)
    automaton = trim(determinise(thompson(parse(pattern), max_nfa_states=10_000)))
    refine(automaton)
    n = len(automaton.accept)
    assert 0 < sum(moved) <= n * math.log2(n)


@pytest.mark.parametrize(
    ("groups", "moved"),
    [
        ([[0, 1, 2]], {0, 1, 2}),
        ([[0, 1, 2, 3, 4, 5, 6]], {7, 8, 9}),
        ([[0, 1], [2, 3, 4, 5, 6]], {0, 1, 7, 8, 9}),
        ([[0, 1], [2, 3, 4, 5, 6, 7, 8, 9]], {0, 1}),
        ([[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]], set()),
    ],
)
def test_the_largest_part_of_a_block_keeps_its_name(groups: list[list[int]], moved: set[int]) -> None:
    """Ten states of one block, some of them in groups; whoever is in no group is a part too. Sizes are kept true."""
    blocks = _Blocks(np.zeros(10, dtype=np.bool_))
    assert set(blocks.split_block(0, groups).tolist()) == moved
    names, sizes = np.unique(blocks.of[:-1], return_counts=True)
    assert {name: size for name, size in blocks.size.items() if size} == dict(zip(names, sizes, strict=True))


def assert_same_partition(automaton: ClassTable) -> None:
    if len(automaton.accept):
        pairs = set(zip(moore(automaton).tolist(), refine(automaton).tolist(), strict=True))
        assert len(pairs) == len({left for left, _ in pairs}) == len({right for _, right in pairs})


@settings(max_examples=100, deadline=None)
@given(byte_patterns())
def test_bytes_of_one_class_are_alike_for_every_edge(pattern: Both) -> None:
    """NFA classes: b ~ c ⇔ the same edge sets hold them; canonical classes: ⇔ equal columns; both by first byte."""
    nfa = thompson(parse(pattern.ours))
    held = [tuple(bits >> byte & 1 for bits in nfa.sets if bits is not None) for byte in range(256)]
    assert byte_classes(nfa).byte_class.tolist() == by_first(held)
    dfa = compiled(pattern.ours)
    assert dfa.byte_classes().tolist() == by_first(
        [tuple(dfa.trans[:, byte].tolist()) for byte in range(256)]
    )


def by_first(keys: list[tuple[int, ...]]) -> list[int]:
    names: dict[tuple[int, ...], int] = {}
    return [names.setdefault(key, len(names)) for key in keys]


@settings(max_examples=100, deadline=None)
@given(byte_patterns(), st.integers(0, 2**32), st.integers(0, 6))
def test_a_walk_in_two_parts_is_the_walk(pattern: Both, seed: int, cut: int) -> None:
    """δ*(s, uv) = δ*(δ*(s, u), v)."""
    dfa = compiled(pattern.ours)
    for data in walks(dfa, seed, 5):
        assert dfa.step(dfa.step(0, data[:cut]), data[cut:]) == dfa.step(0, data)


@pytest.mark.parametrize(
    ("pattern", "states"),
    [(r"[\x00-\xff]*", 1), ("a*", 1), ("a{0,5}", 6), ("(a|b)?", 2), ("(a*b?)*", 1), ("a?b?c?", 4)],
)
def test_automata_in_which_every_state_accepts_are_minimised_too(pattern: str, states: int) -> None:
    """A first split by acceptance finds one block: missing edges must tell the states apart."""
    dfa = regex_to_dfa(pattern)
    assert dfa.accept.all() and dfa.n_states == states
    assert all_told_apart(dfa)


@pytest.mark.parametrize("pattern", ["", "()", "(|)", "a{0}", "(?:)*", "(){1000}", "|"])
def test_the_empty_string_alone_is_one_state_without_edges(pattern: str) -> None:
    dfa = regex_to_dfa(pattern)
    assert (dfa.n_states, live_edges(dfa), dfa.matches(b""), dfa.matches(b"a")) == (1, [], True, False)


def test_all_256_bytes_can_be_told_apart() -> None:
    """Each byte is followed by its own eight binary digits: 256 classes, and 1 + 256 + 128 + … + 1 states."""
    dfa = regex_to_dfa("|".join(f"\\x{byte:02x}{byte:08b}" for byte in range(256)))
    assert dfa.byte_classes().tolist() == list(range(256))
    assert dfa.n_states == 512
    for byte in range(256):
        assert dfa.matches(bytes([byte]) + f"{byte:08b}".encode())
        assert not dfa.matches(bytes([byte]) + f"{byte ^ 0x80:08b}".encode())


def test_every_byte_is_live_and_accepting_in_the_language_of_all_strings() -> None:
    dfa = regex_to_dfa(r"[\x00-\xff]*")
    assert dfa.trans.tolist() == [[0] * 256]
    assert dfa.byte_classes().tolist() == [0] * 256


@pytest.mark.parametrize("count", range(1, 9))
def test_the_count_from_the_end_needs_all_its_subsets(count: int) -> None:
    """`[ab]*a[ab]{k}` has 2^(k+1) states: the textbook's worst case for the subset construction."""
    assert regex_to_dfa(f"[ab]*a[ab]{{{count}}}").n_states == 2 ** (count + 1)


def test_cycles_multiply() -> None:
    """(aᵖ)* ∩-free union of coprime cycles: lcm(3, 5, 7) states."""
    assert regex_to_dfa("(a{3})*|(a{5})*|(a{7})*").n_states == 105


def test_a_long_chain_needs_one_round_a_state() -> None:
    """Refinement that stops early merges the middle of a chain (pitfall s01)."""
    dfa = regex_to_dfa("a{1000}")
    assert dfa.n_states == 1001 and dfa.matches(b"a" * 1000) and not dfa.matches(b"a" * 999)


def test_the_limit_on_states_is_exact() -> None:
    """Subset states count before they are merged: `a{9}` has ten."""
    assert regex_to_dfa("a{9}", max_states=10).n_states == 10
    with pytest.raises(TooLarge, match=r"^pattern: over max_states=9 subset states; simplify it$"):
        regex_to_dfa("a{9}", max_states=9)


def test_words_in_any_order_and_any_copies_have_one_table() -> None:
    words = ["alpha", "beta", "al", "alp", "gamma", "gam"]
    tables = {regex_to_dfa("|".join([*order, order[0]])) for order in itertools.permutations(words)}
    assert len(tables) == 1
    assert reduce(lambda known, word: known and next(iter(tables)).matches(word.encode()), words, True)
