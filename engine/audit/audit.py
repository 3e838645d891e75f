"""The audit of one port: every check in turn, each verdict a record as soon as it is known.

A check runs its scenarios to the end; differences of a kind already seen in the same check are counted, the first of
each kind is diagnosed and shrunk. A port that dies is started again and the audit goes on; one that keeps dying in a
check ends that check, and one that cannot be started at all ends the audit.
"""

import contextlib
import random
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from engine.audit import plan, programs, refusals, surfaces, tool_surfaces
from engine.audit.compare import Difference
from engine.audit.corpus import corpus_records, read_corpus
from engine.audit.diagnose import FAULTS, Finding, Lab, diagnose, named_only
from engine.audit.exact import Exact, compiled, exact
from engine.audit.findings import Subject, record_of, text_case
from engine.audit.free import FreeWalker
from engine.audit.plan import Case, Settings
from engine.audit.policies import Policy, members
from engine.audit.runner import Declined, Runner, Tally
from engine.audit.scenario import Grammar, Scenario
from engine.audit.shrink import Budget
from engine.audit.vocabularies import named, spelling_vocabulary
from engine.audit.walks import walks
from engine.host import Limits, Port, PortFault
from engine.protocol import PortError, Violation
from engine.results import Key, Record
from reference.jsontext import loads
from reference.vocabulary import Vocabulary

SHRUNK_A_KIND = 3
FAULTS_A_CHECK = 3
HANGS_ASKED = 12
POLICY_LENGTH = 24
POLICY_SCHEMA = (
    '{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"array","items":{"type":"integer"}}}}'
)
JSON_KINDS = ("json_schema", "json_object")


@dataclass(frozen=True, slots=True)
class Request:
    """What is audited: the command of the port, how it is named, how much is asked, and what is done already."""

    command: tuple[str, ...]
    subject: Callable[[Port], Subject]
    settings: Settings = field(default_factory=Settings)
    limits: Limits = field(default_factory=Limits)
    corpus: str = ""
    done: Collection[Key] = frozenset()
    tick: Callable[[int, int, str], None] = lambda done, total, label: None


def audit(request: Request) -> Iterator[Record]:
    """The records of an audit, in order; closing the iterator ends the port."""
    named(request.settings.vocabularies)
    if request.corpus:
        read_corpus(Path(request.corpus))  # bad input is told before anything is started
    port = Port(request.command, limits=request.limits)
    begun = time.perf_counter()
    try:
        port.start()
    except PortFault as fault:
        yield request.subject(port).record(
            "hello", "hello", "refuted", kind=fault.kind, message=fault.message, witness={"log": fault.stderr}
        )
        return
    auditor = Auditor(request, port)
    try:
        yield from auditor.records()
        yield from auditor.policy()
        yield auditor.goodbye()
        yield auditor.effort(time.perf_counter() - begun)
    finally:
        auditor.close()


