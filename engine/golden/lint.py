"""What a schema cannot say of a golden file: each rule yields one line a fault, naming file and case."""

import json
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.validators import validator_for
from referencing import Registry, Resource

from engine.golden.document import SCHEMAS, readable
from engine.golden.masks import packed
from engine.golden.pitfalls import pitfalls

Document = dict[str, Any]


@cache
def registry() -> "Registry[Any]":
    """The project's schemas by their file names."""
    found: Registry[Any] = Registry()
    for path in sorted(SCHEMAS.glob("*.json")):
        found = found.with_resource(
            path.name, Resource.from_contents(json.loads(path.read_text(encoding="utf-8")))
        )
    return found


def faults(path: Path, document: Document) -> list[str]:
    """Everything that is wrong with the form of a file, nothing of its values."""
    name = Path(str(document.get("$schema", ""))).name
    if not (SCHEMAS / name).is_file():
        return [f"{path.name}: $schema {name!r} is not in fixtures/schemas"]
    schema = json.loads((SCHEMAS / name).read_text(encoding="utf-8"))
    validator_for(schema, Draft202012Validator).check_schema(schema)
    errors = Draft202012Validator(schema, registry=registry()).iter_errors(document)
    told = [
        f"{path.name}: {'/'.join(map(str, error.absolute_path))}: {error.message[:200]}" for error in errors
    ]
    return told or [f"{path.name}: {fault}" for rule in RULES for fault in rule(document)]


def _ids_are_unique(document: Document) -> Iterator[str]:
    counts = Counter(case["id"] for case in document["cases"])
    yield from (f"case id {name} stands {count} times" for name, count in counts.items() if count > 1)


def _count_is_right(document: Document) -> Iterator[str]:
    if document["count"] != len(document["cases"]):
        yield f"count is {document['count']} for {len(document['cases'])} cases"


def _flags_are_described_iff_used(document: Document) -> Iterator[str]:
    used = {flag for case in document["cases"] for flag in case["flags"]}
    yield from (f"flag {flag} is used and not described" for flag in sorted(used - set(document["flags"])))
    yield from (f"flag {flag} is described and not used" for flag in sorted(set(document["flags"]) - used))
    for flag, meaning in document["flags"].items():
        if pitfalls().get(flag) != meaning:
            yield f"flag {flag} is not what fixtures/pitfalls.json says it is"


def _confirmed_by_two_or_by_hand(document: Document) -> Iterator[str]:
    for case in document["cases"]:
        if len(case["confirmed_by"]) < 2 and case["confirmed_by"] != ["hand"]:
            yield f"{case['id']}: confirmed by one computation only"


def _masks_hold_together(document: Document) -> Iterator[str]:
    """Ids ascend, the packed form says the same, EOS is allowed exactly in members, dead ends are the last step."""
    vocabulary = _vocabulary(document)
    for case in document["cases"]:
        for path in case.get("paths", []):
            for number, step in enumerate(path["steps"]):
                for fault in _step_faults(step, number == len(path["steps"]) - 1, vocabulary):
                    yield f"{case['id']}, path {path['seed']}, step {number}: {fault}"


def _step_faults(step: Document, last: bool, vocabulary: Document) -> Iterator[str]:
    size, eos = len(vocabulary["tokens"]), set(vocabulary["eos"])
    allowed = step["allowed"]
    if allowed != sorted(allowed) or (allowed and allowed[-1] >= size):
        yield "allowed ids are not ascending ids of the vocabulary"
        return
    if packed(allowed, size).hex() != step["mask"]:
        yield "the packed mask is not the allowed ids"
    if allowed and (eos <= set(allowed)) != step["complete"]:
        yield "EOS is allowed exactly when the text so far is whole, and here it is not so"
    if ("token" in step) == (last and not allowed) and not last:
        yield "a step before the last takes no token"
    if "token" in step and step["token"] not in allowed:
        yield "the token taken is not allowed"


def _vocabulary(document: Document) -> Document:
    for case in document["cases"]:
        if case.get("kind") == "vocabulary":
            found: Document = case
            return found
    toy: Document = json.loads((SCHEMAS.parent / "toy_vocabulary.json").read_text(encoding="utf-8"))
    return toy


def _texts_are_the_bytes(document: Document) -> Iterator[str]:
    """The readable text beside a hex string is that string."""
    for case in document["cases"]:
        for number, (token, text) in enumerate(
            zip(case.get("tokens", []), case.get("text", []), strict=False)
        ):
            if text != ("" if token is None else readable(bytes.fromhex(token))):
                yield f"{case['id']}: text of token {number} is not its bytes"


def _nothing_is_asked_twice(document: Document) -> Iterator[str]:
    asked = Counter(
        json.dumps(
            [
                case.get(key)
                for key in (
                    "dialect",
                    "pattern",
                    "text",
                    "schema",
                    "source",
                    "seed",
                    "params",
                    "rng",
                    "logits",
                    "sequence",
                    "body",
                    "pieces",
                    "messages",
                )
            ]
        )
        for case in document["cases"]
        if case.get("kind") != "vocabulary"
    )
    yield from (
        f"the same question is asked {count} times: {what[:120]}"
        for what, count in asked.items()
        if count > 1
    )


RULES: tuple[Callable[[Document], Iterator[str]], ...] = (
    _ids_are_unique,
    _count_is_right,
    _flags_are_described_iff_used,
    _confirmed_by_two_or_by_hand,
    _masks_hold_together,
    _texts_are_the_bytes,
    _nothing_is_asked_twice,
)
