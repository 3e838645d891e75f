"""A whole run of measures: engines side by side, then a model beside itself."""

import os
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any

from engine.bench.peers import ENGINES, Measured, measure, workloads
from engine.bench.records import peer_records, ratios
from engine.models.needs import demand_models
from engine.results import Record
from engine.suite import select
from reference.vocabulary import load_vocabulary

Tell = Callable[[int, int, str], None]


@dataclass(frozen=True, slots=True)
class Settings:
    """What is measured: which engines in which Python, how often, how long an answer may take, which model."""

    vocabulary: str = "qwen3"
    engines: tuple[str, ...] = ENGINES
    python: str = ""
    rounds: int = 5
    limit: float = 60.0
    quick: bool = False
    seed: int = 10
    model: str = ""
    tokens: int = 32
    dtype: str = "float32"
    device: str = "cpu"


@dataclass(slots=True)
class Summary:
    """Ratios of every engine over the reference, what is not here, and the constraint's share of a model's step."""

    ratios: dict[str, dict[str, tuple[float, float, float]]]
    absent: dict[str, str]
    overheads: dict[str, float]
    model: dict[str, Any]


def run_peers(settings: Settings, tell: Tell) -> tuple[Measured, Iterator[Record]]:
    """Measure all engines; the samples, and their records."""
    vocabulary = load_vocabulary(settings.vocabulary)
    found = measure(
        workloads(vocabulary, seed=settings.seed, quick=settings.quick),
        vocabulary,
        engines=settings.engines,
        python=settings.python,
        rounds=settings.rounds,
        limit=settings.limit,
        tell=tell,
    )
    return found, peer_records(found)


def run_model(settings: Settings, tell: Tell) -> tuple[dict[str, float], dict[str, Any], list[Record]]:
    """Measure a model with and without the constraint: overheads by language, what the model is, records."""
    demand_models()
    from engine.bench.decoding import LANGUAGES, compare, decoding_records, mask_records, overheads
    from engine.models.registry import Placement, load_model

    before = resident_bytes()
    model = load_model(settings.model, Placement(settings.device, settings.dtype, settings.seed))
    loaded = resident_bytes() - before
    languages = select(list(LANGUAGES))
    sides = compare(
        model, languages, rounds=settings.rounds, tokens=settings.tokens, seed=settings.seed, tell=tell
    )
    records = list(decoding_records(model, sides))
    for language in languages:
        records += mask_records(language, model.vocabulary, settings.rounds)
    free = sides["unconstrained"]
    told = asdict(model.shape) | {
        "resident_bytes": loaded,
        "cache_bytes": max(side.cache_bytes for side in sides.values()),
        "prefill_ms": round(1000 * median(free.prefill), 3),
        "step_ms": round(1000 * median(free.step), 3),
    }
    return overheads(sides), told, records


def resident_bytes() -> int:
    """Memory that this process holds now, 0 where the system does not say."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    except (OSError, ValueError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")


def summary(found: Measured | None, overheads: dict[str, float], model: dict[str, Any]) -> Summary:
    """What a run comes to."""
    told = ratios(found) if found is not None else {}
    return Summary(told, found.absent if found is not None else {}, overheads, model)
