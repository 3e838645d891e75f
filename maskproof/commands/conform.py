"""`maskproof conform`: the conformance cases against any OpenAI-compatible server."""

import os
import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from engine.errors import BadInput
from engine.results import Record, open_run
from maskproof.files import demand_writable
from maskproof.terminal import COLOURS, out, print_json, progress_bar, shown, verdict_counts

DEFAULT_KEY_NAME = "OPENAI_API_KEY"


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        "conform",
        epilog="Example: maskproof conform http://127.0.0.1:8000/v1 tools.stream --junit conform.xml",
    )(run)


def run(
    url: Annotated[str, typer.Argument(help="Base URL, with /v1.")],
    cases: Annotated[
        list[str] | None, typer.Argument(help="Ids, beginnings of ids, or checks; all cases when none.")
    ] = None,
    model: Annotated[str | None, typer.Option(help="Model to ask; the first one listed.")] = None,
    key_name: Annotated[
        str, typer.Option("--key-from", help="Environment variable with the API key.")
    ] = DEFAULT_KEY_NAME,
    timeout: Annotated[float, typer.Option(help="Seconds an answer may take.", min=0.1)] = 120.0,
    junit: Annotated[Path | None, typer.Option(help="Write the verdicts as JUnit XML.")] = None,
    results: Annotated[Path | None, typer.Option(help="Results folder (default reports/out).")] = None,
    json_output: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Judge a server by the conformance cases: exit 0 none is refuted, 1 some are, 2 bad input."""
    try:
        from engine.conformance import Server, judge_all, junit_text, select_cases
    except ModuleNotFoundError as error:
        raise BadInput(f"conform needs {error.name}; pip install 'maskproof[serve]'") from error
    demand_writable(junit, "--junit")
    chosen = select_cases(cases or [])
    key = os.environ.get(key_name) or None
    records: list[Record] = []
    with (
        Server.at(url, key=key, model=model, seconds=timeout) as server,
        open_run(
            "conform", sys.argv[2:], settings={"url": url, "model": server.model}, results=results
        ) as writer,
        progress_bar("conform") as tick,
    ):

        def keep(record: Record) -> None:
            records.append(record)
            writer.append(record)
            tick(len(records), len(chosen), record.case)

        tick(0, len(chosen), "")
        judge_all(server, chosen, keep)
    counts = verdict_counts(records)
    code = 1 if counts.get("refuted") else 0
    if junit is not None:
        junit.write_text(junit_text(records, url), encoding="utf-8")
    if json_output:
        print_json("conform", code, {"url": url, "model": server.model, **counts}, records)
    else:
        _print(records, counts, writer.path)
    raise typer.Exit(code)


def _print(records: list[Record], counts: dict[str, Any], path: Path) -> None:
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    for title in ("case", "verdict", "seconds", ""):
        table.add_column(title, justify="right" if title == "seconds" else "left", no_wrap=bool(title))
    for record in records:
        note = "" if record.verdict == "tested" else record.message
        verdict = Text(record.verdict, COLOURS[record.verdict])
        table.add_row(record.case, verdict, f"{record.seconds:.2f}", Text(shown(note), "dim"))
    out.print(table)
    out.print(Text(", ".join(f"{count} {verdict}" for verdict, count in counts.items()), "bold"))
    out.print(Text(f"results: {path}", "dim"), soft_wrap=True)
