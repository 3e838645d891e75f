"""A folder of `{schema, tests: [{data, valid}]}` files, the form that public corpora of schemas have.

In any policy a valid instance must be writable token by token in some spelling that JSON allows, and an invalid one
in none. An invalid instance that can be written shows a keyword that was accepted and is not enforced; a refusal of
the schema is honest and counted. Spellings tried: members in the data's order and in the schema's, with the
separators of compact JSON, of `json.dumps`, and of the port's own policy.
"""

import itertools
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

from jsonschema import Draft202012Validator

from engine.audit.findings import Subject
from engine.audit.free import FreeWalker, fault_of
from engine.audit.runner import Runner
from engine.audit.writing import Tokenizer, Written, write_text
from engine.errors import BadInput
from engine.host import PortFault
from engine.protocol import PortError, Violation, integer_of, token_texts
from engine.results import Record
from reference.vocabulary import Vocabulary

HONEST = ("refused", "unsupported", "invalid")
WALKS = 3
"""Texts a schema that the engine leads to itself, each parsed and validated."""


class Asked(Protocol):
    """What is read of an audit's request."""

    @property
    def corpus(self) -> str:
        """The folder."""
        ...

    @property
    def done(self) -> Any:
        """The keys of records that a resumed run has already."""
        ...


def corpus_records(
    runner: Runner, subject: Subject, vocabulary: Vocabulary, asked: Asked
) -> Iterator[Record]:
    """The records of every file of the folder, in order of name."""
    paths = sorted(Path(asked.corpus).glob("*.json"))
    if not paths:
        raise BadInput(f"corpus {asked.corpus!r} holds no *.json; name a folder of {{schema, tests}} files")
    if "json_schema" not in runner.port.hello.kinds:
        yield subject.record("corpus", "corpus", "refused", message="the port does not serve json_schema")
        return
    reader = _Corpus(runner, subject, vocabulary)
    for path in paths:
        if ("audit", subject.name, f"corpus/{path.name}", "corpus") not in asked.done:
            yield from reader.file(path)


