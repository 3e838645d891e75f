"""The derivative oracle's golden: automata and masks that no code of the reference has touched.

The patterns are the suite's own and the hand examples of the schemas, typed in from SPEC §4; the vocabulary is read
from fixtures/toy_vocabulary.json; paths are chosen by SHA-256. Confirmed: the automaton by Python's `re` on short
strings, the masks by first principles on the automaton and by derivatives of the pattern text.
"""

import hashlib
import itertools
import json
import re
from typing import Any, Literal

from engine.golden.agreement import agreed
from engine.golden.automata import as_case
from engine.golden.document import Case, Golden, digest
from engine.golden.masks import packed
from engine.golden.pitfalls import flags_of
from fixtures import ROOT
from oracles import canonical, derivatives, token_masks

Dialect = Literal["bytes", "unicode"]

PATHS = 2
LONGEST = 24
HAND = {
    "integer": (r"-?(?:0|[1-9][0-9]*)", "the INTEGER constant"),
    "number": (r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+\-]?[0-9]+)?", "the NUMBER constant"),
    "optional-pair": (
        r"\{(?:\"x\":-?(?:0|[1-9][0-9]*)(?:,\"y\":-?(?:0|[1-9][0-9]*))?|(?:\"y\":-?(?:0|[1-9][0-9]*)|))\}",
        "two optional integers, typed in from the hand example",
    ),
    "array-at-most-two": (r"\[(?:(?:true|false)(?:,(?:true|false)){0,1})?\]", "at most two booleans"),
}


def files() -> list[Golden]:
    """One file of automata with masks."""
    languages = (ROOT / "languages.json").read_bytes()
    toy = (ROOT / "toy_vocabulary.json").read_bytes()
    vocabulary = json.loads(toy)
    tokens = [None if token is None else bytes.fromhex(token) for token in vocabulary["tokens"]]
    cases = [_case(*entry, tokens, vocabulary["eos"]) for entry in _patterns(json.loads(languages))]
    about = "Canonical automata and masks by the derivative oracle alone, over fixtures/toy_vocabulary.json."
    inputs = digest(languages, toy, *(pattern for pattern, _ in HAND.values()))
    return [
        Golden(
            "oracle/automata.json", "golden-oracle.schema.json", about, flags_of(cases), tuple(cases), inputs
        )
    ]


def _patterns(document: dict[str, Any]) -> list[tuple[str, str, Dialect, str, list[str]]]:
    own = [
        (entry["id"], entry["pattern"], entry["dialect"], entry["why"], entry["guards"])
        for entry in document["languages"]
        if entry["kind"] == "pattern"
    ]
    return own + [(f"spec-{name}", pattern, "bytes", why, ["hand"]) for name, (pattern, why) in HAND.items()]


def _case(
    name: str,
    pattern: str,
    dialect: Dialect,
    why: str,
    flags: list[str],
    tokens: list[bytes | None],
    eos: list[int],
) -> Case:
    accept, table = canonical.canonical(*derivatives.automaton(pattern, dialect))
    confirmed = ["derivatives", "first principles on the canonical automaton"]
    if dialect == "bytes":
        _agree_with_re(pattern, accept, table)
        confirmed.append("re.fullmatch on every string up to length 3 over the bytes that matter")
    paths = [_path(name, seed, (accept, table), (pattern, dialect), tokens, eos) for seed in range(PATHS)]
    return {
        "id": name,
        "comment": why,
        "flags": flags,
        "dialect": dialect,
        "pattern": pattern,
        "automaton": as_case(accept, table),
        "paths": paths,
        "confirmed_by": confirmed,
    }


def _path(
    name: str,
    seed: int,
    automaton: tuple[list[int], list[list[int]]],
    language: tuple[str, Dialect],
    tokens: list[bytes | None],
    eos: list[int],
) -> dict[str, Any]:
    accept, table = automaton
    rows = list(token_masks.mask_rows(accept, table, tokens, eos))
    state, prefix = 0, b""
    steps: list[dict[str, Any]] = []
    while len(steps) < LONGEST:
        ids = [int(token) for token in rows[state].nonzero()[0]]
        agreed(
            f"mask of {name} after {prefix!r}",
            ids,
            sorted(token_masks.allowed(*language, prefix, tokens, eos)),
        )
        step: dict[str, Any] = {
            "prefix": prefix.hex(),
            "allowed": ids,
            "mask": packed(ids, len(tokens)).hex(),
        }
        step["complete"] = state in accept
        steps.append(step)
        if not ids:
            break
        step["token"] = _pick(name, seed, len(steps), ids)
        if step["token"] in eos:
            break
        for byte in tokens[step["token"]] or b"":
            state = table[state][byte]
        prefix += tokens[step["token"]] or b""
    return {"seed": seed, "steps": steps}


def _pick(name: str, seed: int, step: int, ids: list[int]) -> int:
    draw = hashlib.sha256(f"{name} {seed} {step}".encode()).digest()
    return ids[int.from_bytes(draw[:8], "big") % len(ids)]


def _agree_with_re(pattern: str, accept: list[int], table: list[list[int]]) -> None:
    """Python's own matcher says the same of every string up to length 3 over one byte of each class."""
    # A non-ASCII literal is one atom here and several bytes to `re`: grouped, the two mean the same.
    compiled = re.compile(re.sub("[^\x00-\x7f]", r"(?:\g<0>)", pattern).encode())
    columns = {tuple(row[byte] for row in table): byte for byte in reversed(range(256))}
    for length in range(4):
        for letters in itertools.islice(itertools.product(sorted(columns.values()), repeat=length), 5000):
            state = 0
            for byte in letters:
                state = -1 if state == -1 else table[state][byte]
            text = bytes(letters)
            agreed(f"{pattern} on {text!r}", state in accept, compiled.fullmatch(text) is not None)
