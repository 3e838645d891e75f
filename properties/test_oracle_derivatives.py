"""The derivative oracle by itself: against Python's `re`, against hand examples, and against its own other answers."""

import time
from itertools import pairwise, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles.bisimulation import difference
from oracles.canonical import canonical
from oracles.derivatives import automaton, begun, is_member, is_viable
from oracles.errors import OracleError
from oracles.pattern_reader import Dialect, PatternRefused
from oracles.terms import OracleLimit
from properties.oracle_subjects import Written, automata, chances, patterns, strings

DIALECTS: list[Dialect] = ["bytes", "unicode"]


@st.composite
def questions(draw: st.DrawFn) -> tuple[Written, Dialect, list[bytes]]:
    dialect = draw(st.sampled_from(DIALECTS))
    return draw(patterns(dialect)), dialect, draw(st.lists(strings(dialect), min_size=1, max_size=8))


def has_member(pattern: str, data: bytes, dialect: Dialect) -> bool:
    """Membership, in which a language refused as empty has no member."""
    try:
        return is_member(pattern, data, dialect)
    except PatternRefused as refusal:
        if refusal.reason != "no string at all is in this language":
            raise
        return False


def walk(table: list[list[int]], data: bytes) -> int:
    state = 0
    for byte in data:
        state = table[state][byte] if state >= 0 else -1
    return state


@chances(150)
@given(questions())
def test_membership_is_what_python_s_re_says(question):
    """data ∈ L(pattern) ⇔ re.fullmatch(pattern, data)."""
    written, dialect, data = question
    for item in data:
        assert has_member(written.text, item, dialect) == written.matches(item, dialect), item


@chances(100)
@given(questions())
def test_the_automaton_accepts_the_members_and_lives_on_the_viable_prefixes(question):
    """δ*(0, data) accepts ⇔ data ∈ L; δ*(0, data) is not dead ⇔ data is a viable prefix."""
    written, dialect, data = question
    try:
        accept, table = automaton(written.text, dialect)
    except PatternRefused:
        return
    for item in (part for whole in data for part in (whole, whole[:-1])):
        assert (walk(table, item) in accept) == is_member(written.text, item, dialect)
        assert (walk(table, item) >= 0) == is_viable(written.text, item, dialect)


@chances(60)
@given(st.sampled_from(DIALECTS).flatmap(lambda dialect: st.tuples(patterns(dialect), st.just(dialect))))
def test_every_state_of_the_automaton_leads_to_acceptance(question):
    """A term is dead only when it is `none`: no live state is left that never accepts."""
    try:
        accept, table = automaton(question[0].text, question[1])
    except PatternRefused:
        return
    reaching, before = set(accept), -1
    while before < len(reaching):
        before = len(reaching)
        reaching |= {state for state, row in enumerate(table) if reaching & set(row)}
    assert reaching == set(range(len(table)))


@chances(40)
@given(patterns("unicode"))
def test_no_automaton_of_dialect_unicode_takes_bytes_that_are_no_utf8(written):
    """L ⊆ (.|newline)*, whose automaton is that of all UTF-8: adding L to it changes nothing."""
    try:
        together = automaton(rf"(?:{written.text})|(?:.|\n)*", "unicode")
    except PatternRefused:
        return
    assert difference(*together, *automaton(r"(?:.|\n)*", "unicode")) is None


def test_the_automaton_of_all_characters_takes_exactly_utf8():
    """For every string of up to two bytes, and for the borders of longer ones, live and accepting as Python decodes."""
    accept, table = automaton(r"(?:.|\n)*", "unicode")
    borders = [
        chr(code).encode("utf-8", "surrogatepass") for code in (0x7FF, 0x800, 0xD7FF, 0xD800, 0xDFFF, 0xE000)
    ]
    for data in [
        *(bytes(pair) for pair in product(range(256), repeat=2)),
        *borders,
        b"\xf4\x8f\xbf\xbf",
        b"\xf4\x90",
    ]:
        assert (walk(table, data) in accept) == is_utf8(data), data


