"""`maskproof golden`: write the goldens, hold them to the oracles, replay them against a port."""

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer

from engine.errors import BadInput
from engine.golden import kinds
from engine.golden.check import check, generate
from engine.golden.document import FOLDER
from engine.golden.replay import replay
from engine.host import Port
from engine.results import Record, open_run
from maskproof.terminal import out, print_json, print_summary, progress_bar, verdict_counts

golden = typer.Typer(help="Goldens that any port can be held to.", no_args_is_help=True)

Kinds = Annotated[list[str] | None, typer.Option("--kind", help="Only these kinds of files.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
Results = Annotated[Path | None, typer.Option(help="Results folder (default reports/out).")]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    golden.command("generate", epilog="Example: maskproof golden generate --kind constrain")(write)
    golden.command("check", epilog="Example: maskproof golden check")(hold)
    golden.command(
        "replay",
        epilog="Example: maskproof golden replay -- python3 engine/ports/pure_port.py",
        context_settings={"allow_extra_args": True, "ignore_unknown_options": True},
    )(replay_port)
    app.add_typer(golden, name="golden")


def write(kind: Kinds = None) -> None:
    """Write the golden files anew; deterministic to the byte."""
    with progress_bar("golden generate") as tick:
        changed = generate(wanted=_known(kind), tick=tick)
    for path in changed:
        out.print(f"written: {path.relative_to(FOLDER.parent.parent)}", markup=False)
    out.print(f"{len(changed)} files changed", style="bold")


def hold(kind: Kinds = None, results: Results = None, json_output: Json = False) -> None:
    """Make every file anew by both computations, compare, lint: exit 0 all hold, 1 something differs."""
    with progress_bar("golden check") as tick:
        _tell("golden", check(wanted=_known(kind), tick=tick), results, json_output)


def replay_port(context: typer.Context, results: Results = None, json_output: Json = False) -> None:
    """Run a port's command against every file and report case by case."""
    command = context.args
    if not command:
        raise BadInput("golden replay: name the port's command after '--', such as: -- python3 my_port.py")
    with Port(command) as port:
        _tell("golden", replay(port), results, json_output)


def _tell(command: str, found: Iterable[Record], results: Path | None, json_output: bool) -> None:
    records: list[Record] = []
    with open_run(command, sys.argv[2:], results=results) as writer:
        for record in found:
            writer.append(record)
            records.append(record)
    code = 1 if any(record.verdict == "refuted" for record in records) else 0
    if json_output:
        print_json(command, code, dict(verdict_counts(records)), records)
    else:
        print_summary(records, results=writer.path)
        told = " · ".join(f"{count} {verdict}" for verdict, count in verdict_counts(records).items())
        out.print(f"{len(records)} checks · {told}", style="bold")
    raise typer.Exit(code)


def _known(wanted: list[str] | None) -> list[str] | None:
    for kind in wanted or []:
        if kind not in kinds.kinds():
            raise BadInput(f"kind {kind!r} is not one of the goldens'; there are {', '.join(kinds.kinds())}")
    return wanted
