"""A model with and without the constraint, on one machine, turn by turn: what masking costs beside the model itself.

Prefill (the prompt, once) and decode (one token a step, keys and values cached) are timed apart. In every round a
prompt is continued freely and under each language's constraint; the step's own forward pass is the yardstick for what
the constraint adds: looking up the mask, unpacking it, masking the logits, advancing the automaton.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from statistics import median
from typing import Any

from engine.bench.records import measure_record
from engine.model_walks import Cost, Task, walk_batch
from engine.models.base import Model
from engine.results import Record
from engine.suite import Language
from engine.walks import Ground
from reference.compile import regex_to_dfa
from reference.masks import TokenIndex
from reference.vocabulary import Vocabulary

UNCONSTRAINED = "unconstrained"
LANGUAGES = ("city", "tool-call", "json-object")
PROMPT = [
    ("user", "Write a short note about the weather in Paris, London and Rome, and about what to wear there.")
]


@dataclass(slots=True)
class Side:
    """One side of the comparison, a sample a round: seconds of the prefill, of a step, of the constraint's part."""

    prefill: list[float] = field(default_factory=list)
    step: list[float] = field(default_factory=list)
    constraint: list[float] = field(default_factory=list)
    cache_bytes: int = 0


def compare(
    model: Model,
    languages: Sequence[Language],
    *,
    rounds: int,
    tokens: int,
    seed: int,
    tell: Callable[[int, int, str], None],
) -> dict[str, Side]:
    """Free and constrained decoding in turn; each round's sample is the median over its steps."""
    sides = {name: Side() for name in (UNCONSTRAINED, *(language.id for language in languages))}
    grounds = [Ground(language, model.vocabulary) for language in languages]
    for turn in range(rounds):
        tell(turn, rounds, model.name)
        _add(sides[UNCONSTRAINED], free(model, tokens))
        for ground in grounds:
            cost = Cost()
            task = Task(ground, turn, max(tokens, ground.least_budget))
            walk_batch(model, [task], seed=seed, temperature=1.0, cost=cost)
            _add(sides[ground.language.id], cost)
    return sides


def free(model: Model, tokens: int) -> Cost:
    """So many greedy tokens without a constraint, through the end of the text if need be."""
    cost, rows = Cost(rows=1), model.rows([model.chat(PROMPT)])
    for _ in range(tokens):
        begun = time.perf_counter()
        logits = rows.logits()
        cost.model.append(time.perf_counter() - begun)
        rows.feed([[int(logits[0].argmax())]])
    cost.cache_bytes = rows.cache_bytes
    return cost


def mask_costs(language: Language, vocabulary: Vocabulary) -> dict[str, Any]:
    """What a language costs before decoding: compile, one mask made anew (all states), the whole table, its bytes."""
    begun = time.perf_counter()
    dfa = regex_to_dfa(language.pattern, language.dialect)
    compiled = time.perf_counter() - begun
    index, singles = TokenIndex(dfa, vocabulary), list[float]()
    for state in range(dfa.n_states):
        begun = time.perf_counter()
        index.bitmask(state)
        singles.append(time.perf_counter() - begun)
    begun = time.perf_counter()
    table = TokenIndex(dfa, vocabulary).bitmask_table()
    return {
        "compile": compiled,
        "masks": singles,
        "table": time.perf_counter() - begun,
        "bytes": table.nbytes,
    }


def decoding_records(model: Model, sides: dict[str, Side]) -> Iterator[Record]:
    """Speed of each side, and the constraint's part as a share of the model's own step."""
    for name, side in sides.items():
        case = f"{model.name} decoding"
        whole = [step + added for step, added in zip(side.step, side.constraint, strict=True)]
        about: dict[str, Any] = {"baseline": UNCONSTRAINED, "cache_bytes": side.cache_bytes}
        yield measure_record(name, case, "ms/token", "ms", whole, **about)
        speeds = [1 / seconds for seconds in whole]
        yield measure_record(name, case, "tokens/s", "1/s", speeds, better="higher", **about)
        yield measure_record(name, case, "prefill", "ms", side.prefill, **about)
        if name != UNCONSTRAINED:
            yield measure_record(name, case, "constraint/token", "µs", side.constraint, **about)
            shares = [added / step for step, added in zip(side.step, side.constraint, strict=True)]
            yield measure_record(
                name, case, "constraint/step", "", shares, **about, model=asdict(model.shape)
            )


def mask_records(language: Language, vocabulary: Vocabulary, rounds: int) -> Iterator[Record]:
    """Compile, mask construction and whole table of one language over the model's vocabulary."""
    costs = [mask_costs(language, vocabulary) for _ in range(rounds)]
    case = f"{language.id} on {vocabulary.name}"
    bytes_ = costs[0]["bytes"]
    yield measure_record("reference", case, "compile", "ms", [cost["compile"] for cost in costs])
    yield measure_record("reference", case, "mask made anew", "µs", [median(cost["masks"]) for cost in costs])
    yield measure_record(
        "reference", case, "full table", "ms", [cost["table"] for cost in costs], table_bytes=bytes_
    )


def overheads(sides: dict[str, Side]) -> dict[str, float]:
    """By language the constraint's part of a step: the median over the rounds of added / step."""
    return {
        name: round(median(added / step for step, added in zip(side.step, side.constraint, strict=True)), 5)
        for name, side in sides.items()
        if name != UNCONSTRAINED
    }


def _add(side: Side, cost: Cost) -> None:
    side.prefill.append(cost.model[0])
    side.step.append(median(cost.model[1:]))
    side.constraint.append(median(cost.constraint[1:]) if cost.constraint else 0.0)
    side.cache_bytes = max(side.cache_bytes, cost.cache_bytes)
