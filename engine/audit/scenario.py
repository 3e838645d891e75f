"""A scenario: what is asked of an engine, as data, small enough to paste into a bug report.

A scenario is a list of steps over sessions and grammars of one or more vocabularies. It says nothing of the answers:
those are judged, step by step, against the exact masks (engine/audit/judging.py). So any scenario may be cut to any
part of itself and still means something: a step that names a session which is not open is passed over, and
`advance` by a forbidden token is a question like any other. That is what shrinking needs.

| step | meaning |
|---|---|
| ("compile", g) | compile grammar g anew, though it may have been compiled before |
| ("open", s, g) | session s at the start of grammar g, which is compiled when it was not |
| ("mask", s) | ask for the mask |
| ("advance", s, t) | take token t, or be refused |
| ("fork", s, c), ("rollback", s, n) | copy s to c, take back n tokens |
| ("close", s), ("forget", g) | close a session, a grammar |
| ("vocab", v) | give the port vocabulary v; all grammars and sessions are gone |
"""

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from engine.audit.vocabularies import loader_file, named
from engine.errors import BadInput, Refused
from reference.vocabulary import Vocabulary

FORMAT = 1
INLINE = 200
LARGEST = 10_000_000
Step = tuple[Any, ...]
ARGUMENTS = {
    "compile": 1,
    "open": 2,
    "mask": 1,
    "advance": 2,
    "fork": 2,
    "rollback": 2,
    "close": 1,
    "forget": 1,
    "vocab": 1,
}


@dataclass(frozen=True, slots=True)
class Grammar:
    """What is compiled: a kind of the protocol and a source text."""

    kind: str
    source: str


@dataclass(frozen=True, slots=True)
class Scenario:
    """Steps over grammars and vocabularies; the first vocabulary is given at the start."""

    vocabularies: tuple[Vocabulary, ...]
    grammars: tuple[Grammar, ...]
    steps: tuple[Step, ...]

    def with_steps(self, steps: Iterable[Step]) -> "Scenario":
        """The same over other steps."""
        return replace(self, steps=tuple(steps))

    def size(self) -> int:
        """How much there is to read: steps, source characters, tokens and their bytes."""
        pieces = [
            token for vocabulary in self.vocabularies for token in vocabulary.tokens if token is not None
        ]
        tokens = len(pieces) + sum(map(len, pieces)) - sum(map(bool, pieces))
        return len(self.steps) + sum(len(grammar.source) for grammar in self.grammars) + tokens

    def asked(self) -> Grammar | None:
        """The grammar that the last step is about; None for a step that is about no session."""
        opened: dict[int, int] = {}
        for step in self.steps:
            if step[0] == "open":
                opened[step[1]] = step[2]
            elif step[0] == "fork" and step[1] in opened:
                opened[step[2]] = opened[step[1]]
        number = opened.get(self.steps[-1][1]) if self.steps and self.steps[-1][0] != "vocab" else None
        return None if number is None else self.grammars[number]


def joined(scenarios: Iterable[Scenario]) -> Scenario:
    """The scenarios one after the other, their sessions kept apart."""
    vocabularies: list[Vocabulary] = []
    grammars: list[Grammar] = []
    steps: list[Step] = []
    for number, scenario in enumerate(scenarios):
        places = [_place(vocabularies, vocabulary) for vocabulary in scenario.vocabularies]
        if steps and places[0] != _last_vocabulary(steps):
            steps.append(("vocab", places[0]))
        names = [_place(grammars, grammar) for grammar in scenario.grammars]
        steps += (_moved(step, number * 10_000, names, places) for step in scenario.steps)
    return Scenario(tuple(vocabularies), tuple(grammars), tuple(steps))


def to_json(scenario: Scenario) -> dict[str, Any]:
    """The scenario as plain data; vocabularies are sparse, so that a fault above id 65,535 stays small."""
    return {
        "vocabularies": [_vocabulary_to_json(vocabulary) for vocabulary in scenario.vocabularies],
        "grammars": [{"kind": grammar.kind, "source": grammar.source} for grammar in scenario.grammars],
        "steps": [list(step) for step in scenario.steps],
    }


def from_json(document: dict[str, Any], place: str = "scenario") -> Scenario:
    """The scenario of plain data, every step looked at."""
    try:
        scenario = Scenario(
            tuple(_vocabulary_from_json(entry) for entry in document["vocabularies"]),
            tuple(Grammar(str(entry["kind"]), str(entry["source"])) for entry in document["grammars"]),
            tuple(_step(entry) for entry in document["steps"]),
        )
        _check_numbers(scenario)
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise BadInput(f"{place}: no scenario ({error!r}); take one that an audit wrote") from error
    return scenario


