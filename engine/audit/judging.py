"""Runs scenarios on a port and judges every answer against the exact masks.

The model of a session is the list of exact states it went through; the engine is assumed to agree until it does not,
so requests that need no earlier answer go out together. A judged difference says what the engine answered *here*;
whether the same question gets the same answer elsewhere, and so its final kind, is for engine/audit/diagnose.py.

An engine may say `refused` as long as no token was taken; that is honest. Once tokens were taken the output cannot go
on, whatever the engine calls it: `stuck`, or `eos_missing` where the output is whole and is not let end.
"""

import contextlib
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from engine.audit.compare import Difference, count, is_forced_first, wrong_tokens
from engine.audit.exact import DONE, Exact, Path
from engine.audit.problems import Declined, error_kind
from engine.audit.scenario import Grammar, Scenario, Step
from engine.host import PortFault, Request
from engine.protocol import PortError, Violation, flag_of, integer_of, mask_of
from reference.dfa import DEAD

if TYPE_CHECKING:
    from engine.audit.runner import Runner

BATCH = 64


@dataclass(slots=True)
class _Session:
    """A session as it should be: the exact states so far, the tokens taken, and the port's handle."""

    truth: Exact
    handle: int
    states: list[int]
    tokens: list[int] = field(default_factory=list)

    def copy(self, handle: int) -> "_Session":
        return _Session(self.truth, handle, list(self.states), list(self.tokens))


@dataclass(frozen=True, slots=True)
class _Asked:
    """A request under way and what it should find."""

    step: int
    request: Request
    session: _Session
    state: int
    path: Path
    target: int = DEAD


class _Stop(Exception):  # noqa: N818 (control flow of one run)
    """Nothing after this step is known."""


