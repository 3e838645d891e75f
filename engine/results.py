"""Results on disk the moment they are known: one JSON object a line, appended, one shape for every command.

A run is a folder `<results>/<run>/` with one file `records.jsonl`: a header line, then a line a record, then
a footer line. A line is handed to the operating system in one write before the next case begins, so a killed
process loses at most the case under way; a torn line is passed over by readers and closed off by the next
writer. The pitfall is to be lenient with whole lines too: a record of the wrong shape is an error here, since
a refutation that nobody can read would otherwise look like a pass. docs/results.md is the layout, key by key.
"""

import json
import os
import platform
import secrets
import time
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self

import msgspec

from engine.errors import BadInput

FORMAT = 1
DEFAULT_FOLDER = Path("reports/out")
FILE_NAME = "records.jsonl"
SYNC_SECONDS = 1.0

Verdict = Literal["proven", "tested", "refuted", "refused", "undecided", "skipped"]
Outcome = Literal["finished", "interrupted", "failed"]
Key = tuple[str, str, str, str]


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

    def key(self) -> Key:
        """What a resumed run compares: command, subject, case, check."""
        return (self.command, self.subject, self.case, self.check)


class Header(msgspec.Struct, frozen=True, kw_only=True):
    """The first line of a run, and of every resumption: what was asked, by which version, where it ran."""

    run: str
    command: str
    started: str
    arguments: list[str] = []
    settings: dict[str, Any] = {}
    maskproof: str = ""
    python: str = ""
    system: str = ""
    format: int = FORMAT


class Footer(msgspec.Struct, frozen=True, kw_only=True):
    """The last line of a run that came to its end; a run without one was killed or is still going."""

    ended: str
    outcome: Outcome


class _HeaderLine(msgspec.Struct, frozen=True):
    header: Header


class _FooterLine(msgspec.Struct, frozen=True):
    footer: Footer


class ResultsWriter:
    """Appends records to one file, each handed to the operating system before the next case begins."""

    def __init__(self, path: Path) -> None:
        """Open `path` for appending, making its folder; a torn last line is closed off first."""
        self.path = path
        self.run = path.parent.name
        self.done: frozenset[Key] = frozenset()
        self._headed = False
        self._synced = time.monotonic()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            torn = _is_torn(path)
            self._file = path.open("ab", buffering=0)
        except OSError as error:
            raise _unwritable(path, error) from error
        if torn:
            self._write(b"\n")

    def begin(self, header: Header) -> None:
        """Write the header; the block's end will then write the footer."""
        self._headed = True
        self._write(_encode(_HeaderLine(header)) + b"\n")

    def append(self, record: Record) -> None:
        """Write one record; it outlives this process at once, and a power cut after a second."""
        self._write(_encode(record) + b"\n")
        if time.monotonic() - self._synced > SYNC_SECONDS:
            self._sync()

    def __enter__(self) -> Self:
        """Keep the file open for the block."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Write the footer of a run that has a header, and close the file."""
        if self._headed:
            footer = Footer(ended=_now().isoformat(timespec="seconds"), outcome=_outcome(kind))
            self._write(_encode(_FooterLine(footer)) + b"\n")
        self._sync()
        self._file.close()

    def _write(self, line: bytes) -> None:
        left = memoryview(line)
        while left:
            left = left[self._file.write(left) :]

    def _sync(self) -> None:
        os.fsync(self._file.fileno())
        self._synced = time.monotonic()


def open_run(
    command: str,
    arguments: Sequence[str] = (),
    *,
    settings: Mapping[str, Any] | None = None,
    results: Path | None = None,
    run: str | None = None,
    resume: bool = False,
) -> ResultsWriter:
    """A writer on a new run, or with `resume` on the newest run of the same command and settings.

    `settings` are whatever changes an answer (vocabulary, seed, corpus, limits): only a run with equal ones
    is resumed, and its finished keys are in the writer's `done`. `run` names the folder, else a fresh id.
    """
    results = results if results is not None else results_folder()
    chosen = dict(settings or {})
    if resume and run is None:
        run = _newest(results, command, chosen)
    name = run if run is not None else new_run_id(command)
    writer = ResultsWriter(run_path(name, results))
    if resume:
        writer.done = done_keys(writer.path)
    writer.begin(_header(name, command, arguments, chosen))
    return writer


def results_folder() -> Path:
    """Where runs are kept: $MASKPROOF_RESULTS, else reports/out below the current folder."""
    return Path(os.environ.get("MASKPROOF_RESULTS") or DEFAULT_FOLDER)


