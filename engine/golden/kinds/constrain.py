"""The chapter's golden: per language the pattern, the canonical automaton, and masks along three seeded paths.

Confirmed: automata by the derivative oracle and its own canonical form, masks by walking every token's bytes over
derivatives, texts by json.dumps, refusals by the oracle's own readers or by hand (SPEC §§1, 4).
"""

import json
from collections.abc import Callable
from typing import Any

from engine.errors import PatternError, Refused
from engine.golden.agreement import agreed
from engine.golden.automata import as_case
from engine.golden.document import Case, Golden, compact, digest, readable
from engine.golden.masks import packed
from engine.golden.pitfalls import flags_of
from engine.subject import Settings, Subject
from engine.suite import Language, languages
from fixtures import ROOT
from oracles import derivatives, token_masks, vocabularies
from oracles.errors import OracleError
from reference.compile import regex_to_dfa
from reference.constraint import Constraint
from reference.jsontext import dumps, loads
from reference.pcg32 import Pcg32
from reference.schema import json_schema_to_regex
from reference.vocabulary import Vocabulary, load_vocabulary

PATHS = 3
LONGEST = 40


def files() -> list[Golden]:
    """languages, dumps, refused patterns and refused schemas."""
    inputs = digest((ROOT / "languages.json").read_bytes(), (ROOT / "texts.json").read_bytes())
    texts = json.loads((ROOT / "texts.json").read_text(encoding="utf-8"))
    vocabulary = load_vocabulary("toy")
    cases = [vocabulary_case(vocabulary), *(language_case(language, vocabulary) for language in languages())]
    return [
        Golden(
            "constrain/languages.json",
            "golden-constrain.schema.json",
            "Pattern text, canonical automaton and masks along seeded paths, over the vocabulary of the first case.",
            flags_of(cases),
            tuple(cases),
            inputs,
        ),
        _texts("dumps", "The compact form of JSON texts.", [_dumps(case) for case in texts["dumps"]], inputs),
        _texts(
            "refused-patterns",
            "Patterns that the dialect refuses.",
            [_refused_pattern(case) for case in texts["refused_patterns"]],
            inputs,
        ),
        _texts(
            "refused-schemas",
            "Schemas that the subset refuses.",
            [_refused_schema(case) for case in texts["refused_schemas"]],
            inputs,
        ),
    ]


def vocabulary_case(vocabulary: Vocabulary) -> Case:
    """The vocabulary as data: hex of each token's bytes, null for a special one, the EOS ids, the digest."""
    tokens = [None if token is None else token.hex() for token in vocabulary.tokens]
    shown = ["" if token is None else readable(token) for token in vocabulary.tokens]
    return {
        "id": "vocabulary",
        "kind": "vocabulary",
        "comment": "every byte that prints, tokens of many bytes, parts of characters, a special, an empty one, EOS",
        "flags": ["specials"],
        "tokens": tokens,
        "text": shown,
        "eos": sorted(vocabulary.eos),
        "digest": agreed(
            "digest", vocabulary.digest(), vocabularies.digest(vocabulary.tokens, vocabulary.eos)
        ),
        "confirmed_by": ["reference", "oracles.vocabularies"],
    }


def language_case(language: Language, vocabulary: Vocabulary) -> Case:
    """One language: pattern, automaton, three paths."""
    subject = Subject(language, vocabulary, Settings())
    accept, table = agreed(f"automaton of {language.id}", subject.claim, subject.judge_canonical)
    return {
        "id": language.id,
        "kind": language.kind,
        "comment": language.why,
        "flags": list(language.guards),
        "dialect": language.dialect,
        "source": language.source,
        "pattern": language.pattern,
        "automaton": as_case(accept, table),
        "paths": [_path(subject, seed) for seed in range(PATHS)],
        "confirmed_by": [
            "reference",
            "derivative automaton, canonical form",
            "derivative walk of every token",
        ],
    }


