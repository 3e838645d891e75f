"""`maskproof audit`: an engine against the exact masks."""

import shutil
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from engine.audit.audit import Request, audit
from engine.audit.baseline import Sorted, read_baseline, sort_findings, write_baseline
from engine.audit.findings import Subject
from engine.audit.junit import write_junit
from engine.audit.plan import Settings
from engine.audit.replay import replay
from engine.errors import BadInput
from engine.host import Limits, Port
from engine.ports.registry import built_in, find
from engine.results import Key, Record, ResultsWriter, open_run, read_records
from maskproof.files import demand_writable
from maskproof.terminal import err, out, print_json, print_summary, progress_bar, shown, verdict_counts

SHOWN = 5


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        "audit",
        epilog="Example: maskproof audit pure --vocab toy · maskproof audit -- ./my-port --flag",
    )(run)


def run(
    port: Annotated[
        list[str], typer.Argument(help="A built-in port, or '-- COMMAND…' that speaks the protocol.")
    ],
    vocab: Annotated[
        list[str] | None,
        typer.Option(help="toy, adversarial, qwen3, smollm2, a path, or tokenizer:FILE; again for more."),
    ] = None,
    eos: Annotated[
        list[int] | None, typer.Option(help="End id of vocabularies from files; again for more.")
    ] = None,
    language: Annotated[list[str] | None, typer.Option(help="Only this language; again for more.")] = None,
    corpus: Annotated[Path | None, typer.Option(help="Folder of {schema, tests} files to try.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of everything sampled.")] = 10,
    python: Annotated[
        str, typer.Option(help="The Python that has a built-in port's engine.")
    ] = sys.executable,
    answer_seconds: Annotated[float, typer.Option(help="Time limit of an answer.", min=0.01)] = 20.0,
    slow_seconds: Annotated[float, typer.Option(help="Time limit of vocab and compile.", min=0.01)] = 120.0,
    shrink_seconds: Annotated[
        float, typer.Option(help="Time for making findings small, in all; then they are only named.", min=0)
    ] = Settings().shrink_seconds,
    memory: Annotated[int, typer.Option(help="Memory limit of the port in MiB.", min=16)] = 6144,
    replay_file: Annotated[
        Path | None, typer.Option("--replay", help="Run one reproduction file again.")
    ] = None,
    baseline: Annotated[Path | None, typer.Option(help="Accepted findings; only new ones fail.")] = None,
    accept: Annotated[bool, typer.Option(help="Write what is found into the baseline file.")] = False,
    junit: Annotated[Path | None, typer.Option(help="Write JUnit XML here.")] = None,
    results: Annotated[Path | None, typer.Option(help="Results folder (default reports/out).")] = None,
    resume: Annotated[bool, typer.Option(help="Go on with the newest run of the same settings.")] = False,
    json_output: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Hold an engine to the exact masks: exit 0 nothing wrong, 1 findings, 2 bad input."""
    name, command, arguments = _port(port, python)
    accepted = read_baseline(baseline) if baseline is not None and (baseline.exists() or not accept) else ()
    if accept and baseline is None:
        raise BadInput("--accept needs --baseline FILE, where the findings go")
    demand_writable(junit, "--junit")
    demand_writable(baseline if accept else None, "--baseline")
    limits = Limits(answer_seconds, slow_seconds, memory << 20)
    settings = Settings(
        tuple(vocab or Settings().vocabularies),
        tuple(language or ()),
        tuple(eos or ()),
        seed,
        shrink_seconds=shrink_seconds,
    )
    asked = {
        "port": arguments,
        **asdict(settings),
        "corpus": str(corpus or ""),
        "replay": str(replay_file or ""),
        "limits": asdict(limits),
    }
    with open_run("audit", sys.argv[2:], settings=asked, results=results, resume=resume) as writer:
        subject = partial(_subject, name, arguments, writer.path.parent / "findings")
        if replay_file is not None:
            records = _replayed(Port(command, limits=limits), replay_file, subject, writer)
        else:
            records = _audited(
                Request(tuple(command), subject, settings, limits, str(corpus or ""), writer.done), writer
            )
    found = sort_findings(records, accepted)
    if accept and baseline is not None:
        write_baseline(baseline, records, accepted)
    if junit is not None:
        write_junit(junit, records, found.accepted)
    code = 1 if found.new and not accept else 0
    _print(records, found, writer.path, code, json_output=json_output)
    raise typer.Exit(code)


def _port(words: Sequence[str], python: str) -> tuple[str, list[str], tuple[str, ...]]:
    """The name of the port, its command, and how both are written on a command line."""
    names = [port.name for port in built_in()]
    if words[0] not in names:
        if len(words) == 1 and shutil.which(words[0]) is None:
            find(words[0])
        return "", list(words), ("--", *words)
    if len(words) > 1:
        return words[0], list(words[1:]), (words[0], "--", *words[1:])
    port = find(words[0])
    missing = [name for name, version in port.versions(python).items() if version is None]
    if missing:
        raise BadInput(
            f"port {port.name!r} needs {', '.join(missing)}; install it, or name a Python with --python"
        )
    own = () if python == sys.executable else ("--python", python)
    return port.name, port.command(python), (port.name, *own)


def _subject(name: str, arguments: tuple[str, ...], findings: Path, port: Port) -> Subject:
    """Who is audited, as far as the hello tells."""
    hello = port.hello if port.alive else None
    told = name or (hello.name if hello else Path(port.command[0]).name)
    return Subject(
        told, hello.version if hello else "", dict(hello.policies) if hello else {}, arguments, findings
    )


def _audited(request: Request, writer: ResultsWriter) -> list[Record]:
    """All records, those of the run that is resumed first, each written when it is known."""
    records = list(read_records(writer.path)) if request.done else []
    finished = frozenset(request.done) - _under_way(records)
    written = Counter((record.key(), record.kind) for record in records if record.key() not in finished)
    with progress_bar("audit") as tick:
        request = Request(**{**_fields(request), "tick": tick, "done": finished})
        for record in audit(request):
            if record.key() in finished and record.check != "effort":
                continue
            if written[record.key(), record.kind] > 0:
                written[record.key(), record.kind] -= 1
                continue
            writer.append(record)
            records.append(record)
    return records


def _under_way(records: Sequence[Record]) -> set[Key]:
    """The check whose finding was written last: it may have had more to say when the run was killed."""
    return {record.key() for record in records[-1:] if record.verdict == "refuted"}


def _fields(request: Request) -> dict[str, Any]:
    return {name: getattr(request, name) for name in Request.__slots__}


def _replayed(
    port: Port, path: Path, subject: Callable[[Port], Subject], writer: ResultsWriter
) -> list[Record]:
    try:
        records = replay(port, path, subject)
    finally:
        port.kill()
    for record in records:
        writer.append(record)
    return records


def _print(records: Sequence[Record], found: Sorted, path: Path, code: int, *, json_output: bool) -> None:
    effort = [record for record in records if record.check == "effort"]
    summary: dict[str, Any] = verdict_counts(records)
    summary |= {"new": len(found.new), "accepted": len(found.accepted), "results": str(path)}
    if effort:
        summary |= {"compared": effort[-1].domain, "time": effort[-1].detail}
    if json_output:
        print_json("audit", code, summary, records)
        return
    print_summary(records, results=path)
    for record in found.new[:SHOWN]:
        if record.reproduce:
            out.print(shown(f"again: {record.reproduce}"), style="dim", markup=False, soft_wrap=True)
    for entry in found.unmatched:
        err.print(shown(f"baseline: nothing matches {entry}; take it out"), markup=False)
    if effort:
        out.print(effort[-1].message, markup=False)
