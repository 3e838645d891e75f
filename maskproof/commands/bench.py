"""`maskproof bench`: the reference beside the engines that ship, and a model with and without the constraint."""

import sys
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from engine.bench.peers import ENGINES, Measured
from engine.bench.records import MEASURES
from engine.bench.run import Settings, Summary, run_model, run_peers, summary
from engine.errors import BadInput
from engine.results import Record, open_run
from maskproof.terminal import out, print_json, progress_bar, shown

EXAMPLE = "Example: maskproof bench --quick · maskproof bench --engine reference --model smollm2"


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("bench", epilog=EXAMPLE)(run)


def run(
    engine: Annotated[list[str] | None, typer.Option(help=f"Of {', '.join(ENGINES)}; all when none.")] = None,
    engines_python: Annotated[
        str, typer.Option(help="Python that has the engines (default: this one).")
    ] = "",
    vocab: Annotated[str, typer.Option(help="toy, qwen3, smollm2, or a tokenizer file.")] = "qwen3",
    rounds: Annotated[int, typer.Option(help="How often everything is measured.", min=1)] = 5,
    limit: Annotated[
        float, typer.Option(help="Seconds an engine may take for one workload.", min=0.1)
    ] = 60.0,
    quick: Annotated[bool, typer.Option(help="A third of the workloads.")] = False,
    model: Annotated[str, typer.Option(help="Also measure this model, such as smollm2.")] = "",
    tokens: Annotated[int, typer.Option(help="Tokens that the model writes a time.", min=2)] = 32,
    device: Annotated[str, typer.Option(help="The model's device.")] = "cpu",
    dtype: Annotated[str, typer.Option(help="The model's number type.")] = "float32",
    seed: Annotated[int, typer.Option(help="Seed of the paths and of random weights.", min=0)] = 10,
    results: Annotated[Path | None, typer.Option(help="Results folder (default reports/out).")] = None,
    json_output: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Measure the reference beside engines and a model beside itself: exit 0, or 2 on bad input."""
    settings = Settings(
        vocabulary=vocab,
        engines=_with_reference(engine or list(ENGINES)),
        python=engines_python or sys.executable,
        rounds=rounds,
        limit=limit,
        quick=quick,
        seed=seed,
        model=model,
        tokens=tokens,
        dtype=dtype,
        device=device,
    )
    records: list[Record] = []
    overheads: dict[str, float] = {}
    about: dict[str, Any] = {}
    with (
        open_run("bench", sys.argv[2:], settings=asdict(settings), results=results) as writer,
        progress_bar("bench", enabled=not json_output) as tick,
    ):

        def keep(made: Iterable[Record]) -> None:
            for record in made:
                records.append(record)
                writer.append(record)

        found, made = run_peers(settings, tick)
        keep(made)
        if model:
            overheads, about, measured = run_model(settings, tick)
            keep(measured)
    told = summary(found, overheads, about)
    if json_output:
        print_json("bench", 0, asdict(told), records)
    else:
        _print(told, found, writer.path)


def _with_reference(engines: list[str]) -> tuple[str, ...]:
    """The engines asked for; the reference is always among them, since ratios are against it."""
    for name in engines:
        if name not in ENGINES:
            raise BadInput(f"--engine {name!r} is none of {', '.join(ENGINES)}")
    return tuple(name for name in ENGINES if name in engines or name == ENGINES[0])


def _print(told: Summary, found: Measured, path: Path) -> None:
    out.print(
        "time over the reference's: mean of the workloads (least to most); below 1 is faster", style="dim"
    )
    out.print(_ratio_table(told))
    for engine, reason in told.absent.items():
        out.print(f"{engine} is not here: {shown(reason)}", style="yellow", markup=False, soft_wrap=True)
    memory = ", ".join(f"{engine} {held / 1e6:,.0f} MB" for engine, held in found.memory.items())
    out.print(f"memory of the process, vocabulary and grammars: {memory}", soft_wrap=True)
    if told.model:
        about = told.model
        out.print(
            f"{about['architecture']}, {about['parameters'] / 1e6:,.0f} M parameters, {about['dtype']} on "
            f"{about['device']}: prefill {about['prefill_ms']} ms, {about['step_ms']} ms a token, weights and all "
            f"{about['resident_bytes'] / 1e6:,.0f} MB, keys and values {about['cache_bytes'] / 1e6:,.1f} MB",
            soft_wrap=True,
        )
        shares = ", ".join(f"{language} {100 * share:.2f} %" for language, share in told.overheads.items())
        out.print(f"the constraint adds to each step: {shares}", soft_wrap=True)
    out.print(f"results: {shown(str(path))}", style="dim", markup=False, soft_wrap=True)


def _ratio_table(told: Summary) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("", no_wrap=True)
    for engine in told.ratios:
        table.add_column(engine, justify="right")
    for measure, _ in MEASURES:
        table.add_row(measure, *(_ratio(each.get(measure)) for each in told.ratios.values()))
    return table


def _ratio(found: tuple[float, float, float] | None) -> str:
    return "" if found is None else f"{_short(found[0])} ({_short(found[1])} to {_short(found[2])})"


def _short(ratio: float) -> str:
    return f"{ratio:,.0f}" if ratio >= 100 else f"{ratio:.2g}"
