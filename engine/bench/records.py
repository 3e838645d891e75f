"""Samples as results: one record a peer, workload and measure, a sample a round; and the ratios that sum them up."""

from collections.abc import Iterator, Sequence
from statistics import geometric_mean, median
from typing import Any

import numpy as np

from engine.bench.peers import Measured, Samples
from engine.results import Record

BASELINE = "reference"
MEASURES = (
    ("compile", "ms"),
    ("time to first mask", "ms"),
    ("mask p50", "µs"),
    ("mask p90", "µs"),
    ("mask p99", "µs"),
    ("full table", "ms"),
)
SCALES = {"ms": 1e3, "µs": 1e6}


def peer_records(found: Measured) -> Iterator[Record]:
    """A record for every measure that an engine gave, and one that says so where it gave none."""
    for (workload, engine), samples in found.samples.items():
        if samples.error:
            yield _declined(engine, workload, samples.error)
        for measure, unit in MEASURES:
            values = rounds_of(samples, measure)
            if values:
                yield measure_record(engine, workload, measure, unit, values, version=found.versions[engine])
    for engine, reason in found.absent.items():
        yield _declined(engine, "all", reason, verdict="skipped")


def measure_record(
    subject: str,
    case: str,
    measure: str,
    unit: str,
    samples: Sequence[float],
    *,
    better: str = "lower",
    baseline: str = BASELINE,
    **detail: Any,
) -> Record:
    """One measure of one subject, its samples in the unit."""
    scaled = [round(value * SCALES.get(unit, 1.0), 4) for value in samples]
    told = {"measure": measure, "unit": unit, "samples": scaled, "better": better, "baseline": baseline}
    return Record(
        command="bench",
        subject=subject,
        case=case,
        check=measure,
        verdict="tested",
        method="timed around the native call",
        domain={"samples": len(scaled)},
        detail=told | detail,
    )


def rounds_of(samples: Samples, measure: str) -> list[float]:
    """The seconds of a measure, one a round."""
    masks = [each for each in samples.masks if each]
    compiles = [each for each in samples.compiles if each is not None]
    if measure == "compile":
        return compiles
    if measure == "full table":
        return [each for each in samples.tables if each is not None]
    if measure == "time to first mask":
        return [spent + each[0] for spent, each in zip(compiles, masks, strict=False)]
    share = float(measure.removeprefix("mask p"))
    return [float(np.percentile(each, share)) for each in masks]


def ratios(found: Measured) -> dict[str, dict[str, tuple[float, float, float]]]:
    """By engine and measure: its time over the reference's, the geometric mean over workloads, and the least and most.

    Below 1 the engine is faster. Each workload's ratio is the median of the ratios within the rounds.
    """
    engines = dict.fromkeys(engine for _, engine in found.samples if engine != BASELINE)
    return {
        engine: {
            measure: (round(geometric_mean(each), 4), round(min(each), 4), round(max(each), 4))
            for measure, _ in MEASURES
            if (each := _ratios(found, engine, measure))
        }
        for engine in engines
    }


def _ratios(found: Measured, engine: str, measure: str) -> list[float]:
    several = []
    for workload in dict.fromkeys(workload for workload, _ in found.samples):
        ours = (
            rounds_of(found.samples[workload, BASELINE], measure)
            if (workload, BASELINE) in found.samples
            else []
        )
        theirs = rounds_of(found.samples.get((workload, engine), Samples()), measure)
        pairs = [their / our for our, their in zip(ours, theirs, strict=False) if our > 0 and their > 0]
        if pairs:
            several.append(median(pairs))
    return several


def _declined(engine: str, workload: str, reason: str, verdict: str = "") -> Record:
    late = reason.startswith("no answer within")
    return Record(
        command="bench",
        subject=engine,
        case=workload,
        check="compile",
        verdict="skipped" if verdict else "undecided" if late else "refused",
        message=reason,
        detail={"measure": "compile", "unit": "ms", "samples": [], "better": "lower", "baseline": BASELINE},
    )
