"""A reproduction file run again: the scenario on a fresh child, its differences as records."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from engine.audit.diagnose import Finding
from engine.audit.findings import Subject, record_of
from engine.audit.problems import Declined, problem_of
from engine.audit.runner import Runner
from engine.audit.scenario import Scenario, read
from engine.audit.writing import tokenizer, write_text
from engine.errors import BadInput
from engine.host import Port, PortFault
from engine.protocol import PortError, Violation
from engine.results import Record
from reference.errors import Refused

PROBLEMS = ("stuck", "advance_disagrees")
"""What may be wrong with writing a text, whether it is valid or not."""


def replay(port: Port, path: Path, subject: Callable[[Port], Subject]) -> list[Record]:
    """The records of one file: refuted when the fault shows again, tested when it does not."""
    scenario, about = read(path)
    try:
        port.start()
    except PortFault as fault:
        return [subject(port).record(path.name, "replay", "refuted", kind=fault.kind, message=fault.message)]
    who, runner = subject(port), Runner(port)
    try:
        return _records(runner, who, path, scenario, about)
    except Declined as declined:
        return [who.record(path.name, "replay", "refused", message=str(declined))]
    except (PortError, PortFault, Violation) as problem:
        kind, message = problem_of(runner, problem)
        return [who.record(path.name, "replay", "refuted", kind=kind, message=message)]


def _records(
    runner: Runner, who: Subject, path: Path, scenario: Scenario, about: dict[str, Any]
) -> list[Record]:
    if "text" in about:
        data = _text(about, path)
        if not scenario.grammars:
            raise BadInput(f"{path}: a text and no grammar; take a file that an audit wrote")
        return [_written(runner, who, path.name, scenario, about, data)]
    if _is_refused(scenario, runner):
        return [_compiled(runner, who, path.name, scenario)]
    found = runner.run(scenario)
    records = [
        record_of(
            who,
            path.name,
            "replay",
            Finding(one.kind, one.message, scenario, one, scenario),
            runner.policy,
            0.0,
        )
        for one in found
    ]
    return records or [who.record(path.name, "replay", "tested", message="the fault does not show")]


def _is_refused(scenario: Scenario, runner: Runner) -> bool:
    """Whether the file says that a source must be refused: the reference refuses its only grammar."""
    runner.vocabulary = scenario.vocabularies[0]
    try:
        for grammar in scenario.grammars:
            runner.exact(grammar)
    except Refused:
        return True
    finally:
        runner.vocabulary = None
    return False


def _compiled(runner: Runner, who: Subject, case: str, scenario: Scenario) -> Record:
    runner.give(scenario.vocabularies[0])
    try:
        runner.compile(scenario.grammars[0])
    except Declined as declined:
        return who.record(case, "replay", "tested", message=str(declined))
    message = f"compiled {scenario.grammars[0].source!r}, which must be refused"
    return who.record(case, "replay", "refuted", kind="not_refused", message=message)


def _text(about: dict[str, Any], path: Path) -> bytes:
    """The bytes of the text of a file; of one that is no UTF-8 they are in `hex`."""
    try:
        return bytes.fromhex(str(about["hex"])) if "hex" in about else str(about["text"]).encode()
    except ValueError as error:
        raise BadInput(
            f"{path}: 'text' or 'hex' is broken ({error}); take a file that an audit wrote"
        ) from error


def _written(
    runner: Runner, who: Subject, case: str, scenario: Scenario, about: dict[str, Any], data: bytes
) -> Record:
    """Whether the text of the file goes as it should not; `valid` says that it should be writable."""
    text, valid = str(about["text"]), bool(about.get("valid", False))
    runner.give(scenario.vocabularies[0])
    handle = runner.compile(scenario.grammars[0])
    kind = str(about.get("kind", "incomplete" if valid else "not_enforced"))
    found = write_text(runner, handle, tokenizer(scenario.vocabularies[0])(data))
    if kind != found.problem if kind in PROBLEMS else found.whole == valid:
        return who.record(case, "replay", "tested", message="the fault does not show")
    message = f"{text} can be written" if found.whole else f"{text} cannot be written: {found.message}"
    return who.record(case, "replay", "refuted", kind=kind, message=message)
