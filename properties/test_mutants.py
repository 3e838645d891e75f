"""Mutants: each a change that applies, and a kill matrix that cannot be fooled."""

import subprocess
import sys
from pathlib import Path

import pytest

from engine.errors import BadInput
from engine.golden.pitfalls import pitfalls
from engine.host import Port
from engine.mutants.catalogue import Mutant, mutant, mutants, mutated, source_of
from engine.mutants.columns import COLUMNS
from engine.mutants.matrix import CHAPTER, COLUMN_NAMES, lonely, matrix, survivors, unmutated
from engine.mutants.port import command
from engine.protocol import token_texts

ROOT = Path(__file__).parent.parent


def test_the_chapters_sixteen_pitfalls_and_at_least_24_more_are_mutants() -> None:
    names = [found.id for found in mutants()]
    assert set(CHAPTER) <= set(names)
    assert len(names) >= 16 + 24
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("found", mutants(), ids=lambda found: found.id)
def test_a_mutant_changes_one_text_of_a_module_that_still_compiles(found: Mutant) -> None:
    changed = mutated(found, source_of(found.module))
    assert changed != source_of(found.module)
    compile(changed, found.module, "exec")
    assert found.pitfall in pitfalls()


def test_a_mutant_whose_text_is_gone_is_told_by_name() -> None:
    with pytest.raises(BadInput, match="its old text stands 0 times"):
        mutated(Mutant("x", "s01", "t", "reference.dfa", "no such text", ""), "source")


def test_an_unknown_mutant_is_told() -> None:
    with pytest.raises(BadInput, match="'nosuch' is not in"):
        mutant("nosuch")


def test_the_columns_are_the_ones_the_matrix_knows() -> None:
    assert tuple(COLUMNS) == COLUMN_NAMES


def test_the_unchanged_reference_is_seen_by_no_column() -> None:
    assert unmutated() == []


@pytest.mark.parametrize("name", ["s01", "s06", "s14"])
def test_a_mutant_is_killed(name: str) -> None:
    (row,) = matrix(
        [mutant(name)], workers=1, columns=("hand", "goldens", "derivative", "masks", "tool texts")
    )
    assert survivors(row) == []
    assert lonely(row, [mutant(name)]) == []


def test_a_mutant_that_hangs_is_seen_as_such_and_the_rest_is_not_called_survival() -> None:
    (row,) = matrix([mutant("s01")], workers=1, seconds=0.05)
    assert [record.verdict for record in row] == ["refuted"] + ["skipped"] * (len(COLUMN_NAMES) - 1)
    assert "no answer within" in row[0].message


def test_a_mutant_serves_as_a_port() -> None:
    with Port(command(mutant("s07"))) as port:
        port.request("vocab", tokens=token_texts([b"a", b"b", None]), eos=[2])
        grammar = port.request("compile", kind="regex.bytes", source="ab")["grammar"]
        session = port.request("open", grammar=grammar)["session"]
        assert port.request("mask", session=session)["mask"] == "BQ=="


def test_the_command_refuses_an_unknown_column() -> None:
    run = [sys.executable, "-m", "maskproof", "mutants", "s01", "--column", "nosuch"]
    done = subprocess.run(run, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "'nosuch' is not one of the matrix's" in done.stderr
