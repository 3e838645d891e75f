"""`maskproof call`: natural-language requests to typed function calls, structure forced and values generated."""

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from engine.calls.accuracy import Score, score
from engine.calls.equivalence import equivalence
from engine.calls.inputs import read_functions, read_prompts
from engine.calls.job import DECODERS, Job, answer, free_answers
from engine.calls.report import (
    accuracy_record,
    calls_record,
    cost_record,
    plain_statement,
    proof_record,
)
from engine.errors import BadInput
from engine.results import Record, ResultsWriter, open_run
from maskproof.terminal import out, print_json, progress_bar, shown

EXAMPLE = (
    "Example: maskproof call --functions-definition fixtures/calls/functions_definition.json "
    "--input fixtures/calls/function_calling_tests.json --output functions_result.jsonl --model smollm2"
)
Keep = Callable[[Record | None], None]


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
    from engine.models.registry import Placement, load_model

    job = Job(known, asked, load_model(model, Placement(device, dtype)), decoder, choices)
    settings = {"model": model, "decoder": decoder, "choices": choices, "baseline": baseline}
    records: list[Record] = []
    with open_run("call", sys.argv[2:], settings=settings, results=results) as writer:
        scores = _work(job, output, baseline, json_output, lambda record: _keep(record, records, writer))
    code = 1 if any(record.verdict == "refuted" for record in records) else 0
    told = _summary(job, scores, records)
    if json_output:
        print_json("call", code, told, records)
    else:
        _print(told, scores, records, output)
    raise typer.Exit(code)


def _work(job: Job, output: Path, baseline: bool, quiet: bool, keep: Keep) -> dict[str, Score]:
    """Prove, answer, compare; each record as soon as it is known."""
    begun = time.perf_counter()
    found = equivalence(job.functions, job.model.vocabulary)
    keep(proof_record(job.model.name, found, time.perf_counter() - begun))
    scores: dict[str, Score] = {}
    with progress_bar("call", enabled=not quiet) as tick:
        answers = answer(job, output, tick)
        keep(calls_record(job, answers, str(output)))
        keep(cost_record(job, answers))
        if any(prompt.expected is not None for prompt in job.prompts):
            scores[job.decoder] = answers.score(job)
        if baseline:
            free = list(free_answers(job, tick))
            scores["unconstrained"] = score(zip(job.prompts, free, strict=True), job.functions)
    for name, each in scores.items():
        keep(accuracy_record(f"{job.model.name}, {name}", each))
    return scores


def _keep(record: Record | None, records: list[Record], writer: ResultsWriter) -> None:
    if record is not None:
        records.append(record)
        writer.append(record)


def _summary(job: Job, scores: dict[str, Score], records: list[Record]) -> dict[str, Any]:
    calls = next(record for record in records if record.check == "calls")
    cost = next((record.detail for record in records if record.check == "cost"), {})
    told: dict[str, Any] = {**calls.domain, **calls.detail, "overhead": cost.get("overhead")}
    if job.decoder in scores and scores[job.decoder].asked:
        told["statement"] = plain_statement(
            job.model.name, [scores[job.decoder]], scores.get("unconstrained")
        )
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
        out.print(told.get("statement", ""), soft_wrap=True)


def _table(scores: dict[str, Score]) -> Table:
    table = Table("", "asked", "a call", "valid", "function", "arguments", "both", box=None, pad_edge=False)
    for name, each in scores.items():
        numbers = (each.asked, each.called, each.valid, each.function, each.arguments, each.both)
        table.add_row(name, *map(str, numbers))
    return table
