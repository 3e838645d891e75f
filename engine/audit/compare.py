"""One mask beside the exact one: which tokens differ, and what that is called."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from engine.audit.exact import DONE, Exact, Path, ids
from engine.audit.scenario import Grammar
from engine.protocol import Packed
from reference.errors import MaskError
from reference.lookahead import forced_bytes
from reference.vocabulary import Vocabulary

Ids = npt.NDArray[np.intp]


@dataclass(frozen=True, slots=True, eq=False)
class Difference:
    """A wrong answer: at which step of the scenario, of what kind, and what was there instead of what."""

    step: int
    kind: str
    message: str
    op: str = ""
    grammar: Grammar | None = None
    vocabulary: Vocabulary | None = None
    path: Path = ()
    token: int | None = None
    actual: Packed | None = None
    expected: Packed | None = None
    wrong: tuple[int, ...] = ()
    complete: tuple[bool, bool] | None = None
    log: str = ""


def wrong_tokens(exact: Exact, state: int, actual: Packed) -> dict[str, Ids]:
    """The kinds of difference between a mask and the exact one, and the tokens of each; empty when it is exact."""
    expected = exact.mask(state)
    if np.array_equal(actual, expected):
        return {}
    size = len(exact.vocabulary)
    extra, missing = ids(actual & ~expected, size), ids(expected & ~actual, size)
    if state == DONE:
        return _after_end(exact, extra)
    if not actual.any() and not exact.is_complete(state):
        return {"stuck": missing}
    return kinds_of(exact.vocabulary, extra, missing)


def kinds_of(vocabulary: Vocabulary, extra: Ids, missing: Ids) -> dict[str, Ids]:
    """The kinds of tokens that a mask allows too many, and of those that it lacks, before the end of an output."""
    found = {**_extra(vocabulary, extra), **_missing(vocabulary, missing)}
    return {kind: tokens for kind, tokens in found.items() if len(tokens)}


def is_forced_first(exact: Exact, state: int, actual: Packed) -> bool:
    """Whether the mask holds one token alone, allowed, with whose bytes the forced bytes of the state begin."""
    if state == DONE or exact.is_complete(state):
        return False
    allowed = ids(actual, len(exact.vocabulary))
    if len(allowed) != 1 or not exact.is_allowed(state, int(allowed[0])):
        return False
    try:
        forced = forced_bytes(exact.dfa, state)
    except MaskError:
        return False
    return bool(forced) and forced.startswith(exact.vocabulary.tokens[int(allowed[0])] or b"")


def count(packed: Packed) -> int:
    """How many tokens a packed mask allows."""
    return (
        int(np.bitwise_count(packed).sum())
        if hasattr(np, "bitwise_count")
        else int(np.unpackbits(packed).sum())
    )


def _after_end(exact: Exact, extra: Ids) -> dict[str, Ids]:
    if exact.policy.eos_stays and set(extra.tolist()) <= exact.vocabulary.eos:
        return {}
    return {"after_eos": extra}


def _extra(vocabulary: Vocabulary, extra: Ids) -> dict[str, Ids]:
    is_eos = np.isin(extra, sorted(vocabulary.eos))
    is_special = ~is_eos & np.array([not vocabulary.tokens[token] for token in extra], bool)
    return {
        "eos_early": extra[is_eos],
        "special_leak": extra[is_special],
        "unsound": extra[~is_eos & ~is_special],
    }


def _missing(vocabulary: Vocabulary, missing: Ids) -> dict[str, Ids]:
    is_eos = np.isin(missing, sorted(vocabulary.eos))
    return {"eos_missing": missing[is_eos], "incomplete": missing[~is_eos]}