class Auditor:
    """One audit under way."""

    def __init__(self, request: Request, port: Port) -> None:
        """Take a started port."""
        self.request, self.settings, self.port = request, request.settings, port
        self.subject = request.subject(port)
        self.tally = Tally()
        self.runner = Runner(port, self.tally)
        self.lab = Lab(lambda: Port(request.command, limits=request.limits).start())
        self.lab_seconds = 0.0
        self.shrunk: Counter[str] = Counter()
        self.causes: set[tuple[str, Grammar | None]] = set()

    def close(self) -> None:
        """End both children."""
        self.port.kill()
        self.lab.close()

    def records(self) -> Iterator[Record]:
        """Every check of the plan, what is quick first: surfaces and refusals, sessions, then case by case."""
        kinds, seed = self.port.hello.kinds, self.settings.seed
        vocabularies = named(self.settings.vocabularies)
        cases = plan.cases(self.settings, kinds)
        yield self._hello()
        if not self.settings.languages:
            yield from tool_surfaces.records(self.runner, self.subject, self.port.hello.features, seed)
            yield from surfaces.texts(self.runner, self.subject)
        yield from self._refusals(kinds, vocabularies[0])
        self._forget_all()
        taken = list[Case]()
        for vocabulary in vocabularies:
            own = [case for case in cases if case.vocabulary is vocabulary]
            yield from self._compiled(own, taken)
            for check in self._together(
                vocabulary, [case for case in taken if case.vocabulary is vocabulary]
            ):
                yield from self._check(*check)
        if len(vocabularies) > 1:
            yield from self._check(*self._two_vocabularies(vocabularies, taken))
        if not self.settings.languages:
            yield from surfaces.samples(self.runner, self.subject, taken, seed)
            self._forget_all()
        for number, case in enumerate(taken):
            self.request.tick(number, len(taken), case.id)
            if self._is_exact(case.grammar.kind):
                yield from self._case(case)
        yield from self._without_scenarios([case for case in taken if case.grammar.kind == "json_schema"])

    def _without_scenarios(self, own: list[Case]) -> Iterator[Record]:
        """What comes last: questions that are no scenarios, and the automata, which are dear to some ports."""
        for case in own:
            yield from self._free(case)
        if not self.settings.languages:
            yield from surfaces.automata(self.runner, self.subject)
        if self.request.corpus:
            first = spelling_vocabulary(named(self.settings.vocabularies))
            folder = Path(self.request.corpus)
            yield from corpus_records(self.runner, self.subject, first, folder, self.settings.seed)

    def _forget_all(self) -> None:
        """A fresh child: what was asked without a scenario is in no history, and must not explain a finding."""
        with contextlib.suppress(PortFault):
            self.runner.restart()

    def _hello(self) -> Record:
        hello = self.port.hello
        told = {"kinds": hello.kinds, "features": hello.features, "notes": hello.notes}
        if self.runner.policy.unknown:
            told["unknown_policies"] = list(self.runner.policy.unknown)
        return self.subject.record("hello", "hello", "tested", detail=told)

    def _case(self, case: Case) -> Iterator[Record]:
        """The checks of one grammar over one vocabulary."""
        truth = exact(case.grammar, case.vocabulary, self.runner.policy)
        seed = self.settings.seed
        yield from self._check(
            case.id, "masks", plan.state_paths(case, truth, self.settings.states, seed), truth
        )
        if (
            "/regex@" in case.id
        ):  # the same automaton as its schema's: once through the other way in is enough
            return
        yield from self._check(case.id, "advance", plan.advances(case, truth, seed))
        yield from self._check(case.id, "end", plan.endings(case, truth, seed))
        many, length = self.settings.walks, self.settings.length
        yield from self._check(case.id, "walks", walks(case, truth, seed, many, length))

    def _compiled(self, own: Sequence[Case], taken: list[Case]) -> Iterator[Record]:
        """Compile every case; what is taken goes to `taken`, what is not is a record."""
        for case in own:
            scenario = case.scenario([("compile", 0)])
            try:
                found = self.runner.run(scenario)
            except Declined as declined:
                yield self.subject.record(case.id, "compile", "refused", message=str(declined))
                continue
            if found:
                finding = Finding(found[0].kind, found[0].message, scenario, found[0], scenario)
                yield record_of(self.subject, case.id, "compile", finding, self.runner.policy, 0.0)
            taken.append(case)

    def _check(
        self, case: str, check: str, scenarios: Iterable[Scenario], truth: Exact | None = None
    ) -> Iterator[Record]:
        """One check: all its scenarios, a record of each kind of difference, or one that says it was tested."""
        if ("audit", self.subject.name, case, check) in self.request.done:
            return
        begun, before = time.perf_counter(), (self.tally.masks, self.tally.bits)
        ran = _Ran()
        for scenario in scenarios:
            yield from self._scenario(case, check, scenario, ran)
            if ran.faults >= FAULTS_A_CHECK:
                break
        domain: dict[str, Any] = {"scenarios": ran.scenarios, "masks": self.tally.masks - before[0]}
        domain["bits"] = self.tally.bits - before[1]
        if truth is not None:
            domain |= {"states": truth.dfa.n_states, "vocabulary": truth.vocabulary.name}
        if ran.kinds or not ran.scenarios:
            return
        verdict = "refused" if ran.declined == ran.scenarios else "tested"
        yield self.subject.record(
            case,
            check,
            verdict,
            method=METHODS.get(check, ""),
            domain=domain,
            seconds=time.perf_counter() - begun,
            message=ran.message,
        )

    def _scenario(self, case: str, check: str, scenario: Scenario, ran: "_Ran") -> Iterator[Record]:
        ran.scenarios += 1
        try:
            found = self.runner.run(scenario)
        except Declined as declined:
            ran.declined += 1
            ran.message = str(declined)
            return
        ran.faults += any(difference.kind in FAULTS for difference in found)
        for difference in found:
            if difference.kind not in ran.kinds:
                ran.kinds.add(difference.kind)
                yield self._finding(case, check, difference, scenario)

    def _finding(self, case: str, check: str, difference: Difference, scenario: Scenario) -> Record:
        begun = time.perf_counter()
        history = list(self.runner.history)
        cause = (difference.kind, difference.grammar)
        often = self.shrunk[difference.kind] >= SHRUNK_A_KIND or cause in self.causes
        self.shrunk[difference.kind] += 1
        self.causes.add(cause)
        if often:
            finding = named_only(self.lab, difference, scenario)
        else:
            budget = Budget(runs=HANGS_ASKED) if difference.kind == "hang" else Budget()
            finding = diagnose(self.lab, difference, scenario, history, budget)
        seconds = time.perf_counter() - begun
        self.lab_seconds += seconds
        return record_of(self.subject, case, check, finding, self.runner.policy, seconds)

    def _together(
        self, vocabulary: Vocabulary, taken: Sequence[Case]
    ) -> Iterator[tuple[str, str, Iterable[Scenario]]]:
        """Checks over several sessions and grammars in one process: (case, check, scenarios)."""
        hello, policy, seed = self.port.hello, self.runner.policy, self.settings.seed
        grammars = [case.grammar for case in taken if self._is_exact(case.grammar.kind)]
        if grammars:
            many = self.settings.programs
            made = programs.programs(grammars, vocabulary, policy, hello.features, seed, many)
            yield f"sessions@{vocabulary.name}", "sessions", made
        if vocabulary is named(self.settings.vocabularies)[0]:
            kinds = [kind for kind in hello.kinds if self._is_exact(kind)]
            yield (
                f"grammars@{vocabulary.name}",
                "grammars",
                programs.families(vocabulary, policy, kinds, seed),
            )

    def _two_vocabularies(
        self, vocabularies: Sequence[Vocabulary], taken: Sequence[Case]
    ) -> tuple[str, str, Iterable[Scenario]]:
        first, second = vocabularies[:2]
        own = [
            case.grammar for case in taken if case.vocabulary is first and self._is_exact(case.grammar.kind)
        ]
        swapped = programs.two_vocabularies(own[:4], first, second, self.runner.policy, self.settings.seed)
        return f"{first.name} and {second.name}", "vocabularies", swapped

    def _is_exact(self, kind: str) -> bool:
        """Whether grammars of the kind have one exact language under the port's policy."""
        return not (kind in JSON_KINDS and self.runner.policy.any_order)

    def _free(self, case: Case) -> Iterator[Record]:
        """Walks that the engine's own masks lead."""
        if (
            case.grammar.kind != "json_schema"
            or ("audit", self.subject.name, case.id, "free") in self.request.done
        ):
            return
        begun, ended, many = time.perf_counter(), 0, 8
        schema = loads(case.grammar.source)
        try:
            if self.runner.vocabulary is not case.vocabulary:
                self.runner.give(case.vocabulary)
            handle = self.runner.compile(case.grammar)
            walker = FreeWalker(
                self.runner, case.vocabulary, random.Random(f"{self.settings.seed} {case.id}")
            )
            for _ in range(many):
                outcome = walker.walk(handle, schema)
                ended += outcome.ended
                if outcome.wrong:
                    kind = "not_enforced" if outcome.keyword else "unsound"
                    shown = {"kind": "schema", "source": case.grammar.source}
                    shown["text"] = outcome.text.decode("utf-8", "backslashreplace")
                    again = text_case(self.subject, case.grammar, case.vocabulary, shown["text"], kind)
                    yield self.subject.record(
                        case.id,
                        "free",
                        "refuted",
                        kind=kind,
                        message=outcome.wrong,
                        witness=shown,
                        reproduce=again,
                    )
                    return
        except Declined as declined:
            yield self.subject.record(case.id, "free", "refused", message=str(declined))
            return
        except (PortFault, PortError, Violation) as error:
            kind = getattr(error, "kind", "garbage")
            kind = kind if kind in FAULTS else "crash"
            yield self.subject.record(case.id, "free", "refuted", kind=kind, message=str(error))
            if not self.port.alive:
                self.runner.restart()
            return
        yield self.subject.record(
            case.id,
            "free",
            "tested",
            method="texts drawn from the engine's own masks, parsed and validated",
            domain={"walks": many, "ended": ended, "seed": str(self.settings.seed)},
            seconds=time.perf_counter() - begun,
        )

    def _refusals(self, kinds: Sequence[str], vocabulary: Vocabulary) -> Iterator[Record]:
        for refusal in refusals.refusals(list(kinds)):
            yield refusals.judge_refusal(self.runner, self.subject, vocabulary, refusal)
        if "json_schema" in kinds:
            for refusal in refusals.ambiguous():
                yield refusals.judge_ambiguous(self.runner, self.subject, vocabulary, refusal)

    def policy(self) -> Iterator[Record]:
        """How much the declared policies narrow what may be written."""
        policy, tally = self.runner.policy, self.tally
        if not self.port.hello.policies:
            return
        domain: dict[str, Any] = {"masks": tally.masks}
        told = []
        if policy.forced_first_token:
            domain |= {"narrowed_masks": tally.withheld_masks, "withheld_tokens": tally.withheld}
            told.append(f"{tally.withheld_masks:,} of {tally.masks:,} masks hold one forced token alone")
        if policy.rewrites_json:
            grammar = Grammar("json_schema", POLICY_SCHEMA)
            compact, own = (members(compiled(grammar, one), POLICY_LENGTH) for one in (Policy(), policy))
            domain |= {"compact_texts": float(compact), "own_texts": float(own)}
            told.append(f"of at most {POLICY_LENGTH} bytes {own:.3g} texts instead of {compact:.3g}")
        message = "; ".join(told) or "declared, and no narrowing that is measured"
        yield self.subject.record("policy", "policy", "tested", domain=domain, message=message)

    def goodbye(self) -> Record:
        """Whether the port ends when it is told to."""
        try:
            if self.port.alive:
                self.port.bye()
        except (PortFault, PortError) as error:
            kind = getattr(error, "kind", "crash")
            return self.subject.record(
                "bye", "bye", "refuted", kind=kind if kind in FAULTS else "crash", message=str(error)
            )
        return self.subject.record("bye", "bye", "tested")

    def effort(self, seconds: float) -> Record:
        """What was compared, and whose time it took: the port's, or ours."""
        own = max(seconds - self.lab_seconds, 1e-9)
        share = self.port.clock.port_seconds / own
        domain = {name: getattr(self.tally, name) for name in Tally.__slots__}
        detail = {
            "port_seconds": round(self.port.clock.port_seconds, 3),
            "audit_seconds": round(own, 3),
            "diagnosis_seconds": round(self.lab_seconds, 3),
            "port_share": round(share, 3),
            "by_op": {op: round(spent, 3) for op, spent in self.port.clock.by_op.items()},
        }
        message = f"{self.tally.bits:,} mask bits compared; {share:.0%} of {own:.1f} s spent in the port"
        return self.subject.record(
            "audit", "effort", "tested", domain=domain, seconds=seconds, message=message, detail=detail
        )


METHODS = {
    "masks": "every reachable state by a shortest token path, every token",
    "advance": "forbidden and allowed tokens at a sample of states",
    "end": "the mask after each EOS, and tokens after it",
    "walks": "seeded walks that prefer rare tokens",
    "sessions": "seeded programs over several sessions",
    "grammars": "grammars that a cache may confuse, side by side",
    "vocabularies": "the same grammars over another vocabulary in one process",
}


@dataclass(slots=True)
class _Ran:
    """What one check has seen."""

    scenarios: int = 0
    declined: int = 0
    faults: int = 0
    message: str = ""
    kinds: set[str] = field(default_factory=set)