def is_utf8(data: bytes) -> bool:
    try:
        return isinstance(data.decode("utf-8"), str)
    except UnicodeDecodeError:
        return False


def test_utf8_keeps_the_order_of_code_points():
    """The one fact about UTF-8 on which pending bytes rest, for all 1,114,112 code points."""
    encoded = [chr(code).encode("utf-8", "surrogatepass") for code in range(0x110000)]
    assert all(one < other for one, other in pairwise(encoded))


@pytest.mark.parametrize(
    ("pending", "interval"),
    [
        (b"\xc3", (0xC0, 0xFF)),
        (b"\xe0", (0x800, 0xFFF)),
        (b"\xed\x9f", (0xD7C0, 0xD7FF)),
        (b"\xf4", (0x100000, 0x10FFFF)),
        (b"\xf0\x90\x80", (0x10000, 0x1003F)),
    ],
)
def test_the_characters_that_begin_with_pending_bytes_are_an_interval(pending, interval):
    assert begun(pending) == interval


@pytest.mark.parametrize("pending", [b"\x80", b"\xc0", b"\xc1", b"\xe0\x80", b"\xf4\x90", b"\xf5", b"\xff"])
def test_bytes_that_begin_no_character_have_no_interval(pending):
    first, last = begun(pending)
    assert first > last


def test_a_cut_surrogate_is_dead():
    assert is_viable(".", b"\xed\x9f", "unicode")
    assert not is_viable(".", b"\xed\xa0", "unicode")
    assert automaton(".", "unicode")[1][0][0xED] >= 0


def test_the_hand_example_has_seven_states_and_eight_edges():
    accept, table = canonical(*automaton("(cat|car|dog)s?"))
    edges = {
        (state, chr(byte)): to for state, row in enumerate(table) for byte, to in enumerate(row) if to >= 0
    }
    assert accept == [5, 6]
    assert edges == {
        (0, "c"): 1, (0, "d"): 2, (1, "a"): 3, (2, "o"): 4, (3, "r"): 5, (3, "t"): 5, (4, "g"): 5, (5, "s"): 6,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("pattern", "accept", "states"),
    [
        ("", [0], 1),
        ("a*", [0], 1),
        (r"[\x00-\xff]*", [0], 1),
        ("a?", [0, 1], 2),
        ("[^\\x00-\\xff]|a", [1], 2),
    ],
)
def test_small_and_all_accepting_languages_have_their_automaton(pattern, accept, states):
    found = canonical(*automaton(pattern))
    assert (found[0], len(found[1])) == (accept, states)


@pytest.mark.parametrize(
    ("one", "other", "dialect"),
    [
        ("(a|b)*", "(a*b*)*", "bytes"),
        ("a{2,4}", "aa(a(a|)|)", "bytes"),
        ("(a|)+", "a*", "bytes"),
        ("a(ba)*", "(ab)*a", "bytes"),
        ("é", "\\xc3\\xa9", "bytes"),
        ("[é漢]", "é|\\u6f22", "unicode"),
        ("[^a-z]|[a-z]", ".|\\n", "unicode"),
        ("[^\\u0000-\\uffff]", "[\\u{10000}-\\u{10FFFF}]", "unicode"),
    ],
)
def test_equal_languages_written_differently_have_one_canonical_table(one, other, dialect):
    assert canonical(*automaton(one, dialect)) == canonical(*automaton(other, dialect))


@chances(150)
@given(automata())
def test_the_canonical_automaton_has_the_same_language_and_is_its_own_canonical_one(given_automaton):
    """L(canonical(A)) = L(A), and canonical(canonical(A)) = canonical(A)."""
    try:
        found = canonical(*given_automaton)
    except OracleError:
        assert difference(*given_automaton, [], given_automaton[1]) is None
        return
    assert difference(*given_automaton, *found) is None
    assert canonical(*found) == found
    assert len(found[1]) <= len(given_automaton[1])