class _Corpus:
    """One port over one vocabulary; the vocabulary is given again to a fresh child."""

    def __init__(self, runner: Runner, subject: Subject, vocabulary: Vocabulary) -> None:
        self.runner, self.subject, self.vocabulary = runner, subject, vocabulary
        self.tokenizer = Tokenizer(vocabulary)
        self.starts = -1

    def file(self, path: Path) -> Iterator[Record]:
        """A record a finding, and one that says how many tests of the file held, or why it was refused."""
        name, document = f"corpus/{path.name}", _read(path)
        try:
            grammar = self.compiled(document["schema"])
        except PortError as error:
            verdict = "refused" if error.kind in HONEST else "refuted"
            yield self.subject.record(
                name, "corpus", verdict, kind="" if verdict == "refused" else "crash", message=str(error)
            )
            return
        except (PortFault, Violation) as fault:
            yield self.broken(name, fault)
            return
        findings = 0
        try:
            for found in itertools.chain(
                self.tests(name, grammar, document), self.walks(name, grammar, document)
            ):
                findings += 1
                yield found
        except (PortFault, Violation, PortError) as fault:
            yield self.broken(name, fault)
            return
        if not findings:
            domain = {"tests": len(document["tests"]), "walks": WALKS}
            yield self.subject.record(
                name, "corpus", "tested", method="written token by token", domain=domain
            )

    def compiled(self, schema: Any) -> int:
        """The grammar of a schema, over the vocabulary."""
        port = self.runner.port
        if self.starts != port.clock.starts:
            self.runner.vocabulary = self.vocabulary
            port.request("vocab", tokens=token_texts(self.vocabulary.tokens), eos=sorted(self.vocabulary.eos))
            self.starts = port.clock.starts
        answer = port.request("compile", kind="json_schema", source=json.dumps(schema, ensure_ascii=False))
        return integer_of(answer, "grammar")

    def tests(self, name: str, grammar: int, document: dict[str, Any]) -> Iterator[Record]:
        """Valid instances that cannot be written, invalid ones that can."""
        for number, test in enumerate(document["tests"]):
            written = [self.write(grammar, text) for text in self.spellings(test["data"], document["schema"])]
            whole = any(each.whole for each in written)
            if whole != test["valid"]:
                yield self.finding(
                    name, number, test, document["schema"], max(written, key=lambda each: each.done)
                )

    def write(self, grammar: int, text: str) -> Written:
        """Write one spelling."""
        return write_text(self.runner, grammar, self.tokenizer(text.encode()))

    def spellings(self, data: Any, schema: Any) -> list[str]:
        """The texts of a value worth trying, each once."""
        separators = dict.fromkeys([(",", ":"), (", ", ": ")])
        orders = (data, in_schema_order(data, schema))
        texts = (
            json.dumps(value, ensure_ascii=False, separators=pair) for pair in separators for value in orders
        )
        return list(dict.fromkeys(texts))

    def finding(self, name: str, number: int, test: dict[str, Any], schema: Any, written: Written) -> Record:
        """One test that did not go as its `valid` says."""
        text = json.dumps(test["data"], ensure_ascii=False, separators=(",", ":"))
        source = {"kind": "schema", "source": json.dumps(schema, ensure_ascii=False), "text": text}
        if test["valid"]:
            kind, message = (
                "incomplete",
                f"a valid instance cannot be written: {written.message} after {written.done} bytes",
            )
        else:
            keywords = sorted(
                {str(error.validator) for error in Draft202012Validator(schema).iter_errors(test["data"])}
            )
            kind = "not_enforced" if keywords else "unsound"
            message = f"an invalid instance can be written; it breaks {', '.join(keywords) or 'what the corpus says'}"
        detail = {"description": test.get("description", ""), "vocabulary": self.vocabulary.name}
        return self.subject.record(
            name, f"test {number}", "refuted", kind=kind, message=message, witness=source, detail=detail
        )

    def walks(self, name: str, grammar: int, document: dict[str, Any]) -> Iterator[Record]:
        """Texts that the engine's own masks lead to and that do not parse or validate."""
        schema = document["schema"]
        for number in range(WALKS):
            outcome = FreeWalker(self.runner, self.vocabulary, random.Random(number)).walk(grammar, schema)
            if outcome.ended and fault_of(outcome.text, schema)[0]:
                witness = {
                    "kind": "schema",
                    "source": json.dumps(schema, ensure_ascii=False),
                    "hex": outcome.text.hex(),
                }
                kind = "not_enforced" if outcome.keyword else "unsound"
                yield self.subject.record(
                    name, f"walk {number}", "refuted", kind=kind, message=outcome.wrong, witness=witness
                )

    def broken(self, name: str, fault: PortFault | Violation | PortError) -> Record:
        """The port broke; a fresh child takes over."""
        kind = (
            fault.kind
            if isinstance(fault, PortFault)
            else "garbage"
            if isinstance(fault, Violation)
            else "crash"
        )
        log = {"log": fault.stderr} if isinstance(fault, PortFault) else {}
        self.runner.restart()
        return self.subject.record(name, "corpus", "refuted", kind=kind, message=str(fault), witness=log)


def in_schema_order(data: Any, schema: Any) -> Any:
    """The value with the members of objects in the order of the schema's properties, others after them."""
    if isinstance(data, list):
        items = schema.get("items") if isinstance(schema, dict) else None
        return [in_schema_order(item, items) for item in data]
    if not isinstance(data, dict):
        return data
    properties = schema.get("properties") if isinstance(schema, dict) else None
    known = properties if isinstance(properties, dict) else {}
    names = [*(name for name in known if name in data), *(name for name in data if name not in known)]
    return {name: in_schema_order(data[name], known.get(name)) for name in names}


def _read(path: Path) -> dict[str, Any]:
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        if not all(isinstance(test["valid"], bool) and "data" in test for test in document["tests"]):
            raise TypeError("a test needs data and valid")
        return {"schema": document["schema"], "tests": document["tests"]}
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise BadInput(f"corpus, {path}: {error}; a file is {{schema, tests: [{{data, valid}}]}}") from error
