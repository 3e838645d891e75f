"""`maskproof verify`: prove the reference on languages."""

import os
import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from engine.errors import BadInput
from engine.results import Record, open_run
from engine.subject import Settings
from engine.suite import Language, from_schema_file, pattern_language, select
from engine.verify import obligation_names, summary, verify
from maskproof.terminal import COLOURS, numbered, out, print_json, progress_bar, shown

MARKS = {
    "proven": "●",
    "tested": "○",
    "refuted": "✗",
    "refused": "–",
    "undecided": "?",
    "skipped": "s",
}


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        "verify", epilog="Example: maskproof verify city --vocab qwen3 · maskproof verify --pattern 'ab?'"
    )(run)


def run(
    languages: Annotated[
        list[str] | None, typer.Argument(help="Languages of the suite; all when none.")
    ] = None,
    vocab: Annotated[str, typer.Option(help="toy, qwen3, smollm2, or a tokenizer file.")] = "qwen3",
    pattern: Annotated[str | None, typer.Option(help="Verify this pattern instead.")] = None,
    dialect: Annotated[str, typer.Option(help="The pattern's dialect: bytes or unicode.")] = "bytes",
    schema: Annotated[Path | None, typer.Option(help="Verify the JSON Schema in this file instead.")] = None,
    z3_timeout: Annotated[
        float, typer.Option(help="Seconds a question to z3 may take.", min=0.001, max=86_400)
    ] = 20.0,
    samples: Annotated[int, typer.Option(help="Instances sampled a language.", min=1)] = 200,
    seed: Annotated[int, typer.Option(help="Seed of the samples.", min=0)] = 10,
    workers: Annotated[int | None, typer.Option(help="Processes; as many as cores.", min=1)] = None,
    results: Annotated[Path | None, typer.Option(help="Results folder (default reports/out).")] = None,
    json_output: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Prove the reference on languages: exit 0 all hold, 1 something refuted or left open, 2 bad input."""
    chosen = _chosen(languages or [], pattern, dialect, schema)
    settings = Settings(z3_timeout_ms=int(z3_timeout * 1000), samples=samples, seed=seed)
    records: list[Record] = []
    asked = {"vocab": vocab, "z3_timeout": z3_timeout, "samples": samples, "seed": seed}
    with (
        open_run("verify", sys.argv[2:], settings=asked, results=results) as writer,
        progress_bar("verify") as tick,
    ):

        def keep(language: Language, found: list[Record]) -> None:
            records.extend(found)
            for record in found:
                writer.append(record)
            tick(len({record.case for record in records}), len(chosen), language.id)

        tick(0, len(chosen), "")
        verify(chosen, vocab, settings, workers=workers or os.cpu_count() or 1, on_records=keep)
    order = [language.id for language in chosen]
    records.sort(key=lambda record: order.index(record.case))
    told = summary(records)
    code = 1 if told["refuted"] or told["left_open"] else 0
    if json_output:
        print_json("verify", code, told, records)
    else:
        _print(records, chosen, told, writer.path)
    raise typer.Exit(code)


def _chosen(names: list[str], pattern: str | None, dialect: str, schema: Path | None) -> tuple[Language, ...]:
    if sum([bool(names), pattern is not None, schema is not None]) > 1:
        raise BadInput("verify: name languages, or give --pattern, or give --schema; one of the three")
    if pattern is not None:
        return (pattern_language("pattern", pattern, dialect),)
    return (from_schema_file(schema),) if schema is not None else select(names)


def _print(records: list[Record], chosen: tuple[Language, ...], told: dict[str, Any], path: Path) -> None:
    out.print(_table(records, chosen))
    out.print(Text(numbered(obligation_names()), "dim"))
    legend = Text()
    for verdict, mark in MARKS.items():
        legend.append(f"{mark} ", COLOURS[verdict]).append(f"{verdict}  ", "dim")
    out.print(legend)
    for record in records:
        if record.verdict in ("refuted", "undecided", "skipped"):
            line = Text(f"{MARKS[record.verdict]} {record.case} · {record.check}: ", COLOURS[record.verdict])
            out.print(line.append(shown(record.message or record.method), "default"), soft_wrap=True)
            if record.reproduce:
                out.print(Text(f"    {record.reproduce}", "dim"), soft_wrap=True)
    out.print(Text(told["line"], "bold"), soft_wrap=True)
    if told["left_open"]:
        named = ", ".join(told["left_open"])
        out.print(
            Text(f"left open, by this and any other way: {named}; try a longer --z3-timeout", "yellow"),
            soft_wrap=True,
        )
    out.print(Text(f"cost (median of a language): {told['cost']}", "dim"), soft_wrap=True)
    out.print(Text(f"results: {shown(str(path))}", "dim"), soft_wrap=True)


def _table(records: list[Record], chosen: tuple[Language, ...]) -> Table:
    names = obligation_names()
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 1, 0, 0))
    for title in (
        "language",
        "states",
        "pairs",
        *(str(number) for number in range(1, len(names) + 1)),
        "seconds",
    ):
        table.add_column(title, justify="left" if title == "language" else "right", no_wrap=True)
    found = {(record.case, record.check): record for record in records}
    for language in chosen:
        table.add_row(*_row(language, found, names))
    return table


def _row(language: Language, found: dict[tuple[str, str], Record], names: list[str]) -> list[Text]:
    own = [record for (case, _), record in found.items() if case == language.id]
    about = found.get((language.id, "automaton"))
    states, tokens = (about.domain["states"], about.domain["tokens"]) if about else (0, 0)
    cells = [Text(language.id), Text(f"{states:,}"), Text(f"{states * tokens:,}")]
    for name in names:
        record = found.get((language.id, name))
        cells.append(Text(MARKS[record.verdict], COLOURS[record.verdict]) if record else Text("·", "dim"))
    return [*cells, Text(f"{sum(record.seconds for record in own):.1f}")]
