"""What a port must refuse, and what it may take only when it enforces it.

A malformed pattern or schema that is compiled all the same is `not_refused`. A keyword outside the subset may be
served by an engine that does more than the subset; then the invalid instance beside it must not be writable, else the
keyword was accepted and not enforced (`not_enforced`). A port that takes the schema and refuses it once the output is
under way is `stuck` there. Texts that JSON readers read in two ways are tried as well: they must be invalid in
neither reading, or not writable.
"""

import json
import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from jsonschema import Draft202012Validator

from engine.audit.findings import Subject, source, text_case
from engine.audit.instances import Instance, Scribe
from engine.audit.plan import DATA
from engine.audit.problems import Declined, Problem, problem_of
from engine.audit.runner import Runner
from engine.audit.scenario import Grammar, Scenario, digest, write
from engine.audit.smallest import SHRUNK_A_KIND, compact, quick
from engine.audit.writing import Written, tokenizer, write_text
from engine.host import PortFault
from engine.protocol import PortError, Violation
from engine.results import Record
from reference.vocabulary import Vocabulary

_SEPARATORS = re.compile(r'"(?:[^"\\]|\\.)*"|[,:]')
"""A string, to be passed over, or a separator."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """A source that is to be refused; with an `instance`, it may be taken when that cannot be written."""

    id: str
    grammar: Grammar
    why: str
    instance: str | None = None


def refusals(kinds: Sequence[str]) -> Iterator[Refusal]:
    """All refusals that a port of these kinds is asked."""
    for entry in _document()["refusals"]:
        for kind in entry["kinds"]:
            if kind in kinds:
                name = f"{entry['id']}/{kind}" if len(entry["kinds"]) > 1 else entry["id"]
                yield Refusal(name, Grammar(kind, entry["source"]), entry["why"], entry.get("instance"))


def ambiguous() -> Iterator[Refusal]:
    """Schemas with a text that is invalid in one of the two ways in which it can be read."""
    for entry in _document()["ambiguous"]:
        yield Refusal(entry["id"], Grammar("json_schema", entry["source"]), entry["why"], entry["instance"])


def judge_refusal(runner: Runner, subject: Subject, vocabulary: Vocabulary, refusal: Refusal) -> Record:
    """One record: tested when it was refused, or taken and enforced; refuted otherwise."""
    begun, told = time.perf_counter(), _Told(subject, refusal, vocabulary)
    try:
        if runner.vocabulary is not vocabulary:
            runner.give(vocabulary)
        grammar = runner.compile(refusal.grammar)
    except Declined as declined:
        return told.record("tested", seconds=time.perf_counter() - begun, message=str(declined))
    except (PortError, Violation, PortFault) as problem:
        return told.broken(runner, problem)
    if refusal.id.partition("/")[0] in runner.policy.accepts:
        return told.record("tested", message="taken, as the port's policies say")
    if refusal.instance is None:
        return told.record("refuted", kind="not_refused", message=f"compiled: {refusal.why}")
    return told.written(runner, grammar, refusal.instance, begun)


def judge_ambiguous(runner: Runner, subject: Subject, vocabulary: Vocabulary, refusal: Refusal) -> Record:
    """The text must not be writable when one of its readings is invalid."""
    record = judge_refusal(runner, subject, vocabulary, refusal)
    if record.kind == "not_enforced" and _is_valid_both_ways(refusal):
        return subject.record(
            record.case,
            record.check,
            "tested",
            message="it can be written; both ways of reading it are valid",
        )
    return record


class _Told:
    """The records of one refusal."""

    def __init__(self, subject: Subject, refusal: Refusal, vocabulary: Vocabulary) -> None:
        self.subject, self.refusal, self.vocabulary = subject, refusal, vocabulary

    def record(self, verdict: str, **fields: Any) -> Record:
        if verdict == "refuted" and "reproduce" not in fields:
            fields["witness"] = source(self.refusal.grammar)
            fields["reproduce"] = self._reproduce(fields["kind"], fields["message"])
        method = (
            "compiled" if self.refusal.instance is None else "compiled, then the invalid instance written"
        )
        return self.subject.record(f"refusal:{self.refusal.id}", "refusals", verdict, method=method, **fields)

    def written(self, runner: Runner, grammar: int, instance: str, begun: float) -> Record:
        """The verdict on a schema that was taken: can the invalid instance be written?"""
        try:
            found = self._attempt(runner, grammar, instance)
        except Declined as declined:
            return self.record("tested", seconds=time.perf_counter() - begun, message=str(declined))
        except (PortError, Violation, PortFault) as problem:
            return self.broken(runner, problem)
        seconds = time.perf_counter() - begun
        if not found.whole and not found.problem:
            return self.record("tested", seconds=seconds, message=f"taken and enforced: {found.message}")
        kind = found.problem or "not_enforced"
        message = found.message if found.problem else f"{instance} can be written: {self.refusal.why}"
        small, text = self._small(runner, instance, kind) or (self.refusal.grammar, found.text)
        shown: dict[str, Any] = {**source(small), "text": text}
        if small != self.refusal.grammar:
            shown["original"] = {**source(self.refusal.grammar), "text": instance}
        again = text_case(self.subject, small, self.vocabulary, text, kind)
        told = {"witness": shown, "reproduce": again, "seconds": seconds}
        return self.record("refuted", kind=kind, message=message, **told)

    def _small(self, runner: Runner, instance: str, kind: str) -> tuple[Grammar, str] | None:
        """Schema and instance with parts taken away; None for a text that readers read in two ways."""
        schema, value = json.loads(self.refusal.grammar.source), json.loads(instance)
        if compact(value) != instance or not runner.may_shrink("refusals", self.refusal.id, SHRUNK_A_KIND):
            return None
        scribe = Scribe(runner, self.vocabulary)
        small, less = scribe.made_small(schema, Instance(value, valid=False), quick())
        found, _, text = scribe.goes_wrong(small, Instance(less, valid=False))
        return (Grammar("json_schema", compact(small)), text) if found == kind else None

    def broken(self, runner: Runner, problem: Problem) -> Record:
        """The record of a port that did not answer as it must."""
        kind, message = problem_of(runner, problem)
        return self.record("refuted", kind=kind, message=message)

    def _attempt(self, runner: Runner, grammar: int, instance: str) -> Written:
        """The spelling of the instance that goes farthest: compact, with the port's separators, as Python writes it."""
        cut = tokenizer(self.vocabulary)
        texts = dict.fromkeys([instance, *spellings(instance, runner.policy.separators)])
        tries = [replace(write_text(runner, grammar, cut(text.encode())), text=text) for text in texts]
        return max(tries, key=lambda one: (one.whole, not one.whole and one.done))

    def _reproduce(self, kind: str, message: str) -> str:
        scenario = Scenario((self.vocabulary,), (self.refusal.grammar,), (("compile", 0),))
        path = self.subject.findings / f"{kind}-{digest(scenario)}.json"
        write(path, scenario, port=self.subject.name, kind=kind, message=message)
        return self.subject.replay(path)


def spellings(instance: str, separators: tuple[bytes, bytes]) -> list[str]:
    """The compact text with other blanks after its separators; keys, escapes and numbers stay as they are spelled."""
    styles = [(separators[0].decode(), separators[1].decode()), (", ", ": ")]
    return [_SEPARATORS.sub(partial(_separated, style), instance) for style in styles]


def _separated(style: tuple[str, str], found: re.Match[str]) -> str:
    return {",": style[0], ":": style[1]}.get(found[0], found[0])


def _is_valid_both_ways(refusal: Refusal) -> bool:
    """Whether the instance is valid with the first and with the last of two values of one key."""
    validator = Draft202012Validator(json.loads(refusal.grammar.source))
    first_wins = json.loads(refusal.instance or "", object_pairs_hook=lambda pairs: dict(reversed(pairs)))
    return validator.is_valid(json.loads(refusal.instance or "")) and validator.is_valid(first_wins)


def _document() -> dict[str, Any]:
    document: dict[str, Any] = json.loads((DATA / "refusals.json").read_text(encoding="utf-8"))
    return document
