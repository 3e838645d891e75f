"""What a job found, as records: the proof of equivalence, the calls, the accuracy beside the baseline, the cost."""

from dataclasses import asdict
from statistics import median
from typing import Any

from engine.calls.accuracy import Score
from engine.calls.equivalence import Equivalence
from engine.calls.job import Answers, Job
from engine.results import Record


def proof_record(subject: str, found: Equivalence, seconds: float) -> Record:
    """Whether both decoders can write the same calls: proven over all byte strings, or refuted with a shortest call."""
    witnesses = {name: call.hex() for name, call in found.different.items() if call is not None}
    message = "; ".join(
        f"{name} and the oracle differ on {bytes.fromhex(call)!r}" for name, call in witnesses.items()
    )
    if found.not_alone:
        message += f" bytes {found.not_alone.hex()} occur in tokens and are none by themselves"
    return Record(
        command="call",
        subject=subject,
        case="functions",
        check="decoders equal",
        verdict="proven" if found.holds else "refuted",
        kind="" if found.holds else "decoders_differ",
        method="both decoders walked byte by byte, each bisimilar to an automaton built from the functions alone",
        domain=dict(found.states),
        seconds=seconds,
        message=message.strip(),
        witness=dict(witnesses),
        detail={"unwritable_bytes": found.unwritable.hex()},
    )


def calls_record(job: Job, answers: Answers, path: str) -> Record:
    """That every answer is a call of the functions; each was read back before it was written."""
    return Record(
        command="call",
        subject=f"{job.model.name}, {job.decoder}",
        case=path,
        check="calls",
        verdict="tested",
        method="parsed and held to the functions file",
        domain={"prompts": len(job.prompts), "resumed": answers.resumed},
        detail={
            "cut_short": sum(decoded.cut_short for decoded in answers.decoded),
            "chosen": sum(decoded.chosen for decoded in answers.decoded),
            "forced_tokens": sum(decoded.forced for decoded in answers.decoded),
            "forced_texts": answers.forced_texts,
        },
    )


def accuracy_record(subject: str, found: Score) -> Record:
    """How many prompts with a known answer were answered right; a measure, no verdict on the constraint."""
    return Record(
        command="call",
        subject=subject,
        case="expected calls",
        check="accuracy",
        verdict="tested",
        method="compared with the expected calls",
        domain={"prompts": found.asked},
        detail=asdict(found),
    )


def cost_record(job: Job, answers: Answers) -> list[Record]:
    """What a choice cost: the model's step, and what the constraint added; nothing when every answer was there."""
    costs = costs_of(answers)
    record = Record(
        command="call",
        subject=f"{job.model.name}, {job.decoder}",
        case="cost",
        check="cost",
        verdict="tested",
        method="median over all choices",
        domain={"choices": int(costs.get("choices", 0))},
        detail=costs | {"model": asdict(job.model.shape)},
    )
    return [record] if costs else []


def costs_of(answers: Answers) -> dict[str, Any]:
    """Medians over the choices that fed one token: milliseconds of the step and of the constraint, and their ratio."""
    steps = [seconds for decoded in answers.decoded for seconds in decoded.model[1:]]
    added = [seconds for decoded in answers.decoded for seconds in decoded.constraint[1:]]
    if not steps:
        return {}
    return {
        "choices": len(steps),
        "step_ms": round(1000 * median(steps), 3),
        "constraint_ms": round(1000 * median(added), 4),
        "overhead": round(median(added) / median(steps), 5),
        "compile_ms": round(1000 * answers.compile_seconds, 3),
    }
