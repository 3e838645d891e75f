"""Texts that the engine itself leads to: whatever it lets be written to the end must parse and validate.

This asks nothing of how an engine spells JSON, so it holds for every policy: tokens are drawn from the engine's own
masks, short ways out preferred, and a text that ends is given to a JSON reader and to `jsonschema`. A walk that gets
nowhere judges nothing, unless every byte has a token: then the engine led into a dead end.
"""

import json
import random
import time
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import InvalidOperation, localcontext
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError, ValidationError

from engine.audit.exact import ids
from engine.audit.findings import Subject, source, text_case
from engine.audit.instances import WIDEST, Instance, Scribe, exact_value
from engine.audit.plan import Case
from engine.audit.problems import Declined, problem_of
from engine.audit.reductions import reductions
from engine.audit.runner import Runner
from engine.audit.scenario import Grammar
from engine.audit.smallest import SHRUNK_A_KIND, compact, keeps_types, quick, smaller_texts, smallest
from engine.audit.vocabularies import has_every_byte
from engine.audit.writing import Stuck, ask_mask, open_session, tokenizer, write_text
from engine.host import PortFault
from engine.protocol import PortError, Violation
from engine.results import Record
from reference.vocabulary import Vocabulary

WALKS = 6
METHOD = "texts drawn from the engine's own masks, parsed and validated"
CLOSERS = frozenset(b'"}]')


@dataclass(frozen=True, slots=True)
class Outcome:
    """A text that the engine let be written: whether it ended, and what is wrong with it, of which kind."""

    tokens: tuple[int, ...]
    text: bytes
    ended: bool
    wrong: str = ""
    keyword: str = ""
    kind: str = ""


