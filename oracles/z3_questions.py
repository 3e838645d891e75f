"""One question to z3 about two regular expressions, and what may be believed of its answer.

The question is about a free string x, so unsat holds for all strings. A model is never believed on its own: the string
is evaluated again as a ground term, made shorter, and judged by the derivative oracle, which shares nothing with the
reading behind the z3 terms. What stays open is `unknown`, with the reason. The pitfall: z3 looks at the clock between
steps only, so a hard limit needs a process of its own around the call.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

import z3

from oracles.errors import OracleError
from oracles.z3_reader import Regex, text

Verdict = Literal["equal", "included", "differ", "unknown"]
Judge = Callable[[bytes], bool]

TIMEOUT_MS = 20_000


@dataclass(frozen=True, slots=True)
class Outcome:
    """What z3 said: `equal` and `included` hold for all strings, `differ` has a witness, `unknown` has a note."""

    verdict: Verdict
    witness: bytes | None
    method: str
    queries: int
    note: str = ""


def equal(left: Regex, right: Regex, timeout_ms: int) -> Outcome:
    """The two z3 expressions have the same members, or a string that exactly one of them has."""
    x = z3.String("x")
    question = z3.InRe(x, left) != z3.InRe(x, right)
    return decide(question, x, lambda w: is_in(w, left) != is_in(w, right), "equal", timeout_ms)


def is_in(data: bytes, regex: Regex) -> bool:
    """data ∈ regex, by z3's rewriting of the ground term alone."""
    value = z3.simplify(z3.InRe(text(data), regex))
    if not (z3.is_true(value) or z3.is_false(value)):
        raise OracleError(f"z3 does not evaluate membership of {data!r}")
    return bool(z3.is_true(value))


def confirmed(outcome: Outcome, judge: Judge) -> Outcome:
    """The outcome, `unknown` instead of `differ` when the other oracle does not see the difference."""
    if outcome.witness is None:
        return outcome
    try:
        if judge(outcome.witness):
            return outcome
    except OracleError as error:
        return replace(outcome, note=f"{outcome.note}; not judged by derivatives: {error}".removeprefix("; "))
    return replace(
        outcome, verdict="unknown", witness=None, note=f"derivatives do not confirm {outcome.witness!r}"
    )


def shortened(witness: bytes, still: Judge, tries: int = 300) -> bytes:
    """The witness with stretches of half, a quarter, … one byte left out where it stays one, in so many tries."""
    size = len(witness)
    while size := size // 2:
        start = 0
        while start < len(witness):
            shorter = witness[:start] + witness[start + size :]
            tries -= 1
            if tries < 0:
                return witness
            if still(shorter):
                witness = shorter
            else:
                start += size
    return b"" if still(b"") else witness


def bytes_of(value: Any) -> bytes:
    """The bytes of a z3 string value, one a character; all but printable ASCII, and the backslash, come as codes."""
    plain = re.sub(r"\\u\{([0-9a-f]+)\}", lambda code: chr(int(code[1], 16)), value.as_string())
    return plain.encode("latin-1")


def solver(timeout_ms: int) -> Any:
    """A fresh z3 solver with a time limit and a fixed seed; Ctrl-C stays Python's, z3 would answer `unknown` to it."""
    fresh = z3.Solver()
    fresh.set("ctrl_c", False)
    fresh.set("timeout", max(1, timeout_ms))
    fresh.set("random_seed", 0)
    return fresh


def decide(question: Any, x: Any, differs: Judge, held: Verdict, timeout_ms: int) -> Outcome:
    """`held` when no string x answers the question, else the string that does and that `differs` on evaluation."""
    method = "z3 regular expressions"
    asked = solver(timeout_ms)
    asked.add(question)
    answer = asked.check()
    if answer == z3.unsat:
        return Outcome(held, None, method, 1)
    if answer == z3.unknown:
        return Outcome("unknown", None, method, 1, f"z3: {asked.reason_unknown()} (limit {timeout_ms} ms)")
    witness = bytes_of(asked.model().eval(x, model_completion=True))
    if not differs(witness):
        return Outcome("unknown", None, method, 1, f"z3's model {witness!r} does not stand when evaluated")
    return Outcome("differ", shortened(witness, differs), method, 1)
