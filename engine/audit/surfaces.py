"""The optional surfaces that a port announces: automata, patterns, JSON texts, samples, each held to the reference."""

import math
import random
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Generic, TypeVar

import numpy as np

from engine.audit.findings import Subject, source
from engine.audit.plan import Case, all_grammars
from engine.audit.policies import compiled_plain, json_pattern
from engine.audit.problems import Declined, problem_of
from engine.audit.reductions import reductions
from engine.audit.runner import Runner
from engine.audit.scenario import Grammar
from engine.audit.smallest import SHRUNK_A_KIND, quick, smaller_texts, smallest
from engine.audit.writing import Stuck
from engine.host import PortFault
from engine.protocol import PortError, Violation, integer_of, logits_text, text_of
from engine.results import Record
from fixtures import ROOT
from reference.constraint import Constraint
from reference.errors import JsonTextError, Refused
from reference.jsontext import dumps, loads
from reference.masks import TokenIndex
from reference.pcg32 import Pcg32
from reference.sampling import SamplingParams, constrained_sample

HONEST = ("refused", "unsupported", "invalid")
SLOW = ("hang", "memory")
T = TypeVar("T")
Ask = Callable[[], tuple[str, str]]
"""Asks one question; returns ("", "") when the answer is right, else the kind and what differs."""


@dataclass(frozen=True, slots=True)
class Question(Generic[T]):
    """A question of a surface about a thing, how smaller things come from it, and how it is shown to a person."""

    about: T
    ask: Callable[[T], Ask]
    smaller: Callable[[T], Iterable[T]]
    shown: Callable[[T], dict[str, Any]]


def judge(subject: Subject, case: str, check: str, question: Question[T], runner: Runner) -> Record:
    """One record of one question; what goes wrong is made small, for the first two of a kind."""
    begun = time.perf_counter()
    verdict, kind, message = _answer(question.ask(question.about), runner)
    if verdict != "refuted":
        seconds, method = (
            time.perf_counter() - begun,
            "beside the reference's answer" if verdict == "tested" else "",
        )
        return subject.record(case, check, verdict, message=message, seconds=seconds, method=method)
    small, shown = question.about, question.shown(question.about)
    if kind not in SLOW and runner.may_shrink(check, kind, SHRUNK_A_KIND):
        small = smallest(question.about, question.smaller, _shows(question, kind, runner), quick())
    if small != question.about:
        message = _answer(question.ask(small), runner)[2] or message
        shown = {**question.shown(small), "original": shown}
    seconds = time.perf_counter() - begun
    return subject.record(case, check, "refuted", kind=kind, message=message, seconds=seconds, witness=shown)


def _shows(question: Question[T], kind: str, runner: Runner) -> Callable[[T], bool]:
    return lambda smaller: _answer(question.ask(smaller), runner)[1] == kind


def _answer(ask: Ask, runner: Runner) -> tuple[str, str, str]:
    """Verdict, kind and message of one question; what the reference does not take shows nothing."""
    try:
        kind, message = ask()
    except Declined as declined:
        return "refused", "", str(declined)
    except PortError as error:
        if error.kind in HONEST:
            return "refused", "", str(error)
        kind, message = problem_of(runner, error)
    except (Violation, PortFault) as problem:
        kind, message = problem_of(runner, problem)
    except Refused as refused:
        return "undecided", "", f"the reference does not take it: {refused}"
    return ("refuted" if kind else "tested"), kind, message


def about_case(case: Case, ask: Callable[[Case], Ask]) -> Question[Case]:
    """A question about a grammar over a vocabulary."""
    return Question(case, ask, _smaller_cases, lambda case: dict(source(case.grammar)))


def about_grammar(grammar: Grammar, ask: Callable[[Grammar], Ask]) -> Question[Grammar]:
    """A question about a grammar alone."""
    return Question(grammar, ask, _smaller_grammars, lambda grammar: dict(source(grammar)))


def about_text(text: str, ask: Callable[[str], Ask]) -> Question[str]:
    """A question about a text."""
    return Question(text, ask, smaller_texts, lambda text: {"text": text})


def _smaller_grammars(grammar: Grammar) -> Iterator[Grammar]:
    return (replace(grammar, source=smaller) for smaller in reductions(grammar.kind, grammar.source))


