"""The goldens: current, well formed, confirmed twice, and readable in two languages."""

import copy
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.golden import kinds
from engine.golden.agreement import Disagreement, agreed
from engine.golden.check import check, first_difference, generate
from engine.golden.document import FOLDER, Golden, compact, read
from engine.golden.lint import faults

ROOT = Path(__file__).parent.parent
FILES = sorted(FOLDER.rglob("*.json"))
SMALL = [path for path in FILES if path.stat().st_size < 200_000]
QUICK = ["sampling"]


def places(value: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The way to every value inside a JSON value that is no container."""
    if isinstance(value, dict):
        return [place for key, inner in value.items() for place in places(inner, (*at, key))]
    if isinstance(value, list):
        return [place for key, inner in enumerate(value) for place in places(inner, (*at, key))]
    return [at]


def changed(value: Any, place: tuple[Any, ...]) -> Any:
    """A copy with another value at a place."""
    result = copy.deepcopy(value)
    inner = result
    for key in place[:-1]:
        inner = inner[key]
    old = inner[place[-1]]
    if isinstance(old, bool):
        inner[place[-1]] = not old
    elif isinstance(old, int | float):
        inner[place[-1]] = old + 1
    elif isinstance(old, str):
        inner[place[-1]] = ("0" if old[:1] != "0" else "1") + old[1:]
    else:
        inner[place[-1]] = False
    return result


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(FOLDER)))
def test_every_file_is_what_its_schema_and_the_lint_ask_for(path: Path) -> None:
    assert faults(path, read(path)) == []


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(FOLDER)))
def test_every_file_is_in_canonical_text_with_one_case_a_line(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    lines = text.splitlines()
    cases = read(path)["cases"]
    assert lines[lines.index('"cases":[') + 1 : -1] == [
        compact(case) + ("," if number < len(cases) else "") for number, case in enumerate(cases, 1)
    ]


def test_generating_twice_gives_the_same_bytes(tmp_path: Path) -> None:
    assert generate(tmp_path, QUICK)
    assert generate(tmp_path, QUICK) == []


def test_the_checked_in_files_are_current() -> None:
    records = list(check(wanted=QUICK))
    assert records
    assert [record for record in records if record.verdict != "tested"] == []


def test_a_missing_file_is_a_finding(tmp_path: Path) -> None:
    assert {record.verdict for record in check(tmp_path, QUICK)} == {"refuted"}


def test_nothing_is_written_that_two_computations_do_not_agree_on() -> None:
    with pytest.raises(Disagreement, match="the reference has 1, the oracle has 2"):
        agreed("a value", 1, 2)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_flipping_any_one_value_of_a_file_is_noticed(data: st.DataObject, tmp_path: Path) -> None:
    """For a file F and any place p in it: check(F with another value at p) refutes."""
    path = data.draw(st.sampled_from([path for path in SMALL if path.parent.name in QUICK]))
    document = read(path)
    place = data.draw(st.sampled_from(places(document)))
    copied = tmp_path / "golden"
    shutil.rmtree(copied, ignore_errors=True)
    shutil.copytree(FOLDER / path.parent.name, copied / path.parent.name)
    (copied / path.relative_to(FOLDER)).write_text(_as_file(changed(document, place)), encoding="utf-8")
    assert any(record.verdict == "refuted" for record in check(copied, [path.parent.name]))


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_any_difference_between_two_values_is_found(data: st.DataObject) -> None:
    path = data.draw(st.sampled_from(SMALL))
    case = data.draw(st.sampled_from(read(path)["cases"]))
    assert first_difference(case, case) is None
    assert first_difference(changed(case, data.draw(st.sampled_from(places(case)))), case) is not None


def test_the_kinds_are_the_folders() -> None:
    assert sorted({path.relative_to(FOLDER).parts[0] for path in FILES}) == kinds.kinds()


def test_the_python_reader_recomputes_the_files() -> None:
    assert " recomputed" in _run([sys.executable, "docs/readers/golden_reader.py", str(FOLDER)])


def test_the_javascript_reader_comes_to_the_same_counts() -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("no node on this machine; the JavaScript reader was not run")
    told = _run([node, "docs/readers/golden_reader.mjs", str(FOLDER)])
    assert told == _run([sys.executable, "docs/readers/golden_reader.py", str(FOLDER)])


def test_a_reader_refuses_a_wrong_mask(tmp_path: Path) -> None:
    shutil.copytree(FOLDER.parent, tmp_path / "fixtures")
    path = tmp_path / "fixtures" / "golden" / "oracle" / "automata.json"
    document = json.loads(path.read_text(encoding="utf-8"))
    document["cases"][0]["paths"][0]["steps"][0]["allowed"].pop()
    path.write_text(json.dumps(document), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "docs/readers/golden_reader.py", str(path.parents[1])],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "allowed" in done.stderr


def _as_file(document: dict[str, Any]) -> str:
    cases = tuple(document.pop("cases"))
    head = "\n".join(f'"{key}":{compact(value)},' for key, value in document.items())
    return "{\n" + head + '\n"cases":[\n' + ",\n".join(compact(case) for case in cases) + "\n]}\n"


def _run(command: list[str]) -> str:
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout


def test_the_text_of_a_golden_reads_back() -> None:
    golden = Golden("a/b.json", "golden-dumps.schema.json", "about it", {}, ({"id": "x"},), "0" * 64)
    assert json.loads(golden.text())["cases"] == [{"id": "x"}]