class Run:
    """One scenario under way."""

    def __init__(self, runner: "Runner", scenario: Scenario) -> None:
        """Nothing is asked yet."""
        self.runner, self.port, self.scenario = runner, runner.port, scenario
        self.sessions: dict[int, _Session] = {}
        self.waiting: list[_Asked] = []
        self.found: list[Difference] = []
        self.step = 0

    def differences(self) -> list[Difference]:
        """Run all steps; whatever ends the run early is the last difference."""
        try:
            self._all()
        except _Stop:
            pass
        except Declined:
            if not self.found:
                raise
        except PortFault as fault:
            self._fault(fault)
        except Violation as violation:
            self._note("garbage", str(violation))
        except PortError as error:
            self._refused(error, None)
        finally:
            self._tidy()
        return self.found

    def _all(self) -> None:
        first = self.scenario.vocabularies[0]
        if self.runner.vocabulary is not first and self.runner.vocabulary != first:
            self.runner.give(first)
        for number, step in enumerate(self.scenario.steps):
            self.step = number
            if step[0] in ("mask", "advance", "rollback", "close"):
                self._queue(step)
            else:
                self._flush()
                self._now(step)
        self._flush()

    def _now(self, step: Step) -> None:
        """A step whose answer later steps need."""
        match step:
            case ("vocab", number):
                self.sessions.clear()
                self.runner.give(self.scenario.vocabularies[number])
            case ("compile", number):
                self.runner.compile(self.scenario.grammars[number])
            case ("forget", number):
                handle = self.runner.grammars.pop(self.scenario.grammars[number], None)
                if handle is not None:
                    self.port.request("close", grammar=handle)
            case ("open", slot, number) if slot not in self.sessions:
                self.sessions[slot] = self._opened(self.scenario.grammars[number])
            case ("fork", slot, copy) if slot in self.sessions and copy not in self.sessions:
                answer = self._forked(slot)
                self.sessions[copy] = self.sessions[slot].copy(integer_of(answer, "session"))

    def _forked(self, slot: int) -> dict[str, Any]:
        try:
            return self.port.request("fork", session=self.sessions[slot].handle)
        except PortError as error:
            if error.kind in ("refused", "unsupported"):
                raise Declined(f"fork: {error}") from error
            raise

    def _opened(self, grammar: Grammar) -> _Session:
        handle = self.runner.grammars.get(grammar)
        if handle is None:
            handle = self.runner.compile(grammar)
        try:
            answer = self.port.request("open", grammar=handle)
        except PortError as error:
            if error.kind == "refused" and not self.runner.has_begun(grammar):
                raise Declined(f"open: {error}") from error
            raise
        return _Session(self.runner.exact(grammar), integer_of(answer, "session"), [0])

    def _queue(self, step: Step) -> None:
        """A step whose answer nobody needs yet: the model moves on as the engine should."""
        op, slot, *rest = step
        session = self.sessions.get(slot)
        if session is None or (op == "rollback" and not 0 < rest[0] <= len(session.tokens)):
            return
        state, path = session.states[-1], tuple(session.tokens)
        fields: dict[str, Any] = {"session": session.handle}
        target = DEAD
        if op == "advance":
            fields["token"] = rest[0]
            target = session.truth.after(state, rest[0])
            if target != DEAD:
                session.states.append(target)
                session.tokens.append(rest[0])
        elif op == "rollback":
            fields["count"] = rest[0]
            del session.states[-rest[0] :], session.tokens[-rest[0] :]
        elif op == "close":
            del self.sessions[slot]
        self.waiting.append(_Asked(self.step, (op, fields), session, state, path, target))
        if len(self.waiting) >= BATCH:
            self._flush()

    def _flush(self) -> None:
        asked, self.waiting = self.waiting, []
        if not asked:
            return
        try:
            answers = self.port.batch([one.request for one in asked])
        except PortFault as fault:
            for one, answer in zip(asked, fault.answered, strict=False):
                self._judge(one, answer)
            self._fault(fault, asked[len(fault.answered)] if len(fault.answered) < len(asked) else None)
            raise _Stop from fault
        for one, answer in zip(asked, answers, strict=True):
            self._judge(one, answer)

    def _judge(self, asked: _Asked, answer: dict[str, Any] | PortError) -> None:
        op = asked.request[0]
        if isinstance(answer, PortError) and answer.kind == "refused" and self._is_untouched(asked):
            raise Declined(f"{op}: {answer}")
        if op == "advance":
            self._judge_advance(asked, answer)
        elif isinstance(answer, PortError):
            self._refused(answer, asked)
            raise _Stop
        elif op == "mask":
            try:
                self._judge_mask(asked, answer)
            except Violation as violation:
                self._note("garbage", f"mask: {violation}", asked)

    def _is_untouched(self, asked: _Asked) -> bool:
        """Whether a refusal is none too late: no token was taken, or the output has ended."""
        grammar = asked.session.truth.grammar
        if asked.state == DONE:
            return True
        if not asked.path:
            self.runner.refuse(grammar)
        return self.runner.is_refused(grammar)

    def _judge_mask(self, asked: _Asked, answer: dict[str, Any]) -> None:
        truth, tally = asked.session.truth, self.runner.tally
        size = len(truth.vocabulary)
        actual, complete = mask_of(answer, size), flag_of(answer, "complete")
        self.runner.begin(truth.grammar)
        tally.masks += 1
        tally.bits += size
        wrong = wrong_tokens(truth, asked.state, actual)
        if wrong and truth.policy.forced_first_token and is_forced_first(truth, asked.state, actual):
            tally.withheld += count(truth.mask(asked.state)) - 1
            tally.withheld_masks += 1
            wrong = {}
        told = {"actual": actual, "expected": truth.mask(asked.state)}
        for kind, tokens in wrong.items():
            message = f"{len(tokens)} of {size} mask bits differ"
            self._note(kind, message, asked, wrong=tuple(tokens[:64].tolist()), **told)
        whole = truth.is_complete(asked.state)
        if complete != whole and asked.state >= 0 and not {"eos_early", "eos_missing"} & wrong.keys():
            kind = "eos_early" if complete else "eos_missing"
            message = (
                f"'complete' is {str(complete).lower()}, the output is {'whole' if whole else 'not whole'}"
            )
            self._note(kind, message, asked, complete=(complete, whole), **told)

    def _judge_advance(self, asked: _Asked, answer: dict[str, Any] | PortError) -> None:
        token, allowed = asked.request[1]["token"], asked.target != DEAD
        self.runner.tally.advances += allowed
        self.runner.tally.refusals += not allowed
        if isinstance(answer, PortError):
            if answer.kind == "internal":
                self._note("crash", f"advance by {token}: {self._said(answer)}", asked, token=token)
                raise _Stop
            if answer.kind == "unsupported" and self._is_untouched(asked):
                raise Declined(f"advance by {token}: {answer}")
            if not allowed:
                return
        elif allowed:
            return
        verb = "refused, the exact mask allows it" if allowed else "taken, the exact mask forbids it"
        self._note("advance_disagrees", f"token {token} was {verb}", asked, token=token)
        raise _Stop

    def _note(self, kind: str, message: str, asked: _Asked | None = None, **told: Any) -> None:
        difference = Difference(self.step, kind, message, **told, log=self.port.log)
        if asked is not None:
            truth = asked.session.truth
            difference = replace(
                difference,
                step=asked.step,
                op=asked.request[0],
                grammar=truth.grammar,
                vocabulary=truth.vocabulary,
                path=asked.path,
            )
        self.found.append(difference)

    def _fault(self, fault: PortFault, asked: _Asked | None = None) -> None:
        told = {"token": asked.request[1]["token"]} if asked and asked.request[0] == "advance" else {}
        self._note(fault.kind, fault.message, asked, **told)
        self.found[-1] = replace(self.found[-1], log=fault.stderr)

    def _refused(self, error: PortError, asked: _Asked | None) -> None:
        """An error where none was due: honest when the port does not do it, a fault when it did so before."""
        if asked and asked.request[0] == "rollback" and error.kind in ("refused", "unsupported"):
            raise Declined(f"rollback: {error}")
        op, kind = f"{asked.request[0]}: " if asked else "", error_kind(error)
        if asked and asked.request[0] == "mask" and asked.path and error.kind in ("refused", "unsupported"):
            kind = "eos_missing" if asked.session.truth.is_complete(asked.state) else "stuck"
        self._note(kind, op + self._said(error), asked)

    def _said(self, error: PortError) -> str:
        return f"the port answered {error.kind}: {error.message}"

    def _tidy(self) -> None:
        """Close what the scenario left open, as long as the child lives."""
        left = [session.handle for session in self.sessions.values()]
        if self.port.alive and left:
            with contextlib.suppress(PortFault):
                self.port.batch([("close", {"session": handle}) for handle in left])
