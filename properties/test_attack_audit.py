"""What a review of the audit found: runs that go on, questions that are the same in every child, broken files."""

import json
import sys
from collections import Counter
from pathlib import Path

import pytest
from typer.testing import CliRunner

from engine.audit.baseline import read_baseline
from engine.audit.free import fault_of
from engine.audit.instances import exact_value
from engine.audit.plan import AWKWARD, Settings, cases
from engine.audit.scenario import read
from engine.audit.vocabularies import byte_only, twins
from engine.errors import BadInput
from engine.host import Port
from maskproof.__main__ import app, load_commands
from properties.audit_ports import changed_all, fault, pure_source, records

if not app.registered_commands:
    load_commands()

WRONG = (
    (
        "                there = step(here, byte)",
        "                there = step(here, byte) if byte != 0x73 else DEAD",
    ),
    (
        "        if self.automaton.accepts(state):\n            for token",
        "        if state != DONE:\n            for token",
    ),
)
ECHO = """
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    fields = {"name": str(asked["id"]), "version": "1", "protocol": 1, "kinds": ["regex.bytes"], "features": []}
    print(json.dumps({"id": asked["id"], "ok": True, **fields}), flush=True)
"""


def rows(path: Path) -> list[dict[str, str]]:
    return [row for line in path.read_bytes().splitlines() if "check" in (row := json.loads(line))]


def told(path: Path) -> Counter[tuple[str, str, str, str]]:
    """The records of a run, but for what each part of it says of its own cost."""
    names = ("case", "check", "verdict", "kind")
    return Counter(
        tuple(row.get(name, "") for name in names)  # type: ignore[misc]
        for row in rows(path)
        if row["check"] != "effort"
    )


def test_a_check_that_was_killed_between_two_findings_is_asked_again_and_nothing_is_told_twice(
    tmp_path: Path,
) -> None:
    command = ("--", *changed_all(tmp_path, *WRONG))
    options = ("audit", "--vocab", "toy", "--language", "hand-words", "--results", str(tmp_path / "out"))
    CliRunner().invoke(app, [*options, *command])
    (path,) = (tmp_path / "out").glob("*/records.jsonl")
    whole, lines = told(path), path.read_bytes().splitlines(keepends=True)
    places = [
        number
        for number, row in enumerate(rows(path))
        if (row["case"], row["check"]) == ("hand-words@toy", "masks")
    ]
    assert len(places) > 1
    for kept in (places[0], places[-1], 0):
        path.write_bytes(b"".join(lines[: kept + 2]))
        CliRunner().invoke(app, [*options, "--resume", *command])
        assert told(path) == whole


def test_every_child_of_a_port_is_asked_under_the_same_numbers() -> None:
    port = Port([sys.executable, "-c", ECHO])
    with port:
        port.request("mask", session=1)
        port.request("mask", session=1)
        port.restart()
        assert port.hello.name == "1"


def test_a_vocabulary_has_twins_of_the_same_size_and_of_the_same_tokens() -> None:
    vocabulary = byte_only()
    turned, ended = twins(vocabulary)
    assert turned.tokens == (None, *reversed(vocabulary.tokens[:256])) and turned.eos == {0}
    assert ended.tokens == vocabulary.tokens and ended.eos == {255}


@pytest.mark.parametrize("reader", [read_baseline, read])
def test_a_file_that_is_nested_too_deeply_is_bad_input(reader: object, tmp_path: Path) -> None:
    path = tmp_path / "deep.json"
    path.write_text("[" * 100_000, encoding="utf-8")
    with pytest.raises(BadInput, match=r"deep\.json"):
        reader(path)  # type: ignore[operator]


SMALLEST = {
    "format": 1,
    "vocabularies": [{"size": 2, "eos": [1], "tokens": {"0": "a"}}],
    "grammars": [{"kind": "regex.bytes", "source": "a"}],
    "steps": [["open", 0, 0], ["mask", 0]],
}


