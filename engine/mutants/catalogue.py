"""The mutants: each an entry of fixtures/mutants.toml that replaces one text of one module, exactly once."""

import tomllib
from dataclasses import dataclass
from functools import cache

from engine.errors import BadInput
from fixtures import ROOT

FILE = ROOT / "mutants.toml"
SOURCES = ROOT.parent


@dataclass(frozen=True, slots=True)
class Mutant:
    """A named change: in `module`, `old` (which stands there exactly once) becomes `new`.

    `pitfall` is an id of fixtures/pitfalls.json. `alone` says why only one column can see it, when that is so.
    """

    id: str
    pitfall: str
    title: str
    module: str
    old: str
    new: str
    alone: str = ""


@cache
def mutants() -> tuple[Mutant, ...]:
    """All mutants in file order."""
    with FILE.open("rb") as file:
        return tuple(Mutant(**entry) for entry in tomllib.load(file)["mutant"])


def mutant(name: str) -> Mutant:
    """The mutant of this id."""
    for found in mutants():
        if found.id == name:
            return found
    raise BadInput(
        f"mutant {name!r} is not in fixtures/mutants.toml; it has {', '.join(m.id for m in mutants())}"
    )


def mutated(found: Mutant, source: str) -> str:
    """The module's source with the change made; an `old` that does not stand there exactly once is an error."""
    count = source.count(found.old)
    if count != 1:
        raise BadInput(
            f"mutant {found.id}: its old text stands {count} times in {found.module}; it must stand once"
        )
    return source.replace(found.old, found.new)


def source_of(module: str) -> str:
    """The source text of one of our modules."""
    return (SOURCES / (module.replace(".", "/") + ".py")).read_text(encoding="utf-8")
