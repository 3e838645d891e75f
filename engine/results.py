"""Results on disk the moment they are known: one JSON object a line, appended, one shape for every command."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self

import msgspec

Verdict = Literal["proven", "tested", "refuted", "refused", "undecided", "skipped"]


class Record(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One verdict: who was judged (`subject`), on what (`case`), by which `check`, and what came out."""

    command: str
    subject: str
    case: str
    check: str
    verdict: Verdict
    kind: str = ""
    method: str = ""
    domain: dict[str, Any] = {}
    seconds: float = 0.0
    message: str = ""
    witness: dict[str, Any] = {}
    reproduce: str = ""
    detail: dict[str, Any] = {}

    def key(self) -> tuple[str, str, str, str]:
        """What a resumed run compares: command, subject, case, check."""
        return (self.command, self.subject, self.case, self.check)


class ResultsWriter:
    """Appends records to one file, each flushed before the next case begins."""

    def __init__(self, path: Path) -> None:
        """Open `path` for appending, making its folder; a torn last line is closed off first."""
        path.parent.mkdir(parents=True, exist_ok=True)
        self.path = path
        self._file = path.open("ab")
        if path.stat().st_size and path.read_bytes()[-1:] != b"\n":
            self._file.write(b"\n")

    def append(self, record: Record) -> None:
        """Write one record and flush it to the operating system."""
        self._file.write(msgspec.json.encode(record) + b"\n")
        self._file.flush()
        os.fsync(self._file.fileno())

    def __enter__(self) -> Self:
        """Keep the file open for the block."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the file."""
        self._file.close()


def read_records(path: Path) -> Iterator[Record]:
    """The whole records of a file in order; a torn line is passed over."""
    decoder = msgspec.json.Decoder(Record)
    with path.open("rb") as lines:
        for line in lines:
            try:
                yield decoder.decode(line)
            except msgspec.DecodeError:
                continue


def as_plain(record: Record) -> dict[str, Any]:
    """The record as plain JSON data."""
    plain: dict[str, Any] = json.loads(msgspec.json.encode(record))
    return plain
