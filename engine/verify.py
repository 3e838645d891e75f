"""Verification of languages: the obligations in turn, one record each, languages side by side over the cores."""

import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from multiprocessing import get_context
from typing import Any

from engine.errors import Refused
from engine.explain import automaton_detail
from engine.obligations import OBLIGATIONS, Obligation, Outcome
from engine.results import Record
from engine.subject import Settings, Subject
from engine.suite import Language
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
    languages: Sequence[Language],
    vocabulary: str,
    settings: Settings,
    *,
    workers: int,
    on_records: Callable[[Language, list[Record]], None],
) -> None:
    """Verify each language and hand over its records as soon as they are known, in order of completion."""
    load_vocabulary(
        vocabulary
    )  # loaded before the fork: bad input is told at once, and workers share its pages
    jobs = [Job(language, vocabulary, settings) for language in languages]
    if workers <= 1 or len(jobs) == 1:
        for job in jobs:
            on_records(job.language, list(verify_language(job)))
        return
    with ProcessPoolExecutor(workers, mp_context=get_context("fork")) as pool:
        running = {pool.submit(_collected, job): job.language for job in _longest_first(jobs)}
        try:
            for future in as_completed(running):
                on_records(running[future], future.result())
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def verify_language(job: Job) -> Iterator[Record]:
    """The records of one language: what its automaton is, what it cost, then each obligation's verdict."""
    subject = Subject(job.language, load_vocabulary(job.vocabulary), job.settings)
    yield _described(subject)
    for obligation in OBLIGATIONS:
        if job.language.kind in obligation.kinds:
            yield _judged(subject, obligation)


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


def _described(subject: Subject) -> Record:
    language, begun = subject.language, time.perf_counter()
    detail: dict[str, Any] = {
        "pattern": language.pattern,
        "source": language.source,
        "kind": language.kind,
        "dialect": language.dialect,
        "why": language.why,
        "vocabulary": subject.vocabulary.name,
        "tokens": len(subject.vocabulary),
    }
    detail |= automaton_detail(subject.dfa, subject.index)
    detail["cost"] = cost(language, subject.vocabulary)
    return Record(
        command="verify",
        subject="reference",
        case=language.id,
        check="automaton",
        verdict="tested",
        method=f"compiled, and timed {COST_RUNS} times",
        domain={"states": subject.dfa.n_states, "tokens": len(subject.vocabulary)},
        seconds=time.perf_counter() - begun,
        detail=detail,
    )


def _judged(subject: Subject, obligation: Obligation) -> Record:
    begun = time.perf_counter()
    outcome = _outcome(subject, obligation)
    return Record(
        command="verify",
        subject="reference",
        case=subject.language.id,
        check=obligation.name,
        verdict=outcome.verdict,
        kind=outcome.kind,
        method=outcome.method,
        domain=outcome.domain,
        seconds=time.perf_counter() - begun,
        message=outcome.message,
        witness=outcome.witness,
        reproduce=_reproduce(subject) if outcome.verdict == "refuted" else "",
    )


def _outcome(subject: Subject, obligation: Obligation) -> Outcome:
    """The judge's outcome; an oracle that declines leaves it undecided, anything else that breaks is a crash."""
    try:
        return obligation.judge(subject)
    except Refused:
        raise
    except PatternRefused as error:
        message = f"the reference reads the pattern, the oracle's reader does not: {error}"
        return Outcome("refuted", "two readers of one text", message=message, kind="pattern_differs")
    except OracleError as error:
        return Outcome("undecided", "the oracle declined", message=str(error))
    except Exception as error:  # a crash must be seen as one and must not hide the other verdicts
        return Outcome("refuted", "raised", message=f"{type(error).__name__}: {error}", kind="crash")


def _reproduce(subject: Subject) -> str:
    return f"maskproof verify {subject.language.id} --vocab {subject.vocabulary.name}"


def _collected(job: Job) -> list[Record]:
    return list(verify_language(job))


def _longest_first(jobs: list[Job]) -> list[Job]:
    return sorted(jobs, key=lambda job: -len(job.language.pattern))


def obligation_names() -> list[str]:
    """The obligations in the order in which they are judged."""
    return [obligation.name for obligation in OBLIGATIONS]


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
    line = f"{len(described)} languages · {obligations} obligations · {said}"
    line += f" · masks: {states:,} states × {tokens:,} tokens = {states * tokens:,} bits"
    costs = [record.detail["cost"] for record in described]
    medians = {name: statistics.median(cost[name] for cost in costs) for name in costs[0]} if costs else {}
    told = ", ".join(
        f"{name.removesuffix('_ms').replace('_', ' ')} {value:g} ms" for name, value in medians.items()
    )
    return {
        "languages": len(described),
        **counts,
        "states": states,
        "tokens": tokens,
        "line": line,
        "cost": told,
    }