def _smaller_cases(case: Case) -> Iterator[Case]:
    return (replace(case, grammar=smaller) for smaller in _smaller_grammars(case.grammar))


def automata(runner: Runner, subject: Subject) -> Iterator[Record]:
    """The records of the surface `dfa`: every language of the suite and of the audit."""
    hello = runner.port.hello
    for name, grammar in all_grammars() if "dfa" in hello.features else ():
        if grammar.kind in hello.kinds:
            yield judge(subject, name, "dfa", about_grammar(grammar, partial(_dfa, runner)), runner)


def samples(runner: Runner, subject: Subject, cases: list[Case], seed: int) -> Iterator[Record]:
    """The records of the surface `sample`; asked after masks, since a wrong mask draws wrong tokens too."""
    for number, case in enumerate(cases[:8] if "sample" in runner.port.hello.features else ()):
        question = about_case(case, partial(_samples, runner, seed=seed + number))
        yield judge(subject, case.id, "sample", question, runner)


def texts(runner: Runner, subject: Subject) -> Iterator[Record]:
    """The records of the surfaces `pattern` and `dumps`."""
    features = runner.port.hello.features
    for name, grammar in all_grammars():
        if "pattern" in features and grammar.kind == "json_schema":
            yield judge(subject, name, "pattern", about_grammar(grammar, partial(_pattern, runner)), runner)
    for name, text in _texts() if "dumps" in features else ():
        yield judge(subject, f"dumps:{name}", "dumps", about_text(text, partial(_dumps, runner)), runner)


def _dfa(runner: Runner, grammar: Grammar) -> Ask:
    def ask() -> tuple[str, str]:
        answer = runner.port.request("dfa", kind=grammar.kind, source=grammar.source)
        exact = compiled_plain(grammar.kind, grammar.source)
        classes, table = _numbers(answer, "classes"), answer.get("table")
        if len(classes) != 256 or not isinstance(table, list):
            raise Violation("dfa: 'classes' must be 256 numbers and 'table' a list of rows")
        if _numbers(answer, "accept") != np.flatnonzero(exact.accept).tolist():
            return "table_differs", "the accepting states differ"
        if len(table) != exact.n_states:
            return "table_differs", f"{len(table)} states; the canonical automaton has {exact.n_states}"
        if classes != exact.byte_classes().tolist():
            return "table_differs", "the byte classes differ"
        firsts = np.unique(exact.byte_classes(), return_index=True)[1]
        wanted = exact.trans[:, firsts].tolist()
        differs = next((place for place, row in enumerate(wanted) if table[place] != row), None)
        return ("", "") if differs is None else ("table_differs", f"the row of state {differs} differs")

    return ask


def _numbers(answer: dict[str, Any], name: str) -> list[int]:
    value = answer.get(name)
    if not isinstance(value, list) or not all(type(number) is int for number in value):
        raise Violation(f"dfa: {name!r} must be a list of whole numbers")
    return value


def _pattern(runner: Runner, grammar: Grammar) -> Ask:
    def ask() -> tuple[str, str]:
        there = text_of(runner.port.request("pattern", schema=grammar.source), "pattern")
        wanted = json_pattern(grammar.kind, grammar.source)
        if there == wanted:
            return "", ""
        place = _agreed(there, wanted)
        shown = f"{there[place : place + 40]!r}, not {wanted[place : place + 40]!r}"
        return "pattern_differs", f"from character {place} on: {shown}"

    return ask


