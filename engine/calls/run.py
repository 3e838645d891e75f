"""One run of `call`: prove the decoders equal, answer every prompt, compare with the baseline; records as they come."""

import time
from collections.abc import Callable
from pathlib import Path

from engine.calls.accuracy import Score, score
from engine.calls.decoders import DecoderName
from engine.calls.equivalence import equivalence
from engine.calls.inputs import Function, Prompt
from engine.calls.job import Job, Told, answer, free_answers
from engine.calls.report import accuracy_record, calls_record, cost_record, proof_record
from engine.models.registry import Placement, load_model
from engine.results import Record


def make_job(
    functions: tuple[Function, ...],
    prompts: tuple[Prompt, ...],
    model: str,
    decoder: DecoderName,
    choices: int,
    placement: Placement,
) -> Job:
    """A job on a loaded model."""
    return Job(functions, prompts, load_model(model, placement), decoder, choices)


def run_job(
    job: Job, output: Path, *, baseline: bool, tell: Told, keep: Callable[[Record], None]
) -> dict[str, Score]:
    """Do it all; the scores of the decoder and, when asked, of the baseline, where answers are known."""
    begun = time.perf_counter()
    found = equivalence(job.functions, job.model.vocabulary)
    keep(proof_record(job.model.name, found, time.perf_counter() - begun))
    answers = answer(job, output, tell)
    keep(calls_record(job, answers, str(output)))
    for record in cost_record(job, answers):
        keep(record)
    scores: dict[str, Score] = {}
    if any(prompt.expected is not None for prompt in job.prompts):
        scores[job.decoder] = answers.score(job)
    if baseline:
        free = list(free_answers(job, tell))
        scores["unconstrained"] = score(zip(job.prompts, free, strict=True), job.functions)
    for name, each in scores.items():
        keep(accuracy_record(f"{job.model.name}, {name}", each))
    return scores
