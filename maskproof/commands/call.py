"""`maskproof call`: natural-language requests to typed function calls, structure forced and values generated."""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from engine.calls.accuracy import Score, plain_statement
from engine.calls.decoders import DECODERS
from engine.calls.inputs import read_functions, read_prompts
from engine.errors import BadInput
from engine.models.needs import demand_models
from engine.results import Record, open_run
from maskproof.files import demand_writable
from maskproof.terminal import out, print_json, progress_bar, shown

EXAMPLE = (
    "Example: maskproof call --functions-definition fixtures/calls/functions_definition.json "
    "--input fixtures/calls/function_calling_tests.json --output functions_result.jsonl --model smollm2"
)


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("call", epilog=EXAMPLE)(run)


def run(
    functions: Annotated[
        Path, typer.Option("--functions-definition", "--functions_definition", help="What may be called.")
    ],
    prompts: Annotated[Path, typer.Option("--input", help="What is asked.")],
    output: Annotated[
        Path, typer.Option("--output", help="One JSON line a prompt; resumed when it is there.")
    ],
    model: Annotated[
        str, typer.Option(help="smollm2, tiny-qwen3, a .gguf file, a folder or a hub id.")
    ] = "smollm2",
    decoder: Annotated[str, typer.Option(help=" or ".join(DECODERS))] = "procedural",
    baseline: Annotated[bool, typer.Option(help="Also answer without a constraint, and compare.")] = False,
    choices: Annotated[int, typer.Option(help="Tokens the model may choose for one call.", min=1)] = 96,
    device: Annotated[str, typer.Option(help="cpu or cuda.")] = "cpu",
    dtype: Annotated[str, typer.Option(help="Number type of the weights.")] = "float32",
    results: Annotated[Path | None, typer.Option(help="Results folder (default reports/out).")] = None,
    json_output: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Answer every prompt with one call: exit 0, 1 when a proof fails, 2 on bad input; Ctrl-C keeps what is done."""
    if decoder not in DECODERS:
        raise BadInput(f"--decoder {decoder!r} is none of {', '.join(DECODERS)}")
    known = read_functions(functions)
    asked = read_prompts(prompts, known)
    demand_writable(output, "--output")
    demand_models()
    from engine.calls.run import make_job, run_job
    from engine.models.registry import Placement

    job = make_job(known, asked, model, decoder, choices, Placement(device, dtype))
    settings = {"model": model, "decoder": decoder, "choices": choices, "baseline": baseline}
    records: list[Record] = []
    with (
        open_run("call", sys.argv[2:], settings=settings, results=results) as writer,
        progress_bar("call", enabled=not json_output) as tick,
    ):

        def keep(record: Record) -> None:
            records.append(record)
            writer.append(record)

        scores = run_job(job, output, baseline=baseline, tell=tick, keep=keep)
    code = 1 if any(record.verdict == "refuted" for record in records) else 0
    told = _summary(model, decoder, scores, records)
    if json_output:
        print_json("call", code, told, records)
    else:
        _print(told, scores, records, output)
    raise typer.Exit(code)


def _summary(model: str, decoder: str, scores: dict[str, Score], records: list[Record]) -> dict[str, Any]:
    calls = next(record for record in records if record.check == "calls")
    cost = next((record.detail for record in records if record.check == "cost"), {})
    told: dict[str, Any] = {**calls.domain, **calls.detail, "overhead": cost.get("overhead")}
    if decoder in scores:
        told["statement"] = plain_statement(model, scores[decoder], scores.get("unconstrained"))
    return told


def _print(told: dict[str, Any], scores: dict[str, Score], records: list[Record], output: Path) -> None:
    for record in records:
        if record.check == "decoders equal":
            out.print(
                f"{record.verdict}: both decoders write the same calls {shown(record.message)}".rstrip()
            )
    out.print(
        f"{told['prompts']} calls in {shown(str(output))}, {told['resumed']} of them were there", markup=False
    )
    if told["overhead"] is not None:
        out.print(f"constraint: {100 * told['overhead']:.2f} % of the model's own step")
    if any(each.asked for each in scores.values()):
        out.print(_table(scores))
        out.print(told["statement"], soft_wrap=True)


def _table(scores: dict[str, Score]) -> Table:
    table = Table("", "asked", "a call", "valid", "function", "arguments", "both", box=None, pad_edge=False)
    for name, each in scores.items():
        numbers = (each.asked, each.called, each.valid, each.function, each.arguments, each.both)
        table.add_row(name, *map(str, numbers))
    return table
