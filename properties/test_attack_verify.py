"""Attacks on verification: a wrong reference is never bad input, never `proven`, and hides no other verdict."""

import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from engine import verify
from engine.obligations import OBLIGATIONS
from engine.results import Record
from engine.subject import Settings
from engine.suite import Language, pattern_language, schema_language, select
from engine.verify import Job, summary, verify_language
from maskproof.__main__ import app, load_commands
from oracles import certificates
from reference.compile import regex_to_dfa
from reference.dfa import Dfa
from reference.masks import TokenIndex

ROOT = Path(__file__).parent.parent
QUICK = Settings(z3_timeout_ms=5_000, samples=5, seed=1)
WORDS = pattern_language("words", "(cat|car|dog)s?")


def refuted(language: Language = WORDS) -> set[str]:
    """The checks that a verification of the language refutes."""
    records = verify_language(Job(language, "toy", QUICK))
    return {record.check for record in records if record.verdict == "refuted"}


def compiled_then(monkeypatch: pytest.MonkeyPatch, change: Callable[[Dfa], Dfa]) -> None:
    """Let the reference under proof compile, then change its automaton."""
    monkeypatch.setattr("engine.subject.regex_to_dfa", lambda *arguments: change(regex_to_dfa(*arguments)))


def without_its_last_state(dfa: Dfa) -> Dfa:
    """Two states merged that are not equivalent."""
    last = dfa.n_states - 1
    trans = dfa.trans[:-1].copy()
    trans[trans == last] = last - 1
    return Dfa(dfa.accept[:-1].copy(), trans)


