"""The results store: what was recorded stays recorded, whatever happens to the process that recorded it."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import jsonschema
import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.errors import BadInput
from engine.results import (
    Header,
    Record,
    ResultsWriter,
    as_plain,
    done_keys,
    new_run_id,
    open_run,
    read_headers,
    read_records,
    run_path,
)
from fixtures import ROOT
from reports import synthetic

SCHEMA = json.loads((ROOT / "schemas" / "record.schema.json").read_text(encoding="utf-8"))

names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12)
records = st.builds(
    Record,
    command=names,
    subject=names,
    case=names,
    check=names,
    verdict=st.sampled_from(["proven", "tested", "refuted", "refused", "undecided", "skipped"]),
    kind=names,
    message=names,
    domain=st.dictionaries(names, st.integers(0, 2**53) | names, max_size=3),
    seconds=st.floats(0, 1e6),
    detail=st.dictionaries(names, st.lists(st.integers(-9, 9), max_size=3), max_size=2),
)


def a_record(number: int, **changes: object) -> Record:
    given_ = {
        "command": "audit",
        "subject": "engine",
        "case": f"case-{number}",
        "check": "masks",
        "verdict": "tested",
    }
    return msgspec.convert(given_ | changes, Record)


def lines_of(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


@given(st.lists(records, max_size=6))
def test_what_is_read_is_what_was_written(written: list[Record]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        with open_run("audit", results=Path(folder)) as writer:
            for record in written:
                writer.append(record)
        assert list(read_records(writer.path)) == written
        assert done_keys(writer.path) == {record.key() for record in written}


@settings(max_examples=60)
@given(st.lists(records, min_size=1, max_size=4), st.data())
def test_a_file_cut_at_any_byte_keeps_every_whole_line_before_the_cut(
    written: list[Record], data: st.DataObject
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run" / "records.jsonl"
        with ResultsWriter(path) as writer:
            for record in written:
                writer.append(record)
        whole = path.read_bytes()
        cut = data.draw(st.integers(0, len(whole)))
        path.write_bytes(whole[:cut])
        kept = whole[:cut].count(b"\n")
        ends_whole = cut + 1 <= len(whole) and whole[cut : cut + 1] == b"\n"
        assert list(read_records(path)) == written[: kept + ends_whole]


@settings(max_examples=40)
@given(st.lists(records, min_size=1, max_size=3), records, st.data())
def test_a_writer_after_a_torn_line_loses_nothing(
    written: list[Record], later: Record, data: st.DataObject
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run" / "records.jsonl"
        with ResultsWriter(path) as writer:
            for record in written:
                writer.append(record)
        whole = path.read_bytes()
        last = len(whole.rstrip(b"\n").rpartition(b"\n")[0])
        path.write_bytes(whole[: data.draw(st.integers(last + 2, len(whole) - 2))])
        with ResultsWriter(path) as writer:
            writer.append(later)
        assert list(read_records(path)) == [*written[:-1], later]


KILLED = """
import sys
from pathlib import Path
from engine.results import Record, open_run
with open_run("audit", results=Path(sys.argv[1]), run="killed", settings={"vocab": "toy"}, resume=True) as writer:
    print("done", len(writer.done), flush=True)
    for number in range(100_000):
        record = Record(command="audit", subject="engine", case=str(number), check="masks", verdict="refuted",
                        kind="unsound", witness={"log": "x" * (number % 5000)})
        if record.key() not in writer.done:
            writer.append(record)
            print(number, flush=True)
"""


def test_kill_9_at_any_time_loses_nothing_recorded(tmp_path: Path) -> None:
    """A case reported as written is there after SIGKILL, and a resumed run goes on behind it."""
    acknowledged = -1
    for delay in (0.0, 0.02, 0.05, 0.01):
        command = [sys.executable, "-c", KILLED, str(tmp_path)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
            assert child.stdout is not None
            done = int(child.stdout.readline().split()[1])
            assert done > acknowledged or acknowledged == -1
            seen = int(child.stdout.readline())
            time.sleep(delay)
            child.send_signal(signal.SIGKILL)
            rest = child.stdout.read().split()
            acknowledged = int(rest[-1]) if rest else seen
        kept = [record.case for record in read_records(tmp_path / "killed" / "records.jsonl")]
        assert kept[: acknowledged + 1] == [str(number) for number in range(acknowledged + 1)]
        assert len(kept) - (acknowledged + 1) <= 1, "at most the case under way"
    assert len(read_headers(tmp_path / "killed" / "records.jsonl")) == 4


APPENDS = """
import sys
from pathlib import Path
from engine.results import Record, ResultsWriter
with ResultsWriter(Path(sys.argv[1])) as writer:
    for number in range(300):
        writer.append(Record(command="audit", subject=sys.argv[2], case=str(number), check="masks", verdict="tested",
                             message="m" * 3000))