def _agreed(one: str, other: str) -> int:
    """How many characters two texts begin with together."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((place for place, pair in pairs if pair[0] != pair[1]), min(len(one), len(other)))


def _texts() -> list[tuple[str, str]]:
    """JSON texts, sound and broken."""
    document: Any = loads((ROOT / "texts.json").read_text(encoding="utf-8"))
    sound = [(entry["id"], entry["text"]) for entry in document["dumps"]]
    broken = [
        "",
        "nul",
        "[1,]",
        '{"a":1,}',
        "01",
        "1.",
        ".5",
        "+1",
        "NaN",
        "Infinity",
        "1e999",
        '"\t"',
        '"\\x"',
    ]
    broken += ['"\\ud800"', "\ufeff1", "1 2", "[" * 600 + "]" * 600, "'a'", '{"a" 1}', "[1", '"a']
    return sound + [(f"broken-{number}", text) for number, text in enumerate(broken)]


def _dumps(runner: Runner, text: str) -> Ask:
    def ask() -> tuple[str, str]:
        try:
            wanted: str | None = dumps(loads(text))
        except (JsonTextError, Refused):
            wanted = None
        try:
            there = text_of(runner.port.request("dumps", text=text), "text")
        except PortError as error:
            if wanted is None and error.kind == "invalid":
                return "", ""
            if error.kind in HONEST:
                return "text_differs", f"refused a JSON text: {error.message}"
            raise
        if wanted is None:
            return "not_refused", f"took {text[:40]!r}, which is no JSON"
        return ("", "") if there == wanted else ("text_differs", f"{there[:60]!r}, not {wanted[:60]!r}")

    return ask


PARAMETERS: tuple[dict[str, Any], ...] = (
    {"temperature": 0.0},
    {"temperature": 1.0},
    {"temperature": 0.7, "top_k": 5},
    {"temperature": 1.3, "top_p": 0.8},
    {"temperature": 1.0, "min_p": 0.1},
    {"temperature": 0.9, "top_k": 20, "top_p": 0.95, "min_p": 0.02},
    {"temperature": 1.0, "repetition_penalty": 1.3},
    {"temperature": 1.0, "presence_penalty": 0.8, "frequency_penalty": 0.4},
    {"temperature": 0.0, "repetition_penalty": 2.0, "frequency_penalty": 1.0},
)


def _samples(runner: Runner, case: Case, *, seed: int) -> Ask:
    """A few draws in a row with every set of parameters: token, logprob and generator after each."""

    def ask() -> tuple[str, str]:
        if runner.vocabulary != case.vocabulary:
            runner.give(case.vocabulary)
        handle = runner.compile(case.grammar)
        index = TokenIndex(compiled_plain(case.grammar.kind, case.grammar.source), case.vocabulary)
        for number, params in enumerate(PARAMETERS):
            try:
                told = _draws(runner, handle, index, params, random.Random(f"{seed} {number}"))
            except Stuck as stuck:
                return "stuck", f"with {params}: {stuck}"
            if told:
                return "sample_differs", f"with {params}: {told}"
        return "", ""

    return ask


def _draws(
    runner: Runner, handle: int, index: TokenIndex, params: dict[str, Any], chance: random.Random
) -> str:
    session = integer_of(runner.port.request("open", grammar=handle), "session")
    constraint, rng = Constraint(index), Pcg32(chance.getrandbits(32), chance.getrandbits(32))
    prompt, output = [chance.randrange(len(index)) for _ in range(4)], list[int]()
    for _ in range(6):
        if constraint.done or not constraint.mask().any():
            break
        logits = np.array([chance.gauss(0, 3) for _ in range(len(index))], np.float32)
        logits = logits.round() if params["temperature"] == 0 else logits  # ties, of which the lowest id wins
        state = {"state": str(rng.state), "inc": str(rng.inc)}
        asked = {
            "logits": logits_text(logits),
            "params": params,
            "prompt": prompt,
            "output": output,
            "rng": state,
        }
        try:
            answer = runner.port.request("sample", session=session, **asked)
        except PortError as error:
            if error.kind == "refused" and output:
                raise Stuck(f"refused after {len(output)} tokens: {error.message}") from error
            raise
        wanted = constrained_sample(logits, constraint, SamplingParams(**params), prompt, output, rng)
        if told := _same_draw(answer, wanted, rng):
            return told
        output.append(wanted[0])
    runner.port.request("close", session=session)
    return ""


def _same_draw(answer: dict[str, Any], wanted: tuple[int, float], rng: Pcg32) -> str:
    """What differs between a draw and the reference's, nothing when they agree (logprob to 1e-6)."""
    if answer.get("token") != wanted[0]:
        return f"drew token {answer.get('token')!r}, not {wanted[0]}"
    if answer.get("rng") != {"state": str(rng.state), "inc": str(rng.inc)}:
        return f"the generator went to {answer.get('rng')!r}"
    logprob = answer.get("logprob")
    if not isinstance(logprob, int | float) or not math.isclose(
        logprob, wanted[1], rel_tol=1e-6, abs_tol=1e-6
    ):
        return f"logprob {logprob!r}, not {wanted[1]!r}"
    return ""
