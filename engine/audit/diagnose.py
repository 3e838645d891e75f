"""From a difference seen in the middle of an audit to a finding: its final kind, and the smallest case that shows it.

One rule decides between the kinds of a wrong mask and `unstable`. The question is asked again alone: a fresh child,
one session, the same tokens, the same step. If the answer is wrong there too, the engine is wrong about that output,
and the kind is what the mask says. If it is exact there, the engine answered twice differently for one state, and
what came before (another session, a fork, a rollback, a refused token, an older grammar) is the finding. An engine
that dies, hangs or babbles keeps that kind either way.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from engine.audit.compare import Difference
from engine.audit.exact import DONE, Exact, exact, ids
from engine.audit.forms import aspect_of
from engine.audit.policies import Policy
from engine.audit.problems import Declined
from engine.audit.runner import Runner
from engine.audit.scenario import Grammar, Scenario, Step, joined
from engine.audit.shrink import Budget, shrunk
from engine.host import Port, PortFault

FAULTS = frozenset({"crash", "hang", "garbage", "memory"})
SHRUNK = "seen again in a fresh child, and made small"
AGAIN = "seen again in a fresh child"
NAMED = "asked again alone; like the ones before it, so not made small"
ONCE = "seen once"
SEARCHED_STATES = 40
DEEPEST = 8
LOOKED_BACK = (8, 64)


@dataclass(frozen=True, slots=True, eq=False)
class Finding:
    """What is wrong, as the smallest scenario that shows it, and how it was looked at."""

    kind: str
    message: str
    scenario: Scenario
    difference: Difference
    original: Scenario
    method: str = SHRUNK


class Lab:
    """A second child of the same port, for questions whose answers must not depend on the audit so far."""

    def __init__(self, start: Callable[[], Port]) -> None:
        """`start` gives a started port."""
        self._start = start
        self._runner: Runner | None = None
        self._last: tuple[Scenario, list[Difference]] | None = None

    def ask(self, scenario: Scenario, *, fresh: bool) -> list[Difference]:
        """The differences of a scenario, in a fresh child, or in one that has just been given its vocabulary.

        What a fresh child has just answered is not asked of the next one: to start a child is what costs most.
        """
        if fresh and self._last is not None and self._last[0] == scenario:
            return self._last[1]
        found = self._ask(scenario, fresh=fresh)
        self._last = (scenario, found) if fresh else None
        return found

    def _ask(self, scenario: Scenario, *, fresh: bool) -> list[Difference]:
        runner = self._runner
        if runner is None:
            runner = self._runner = Runner(self._start())
        elif fresh or not runner.port.alive:
            runner.restart()
        runner.vocabulary, runner.grammars, runner.history = None, {}, []
        try:
            return runner.run(scenario)
        except Declined:
            return []

    @property
    def policy(self) -> Policy:
        """What the port declares."""
        assert self._runner is not None
        return self._runner.policy

    def close(self) -> None:
        """End the child."""
        if self._runner is not None:
            self._runner.port.kill()


def alone(difference: Difference) -> Scenario | None:
    """The question of a difference, asked alone: one session, its tokens, the step; None when it had no session."""
    if difference.grammar is None or difference.vocabulary is None:
        return None
    steps: list[Step] = [("open", 0, 0), *(("advance", 0, token) for token in difference.path), ("mask", 0)]
    if difference.op == "advance" and difference.token is not None:
        steps.append(("advance", 0, difference.token))
    elif difference.op in ("rollback", "close", "fork"):
        return None
    return Scenario((difference.vocabulary,), (difference.grammar,), tuple(steps))


def diagnose(
    lab: Lab, difference: Difference, scenario: Scenario, history: Sequence[Scenario], budget: Budget
) -> Finding:
    """Decide the kind, find the scenario that shows it in a fresh child, and shrink it."""
    cut = scenario.with_steps(scenario.steps[: difference.step + 1])
    for base in _bases(difference, cut, history):
        kind = _kind(lab, base, difference, fresh=True)
        if kind is not None:
            return _small(lab, base, kind, cut, budget, difference)
    kind = difference.kind if difference.kind in FAULTS else "unstable"
    message = f"{difference.message}; seen once, not seen again in a fresh process"
    return Finding(kind, message, cut, difference, cut, ONCE)


def _needed(difference: Difference) -> list[int]:
    """Tokens that a small vocabulary probably needs: some that are wrong, and some that the engine allows rightly."""
    needed = list(difference.wrong[:2])
    if difference.actual is not None and difference.vocabulary is not None:
        needed += ids(difference.actual, len(difference.vocabulary))[:2].tolist()
    return needed


def named_only(lab: Lab, difference: Difference, scenario: Scenario) -> Finding:
    """The kind of a difference by the same rule, asked in a child that is reused; nothing is made small.

    For the fourth difference of a kind and those after it: what is left of them is their number and one path.
    """
    cut = scenario.with_steps(scenario.steps[: difference.step + 1])
    question = alone(difference)
    if question is None or difference.kind in FAULTS:
        return Finding(difference.kind, difference.message, cut, difference, cut, NAMED)
    found = {one.kind: one for one in reversed(lab.ask(question, fresh=False))}
    if not found:
        return Finding("unstable", difference.message, cut, difference, cut, NAMED)
    kind = difference.kind if difference.kind in found else next(iter(found))
    return Finding(kind, found[kind].message, question, found[kind], question, NAMED)


def _bases(difference: Difference, cut: Scenario, history: Sequence[Scenario]) -> Iterator[Scenario]:
    """Where the fault may be seen again: alone, in its scenario, after more and more of what this child was asked."""
    question = alone(difference)
    if question is not None and question.steps != cut.steps:
        yield question
    yield cut
    before = list(history[:-1])
    named = {grammar.source for grammar in cut.grammars}
    related = [one for one in before if named & {grammar.source for grammar in one.grammars}]
    if related:
        yield joined([*related[:2], *related[2:][-6:], cut])
    for many in LOOKED_BACK:
        if before:
            yield joined([*before[-many:], cut])
        if many >= len(before):
            break


def _kind(lab: Lab, base: Scenario, difference: Difference, *, fresh: bool) -> str | None:
    """The final kind of what a scenario shows, None when it shows nothing."""
    found = lab.ask(base, fresh=fresh)
    if not found:
        return None
    kinds = {one.kind: one for one in reversed(found)}
    chosen = kinds.get(difference.kind, found[0])
    return _judged(lab, chosen, base, fresh=fresh)


def _judged(lab: Lab, difference: Difference, base: Scenario, *, fresh: bool) -> str:
    """The kind of a difference by the rule above."""
    question = alone(difference)
    if difference.kind in FAULTS or question is None or question.steps == base.steps:
        return difference.kind
    again = {one.kind: one for one in reversed(lab.ask(question, fresh=fresh))}
    if not again:
        return "unstable"
    return difference.kind if difference.kind in again else next(iter(again))


def _small(
    lab: Lab, base: Scenario, kind: str, original: Scenario, budget: Budget, first: Difference
) -> Finding:
    """Shrink in a child that is reused, then look again in a fresh one; when that fails, shrink in fresh ones."""
    seen = lab.ask(base, fresh=True)
    for fresh in (False, True):
        shows = _Shows(lab, kind, seen, fresh=fresh)
        small = shrunk(base, shows, budget, _needed(first))
        found = lab.ask(small, fresh=True)
        matching = _matching(lab, found, kind, small)
        if matching is not None:
            return Finding(kind, matching.message, small, matching, original)
        budget = Budget(runs=60, seconds=budget.seconds)
    found = lab.ask(base, fresh=True)
    matching = _matching(lab, found, kind, base)
    message = matching.message if matching else f"{first.message}; seen again, but not every time"
    difference = matching or (found[0] if found else Difference(len(base.steps) - 1, kind, message))
    return Finding(kind, message, base, difference, original, AGAIN if matching else ONCE)


def _matching(lab: Lab, found: list[Difference], kind: str, scenario: Scenario) -> Difference | None:
    """The difference of this kind among those found."""
    if kind == "unstable":
        return next((one for one in found if _judged(lab, one, scenario, fresh=True) == kind), None)
    return next((one for one in found if one.kind == kind), None)


def _together(found: Sequence[Difference], kind: str) -> frozenset[str]:
    """The kinds that are seen at the same step as the first difference of a kind."""
    step = next((one.step for one in found if one.kind == kind), None)
    return frozenset(one.kind for one in found if one.step == step)


class _Shows:
    """Whether a candidate shows a fault of one kind; for a single session, whether any path of its grammar does.

    A step at which other kinds come up than came up with the fault at first (`seen`) shows another fault, and does not
    count; nor does one of another aspect (engine/audit/forms.py).
    """

    def __init__(self, lab: Lab, kind: str, seen: Sequence[Difference], *, fresh: bool) -> None:
        self.lab, self.kind, self.fresh = lab, kind, fresh
        self.beside = _together(seen, kind)
        self.aspect = next((aspect_of(one, lab.policy) for one in seen if one.kind == kind), None)
        self.searched: set[Grammar] = set()

    def __call__(self, candidate: Scenario) -> Scenario | None:
        try:
            return self._directly(candidate) or self._on_another_path(candidate)
        except PortFault:
            return None

    def _directly(self, candidate: Scenario) -> Scenario | None:
        differences = self.lab.ask(candidate, fresh=self.fresh)
        for found in differences:
            kind = found.kind
            if self.kind == "unstable" and kind not in FAULTS:
                kind = _judged(self.lab, found, candidate, fresh=self.fresh)
            if kind == self.kind and (
                kind in FAULTS or kind == "unstable" or self._is_alike(found, differences)
            ):
                return candidate.with_steps(candidate.steps[: found.step + 1])
        return None

    def _is_alike(self, found: Difference, differences: Sequence[Difference]) -> bool:
        """Whether it is about the same as the fault was at first, as far as one can tell."""
        at_step = {one.kind for one in differences if one.step == found.step}
        alike = self.aspect is None or aspect_of(found, self.lab.policy) == self.aspect
        return alike and at_step <= self.beside | {found.kind}

    def _on_another_path(self, candidate: Scenario) -> Scenario | None:
        """A smaller grammar needs another path: look at its states, shortest paths first, once a grammar."""
        if self.kind in FAULTS or self.kind == "unstable" or not _is_single(candidate):
            return None
        grammar, vocabulary = candidate.grammars[0], candidate.vocabularies[0]
        if grammar in self.searched or len(self.searched) > 400:
            return None
        self.searched.add(grammar)
        truth = exact(grammar, vocabulary, self.lab.policy)
        probe = Scenario(
            candidate.vocabularies, candidate.grammars, tuple(every_state(truth, SEARCHED_STATES))
        )
        for found in self.lab.ask(probe, fresh=self.fresh):
            question = alone(found)
            if found.kind == self.kind and question is not None:
                return self._directly(question)
        return None


def _is_single(scenario: Scenario) -> bool:
    opened = [step for step in scenario.steps if step[0] in ("open", "fork", "vocab", "compile", "forget")]
    return opened == [("open", 0, 0)] and len(scenario.grammars) == len(scenario.vocabularies) == 1


def every_state(truth: Exact, most: int) -> list[Step]:
    """Steps that ask the mask of the first and the last states, each in a session of its own, and after EOS."""
    steps: list[Step] = []
    every = list(truth.paths().items())
    chosen = every if len(every) <= most else every[: most - DEEPEST] + every[-DEEPEST:]
    for number, (state, path) in enumerate(chosen):
        steps += [("open", number, 0), *(("advance", number, token) for token in path), ("mask", number)]
        if truth.is_complete(state) and state != DONE and truth.vocabulary.eos:
            steps += [("advance", number, min(truth.vocabulary.eos)), ("mask", number)]
        steps.append(("close", number))
    return steps
