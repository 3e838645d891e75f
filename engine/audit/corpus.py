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

from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError, ValidationError
from jsonschema.validators import validator_for

from engine.audit.exact import compiled
from engine.audit.findings import Subject, source, text_case
from engine.audit.free import free_record
from engine.audit.plan import Case
from engine.audit.policies import Policy, by_name
from engine.audit.problems import problem_of
from engine.audit.reductions import smaller_schemas
from engine.audit.runner import Declined, Runner
from engine.audit.scenario import Grammar
from engine.audit.shrink import Budget
from engine.audit.writing import Tokenizer, Written, tokenizer, write_text
from engine.errors import BadInput, Refused
from engine.host import PortFault
from engine.protocol import PortError, Violation
from engine.results import Record
from reference.vocabulary import Vocabulary

SHRUNK_A_KEYWORD = 2
FREE_WALKS = 4
VERBS = {
    "incomplete": "cannot be written, and is valid",
    "not_enforced": "can be written, and breaks {!r}",
    "stuck": "is refused in the middle, though its schema was taken",
}


@dataclass(frozen=True, slots=True)
class Instance:
    """A value, and whether the schema allows it."""

    value: Any
    valid: bool


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
    cut: Tokenizer = field(init=False)
    shrunk: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        """Index the vocabulary once."""
        self.cut = tokenizer(self.vocabulary)

    def entry(self, entry: Entry) -> Iterator[Record]:
        """The records of one file."""
        case = f"corpus:{entry.name}"
        try:
            handle = self._compiled(entry.schema)
            yield from self._instances(case, entry, handle)
            yield free_record(self.runner, self.subject, self._case(case, entry), self.seed, FREE_WALKS)
        except Declined as declined:
            yield self.subject.record(case, "compile", "refused", message=str(declined))
        except (PortFault, PortError, Violation) as error:
            kind, message = problem_of(self.runner, error)
            shown = source(Grammar("json_schema", json.dumps(entry.schema, ensure_ascii=False)))
            yield self.subject.record(case, "corpus", "refuted", kind=kind, message=message, witness=shown)

    def _case(self, case: str, entry: Entry) -> Case:
        return Case(case, Grammar("json_schema", _text(entry.schema)), self.vocabulary)

    def _compiled(self, schema: Any) -> int:
        if self.runner.vocabulary is not self.vocabulary:
            self.runner.give(self.vocabulary)
        return self.runner.compile(Grammar("json_schema", _text(schema)))

    def _instances(self, case: str, entry: Entry, handle: int) -> Iterator[Record]:
        """Write every instance whose claim holds; one record when all went right, one for each thing that did not."""
        begun, counts, told = time.perf_counter(), Counter[str](), set[tuple[str, str]]()
        for instance in entry.instances:
            keyword = broken_keyword(entry.schema, instance.value)
            if (keyword is None) != instance.valid:
                counts["undecided"] += 1
                continue
            wanted = self._wanted(entry.schema, instance)
            written = self._written(handle, entry.schema, instance.value)
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
                yield self._finding(case, entry.schema, instance, keyword or "", kind)
        if not counts["wrong"]:
            yield self.subject.record(
                case,
                "instances",
                "tested",
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
            dfa = compiled(Grammar("json_schema", _text(schema)), self.runner.policy)
        except Refused:
            return True
        texts = spellings(schema, instance.value, self.runner.policy)
        return True if any(dfa.matches(text.encode("utf-8", "replace")) for text in texts) else None

    def _written(self, handle: int, schema: Any, value: Any) -> Written | None:
        """The spelling that goes farthest; None when the vocabulary has no tokens for any."""
        tries: list[Written] = []
        for text in spellings(schema, value, self.runner.policy):
            tokens = self.cut(text.encode("utf-8", "replace"))
            if tokens:
                tries.append(write_text(self.runner, handle, tokens))
                if tries[-1].whole:
                    break
        return max(tries, key=lambda one: (one.whole, one.done)) if tries else None

    def _finding(self, case: str, schema: Any, instance: Instance, keyword: str, kind: str) -> Record:
        begun = time.perf_counter()
        small, value = schema, instance.value
        if self.shrunk[kind + keyword] < SHRUNK_A_KEYWORD:
            self.shrunk[kind + keyword] += 1
            small, value = self._small(schema, instance, keyword, kind)
        text = spellings(small, value, self.runner.policy)[0]
        verb = VERBS[kind].format(keyword)
        return self.subject.record(
            case,
            "instances",
            "refuted",
            kind=kind,
            message=f"{text[:200]} {verb}",
            seconds=time.perf_counter() - begun,
            witness={
                **source(Grammar("json_schema", _text(small))),
                "original": source(Grammar("json_schema", _text(schema))),
                "text": text,
            },
            reproduce=self._reproduce(small, text, kind, valid=instance.valid),
            detail={"keyword": keyword, "shrunk": {"from": len(_text(schema)), "to": len(_text(small))}},
        )

    def _small(self, schema: Any, instance: Instance, keyword: str, kind: str) -> tuple[Any, Any]:
        """Schema and instance with parts taken away, as long as the instance goes wrong in the same way."""
        budget = Budget(runs=200, seconds=10.0)
        small = (schema, instance.value)
        while True:
            for smaller in _smaller_pairs(*small):
                if self._is_wrong(smaller[0], replace(instance, value=smaller[1]), keyword, kind, budget):
                    small = smaller
                    break
            else:
                return small

    def _is_wrong(self, schema: Any, instance: Instance, keyword: str, kind: str, budget: Budget) -> bool:
        try:
            broken = broken_keyword(schema, instance.value)
        except (SchemaError, TypeError, ValueError, RecursionError):
            return False
        if (broken or "") != keyword or not budget.spend():
            return False
        try:
            handle = self._compiled(schema)
            written = self._written(handle, schema, instance.value)
            if written is None or self._wanted(schema, instance) is None:
                return False
            return wrong_kind(instance, written) == kind
        except (Declined, PortError, Violation):
            return False
        except PortFault:
            self.runner.restart()
            return False

    def _reproduce(self, schema: Any, text: str, kind: str, *, valid: bool) -> str:
        grammar = Grammar("json_schema", _text(schema))
        return text_case(self.subject, grammar, self.vocabulary, text, kind, valid=valid)


def wrong_kind(instance: Instance, written: Written) -> str:
    """What is wrong with how far an instance went; nothing when it is writable exactly if it is valid."""
    if written.stuck:
        return "stuck"
    if written.whole == instance.valid:
        return ""
    return "incomplete" if instance.valid else "not_enforced"


def broken_keyword(schema: Any, value: Any) -> str | None:
    """The keyword that an instance breaks, None when it is valid; raises SchemaError for a broken schema."""
    validator = validator_for(schema, default=Draft202012Validator)
    validator.check_schema(schema)
    error = next(validator(schema).iter_errors(value), None)
    if error is None:
        return None
    while (
        isinstance(error, ValidationError)
        and error.validator in ("anyOf", "oneOf", "allOf")
        and len(error.context or []) == 1
    ):
        error = (error.context or [])[0]
    return str(error.validator)


def spellings(schema: Any, value: Any, policy: Policy) -> list[str]:
    """The texts in which an instance is tried: with the port's separators, in the order that it has, and in others."""
    styles = ((policy.separators[0].decode(), policy.separators[1].decode()), (",", ":"), (", ", ": "))
    orders = [in_schema_order(schema, value), value]
    if policy.sorted_members:
        orders.insert(0, by_name(value))
    texts = [json.dumps(order, separators=style, ensure_ascii=False) for style in styles for order in orders]
    return list(dict.fromkeys(texts))


def in_schema_order(schema: Any, value: Any) -> Any:
    """The value with its members in the order of the schema's `properties`, others after them."""
    if not isinstance(schema, dict):
        return value
    if isinstance(value, list):
        items = schema.get("items")
        return [in_schema_order(items, item) for item in value]
    if not isinstance(value, dict):
        return value
    properties = schema.get("properties")
    known = properties if isinstance(properties, dict) else {}
    names = [name for name in known if name in value] + [name for name in value if name not in known]
    return {name: in_schema_order(known.get(name), value[name]) for name in names}


def _smaller_pairs(schema: Any, value: Any) -> Iterator[tuple[Any, Any]]:
    """A part of the schema with the part of the instance that it is about, then either made smaller alone."""
    if isinstance(schema, dict):
        properties, items = schema.get("properties"), schema.get("items")
        if isinstance(properties, dict) and isinstance(value, dict):
            yield from ((inner, value[name]) for name, inner in properties.items() if name in value)
        if isinstance(items, dict) and isinstance(value, list):
            yield from ((items, item) for item in value)
    yield from ((smaller, value) for smaller in _shorter(schema))
    yield from ((schema, smaller) for smaller in _shorter(value))


def _shorter(value: Any) -> Iterator[Any]:
    text = _text(value)
    for smaller in smaller_schemas(value):
        if len(_text(smaller)) < len(text):
            yield smaller


def _text(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
