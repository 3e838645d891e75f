"""What an audit asks: which languages over which vocabularies, and the scenarios of each check.

Every state of the exact table is reached by a shortest token path, and its mask asked, as long as there are not more
than `Settings.states` of them; above that a seeded sample is. Scenarios are made here and judged elsewhere, so this
is where to look for what is *not* asked.
"""

import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path as FilePath

from engine.audit.exact import DONE, Exact, ids
from engine.audit.scenario import Grammar, Scenario, Step
from engine.audit.vocabularies import adversarial, named
from engine.errors import BadInput
from engine.suite import Language, languages
from reference.compile import regex_to_dfa
from reference.dfa import DEAD
from reference.errors import Refused
from reference.vocabulary import Vocabulary

DATA = FilePath(__file__).parent / "data"
AWKWARD = (
    *("city", "enum-awkward", "number", "multi-byte", "byte-classes", "unicode-class", "no-continuation"),
    "sentence",
)
"""The languages that the adversarial vocabularies are tried on."""


@dataclass(frozen=True, slots=True)
class Settings:
    """How much an audit asks; every field changes answers, so a resumed run has equal ones."""

    vocabularies: tuple[str, ...] = ("toy", "adversarial")
    languages: tuple[str, ...] = ()
    eos: tuple[int, ...] = ()
    seed: int = 10
    states: int = 2000
    walks: int = 3
    length: int = 300
    programs: int = 6
    shrink_seconds: float = 600

    def loaded(self) -> tuple[Vocabulary, ...]:
        """The vocabularies, in order."""
        return named(self.vocabularies, self.eos)


@dataclass(frozen=True, slots=True)
class Case:
    """One grammar over one vocabulary, with the name that records carry."""

    id: str
    grammar: Grammar
    vocabulary: Vocabulary

    def scenario(self, steps: Sequence[Step]) -> Scenario:
        """Steps over this grammar alone."""
        return Scenario((self.vocabulary,), (self.grammar,), tuple(steps))


def cases(settings: Settings, kinds: Sequence[str]) -> list[Case]:
    """The cases that a port of these kinds is asked, plain vocabularies first."""
    grammars = [pair for pair in all_grammars() if pair[1].kind in kinds]
    if settings.languages:
        known = {name.partition("/")[0] for name, _ in all_grammars()}
        for wanted in settings.languages:
            if wanted not in known:
                raise BadInput(f"language {wanted!r} is not known; there are {', '.join(sorted(known))}")
        grammars = [pair for pair in grammars if pair[0].partition("/")[0] in settings.languages]
    found = []
    for vocabulary in settings.loaded():
        every = settings.languages or vocabulary.name not in _adversarial_names() - {"bytes"}
        chosen = [pair for pair in grammars if every or _is_awkward(pair[0])]
        found += [Case(f"{name}@{vocabulary.name}", grammar, vocabulary) for name, grammar in chosen]
    return found


def is_brief(case: Case) -> bool:
    """Whether the masks of all states are enough: an automaton that is asked more in another way or vocabulary."""
    name, _, vocabulary = case.id.partition("@")
    return name.endswith("/regex") or (vocabulary == "bytes" and not _is_awkward(name))


def _is_awkward(name: str) -> bool:
    """Whether the language is one of those, as bytes or as characters."""
    return name.removesuffix("/unicode") in AWKWARD


def all_grammars() -> list[tuple[str, Grammar]]:
    """Every language of the suite and of the audit in every kind that it can be written in."""
    found = [pair for language in languages() for pair in _of_suite(language)]
    document = json.loads((DATA / "languages.json").read_text(encoding="utf-8"))
    for entry in document["languages"]:
        found += _in_dialects(entry["id"], entry["kind"], entry["source"])
    return found


def _of_suite(language: Language) -> list[tuple[str, Grammar]]:
    if language.kind == "pattern":
        return _in_dialects(language.id, f"regex.{language.dialect}", language.pattern)
    kind = "json_schema" if language.kind == "schema" else "json_object"
    return [
        (language.id, Grammar(kind, language.source)),
        (f"{language.id}/regex", Grammar("regex.bytes", language.pattern)),
    ]


def _in_dialects(name: str, kind: str, source: str) -> list[tuple[str, Grammar]]:
    """A pattern of bytes is a pattern of characters too, of another language, when the dialect has it."""
    found = [(name, Grammar(kind, source))]
    if kind == "regex.bytes":
        try:
            regex_to_dfa(source, "unicode")
        except Refused:
            return found
        found.append((f"{name}/unicode", Grammar("regex.unicode", source)))
    return found


def _adversarial_names() -> set[str]:
    return {vocabulary.name for vocabulary in adversarial()}


def state_paths(case: Case, truth: Exact, most: int, seed: int) -> Iterator[Scenario]:
    """The mask of every state once, along as few shortest paths as cover them; a sample of states above `most`."""
    paths = truth.paths()
    wanted = set(paths)
    if len(paths) > most:
        wanted = set(random.Random(seed).sample(sorted(paths), most))
    for state in sorted(wanted, key=lambda state: (-len(paths[state]), state)):
        if state in wanted:
            yield case.scenario(_along(truth, paths[state], wanted))