class FreeWalker:
    """Draws tokens from an engine's own masks."""

    def __init__(self, runner: Runner, vocabulary: Vocabulary, chance: random.Random) -> None:
        """Short tokens and those that close something get texts to their end: they weigh most."""
        self.runner, self.vocabulary, self.chance = runner, vocabulary, chance
        self.weight, self.is_end = _weights(vocabulary)
        self.is_whole = False

    def walk(self, grammar: int, schema: Any, length: int = 120) -> Outcome:
        """One walk of at most `length` tokens."""
        session = open_session(self.runner, grammar)
        tokens: list[int] = []
        try:
            ended, problem, told = self._drawn(session, tokens, length)
        except Stuck as stuck:
            ended, problem, told = False, "stuck", str(stuck)
        self.runner.port.request("close", session=session)
        eos = self.vocabulary.eos
        text = b"".join(self.vocabulary.tokens[token] or b"" for token in tokens if token not in eos)
        if not ended:
            return Outcome(tuple(tokens), text, ended, told, kind=problem)
        wrong, keyword = fault_of(text, schema)
        kind = ("not_enforced" if keyword else "unsound") if wrong else ""
        return Outcome(tuple(tokens), text, ended, wrong, keyword, kind)

    def _drawn(self, session: int, tokens: list[int], length: int) -> tuple[bool, str, str]:
        """Take tokens until the text ends, nothing is allowed, or they are many; whether it ended, what went wrong."""
        while len(tokens) < length and not (tokens and tokens[-1] in self.vocabulary.eos):
            token = self._next(session, tokens, hurry=len(tokens) > length // 3)
            if token is None:
                return self.is_whole and not self.vocabulary.eos, "", ""
            try:
                self.runner.port.request("advance", session=session, token=token)
            except PortError as error:
                if error.kind not in ("illegal", "refused"):
                    raise
                tokens.append(token)
                return (
                    False,
                    "advance_disagrees",
                    f"token {token} is in the mask, and refused: {error.message}",
                )
            tokens.append(token)
        return bool(tokens) and tokens[-1] in self.vocabulary.eos, "", ""

    def _next(self, session: int, tokens: list[int], *, hurry: bool) -> int | None:
        """A token; None where nothing is allowed, and, in a vocabulary without an end, where the text may end."""
        mask, self.is_whole = ask_mask(self.runner, self.vocabulary, session, tokens)
        allowed = ids(mask, len(self.vocabulary))
        if not (len(allowed) or self.is_whole) and tokens and has_every_byte(self.vocabulary):
            raise Stuck(f"nothing is allowed after {len(tokens)} tokens, and the output is not whole")
        ends = allowed[self.is_end[allowed]].tolist()
        if ends and (hurry or self.chance.random() < 0.5):
            return int(self.chance.choice(ends))
        ends_here = self.is_whole and not self.vocabulary.eos and (hurry or self.chance.random() < 0.5)
        if ends_here or not len(allowed):
            return None
        sums = np.cumsum(self.weight[allowed] ** (3 if hurry else 1))
        return int(allowed[np.searchsorted(sums, self.chance.random() * sums[-1], side="right")])


def free_record(runner: Runner, subject: Subject, case: Case, seed: int, many: int = WALKS) -> Record:
    """The verdict on a few walks over one schema."""
    begun = time.perf_counter()
    try:
        if runner.vocabulary is not case.vocabulary:
            runner.give(case.vocabulary)
        handle = runner.compile(case.grammar)
        walker = FreeWalker(runner, case.vocabulary, random.Random(f"{seed} {case.id}"))
        schema = exact_value(case.grammar.source)
        outcomes = [walker.walk(handle, schema) for _ in range(many)]
    except Declined as declined:
        return subject.record(case.id, "free", "refused", message=str(declined))
    except (PortFault, PortError, Violation) as error:
        kind, message = problem_of(runner, error)
        shown = source(case.grammar)
        return subject.record(case.id, "free", "refuted", kind=kind, message=message, witness=shown)
    seconds = time.perf_counter() - begun
    wrong = next((outcome for outcome in outcomes if outcome.wrong), None)
    if wrong is not None:
        return _wrong(runner, subject, case, wrong, seconds)
    ended = sum(outcome.ended for outcome in outcomes)
    domain = {"walks": many, "ended": ended, "seed": str(seed)}
    verdict, message = ("tested", "") if ended else ("skipped", "no walk came to an end: nothing was judged")
    return subject.record(
        case.id, "free", verdict, method=METHOD, domain=domain, seconds=seconds, message=message
    )


def _wrong(runner: Runner, subject: Subject, case: Case, outcome: Outcome, seconds: float) -> Record:
    """The record of a text that went wrong, made small when it is one of the first of its kind."""
    grammar, text = case.grammar, outcome.text.decode("utf-8", "backslashreplace")
    kind = outcome.kind
    shown: dict[str, Any] = {**source(case.grammar), "text": text}
    is_text = text.encode() == outcome.text
    more = {} if is_text else {"hex": outcome.text.hex()}
    if is_text and runner.may_shrink("free", kind, SHRUNK_A_KIND):
        grammar, text = _small(runner, case, outcome, text)
        shown = {**source(grammar), "text": text, "original": shown}
    return subject.record(
        case.id,
        "free",
        "refuted",
        kind=kind,
        method=METHOD,
        message=outcome.wrong,
        seconds=seconds,
        witness={**shown, **more},
        reproduce=text_case(subject, grammar, case.vocabulary, text, kind, **more),
        detail={
            "keyword": outcome.keyword,
            "shrunk": {"from": len(case.grammar.source), "to": len(grammar.source)},
        },
    )


def _small(runner: Runner, case: Case, outcome: Outcome, text: str) -> tuple[Grammar, str]:
    """A smaller schema and text: as a value where one is read and breaks a keyword, else the schema, then the text."""
    schema, scribe, budget = json.loads(case.grammar.source), Scribe(runner, case.vocabulary), quick()
    if outcome.keyword:
        less, value = scribe.made_small(schema, Instance(json.loads(text), valid=False), budget)
        kind, _, spelled = scribe.goes_wrong(less, Instance(value, valid=False))
        if kind == outcome.kind:
            return Grammar("json_schema", compact(less)), spelled

    def is_wrong(pair: tuple[str, str]) -> bool:
        return text_fault(scribe, *pair) == outcome.kind

    def smaller(pair: tuple[str, str]) -> Iterator[tuple[str, str]]:
        sources = reductions("json_schema", pair[0])
        yield from ((source, pair[1]) for source in sources if keeps_types(schema, json.loads(source)))
        yield from ((pair[0], less) for less in smaller_texts(pair[1]))

    source, text = smallest((case.grammar.source, text), smaller, is_wrong, budget)
    return Grammar("json_schema", source), text


def text_fault(scribe: Scribe, source: str, text: str) -> str:
    """The kind of what is wrong with a text written under a schema; nothing when it is not let be written."""
    try:
        schema = json.loads(source)
        Draft202012Validator.check_schema(schema)
        written = write_text(
            scribe.runner, scribe.compiled(schema), tokenizer(scribe.vocabulary)(text.encode())
        )
    except (Declined, PortError, Violation, SchemaError):
        return ""
    except PortFault:
        scribe.runner.restart()
        return ""
    if written.problem or not written.whole:
        return written.problem
    wrong, keyword = fault_of(text.encode(), exact_value(source))
    return ("not_enforced" if keyword else "unsound") if wrong else ""


def fault_of(text: bytes, schema: Any) -> tuple[str, str]:
    """What is wrong with a text under a schema, and the keyword that it breaks; ("", "") when it is valid.

    Both are read by `exact_value`: a number is its value, not the nearest double. One so wide that `multipleOf` has no
    answer in twice WIDEST digits counts as valid.
    """
    try:
        value = exact_value(text)
    except ValueError as error:
        return f"the text does not parse: {error}", ""
    try:
        with localcontext(prec=2 * WIDEST):
            Draft202012Validator(schema).validate(value)
    except InvalidOperation:
        return "", ""
    except ValidationError as error:
        place = "/".join(map(str, error.absolute_path)) or "the root"
        return f"{place} breaks {error.validator!r}: {error.message[:120]}", str(error.validator)
    return "", ""


@lru_cache(maxsize=4)
def _weights(vocabulary: Vocabulary) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_]]:
    """The weight of every token, and whether it is an end."""
    is_end = np.zeros(len(vocabulary), bool)
    is_end[sorted(vocabulary.eos)] = True
    return np.array([_weight(piece) for piece in vocabulary.tokens]), is_end


def _weight(piece: bytes | None) -> float:
    if not piece:
        return 0.2
    return (6.0 if CLOSERS & set(piece) else 1.0) / len(piece)
