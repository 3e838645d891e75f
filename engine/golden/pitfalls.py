"""The pitfalls that cases and mutants are flagged with (fixtures/pitfalls.json)."""

import json
from collections.abc import Iterable
from functools import cache

from engine.golden.document import Case
from fixtures import ROOT


@cache
def pitfalls() -> dict[str, str]:
    """Pitfall id → what a failure under it means."""
    meanings: dict[str, str] = json.loads((ROOT / "pitfalls.json").read_text(encoding="utf-8"))["pitfalls"]
    return meanings


def flags_of(cases: Iterable[Case]) -> dict[str, str]:
    """The flags that these cases carry, each with its meaning, in the order of the pitfalls' file."""
    used = {flag for case in cases for flag in case["flags"]}
    return {flag: meaning for flag, meaning in pitfalls().items() if flag in used}
