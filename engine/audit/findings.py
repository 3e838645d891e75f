"""A finding as a record: the witness a person reads, and the command that shows it again."""

import shlex
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine.audit.compare import Difference
from engine.audit.diagnose import Finding
from engine.audit.exact import DONE, exact, ids
from engine.audit.forms import form_of
from engine.audit.policies import Policy
from engine.audit.scenario import Grammar, Scenario, digest, write
from engine.protocol import Packed
from engine.results import Record
from reference.errors import Refused
from reference.vocabulary import Vocabulary

LISTED = 64
KIND_NAMES = {"regex.bytes": "pattern", "regex.unicode": "pattern", "json_schema": "schema"}


@dataclass(frozen=True, slots=True)
class Subject:
    """Who is audited: the port's name and version, what it declares, and how it is called on the command line."""

    name: str
    version: str
    policies: dict[str, Any]
    arguments: tuple[str, ...]
    findings: Path

    def record(self, case: str, check: str, verdict: Any, **fields: Any) -> Record:
        """A record of this subject."""
        detail = {"version": self.version, **fields.pop("detail", {})}
        if self.policies:
            detail["policy"] = self.policies
        return Record(
            command="audit",
            subject=self.name,
            case=case,
            check=check,
            verdict=verdict,
            detail=detail,
            **fields,
        )

    def replay(self, path: Path) -> str:
        """The command that shows a reproduction file again."""
        words = ["maskproof", "audit", *self.arguments]
        place = words.index("--") if "--" in words else len(words)
        return shlex.join([*words[:place], "--replay", str(path), *words[place:]])


def text_case(
    subject: Subject, grammar: Grammar, vocabulary: Vocabulary, text: str, kind: str, **more: Any
) -> str:
    """Write the reproduction file of a text that can be written and must not, or the other way round; its command.

    `more` is `valid`, for a text that must be writable, and `hex`, for one that is no UTF-8.
    """
    scenario = Scenario((vocabulary,), (grammar,), (("compile", 0),))
    path = subject.findings / f"{kind}-{digest(scenario)}-{zlib.crc32(text.encode()):08x}.json"
    about = {"kind": kind, "text": text, "valid": False, **more}
    write(path, scenario, port=subject.name, version=subject.version, **about)
    return subject.replay(path)


def record_of(
    subject: Subject, case: str, check: str, finding: Finding, policy: Policy, seconds: float
) -> Record:
    """The refuted record of a finding, its reproduction file written."""
    small, difference = finding.scenario, finding.difference
    path = subject.findings / f"{finding.kind}-{digest(small)}.json"
    write(path, small, port=subject.name, version=subject.version, kind=finding.kind, message=finding.message)
    detail: dict[str, Any] = {"shrunk": {"from": finding.original.size(), "to": small.size()}}
    detail["steps"] = [list(step) for step in small.steps[:LISTED]]
    if form := _form(difference, policy):
        detail["form"] = form
    return subject.record(
        case,
        check,
        "refuted",
        kind=finding.kind,
        method=finding.method,
        domain={"vocabulary": finding.original.vocabularies[0].name},
        seconds=seconds,
        message=f"{finding.message}{_where(difference)}",
        witness=witness(small, difference, finding.original, policy),
        reproduce=subject.replay(path),
        detail=detail,
    )


def witness(small: Scenario, difference: Difference, original: Scenario, policy: Policy) -> dict[str, Any]:
    """What a person looks at: the source, the tokens taken, and which were allowed instead of which."""
    vocabulary = difference.vocabulary or small.vocabularies[-1]
    grammar = difference.grammar or (small.grammars[0] if small.grammars else None)
    told: dict[str, Any] = {"path": [token(vocabulary, taken) for taken in difference.path]}
    if grammar is not None:
        told |= source(grammar)
    asked = original.asked()
    if asked is not None and asked != grammar:
        told["original"] = source(asked)
    if len([piece for piece in vocabulary.tokens if piece is not None]) <= LISTED:
        told["vocabulary"] = [token(vocabulary, number) for number in _listed(vocabulary)]
    else:
        told["vocabulary"] = vocabulary.name
    if difference.token is not None and difference.token >= 0:
        told["token"] = token(vocabulary, difference.token)
    if difference.actual is not None and difference.expected is not None:
        told |= _masks(vocabulary, difference.actual, difference.expected)
    elif grammar is not None and difference.op == "advance":
        told |= _expected(grammar, vocabulary, difference, policy)
    if difference.complete is not None:
        told["complete"] = {"engine": difference.complete[0], "exact": difference.complete[1]}
    if difference.log:
        told["log"] = difference.log[-2000:]
    return told


def source(grammar: Grammar) -> dict[str, str]:
    """A grammar in the words of a witness."""
    told = {"kind": KIND_NAMES.get(grammar.kind, grammar.kind), "source": grammar.source}
    if grammar.kind.startswith("regex."):
        told["dialect"] = grammar.kind.removeprefix("regex.")
    return told


def token(vocabulary: Vocabulary, number: int) -> dict[str, Any]:
    """A token in the words of a witness."""
    piece = vocabulary.tokens[number] if 0 <= number < len(vocabulary) else None
    if piece is None:
        return {"id": number, "text": "EOS"} if number in vocabulary.eos else {"id": number}
    return {"id": number, "hex": piece.hex(), "text": piece.decode("utf-8", "replace")}


def token_set(vocabulary: Vocabulary, packed: Packed) -> dict[str, Any]:
    """A mask in the words of a witness: how many, and the first of them."""
    found = ids(packed, len(vocabulary)).tolist()
    return {"count": len(found), "tokens": [token(vocabulary, number) for number in found[:LISTED]]}


def _listed(vocabulary: Vocabulary) -> Sequence[int]:
    named = (number for number, piece in enumerate(vocabulary.tokens) if piece is not None)
    return sorted({*named, *vocabulary.eos})


def _masks(vocabulary: Vocabulary, actual: Packed, expected: Packed) -> dict[str, Any]:
    told = {"allowed": token_set(vocabulary, actual), "expected": token_set(vocabulary, expected)}
    for name, packed in (("unsound", actual & ~expected), ("missing", expected & ~actual)):
        if packed.any():
            told[name] = token_set(vocabulary, packed)
    return told


def _expected(
    grammar: Grammar, vocabulary: Vocabulary, difference: Difference, policy: Policy
) -> dict[str, Any]:
    try:
        truth = exact(grammar, vocabulary, policy)
    except Refused:
        return {}
    state = truth.follow(difference.path)
    return {"expected": token_set(vocabulary, truth.mask(state))} if state >= DONE and state != -1 else {}


def _form(difference: Difference, policy: Policy) -> str:
    """Which part of JSON the difference is about, for a JSON grammar."""
    grammar, vocabulary = difference.grammar, difference.vocabulary
    if grammar is None or vocabulary is None or not grammar.kind.startswith("json_"):
        return ""
    return form_of(difference, exact(grammar, vocabulary, policy))


def _where(difference: Difference) -> str:
    """The place of a difference, in words."""
    if difference.grammar is None or difference.vocabulary is None:
        return ""
    pieces = [difference.vocabulary.tokens[taken] or b"" for taken in difference.path]
    text = b"".join(pieces).decode("utf-8", "backslashreplace")
    shown = text if len(text) <= 60 else f"…{text[-60:]}"
    return f" after {shown!r}" if difference.path else " at the start"
