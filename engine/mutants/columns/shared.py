"""What the columns share: how a reference object becomes plain data, and whether something is refused."""

from collections.abc import Callable
from typing import Any

import numpy as np

from engine.mutants.questions import TOOLS
from reference.dfa import Dfa
from reference.errors import Refused
from reference.tools import parse_tool_request

Witness = str | None
"""What a column saw first, in words; None when it saw nothing."""


def plain(dfa: Dfa) -> tuple[list[int], list[list[int]]]:
    """Accepting states and the n × 256 table of an automaton."""
    return [int(state) for state in np.flatnonzero(dfa.accept)], dfa.trans.tolist()


def is_accepted(work: Callable[..., object], *arguments: object) -> bool:
    """Whether the work is done without a refusal."""
    try:
        work(*arguments)
    except Refused:
        return False
    return True


def tool_request(choice: str, more: str = "") -> Any:
    """The request of the two tools of questions.TOOLS with a choice, and more fields after it."""
    return parse_tool_request(TOOLS % (choice, more))
