"""A job of walks over languages, as records: for each language one verdict on its outputs and one on the masks met."""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any

from engine.errors import BadInput
from engine.models.needs import demand_models
from engine.results import Record
from engine.suite import Language
from engine.walks import ADVERSARIES, Ground, RandomLogits, Walk, dealt, random_walk
from reference.vocabulary import load_vocabulary

Tell = Callable[[int, int, str], None]
Walked = tuple[Ground, list[Walk], float]


@dataclass(frozen=True, slots=True)
class Settings:
    """What changes an answer: how many walks, from which seed, within which budget, against which adversary.

    `first` is the number of each language's first walk; a model's walks are drawn at `temperature`, `batch` at once.
    """

    walks: int = 210
    seed: int = 10
    budget: int | None = None
    adversary: str = "none"
    first: int = 0
    temperature: float = 1.0
    batch: int = 16
    device: str = "cpu"
    dtype: str = "float32"


def random_job(
    languages: Sequence[Language], vocabulary: str, settings: Settings, tell: Tell
) -> Iterator[list[Record]]:
    """Walks on random logits, language after language; the records of each as soon as they are known."""
    found = load_vocabulary(vocabulary)
    logits = RandomLogits(found, settings.seed, settings.adversary)
    counts, done = dealt([language.id for language in languages], settings.walks), 0
    name = "random" if settings.adversary == "none" else f"random, {settings.adversary}"
    again = f"--model random --vocab {vocabulary} --seed {settings.seed} --adversary {settings.adversary}"
    for language in languages:
        begun = time.perf_counter()
        ground, walks = Ground(language, found), list[Walk]()
        if not ground.is_finishable:
            yield [unfinishable(name, ground)]
            continue
        for number in range(settings.first, settings.first + counts[language.id]):
            tell(done, settings.walks, language.id)
            walks.append(random_walk(ground, logits, number, ground.budget(settings.budget)))
            done += 1
        yield records(name, (ground, walks, time.perf_counter() - begun), settings, again)


def model_job(
    languages: Sequence[Language], model_name: str, settings: Settings, tell: Tell
) -> Iterator[list[Record]]:
    """Walks of a model, languages mixed in every batch; all records at the end, and one of what it cost."""
    if settings.adversary != "none":
        raise BadInput(
            f"--adversary bends random logits only; leave it out, or take --model random ({ADVERSARIES})"
        )
    demand_models()
    from engine.model_walks import Cost, Task, walk_all
    from engine.models.registry import Placement, load_model

    model = load_model(model_name, Placement(settings.device, settings.dtype, settings.seed))
    tell(0, settings.walks, "masks")
    grounds = {language.id: Ground(language, model.vocabulary) for language in languages}
    for name in [name for name, ground in grounds.items() if not ground.is_finishable]:
        yield [unfinishable(model_name, grounds.pop(name))]
    tasks = [
        Task(grounds[name], number, grounds[name].budget(settings.budget))
        for number, name in _interleaved(dealt(list(grounds), settings.walks), settings.first)
    ]
    cost, begun = Cost(), time.perf_counter()
    walked = walk_all(
        model,
        tasks,
        seed=settings.seed,
        temperature=settings.temperature,
        batch=settings.batch,
        cost=cost,
        tell=tell,
    )
    seconds = time.perf_counter() - begun
    for ground in grounds.values():
        mine = [walk for task, walk in walked if task.ground is ground]
        share = seconds * len(mine) / max(len(walked), 1)
        again = f"--model {model_name} --seed {settings.seed} --temperature {settings.temperature}"
        yield records(model_name, (ground, mine, share), settings, again)
    shape = asdict(model.shape)
    yield [
        Record(
            command="walk",
            subject=model_name,
            case="all",
            check="cost",
            verdict="tested",
            method=f"{len(cost.model)} steps of {settings.batch} rows",
            domain={"walks": len(walked), "steps": len(cost.model)},
            seconds=seconds,
            detail={
                "model": shape,
                "cache_bytes": cost.cache_bytes,
                **step_costs(cost.model, cost.constraint),
            },
        )
    ]


