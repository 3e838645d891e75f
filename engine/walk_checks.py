"""What is held against a walk: every mask on its way to the expected digest of its state, its output to its language.

The digest of a mask is the sha256 of its packed little-endian row. The expected ones come from an oracle that walks
every byte of every token, and where there is a golden file for the vocabulary, from there as well; the two must agree.
An output is read by the standard library, validated by jsonschema, and run through the derivative oracle's automaton.
"""

import hashlib
import json
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.suite import Language
from fixtures import ROOT
from oracles import derivatives
from oracles.token_masks import mask_rows
from reference.dfa import DEAD, Dfa
from reference.masks import TokenIndex
from reference.vocabulary import Vocabulary

GOLDEN = ROOT / "golden" / "qwen3" / "masks.json"
Words = NDArray[np.uint32]


def digest_of(row: Words) -> str:
    """The sha256, in hex, of a packed row's little-endian bytes."""
    return hashlib.sha256(np.ascontiguousarray(row, "<u4").tobytes()).hexdigest()


def oracle_digests(dfa: Dfa, vocabulary: Vocabulary) -> list[str]:
    """The digest of every state's mask, from first principles."""
    accept = np.flatnonzero(dfa.accept).tolist()
    rows = mask_rows(accept, dfa.trans.tolist(), vocabulary.tokens, sorted(vocabulary.eos))
    return [hashlib.sha256(_packed(row)).hexdigest() for row in rows]


def golden_digests(language: Language, dfa: Dfa, vocabulary: Vocabulary) -> dict[int, str] | None:
    """The digests by state that the golden file has for this language and vocabulary, None when it has none."""
    cases = _golden_cases()
    known = any(case["kind"] == "vocabulary" and case["digest"] == vocabulary.digest() for case in cases)
    case = next((each for each in cases if each["id"] == language.id), None)
    if not known or case is None or case["pattern"] != language.pattern:
        return None
    return {dfa.step(0, bytes.fromhex(state["path"])): state["sha256"] for state in case["states"]}


def _golden_cases() -> list[dict[str, Any]]:
    if not GOLDEN.exists():
        return []
    cases: list[dict[str, Any]] = json.loads(GOLDEN.read_text(encoding="utf-8"))["cases"]
    return cases


def _packed(row: NDArray[np.bool_]) -> bytes:
    """A bool row as whole 32-bit little-endian words."""
    return np.packbits(np.pad(row, (0, -len(row) % 32)), bitorder="little").tobytes()


class MaskJudge:
    """Holds every mask met to its state's digest, and a budgeted mask to being part of it."""

    def __init__(self, language: Language, index: TokenIndex, dfa: Dfa) -> None:
        """Make the expected digests; where the golden file has them, they must be the same."""
        self._index = index
        self.expected = oracle_digests(dfa, index.vocabulary)
        golden = golden_digests(language, dfa, index.vocabulary)
        self.golden = 0 if golden is None else len(golden)
        self.disagreeing = [s for s, digest in (golden or {}).items() if self.expected[s] != digest]
        self.met = 0
        self.narrowed = 0
        self.states: set[int] = set()

    def problem(self, state: int, row: Words, *, budgeted: bool) -> str | None:
        """What is wrong with the mask that was used in this state, None when nothing is."""
        self.met += 1
        self.states.add(state)
        plain = row
        if budgeted:
            plain = self._index.bitmask(state)
            self.narrowed += not np.array_equal(row, plain)
            if (row & ~plain).any():
                return f"state {state}: the budgeted mask allows a token that the mask forbids"
        if digest_of(plain) != self.expected[state]:
            return f"state {state}: the mask differs from the expected digest"
        return None


class OutputJudge:
    """Holds finished outputs to their language."""

    def __init__(self, language: Language, *, validate: bool = True) -> None:
        """Nothing is compiled yet; without `validate`, jsonschema is neither asked nor needed."""
        self.language, self.validate = language, validate

    @cached_property
    def _automaton(self) -> tuple[frozenset[int], list[list[int]]]:
        accept, table = derivatives.automaton(self.language.pattern, self.language.dialect)
        return frozenset(accept), table

    @cached_property
    def _validator(self) -> Any:
        from jsonschema import Draft202012Validator

        schema = (
            {"type": "object"} if self.language.kind == "json_object" else json.loads(self.language.source)
        )
        return Draft202012Validator(schema)

    def problem(self, data: bytes) -> str | None:
        """Why these bytes are no finished output of the language, None when they are one."""
        accept, table = self._automaton
        state = 0
        for byte in data:
            state = table[state][byte] if state != DEAD else DEAD
        if state not in accept:
            return "the output is not a member of the language"
        return None if self.language.kind == "pattern" else self._json_problem(data)

    def _json_problem(self, data: bytes) -> str | None:
        try:
            value = json.loads(data.decode())
        except (UnicodeDecodeError, ValueError) as error:
            return f"the output does not parse: {error}"
        wrong = next(self._validator.iter_errors(value), None) if self.validate else None
        return None if wrong is None else f"the output does not validate: {wrong.message}"
