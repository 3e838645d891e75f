"""Verification: what holds is proven, what is broken is refuted with a witness, bad input is one line."""

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from engine.obligations import OBLIGATIONS, Outcome
from engine.results import Record
from engine.subject import Settings, Subject
from engine.suite import languages, pattern_language, select
from engine.verify import Job, summary, verify_language
from maskproof.__main__ import app, load_commands
from oracles.errors import OracleError
from reference.compile import regex_to_dfa
from reference.dfa import Dfa
from reference.errors import MaskError
from reference.masks import TokenIndex
from reference.vocabulary import load_vocabulary

ROOT = Path(__file__).parent.parent
QUICK = Settings(z3_timeout_ms=5_000, samples=20, seed=1)


def command(*arguments: str, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    """The command line, run as a person would."""
    run = [sys.executable, "-m", "maskproof", *arguments]
    return subprocess.run(run, cwd=cwd, capture_output=True, text=True, check=False, timeout=120)


def verdicts(subject: Subject) -> dict[str, str]:
    """The verdict of every obligation."""
    return {
        obligation.name: obligation.judge(subject).verdict
        for obligation in OBLIGATIONS
        if "pattern" in obligation.kinds
    }


def test_the_suite_has_thirteen_languages_of_json_values_and_eight_patterns() -> None:
    kinds = [language.kind for language in languages()]
    assert (len(kinds), kinds.count("pattern")) == (21, 8)
    assert len({language.id for language in languages()}) == 21
    assert all(language.why for language in languages())


@pytest.mark.parametrize("name", ["hand-words", "hand-mask", "optional-pair", "all-bytes", "unicode-ranges"])
def test_a_small_language_holds_in_every_obligation(name: str) -> None:
    records = list(verify_language(Job(select([name])[0], "toy", QUICK)))
    judged = {record.check: record.verdict for record in records if record.check != "automaton"}
    allowed = {"instances": "tested"}
    stuck = {name: "refuted" for name in ["never stuck"] if judged[name] == "refuted"}
    assert judged == {check: allowed.get(check, "proven") for check in judged} | stuck


def test_a_wrong_accepting_state_is_refuted_by_every_judge_of_the_automaton() -> None:
    subject = Subject(pattern_language("words", "(cat|car|dog)s?"), load_vocabulary("toy"), QUICK)
    right = subject.dfa
    subject.dfa = Dfa(np.append(right.accept[:-1], False), right.trans)
    found = verdicts(subject)
    for name in ("parse-agrees", "equivalent (certificate)", "equivalent (z3)", "canonical", "trimmed"):
        assert found[name] == "refuted", name


def test_states_in_another_order_are_equivalent_and_not_canonical() -> None:
    subject = Subject(pattern_language("pair", "ab|cd"), load_vocabulary("toy"), QUICK)
    right = subject.dfa
    order = np.array([0, 2, 1, *range(3, right.n_states)])
    rename = np.append(np.argsort(order), -1)
    subject.dfa = Dfa(right.accept[order], rename[right.trans[order]].astype(np.int32))
    found = verdicts(subject)
    assert (found["parse-agrees"], found["minimal"]) == ("proven", "proven")
    assert found["canonical"] == "refuted"


def test_one_wrong_bit_of_one_mask_is_refuted_with_its_path_and_token() -> None:
    subject = Subject(pattern_language("words", "(cat|car|dog)s?"), load_vocabulary("toy"), QUICK)
    row = subject.index.mask(3).copy()
    row[0] = not row[0]
    index = TokenIndex(subject.dfa, subject.vocabulary)
    index.mask = lambda state: row if state == 3 else subject.__class__.index.func(subject).mask(state)  # type: ignore[method-assign, attr-defined]
    subject.index = index
    found = {
        obligation.name: obligation.judge(subject)
        for obligation in OBLIGATIONS
        if obligation.name == "masks-exact"
    }
    outcome = found["masks-exact"]
    assert (outcome.verdict, outcome.kind) == ("refuted", "unsound")
    assert outcome.witness == {"hex": b"ca".hex(), "token": {"id": 0, "hex": "20"}}


def judged(name: str, subject: Subject) -> Outcome:
    """The outcome of one obligation."""
    return next(each for each in OBLIGATIONS if each.name == name).judge(subject)


def with_next_state(change: Callable[[int, int, int], int]) -> Subject:
    """A subject whose index answers `next_state` as `change(state, token, right)` says; DEAD is right for a refusal."""
    subject = Subject(pattern_language("words", "(cat|car|dog)s?"), load_vocabulary("toy"), QUICK)
    right = TokenIndex(subject.dfa, subject.vocabulary)

    def next_state(state: int, token: int) -> int:
        try:
            return change(state, token, right.next_state(state, token))
        except MaskError:
            return change(state, token, -1)

    subject.index.next_state = next_state  # type: ignore[method-assign]
    return subject


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda state, token, right: 2 if right == 1 else right, "leads to state 2, where state 1 is right"),
        (
            lambda state, token, right: 0 if right == -1 else right,
            "leads to state 0, where a refusal is right",
        ),
        (
            lambda state, token, right: -1 if right == 6 else right,
            "leads to a refusal, where state 6 is right",
        ),
    ],
    ids=["another state", "a forbidden token", "an allowed one"],
)
@pytest.mark.parametrize("every", [20_000, 0], ids=["every pair", "a sample"])
def test_a_wrong_next_state_is_refuted_with_its_path_and_token(
    change: Callable[[int, int, int], int], told: str, every: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engine.obligations.EVERY_PAIR", every)
    outcome = judged("next-state", with_next_state(change))
    assert (outcome.verdict, outcome.kind) == ("refuted", "advance_disagrees")
    assert outcome.message.endswith(told)
    assert set(outcome.witness) == {"hex", "token"}


def test_next_states_that_were_sampled_are_never_called_proven(monkeypatch: pytest.MonkeyPatch) -> None:
    right = with_next_state(lambda state, token, due: due)
    assert judged("next-state", right).verdict == "proven"
    assert judged("next-state", right).domain == {"states": 7, "tokens": 123, "pairs": 861}
    monkeypatch.setattr("engine.obligations.EVERY_PAIR", 860)
    sampled = judged("next-state", right)
    assert (sampled.verdict, sampled.domain["seed"]) == ("tested", str(QUICK.seed))
    assert QUICK.samples * 4 <= sampled.domain["pairs"] <= QUICK.samples * 5


def test_one_wrong_bit_of_the_bool_table_is_refuted(monkeypatch: pytest.MonkeyPatch) -> None:
    subject = Subject(pattern_language("words", "(cat|car|dog)s?"), load_vocabulary("toy"), QUICK)
    assert judged("bitmask = mask", subject).domain["table"] == 7
    right = TokenIndex.table

    def wrong(index: TokenIndex) -> object:
        rows = right(index)
        rows[4, 122] ^= True
        return rows

    monkeypatch.setattr(TokenIndex, "table", wrong)
    outcome = judged("bitmask = mask", subject)
    assert (outcome.verdict, outcome.message) == (
        "refuted",
        "state 4: the bool table's row and the state's mask differ",
    )


def test_a_table_of_bools_that_would_be_too_large_is_not_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.obligations.MOST_BOOLS", 860)
    subject = Subject(pattern_language("words", "(cat|car|dog)s?"), load_vocabulary("toy"), QUICK)
    assert judged("bitmask = mask", subject).domain["table"] == 0


def exit_code(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, undecided: set[str]
) -> tuple[int, dict[str, Any]]:
    """How `verify` of a schema ends, with its summary, when these obligations' oracles decline."""

    def declines(subject: Subject) -> Outcome:
        raise OracleError("too much")

    changed = [replace(each, judge=declines) if each.name in undecided else each for each in OBLIGATIONS]
    monkeypatch.setattr("engine.verify.OBLIGATIONS", changed)
    load_commands()
    asked = ["verify", "optional-pair", "--vocab", "toy", "--json", "--results", str(tmp_path)]
    done = CliRunner().invoke(app, asked)
    return done.exit_code, json.loads(done.stdout)["summary"]


@pytest.mark.parametrize("check", ["equivalent (z3)", "equivalent (certificate)", "parse-agrees"])
def test_an_undecided_way_to_a_claim_that_another_way_proved_is_no_failure(
    check: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    code, told = exit_code(monkeypatch, tmp_path, {check})
    assert (code, told["undecided"], told["left_open"]) == (0, 1, [])


@pytest.mark.parametrize(
    "undecided",
    [{"schema-exact (z3)"}, {"masks-exact"}, {"parse-agrees", "equivalent (certificate)", "equivalent (z3)"}],
    ids=["schema", "masks", "all ways to one claim"],
)
def test_a_claim_that_nothing_proved_is_not_told_as_holding(
    undecided: set[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    code, told = exit_code(monkeypatch, tmp_path, undecided)
    assert (code, told["refuted"]) == (1, 0)
    assert set(told["left_open"]) == {f"optional-pair · {check}" for check in undecided}


def test_the_summary_counts_what_was_covered() -> None:
    records = list(verify_language(Job(pattern_language("words", "(cat|car|dog)s?"), "toy", QUICK)))
    told = summary(records)
    assert told["states"] == 7
    assert "7 states × 123 tokens = 861 bits" in told["line"]
    assert all(isinstance(record, Record) for record in records)


def test_verify_prints_a_table_and_exits_0(tmp_path: Path) -> None:
    done = command("verify", "hand-mask", "--vocab", "toy", "--results", str(tmp_path))
    assert (done.returncode, done.stderr) == (0, "")
    assert "1 languages" in done.stdout
    assert "proven" in done.stdout


def test_verify_json_is_one_document_with_the_records(tmp_path: Path) -> None:
    done = command("verify", "--pattern", "a+", "--vocab", "toy", "--json", "--results", str(tmp_path))
    document = json.loads(done.stdout)
    assert (document["format"], document["command"], document["exit"]) == (1, "verify", done.returncode)
    assert {record["check"] for record in document["records"]} >= {"masks-exact", "canonical"}


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["verify", "--pattern", "a(", "--vocab", "toy"], "pattern, position 1"),
        (["verify", "--pattern", "[^\\x00-\\xff]", "--vocab", "toy"], "no string matches"),
        (["verify", "nosuch", "--vocab", "toy"], "'nosuch' is not in the suite"),
        (["verify", "city", "--vocab", "no/such/file.json"], "no/such/file.json"),
        (["verify", "--schema", "no/such/schema.json", "--vocab", "toy"], "no/such/schema.json"),
        (["verify", "city", "--pattern", "a", "--vocab", "toy"], "one of the three"),
        (["verify", "--pattern", "a", "--dialect", "perl", "--vocab", "toy"], "dialect 'perl'"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(arguments: list[str], told: str, tmp_path: Path) -> None:
    done = command(*arguments, "--results", str(tmp_path))
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1, done.stderr
    assert told in done.stderr


def test_a_schema_file_is_verified(tmp_path: Path) -> None:
    file = tmp_path / "mine.json"
    file.write_text('{"type":"array","items":{"type":"boolean"},"maxItems":1}', encoding="utf-8")
    done = command("verify", "--schema", str(file), "--vocab", "toy", "--results", str(tmp_path))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "mine" in done.stdout


def test_the_reference_and_the_judge_are_computed_from_the_pattern_alone() -> None:
    subject = Subject(pattern_language("words", "a|b"), load_vocabulary("toy"), QUICK)
    assert subject.judge_canonical == subject.claim
    assert np.array_equal(subject.dfa.trans, regex_to_dfa("a|b").trans)
