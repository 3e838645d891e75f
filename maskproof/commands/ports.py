"""`maskproof ports`: the built-in ports, which versions are here, and what each says that it serves."""

import sys
from typing import Annotated, Any

import typer
from rich.table import Table

from engine.errors import BadInput
from engine.host import Limits, Port, PortFault
from engine.ports.registry import BuiltIn, built_in, find
from engine.results import Record
from maskproof.terminal import out, print_json, shown


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("ports", epilog="Example: maskproof ports --json")(ports)


def ports(
    names: Annotated[list[str] | None, typer.Argument(metavar="[PORT]...", help="Only these ports.")] = None,
    python: Annotated[str, typer.Option(help="The Python that has the engines.")] = sys.executable,
    json_output: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """List the built-in ports: versions, kinds of grammars, optional ops."""
    chosen = [find(name) for name in names or []] or list(built_in())
    records = [_record(port, python) for port in chosen]
    if json_output:
        summary = {"ports": len(records), "here": sum(record.verdict == "tested" for record in records)}
        print_json("ports", 0, summary, records)
    else:
        out.print(_table(records))


def _record(port: BuiltIn, python: str) -> Record:
    versions = port.versions(python)
    detail: dict[str, Any] = {"about": port.about, "versions": versions, "file": port.path.name}
    missing = [name for name, found in versions.items() if found is None]
    if missing:
        told = f"not installed: {', '.join(missing)}"
        return Record(
            command="ports",
            subject=port.name,
            case="hello",
            check="hello",
            verdict="skipped",
            message=told,
            detail=detail,
        )
    return _greeted(port, python, detail)


def _greeted(port: BuiltIn, python: str, detail: dict[str, Any]) -> Record:
    try:
        with Port(port.command(python), limits=Limits(slow_seconds=60)) as child:
            hello = child.hello
    except (PortFault, BadInput) as error:
        return Record(
            command="ports", subject=port.name, case="hello", check="hello", verdict="refuted",
            kind=getattr(error, "kind", "crash"), message=str(error), detail=detail,
        )  # fmt: skip
    detail |= {"kinds": hello.kinds, "features": hello.features, "policies": hello.policies}
    detail |= {"version": hello.version, "notes": hello.notes}
    return Record(
        command="ports", subject=port.name, case="hello", check="hello", verdict="tested", detail=detail
    )


def _table(records: list[Record]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("port", "version", "grammars", "optional ops and policies"):
        table.add_column(heading, overflow="fold")
    for record in records:
        detail = record.detail
        if record.verdict != "tested":
            table.add_row(record.subject, "", shown(record.message), "", style="dim")
            continue
        told = ", ".join(detail["features"]) or "none"
        if detail["policies"]:
            told += "; policies: " + ", ".join(detail["policies"])
        table.add_row(record.subject, shown(detail["version"]), ", ".join(detail["kinds"]), shown(told))
    return table