def _along(truth: Exact, path: Sequence[int], wanted: set[int]) -> list[Step]:
    """Walk a path, asking the mask at every wanted state for the first time."""
    steps: list[Step] = [("open", 0, 0)]
    state = 0
    for token in (*path, None):
        if state in wanted:
            wanted.remove(state)
            steps.append(("mask", 0))
        if token is not None:
            steps.append(("advance", 0, token))
            state = truth.after(state, token)
    return [*steps, ("close", 0)]


def advances(case: Case, truth: Exact, seed: int, most: int = 6) -> Iterator[Scenario]:
    """At a sample of states: tokens of every forbidden kind, each followed by the same mask; then allowed ones."""
    chance = random.Random(seed)
    paths = truth.paths()
    for state in sorted(chance.sample(sorted(paths), min(most, len(paths)))):
        reach: list[Step] = [("open", 0, 0), *(("advance", 0, token) for token in paths[state])]
        refused = [step for token in forbidden(truth, state, chance) for step in _probe(token)]
        yield case.scenario([*reach, ("mask", 0), *refused, ("close", 0)])
        for token in allowed(truth, state, chance):
            yield case.scenario([*reach, ("advance", 0, token), ("mask", 0), ("close", 0)])


def _probe(token: int) -> list[Step]:
    return [("advance", 0, token), ("mask", 0)]


def forbidden(truth: Exact, state: int, chance: random.Random) -> list[int]:
    """One token of each kind that may not be taken here: outside, special, empty, EOS, dead at once, dead later."""
    vocabulary = truth.vocabulary
    size = len(vocabulary)
    found = [size, size + 1000, -1, 1 << 31]
    banned = [token for token in _others(truth, chance) if not truth.is_allowed(state, token)]
    by_kind: dict[str, list[int]] = {}
    for token in banned:
        by_kind.setdefault(_kind(truth, state, token), []).append(token)
    for tokens in by_kind.values():
        found.append(chance.choice(tokens))
    return found


def _others(truth: Exact, chance: random.Random) -> list[int]:
    """A sample of the tokens, with those that matter: EOS, specials, empties, the last one, ids around 65,536."""
    vocabulary = truth.vocabulary
    size = len(vocabulary)
    special = [*vocabulary.eos, *_odd(vocabulary)]
    edges = [token for token in (0, size - 1, 65_535, 65_536) if token < size]
    return [*chance.sample(range(size), min(size, 40)), *special, *edges]


@lru_cache(maxsize=32)
def _odd(vocabulary: Vocabulary) -> tuple[int, ...]:
    """The first special token, the first empty one, and the first that would be cut short at a NUL."""
    special = next((token for token, piece in enumerate(vocabulary.tokens) if piece is None), None)
    empty = next((token for token, piece in enumerate(vocabulary.tokens) if piece == b""), None)
    cut = next((token for token, piece in enumerate(vocabulary.tokens) if piece and 0 in piece[1:]), None)
    return tuple(token for token in (special, empty, cut) if token is not None)


def _kind(truth: Exact, state: int, token: int) -> str:
    piece = truth.vocabulary.tokens[token] if token < len(truth.vocabulary) else None
    if token in truth.vocabulary.eos:
        return "eos"
    if piece is None:
        return "special"
    if not piece:
        return "empty"
    if state == DONE:
        return "after the end"
    if 0 in piece[1:]:
        return "NUL inside"
    return "dead later" if truth.step(state, piece[:1]) != DEAD else "dead at once"


def allowed(truth: Exact, state: int, chance: random.Random) -> list[int]:
    """A few tokens that may be taken here: every EOS, the longest, one at random, one past id 65,535."""
    tokens = ids(truth.mask(state), len(truth.vocabulary)).tolist()
    if not tokens:
        return []
    plain = [token for token in tokens if token not in truth.vocabulary.eos]
    found = [token for token in tokens if token in truth.vocabulary.eos]
    if plain:
        found += [
            max(plain, key=lambda token: len(truth.vocabulary.tokens[token] or b"")),
            chance.choice(plain),
        ]
        found.append(plain[-1])
    return list(dict.fromkeys(found))


def endings(case: Case, truth: Exact, seed: int, most: int = 6) -> Iterator[Scenario]:
    """After each EOS of some accepting states: the mask, then tokens that must all be refused."""
    chance = random.Random(seed)
    accepting = [pair for pair in truth.paths().items() if truth.is_complete(pair[0])]
    for state, path in accepting[:1] + chance.sample(accepting, min(most, len(accepting))):
        for end in sorted(truth.vocabulary.eos):
            plain = ids(truth.mask(state), len(truth.vocabulary)).tolist()[:1]
            after = [step for token in [end, *plain] for step in _probe(token)]
            reach: list[Step] = [("open", 0, 0), *(("advance", 0, token) for token in path)]
            yield case.scenario([*reach, ("advance", 0, end), ("mask", 0), *after, ("close", 0)])
