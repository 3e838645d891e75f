"""What commands print: progress and tables for a person, one JSON document for a machine.

Progress and failures go to standard error, results to standard output. Colours and bars are for a terminal:
a pipe gets plain text, NO_COLOR switches colours off, and `--json` output passes by all of it. What an engine
printed may hold anything, so `shown` spells its control characters out before a terminal can obey them.
"""

import io
import json
import os
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Protocol

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Column, Table
from rich.text import Text

from engine.errors import BadInput
from engine.results import Record, as_plain
from reports.errors import ReportError


class Screen(Console):
    """A console whose reader may go away: the command then goes on in silence, to its records and its exit code."""

    def on_broken_pipe(self) -> None:
        """Write no more, and leave the verdict to decide the exit code."""
        hush(self.file)


out = Screen(highlight=False)
err = Screen(stderr=True, highlight=False)

COLOURS = {
    "proven": "green",
    "tested": "cyan",
    "refuted": "bold red",
    "refused": "magenta",
    "undecided": "yellow",
    "skipped": "yellow",
}

_CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


class Tick(Protocol):
    """Called by long work: how much is done, of how much, and what is under way."""

    def __call__(self, done: int, total: int, label: str) -> None:
        """Report progress."""


def shown(text: str) -> str:
    r"""The text with control and direction characters spelled out (ESC as \x1b), so a terminal obeys none."""
    return _CONTROLS.sub(_spelled, text)


def numbered(names: Sequence[str]) -> str:
    """The names behind their numbers, for the columns of a table."""
    return "  ".join(f"{number} {name}" for number, name in enumerate(names, 1))


def fail(message: str) -> None:
    """One line on standard error."""
    err.print(f"maskproof: {shown(message)}", style="red", markup=False, soft_wrap=True)


def print_json(command: str, exit_code: int, summary: dict[str, Any], records: Iterable[Record]) -> None:
    """The one machine shape: format, command, exit, summary, records."""
    document = {
        "format": 1,
        "command": command,
        "exit": exit_code,
        "summary": summary,
        "records": [as_plain(record) for record in records],
    }
    try:
        out.file.write(_as_json(document) + "\n")
        out.file.flush()
    except BrokenPipeError:
        hush(out.file)


def hush(stream: IO[str]) -> None:
    """From here on the stream leads nowhere: whoever read it has gone."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def prepare() -> None:
    """Have standard output spell out the characters that its encoding lacks, where it would raise."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


def settle() -> None:
    """Write what is left of standard output; what cannot be written is dropped, and not told of once more at exit."""
    try:
        out.file.flush()
    except OSError:
        hush(out.file)


def verdict_counts(records: Iterable[Record]) -> dict[str, int]:
    """How many records have each verdict, in the order of COLOURS, absent ones left out."""
    counts = Counter[str](record.verdict for record in records)
    return {verdict: counts[verdict] for verdict in COLOURS if counts[verdict]}


def print_summary(records: Sequence[Record], *, results: Path | None = None) -> None:
    """Verdict counts by subject and the first findings, cut to the height of the screen."""
    findings = [record for record in records if record.verdict == "refuted"]
    groups = _groups(records)
    room = max(out.size.height - 8, 8) if out.is_terminal else len(groups) + len(findings)
    rows = max(room - min(len(findings), room // 2), 3)
    out.print(_counts_table(groups, rows))
    _print_findings(findings, max(room - min(rows, len(groups)), 3))
    if results is not None:
        out.print(f"results: {shown(str(results))}", style="dim", markup=False, soft_wrap=True)


@contextmanager
def progress_bar(label: str, *, enabled: bool = True) -> Iterator[Tick]:
    """A bar with count, rate and time left on a terminal, nothing in a pipe."""
    now = Column(no_wrap=True, overflow="ellipsis", ratio=1)
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=24),
        MofNCompleteColumn(),
        _RateColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(compact=True),
        TextColumn("{task.fields[now]}", markup=False, style="dim", table_column=now),
    )
    disabled = not (enabled and err.is_terminal)
    with Progress(*columns, console=err, transient=True, disable=disabled, expand=True) as bar:
        task = bar.add_task(label, total=None, now="")
        yield lambda done, total, label: bar.update(task, completed=done, total=total, now=shown(label))


@contextmanager
def reporting() -> Iterator[None]:
    """Around what the `report` extra does: its absence and its complaints become one line of bad input."""
    try:
        yield
    except ReportError as error:
        raise BadInput(str(error)) from error
    except ModuleNotFoundError as error:
        raise BadInput(f"pages and pictures need {error.name}; pip install 'maskproof[report]'") from error


class _RateColumn(ProgressColumn):
    def render(self, task: Task) -> Text:
        """Done a second, or seconds each when slow."""
        return Text(_rate(task.speed or task.finished_speed), style="cyan")


def _as_json(document: dict[str, Any]) -> str:
    """The document as JSON, in ASCII alone where standard output cannot hold all of its characters."""
    text = json.dumps(document, ensure_ascii=False, indent=1)
    try:
        text.encode(getattr(out.file, "encoding", None) or "utf-8")
    except UnicodeEncodeError:
        return json.dumps(document, indent=1)
    return text


def _rate(speed: float | None) -> str:
    if not speed:
        return ""
    return f"{speed:,.1f}/s" if speed >= 1 else f"{1 / speed:,.1f} s each"


def _spelled(match: re.Match[str]) -> str:
    code = ord(match.group())
    named = {9: r"\t", 10: r"\n", 13: r"\r"}.get(code)
    return named or (f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}")


def _groups(records: Sequence[Record]) -> list[tuple[str, dict[str, int]]]:
    """Verdict counts by subject, by check when there is one subject only; those with refutations first."""
    single = len({record.subject for record in records}) == 1
    members: dict[str, list[Record]] = {}
    for record in records:
        members.setdefault(record.check if single else record.subject, []).append(record)
    groups = [(name, verdict_counts(group)) for name, group in members.items()]
    return sorted(groups, key=lambda group: -group[1].get("refuted", 0))


def _counts_table(groups: list[tuple[str, dict[str, int]]], rows: int) -> Table:
    verdicts = [verdict for verdict in COLOURS if any(verdict in counts for _, counts in groups)]
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("", overflow="ellipsis", no_wrap=True)
    for verdict in verdicts:
        table.add_column(verdict, justify="right", style=COLOURS[verdict])
    for name, counts in groups[:rows]:
        table.add_row(
            Text(shown(name)), *(f"{counts[verdict]:,}" if verdict in counts else "" for verdict in verdicts)
        )
    if len(groups) > rows:
        table.add_row(Text(f"… {len(groups) - rows:,} more", style="dim"))
    return table


def _print_findings(findings: Sequence[Record], rows: int) -> None:
    for record in findings[:rows]:
        line = Text("✗ ", style="bold red", no_wrap=True, overflow="ellipsis")
        line.append(
            shown(f"{record.subject} · {record.case} · {record.kind or record.check}"),
            style="not bold default",
        )
        line.append(shown(f"  {record.message}"), style="not bold dim default")
        out.print(line, no_wrap=out.is_terminal, overflow="ellipsis", soft_wrap=not out.is_terminal)
    if len(findings) > rows:
        out.print(f"… {len(findings) - rows:,} more; see them with: maskproof report", style="dim")