def write(path: Path, scenario: Scenario, **about: Any) -> None:
    """Write the reproduction file: what was found (`about`), then the scenario, readable."""
    path.parent.mkdir(parents=True, exist_ok=True)
    document = {"format": FORMAT, **about, **to_json(scenario)}
    path.write_text(_pretty(document), encoding="utf-8")


def read(path: Path) -> tuple[Scenario, dict[str, Any]]:
    """The scenario of a reproduction file, and what is told about it."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise BadInput(f"{path}: cannot be read ({error}); take a file that an audit wrote") from error
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise BadInput(f"{path}: 'format' is not {FORMAT}; take a file that this version wrote")
    return from_json(document, str(path)), document


def digest(scenario: Scenario) -> str:
    """Eight hex digits that name a scenario."""
    return hashlib.sha256(json.dumps(to_json(scenario), sort_keys=True).encode()).hexdigest()[:8]


def _pretty(document: dict[str, Any]) -> str:
    """One line a key, one line a step: short files read well and differ well."""
    lines = []
    for key, value in document.items():
        text = json.dumps(value, ensure_ascii=False)
        if key == "steps" and len(text) > 90:
            rows = ",\n  ".join(json.dumps(step, ensure_ascii=False) for step in value)
            text = f"[\n  {rows}\n ]"
        lines.append(f" {json.dumps(key)}: {text}")
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _place(shelf: list[Any], thing: Any) -> int:
    if thing not in shelf:
        shelf.append(thing)
    return shelf.index(thing)


def _last_vocabulary(steps: list[Step]) -> int:
    return next((step[1] for step in reversed(steps) if step[0] == "vocab"), 0)


def _moved(step: Step, offset: int, grammars: list[int], vocabularies: list[int]) -> Step:
    match step:
        case ("open", session, grammar):
            return ("open", session + offset, grammars[grammar])
        case ("fork", session, copy):
            return ("fork", session + offset, copy + offset)
        case ("compile" | "forget" as op, grammar):
            return (op, grammars[grammar])
        case ("vocab", vocabulary):
            return ("vocab", vocabularies[vocabulary])
        case (op, session, *rest):
            return (op, session + offset, *rest)
    raise AssertionError(step)


def _step(entry: list[Any]) -> Step:
    op, *arguments = entry
    if len(arguments) != ARGUMENTS[op] or not all(type(argument) is int for argument in arguments):
        raise ValueError(f"step {entry!r}")
    return (op, *arguments)


def _check_numbers(scenario: Scenario) -> None:
    """Refuse a scenario without a vocabulary, steps that name what is not there, and sources that are no text."""
    if not scenario.vocabularies:
        raise ValueError("no vocabulary")
    for grammar in scenario.grammars:
        grammar.source.encode()
    for step in scenario.steps:
        shelf = {"vocab": scenario.vocabularies} | dict.fromkeys(
            ("open", "compile", "forget"), scenario.grammars
        )
        if step[0] in shelf and not 0 <= step[-1] < len(shelf[step[0]]):
            raise ValueError(f"step {list(step)!r} names what the file does not have")


def _vocabulary_to_json(vocabulary: Vocabulary) -> dict[str, Any]:
    if _is_named(vocabulary):
        return {"name": vocabulary.name, "eos": sorted(vocabulary.eos)}
    tokens = {str(token): _shown(piece) for token, piece in enumerate(vocabulary.tokens) if piece is not None}
    return {"size": len(vocabulary), "eos": sorted(vocabulary.eos), "tokens": tokens}


def _is_named(vocabulary: Vocabulary) -> bool:
    """Whether the vocabulary is large, or a loader's, and the one that its name gives."""
    if len(vocabulary) <= INLINE and loader_file(vocabulary) is None:
        return False
    try:
        return named([vocabulary.name], sorted(vocabulary.eos))[0] == vocabulary
    except Refused:
        return False


def _shown(piece: bytes) -> str | dict[str, str]:
    try:
        text = piece.decode("utf-8")
    except UnicodeDecodeError:
        return {"hex": piece.hex()}
    return text if text.isprintable() else {"hex": piece.hex()}


def _vocabulary_from_json(entry: dict[str, Any]) -> Vocabulary:
    if "name" in entry:
        return named([str(entry["name"])], entry["eos"])[0]
    size = int(entry["size"])
    if size > LARGEST:
        raise ValueError(f"a vocabulary of {size} ids")
    tokens: list[bytes | None] = [None] * size
    for token, piece in entry["tokens"].items():
        tokens[int(token)] = bytes.fromhex(piece["hex"]) if isinstance(piece, dict) else piece.encode()
    return Vocabulary(tuple(tokens), frozenset(map(int, entry["eos"])), "reproduction")