@pytest.mark.parametrize(
    "changed",
    [
        {"vocabularies": []},
        {"vocabularies": [{"size": 10**12, "eos": [], "tokens": {}}]},
        {"grammars": []},
        {"steps": [["open", 0, 5]]},
        {"steps": [["open", 0, -1]]},
        {"steps": [["vocab", 1]]},
        {"grammars": [{"kind": "regex.bytes", "source": "\ud800"}]},
        {"text": "a", "grammars": [], "steps": []},
        {"text": "a", "hex": "zz"},
        {"text": "\ud800"},
    ],
)
def test_a_broken_reproduction_file_is_bad_input(changed: dict[str, object], tmp_path: Path) -> None:
    path = tmp_path / "broken.json"
    path.write_text(json.dumps({**SMALLEST, **changed}), encoding="utf-8")
    told = CliRunner().invoke(app, ["audit", "pure", "--replay", str(path), "--results", str(tmp_path)])
    assert isinstance(told.exception, BadInput) and "broken.json" in str(told.exception)


@pytest.mark.parametrize("at", ["        self.take_vocabulary(", '        key = (request["kind"]'])
def test_a_port_that_dies_before_the_text_of_a_file_is_a_finding(at: str, tmp_path: Path) -> None:
    lines = [line for line in pure_source().splitlines() if line.startswith(at)]
    old = next(line for line in lines if "Trie([], [])" not in line)
    path = tmp_path / "text.json"
    path.write_text(json.dumps({**SMALLEST, "text": "a", "kind": "unsound"}), encoding="utf-8")
    command = changed_all(tmp_path, (old, "        sys.exit(9)"))
    options = ("--replay", str(path), "--results", str(tmp_path / "out"), "--json")
    told = CliRunner().invoke(app, ["audit", *options, "--", *command])
    assert [record["kind"] for record in json.loads(told.stdout)["records"]] == ["crash"]


@pytest.mark.parametrize(
    ("schema", "text", "keyword"),
    [
        ('{"type":"number"}', "1e9999999999999999999", ""),
        ('{"type":"number","maximum":5}', "1E+9999999999999999999", "maximum"),
        ('{"type":"number","exclusiveMinimum":0}', "1e-9999999999999999999", ""),
        ('{"type":"number","exclusiveMinimum":0}', "-1e-9999999999999999999", "exclusiveMinimum"),
        ('{"type":"number","multipleOf":0.01}', "1.5e300", ""),
        ('{"type":"number","multipleOf":3}', "12345678901234567890123456789012345678.5", "multipleOf"),
        ('{"type":"number","multipleOf":2}', "1e5000", ""),
    ],
)
def test_numbers_that_a_walk_may_come_to_are_judged_however_wide_they_are(
    schema: str, text: str, keyword: str
) -> None:
    assert fault_of(text.encode(), exact_value(schema))[1] == keyword


FEATURES = 'FEATURES = ["fork", "rollback", "dfa", "pattern", "dumps", "forced", "budget"]'


def test_an_escape_that_leads_back_to_a_state_reached_otherwise_is_written_too(tmp_path: Path) -> None:
    """No surface shows the automaton here, and one path to each state does not go by half of a surrogate pair."""
    planted = fault("surrogate-escapes-lost")
    command = changed_all(tmp_path, (planted.old, planted.new), (FEATURES, "FEATURES: list[str] = []"))
    asked = Settings(vocabularies=("bytes",), languages=("city",), walks=0, programs=0)
    found = [record for record in records(command, tmp_path, asked) if record.verdict == "refuted"]
    assert {(record.check, record.kind) for record in found} == {
        ("phrases", "incomplete"),
        ("phrases", "advance_disagrees"),
    }


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["xgramar"], "no port is called 'xgramar'; there are "),
        (
            ["pure", "--vocab", "toy", "--eos", "3"],
            "--eos 3: it is for vocabularies from files; toy say their own",
        ),
    ],
)
def test_what_would_be_passed_over_in_silence_is_one_line(
    arguments: list[str], told: str, tmp_path: Path
) -> None:
    load_commands()
    done = CliRunner().invoke(app, ["audit", *arguments, "--results", str(tmp_path)])
    assert isinstance(done.exception, BadInput) and told in str(done.exception)


@pytest.mark.parametrize("vocabulary", ["partial", "wide", "duplicates"])
def test_a_port_of_characters_is_asked_every_awkward_language(vocabulary: str) -> None:
    asked = cases(Settings(vocabularies=(vocabulary,)), ["regex.unicode", "json_schema"])
    names = {case.id.partition("@")[0].removesuffix("/unicode") for case in asked}
    assert names == set(AWKWARD)
