"""One check: its scenarios run to the end, and what is wrong comes out as findings.

Differences of a kind and aspect already seen in the same check are passed over, since one cause wrongs many masks. A
finding is diagnosed and made small in a second child while its kind and aspect are new: three times for the parts of
JSON, once for a grammar, and not when all such work has taken `shrink_seconds`. Of the others only the kind is decided.
A port that dies is started again by the runner; one that keeps dying ends the check.
"""

import time
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from engine.audit.compare import Difference
from engine.audit.diagnose import FAULTS, Lab, diagnose, named_only
from engine.audit.exact import Exact
from engine.audit.findings import Subject, record_of
from engine.audit.forms import Aspect, aspect_of
from engine.audit.policies import Policy
from engine.audit.problems import Declined
from engine.audit.runner import Runner
from engine.audit.scenario import Grammar, Scenario
from engine.audit.shrink import Budget
from engine.results import Key, Record

SHRUNK_A_GROUP = 3
FAULTS_A_CHECK = 3
LOOKED_AT = 300
HANGS_ASKED = 12
METHODS = {
    "masks": "every reachable state by a shortest token path, every token",
    "advance": "forbidden and allowed tokens at a sample of states",
    "phrases": "awkward pieces of text, each where the language first takes it",
    "end": "the mask after each EOS, and tokens after it",
    "walks": "seeded walks that prefer rare tokens",
    "sessions": "seeded programs over several sessions",
    "grammars": "grammars that a cache may confuse, side by side",
    "vocabularies": "the same grammars over another vocabulary in one process",
}


@dataclass(slots=True)
class _Ran:
    """What one check has seen so far."""

    scenarios: int = 0
    declined: int = 0
    faults: int = 0
    message: str = ""
    looked_at: int = 0
    kinds: set[tuple[str, Aspect | None]] = field(default_factory=set)

    def is_new(self, difference: Difference, policy: Policy) -> bool:
        """Whether a difference is the first of its kind and aspect; of many only the first are looked at so closely."""
        self.looked_at += 1
        close = self.looked_at <= LOOKED_AT
        aspect = aspect_of(difference, policy) if close else None
        before = self.kinds if close else {(kind, None) for kind, _ in self.kinds}
        is_new = (difference.kind, aspect) not in before
        self.kinds.add((difference.kind, aspect))
        return is_new


class Checker:
    """Runs checks on one child, and looks into findings on another."""

    def __init__(
        self, runner: Runner, lab: Lab, subject: Subject, done: Collection[Key], shrink_seconds: float
    ) -> None:
        """`done` are the keys of records that a run before this one has left."""
        self.runner, self.lab, self.subject, self.done = runner, lab, subject, done
        self.shrink_seconds = shrink_seconds
        self.lab_seconds = 0.0
        self._shrunk: Counter[tuple[str, Aspect, Grammar | None]] = Counter()
        self._causes: set[tuple[str, Grammar | None, Aspect]] = set()

    def is_done(self, case: str, check: str) -> bool:
        """Whether a run before this one has the verdict."""
        return ("audit", self.subject.name, case, check) in self.done

    def check(
        self, case: str, check: str, scenarios: Iterable[Scenario], truth: Exact | None = None
    ) -> Iterator[Record]:
        """A record of each kind of difference, or one that says how much was tested."""
        if self.is_done(case, check):
            return
        tally = self.runner.tally
        begun, masks, bits, ran = time.perf_counter(), tally.masks, tally.bits, _Ran()
        for scenario in scenarios:
            yield from self._scenario(case, check, scenario, ran)
            if ran.faults >= FAULTS_A_CHECK:
                break
        if ran.kinds or not ran.scenarios:
            return
        domain: dict[str, Any] = {"scenarios": ran.scenarios}
        domain |= {"declined": ran.declined} if ran.declined else {}
        domain |= {"masks": tally.masks - masks, "bits": tally.bits - bits}
        if truth is not None:
            domain |= {"states": truth.dfa.n_states, "vocabulary": truth.vocabulary.name}
        yield self.subject.record(
            case,
            check,
            "refused" if ran.declined == ran.scenarios else "tested",
            method=METHODS[check],
            domain=domain,
            seconds=time.perf_counter() - begun,
            message=ran.message,
        )

    def _scenario(self, case: str, check: str, scenario: Scenario, ran: _Ran) -> Iterator[Record]:
        ran.scenarios += 1
        try:
            found = self.runner.run(scenario)
        except Declined as declined:
            ran.declined += 1
            ran.message = str(declined)
            return
        ran.faults += any(difference.kind in FAULTS for difference in found)
        for difference in found:
            if ran.is_new(difference, self.runner.policy):
                yield self._finding(case, check, difference, scenario)

    def _finding(self, case: str, check: str, difference: Difference, scenario: Scenario) -> Record:
        begun, kind = time.perf_counter(), difference.kind
        aspect, grammar = aspect_of(difference, self.runner.policy), difference.grammar
        cause = (kind, grammar, aspect)
        group = (kind, aspect, grammar if grammar and grammar.kind.startswith("regex.") else None)
        is_enough = self.lab_seconds >= self.shrink_seconds
        if is_enough or self._shrunk[group] >= SHRUNK_A_GROUP or cause in self._causes:
            finding = named_only(self.lab, difference, scenario)
        else:
            budget = Budget(runs=HANGS_ASKED) if kind == "hang" else Budget()
            finding = diagnose(self.lab, difference, scenario, list(self.runner.history), budget)
        self._shrunk[group] += 1
        self._causes.add(cause)
        seconds = time.perf_counter() - begun
        self.lab_seconds += seconds
        return record_of(self.subject, case, check, finding, self.runner.policy, seconds)