def new_run_id(command: str) -> str:
    """A fresh run id that sorts by time, such as 20261130-142501-audit-9f3c."""
    return f"{_now():%Y%m%d-%H%M%S}-{command}-{secrets.token_hex(2)}"


def run_path(run: str, results: Path | None = None) -> Path:
    """The records file of a run: <results>/<run>/records.jsonl."""
    if run in ("", ".", "..") or "/" in run or "\\" in run or "\0" in run:
        raise BadInput(f"run name {run!r} is not a plain folder name; leave out separators and dots")
    return (results if results is not None else results_folder()) / run / FILE_NAME


def done_keys(path: Path) -> frozenset[Key]:
    """The keys a resumed run may pass over; empty when the file is not there yet."""
    return frozenset(record.key() for record in read_records(path)) if path.exists() else frozenset()


def read_records(path: Path) -> Iterator[Record]:
    """The whole records of a file in order; a torn line is passed over, another shape is an error."""
    decoder = msgspec.json.Decoder(Record)
    for number, line in _whole_lines(path):
        if not _is_frame(line):
            try:
                yield decoder.decode(line)
            except msgspec.DecodeError as error:
                raise _unreadable(f"{path}, line {number}", error) from error


def read_headers(path: Path) -> list[Header]:
    """The headers of a run, one for its start and one for every resumption."""
    decoder = msgspec.json.Decoder(_HeaderLine)
    lines = (line for _, line in _whole_lines(path) if line.startswith(b'{"header":'))
    try:
        return [decoder.decode(line).header for line in lines]
    except msgspec.DecodeError as error:
        raise _unreadable(f"{path}, header", error) from error


def as_plain(record: Record) -> dict[str, Any]:
    """The record as plain JSON data."""
    plain: dict[str, Any] = json.loads(_encode(record))
    return plain


def _unreadable(place: str, error: msgspec.DecodeError) -> BadInput:
    return BadInput(f"{place}: not a line of a results file ({error}); see docs/results.md for the layout")


def _unwritable(path: Path, error: OSError) -> BadInput:
    return BadInput(
        f"results folder {path.parent.parent}: {error.strerror}; name one that can be written, "
        "with --results or in MASKPROOF_RESULTS"
    )


def _encode(line: msgspec.Struct | dict[str, Any]) -> bytes:
    """The line; a lone surrogate, which UTF-8 cannot hold, becomes U+FFFD."""
    try:
        return msgspec.json.encode(line)
    except UnicodeEncodeError:
        text = json.dumps(msgspec.to_builtins(line), ensure_ascii=False)
        return text.encode("utf-8", "surrogatepass").decode("utf-8", "replace").encode()


def _is_torn(path: Path) -> bool:
    if not path.exists() or path.stat().st_size == 0:
        return False
    with path.open("rb") as file:
        file.seek(-1, os.SEEK_END)
        return file.read(1) != b"\n"


def _whole_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    with path.open("rb") as lines:
        for number, line in enumerate(lines, 1):
            if _is_json(line):
                yield number, line


def _is_json(line: bytes) -> bool:
    try:
        msgspec.json.decode(line, type=msgspec.Raw)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return False
    return True


def _is_frame(line: bytes) -> bool:
    return line.startswith((b'{"header":', b'{"footer":'))


def _newest(results: Path, command: str, settings: dict[str, Any]) -> str | None:
    asked = msgspec.json.decode(_encode(settings))
    for path in sorted(results.glob(f"*/{FILE_NAME}"), reverse=True):
        headers = read_headers(path)
        if headers and headers[0].command == command and headers[0].settings == asked:
            return path.parent.name
    return None


def _header(run: str, command: str, arguments: Sequence[str], settings: dict[str, Any]) -> Header:
    return Header(
        run=run,
        command=command,
        started=_now().isoformat(timespec="seconds"),
        arguments=list(arguments),
        settings=settings,
        maskproof=_version(),
        python=platform.python_version(),
        system=f"{platform.system()} {platform.machine()}",
    )


def _version() -> str:
    try:
        return version("maskproof")
    except PackageNotFoundError:
        return ""


def _outcome(kind: type[BaseException] | None) -> Outcome:
    if kind is None:
        return "finished"
    return "interrupted" if issubclass(kind, KeyboardInterrupt) else "failed"


def _now() -> datetime:
    return datetime.now(UTC)
