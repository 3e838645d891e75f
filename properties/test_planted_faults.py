"""Faults planted in copies of the pure port, one at a time, are found by an audit with its default settings."""

from pathlib import Path

import pytest

from engine.audit.plan import Settings
from engine.mutants.catalogue import mutant, mutants
from engine.mutants.port import command
from properties.audit_ports import changed, fault, faults, first_finding, pure_source

KINDS = {
    *("unsound", "incomplete", "eos_early", "eos_missing", "special_leak", "stuck", "after_eos", "unstable"),
    *("advance_disagrees", "not_refused", "not_enforced", "crash", "hang", "garbage", "memory"),
    *("table_differs", "pattern_differs", "text_differs", "sample_differs", "tools_differ"),
}
NAMES = [pytest.param(one.id, marks=[pytest.mark.slow] if one.slow else []) for one in faults()]


def test_there_are_at_least_forty_faults_each_with_a_name_of_its_own() -> None:
    assert len(faults()) >= 40
    assert len({one.id for one in faults()}) == len(faults())
    assert all(set(one.kinds) <= KINDS and one.kinds for one in faults())


def test_every_fault_changes_one_place_of_the_pure_port() -> None:
    assert [one.id for one in faults() if pure_source().count(one.old) != 1] == []


@pytest.mark.parametrize("name", NAMES)
def test_a_planted_fault_is_found_and_its_kind_is_named(name: str, tmp_path: Path) -> None:
    planted = fault(name)
    found = first_finding(changed(tmp_path, planted.old, planted.new), tmp_path, Settings())
    assert found is not None, f"nothing was found: {planted.title}"
    assert found.kind in planted.kinds, f"{found.kind} on {found.case}: {found.message}"
    if "shrunk" in found.detail:
        assert found.detail["shrunk"]["to"] <= found.detail["shrunk"]["from"]


@pytest.mark.slow
@pytest.mark.parametrize("name", [one.id for one in mutants() if one.module.startswith("reference.")])
def test_a_mutant_of_the_reference_served_as_a_port_is_found(name: str, tmp_path: Path) -> None:
    found = first_finding(command(mutant(name)), tmp_path, Settings())
    assert found is not None and found.kind in KINDS


@pytest.mark.parametrize(
    ("name", "check", "kind"),
    [("budget-not-spent", "budget", "unsound"), ("forced-past-the-end", "forced", "text_differs")],
)
def test_a_mutant_of_what_looks_ahead_is_found_by_its_surface(
    name: str, check: str, kind: str, tmp_path: Path
) -> None:
    found = first_finding(command(mutant(name)), tmp_path, Settings(vocabularies=("toy",), programs=0))
    assert found is not None and (found.check, found.kind) == (check, kind)
