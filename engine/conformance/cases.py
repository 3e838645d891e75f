"""The conformance cases, read from every file in fixtures/conformance: one entry a case, no other edit to add one."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from engine.errors import BadInput
from fixtures import ROOT

FOLDER = ROOT / "conformance"


@dataclass(frozen=True, slots=True)
class Case:
    """One request and what must hold of its answer; `flags` name the faults that break it.

    `request` is the body without its model; `raw`, repeated `times`, is a body that need not be JSON; without either
    `path` is asked with GET. `before` are bodies sent first, whose answers are not looked at. `key` and `model` replace
    the right ones.
    """

    id: str
    check: str
    comment: str
    flags: tuple[str, ...]
    wants: tuple[dict[str, Any], ...]
    request: dict[str, Any] | None = None
    raw: str | None = None
    times: int = 1
    path: str = "/chat/completions"
    before: tuple[dict[str, Any], ...] = ()
    key: str | None = None
    model: str | None = None


@cache
def load_cases() -> tuple[Case, ...]:
    """All cases, file by file in the order of their names."""
    documents = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(FOLDER.glob("*.json"))]
    return tuple(_case(entry) for document in documents for entry in document["cases"])


def flags_described() -> dict[str, str]:
    """Every flag with what a server that breaks its cases does wrong."""
    documents = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(FOLDER.glob("*.json"))]
    return {flag: meaning for document in documents for flag, meaning in document["flags"].items()}


def select_cases(names: Sequence[str]) -> tuple[Case, ...]:
    """The cases whose id or check begins with one of these names, all of them when there are none."""
    cases = load_cases()
    for name in names:
        if not any(_is_named(case, name) for case in cases):
            checks = ", ".join(sorted({case.check for case in cases}))
            raise BadInput(f"case {name!r}: no case or check begins like this; checks are {checks}")
    return tuple(case for case in cases if not names or any(_is_named(case, name) for name in names))


def _is_named(case: Case, name: str) -> bool:
    return case.id.startswith(name) or case.check == name


def _case(entry: dict[str, Any]) -> Case:
    lists: dict[str, Any] = {name: tuple(entry.get(name, ())) for name in ("flags", "wants", "before")}
    return Case(**(entry | lists))
