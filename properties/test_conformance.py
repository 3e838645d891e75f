"""The conformance cases: held by the right server; each fault is found by exactly the cases that name it."""

import json
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import jsonschema
import pytest
import typer
from starlette.types import ASGIApp
from typer.testing import CliRunner, Result

from engine.conformance import Case, Server, judge_all, junit_text, load_cases, select_cases
from engine.conformance.cases import FOLDER, flags_described
from engine.conformance.checks import CHECKS
from engine.errors import BadInput
from engine.faulty_server import Fault, FaultyServer
from engine.results import Record
from engine.server.app import create_app
from engine.server.random_model import EchoModel
from engine.server.service import Service
from engine.server_faults import faults
from fixtures import ROOT
from maskproof.commands import conform as conform_command
from properties.serving import Recorded, served

KEY = "correct"
FAULTS = {fault.name: fault for fault in faults()}
NEW_ANSWERS = ("seed-ignored", "any-key")
"""Faults that show only when a request is really answered again."""


@pytest.fixture(scope="module")
def service() -> Iterator[Service]:
    found = Service(EchoModel())
    yield found
    found.close()


@pytest.fixture(scope="module")
def recorded(service: Service) -> ASGIApp:
    return Recorded(create_app(service, KEY))


def judged(app: ASGIApp, cases: tuple[Case, ...]) -> dict[str, Record]:
    with served(app) as url, Server.at(url, key=KEY, model="echo") as server:
        return {record.case: record for record in judge_all(server, cases)}


def test_the_right_server_holds_every_case(recorded: ASGIApp) -> None:
    records = judged(recorded, load_cases())
    assert {case: record.message for case, record in records.items() if record.verdict != "tested"} == {}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_fails_exactly_the_cases_that_name_it(name: str, service: Service, recorded: ASGIApp) -> None:
    fault = FAULTS[name]
    inner = create_app(service, None if fault.lets_all_in else KEY) if name in NEW_ANSWERS else recorded
    records = judged(FaultyServer(inner, fault), load_cases())
    named = {case.id for case in load_cases() if name in case.flags}
    assert named
    assert {case for case, record in records.items() if record.verdict == "refuted"} == named


def test_every_flag_is_a_fault_with_a_meaning_and_every_case_has_one() -> None:
    used = {flag for case in load_cases() for flag in case.flags}
    assert used == set(FAULTS) == set(flags_described())
    assert [case.id for case in load_cases() if not case.flags] == []


def test_the_files_are_what_their_schema_describes() -> None:
    schema = json.loads((ROOT / "schemas" / "conformance.schema.json").read_text(encoding="utf-8"))
    validator = jsonschema.Draft202012Validator(schema)
    for path in sorted(FOLDER.glob("*.json")):
        document = json.loads(path.read_text(encoding="utf-8"))
        assert [error.message for error in validator.iter_errors(document)] == [], path.name
        assert set(document["flags"]) == {flag for case in document["cases"] for flag in case["flags"]}


def test_ids_are_unique_and_every_check_is_used_and_known() -> None:
    ids = [case.id for case in load_cases()]
    assert len(set(ids)) == len(ids)
    assert {want["check"] for case in load_cases() for want in case.wants} == set(CHECKS)


def test_cases_are_chosen_by_id_or_check() -> None:
    assert {case.check for case in select_cases(["tools.stream"])} == {"tools.stream"}
    with pytest.raises(BadInput, match="no case or check begins like this"):
        select_cases(["tools.strem"])


def test_a_server_without_a_key_is_not_judged_on_keys(service: Service) -> None:
    with served(create_app(service)) as url, Server.at(url, key=None) as server:
        records = judge_all(server, select_cases(["requests.wrong-key"]))
    assert [record.verdict for record in records] == ["skipped"]


def test_an_honest_refusal_is_no_failure(service: Service) -> None:
    refusing = Fault("refusing", request=lambda request: {**request, "logit_bias": {"5": 1}})
    records = judged(FaultyServer(create_app(service, KEY), refusing), select_cases(["tools.call.forced"]))
    assert {record.verdict for record in records.values()} == {"refused"}


def test_a_model_that_does_not_obey_leaves_the_case_undecided(service: Service) -> None:
    deaf = Fault(
        "deaf", request=lambda request: {**request, "messages": [{"role": "user", "content": "Hm."}]}
    )
    cases = select_cases(["tools.choice.auto-calls", "answers.stop"])
    records = judged(FaultyServer(create_app(service, KEY), deaf), cases)
    assert {record.verdict for record in records.values()} <= {"undecided", "tested"}
    assert records["tools.choice.auto-calls"].verdict == "undecided"


def test_where_no_server_answers_is_bad_input() -> None:
    with pytest.raises(BadInput, match="no server answers there"):
        Server.at("http://127.0.0.1:9/v1", key=None, seconds=2)


def test_junit_counts_failures_and_never_passes_what_was_not_decided() -> None:
    verdicts = ["tested", "refuted", "undecided", "refused", "skipped"]
    records = [
        Record(command="conform", subject="s", case=f"c{i}", check="k", verdict=verdict, message="why\x00")  # type: ignore[arg-type]
        for i, verdict in enumerate(verdicts)
    ]
    suite = ElementTree.fromstring(junit_text(records, "server").encode())[0]
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("5", "1", "3")
    assert [len(case) for case in suite] == [0, 1, 1, 1, 1]


def conform(*arguments: str) -> Result:
    app = typer.Typer()
    conform_command.register(app)
    app.callback()(lambda: None)
    return CliRunner().invoke(app, ["conform", *arguments])


def test_the_command_tells_verdicts_by_exit_code_json_and_junit(recorded: ASGIApp, tmp_path: Path) -> None:
    """0 when all hold, 1 when a case is refuted, and the same verdicts in all three forms."""
    wrong = FaultyServer(recorded, FAULTS["s16"])
    for app, code in ((recorded, 0), (wrong, 1)):
        with served(app) as url, pytest.MonkeyPatch.context() as patch:
            patch.setenv("A_KEY", KEY)
            shared = ["--model", "echo", "--key-from", "A_KEY", "--results", str(tmp_path)]
            junit = tmp_path / "conform.xml"
            answer = conform(url, "tools.call.content-is-null", "--json", "--junit", str(junit), *shared)
        document = json.loads(answer.output)
        assert (answer.exit_code, document["exit"], document["command"]) == (code, code, "conform")
        assert [record["verdict"] for record in document["records"]] == ["refuted" if code else "tested"]
        assert ElementTree.parse(junit).getroot()[0].get("failures") == str(code)
        assert len(list(tmp_path.glob("*/records.jsonl"))) == code + 1


def test_the_command_refuses_what_it_cannot_use(tmp_path: Path) -> None:
    for arguments, message in [
        (["http://127.0.0.1:9/v1"], "no server answers there"),
        (["nonsense"], "no server answers there"),
        (["http://127.0.0.1:9/v1", "tools.strem"], "no case or check begins like this"),
    ]:
        answer = conform(*arguments, "--results", str(tmp_path))
        assert isinstance(answer.exception, BadInput) and message in str(answer.exception)


def test_refutations_carry_request_and_response(recorded: ASGIApp) -> None:
    records = judged(FaultyServer(recorded, FAULTS["s16"]), select_cases(["tools.call.content-is-null"]))
    [record] = records.values()
    assert (
        set(record.detail) == {"request", "expected", "status", "response"} and record.detail["status"] == 200
    )
    assert record.reproduce.startswith("maskproof conform http://127.0.0.1:")
