"""`maskproof walk`: constrained walks on random logits or a model, every mask and every output judged."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from engine.errors import BadInput
from engine.results import Record, open_run
from engine.suite import Language, from_schema_file, pattern_language, select
from engine.walk_job import Settings, Tell, model_job, random_job
from maskproof.terminal import out, print_json, print_summary, progress_bar

EXAMPLE = "Example: maskproof walk --walks 1000 · maskproof walk --model smollm2 --language city --walks 5"


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("walk", epilog=EXAMPLE)(run)


def run(
    model: Annotated[
        str, typer.Option(help="random, tiny-qwen3, smollm2, qwen3-wide, a .gguf file, a folder or a hub id.")
    ] = "random",
    language: Annotated[
        list[str] | None, typer.Option(help="A language of the suite; all when none.")
    ] = None,
    schema: Annotated[Path | None, typer.Option(help="The JSON Schema in this file instead.")] = None,
    pattern: Annotated[str | None, typer.Option(help="This pattern instead.")] = None,
    dialect: Annotated[str, typer.Option(help="The pattern's dialect: bytes or unicode.")] = "bytes",
    vocab: Annotated[
        str, typer.Option(help="Vocabulary of random logits: toy, qwen3, smollm2, a file.")
    ] = "qwen3",
    walks: Annotated[int, typer.Option(help="Walks in all, dealt evenly over the languages.", min=1)] = 210,
    seed: Annotated[int, typer.Option(help="Seed of logits, draws and random weights.", min=0)] = 10,
    budget: Annotated[int | None, typer.Option(help="Tokens an output may take, EOS counted.", min=1)] = None,
    adversary: Annotated[str, typer.Option(help="none, forbidden, longest or endless.")] = "none",
    temperature: Annotated[float, typer.Option(help="Of a model's draws; 0 is greedy.", min=0)] = 1.0,
    batch: Annotated[int, typer.Option(help="Walks of a model side by side.", min=1)] = 16,
    device: Annotated[str, typer.Option(help="Device of a model: cpu or cuda.")] = "cpu",
    dtype: Annotated[str, typer.Option(help="Number type of a model's weights.")] = "float32",
    first: Annotated[int, typer.Option(help="Number of each language's first walk.", min=0)] = 0,
    results: Annotated[Path | None, typer.Option(help="Results folder (default reports/out).")] = None,
    json_output: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Walk under masks and judge it all: exit 0 all hold, 1 something refuted, 2 bad input."""
    chosen = _chosen(language or [], schema, pattern, dialect)
    settings = Settings(walks, seed, budget, adversary, first, temperature, batch, device, dtype)
    asked = {
        "model": model,
        "vocab": vocab,
        "walks": walks,
        "seed": seed,
        "budget": budget,
        "adversary": adversary,
    }
    records: list[Record] = []
    with (
        open_run("walk", sys.argv[2:], settings=asked, results=results) as writer,
        progress_bar("walk") as tick,
    ):
        for found in _walked(chosen, model, vocab, settings, tick):
            records += found
            for record in found:
                writer.append(record)
    code = 1 if any(record.verdict == "refuted" for record in records) else 0
    told = _summary(records)
    if json_output:
        print_json("walk", code, told, records)
    else:
        print_summary(records, results=writer.path)
        out.print(told["line"], markup=False, soft_wrap=True)
    raise typer.Exit(code)


def _walked(
    chosen: tuple[Language, ...], model: str, vocab: str, settings: Settings, tell: Tell
) -> Iterator[list[Record]]:
    if model == "random":
        return random_job(chosen, vocab, settings, tell)
    return model_job(chosen, model, settings, tell)


def _chosen(names: list[str], schema: Path | None, pattern: str | None, dialect: str) -> tuple[Language, ...]:
    if sum([bool(names), pattern is not None, schema is not None]) > 1:
        raise BadInput("walk: give only one of --language, --pattern and --schema")
    if dialect not in ("bytes", "unicode"):
        raise BadInput(f"--dialect {dialect!r} is not a dialect; choose bytes or unicode")
    if pattern is not None:
        return (pattern_language("pattern", pattern, "unicode" if dialect == "unicode" else "bytes"),)
    return (from_schema_file(schema),) if schema is not None else select(names)


def _summary(records: list[Record]) -> dict[str, Any]:
    outputs = [record for record in records if record.check == "outputs" and "walks" in record.domain]
    masks = [record for record in records if record.check == "masks"]
    skipped = sum(record.verdict == "skipped" for record in records)
    numbers = {
        "languages": len(outputs),
        "walks": sum(record.domain["walks"] for record in outputs),
        "tokens": sum(record.domain["tokens"] for record in outputs),
        "masks": sum(record.domain["masks"] for record in masks),
        "skipped": skipped,
        "refuted": sum(record.verdict == "refuted" for record in records),
        "seconds": round(sum(record.seconds for record in outputs), 3),
    }
    line = f"{numbers['walks']:,} walks · {numbers['tokens']:,} tokens · {numbers['masks']:,} masks held to digests"
    line += f" · {skipped} languages skipped" if skipped else ""
    cost = next((record.detail for record in records if record.check == "cost"), {})
    if "overhead" in cost:
        line += (
            f" · {cost['step_ms']} ms a step, {100 * cost['overhead']:.2f} % of it added by the constraint"
        )
    return {**numbers, "line": line}