def _path(subject: Subject, seed: int) -> dict[str, Any]:
    """A path of allowed tokens drawn with Pcg32(seed, 0), with the mask before every token and after the last."""
    constraint, rng, prefix = Constraint(subject.index), Pcg32(seed, 0), b""
    steps: list[dict[str, Any]] = []
    while True:
        allowed = [] if constraint.done else _confirmed(subject, constraint.state, prefix)
        step: dict[str, Any] = {
            "prefix": prefix.hex(),
            "allowed": allowed,
            "mask": packed(allowed, len(subject.vocabulary)).hex(),
            "complete": agreed("complete", constraint.is_complete(), _is_member(subject, prefix)),
        }
        steps.append(step)
        if not allowed or len(steps) > LONGEST:
            return {"seed": seed, "steps": steps}
        step["token"] = allowed[int(rng.uniform() * len(allowed))]
        constraint.advance(step["token"])
        prefix += (
            (subject.vocabulary.tokens[step["token"]] or b"")
            if step["token"] not in subject.vocabulary.eos
            else b""
        )


def _confirmed(subject: Subject, state: int, prefix: bytes) -> list[int]:
    language, vocabulary = subject.language, subject.vocabulary
    found = token_masks.allowed(language.pattern, language.dialect, prefix, vocabulary.tokens, vocabulary.eos)
    return agreed(
        f"mask of {language.id} after {prefix!r}", list(subject.index.allowed(state)), sorted(found)
    )


def _is_member(subject: Subject, prefix: bytes) -> bool:
    return derivatives.is_member(subject.language.pattern, prefix, subject.language.dialect)


def _texts(name: str, about: str, cases: list[Case], inputs: str) -> Golden:
    return Golden(
        f"constrain/{name}.json", f"golden-{name}.schema.json", about, flags_of(cases), tuple(cases), inputs
    )


def _dumps(case: dict[str, str]) -> Case:
    expected = json.dumps(json.loads(case["text"]), separators=(",", ":"), ensure_ascii=False)
    return {
        "id": case["id"],
        "comment": case["why"],
        "flags": ["s09", "text"] if case["id"].startswith("float") else ["text"],
        "text": case["text"],
        "dumps": agreed(f"dumps of {case['id']}", dumps(loads(case["text"])), expected),
        "confirmed_by": ["reference", "json.dumps"],
    }


def _refused_pattern(case: dict[str, Any]) -> Case:
    refused = _refusal(lambda: regex_to_dfa(case["pattern"]))
    position = refused.position if isinstance(refused, PatternError) else None
    agreed(f"refusal of {case['id']}", (refused is not None, position), (True, case["position"]))
    agreed(f"refusal of {case['id']}", True, _oracle_refuses(case["pattern"]))
    return {
        "id": case["id"],
        "comment": case["why"],
        "flags": ["refusal", "s08"] if case["id"] == "empty-language" else ["refusal"],
        "dialect": "bytes",
        "pattern": case["pattern"],
        "position": case["position"],
        "confirmed_by": ["reference", "the derivative oracle's reader", "hand"],
    }


def _refused_schema(case: dict[str, Any]) -> Case:
    refused = _refusal(lambda: json_schema_to_regex(case["schema"]))
    agreed(f"refusal of {case['id']}", refused is not None, True)
    return {
        "id": case["id"],
        "comment": case["why"],
        "flags": ["refusal"],
        "schema": compact(case["schema"]),
        "confirmed_by": ["reference", "hand"],
    }


def _refusal(work: Callable[[], object]) -> Refused | None:
    try:
        work()
    except Refused as error:
        return error
    return None


def _oracle_refuses(pattern: str) -> bool:
    """The derivative oracle cannot read it, or finds that no string matches."""
    try:
        accept, _ = derivatives.automaton(pattern, "bytes")
    except OracleError:
        return True
    return not accept
