"""Engines side by side: one child process an engine, every workload round after round, all on the same machine.

A round asks every engine in turn, so that whatever else the machine does falls on all of them alike; ratios are taken
within a round and given with their spread. All follow one path of tokens through one vocabulary.
"""

import base64
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from queue import Empty, Queue
from threading import Thread
from typing import Any

from engine.errors import BadInput
from engine.models.longest_match import LongestMatch
from engine.samples import members
from engine.suite import Language, pattern_language, select
from reference.compile import regex_to_dfa
from reference.vocabulary import Vocabulary

CHILD = Path(__file__).with_name("child.py")
ROOT = CHILD.parents[2]
ENGINES = ("reference", "xgrammar", "llguidance", "outlines-core", "glrmask")
LANGUAGES = ("city", "person", "number", "any-of", "array-bounds", "tool-call", "hand-words", "timestamp")
ASCII_PATTERNS = {
    "email": r"[a-z0-9._]{1,20}@[a-z0-9]{1,20}\.(?:com|org|net)",
    "ipv4": r"(?:\d{1,3}\.){3}\d{1,3}",
}
START_SECONDS = 120.0


@dataclass(frozen=True, slots=True)
class Workload:
    """What every engine compiles, and the tokens along which every engine is asked."""

    id: str
    kind: str
    source: str
    path: tuple[int, ...]


@dataclass(slots=True)
class Samples:
    """Seconds of one engine on one workload, a list entry a round; None where the engine gave no answer."""

    compiles: list[float | None] = field(default_factory=list)
    masks: list[list[float] | None] = field(default_factory=list)
    tables: list[float | None] = field(default_factory=list)
    error: str = ""


@dataclass(slots=True)
class Measured:
    """All samples by workload and engine, and what each engine is: its version, the memory of its process."""

    samples: dict[tuple[str, str], Samples] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    absent: dict[str, str] = field(default_factory=dict)
    memory: dict[str, int] = field(default_factory=dict)


def workloads(vocabulary: Vocabulary, *, seed: int, quick: bool) -> list[Workload]:
    """The suite's languages that all engines read alike, and two patterns; the path spells one member."""
    patterns = [pattern_language(name, pattern, "unicode") for name, pattern in ASCII_PATTERNS.items()]
    chosen = [*select(list(LANGUAGES)), *patterns]
    spell = LongestMatch(vocabulary)
    return [_workload(language, spell, seed) for language in (chosen[::3] if quick else chosen)]


def measure(
    work: Sequence[Workload],
    vocabulary: Vocabulary,
    *,
    engines: Sequence[str],
    python: str,
    rounds: int,
    limit: float,
    tell: Callable[[int, int, str], None],
) -> Measured:
    """Every engine on every workload, `rounds` times; an answer later than `limit` seconds is none."""
    found = Measured()
    with tempfile.TemporaryDirectory() as folder:
        file = _written(vocabulary, Path(folder))
        children = list(_children(engines, python, file, found))
        try:
            for turn in range(rounds):
                for place, workload in enumerate(work):
                    tell(turn * len(work) + place, rounds * len(work), workload.id)
                    for child in children:
                        _ask(child, workload, found, limit)
        finally:
            for child in children:
                child.end()
    return found


class Child:
    """One engine's process; ended and started anew when it does not answer in time."""

    def __init__(self, name: str, python: str, vocabulary: Path) -> None:
        """Start it and wait until it is ready."""
        self.name = name
        self._command = [python, str(CHILD), name, str(vocabulary)]
        self.memory = 0
        self._start()

    def ask(self, workload: Workload, limit: float) -> dict[str, Any]:
        """The answer to one request; an error when there is none in time."""
        request = {"kind": workload.kind, "source": workload.source, "path": list(workload.path)}
        answer = self._exchange(json.dumps(request), limit)
        if answer is None:
            self.end()
            self._start()
            return {"ok": False, "error": f"no answer within {limit:g} s"}
        self.memory = max(self.memory, answer.get("resident", 0))
        return answer

    def end(self) -> None:
        """Stop the process."""
        self._process.kill()
        self._process.wait()

    def _start(self) -> None:
        paths = {"PYTHONPATH": str(ROOT)} if self.name == "reference" else {}
        self._process = subprocess.Popen(
            self._command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=os.environ | paths,
        )
        self._lines: Queue[str] = Queue()
        Thread(target=self._read, args=(self._process, self._lines), daemon=True).start()
        self.hello = self._next(START_SECONDS) or {"ok": False, "error": "it did not start"}

    def _exchange(self, line: str, limit: float) -> dict[str, Any] | None:
        if self._process.stdin is None or self._process.poll() is not None:
            return None
        try:
            self._process.stdin.write(line + "\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            return None
        return self._next(limit)

    def _next(self, limit: float) -> dict[str, Any] | None:
        try:
            line = self._lines.get(timeout=limit)
        except Empty:
            return None
        found: dict[str, Any] | None = json.loads(line) if line else None
        return found

    @staticmethod
    def _read(process: subprocess.Popen[str], lines: "Queue[str]") -> None:
        for line in process.stdout or ():
            lines.put(line)
        lines.put("")


def _children(engines: Sequence[str], python: str, file: Path, found: Measured) -> Iterator[Child]:
    for name in engines:
        if name not in ENGINES:
            raise BadInput(f"engine {name!r} is none of {', '.join(ENGINES)}")
        child = Child(name, sys.executable if name == "reference" else python, file)
        if child.hello["ok"]:
            found.versions[name] = child.hello["version"]
            yield child
        else:
            found.absent[name] = child.hello["error"]
            child.end()


def _ask(child: Child, workload: Workload, found: Measured, limit: float) -> None:
    samples = found.samples.setdefault((workload.id, child.name), Samples())
    if samples.error:
        return
    answer = child.ask(workload, limit)
    samples.compiles.append(answer.get("compile"))
    samples.masks.append(answer.get("masks"))
    samples.tables.append(answer.get("table"))
    samples.error = answer.get("error", "")
    found.memory[child.name] = child.memory


def _workload(language: Language, spell: LongestMatch, seed: int) -> Workload:
    dfa = regex_to_dfa(language.pattern, language.dialect)
    text = max(
        filter(_is_plain, members(dfa, 200, seed, longest=60)), key=lambda member: min(len(member), 60)
    )
    kind = "schema" if language.kind == "schema" else "regex"
    return Workload(language.id, kind, language.source, tuple(spell.encode_bytes(text)))


def _is_plain(member: bytes) -> bool:
    """A member that all engines read alike: printable ASCII without escapes."""
    return member.isascii() and b"\\" not in member and member.decode().isprintable()


def _written(vocabulary: Vocabulary, folder: Path) -> Path:
    if len(vocabulary.eos) != 1:
        raise BadInput(
            f"vocabulary {vocabulary.name}: {len(vocabulary.eos)} EOS ids; engines are compared with exactly one"
        )
    tokens = [None if data is None else base64.b64encode(data).decode() for data in vocabulary.tokens]
    path = folder / "vocabulary.json"
    path.write_text(json.dumps({"tokens": tokens, "eos": min(vocabulary.eos)}), encoding="utf-8")
    return path
