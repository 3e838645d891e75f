"""The two surfaces that look ahead: forced bytes, and sessions that must be whole within a budget of tokens.

Both are extensions of the protocol: a port that does not announce `forced` or `budget` is not asked. They are asked of
the smallest automata over small vocabularies, where every port can count tokens.
"""

import random
from collections import Counter
from collections.abc import Iterator
from functools import partial

import numpy as np

from engine.audit.compare import kinds_of
from engine.audit.exact import Exact, compiled, exact, ids
from engine.audit.findings import Subject
from engine.audit.plan import Case, is_brief
from engine.audit.runner import Runner
from engine.audit.surfaces import Ask, about_case, judge
from engine.host import Port
from engine.protocol import PortError, bytes_of, integer_of, mask_of, packed_mask
from engine.results import Record
from reference.constraint import Constraint
from reference.dfa import DEAD
from reference.lookahead import forced_bytes, token_distances

CASES, OTHERS = 16, 2
STATES = 60
TOKENS = 2000
WALKS = 4
ROOM = (0, 2, 7)
"""Budgets asked, over the least."""


def records(runner: Runner, subject: Subject, cases: list[Case], seed: int) -> Iterator[Record]:
    """The records of the surfaces `forced` and `budget`."""
    features = runner.port.hello.features
    if not {"forced", "budget"} & set(features):
        return
    for case in _small(cases, runner):
        if "forced" in features:
            yield judge(subject, case.id, "forced", about_case(case, partial(_forced, runner)), runner)
        if "budget" in features and (why := _without_budget(case, runner)):
            yield subject.record(case.id, "budget", "skipped", message=why)
        elif "budget" in features:
            question = about_case(case, partial(_budget, runner, seed=seed))
            yield judge(subject, case.id, "budget", question, runner)


def _small(cases: list[Case], runner: Runner) -> Iterator[Case]:
    """The cases with the fewest states, each language once: many over the first vocabulary, two over each other."""
    fit = [
        case
        for case in cases
        if len(case.vocabulary) <= TOKENS and not is_brief(case) and _is_exact(case, runner)
    ]
    left = Counter(
        {case.vocabulary.name: OTHERS for case in fit} | {cases[0].vocabulary.name: CASES} if cases else {}
    )
    for case in sorted(fit, key=lambda case: _states(case, runner)):
        if left[case.vocabulary.name] and _states(case, runner) <= STATES:
            left[case.vocabulary.name] -= 1
            yield case


def _states(case: Case, runner: Runner) -> int:
    return compiled(case.grammar, runner.policy).n_states


def _without_budget(case: Case, runner: Runner) -> str:
    """Why no budget can be asked; nothing when one can."""
    least = int(token_distances(exact(case.grammar, case.vocabulary, runner.policy).index)[0])
    told = {
        DEAD: "no output can be finished with this vocabulary",
        0: "the empty output is whole without EOS",
    }
    return told.get(least, "")


def _is_exact(case: Case, runner: Runner) -> bool:
    policy = runner.policy
    return not ((policy.any_order or policy.sorted_members) and case.grammar.kind.startswith("json_"))


def _given(runner: Runner, case: Case) -> tuple[int, Exact]:
    """The port's handle of a grammar over its vocabulary, and the truth about it."""
    if runner.vocabulary != case.vocabulary:
        runner.give(case.vocabulary)
    return runner.compile(case.grammar), exact(case.grammar, case.vocabulary, runner.policy)


def _forced(runner: Runner, case: Case) -> Ask:
    """The forced bytes of every state that tokens reach."""

    def ask() -> tuple[str, str]:
        handle, truth = _given(runner, case)
        for state, path in truth.paths().items():
            session = integer_of(runner.port.request("open", grammar=handle), "session")
            for token in path:
                runner.port.request("advance", session=session, token=token)
            there, wanted = (
                _forced_now(runner.port, session, is_first=not path),
                forced_bytes(truth.dfa, state),
            )
            if there != wanted:
                text = b"".join(case.vocabulary.tokens[token] or b"" for token in path)
                return "text_differs", f"after {text!r} the forced bytes are {there!r}, not {wanted!r}"
            runner.port.request("close", session=session)
        return "", ""

    return ask


def _forced_now(port: Port, session: int, *, is_first: bool) -> bytes | str:
    """The port's forced bytes; its words when it refuses them after it has told those of the start."""
    try:
        return bytes_of(port.request("forced", session=session), "forced")
    except PortError as error:
        if is_first or error.kind != "refused":
            raise
        return str(error)


def _budget(runner: Runner, case: Case, *, seed: int) -> Ask:
    """Budgets around the least: one less is refused, and each walk under one has exact masks until it ends."""

    def ask() -> tuple[str, str]:
        handle, truth = _given(runner, case)
        least = int(token_distances(truth.index)[0])
        if _is_taken(runner.port, handle, least - 1):
            return (
                "not_refused",
                f"a budget of {least - 1} tokens is taken; the shortest output takes {least}",
            )
        for room in ROOM:
            for number in range(WALKS):
                chance = random.Random(f"{seed} {case.id} {room} {number}")
                told = _walk(runner.port, handle, Constraint(truth.index, budget=least + room), chance)
                if told[0]:
                    return told[0], f"with a budget of {least + room} tokens, {told[1]}"
        return "", ""

    return ask


def _is_taken(port: Port, handle: int, budget: int) -> bool:
    try:
        port.request("open", grammar=handle, budget=budget)
    except PortError as error:
        if error.kind not in ("refused", "invalid"):
            raise
        return False
    return True


def _walk(port: Port, handle: int, constraint: Constraint, chance: random.Random) -> tuple[str, str]:
    """Masks along a walk that puts the end off as long as it may."""
    asked = {"grammar": handle, "budget": constraint.remaining}
    session = integer_of(port.request("open", **asked), "session")
    text, size = b"", len(constraint.index)
    while not constraint.done:
        wanted = constraint.mask()
        there = mask_of(port.request("mask", session=session), size)
        extra, missing = ids(there & ~packed_mask(wanted), size), ids(packed_mask(wanted) & ~there, size)
        for kind, wrong in kinds_of(constraint.index.vocabulary, extra, missing).items():
            return kind, f"after {text!r}, {constraint.remaining} left, token {wrong[0]} is wrong"
        ends = constraint.index.vocabulary.eos
        allowed = np.flatnonzero(wanted).tolist()
        going = [token for token in allowed if token not in ends]
        if not allowed:
            break
        token = chance.choice(going or allowed)
        port.request("advance", session=session, token=token)
        constraint.advance(token)
        text += constraint.index.vocabulary.tokens[token] or b""
    port.request("close", session=session)
    return "", ""
