"""Walks of a model: a batch of outputs side by side, each under the mask of its own state, drawn as SPEC §6 draws.

Rows of one batch may be in different languages and prompts of different lengths. A step is one forward pass, one upload
of the packed masks, one choice on the device, and one list of token ids back; nothing else crosses. Rows that are over
stay in the batch and are fed on with padding until all are over.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from time import perf_counter

import numpy as np

from engine.models.base import Model
from engine.models.masking import apply_bitmask, draw, greedy
from engine.walks import Ground, Walk, Walker
from reference.bitmasks import words
from reference.pcg32 import Pcg32


@dataclass(frozen=True, slots=True)
class Task:
    """One walk to take: where, which number its stream has, within which budget."""

    ground: Ground
    number: int
    budget: int | None


@dataclass(slots=True)
class Cost:
    """Seconds of each step of a batch: the model's forward pass, and everything the constraint adds to it."""

    model: list[float] = field(default_factory=list)
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
        begun = perf_counter()
        logits = rows.logits()
        answered = perf_counter()
        masks = np.stack([pad if walker.over else walker.bitmask() for walker in walkers])
        masks[[walker.over for walker in walkers]] = pad
        masked = apply_bitmask(logits, masks)
        if temperature == 0:
            tokens = greedy(masked).tolist()
        else:
            tokens = draw(masked, temperature, [stream.uniform() for stream in streams]).tolist()
        for walker, token in zip(walkers, tokens, strict=True):
            if not walker.over:
                walker.take(token)
        spent.constraint.append(perf_counter() - answered)
        spent.model.append(answered - begun)
        rows.feed([[token] for token in tokens])
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


def _anything(size: int) -> np.ndarray[tuple[int], np.dtype[np.uint32]]:
    """A mask that allows token 0 alone, for a row that is over."""
    row = np.zeros(words(size), np.uint32)
    row[0] = 1
    return row
