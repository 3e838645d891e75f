"""Verification of languages: the obligations in turn, one record each, languages side by side over the cores."""

import shlex
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from multiprocessing import active_children, get_context
from typing import Any

from engine.errors import Refused
from engine.explain import automaton_detail
from engine.obligations import OBLIGATIONS, Obligation, Outcome
from engine.results import Record
from engine.subject import Settings, Subject
from engine.suite import Language, languages
from oracles.errors import OracleError
from oracles.pattern_reader import PatternRefused
from reference.compile import regex_to_dfa
from reference.masks import TokenIndex
from reference.vocabulary import Vocabulary, load_vocabulary

COST_RUNS = 5


@dataclass(frozen=True, slots=True)
class Job:
    """One language to verify over one vocabulary, named so that a worker process can load it by itself."""

    language: Language
    vocabulary: str
    settings: Settings


def verify(
    chosen: Sequence[Language],
    vocabulary: str,
    settings: Settings,
    *,
    workers: int,
    on_records: Callable[[Language, list[Record]], None],
) -> None:
    """Verify each language and hand over its records as soon as they are known, in order of completion."""
    load_vocabulary(vocabulary)  # before the fork: bad input is told at once, and workers share its pages
    jobs = [Job(language, vocabulary, settings) for language in chosen]
    if workers <= 1 or len(jobs) == 1:
        for job in jobs:
            on_records(job.language, list(verify_language(job)))
        return
    others = set(active_children())
    with ProcessPoolExecutor(min(workers, len(jobs)), mp_context=get_context("fork")) as pool:
        running = {pool.submit(_collected, job): job for job in _longest_first(jobs)}
        try:
            for future in as_completed(running):
                on_records(running[future].language, _result(future, running[future]))
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            for worker in set(active_children()) - others:  # else the languages under way would be waited for
                worker.terminate()
            raise


def verify_language(job: Job) -> Iterator[Record]:
    """The records of one language: what its automaton is, what it cost, then each obligation's verdict.

    A language that the reference refuses is bad input; once it has taken the language, whatever breaks is a verdict.
    """
    subject = Subject(job.language, load_vocabulary(job.vocabulary), job.settings)
    yield from _described(job, subject)
    for obligation in OBLIGATIONS:
        if job.language.kind in obligation.kinds:
            yield _judged(job, subject, obligation)


def cost(language: Language, vocabulary: Vocabulary) -> dict[str, float]:
    """Median milliseconds of COST_RUNS: compile, first mask after a compile, the table of all states."""
    compiles, firsts, tables = [], [], []
    for _ in range(COST_RUNS):
        begun = time.perf_counter()
        dfa = regex_to_dfa(language.pattern, language.dialect)
        compiled = time.perf_counter()
        index = TokenIndex(dfa, vocabulary)
        index.bitmask(0)
        masked = time.perf_counter()
        TokenIndex(dfa, vocabulary).bitmask_table()
        compiles.append(compiled - begun)
        firsts.append(masked - compiled)
        tables.append(time.perf_counter() - masked)
    return {
        name: round(1000 * statistics.median(times), 3)
        for name, times in (("compile_ms", compiles), ("first_mask_ms", firsts), ("table_ms", tables))
    }


def _described(job: Job, subject: Subject) -> Iterator[Record]:
    """What the automaton is and what it cost; where the reference breaks on that, the fault beside what is known."""
    language, begun, fault = subject.language, time.perf_counter(), None
    detail: dict[str, Any] = {
        "pattern": language.pattern,
        "source": language.source,
        "kind": language.kind,
        "dialect": language.dialect,
        "why": language.why,
        "vocabulary": subject.vocabulary.name,
        "tokens": len(subject.vocabulary),
    }
    try:
        detail |= automaton_detail(subject.dfa, subject.index)
        detail["cost"] = cost(language, subject.vocabulary)
    except Exception as error:  # seen as a verdict, so that it does not hide the others
        if isinstance(error, Refused) and not subject.is_compiled:
            raise
        fault = _crash(error)
    states = subject.dfa.n_states if subject.is_compiled else 0
    about = Outcome(
        "tested",
        f"compiled, and timed {COST_RUNS} times",
        {"states": states, "tokens": len(subject.vocabulary)},
    )
    yield _record(job, "automaton", about, time.perf_counter() - begun, detail)
    if fault is not None:
        yield _record(job, "answers", fault, 0.0)


def _judged(job: Job, subject: Subject, obligation: Obligation) -> Record:
    begun = time.perf_counter()
    outcome = _outcome(subject, obligation)
    return _record(job, obligation.name, outcome, time.perf_counter() - begun)


