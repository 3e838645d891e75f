"""The kill matrix: one child process a mutant, all columns in it, one record a cell as soon as it is known."""

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import Any

from engine.errors import BadInput
from engine.mutants.catalogue import SOURCES, Mutant
from engine.results import Record

COLUMN_NAMES = (
    *("hand", "goldens", "derivative", "z3", "networkx"),
    *("masks", "properties", "walks", "instances", "tool texts"),
)
SECONDS = 180.0
CHAPTER = tuple(f"s{number:02}" for number in range(1, 17))


def matrix(
    chosen: Sequence[Mutant], *, workers: int, seconds: float = SECONDS, columns: Sequence[str] = ()
) -> Iterator[list[Record]]:
    """The row of every mutant, in order of completion; a child that outlives `seconds` is killed and seen as a hang."""
    with ThreadPoolExecutor(workers) as pool:
        rows = [pool.submit(_row, mutant, seconds, columns) for mutant in chosen]
        try:
            for row in as_completed(rows):
                yield row.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def unmutated(columns: Sequence[str] = (), seconds: float = SECONDS) -> list[str]:
    """What the columns see on the reference as it is; anything at all makes the whole matrix worthless."""
    return [
        f"{cell['column']}: {cell['witness']}" for cell in _cells("none", seconds, columns) if cell["witness"]
    ]


def survivors(records: Sequence[Record]) -> list[str]:
    """The mutants that no column sees."""
    killed = {record.case for record in records if record.verdict == "refuted"}
    return sorted({record.case for record in records} - killed)


def lonely(records: Sequence[Record], chosen: Sequence[Mutant]) -> list[str]:
    """The chapter's pitfalls that fewer than two columns see and whose entry does not say why."""
    seen = {mutant.id: 0 for mutant in chosen}
    for record in records:
        seen[record.case] += record.verdict == "refuted"
    return [
        mutant.id for mutant in chosen if mutant.id in CHAPTER and seen[mutant.id] < 2 and not mutant.alone
    ]


def _row(mutant: Mutant, seconds: float, columns: Sequence[str]) -> list[Record]:
    return [_record(mutant, cell) for cell in _cells(mutant.id, seconds, columns)]


def _cells(name: str, seconds: float, columns: Sequence[str]) -> list[dict[str, Any]]:
    """The child's lines; a column that it did not come to has the child's end as its witness."""
    command = [sys.executable, "-m", "engine.mutants.child", name, *columns]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=seconds, cwd=SOURCES, check=False
        )
        output, ending = done.stdout, f"the process ended: {done.stderr.strip().splitlines()[-1:]}"
        if done.returncode == 2 or "BadInput" in done.stderr:
            raise BadInput(done.stderr.strip().splitlines()[-1])
    except subprocess.TimeoutExpired as error:
        output = (error.stdout or b"").decode() if isinstance(error.stdout, bytes) else (error.stdout or "")
        ending = f"no answer within {seconds:g} s"
    cells = [json.loads(line) for line in output.splitlines() if line.startswith('{"column"')]
    missing = [
        column for column in columns or COLUMN_NAMES if column not in {cell["column"] for cell in cells}
    ]
    # Only the column under way when the child ended has seen something; those after it were never asked.
    for number, column in enumerate(missing):
        cells.append(
            {
                "column": column,
                "witness": ending if number == 0 else None,
                "seconds": 0.0,
                "unasked": number > 0,
            }
        )
    return cells


def _record(mutant: Mutant, cell: dict[str, Any]) -> Record:
    verdict = "refuted" if cell["witness"] else "skipped" if cell.get("unasked") else "tested"
    return Record(
        command="mutants",
        subject="reference",
        case=mutant.id,
        check=cell["column"],
        verdict=verdict,  # type: ignore[arg-type]
        method="the column's questions asked of the changed reference",
        domain={"mutants": 1},
        seconds=cell["seconds"],
        message=cell["witness"] or "",
        reproduce=f"maskproof mutants {mutant.id}",
        detail={
            "title": mutant.title,
            "pitfall": mutant.pitfall,
            "module": mutant.module,
            "alone": mutant.alone,
        },
    )
