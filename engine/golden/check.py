"""Goldens written, and held: made anew from their inputs by both computations, compared, and linted."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from engine.golden import kinds
from engine.golden.agreement import Disagreement
from engine.golden.document import FOLDER, Golden, compact, read
from engine.golden.lint import faults
from engine.results import Record

Tick = Callable[[int, int, str], None]


def generate(
    folder: Path = FOLDER, wanted: list[str] | None = None, tick: Tick = lambda *_: None
) -> list[Path]:
    """Write the files of the wanted kinds (all by default); returns the paths whose text changed."""
    changed, names = [], wanted or kinds.kinds()
    for number, kind in enumerate(names):
        tick(number, len(names), kind)
        for golden in kinds.build(kind):
            path = folder / golden.path
            path.parent.mkdir(parents=True, exist_ok=True)
            if not path.exists() or path.read_text(encoding="utf-8") != golden.text():
                path.write_text(golden.text(), encoding="utf-8")
                changed.append(path)
    return changed


def check(
    folder: Path = FOLDER, wanted: list[str] | None = None, tick: Tick = lambda *_: None
) -> Iterator[Record]:
    """One record a case, and one a file for its form; a file nobody makes any more is a finding."""
    names, made = wanted or kinds.kinds(), set()
    for number, kind in enumerate(names):
        tick(number, len(names), kind)
        try:
            files = kinds.build(kind)
        except Disagreement as error:
            yield _record(kind, "agreement", str(error), "two computations", kind="table_differs")
            continue
        for golden in files:
            made.add(golden.path)
            yield from _file(folder / golden.path, golden)
    strays = [path for path in sorted(folder.rglob("*.json")) if str(path.relative_to(folder)) not in made]
    for path in strays if wanted is None else []:
        yield _record(
            path.name, "current", f"{path.relative_to(folder)} is made by no kind; remove it", "listing"
        )


def first_difference(there: Any, expected: Any, place: str = "") -> str | None:
    """Where two JSON values first differ, and how; None when they are equal."""
    if isinstance(there, dict) and isinstance(expected, dict):
        for key in [*expected, *(key for key in there if key not in expected)]:
            if key not in there or key not in expected:
                return f"{place}/{key}: {'missing' if key not in there else 'not expected'}"
            if told := first_difference(there[key], expected[key], f"{place}/{key}"):
                return told
        return None
    if isinstance(there, list) and isinstance(expected, list):
        for number, (one, other) in enumerate(zip(there, expected, strict=False)):
            if told := first_difference(one, other, f"{place}/{number}"):
                return told
        return (
            None
            if len(there) == len(expected)
            else f"{place}: {len(there)} entries, {len(expected)} expected"
        )
    if type(there) is type(expected) and there == expected:
        return None
    return f"{place or '/'}: {compact(there)[:120]} where {compact(expected)[:120]} is expected"


def _file(path: Path, golden: Golden) -> Iterator[Record]:
    if not path.exists():
        yield _record(
            golden.path, "current", "the file is missing; maskproof golden generate writes it", "listing"
        )
        return
    document, text = read(path), path.read_text(encoding="utf-8")
    told = faults(path, document)
    yield _record(golden.path, "form", "; ".join(told[:3]), "JSON Schema and lint")
    there = {case.get("id"): case for case in document.get("cases", []) if isinstance(case, dict)}
    different = False
    for case in golden.cases:
        begun = time.perf_counter()
        found = first_difference(there.get(case["id"]), case)
        different |= found is not None
        yield _record(golden.path, case["id"], found or "", _method(case), time.perf_counter() - begun)
    if not different:
        problem = (
            "" if text == golden.text() else "the header, the order or the spelling is not that of generate"
        )
        yield _record(golden.path, "text", problem, "byte by byte")


def _method(case: dict[str, Any]) -> str:
    return "made anew, confirmed by " + ", ".join(case["confirmed_by"])


def _record(
    case: str, check: str, problem: str, method: str, seconds: float = 0.0, kind: str = "text_differs"
) -> Record:
    return Record(
        command="golden",
        subject="reference",
        case=case,
        check=check,
        verdict="refuted" if problem else "tested",
        kind=kind if problem else "",
        method=method,
        domain={"cases": 1},
        seconds=seconds,
        message=problem,
        reproduce="maskproof golden check" if problem else "",
    )
