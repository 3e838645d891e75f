"""The real vocabulary's golden: for every state of every language, how many tokens are allowed and a digest of which.

The vocabulary is not shipped; its digest says whether a port has the same one (docs/porting.md says where to get it).
Confirmed: every row by first principles on the derivative automaton.
"""

import hashlib

import numpy as np

from engine.golden.agreement import agreed
from engine.golden.document import Case, Golden, digest
from engine.golden.pitfalls import flags_of
from engine.samples import shortest_paths
from engine.subject import Settings, Subject
from engine.suite import Language, languages
from fixtures import ROOT
from oracles import token_masks, vocabularies
from reference.vocabulary import Vocabulary, load_vocabulary


def files() -> list[Golden]:
    """One file: the vocabulary's digest, then a case a language."""
    vocabulary = load_vocabulary("qwen3")
    cases = [_vocabulary(vocabulary), *(_case(language, vocabulary) for language in languages())]
    about = (
        "Per state the number of allowed tokens and the SHA-256 of the packed mask, over Qwen3's 151,936 ids."
    )
    inputs = digest((ROOT / "languages.json").read_bytes(), vocabulary.digest())
    return [
        Golden("qwen3/masks.json", "golden-qwen3.schema.json", about, flags_of(cases), tuple(cases), inputs)
    ]


def mask_digest(row: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> str:
    """SHA-256 of the packed mask: ceil(V / 8) bytes, bit i % 8 of byte i // 8 is token i."""
    return hashlib.sha256(np.packbits(row, bitorder="little").tobytes()).hexdigest()


def _vocabulary(vocabulary: Vocabulary) -> Case:
    return {
        "id": "vocabulary",
        "kind": "vocabulary",
        "comment": "what every digest below is over; a port with another digest here has another vocabulary",
        "flags": ["specials"],
        "size": len(vocabulary),
        "eos": sorted(vocabulary.eos),
        "digest": agreed(
            "digest", vocabulary.digest(), vocabularies.digest(vocabulary.tokens, vocabulary.eos)
        ),
        "confirmed_by": ["reference", "oracles.vocabularies"],
    }


def _case(language: Language, vocabulary: Vocabulary) -> Case:
    subject = Subject(language, vocabulary, Settings())
    accept, table = agreed(f"automaton of {language.id}", subject.claim, subject.judge_canonical)
    paths, states = shortest_paths(subject.dfa), []
    for state, exact in enumerate(token_masks.mask_rows(accept, table, vocabulary.tokens, vocabulary.eos)):
        sha256 = agreed(
            f"{language.id}, state {state}", mask_digest(subject.index.mask(state)), mask_digest(exact)
        )
        count = int(np.count_nonzero(exact))
        states.append(
            {"path": paths[state].hex(), "complete": state in accept, "count": count, "sha256": sha256}
        )
    return {
        "id": language.id,
        "kind": language.kind,
        "comment": language.why,
        "flags": list(language.guards),
        "dialect": language.dialect,
        "pattern": language.pattern,
        "states": states,
        "confirmed_by": ["reference", "first principles on the derivative automaton"],
    }
