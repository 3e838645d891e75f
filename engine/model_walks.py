"""Walks of a model: a batch of outputs side by side, each under the mask of its own state, drawn as SPEC §6 draws.

Rows of one batch may be in different languages and prompts of different lengths. A step is one forward pass, one upload
of the packed masks, one choice on the device, and one list of token ids back; nothing else crosses. Rows that are over
stay in the batch and are fed on with padding until all are over.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.models.base import Model
from engine.models.masking import apply_bitmask, draw, greedy
from engine.walks import Ground, Walk, Walker
from reference.bitmasks import words
from reference.pcg32 import Pcg32

Words = NDArray[np.uint32]


@dataclass(frozen=True, slots=True)
class Task:
    """One walk to take: where, which number its stream has, within which budget."""

    ground: Ground
    number: int
    budget: int | None


@dataclass(slots=True)
class Cost:
    """Seconds of each step of a batch: the model's forward pass, the choice of tokens, and what the constraint adds.

    Choosing is what any decoding does, and judging the masks is the suite's own doing: neither is the constraint's.
    """

    model: list[float] = field(default_factory=list)
    choice: list[float] = field(default_factory=list)
    constraint: list[float] = field(default_factory=list)
    rows: int = 0
    cache_bytes: int = 0


def request(task: Task) -> list[tuple[str, str]]:
    """What the model is asked for, a conversation whose length differs from walk to walk."""
    language = task.ground.language
    kinds = {
        "schema": "JSON for the schema",
        "json_object": "a JSON object, nesting",
        "pattern": "text matching",
    }
    source = language.source if len(language.source) < 400 else language.id
    return [("user", f"Example {task.number}: write {kinds[language.kind]} {source}")]


def walk_batch(
    model: Model, tasks: Sequence[Task], *, seed: int, temperature: float, cost: Cost | None = None
) -> list[Walk]:
    """Take these walks side by side; at temperature 0 the greatest allowed logit is taken, else one is drawn."""
    spent = cost if cost is not None else Cost()
    rows = model.rows([model.chat(request(task)) for task in tasks])
    walkers = [Walker(task.ground, task.number, task.budget) for task in tasks]
    streams = [Pcg32(seed, task.number) for task in tasks]
    pad = _anything(len(model.vocabulary))
    while not all(walker.over for walker in walkers):
        judged = sum(walker.judging for walker in walkers)
        begun = perf_counter()
        logits = rows.logits()
        answered = perf_counter()
        masked = apply_bitmask(logits, _masks(walkers, pad))
        ready = perf_counter()
        tokens = _chosen(masked, temperature, streams)
        chosen = perf_counter()
        for walker, token in zip(walkers, tokens, strict=True):
            if not walker.over:
                walker.take(token)
        rows.feed([[token] for token in tokens])
        judged = sum(walker.judging for walker in walkers) - judged
        spent.model.append(answered - begun)
        spent.choice.append(chosen - ready)
        spent.constraint.append(perf_counter() - chosen + ready - answered - judged)
    spent.rows, spent.cache_bytes = len(tasks), max(spent.cache_bytes, rows.cache_bytes)
    return [walker.walk for walker in walkers]


def walk_all(
    model: Model,
    tasks: Sequence[Task],
    *,
    seed: int,
    temperature: float,
    batch: int,
    cost: Cost,
    tell: Callable[[int, int, str], None],
) -> list[tuple[Task, Walk]]:
    """All walks, batch after batch, in the order of the tasks."""
    done: list[tuple[Task, Walk]] = []
    for start in range(0, len(tasks), batch):
        part = tasks[start : start + batch]
        tell(start, len(tasks), part[0].ground.language.id)
        walks = walk_batch(model, part, seed=seed, temperature=temperature, cost=cost)
        done += zip(part, walks, strict=True)
    return done


def _masks(walkers: Sequence[Walker], pad: Words) -> Words:
    """The packed mask of every row; one that is over, or that this step ends, may take token 0 and nothing else."""
    masks = [pad if walker.over else walker.bitmask() for walker in walkers]
    return np.stack([pad if walker.over else mask for walker, mask in zip(walkers, masks, strict=True)])


def _chosen(masked: Any, temperature: float, streams: Sequence[Pcg32]) -> list[int]:
    if temperature == 0:
        greatest: list[int] = greedy(masked).tolist()
        return greatest
    drawn: list[int] = draw(masked, temperature, [stream.uniform() for stream in streams]).tolist()
    return drawn


def _anything(size: int) -> Words:
    """A mask that allows token 0 alone, for a row that is over."""
    row = np.zeros(words(size), np.uint32)
    row[0] = 1
    return row
