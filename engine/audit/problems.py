"""What a port did instead of answering, and what that is called."""

from typing import TYPE_CHECKING

from engine.host import PortFault
from engine.protocol import PortError, Violation

if TYPE_CHECKING:
    from engine.audit.runner import Runner


class Declined(Exception):  # noqa: N818 (an outcome)
    """The port says honestly that it does not do this."""


Problem = PortError | Violation | PortFault


def error_kind(error: PortError) -> str:
    """What an error answer is called where none was due: `unstable` for a port that did the same before."""
    return {"internal": "crash", "illegal": "garbage"}.get(error.kind, "unstable")


def problem_of(runner: "Runner", problem: Problem) -> tuple[str, str]:
    """The kind of a problem met outside a scenario, and its words; a port that ended is started again."""
    if not runner.port.alive:
        runner.restart()
    if isinstance(problem, PortError):
        return error_kind(problem), str(problem)
    return (problem.kind, problem.message) if isinstance(problem, PortFault) else ("garbage", str(problem))
