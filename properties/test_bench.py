"""Measures: every sample is one that was taken, ratios are what their words say, and an engine that fails is told."""

import json
import sys

import pytest
from typer.testing import CliRunner

from engine.bench.peers import ENGINES, Measured, Samples, Workload, measure, workloads
from engine.bench.records import MEASURES, peer_records, ratios, rounds_of
from engine.errors import BadInput
from maskproof.__main__ import app, load_commands
from reference.compile import regex_to_dfa
from reference.masks import TokenIndex
from reference.vocabulary import Vocabulary, load_vocabulary

TOY = load_vocabulary("toy")


def quiet(done, total, label):
    return None


def measured(work, engines, *, rounds=2, limit=60.0, python=sys.executable):
    return measure(work, TOY, engines=engines, python=python, rounds=rounds, limit=limit, tell=quiet)


def test_every_path_is_one_that_its_language_allows():
    for workload in workloads(TOY, seed=3, quick=False):
        if workload.kind == "regex":
            index, state = TokenIndex(regex_to_dfa(workload.source), TOY), 0
            for token in workload.path:
                state = index.next_state(state, token)
            assert index.is_accepting(state)
        assert workload.path


def test_the_reference_is_timed_in_a_child_of_its_own():
    work = [Workload("p", "regex", "ab+", (65, 66)), Workload("s", "schema", '{"type":"null"}', ())]
    found = measured(work, ("reference",), rounds=3)
    assert (found.absent, found.versions) == ({}, {"reference": ""})
    samples = found.samples["p", "reference"]
    assert [len(masks) for masks in samples.masks] == [3, 3, 3]
    assert len(samples.compiles) == len(samples.tables) == 3
    several = [*samples.compiles, *samples.tables, *(value for masks in samples.masks for value in masks)]
    assert all(0 < value < 5 for value in several)
    assert [len(masks) for masks in found.samples["s", "reference"].masks] == [1, 1, 1]
    assert found.memory["reference"] > 1_000_000


def test_an_engine_that_is_not_installed_is_skipped_with_its_reason():
    found = measured(
        [Workload("p", "regex", "ab", (65,))], ("reference", "xgrammar"), rounds=1, python="/bin/false"
    )
    assert set(found.absent) == {"xgrammar"}
    verdicts = {record.subject: record.verdict for record in peer_records(found)}
    assert verdicts == {"reference": "tested", "xgrammar": "skipped"}


@pytest.mark.parametrize(
    ("workload", "limit", "verdict", "said"),
    [
        (Workload("p", "regex", "a(", ()), 60.0, "refused", "PatternError: pattern, position"),
        (Workload("p", "regex", "ab", (66,)), 60.0, "refused", "MaskError: token 66"),
        (Workload("p", "regex", "ab", (65,)), 1e-6, "undecided", "no answer within 1e-06 s"),
    ],
)
def test_an_engine_that_does_not_answer_is_told_and_not_asked_again(workload, limit, verdict, said):
    found = measured([workload], ("reference",), limit=limit)
    (record,) = peer_records(found)
    assert (record.verdict, record.detail["samples"]) == (verdict, [])
    assert record.message.startswith(said)
    assert len(found.samples["p", "reference"].compiles) == 1


def test_the_measures_are_taken_from_the_samples():
    samples = Samples([0.5, 0.25], [[0.1, 0.3, 0.2], [0.4, 0.4, 0.4]], [1.0, None])
    assert rounds_of(samples, "compile") == [0.5, 0.25]
    assert rounds_of(samples, "time to first mask") == [0.6, 0.65]
    assert rounds_of(samples, "mask p50") == [0.2, 0.4]
    assert rounds_of(samples, "full table") == [1.0]


def test_a_ratio_is_the_median_within_rounds_and_the_mean_over_workloads():
    found = Measured()
    for workload, ours, theirs in (("a", [1.0, 2.0, 4.0], [2.0, 4.0, 40.0]), ("b", [1.0], [8.0])):
        found.samples[workload, "reference"] = Samples(ours, [[1.0]] * len(ours), [None] * len(ours))
        found.samples[workload, "other"] = Samples(theirs, [[0.5]] * len(theirs), [None] * len(theirs))
    told = ratios(found)["other"]
    assert told["compile"] == (4.0, 2.0, 8.0)
    assert told["mask p50"] == (0.5, 0.5, 0.5)
    assert "full table" not in told


def test_a_record_has_one_sample_a_round_in_its_unit():
    found = measured([Workload("p", "regex", "[ab]{3}", (65, 66))], ("reference",), rounds=2)
    records = {record.check: record for record in peer_records(found)}
    assert list(records) == [name for name, _ in MEASURES]
    assert [records[name].detail["unit"] for name, _ in MEASURES] == [unit for _, unit in MEASURES]
    compiles = found.samples["p", "reference"].compiles
    assert records["compile"].detail["samples"] == [round(1000 * value, 4) for value in compiles]
    assert {record.detail["baseline"] for record in records.values()} == {"reference"}


def test_unknown_engines_and_vocabularies_with_two_ends_are_refused():
    with pytest.raises(BadInput, match="engine 'outlines' is none of reference, xgrammar"):
        measured([], ("outlines",))
    two = Vocabulary((b"a", None, None), frozenset({1, 2}), "two ends")
    with pytest.raises(BadInput, match="two ends: 2 EOS ids"):
        measure([], two, engines=("reference",), python=sys.executable, rounds=1, limit=1.0, tell=quiet)


def test_the_command_measures_and_prints_one_json_document(tmp_path):
    load_commands()
    asked = ["bench", "--engine", "reference", "--vocab", "toy", "--rounds", "1", "--quick", "--json"]
    result = CliRunner().invoke(app, [*asked, "--results", str(tmp_path)])
    document = json.loads(result.stdout)
    assert (result.exit_code, document["command"], document["summary"]["ratios"]) == (0, "bench", {})
    assert {record["check"] for record in document["records"]} == {name for name, _ in MEASURES}


@pytest.mark.engines
def test_every_engine_that_is_installed_answers_a_pattern_and_a_schema():
    vocabulary = load_vocabulary("qwen3")
    work = workloads(vocabulary, seed=1, quick=True)
    asked = {"engines": ENGINES, "python": sys.executable, "rounds": 1, "limit": 60.0, "tell": quiet}
    found = measure([work[0], work[2]], vocabulary, **asked)
    assert not found.absent
    for engine in ENGINES:
        declined = [w for w in (work[0].id, work[2].id) if found.samples[w, engine].error]
        assert declined == ([work[0].id] if engine == "glrmask" else [])
