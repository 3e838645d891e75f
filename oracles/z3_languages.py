"""Are two languages one, is one inside the other, is an automaton a pattern's: z3 decides over all byte strings.

For languages A and B the question is `x ∈ A ⇎ x ∈ B` with x a free string; unsat proves that no string whatever tells
them apart. Whole patterns are one question each; an automaton is one question a step (z3_automata). The pitfall is the
reading: both patterns go through one reader, so a construct read wrongly would be wrong on both sides alike; that
the reading is right is for the tests and for the other oracles. Read z3_reader, z3_questions, z3_automata, z3_schemas.
"""

import z3

from oracles.derivatives import is_member
from oracles.z3_automata import automaton_equals
from oracles.z3_questions import TIMEOUT_MS, Outcome, Verdict, confirmed, decide, equal, is_in
from oracles.z3_reader import Dialect, regex_of

__all__ = ["Outcome", "Verdict", "automaton_equals", "compare", "included"]


def compare(
    pattern_a: str, pattern_b: str, dialect: Dialect = "bytes", timeout_ms: int = TIMEOUT_MS
) -> Outcome:
    """A = B, or a string that exactly one of them has."""
    outcome = equal(regex_of(pattern_a, dialect), regex_of(pattern_b, dialect), timeout_ms)
    return confirmed(outcome, lambda w: is_member(pattern_a, w, dialect) != is_member(pattern_b, w, dialect))


def included(
    pattern_a: str, pattern_b: str, dialect: Dialect = "bytes", timeout_ms: int = TIMEOUT_MS
) -> Outcome:
    """A ⊆ B, or a string that A has and B has not."""
    left, right, x = regex_of(pattern_a, dialect), regex_of(pattern_b, dialect), z3.String("x")
    question = z3.And(z3.InRe(x, left), z3.Not(z3.InRe(x, right)))
    outcome = decide(question, x, lambda w: is_in(w, left) and not is_in(w, right), "included", timeout_ms)
    return confirmed(
        outcome, lambda w: is_member(pattern_a, w, dialect) and not is_member(pattern_b, w, dialect)
    )