def step_costs(model: Sequence[float], constraint: Sequence[float]) -> dict[str, float]:
    """Median milliseconds of a decoding step and of the constraint's part, and their ratio; the prefill is left out."""
    if len(model) < 2:
        return {}
    step, added = median(model[1:]), median(constraint[1:])
    return {
        "prefill_ms": round(1000 * model[0], 3),
        "step_ms": round(1000 * step, 3),
        "constraint_ms": round(1000 * added, 4),
        "overhead": round(added / step, 5),
    }


def unfinishable(subject: str, ground: Ground) -> Record:
    """The record of a language of which this vocabulary cannot write a single output."""
    return Record(
        command="walk",
        subject=subject,
        case=ground.language.id,
        check="outputs",
        verdict="skipped",
        method="fewest tokens to a whole output",
        domain={"states": ground.index.n_states, "tokens": len(ground.index)},
        message=f"vocabulary {ground.index.vocabulary.name} cannot write any whole output of this language",
    )


def records(subject: str, walked: Walked, settings: Settings, again: str) -> list[Record]:
    """The two verdicts on one language's walks; `again` are the options that show a walk once more."""
    ground, walks, seconds = walked
    judge = ground.masks
    seen = {"masks": judge.met, "narrowed": judge.narrowed, "states": len(judge.states)}
    seen |= {"of": ground.index.n_states, "golden": judge.golden}
    taken = {"walks": len(walks), "tokens": sum(len(walk.tokens) for walk in walks), "seed": settings.seed}
    taken["budget"] = ground.budget(settings.budget)
    ends = {end: sum(walk.end == end for walk in walks) for end in ("eos", "whole", "unfinished")}
    first = walks[0].text(ground.index.vocabulary) if walks else b""
    told = {"ends": ends, "model": subject, "output": first.decode(errors="backslashreplace")}
    source = "the oracle's rows and the golden file" if judge.golden else "the oracle's rows"
    checks: tuple[tuple[str, str, dict[str, int], dict[str, Any]], ...] = (
        (
            "outputs",
            "parsed, validated and run through the derivative oracle's automaton",
            taken,
            told,
        ),
        ("masks", f"sha256 of every mask met, against {source}", seen, {}),
    )
    return [
        Record(
            command="walk",
            subject=subject,
            case=ground.language.id,
            check=check,
            method=method,
            domain=domain,
            seconds=seconds if check == "outputs" else 0.0,
            detail=detail,
            **_finding(check, ground, walks, again),
        )
        for check, method, domain, detail in checks
    ]


def _finding(check: str, ground: Ground, walks: Sequence[Walk], again: str) -> dict[str, Any]:
    """The verdict of a check, and its first walk with a problem as witness."""
    if check == "masks" and ground.masks.disagreeing:
        states = ground.masks.disagreeing[:10]
        message = "the golden file and the oracle have different digests"
        return {
            "verdict": "refuted",
            "kind": "golden_differs",
            "message": message,
            "witness": {"states": states},
        }
    for walk in walks:
        problems = walk.mask_problems if check == "masks" else walk.problems
        if problems:
            return {
                "verdict": "refuted",
                "kind": f"walk_{check}",
                "message": f"walk {walk.number}: {problems[0]}",
                "witness": {
                    "tokens": walk.tokens,
                    "text": repr(walk.text(ground.index.vocabulary)),
                    "end": walk.end,
                },
                "reproduce": f"maskproof walk {again} --language {ground.language.id} --walks 1 --first {walk.number}",
            }
    return {"verdict": "tested"}


def _interleaved(counts: dict[str, int], first: int) -> list[tuple[int, str]]:
    """(number, language) of every walk, a walk of each language in turn."""
    longest = max(counts.values(), default=0)
    return [(first + turn, name) for turn in range(longest) for name, count in counts.items() if turn < count]
