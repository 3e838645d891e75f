"""Explanations are true: labels read back as the bytes they stand for, places agree with the automaton and the mask."""

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer import Typer
from typer.testing import CliRunner, Result

from engine import explain
from engine.errors import BadInput
from engine.suite import languages, pattern_language
from maskproof.commands import explain as explain_command
from reference.compile import regex_to_dfa
from reference.dfa import DEAD, Dfa
from reference.errors import PatternError
from reference.lookahead import forced_bytes
from reference.masks import TokenIndex
from reference.vocabulary import load_vocabulary

WORDS = "(cat|car|dog)s?"
byte_sets = st.sets(st.integers(0, 255), min_size=1) | st.sets(st.integers(0, 255), max_size=254).map(
    lambda left_out: set(range(256)) - left_out
)


def cats() -> Dfa:
    return regex_to_dfa(WORDS)


@given(byte_sets)
def test_a_class_label_is_a_pattern_for_exactly_its_bytes(members: set[int]) -> None:
    label = explain.byte_label(members)
    if len(members) == 1:
        [byte] = members
        assert label in (chr(byte), f"\\x{byte:02x}", "␣", "\\\\", "\\n", "\\r", "\\t")
        assert explain.bytes_from_text(label.replace("␣", " ")) == bytes([byte])
    else:
        pattern = "[\\x00-\\xff]" if label == "any byte" else label.replace("␣", " ")
        dfa = regex_to_dfa(pattern)
        assert {byte for byte in range(256) if dfa.matches(bytes([byte]))} == members


def test_labels_read_well() -> None:
    shown = {
        "a": {97},
        "␣": {32},
        "\\n": {10},
        "\\xff": {255},
        "[0-9]": set(range(48, 58)),
        "[0-9A-Fa-f]": {*range(48, 58), *range(65, 71), *range(97, 103)},
        '[^"\\\\]': set(range(256)) - {34, 92},
        "[\\-\\]\\^]": {45, 93, 94},
        "any byte": set(range(256)),
    }
    for label, members in shown.items():
        assert explain.byte_label(members) == label


def test_the_hand_example_is_told_as_the_chapter_has_it() -> None:
    detail = explain.automaton_detail(cats())
    assert detail["states"] == 7
    assert detail["live"] == 8
    assert detail["accepting"] == [5, 6]
    edges = [(0, 1, "c"), (0, 2, "d"), (1, 3, "a"), (2, 4, "o"), (3, 5, "[rt]"), (4, 5, "g"), (5, 6, "s")]
    assert [tuple(edge) for edge in detail["edges"]] == edges
    assert detail["forced"] == {"1": "a", "2": "og", "4": "g"}


@pytest.mark.parametrize(
    "language", [one for one in languages() if one.id != "json-object"], ids=lambda one: one.id
)
def test_edges_cover_every_live_byte_once(language: object) -> None:
    dfa = regex_to_dfa(language.pattern, language.dialect)  # type: ignore[attr-defined]
    for state in range(dfa.n_states):
        targets = [edge.target for edge in explain.edges_from(dfa, state)]
        assert len(targets) == len(set(targets))
        assert set(targets) == set(dfa.trans[state].tolist()) - {DEAD}


@given(st.text("catrdogsx", max_size=6))
def test_a_place_is_where_the_automaton_goes(text: str) -> None:
    dfa, data = cats(), text.encode()
    place = explain.place(dfa, data)
    assert place.state == dfa.step(0, data)
    assert (place.status == "member") == dfa.matches(data)
    assert (place.status == "dead") == (dfa.step(0, data) == DEAD)
    assert [step.state for step in place.steps] == [dfa.step(0, data[: end + 1]) for end in range(len(data))]


def test_what_is_allowed_next_is_the_exact_mask() -> None:
    index = TokenIndex(cats(), load_vocabulary("toy"))
    for state in range(7):
        following = explain.tokens_next(index, state)
        assert following.allowed == int(index.mask(state).sum())
        assert following.eos == (state in (5, 6))
        assert all(index.mask(state)[token] for token, _ in following.examples)
        assert all(
            bytes.fromhex(piece) == index.vocabulary.tokens[token] for token, piece in following.examples
        )


def test_density_is_the_population_of_the_masks() -> None:
    index = TokenIndex(cats(), load_vocabulary("toy"))
    detail = explain.automaton_detail(index.automaton, index)  # type: ignore[arg-type]
    assert detail["density"] == [len(index.allowed(state)) for state in range(7)]
    assert (detail["tokens"], detail["vocabulary"]) == (123, "toy")


