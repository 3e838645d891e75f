"""Known and accepted findings: a file that lets a team's CI fail on new ones only.

    {"format": 1, "accepted": [{"subject": "xgrammar", "case": "city@toy", "check": "masks", "kind": "unsound",
                                "why": "reported upstream"}]}

A finding is accepted when an entry has its subject, check and kind and its case; `*` stands for any run of characters
in an entry. Shrunk sources are not compared: they may come out smaller with the next version. An entry that nothing
matched is told, so that the list does not outlive its faults.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from engine.errors import BadInput
from engine.results import Record

FORMAT = 1
FIELDS = ("subject", "case", "check", "kind")


@dataclass(frozen=True, slots=True)
class Accepted:
    """One accepted finding; `*` in a field stands for anything."""

    subject: str
    case: str
    check: str
    kind: str
    why: str = ""

    def covers(self, record: Record) -> bool:
        """Whether a refuted record is this finding."""
        return all(_matches(getattr(record, name), getattr(self, name)) for name in FIELDS)


@dataclass(frozen=True, slots=True)
class Sorted:
    """Findings beside a baseline: those that are new, those that are accepted, entries that nothing matched."""

    new: tuple[Record, ...]
    accepted: tuple[Record, ...]
    unmatched: tuple[Accepted, ...]


def read_baseline(path: Path) -> tuple[Accepted, ...]:
    """The accepted findings of a file."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        entries = document["accepted"]
        if document["format"] != FORMAT:
            raise ValueError(f"format {document['format']!r}")
        return tuple(Accepted(**{name: str(entry[name]) for name in entry}) for entry in entries)
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise BadInput(f"{path}: no baseline ({error}); write one with --accept") from error


def sort_findings(records: Iterable[Record], accepted: Sequence[Accepted]) -> Sorted:
    """The refuted records, sorted by whether an entry covers them."""
    findings = [record for record in records if record.verdict == "refuted"]
    known = [record for record in findings if any(entry.covers(record) for entry in accepted)]
    new = [record for record in findings if record not in known]
    unmatched = [entry for entry in accepted if not any(entry.covers(record) for record in findings)]
    return Sorted(tuple(new), tuple(known), tuple(unmatched))


def write_baseline(path: Path, records: Iterable[Record], before: Sequence[Accepted] = ()) -> int:
    """Write the findings as accepted, keeping the entries of before; returns how many there are."""
    entries = list(before)
    for record in sort_findings(records, before).new:
        entries.append(Accepted(record.subject, record.case, record.check, record.kind))
    rows = [
        json.dumps({name: getattr(entry, name) for name in (*FIELDS, "why")})
        for entry in dict.fromkeys(entries)
    ]
    body = ",\n  ".join(rows)
    path.write_text(f'{{\n "format": {FORMAT},\n "accepted": [\n  {body}\n ]\n}}\n', encoding="utf-8")
    return len(rows)


def _matches(value: str, pattern: str) -> bool:
    """Equal, or equal where `*` stands for anything; brackets and `?` mean themselves."""
    return value == pattern or fnmatchcase(value, pattern.replace("[", "[[]").replace("?", "[?]"))
