"""The audit of one port: every check in turn, each verdict a record as soon as it is known.

What is quick comes first: texts and refusals, then sessions over all vocabularies, then case by case every state of
every language, and last what is no scenario. A port that cannot be started at all ends the audit with one finding.
"""

import contextlib
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from engine.audit import ahead, plan, programs, refusals, surfaces, tool_surfaces
from engine.audit.account import effort_record, goodbye_record, policy_record
from engine.audit.check import Checker
from engine.audit.corpus import corpus_records, read_corpus
from engine.audit.diagnose import Finding, Lab
from engine.audit.exact import exact
from engine.audit.findings import Subject, record_of
from engine.audit.free import free_record
from engine.audit.phrases import phrases
from engine.audit.plan import Case, Settings
from engine.audit.problems import Declined
from engine.audit.runner import Runner
from engine.audit.scenario import Scenario
from engine.audit.vocabularies import spelling_vocabulary
from engine.audit.walks import walks
from engine.host import Limits, Port, PortFault
from engine.results import Key, Record
from reference.errors import Refused
from reference.vocabulary import Vocabulary

JSON_KINDS = ("json_schema", "json_object")
Check = tuple[str, str, Iterable[Scenario]]


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
    """The records of an audit, in order; closing the iterator ends the port. Bad input is told before it is started."""
    request.settings.loaded()
    if request.corpus:
        read_corpus(Path(request.corpus))
    port, begun = Port(request.command, limits=request.limits), time.perf_counter()
    try:
        port.start()
    except PortFault as fault:
        told = {"kind": fault.kind, "message": fault.message, "witness": {"log": fault.stderr}}
        yield request.subject(port).record("hello", "hello", "refuted", **told)
        return
    auditor = Auditor(request, port)
    try:
        yield from auditor.records()
        yield from auditor.farewell(begun)
    finally:
        auditor.close()


