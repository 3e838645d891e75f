"""A finding is made small: by steps, by the structure of its source, by its vocabulary; and the file shows it again."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from engine.audit.compare import Difference
from engine.audit.forms import Aspect, aspect_of
from engine.audit.policies import Policy
from engine.audit.reductions import reductions
from engine.audit.scenario import Grammar, Scenario, from_json, joined, read, to_json, write
from engine.audit.shrink import Budget, shrunk
from engine.errors import BadInput
from maskproof.__main__ import app, load_commands
from properties.audit_ports import changed, fault, first_finding
from reference.compile import regex_to_dfa
from reference.errors import Refused
from reference.vocabulary import Vocabulary, load_vocabulary

TOY = load_vocabulary("toy")
if not app.registered_commands:
    load_commands()

PATTERNS = [
    "(cat|car|dog)s?",
    r"\d{4}-(?:0[1-9]|1[0-2])-\d{2}(?:T\d{2})?",
    "(?:é*|日本(?:語)?|😀{2,3})!",
    r"[\]\-^.]{0,2}\x00|[\x7f\x80]\D",
    "((((((a(b)?)*c)?d){2}){1,2})|(?:))",
]


def scenario(source: str, steps: list[tuple[object, ...]], kind: str = "regex.bytes") -> Scenario:
    return Scenario((TOY,), (Grammar(kind, source),), tuple(steps))


@pytest.mark.parametrize("pattern", PATTERNS)
def test_every_reduction_of_a_pattern_is_shorter_or_simpler_and_most_are_patterns(pattern: str) -> None:
    found = list(reductions("regex.bytes", pattern))
    assert all((len(smaller), smaller) < (len(pattern), pattern) for smaller in found)
    assert len(set(found)) == len(found) > 5
    sound = 0
    for smaller in found:
        try:
            regex_to_dfa(smaller)
            sound += 1
        except Refused:
            continue
    assert sound > len(found) / 2


def test_a_schema_is_reduced_by_its_structure() -> None:
    schema = {
        "type": "object",
        "title": "person",
        "properties": {"name": {"type": "string"}, "tags": {"type": "array", "items": {"enum": ["a", "b"]}}},
        "required": ["name", "tags"],
    }
    found = [
        json.loads(text) for text in reductions("json_schema", json.dumps(schema, separators=(",", ":")))
    ]
    assert {"type": "string"} in found
    assert {"type": "null"} in found
    assert any(
        smaller.get("properties", {}).keys() == {"name"} and smaller["required"] == ["name"]
        for smaller in found
    )
    assert any("title" not in smaller and len(smaller) == 3 for smaller in found)


def test_a_pattern_is_shrunk_to_what_shows_the_fault() -> None:
    """The fault: the pattern has a `c` under a star."""

    def shows(candidate: Scenario) -> Scenario | None:
        regex_to_dfa(candidate.grammars[0].source)
        return candidate if re.search(r"c[^|]*\)?\*", candidate.grammars[0].source) else None

    small = shrunk(scenario("x|(?:(?:ab|[c-e]f{2,4}|c)d?)*g", [("open", 0, 0)]), shows, Budget(runs=500))
    assert small.grammars[0].source in ("c*", "[c]*")


def test_steps_are_shrunk_to_those_that_show_the_fault() -> None:
    steps = [("open", n, 0) for n in range(6)] + [("advance", n % 6, n) for n in range(40)]

    def shows(candidate: Scenario) -> Scenario | None:
        wanted = {("open", 2, 0), ("advance", 2, 20)}
        numbers = {step[2] for step in candidate.steps if step[0] == "advance"}
        opened = [step for step in candidate.steps if step[0] == "open"]
        return candidate if wanted <= set(candidate.steps) or (20 in numbers and len(opened) == 1) else None

    small = shrunk(scenario("", list(steps)), shows, Budget(runs=500))
    assert len(small.steps) == 2


def test_a_vocabulary_is_shrunk_and_renumbered() -> None:
    steps = [("open", 0, 0), ("advance", 0, 105), ("mask", 0)]

    def shows(candidate: Scenario) -> Scenario | None:
        tokens = candidate.vocabularies[0].tokens
        taken = [step[2] for step in candidate.steps if step[0] == "advance"]
        return candidate if taken and taken[0] < len(tokens) and tokens[taken[0]] == TOY.tokens[105] else None

    small = shrunk(scenario("", list(steps)), shows, Budget(runs=500))
    assert [token for token in small.vocabularies[0].tokens if token is not None] == [TOY.tokens[105]]
    assert len(small.vocabularies[0]) <= 2


def test_a_fault_above_a_high_id_keeps_its_id_and_stays_small_on_disk(tmp_path: Path) -> None:
    tokens: list[bytes | None] = [None] * 70_000
    tokens[65_536], tokens[3] = b"a", b"b"
    wide = Vocabulary(tuple(tokens), frozenset({69_999}), "wide one")
    begun = Scenario((wide,), (Grammar("regex.bytes", "a"),), (("open", 0, 0), ("advance", 0, 65_536)))

    def shows(candidate: Scenario) -> Scenario | None:
        high = [step for step in candidate.steps if step[0] == "advance" and step[2] > 65_535]
        return candidate if high and candidate.vocabularies[0].tokens[65_536] == b"a" else None

    small = shrunk(begun, shows, Budget(runs=200))
    write(tmp_path / "f.json", small, kind="unsound")
    assert (tmp_path / "f.json").stat().st_size < 1000
    assert read(tmp_path / "f.json")[0].vocabularies[0].tokens[65_536] == b"a"


def test_the_budget_bounds_the_questions() -> None:
    asked = []

    def shows(candidate: Scenario) -> Scenario | None:
        asked.append(candidate)
        return None

    shrunk(scenario("(?:ab|cd|ef){2,30}", [("open", 0, 0)] * 200), shows, Budget(runs=25))
    assert len(asked) <= 25


def test_what_the_reference_refuses_shows_nothing() -> None:
    def shows(candidate: Scenario) -> Scenario | None:
        regex_to_dfa(candidate.grammars[0].source)
        return candidate if "[" in candidate.grammars[0].source else None

    small = shrunk(scenario("[^a]b", [("open", 0, 0)]), shows, Budget(runs=200))
    regex_to_dfa(small.grammars[0].source)


TOKENS = st.lists(st.none() | st.binary(max_size=4), max_size=8)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("open"), st.integers(0, 3), st.just(0)),
        st.tuples(st.just("advance"), st.integers(0, 3), st.integers(-2, 9)),
        st.tuples(st.just("fork"), st.integers(0, 3), st.integers(0, 3)),
        st.tuples(st.sampled_from(["mask", "close"]), st.integers(0, 3)),
    ),
    max_size=8,
)


@given(TOKENS, STEPS, st.text(st.characters(exclude_categories=["Cs"]), max_size=6))
@settings(max_examples=60, deadline=None)
def test_a_scenario_survives_being_written_and_read(
    tokens: list[bytes | None], steps: list[tuple[object, ...]], source: str
) -> None:
    vocabulary = Vocabulary(tuple(tokens), frozenset({0} if tokens else ()), "reproduction")
    before = Scenario((vocabulary,), (Grammar("regex.bytes", source),), tuple(steps))
    assert from_json(json.loads(json.dumps(to_json(before)))) == before


def test_joined_scenarios_keep_their_sessions_and_vocabularies_apart() -> None:
    other = replace(TOY, name="other", eos=frozenset())
    one = scenario("a", [("open", 0, 0), ("mask", 0)])
    two = Scenario((other,), (Grammar("regex.bytes", "b"),), (("open", 0, 0), ("mask", 0)))
    both = joined([one, two, one])
    assert both.vocabularies == (TOY, other)
    assert [grammar.source for grammar in both.grammars] == ["a", "b"]
    opened = [step for step in both.steps if step[0] == "open"]
    assert len({step[1] for step in opened}) == 3 and [step[2] for step in opened] == [0, 1, 0]
    assert [step for step in both.steps if step[0] == "vocab"] == [("vocab", 1), ("vocab", 0)]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        '{"format": 2}',
        '{"format": 1}',
        '{"format": 1, "vocabularies": [], "grammars": [], "steps": [["fly", 1]]}',
    ],
)
def test_a_file_that_no_audit_wrote_is_bad_input(text: str, tmp_path: Path) -> None:
    (tmp_path / "f.json").write_text(text, encoding="utf-8")
    with pytest.raises(BadInput, match=r"f\.json"):
        read(tmp_path / "f.json")


REPLAYED = [
    "second-eos-forgotten",
    "fork-shares-its-state",
    "cache-key-without-case",
    "advance-unchecked",
    "large-ids-crash",
]


@pytest.mark.parametrize("name", REPLAYED)
def test_the_file_of_a_finding_shows_it_again_and_nothing_on_a_sound_port(name: str, tmp_path: Path) -> None:
    from engine.audit.plan import Settings

    planted = fault(name)
    command = changed(tmp_path, planted.old, planted.new)
    found = first_finding(command, tmp_path, Settings())
    assert found is not None
    (file,) = (tmp_path / "findings").glob("*.json")
    assert str(file) in found.reproduce and file.stat().st_size < 2000
    options = ["--replay", str(file), "--results", str(tmp_path / "results"), "--json"]
    again = CliRunner().invoke(app, ["audit", *options, "--", *command])
    assert again.exit_code == 1
    kinds = {record["kind"] for record in json.loads(again.stdout)["records"]}
    assert kinds & {found.kind, "unsound", "incomplete", "advance_disagrees"}
    sound = CliRunner().invoke(app, ["audit", "pure", *options])
    assert sound.exit_code == 0, sound.stdout


# What a difference is about.

ALL_BYTES = Vocabulary((*(bytes([byte]) for byte in range(256)), None), frozenset({256}), "bytes")


def about(kind: str, source: str, path: bytes, *wrong: int) -> Aspect:
    """The aspect of wrong tokens after some bytes."""
    found = Difference(
        0, "unsound", "", grammar=Grammar(kind, source), vocabulary=ALL_BYTES, path=tuple(path), wrong=wrong
    )
    return aspect_of(found, Policy())


@pytest.mark.parametrize(
    ("path", "wrong", "form"),
    [
        (b'"', b"\x01", "characters of a string"),
        (b'"', b"\\", "escapes"),
        (b'"\\u0', b"x", "escapes"),
        (b"[1", b"e", "number forms"),
        (b"[", b" ", "white space"),
        (b'{"a":1,', b'"', "names and their order"),
        (b"[1", b"}", "structure"),
    ],
)
def test_a_wrong_token_of_json_is_about_the_part_of_the_text_it_stands_in(
    path: bytes, wrong: bytes, form: str
) -> None:
    """The schema allows none of these texts, so the first byte is the wrong one; the form is that of the text."""
    assert about("json_schema", '{"const":0}', path, *wrong).form == form


def test_differences_of_patterns_go_apart_by_ascii_and_by_ends() -> None:
    assert about("regex.bytes", "a", b"", ord("b")) == Aspect("", is_end=False, is_stuck=False)
    assert about("regex.bytes", "a", b"", 0xD9).form == "characters beyond ASCII"
    assert about("regex.bytes", "a", b"", 256).is_end


def test_the_grammar_that_a_scenario_asks_last_is_known_through_forks() -> None:
    a, b = Grammar("regex.bytes", "a"), Grammar("regex.bytes", "b")
    steps = (("open", 0, 0), ("open", 1, 1), ("fork", 1, 2), ("mask", 0), ("mask", 2))
    scenario = Scenario((ALL_BYTES,), (a, b), steps)
    assert scenario.asked() == b
    assert scenario.with_steps(steps[:4]).asked() == a
    assert scenario.with_steps([]).asked() is None


def test_an_object_keeps_its_properties_while_it_gets_smaller() -> None:
    """Without them most engines let an object hold anything: a fault would be made small into that one."""
    pending, seen = ['{"type":"object","properties":{"a":{"type":"null"}},"required":["a"]}'], set[str]()
    while pending:
        source = pending.pop()
        if source not in seen:
            seen.add(source)
            pending += reductions("json_schema", source)
    assert '{"type":"object","properties":{}}' in seen
    assert not [source for source in seen if '"object"' in source and "properties" not in source]
