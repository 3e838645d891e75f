"""`maskproof mutants`: the pitfalls × checks kill matrix."""

import os
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from engine.errors import BadInput
from engine.mutants import catalogue
from engine.mutants.matrix import COLUMN_NAMES, lonely, matrix, survivors, unmutated
from engine.mutants.port import become
from engine.results import Record, open_run
from maskproof.terminal import numbered, out, print_json, progress_bar, shown, verdict_counts


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("mutants", epilog="Example: maskproof mutants s06 s07 · maskproof mutants --port s06")(run)


def run(
    mutants: Annotated[list[str] | None, typer.Argument(help="Mutants by id; all when none.")] = None,
    port: Annotated[
        bool, typer.Option("--port", help="Serve the one mutant as a port on standard input.")
    ] = False,
    column: Annotated[list[str] | None, typer.Option(help="Only these columns.")] = None,
    workers: Annotated[int | None, typer.Option(help="Processes; as many as cores.", min=1)] = None,
    seconds: Annotated[float, typer.Option(help="Seconds that all columns of one mutant may take.")] = 180.0,
    results: Annotated[Path | None, typer.Option(help="Results folder (default reports/out).")] = None,
    json_output: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Change the reference in every known way and see which check notices: exit 0 when every mutant is killed."""
    chosen = [catalogue.mutant(name) for name in mutants] if mutants else list(catalogue.mutants())
    if port:
        if len(chosen) != 1:
            raise BadInput("mutants --port: name the one mutant to serve")
        become(chosen[0])
    columns = _known(column or [])
    records = _records(chosen, columns, workers or os.cpu_count() or 1, seconds, results)
    alive, alone = survivors(records), lonely(records, chosen) if not columns else []
    code = 1 if alive or alone else 0
    counts = {
        "mutants": len(chosen),
        "killed": len(chosen) - len(alive),
        "survivors": alive,
        "one column only": alone,
    }
    if json_output:
        print_json("mutants", code, counts, records)
    else:
        _print(records, chosen, columns)
        out.print(
            f"{len(chosen)} mutants · {len(chosen) - len(alive)} killed · {len(alive)} survive"
            + (f": {', '.join(alive)}" if alive else "")
            + (f" · one column only: {', '.join(alone)}" if alone else ""),
            style="bold",
        )
    raise typer.Exit(code)


def _records(
    chosen: list[catalogue.Mutant], columns: list[str], workers: int, seconds: float, results: Path | None
) -> list[Record]:
    records: list[Record] = []
    with open_run("mutants", sys.argv[2:], results=results) as writer, progress_bar("mutants") as tick:
        if seen := unmutated(columns, seconds):
            raise BadInput(
                f"mutants: a column refutes the unchanged reference, so nothing can be told: {seen[0]}"
            )
        for number, row in enumerate(matrix(chosen, workers=workers, seconds=seconds, columns=columns), 1):
            for record in row:
                writer.append(record)
            records.extend(row)
            tick(number, len(chosen), row[0].case)
    order = {mutant.id: number for number, mutant in enumerate(chosen)}
    return sorted(records, key=lambda record: order[record.case])


def _print(records: list[Record], chosen: list[catalogue.Mutant], columns: list[str]) -> None:
    names = columns or list(COLUMN_NAMES)
    cells = {(record.case, record.check): record for record in records}
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 1, 0, 0))
    table.add_column("mutant", no_wrap=True, min_width=max(len(mutant.id) for mutant in chosen))
    heads = " ".join(str(number % 10) for number in range(1, len(names) + 1))
    table.add_column(heads, no_wrap=True, min_width=len(heads) + 1)
    table.add_column("s", justify="right", no_wrap=True, min_width=5)
    table.add_column("first witness", no_wrap=True, overflow="ellipsis", ratio=1)
    for mutant in chosen:
        table.add_row(*_row(mutant, [cells.get((mutant.id, name)) for name in names]))
    out.print(table)
    out.print(Text("✗ killed by: " + numbered(names), "dim"))
    for mutant in chosen:
        if mutant.alone:
            out.print(Text(f"{mutant.id}: {mutant.alone}", "dim"))
    out.print(
        Text(
            " · ".join(f"{count} cells {verdict}" for verdict, count in verdict_counts(records).items()),
            "dim",
        )
    )


def _row(mutant: catalogue.Mutant, row: list[Record | None]) -> tuple[Text, Text, Text, Text]:
    marks = Text()
    for cell in row:
        killed = cell is not None and cell.verdict == "refuted"
        marks.append("✗ " if killed else "· ", "green" if killed else "dim")
    witness = next((f"{cell.check}: {cell.message}" for cell in row if cell and cell.message), "survives")
    spent = sum(cell.seconds for cell in row if cell)
    return Text(mutant.id), marks, Text(f"{spent:.1f}"), Text(shown(witness)[:160], "dim")


def _known(columns: list[str]) -> list[str]:
    for column in columns:
        if column not in COLUMN_NAMES:
            raise BadInput(
                f"column {column!r} is not one of the matrix's; there are {', '.join(COLUMN_NAMES)}"
            )
    return columns