class Auditor:
    """One audit under way."""

    def __init__(self, request: Request, port: Port) -> None:
        """Take a started port."""
        self.request, self.settings, self.port = request, request.settings, port
        self.subject, self.runner = request.subject(port), Runner(port)
        self.lab = Lab(lambda: Port(request.command, limits=request.limits).start())
        self.checker = Checker(
            self.runner, self.lab, self.subject, request.done, self.settings.shrink_seconds
        )

    def close(self) -> None:
        """End both children."""
        self.port.kill()
        self.lab.close()

    def records(self) -> Iterator[Record]:
        """Every check of the plan."""
        vocabularies = self.settings.loaded()
        cases = plan.cases(self.settings, self.port.hello.kinds)
        yield self._hello()
        yield from self._texts(vocabularies[0])
        taken = list[Case]()
        for vocabulary in vocabularies:
            yield from self._compiled([case for case in cases if case.vocabulary is vocabulary], taken)
            for check in self._together(
                vocabulary, [case for case in taken if case.vocabulary is vocabulary]
            ):
                yield from self.checker.check(*check)
        if len(vocabularies) > 1:
            yield from self.checker.check(*self._two_vocabularies(vocabularies, taken))
        if not self.settings.languages:
            yield from surfaces.samples(self.runner, self.subject, taken, self.settings.seed)
            yield from ahead.records(self.runner, self.subject, taken, self.settings.seed)
            self._forget_all()
        for number, case in enumerate(taken):
            self.request.tick(number, len(taken), case.id)
            yield from self._case(case)
        yield from self._without_scenarios([case for case in taken if case.grammar.kind == "json_schema"])

    def farewell(self, begun: float) -> Iterator[Record]:
        """Policies, the goodbye, and what it took."""
        yield from policy_record(self.runner, self.subject)
        yield goodbye_record(self.port, self.subject)
        seconds = time.perf_counter() - begun
        yield effort_record(self.port, self.subject, self.runner.tally, seconds, self.checker.lab_seconds)

    def _hello(self) -> Record:
        hello = self.port.hello
        told = {"kinds": hello.kinds, "features": hello.features, "notes": hello.notes}
        if self.runner.policy.unknown:
            told["unknown_policies"] = list(self.runner.policy.unknown)
        return self.subject.record("hello", "hello", "tested", detail=told)

    def _texts(self, vocabulary: Vocabulary) -> Iterator[Record]:
        """Tools, patterns, JSON texts, and what must be refused: questions about texts, over one vocabulary at most."""
        kinds = list(self.port.hello.kinds)
        if not self.settings.languages:
            features = self.port.hello.features
            yield from tool_surfaces.records(self.runner, self.subject, features, self.settings.seed)
            yield from surfaces.texts(self.runner, self.subject)
        for refusal in refusals.refusals(kinds):
            yield refusals.judge_refusal(self.runner, self.subject, vocabulary, refusal)
        for refusal in refusals.ambiguous() if "json_schema" in kinds else ():
            yield refusals.judge_ambiguous(self.runner, self.subject, vocabulary, refusal)
        self._forget_all()

    def _compiled(self, own: Sequence[Case], taken: list[Case]) -> Iterator[Record]:
        """Compile every case; what is taken goes to `taken`, what is not is a record."""
        for case in own:
            scenario = case.scenario([("compile", 0)])
            try:
                found = self.runner.run(scenario)
            except Declined as declined:
                yield self.subject.record(case.id, "compile", "refused", message=str(declined))
                continue
            if self._is_exact(case.grammar.kind) and (why := self._without_truth(case)):
                yield self.subject.record(case.id, "compile", "skipped", message=why)
                continue
            if found:
                finding = Finding(found[0].kind, found[0].message, scenario, found[0], scenario)
                yield record_of(self.subject, case.id, "compile", finding, self.runner.policy, 0.0)
            taken.append(case)

    def _together(self, vocabulary: Vocabulary, taken: Sequence[Case]) -> Iterator[Check]:
        """Checks over several sessions and grammars in one process."""
        hello, policy, seed = self.port.hello, self.runner.policy, self.settings.seed
        grammars = [case.grammar for case in taken if self._is_exact(case.grammar.kind)]
        if grammars:
            many = self.settings.programs
            made = programs.programs(grammars, vocabulary, policy, hello.features, seed, many)
            yield f"sessions@{vocabulary.name}", "sessions", made
        if vocabulary is self.settings.loaded()[0]:
            kinds = [kind for kind in hello.kinds if self._is_exact(kind)]
            families = programs.families(vocabulary, policy, kinds, seed)
            yield f"grammars@{vocabulary.name}", "grammars", families

    def _two_vocabularies(self, vocabularies: Sequence[Vocabulary], taken: Sequence[Case]) -> Check:
        first, second = vocabularies[:2]
        own = [case for case in taken if case.vocabulary is first and self._is_exact(case.grammar.kind)]
        grammars = [case.grammar for case in own[:4]]
        swapped = programs.two_vocabularies(grammars, first, second, self.runner.policy, self.settings.seed)
        return f"{first.name} and {second.name}", "vocabularies", swapped

    def _case(self, case: Case) -> Iterator[Record]:
        """The checks of one grammar over one vocabulary."""
        if not self._is_exact(case.grammar.kind):
            return
        settings, seed = self.settings, self.settings.seed
        truth = exact(case.grammar, case.vocabulary, self.runner.policy)
        every = plan.state_paths(case, truth, settings.states, seed)
        yield from self.checker.check(case.id, "masks", every, truth)
        if plan.is_brief(case):
            return
        long = walks(case, truth, seed, settings.walks, settings.length)
        yield from self.checker.check(case.id, "advance", plan.advances(case, truth, seed))
        yield from self.checker.check(case.id, "phrases", phrases(case, truth))
        yield from self.checker.check(case.id, "end", plan.endings(case, truth, seed))
        yield from self.checker.check(case.id, "walks", long)

    def _without_scenarios(self, own: list[Case]) -> Iterator[Record]:
        """What comes last: questions that are no scenarios, and the automata, which are dear to some ports."""
        for case in own:
            if not self.checker.is_done(case.id, "free"):
                yield free_record(self.runner, self.subject, case, self.settings.seed)
        if not self.settings.languages:
            yield from surfaces.automata(self.runner, self.subject)
        if self.request.corpus:
            whole = spelling_vocabulary(self.settings.loaded())
            folder = Path(self.request.corpus)
            yield from corpus_records(self.runner, self.subject, whole, folder, self.settings.seed)

    def _is_exact(self, kind: str) -> bool:
        """Whether grammars of the kind have one exact language under the port's policy."""
        policy = self.runner.policy
        if kind == "json_object" and policy.sorted_members:
            return False
        return not (kind in JSON_KINDS and policy.any_order)

    def _without_truth(self, case: Case) -> str:
        """Why the port's policies leave nothing to hold a case to; nothing when they do not."""
        try:
            exact(case.grammar, case.vocabulary, self.runner.policy)
        except Refused as refused:
            return str(refused)
        return ""

    def _forget_all(self) -> None:
        """A fresh child: what was asked without a scenario is in no history, and must not explain a finding."""
        with contextlib.suppress(PortFault):
            self.runner.restart()