def _outcome(subject: Subject, obligation: Obligation) -> Outcome:
    """The judge's outcome; an oracle that declines leaves it undecided, anything else that breaks is a crash."""
    try:
        return obligation.judge(subject)
    except PatternRefused as error:
        message = f"the reference reads the pattern, the oracle's reader does not: {error}"
        return Outcome("refuted", "two readers of one text", message=message, kind="pattern_differs")
    except OracleError as error:
        return Outcome("undecided", "the oracle declined", message=str(error))
    except Exception as error:  # a crash must be seen as one and must not hide the other verdicts
        return _crash(error)


def _crash(error: Exception) -> Outcome:
    return Outcome("refuted", "raised", message=f"{type(error).__name__}: {error}", kind="crash")


def _record(
    job: Job, check: str, outcome: Outcome, seconds: float, detail: dict[str, Any] | None = None
) -> Record:
    return Record(
        command="verify",
        subject="reference",
        case=job.language.id,
        check=check,
        verdict=outcome.verdict,
        kind=outcome.kind,
        method=outcome.method,
        domain=outcome.domain,
        seconds=seconds,
        message=outcome.message,
        witness=outcome.witness,
        reproduce=_reproduce(job) if outcome.verdict == "refuted" else "",
        detail=detail or {},
    )


def _reproduce(job: Job) -> str:
    """One command that shows it again, in a shell that has `<(…)` when the language is a schema of the user's."""
    language = job.language
    if language in languages():
        asked = language.id
    elif language.kind == "schema":
        asked = f"--schema <(printf %s {shlex.quote(language.source)})"
    else:
        asked = f"--pattern {shlex.quote(language.pattern)} --dialect {language.dialect}"
    return f"maskproof verify {asked} --vocab {shlex.quote(job.vocabulary)}"


def _result(future: Future[list[Record]], job: Job) -> list[Record]:
    """The records of a language; a worker that died leaves one that says so, for nothing of it was judged."""
    try:
        return future.result()
    except BrokenProcessPool:
        told = "a worker process died (killed, or out of memory) before this was judged; try --workers 1"
        return [_record(job, "answers", Outcome("refuted", "raised", message=told, kind="crash"), 0.0)]


def _collected(job: Job) -> list[Record]:
    return list(verify_language(job))


def _longest_first(jobs: list[Job]) -> list[Job]:
    return sorted(jobs, key=lambda job: -len(job.language.pattern))


def obligation_names() -> list[str]:
    """The obligations in the order in which they are judged."""
    return [obligation.name for obligation in OBLIGATIONS]


def left_open(records: Sequence[Record]) -> list[str]:
    """The undecided obligations whose claim no other obligation proved for that language: `language · obligation`."""
    claims = {obligation.name: obligation.claim or obligation.name for obligation in OBLIGATIONS}
    proven = {(record.case, claims.get(record.check)) for record in records if record.verdict == "proven"}
    return [
        f"{record.case} · {record.check}"
        for record in records
        if record.verdict == "undecided" and (record.case, claims.get(record.check)) not in proven
    ]


def summary(records: Sequence[Record]) -> dict[str, Any]:
    """Counts by verdict, the size of what the masks were compared on, median costs, and one line that says it."""
    judged = [record for record in records if record.check != "automaton"]
    verdicts = ("proven", "tested", "refuted", "undecided", "skipped")
    counts = {verdict: sum(record.verdict == verdict for record in judged) for verdict in verdicts}
    described = [record for record in records if record.check == "automaton"]
    states = sum(record.domain["states"] for record in described)
    tokens = max((record.domain["tokens"] for record in described), default=0)
    obligations = len({record.check for record in judged})
    said = " · ".join(f"{count} {verdict}" for verdict, count in counts.items() if count)
    cases = len({record.case for record in records})
    line = f"{cases} languages · {obligations} obligations · {said}"
    line += f" · masks: {states:,} states × {tokens:,} tokens = {states * tokens:,} bits"
    costs = [record.detail["cost"] for record in described if "cost" in record.detail]
    medians = {name: statistics.median(cost[name] for cost in costs) for name in costs[0]} if costs else {}
    told = ", ".join(
        f"{name.removesuffix('_ms').replace('_', ' ')} {value:g} ms" for name, value in medians.items()
    )
    return {
        "languages": cases,
        **counts,
        "left_open": left_open(records),
        "states": states,
        "tokens": tokens,
        "line": line,
        "cost": told,
    }