REFUSED = [
    *[
        ("(a", 0),
        ("a)", 1),
        ("a(b)(c", 4),
        ("[a", 0),
        ("a[", 1),
        ("[^a", 0),
        ("*a", 0),
        ("a|*", 2),
        ("(*)", 1),
    ],
    *[("a**", 2), ("a*?", 2), ("a++", 2), ("a{2}{3}", 4), ("a?{2}", 2), ("{", 0), ("a{", 1), ("a{x}", 1)],
    *[("a{,3}", 1), ("a{2", 1), ("a{ 2}", 1), ("a{3,1}", 1), ("a{1001}", 1), ("a{1,1001}", 1), ("a{²}", 1)],
    *[
        ("a{99999999999}", 1),
        (r"\q", 0),
        (r"\b", 0),
        (r"\1", 0),
        (r"\p", 0),
        ("a\\", 1),
        ("^a", 0),
        ("a$", 1),
    ],
    *[
        (r"\A", 0),
        (r"a\Z", 1),
        ("(?=a)", 0),
        ("(?i)a", 0),
        ("(?P<n>a)", 0),
        ("(?", 0),
        ("[]", 0),
        ("[]a]", 0),
    ],
    *[("[^]", 0), ("[z-a]", 1), (r"[a-\d]", 1), (r"[\d-z]", 1), ("[a-", 1), (r"\x4", 0), (r"\xg0", 0)],
    *[(r"[\b]", 1), ("[\\", 1), ("\ud800", 0), ("\\é", 0), ("\\\n", 0)],
]
ONLY_BYTES = [("[é]", 1), (r"\u0041", 0), (r"[^\x00-\xff]", 0), (r"a[^\x00-\xff]|(?:[^\x00-\xff])+", 0)]
ONLY_UNICODE = [
    *[(r"\u004", 0), (r"\u{}", 0), (r"\u{110000}", 0), (r"\u{41", 0), (r"\ud800", 0), (r"[a\udfff]", 2)],
    (r"[^\u0000-\u{10FFFF}]", 0),
]


@pytest.mark.parametrize(("pattern", "position"), [*REFUSED, *ONLY_BYTES])
def test_what_is_outside_dialect_bytes_is_refused_with_its_position(pattern, position):
    with pytest.raises(PatternRefused) as refusal:
        automaton(pattern, "bytes")
    assert refusal.value.position == position
    assert str(refusal.value).startswith(f"pattern, position {position}: ")


@pytest.mark.parametrize(("pattern", "position"), [*REFUSED, *ONLY_UNICODE])
def test_what_is_outside_dialect_unicode_is_refused_with_its_position(pattern, position):
    with pytest.raises(PatternRefused) as refusal:
        automaton(pattern, "unicode")
    assert refusal.value.position == position


@pytest.mark.parametrize(
    "pattern",
    [
        "a]",
        "}",
        "[[]",
        "[a-b-c]",
        "[--a]",
        "[a^]",
        "()*",
        "(?:)",
        "(a*)*",
        "[-]",
        "[^-]",
        r"\ ",
        r"\_",
        "a{0001}",
    ],
)
def test_what_looks_odd_but_is_inside_the_dialect_is_read(pattern):
    assert automaton(pattern, "bytes") == automaton(pattern, "bytes")
    assert automaton(pattern, "unicode")[1]


@pytest.mark.parametrize(
    "pattern",
    ["((a{1000}){1000}){1000}", "(" * 100_000 + ")" * 100_000, "a" * 10_000_000, "a" * 60_000],
    ids=["a billion states", "deep", "long", "many states"],
)
def test_what_is_too_large_stops_at_a_bound_and_in_time(pattern):
    started = time.process_time()
    with pytest.raises(OracleLimit):
        automaton(pattern, max_states=2_000)
    assert time.process_time() - started < 10


@pytest.mark.slow
def test_few_states_that_take_much_work_stop_at_a_bound_too():
    started = time.process_time()
    with pytest.raises(OracleLimit, match="more work than the oracle's bound"):
        automaton("(a{0,100}){0,100}")
    assert time.process_time() - started < 60


def test_an_unknown_dialect_is_an_error():
    with pytest.raises(OracleError, match=r"dialect 'posix' is not known; it is 'bytes' or 'unicode'"):
        automaton("a", "posix")