"""


def test_two_processes_on_one_file_do_not_mix_their_lines(tmp_path: Path) -> None:
    path = tmp_path / "run" / "records.jsonl"
    children = [
        subprocess.Popen([sys.executable, "-c", APPENDS, str(path), subject]) for subject in ("a", "b")
    ]
    assert [child.wait(60) for child in children] == [0, 0]
    for subject in ("a", "b"):
        cases = [record.case for record in read_records(path) if record.subject == subject]
        assert cases == [str(number) for number in range(300)]


def test_resume_takes_the_newest_run_with_equal_settings(tmp_path: Path) -> None:
    for run, vocabulary in (("20260101-a", "toy"), ("20260102-b", "toy"), ("20260103-c", "qwen3")):
        with open_run("audit", results=tmp_path, run=run, settings={"vocab": vocabulary}) as writer:
            writer.append(a_record(1))
    with open_run("audit", results=tmp_path, settings={"vocab": "toy"}, resume=True) as resumed:
        assert resumed.run == "20260102-b"
        assert resumed.done == {("audit", "engine", "case-1", "masks")}


def test_resume_never_takes_up_another_command_or_other_settings(tmp_path: Path) -> None:
    with open_run("audit", results=tmp_path, run="old", settings={"vocab": "toy"}) as writer:
        writer.append(a_record(1))
    for command, vocabulary in (("verify", "toy"), ("audit", "qwen3")):
        with open_run(command, results=tmp_path, settings={"vocab": vocabulary}, resume=True) as fresh:
            assert fresh.run != "old"
            assert fresh.done == frozenset()


def test_a_run_says_how_it_ended(tmp_path: Path) -> None:
    for name, error in (("finished", None), ("interrupted", KeyboardInterrupt), ("failed", ValueError)):
        try:
            with open_run("audit", ["x"], results=tmp_path, run=name):
                if error is not None:
                    raise error
        except (KeyboardInterrupt, ValueError):
            pass
        first, *_, last = lines_of(run_path(name, tmp_path))
        assert first["header"]["arguments"] == ["x"]  # type: ignore[index]
        assert last["footer"]["outcome"] == name  # type: ignore[index]


def test_a_whole_line_of_another_shape_is_an_error_that_names_its_place(tmp_path: Path) -> None:
    path = tmp_path / "records.jsonl"
    path.write_text('{"command":"audit","subject":"e","case":"c","check":"k","verdict":"perhaps"}\n')
    with pytest.raises(BadInput, match=r"records\.jsonl, line 1: not a line of a results file"):
        list(read_records(path))


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "a\\b", "a\0b"])
def test_a_run_name_is_a_plain_folder_name(name: str, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="plain folder name"):
        run_path(name, tmp_path)


def test_run_ids_are_fresh_and_carry_the_command() -> None:
    ids = {new_run_id("audit") for _ in range(20)}
    assert len(ids) > 15
    assert all(one.split("-")[2] == "audit" for one in ids)


def test_the_results_folder_can_be_named_by_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MASKPROOF_RESULTS", str(tmp_path / "here"))
    with open_run("audit") as writer:
        assert writer.path.parent.parent == tmp_path / "here"


def test_a_lone_surrogate_from_an_engine_does_not_stop_the_run(tmp_path: Path) -> None:
    with open_run("audit", results=tmp_path) as writer:
        writer.append(a_record(1, message="bad \udcff byte"))
    assert [record.message for record in read_records(writer.path)] == ["bad \ufffd\ufffd\ufffd byte"]


def test_every_line_that_is_written_fits_the_schema(tmp_path: Path) -> None:
    validator = jsonschema.Draft202012Validator(SCHEMA)
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    with open_run("audit", ["x"], results=tmp_path, settings={"vocab": "toy"}) as writer:
        writer.append(a_record(1, witness={"path": [{"id": 1, "hex": "61", "text": "a"}]}, seconds=0.5))
    synthetic.write_results(tmp_path, 40)
    for path in tmp_path.glob("*/records.jsonl"):
        for line in lines_of(path):
            assert not list(validator.iter_errors(line)), line


def test_the_schema_refuses_what_is_no_record() -> None:
    validator = jsonschema.Draft202012Validator(SCHEMA)
    good = as_plain(a_record(1))
    for change in ({"verdict": "ok"}, {"extra": 1}, {"seconds": -1}, {"witness": {"path": [{"hex": "61"}]}}):
        assert list(validator.iter_errors(good | change))


def test_the_schema_names_exactly_the_fields_of_a_record_and_a_header() -> None:
    definitions = SCHEMA["$defs"]
    assert set(definitions["record"]["properties"]) == set(Record.__struct_fields__)
    assert set(definitions["headerLine"]["properties"]["header"]["properties"]) == set(
        Header.__struct_fields__
    )


def test_records_outlive_the_process_without_a_sync(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A record is with the operating system when append returns, before any sync."""
    monkeypatch.setattr(os, "fsync", lambda _: None)
    with open_run("audit", results=tmp_path) as writer:
        writer.append(a_record(7))
        assert [record.case for record in read_records(writer.path)] == ["case-7"]
