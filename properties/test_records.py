"""Every command's records fit the schema of a record, as they lie on disk and as `--json` prints them."""

import json
import pkgutil
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import jsonschema
import pytest
from typer.testing import CliRunner

from engine.results import as_plain
from engine.server.app import create_app
from engine.server.random_model import EchoModel
from engine.server.service import Service
from fixtures import ROOT
from maskproof import commands
from maskproof.__main__ import app, load_commands
from properties.serving import served
from reference.vocabulary import load_vocabulary

HERE = Path(__file__).parent.parent
CALLS = ROOT / "calls"
SCHEMA = json.loads((ROOT / "schemas" / "record.schema.json").read_text(encoding="utf-8"))
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)
RECORD = jsonschema.Draft202012Validator({**SCHEMA["$defs"]["record"], "$defs": SCHEMA["$defs"]})
PURE = [sys.executable, str(HERE / "engine" / "ports" / "pure_port.py")]
MUTANT = [sys.executable, "-m", "maskproof", "mutants", "s06", "--port"]

RUNS: dict[str, list[str]] = {
    "verify": ["verify", "hand-words", "number", "--vocab", "toy"],
    "audit": ["audit", "pure", "--vocab", "toy", "--language", "hand-words"],
    "audit, findings": ["audit", "--vocab", "toy", "--language", "hand-words", "--", *MUTANT],
    "golden check": ["golden", "check", "--kind", "constrain"],
    "golden replay": ["golden", "replay", "--", *PURE],
    "mutants": ["mutants", "s06", "--column", "hand"],
    "walk": ["walk", "--vocab", "toy", "--walks", "2", "--language", "city"],
    "bench": ["bench", "--engine", "reference", "--vocab", "toy", "--rounds", "1", "--quick"],
}
"""A short run of each command that needs neither a model nor a server."""
SLOW = {"audit, findings", "golden replay"}
ELSEWHERE = {"call", "conform", "ports"}


def recorded(tmp_path: Path, *words: str) -> list[dict[str, Any]]:
    """The lines that a command leaves on disk; it must end with a verdict, 0 or 1, not with bad input."""
    load_commands()
    at = words.index("--") if "--" in words else len(words)
    done = CliRunner().invoke(app, [*words[:at], "--results", str(tmp_path), *words[at:]])
    assert done.exit_code in (0, 1), (done.output, done.exception)
    [path] = tmp_path.glob("*/records.jsonl")
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def fits(lines: list[dict[str, Any]]) -> bool:
    """Whether the lines are a header, records and a footer, each of its shape; what is wrong is shown."""
    problems = [(line, error.message) for line in lines for error in VALIDATOR.iter_errors(line)]
    assert not problems
    records = [line for line in lines if RECORD.is_valid(line)]
    return len(records) == len(lines) - 2 > 0


@pytest.mark.parametrize(
    "words",
    [
        pytest.param(words, id=name, marks=[pytest.mark.slow] if name in SLOW else [])
        for name, words in RUNS.items()
    ],
)
def test_what_a_command_leaves_on_disk_fits_the_schema(words: list[str], tmp_path: Path) -> None:
    assert fits(recorded(tmp_path, *words))


def test_the_records_of_conform_fit_the_schema(tmp_path: Path) -> None:
    service = Service(EchoModel())
    try:
        with served(create_app(service, None)) as url:
            assert fits(recorded(tmp_path, "conform", url, "tools.call", "--model", "echo"))
    finally:
        service.close()


def test_the_records_that_ports_prints_fit_the_schema() -> None:
    load_commands()
    document = json.loads(CliRunner().invoke(app, ["ports", "--json"]).stdout)
    assert not [error.message for record in document["records"] for error in RECORD.iter_errors(record)]
    assert document["records"]


@pytest.mark.models
def test_the_records_of_a_job_of_calls_fit_the_schema() -> None:
    """All four kinds that a job leaves, made without a model from what one answer would have told."""
    from engine.calls.accuracy import Score
    from engine.calls.decoding import Decoded
    from engine.calls.equivalence import equivalence
    from engine.calls.inputs import read_functions
    from engine.calls.job import Answers, Job
    from engine.calls.report import accuracy_record, calls_record, cost_record, proof_record
    from engine.models.base import Shape

    functions = read_functions(CALLS / "functions_definition.json")
    model = SimpleNamespace(name="m", shape=Shape("a", 1, 1, 1, 1, "float32", "cpu", "random"))
    job = Job(functions, (), cast(Any, model))
    decoded = Decoded(forced=9, model=[0.1, 0.1], constraint=[0.01, 0.01])
    answers = Answers([], 0, [decoded], forced_texts=2)
    proof = proof_record("m", equivalence(functions, load_vocabulary("toy")), 0.1)
    records = [
        proof,
        calls_record(job, answers, "out.jsonl"),
        accuracy_record("m", Score(1, 1, 1, 1, 1, 1)),
        *cost_record(job, answers),
    ]
    assert {record.check for record in records} == {"decoders equal", "calls", "accuracy", "cost"}
    assert not [error.message for record in records for error in RECORD.iter_errors(as_plain(record))]


@pytest.mark.models
def test_the_records_of_call_fit_the_schema(tmp_path: Path) -> None:
    prompts = tmp_path / "prompts.json"
    prompts.write_text('[{"prompt": "What is the sum of 2 and 3?"}]', encoding="utf-8")
    files = ["--functions-definition", str(CALLS / "functions_definition.json"), "--input", str(prompts)]
    output = ["--output", str(tmp_path / "calls.jsonl"), "--model", "tiny-qwen3", "--choices", "8"]
    assert fits(recorded(tmp_path / "results", "call", *files, *output))


def test_every_command_that_makes_records_is_held_to_the_schema_here() -> None:
    """Found by reading the commands' sources, so that a new one cannot be left out."""
    sources = {
        module.name: Path(commands.__file__).with_name(f"{module.name}.py").read_text(encoding="utf-8")
        for module in pkgutil.iter_modules(commands.__path__)
    }
    making = {name for name, text in sources.items() if "open_run(" in text or "Record(" in text}
    assert making == {words[0] for words in RUNS.values()} | ELSEWHERE
