"""Sampling: PCG32 streams, and logits → token and logprob under masks, penalties and filters.

Confirmed: the first stream by the paper's published outputs, everything by oracles/draws.py, one float at a time.
"""

import itertools
import math
from typing import Any

import numpy as np

from engine.golden.agreement import Disagreement, agreed
from engine.golden.document import Case, Golden, digest
from engine.golden.pitfalls import flags_of
from oracles import draws
from reference.compile import regex_to_dfa
from reference.constraint import Constraint
from reference.masks import TokenIndex
from reference.pcg32 import Pcg32
from reference.sampling import SamplingParams, constrained_sample
from reference.vocabulary import Vocabulary

PUBLISHED = ("a15c02b7", "7b47f409", "ba1d3330", "83d2f293", "bfa4784b", "cbed606e")
STREAMS = ((42, 54), (0, 0), (1, 0), (0, 1), (2**64 - 1, 2**63 - 1), (20261130, 7))
PATTERN = "(?:ab?c?|b+|[c-h]{2})"
LETTERS = tuple(bytes([byte]) for byte in b"abcdefgh")
VOCABULARY = Vocabulary((*LETTERS, b"ab", b"", None, b"bb", None), frozenset({12}), "letters")
LOGITS = (1.5, 2.0, 5.0, -1.0, 0.25, 0.25, -3.0, 0.0, 1.75, 9.0, 9.0, 0.5, 2.5)
SETTINGS: tuple[tuple[str, str, dict[str, float]], ...] = (
    ("greedy", "the greatest allowed logit, not the greatest", {"temperature": 0.0}),
    ("plain", "temperature 1, nothing filtered", {}),
    ("cold", "a low temperature sharpens", {"temperature": 0.25}),
    ("hot", "a high temperature flattens", {"temperature": 3.0}),
    ("top-k", "the three greatest; equal logits by lower id", {"top_k": 3}),
    ("top-k-one", "one is left whatever the draw", {"top_k": 1}),
    ("top-p", "the shortest head that reaches 0.6", {"top_p": 0.6}),
    (
        "top-p-hot",
        "a flat distribution, where reaching 0.5 takes several",
        {"temperature": 4.0, "top_p": 0.5},
    ),
    ("min-p", "nothing under a third of the greatest", {"min_p": 0.34}),
    (
        "all-filters",
        "the filters in their order",
        {"temperature": 0.8, "top_k": 6, "top_p": 0.9, "min_p": 0.05},
    ),
    ("repetition", "divides above zero, multiplies below", {"repetition_penalty": 1.5}),
    ("presence", "once, however often", {"presence_penalty": 1.0}),
    ("frequency", "once for each time", {"frequency_penalty": 0.75}),
    (
        "penalties-greedy",
        "penalties move the greatest",
        {"temperature": 0.0, "repetition_penalty": 2.0, "presence_penalty": 0.5, "frequency_penalty": 0.5},
    ),
)
SEEDS = 5
PROMPT = (2, 5, 0)
OUTPUT = (8, 8, 1, 3)


def files() -> list[Golden]:
    """PCG32 streams, and draws."""
    streams = [_stream(seed, sequence) for seed, sequence in STREAMS]
    drawn = [_draw(*setting, seed) for setting in SETTINGS for seed in range(SEEDS)]
    extreme = [_extreme(name, values) for name, values in _extremes().items()]
    ties = "all equal at temperature 0: the lowest allowed id"
    extreme.append(_case("greedy-ties", ties, {"temperature": 0.0}, 1, [0.0] * len(VOCABULARY.tokens)))
    inputs = digest(
        repr((STREAMS, PATTERN, VOCABULARY.digest(), LOGITS, SETTINGS, PROMPT, OUTPUT, PUBLISHED))
    )
    return [
        Golden(
            "sampling/pcg32.json",
            "golden-pcg32.schema.json",
            "Streams of PCG-XSH-RR 64/32 and their uniform values.",
            flags_of(streams),
            tuple(streams),
            inputs,
        ),
        Golden(
            "sampling/draws.json",
            "golden-draws.schema.json",
            "Logits, mask, parameters and history → the token drawn and its log-probability (to 1e-9).",
            flags_of([*drawn, *extreme]),
            (*drawn, *extreme),
            inputs,
        ),
    ]


def _stream(seed: int, sequence: int) -> Case:
    rng = Pcg32(seed, sequence)
    own = [rng.next_u32() for _ in range(6)]
    words = agreed(f"PCG32 {seed} {sequence}", own, list(itertools.islice(draws.pcg32(seed, sequence), 6)))
    hexed = [f"{word:08x}" for word in words]
    published = (seed, sequence) == STREAMS[0]
    if published:
        agreed("the paper's stream", hexed, list(PUBLISHED))
    return {
        "id": f"pcg32-{seed}-{sequence}",
        "comment": "the paper's own stream" if published else "another seed and sequence",
        "flags": ["random"],
        "seed": str(seed),
        "sequence": str(sequence),
        "words": hexed,
        "uniform": [word / 2**32 for word in words],
        "confirmed_by": ["reference", "oracles.draws", *(["hand"] if published else [])],
    }


def _extremes() -> dict[str, list[float]]:
    size = len(VOCABULARY.tokens)
    return {
        "all-equal": [0.0] * size,
        "huge": [1e30 if token % 2 else -1e30 for token in range(size)],
        "far-apart": [1e30, -1e30, *([0.0] * (size - 2))],
        "denormal": [2.0**-149 * token for token in range(size)],
    }


def _extreme(name: str, logits: list[float]) -> Case:
    return _case(f"extreme-{name}", f"logits {name}: no NaN, no forbidden token", {}, 1, logits)


def _draw(name: str, why: str, params: dict[str, float], seed: int) -> Case:
    return _case(f"{name}-{seed}", why, params, seed, list(LOGITS))


def _case(name: str, why: str, params: dict[str, float], seed: int, logits: list[float]) -> Case:
    index = TokenIndex(regex_to_dfa(PATTERN), VOCABULARY)
    constraint, rng = Constraint(index), Pcg32(seed, 1)
    before = {"state": str(rng.state), "inc": str(rng.inc)}
    allowed = [int(token) for token in index.allowed(0)]
    settings = SamplingParams(**params)  # type: ignore[arg-type]
    token, logprob = constrained_sample(
        np.array(logits, dtype=np.float32), constraint, settings, list(PROMPT), list(OUTPUT), rng
    )
    uniform = draws.pcg32_output(int(before["state"])) / 2**32
    rounded = [float(value) for value in np.array(logits, dtype=np.float32)]
    wanted, wanted_logprob = draws.draw(rounded, allowed, params, PROMPT, OUTPUT, uniform)
    agreed(f"draw {name}", int(token), wanted)
    if not math.isclose(logprob, wanted_logprob, rel_tol=1e-9, abs_tol=1e-9):
        raise Disagreement(f"draw {name}: logprob {logprob} and {wanted_logprob}")
    case: dict[str, Any] = {
        "id": name,
        "comment": why,
        "flags": ["sampling", "logprob", "s11"],
        "pattern": PATTERN,
        "tokens": [None if data is None else data.hex() for data in VOCABULARY.tokens],
        "eos": sorted(VOCABULARY.eos),
        "allowed": allowed,
        "logits": rounded,
        "params": params,
        "prompt": list(PROMPT),
        "output": list(OUTPUT),
        "rng": before,
        "token": int(token),
        "logprob": float(f"{wanted_logprob:.12g}"),
        "rng_after": {"state": str(rng.state), "inc": str(rng.inc)},
        "confirmed_by": ["reference", "oracles.draws"],
    }
    return case