def test_a_reference_with_too_few_states_is_refuted_and_not_bad_input(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    compiled_then(monkeypatch, without_its_last_state)
    assert {"parse-agrees", "equivalent (certificate)", "equivalent (z3)", "masks-exact"} <= refuted()


def test_a_reference_that_raises_is_refuted_by_every_obligation(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_: Dfa) -> Dfa:
        raise RuntimeError("broken")

    compiled_then(monkeypatch, broken)
    assert refuted() == {"answers"} | {each.name for each in OBLIGATIONS if "pattern" in each.kinds}


def test_masks_that_are_refused_are_refuted_and_hide_no_other_verdict(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(TokenIndex, "bitmask", lambda self, state: self.check_state(-1))
    records = list(verify_language(Job(WORDS, "toy", QUICK)))
    found = {record.check: record.verdict for record in records}
    assert found["masks-exact"] == found["bitmask = mask"] == found["answers"] == "refuted"
    assert found["equivalent (certificate)"] == found["canonical"] == "proven"
    told = summary(records)
    assert (told["languages"], told["refuted"]) == (1, 3)


@pytest.mark.parametrize(
    "change",
    [lambda row: np.append(row, np.uint32(0)), lambda row: row.astype(np.int64), lambda row: row[:-1]],
    ids=["a word too many", "another type", "a word too few"],
)
def test_packed_rows_of_another_shape_are_refuted(
    change: Callable[[Any], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    right, unpacked = TokenIndex.bitmask, TokenIndex.mask
    indexes: dict[int, TokenIndex] = {}

    def mask(self: TokenIndex, state: int) -> Any:
        with monkeypatch.context() as patch:
            patch.setattr(TokenIndex, "bitmask", right)
            return unpacked(indexes.setdefault(id(self), TokenIndex(self.automaton, self.vocabulary)), state)

    monkeypatch.setattr(TokenIndex, "mask", mask)
    monkeypatch.setattr(TokenIndex, "bitmask", lambda self, state: change(right(self, state)))
    assert "bitmask = mask" in refuted()


def test_a_wrong_table_of_all_states_is_refuted(monkeypatch: pytest.MonkeyPatch) -> None:
    right = TokenIndex.bitmask_table
    monkeypatch.setattr(TokenIndex, "bitmask_table", lambda self: right(self) ^ np.uint32(1))
    assert refuted() == {"bitmask = mask"}


@pytest.mark.parametrize(("pattern", "dialect"), [("(?:cat|car|dog)s?", "bytes"), (WORDS.pattern, "unicode")])
def test_a_good_certificate_of_another_claim_proves_nothing(
    pattern: str, dialect: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = certificates.make_certificate
    monkeypatch.setattr(
        certificates, "make_certificate", lambda _p, _d, *table: right(pattern, dialect, *table)
    )
    assert refuted() == {"equivalent (certificate)"}


def test_a_worker_that_dies_is_told_and_is_no_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verify, "_collected", _killed)
    records: list[Record] = []
    chosen = [WORDS, pattern_language("other", "a")]
    verify.verify(chosen, "toy", QUICK, workers=2, on_records=lambda _, found: records.extend(found))
    assert {(record.case, record.verdict, record.kind) for record in records} == {
        ("words", "refuted", "crash"),
        ("other", "refuted", "crash"),
    }
    assert summary(records)["refuted"] == 2


def _killed(job: Job) -> list[Record]:
    """A worker that the operating system kills."""
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError(job)


def test_there_are_never_more_workers_than_languages(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def pool(workers: int, **_: Any) -> Any:
        asked.append(workers)
        raise InterruptedError

    monkeypatch.setattr("engine.verify.ProcessPoolExecutor", pool)
    with pytest.raises(InterruptedError):
        verify.verify([WORDS, WORDS], "toy", QUICK, workers=10_000, on_records=lambda *_: None)
    assert asked == [2]


def test_a_language_named_twice_is_verified_once() -> None:
    assert [language.id for language in select(["city", "number", "city"])] == ["city", "number"]


@pytest.mark.parametrize(
    ("language", "asked"),
    [
        (select(["hand-words"])[0], "hand-words"),
        (pattern_language("pattern", "a'b|é", "unicode"), "--pattern 'a'\"'\"'b|é' --dialect unicode"),
        (schema_language("mine", {"const": "it's"}), '--schema <(printf %s \'{"const":"it\'"\'"\'s"}\')'),
    ],
)
def test_a_refutation_is_shown_again_by_one_command(
    language: Language, asked: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiled_then(monkeypatch, without_its_last_state)
    records = verify_language(Job(language, "toy", QUICK))
    commands = {record.reproduce for record in records if record.verdict == "refuted"}
    assert commands == {f"maskproof verify {asked} --vocab toy"}


def test_the_command_that_shows_a_schema_again_runs(tmp_path: Path) -> None:
    job = Job(schema_language("mine", {"const": "it's"}), "toy", QUICK)
    line = verify._reproduce(job).replace("maskproof", f"{shlex.quote(sys.executable)} -m maskproof", 1)
    done = subprocess.run(
        ["bash", "-c", f"{line} --results {shlex.quote(str(tmp_path))}"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "1 languages" in done.stdout, done.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ["--seed", "-1"],
        ["--z3-timeout", "nan"],
        ["--z3-timeout", "inf"],
        ["--z3-timeout", "1e300"],
        ["--workers", "0"],
        ["--samples", "0"],
    ],
    ids=" ".join,
)
def test_numbers_out_of_range_are_bad_input(arguments: list[str], tmp_path: Path) -> None:
    load_commands()
    asked = ["verify", "--pattern", "a", "--vocab", "toy", "--results", str(tmp_path), *arguments]
    done = CliRunner().invoke(app, asked)
    assert (done.exit_code, type(done.exception)) == (2, SystemExit)
    assert not list(tmp_path.iterdir())


_LONG_QUESTIONS = """
from engine.subject import Settings, Subject
from engine.suite import select
from engine.obligations import equivalent_by_z3
from reference.vocabulary import load_vocabulary
subject = Subject(select(["json-object"])[0], load_vocabulary("toy"), Settings())
subject.claim
print("asking", flush=True)
print(equivalent_by_z3(subject).verdict)
"""


def test_an_interrupt_during_a_question_to_z3_is_no_answer() -> None:
    asking = subprocess.Popen(
        [sys.executable, "-c", _LONG_QUESTIONS],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert asking.stdout is not None
    assert asking.stdout.readline() == "asking\n"
    time.sleep(1.5)
    asking.send_signal(signal.SIGINT)
    told, trace = asking.communicate(timeout=60)
    assert (told, trace.strip().splitlines()[-1]) == ("", "KeyboardInterrupt")
