"""Terminal output: colours and bars for a screen only, summaries that fit it, nothing an engine printed acts on it."""

import io
import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from engine.results import Record, Verdict
from maskproof import terminal

ESCAPE = "\x1b"
PRINTS = """
import sys
from engine.results import Record
from maskproof.terminal import fail, print_json, print_summary, progress_bar
record = Record(command="audit", subject="e", case="c", check="k", verdict="refuted", kind="unsound", message="m")
with progress_bar("audit") as tick:
    tick(1, 2, "case")
print_json("audit", 1, {"refuted": 1}, [record]) if sys.argv[1] == "json" else print_summary([record])
fail("a message")
"""


def printed(kind: str, **environment: str) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "FORCE_COLOR")}
    command = [sys.executable, "-c", PRINTS, kind]
    return subprocess.run(command, capture_output=True, text=True, check=True, env=kept | environment)


def screen(
    monkeypatch: pytest.MonkeyPatch, width: int = 80, height: int = 24, **options: bool
) -> io.StringIO:
    shown = io.StringIO()
    console = Console(file=shown, force_terminal=True, width=width, height=height, highlight=False, **options)
    monkeypatch.setattr(terminal, "out", console)
    return shown


def records(count: int, subjects: int = 3, verdict: Verdict = "refuted") -> list[Record]:
    return [
        Record(
            command="audit",
            subject=f"engine-{at % subjects}",
            case=f"c{at}",
            check="k",
            verdict=verdict,
            message="m" * 200,
        )
        for at in range(count)
    ]


def test_a_pipe_gets_plain_text_and_no_bar() -> None:
    answer = printed("text")
    assert ESCAPE not in answer.stdout + answer.stderr
    assert answer.stderr == "maskproof: a message\n"


def test_machine_output_is_one_document_whatever_the_colours() -> None:
    for environment in ({}, {"FORCE_COLOR": "1"}, {"NO_COLOR": "1"}):
        answer = printed("json", **environment)
        document = json.loads(answer.stdout)
        assert (document["format"], document["command"], document["exit"]) == (1, "audit", 1)
        assert document["records"][0]["kind"] == "unsound"


def test_no_color_switches_colours_off_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    coloured = screen(monkeypatch)
    terminal.print_summary(records(3))
    assert re.search(r"\x1b\[[0-9;]*3[1-7]m", coloured.getvalue())
    monkeypatch.setenv("NO_COLOR", "1")
    plain = screen(monkeypatch)
    terminal.print_summary(records(3))
    assert not re.search(r"\x1b\[[0-9;]*3[1-7]m", plain.getvalue())


@pytest.mark.parametrize(("count", "subjects"), [(0, 1), (5, 2), (500, 3), (500, 200)])
def test_a_summary_fits_the_screen(monkeypatch: pytest.MonkeyPatch, count: int, subjects: int) -> None:
    shown = screen(monkeypatch, width=90, height=30)
    terminal.print_summary(records(count, subjects), results=Path("reports/out/x"))
    lines = re.sub(r"\x1b\[[0-9;]*m", "", shown.getvalue()).splitlines()
    assert len(lines) <= 28
    assert all(len(line) <= 90 for line in lines)
    if count == 500:
        assert any("more" in line for line in lines)


def test_the_summary_counts_every_record(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = screen(monkeypatch, no_color=True)
    terminal.print_summary([*records(4, 1), *records(7, 1, "proven")])
    assert re.search(r"k +7 +4", re.sub(r"\x1b\[[0-9;]*m", "", shown.getvalue()))


@given(st.text(max_size=30))
def test_shown_text_holds_no_control_character(text: str) -> None:
    shown = terminal.shown(text)
    assert not any(ord(char) < 32 or 127 <= ord(char) < 160 for char in shown)
    assert not set(shown) & set("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
    shown.encode("utf-8")  # no lone surrogate is left


def test_what_an_engine_printed_does_not_reach_the_terminal_as_codes(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = screen(monkeypatch, no_color=True)
    record = Record(
        command="a",
        subject="[red]x",
        case="c\x1b[2J",
        check="k",
        verdict="refuted",
        message="\x1b]0;t\x07 [/]",
    )
    terminal.print_summary([record])
    assert "\x1b[2J" not in shown.getvalue() and "\x1b]0" not in shown.getvalue()
    assert "\\x1b[2J" in shown.getvalue() and "[red]x" in shown.getvalue()


def test_a_failure_is_one_line_however_odd_the_message(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = io.StringIO()
    monkeypatch.setattr(terminal, "err", Console(file=shown, width=40, highlight=False))
    terminal.fail("[bold]two\nlines " + "x" * 100)
    assert shown.getvalue() == "maskproof: [bold]two\\nlines " + "x" * 100 + "\n"


def test_progress_shows_rate_and_time_left(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = io.StringIO()
    monkeypatch.setattr(terminal, "err", Console(file=shown, force_terminal=True, width=120, height=24))
    with terminal.progress_bar("audit") as tick:
        for done in range(1, 9):
            tick(done, 16, f"case [red]{done}\x1b[2J")
            time.sleep(0.05)
    text = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", shown.getvalue())
    assert re.search(r"\d+/16", text)
    assert re.search(r"\d+\.\d/s", text)
    assert re.search(r"\d+:\d\d", text)
    assert "case [red]" in text and "\\x1b" in text


def test_progress_is_silent_when_switched_off(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = io.StringIO()
    monkeypatch.setattr(terminal, "err", Console(file=shown, force_terminal=True, width=120))
    with terminal.progress_bar("audit", enabled=False) as tick:
        tick(1, 2, "x")
    assert shown.getvalue() == ""
