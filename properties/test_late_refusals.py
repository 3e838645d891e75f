"""What an engine refuses before any token is honest; what it refuses with an output under way leaves that stuck."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from engine.audit.plan import Settings
from engine.results import Record
from maskproof.__main__ import app, load_commands
from properties.audit_ports import changed, changed_all, fault, first_finding, records

MASK = fault("stale-buffer").old
LATE = (
    '        if len(session.states) > {}:\n            raise Failure("refused", "not in the middle")\n' + MASK
)
ONE = Settings(vocabularies=("toy",), languages=("city",), walks=1, length=20, programs=1)
PLAIN = Settings(vocabularies=("toy",), languages=("hand-words",), walks=1, length=20, programs=1)
KEYWORD = fault("keywords-ignored")


def refuted(command: list[str], folder: Path, asked: Settings = ONE, **more: str) -> list[Record]:
    return [record for record in records(command, folder, asked, **more) if record.verdict == "refuted"]


def test_a_port_that_refuses_in_the_middle_of_an_output_is_stuck_there_everywhere(tmp_path: Path) -> None:
    folder = tmp_path / "corpus"
    folder.mkdir()
    entry = {"schema": {"type": "integer"}, "tests": [{"data": 12345, "valid": True}]}
    (folder / "one.json").write_text(json.dumps(entry), encoding="utf-8")
    found = refuted(changed(tmp_path, MASK, LATE.format(3)), tmp_path, ONE, corpus=str(folder))
    told = {(record.check, record.kind) for record in found}
    assert {("masks", "stuck"), ("free", "stuck"), ("instances", "stuck")} <= told
    assert "crash" not in {record.kind for record in found}
    (whole,) = [record for record in found if record.check == "instances"]
    assert "refused in the middle" in whole.message


def test_a_whole_output_that_is_refused_its_end_is_eos_missing(tmp_path: Path) -> None:
    """In `(cat|car|dog)s?` the output is whole after three letters."""
    found = refuted(changed(tmp_path, MASK, LATE.format(3)), tmp_path, PLAIN)
    assert "eos_missing" in {record.kind for record in found}
    assert not {"crash", "unstable"} & {record.kind for record in found}


@pytest.mark.parametrize("op", ["mask", "open"])
def test_what_is_refused_before_any_token_is_no_finding(op: str, tmp_path: Path) -> None:
    refusal = '        raise Failure("refused", "this engine thinks late")\n'
    old = {"mask": MASK, "open": '        grammar = self.found(self.grammars, request, "grammar")\n'}[op]
    asked_alone = replace(ONE, programs=0)
    found = list(records(changed(tmp_path, old, refusal + old), tmp_path, asked_alone))
    assert [record for record in found if record.verdict == "refuted"] == []
    asked = ("masks", "advance", "end", "walks", "free")
    assert {record.verdict for record in found if record.check in asked} == {"refused"}


def test_a_port_that_refuses_the_start_of_a_grammar_that_it_has_served_is_unstable(tmp_path: Path) -> None:
    refusal = (
        '        self.many = getattr(self, "many", 0) + 1\n'
        '        if self.many > 30 and len(session.states) == 1:\n            raise Failure("refused", "tired")\n'
    )
    found = first_finding(changed(tmp_path, MASK, refusal + MASK), tmp_path, ONE)
    assert found is not None and found.kind == "unstable"


def test_a_keyword_that_is_refused_once_its_value_begins_is_stuck_and_shown_again(tmp_path: Path) -> None:
    command = changed_all(tmp_path, (KEYWORD.old, KEYWORD.new), (MASK, LATE.format(2)))
    found = [record for record in refuted(command, tmp_path) if record.case == "refusal:keyword-min-length"]
    assert [(record.kind, record.check) for record in found] == [("stuck", "refusals")]
    assert "taken when it was compiled, refused after 2 tokens" in found[0].message
    load_commands()
    (path,) = [word for word in found[0].reproduce.split() if word.endswith(".json")]
    told = CliRunner().invoke(app, ["audit", "--replay", path, "--results", str(tmp_path), "--", *command])
    assert told.exit_code == 1, told.stdout


def test_a_token_of_the_engine_s_own_mask_that_it_refuses_is_a_finding_in_any_policy(tmp_path: Path) -> None:
    """A port in any order of members is judged by the texts that it leads to, and by its own word."""
    said = '"kinds": KINDS, "features": FEATURES, "policies": {"object_order": "any"}}'
    hello = '"kinds": KINDS, "features": FEATURES}'
    taking = '        if type(token) is not int:\n            raise Failure("invalid", "a token'
    full = '        if len(self.sessions[request["session"]].states) > 4:\n            raise Failure("illegal", "no")\n'
    found = refuted(changed_all(tmp_path, (hello, said), (taking, full + taking)), tmp_path)
    assert ("free", "advance_disagrees") in {(record.check, record.kind) for record in found}
