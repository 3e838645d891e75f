"""What commands print: tables and progress for a person, one JSON document for a machine."""

import json
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from engine.results import Record, as_plain

out = Console(highlight=False)
err = Console(stderr=True, highlight=False)

COLOURS = {
    "proven": "green",
    "tested": "cyan",
    "refuted": "bold red",
    "refused": "magenta",
    "undecided": "yellow",
    "skipped": "yellow",
}


class Tick(Protocol):
    """Called by long work: how much is done, of how much, and what is under way."""

    def __call__(self, done: int, total: int, label: str) -> None:
        """Report progress."""


def fail(message: str) -> None:
    """One line on standard error."""
    err.print(f"maskproof: {message}", style="red", markup=False, soft_wrap=True)


def print_json(command: str, exit_code: int, summary: dict[str, Any], records: Iterable[Record]) -> None:
    """The one machine shape: format, command, exit, summary, records."""
    document = {
        "format": 1,
        "command": command,
        "exit": exit_code,
        "summary": summary,
        "records": [as_plain(record) for record in records],
    }
    sys.stdout.write(json.dumps(document, ensure_ascii=False, indent=1) + "\n")


@contextmanager
def progress_bar(label: str, *, enabled: bool = True) -> Iterator[Tick]:
    """A progress bar on a terminal, nothing in a pipe."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[now]}"),
    )
    with Progress(*columns, console=err, transient=True, disable=not (enabled and err.is_terminal)) as bar:
        task = bar.add_task(label, total=None, now="")
        yield lambda done, total, label: bar.update(task, completed=done, total=total, now=label)
