"""The command line's edges: places that cannot be written, words that are not text, readers that go away, Ctrl-C."""

import json
import os
import pkgutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from maskproof import commands
from maskproof.__main__ import main

ROOT = Path(__file__).parent.parent
FULL = Path("/dev/full")
HERE = [sys.executable, "-m", "maskproof"]
PURE = ["audit", "pure", "--vocab", "toy", "--language", "hand-words"]
CALLS = ROOT / "fixtures" / "calls"
CALL = [
    "call",
    "--functions-definition",
    str(CALLS / "functions_definition.json"),
    "--input",
    str(CALLS / "function_calling_tests.json"),
]
REPLAY = ["--", sys.executable, str(ROOT / "engine" / "ports" / "pure_port.py")]
NAMES = [module.name for module in pkgutil.iter_modules(commands.__path__)]


def ended(monkeypatch: pytest.MonkeyPatch, *words: str) -> object:
    """How the command line ends, called as the installed script calls it."""
    monkeypatch.setattr(sys, "argv", ["maskproof", *words])
    with pytest.raises(SystemExit) as ending:
        main()
    return ending.value.code


def one_line(text: str) -> str:
    """What was told on standard error, which must be one line."""
    assert text.startswith("maskproof: ") and text.count("\n") == 1, text
    return text


@pytest.mark.parametrize(
    "words",
    [
        ["verify", "hand-words", "--vocab", "toy"],
        PURE,
        ["golden", "check"],
        ["mutants", "s06"],
        ["walk", "--vocab", "toy", "--walks", "1"],
        ["bench", "--engine", "reference", "--vocab", "toy"],
    ],
    ids=lambda words: words[0],
)
@pytest.mark.parametrize("below", ["file/run", "n" * 300], ids=["below a file", "too long a name"])
def test_a_results_folder_that_cannot_be_made_is_one_line_of_bad_input(
    words: list[str],
    below: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "file").touch()
    assert ended(monkeypatch, *words, "--results", str(tmp_path / below)) == 2
    told = one_line(capsys.readouterr().err)
    assert told.startswith(f"maskproof: results folder {tmp_path / below}: ")
    assert "name one that can be written, with --results or in MASKPROOF_RESULTS" in told


def test_a_port_is_not_replayed_for_a_results_folder_that_cannot_be_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    assert ended(monkeypatch, "golden", "replay", "--results", str(tmp_path / "file" / "x"), *REPLAY) == 2
    one_line(capsys.readouterr().err)


@pytest.mark.parametrize(
    "words",
    [
        ["explain", "ab", "--svg"],
        ["explain", "ab", "--png"],
        ["explain", "ab", "--html"],
        ["report", "RESULTS", "-o"],
        ["report", "RESULTS", "--picture"],
        [*PURE, "--junit"],
        [*PURE, "--accept", "--baseline"],
        ["conform", "http://127.0.0.1:9/v1", "--junit"],
        [*CALL, "--output"],
    ],
    ids=lambda words: f"{words[0]} {words[-1]}",
)
def test_a_file_that_cannot_be_written_is_one_line_of_bad_input(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Told before an audit or a job begins: nothing is recorded that would then have no exit code of its own."""
    (tmp_path / "file").touch()
    monkeypatch.setenv("MASKPROOF_RESULTS", str(tmp_path / "results"))
    if "RESULTS" in words:
        assert ended(monkeypatch, "verify", "hand-words", "--vocab", "toy") == 0
        capsys.readouterr()
    asked = [str(tmp_path / "results") if word == "RESULTS" else word for word in words]
    target = tmp_path / "file" / ("x.png" if words[-1] in ("--png", "--picture") else "x.svg")
    assert ended(monkeypatch, *asked, str(target)) == 2
    told = one_line(capsys.readouterr().err)
    assert str(tmp_path / "file") in told and ("written" in told or "read and write" in told)
    assert (tmp_path / "results").exists() == ("RESULTS" in words)


@pytest.mark.parametrize("name", NAMES)
def test_a_word_that_is_no_text_is_one_line_of_bad_input(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ended(monkeypatch, name, os.fsdecode(b"caf\xe9")) == 2
    told = one_line(capsys.readouterr().err)
    assert told.startswith(r"maskproof: argument 2, b'caf\xe9': not UTF-8; rename the file")


def run(*words: str, **options: object) -> subprocess.CompletedProcess[str]:
    """The command line in a process of its own."""
    return subprocess.run([*HERE, *words], cwd=ROOT, check=False, text=True, **options)  # type: ignore[call-overload, no-any-return]


@pytest.mark.parametrize("shape", [[], ["--json"]], ids=["text", "json"])
def test_a_reader_that_goes_away_changes_no_exit_code_and_leaves_no_trace(shape: list[str]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = run("explain", "a{900}", *shape, stdout=writing, stderr=subprocess.PIPE)
    finally:
        os.close(writing)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.skipif(not FULL.exists(), reason="needs /dev/full")
@pytest.mark.parametrize("shape", [[], ["--json"]], ids=["text", "json"])
def test_output_that_finds_no_room_is_one_line_of_bad_input(shape: list[str]) -> None:
    with FULL.open("w") as full:
        done = run("explain", "a{9}", *shape, stdout=full, stderr=subprocess.PIPE)
    assert done.returncode == 2
    assert "No space left on device" in one_line(done.stderr)


def test_an_output_without_unicode_still_gets_all_of_it() -> None:
    environment = os.environ | {"PYTHONIOENCODING": "ascii"}
    machine = run("explain", "€|𝄞|ÿ", "--json", stdout=subprocess.PIPE, env=environment)
    assert json.loads(machine.stdout)["summary"]["pattern"] == "€|𝄞|ÿ"
    person = run("explain", "€", stdout=subprocess.PIPE, env=environment)
    assert (person.returncode, r"\u20ac" in person.stdout) == (0, True)


@pytest.mark.parametrize(
    "words",
    [
        ["verify", "--vocab", "toy", "--workers", "2"],
        ["verify", "--vocab", "toy", "--workers", "1"],
        ["audit", "pure", "--vocab", "toy"],
        ["mutants"],
        ["golden", "check"],
    ],
    ids=["verify, two workers", "verify", "audit", "mutants", "golden check"],
)
def test_ctrl_c_says_that_what_was_done_is_kept(words: list[str], tmp_path: Path) -> None:
    """The signal goes to the command alone: its children must not keep it, nor be left behind."""
    environment = os.environ | {"MASKPROOF_RESULTS": str(tmp_path)}
    with subprocess.Popen(
        [*HERE, *words],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as child:
        deadline = time.monotonic() + 60
        while not list(tmp_path.glob("*/records.jsonl")) and time.monotonic() < deadline:
            time.sleep(0.05)
        time.sleep(0.5)
        child.send_signal(signal.SIGINT)
        told = child.communicate(timeout=60)[1]
    assert (child.returncode, told) == (130, "maskproof: interrupted; what was done is kept\n")
    [records] = tmp_path.glob("*/records.jsonl")
    last = json.loads(records.read_text(encoding="utf-8").splitlines()[-1])
    assert last["footer"]["outcome"] == "interrupted"
