"""Schemas with known valid and invalid instances: a folder of `{"schema", "tests": [{"data", "valid"}]}` files.

A valid instance must be writable token by token in some spelling, an invalid one in none. The claims of a file are
checked with `jsonschema` first; where they disagree (a format, most often) nothing is judged. An invalid instance that
can be written breaks a keyword that was accepted and is not enforced: that keyword is named, and schema and instance
are made small together.
"""

import json
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from engine.audit.exact import compiled
from engine.audit.findings import Subject, source, text_case
from engine.audit.free import free_record
from engine.audit.instances import Instance, Scribe, broken_keyword, spellings, wrong_kind
from engine.audit.plan import Case
from engine.audit.problems import Declined, problem_of
from engine.audit.runner import Runner
from engine.audit.scenario import Grammar
from engine.audit.smallest import SHRUNK_A_KIND, compact, quick
from engine.errors import BadInput, Refused
from engine.host import PortFault
from engine.protocol import PortError, Violation
from engine.results import Record
from reference.vocabulary import Vocabulary

FREE_WALKS = 4
VERBS = {
    "incomplete": "cannot be written, and is valid",
    "not_enforced": "can be written, and breaks {!r}",
    "stuck": "is refused in the middle, though its schema was taken",
    "advance_disagrees": "has a token that the mask allows and the engine refuses",
}


@dataclass(frozen=True, slots=True)
class Entry:
    """One file of a corpus."""

    name: str
    schema: Any
    instances: tuple[Instance, ...]


def read_corpus(folder: Path) -> list[Entry]:
    """The files of a folder, by name."""
    paths = sorted(folder.glob("*.json"))
    if not paths:
        raise BadInput(f"corpus {folder}: no .json files are there; give a folder of {{schema, tests}} files")
    return [_read(path) for path in paths]


def _read(path: Path) -> Entry:
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        instances = (Instance(test["data"], bool(test["valid"])) for test in document["tests"])
        return Entry(path.stem, document["schema"], tuple(instances))
    except (ValueError, KeyError, TypeError) as error:
        raise BadInput(f"corpus {path}: not a {{schema, tests}} file ({error!r})") from error


def corpus_records(
    runner: Runner, subject: Subject, vocabulary: Vocabulary, folder: Path, seed: int
) -> Iterator[Record]:
    """The records of a corpus: per file what it said to the schema, to the instances, and where it leads by itself."""
    judge = Judge(runner, subject, vocabulary, seed)
    for entry in read_corpus(folder):
        yield from judge.entry(entry)


@dataclass(slots=True)
class Judge:
    """Judges entries on one port; counts what was shrunk, so that a keyword broken everywhere is shrunk twice only."""

    runner: Runner
    subject: Subject
    vocabulary: Vocabulary
    seed: int
    scribe: Scribe = field(init=False)
    shrunk: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        """Give the scribe the same port."""
        self.scribe = Scribe(self.runner, self.vocabulary)

    def entry(self, entry: Entry) -> Iterator[Record]:
        """The records of one file."""
        case = f"corpus:{entry.name}"
        try:
            handle = self.scribe.compiled(entry.schema)
            yield from self._instances(case, entry, handle)
            yield free_record(self.runner, self.subject, self._case(case, entry), self.seed, FREE_WALKS)
        except Declined as declined:
            yield self.subject.record(case, "compile", "refused", message=str(declined))
        except (PortFault, PortError, Violation) as error:
            kind, message = problem_of(self.runner, error)
            shown = source(Grammar("json_schema", json.dumps(entry.schema, ensure_ascii=False)))
            yield self.subject.record(case, "corpus", "refuted", kind=kind, message=message, witness=shown)

    def _case(self, case: str, entry: Entry) -> Case:
        return Case(case, Grammar("json_schema", compact(entry.schema)), self.vocabulary)

    def _instances(self, case: str, entry: Entry, handle: int) -> Iterator[Record]:
        """Write every instance whose claim holds; one record when all went right, one for each thing that did not."""
        begun, counts, told = time.perf_counter(), Counter[str](), set[tuple[str, str]]()
        for instance in entry.instances:
            keyword = broken_keyword(entry.schema, instance.value)
            if (keyword is None) != instance.valid:
                counts["undecided"] += 1
                continue
            wanted = self._wanted(entry.schema, instance)
            written = self.scribe.written(handle, entry.schema, instance.value)
            if wanted is None or written is None:
                counts["narrowed" if wanted is None else "unspellable"] += 1
                continue
            counts["valid" if instance.valid else "invalid"] += 1
            kind = wrong_kind(instance, written)
            if not kind:
                continue
            counts["wrong"] += 1
            if (kind, keyword or "") not in told:
                told.add((kind, keyword or ""))
                yield self._finding(case, entry.schema, instance, keyword or "", kind, written.text)
        if not counts["wrong"]:
            is_asked = counts["valid"] + counts["invalid"] > 0
            yield self.subject.record(
                case,
                "instances",
                "tested" if is_asked else "skipped",
                message="" if is_asked else "no instance could be asked: nothing was judged",
                method="each instance written token by token, in every spelling",
                domain=dict(counts),
                seconds=time.perf_counter() - begun,
            )

    def _wanted(self, schema: Any, instance: Instance) -> bool | None:
        """Whether the instance must be writable; None for a valid one that the exact language of the subset leaves out.

        Schemas of the subset mean closed objects, members in order: less than JSON Schema means by them.
        """
        if not instance.valid or self.runner.policy.any_order:
            return instance.valid
        try:
            dfa = compiled(Grammar("json_schema", compact(schema)), self.runner.policy)
        except Refused:
            return True
        texts = spellings(schema, instance.value, self.runner.policy)
        return True if any(dfa.matches(text.encode("utf-8", "replace")) for text in texts) else None

    def _finding(
        self, case: str, schema: Any, instance: Instance, keyword: str, kind: str, text: str
    ) -> Record:
        begun, small = time.perf_counter(), schema
        if self.shrunk[kind + keyword] < SHRUNK_A_KIND:
            self.shrunk[kind + keyword] += 1
            small, value = self.scribe.made_small(schema, instance, quick(), self._is_asked)
            text = self.scribe.goes_wrong(small, replace(instance, value=value))[2] or text
        verb = VERBS[kind].format(keyword)
        return self.subject.record(
            case,
            "instances",
            "refuted",
            kind=kind,
            message=f"{text[:200]} {verb}",
            seconds=time.perf_counter() - begun,
            witness={
                **source(Grammar("json_schema", compact(small))),
                "original": source(Grammar("json_schema", compact(schema))),
                "text": text,
            },
            reproduce=self._reproduce(small, text, kind, valid=instance.valid),
            detail={"keyword": keyword, "shrunk": {"from": len(compact(schema)), "to": len(compact(small))}},
        )

    def _is_asked(self, schema: Any, instance: Instance) -> bool:
        return self._wanted(schema, instance) is not None

    def _reproduce(self, schema: Any, text: str, kind: str, *, valid: bool) -> str:
        grammar = Grammar("json_schema", compact(schema))
        return text_case(self.subject, grammar, self.vocabulary, text, kind, valid=valid)