@given(st.binary(max_size=12))
def test_bytes_written_with_escapes_are_read_back(data: bytes) -> None:
    escaped = "".join(f"\\x{byte:02x}" for byte in data)
    assert explain.bytes_from_text(escaped) == data


@given(st.text(st.characters(exclude_characters="\\", exclude_categories=["Cs"])))
def test_text_without_a_backslash_is_its_utf_8(text: str) -> None:
    assert explain.bytes_from_text(text) == text.encode()


@pytest.mark.parametrize(("text", "position"), [("\\q", 0), ("ab\\", 2), ("\\x1", 0), ("\\xgg", 0)])
def test_an_unknown_escape_is_refused_with_its_position(text: str, position: int) -> None:
    with pytest.raises(BadInput, match=rf"bytes, position {position}: .* is no escape"):
        explain.bytes_from_text(text)


@given(st.binary(max_size=12))
def test_readable_text_shows_no_control_character(data: bytes) -> None:
    assert explain.readable(data).isprintable()


@pytest.mark.parametrize(
    "pattern", [WORDS, "é|è", "(ab)*cd", "a{300}", "a{119}b", "a{120}b", "a{121}é?", "(abc){60}(d|e)"]
)
def test_forced_texts_are_the_forced_bytes_of_each_state_cut_at_their_limit(pattern: str) -> None:
    dfa = regex_to_dfa(pattern)
    for state, text in enumerate(explain.forced_texts(dfa)):
        forced = forced_bytes(dfa, state)
        assert text == explain.readable(forced[:120]) + ("…" if len(forced) > 120 else "")


def test_what_an_automaton_is_told_with_grows_with_its_states_and_not_with_their_square() -> None:
    """Every state of a literal forces all that is left of it: told whole, 4,000 bytes would be 8 million."""
    detail = explain.automaton_detail(regex_to_dfa("a" * 4000))
    assert detail["states"] == 4001
    assert sum(map(len, detail["forced"].values())) < 4001 * 125
    assert detail["forced"]["0"] == "a" * 120 + "…"
    assert detail["forced"]["3999"] == "a"


def test_the_page_s_table_is_the_automaton() -> None:
    explained = explain.explain(pattern_language("p", "é[a-c]*"), "toy")
    data = explain.page_data(explained)
    for state in range(data["states"]):
        for byte in range(256):
            assert data["table"][state][data["classes"][byte]] == explained.dfa.step(state, bytes([byte]))


# ---- the command ------------------------------------------------------------------------------------------------


def invoke(*arguments: str) -> Result:
    app = Typer(pretty_exceptions_enable=False)
    app.callback()(lambda: None)
    explain_command.register(app)
    return CliRunner().invoke(app, ["explain", *arguments])


def test_the_command_tells_states_and_what_comes_next() -> None:
    told = invoke(WORDS, "--after", "ca").stdout
    assert "7 states, 2 accepting, 8 live edges" in told
    assert "after 'ca': viable" in told
    assert "2 of 123 tokens allowed: r  t" in told


def test_the_command_says_where_an_output_died() -> None:
    told = invoke(WORDS, "--after", "cbx").stdout
    assert "dead at byte 2: b is not allowed there" in told


def test_the_command_s_json_is_one_document() -> None:
    document = json.loads(invoke(WORDS, "--after", "cat", "--json").stdout)
    assert document["command"] == "explain"
    assert document["summary"]["status"] == "member"
    assert document["summary"]["next"]["eos"] is True
    assert document["summary"]["automaton"]["states"] == 7


def test_the_command_writes_picture_and_page(tmp_path: Path) -> None:
    names = {kind: str(tmp_path / f"cats.{kind}") for kind in ("svg", "png", "html")}
    answer = invoke(WORDS, *(part for kind, name in names.items() for part in (f"--{kind}", name)))
    assert answer.exit_code == 0
    ElementTree.parse(names["svg"])
    assert Path(names["png"]).read_bytes().startswith(b"\x89PNG")
    assert "maskproof explain" in Path(names["html"]).read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "give one of a pattern, --language and --schema"),
        (("a", "--language", "city"), "give one of a pattern, --language and --schema"),
        (("a", "--dialect", "perl"), "'perl' is not a dialect"),
        (("--language", "none-such"), "is not in the suite"),
        (("a", "--svg", "x.png"), "--svg writes a .svg file"),
    ],
)
def test_the_command_refuses_in_one_line(arguments: tuple[str, ...], message: str) -> None:
    answer = invoke(*arguments)
    assert isinstance(answer.exception, BadInput)
    assert message in str(answer.exception)


def test_a_pattern_outside_the_dialect_is_refused() -> None:
    assert isinstance(invoke("a(?=b)").exception, PatternError)
