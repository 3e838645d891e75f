"""Ports for the tests of the audit: copies of the pure port with one text changed, and small scripts."""

import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from engine.audit.audit import Request, audit
from engine.audit.findings import Subject
from engine.audit.plan import Settings
from engine.host import Limits, Port
from engine.ports.registry import find
from engine.results import Record

FAULTS = Path(__file__).with_name("planted_faults.toml")
SMALL = Settings(
    vocabularies=("toy",), languages=("hand-words", "optional-pair"), walks=1, length=20, programs=1
)


@dataclass(frozen=True)
class Fault:
    """A fault planted in a copy of the pure port."""

    id: str
    title: str
    old: str
    new: str
    kinds: list[str]
    slow: bool = False


@cache
def faults() -> tuple[Fault, ...]:
    with FAULTS.open("rb") as file:
        return tuple(Fault(**entry) for entry in tomllib.load(file)["fault"])


def fault(name: str) -> Fault:
    return next(one for one in faults() if one.id == name)


def pure_source() -> str:
    return find("pure").path.read_text(encoding="utf-8")


def changed(folder: Path, old: str, new: str) -> list[str]:
    """The command of a copy of the pure port in which `old`, which stands there once, is `new`."""
    return changed_all(folder, (old, new))


def changed_all(folder: Path, *pairs: tuple[str, str]) -> list[str]:
    """The command of a copy of the pure port with several texts changed."""
    source = pure_source()
    for old, new in pairs:
        assert source.count(old) == 1, f"{old!r} stands {source.count(old)} times in the pure port"
        source = source.replace(old, new)
    path = folder / "changed_port.py"
    path.write_text(source, encoding="utf-8")
    return [sys.executable, "-P", str(path)]


def records(
    command: list[str], folder: Path, settings: Settings = SMALL, **asked: object
) -> Iterator[Record]:
    """The records of an audit; findings go to the folder."""

    def subject(port: Port) -> Subject:
        policies = port.hello.policies if port.alive else {}
        return Subject("port", "1", dict(policies), ("--", *command), folder / "findings")

    limits = asked.pop("limits", Limits())
    assert isinstance(limits, Limits)
    return audit(Request(tuple(command), subject, settings, limits, str(asked.get("corpus", ""))))


def first_finding(command: list[str], folder: Path, settings: Settings = SMALL) -> Record | None:
    found = records(command, folder, settings)
    try:
        return next((record for record in found if record.verdict == "refuted"), None)
    finally:
        close = getattr(found, "close", None)
        if close is not None:
            close()
