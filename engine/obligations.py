"""What must be true of a language under proof, and which oracle says so.

An obligation is one entry of OBLIGATIONS: a name, the languages it concerns, and a function from a Subject to an
Outcome. Nothing here computes an expected value: the reference answers, an oracle judges, plain data crosses.
The pitfall is a verdict that says more than was done: `proven` stands only where the whole domain was covered.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from engine.results import Verdict
from engine.samples import members, shortest_paths, token_pairs
from engine.subject import Subject
from engine.suite import Kind
from oracles import (
    bisimulation,
    certificates,
    check_certificate,
    graphs,
    instances,
    token_masks,
    z3_languages,
    z3_schemas,
)
from reference.automata import DEAD
from reference.errors import MaskError
from reference.jsontext import loads
from reference.masks import TokenIndex

EQUIVALENT = "the automaton is the pattern's"
EVERY_PAIR = 20_000
MOST_BOOLS = 1 << 28
ALL_KINDS: tuple[Kind, ...] = ("schema", "json_object", "pattern")
JSON_KINDS: tuple[Kind, ...] = ("schema", "json_object")


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one obligation came to, by which method, over which domain."""

    verdict: Verdict
    method: str
    domain: dict[str, Any] = field(default_factory=dict)
    message: str = ""
    witness: dict[str, Any] = field(default_factory=dict)
    kind: str = ""


@dataclass(frozen=True, slots=True)
class Obligation:
    """What must be true of the languages of these kinds, and who judges it; some prove one claim in several ways."""

    name: str
    judge: Callable[[Subject], Outcome]
    kinds: tuple[Kind, ...] = ALL_KINDS
    claim: str = ""


def parse_agrees(subject: Subject) -> Outcome:
    """Two readers of one pattern text, the reference's and the derivative oracle's, read the same language."""
    method = "union-find bisimulation with the derivative automaton of another reader"
    domain = {"states": subject.dfa.n_states, "oracle_states": len(subject.judge[1])}
    return _told(method, domain, bisimulation.difference(*subject.claim, *subject.judge), "table_differs")


def equivalent_by_certificate(subject: Subject) -> Outcome:
    """Every state is a derivative of the pattern, every edge one derivative step: a certificate, checked alone."""
    language, (accept, table) = subject.language, subject.claim
    certificate = certificates.make_certificate(language.pattern, language.dialect, accept, table)
    claim = certificate["claim"]
    problems = check_certificate.check(certificate)
    asked = (language.pattern, language.dialect, accept, table)
    whole = [[row[number] for number in claim["classes"]] for row in claim["table"]]
    if (claim["pattern"], claim["dialect"], claim["accept"], whole) != asked:
        problems.append("the certificate claims something else than was asked")
    domain = {"states": len(table), "edges": len(table) * 256}
    return _listed("certificate read by the stand-alone checker", domain, problems, "table_differs")


def equivalent_by_z3(subject: Subject) -> Outcome:
    """No byte string of any length is in the pattern's language and not in the automaton's, or the reverse."""
    language, (accept, table) = subject.language, subject.claim
    found = z3_languages.automaton_equals(
        language.pattern, language.dialect, accept, table, timeout_ms=subject.settings.z3_timeout_ms
    )
    return _solved(found, "table_differs")


def schema_exact(subject: Subject) -> Outcome:
    """The pattern is the schema's language exactly, by a translation that goes from the schema straight to z3."""
    language, limit = subject.language, subject.settings.z3_timeout_ms
    if language.kind == "json_object":
        found = z3_schemas.json_object_equals(int(language.source), language.pattern, timeout_ms=limit)
    else:
        found = z3_schemas.schema_equals(loads(language.source), language.pattern, timeout_ms=limit)
    return _solved(found, "pattern_differs")


def trimmed(subject: Subject) -> Outcome:
    """Every state can be reached, and from every state acceptance can be reached."""
    idle = graphs.untrimmed(*subject.claim)
    return _listed("networkx reachability", {"states": subject.dfa.n_states}, _states(idle), "table_differs")


def minimal(subject: Subject) -> Outcome:
    """No automaton of the language has fewer states than the reference's."""
    states, least = subject.dfa.n_states, len(subject.judge_canonical[1])
    problems = [] if states == least else [f"{states} states where {least} are enough"]
    domain = {"states": states, "pairs": states * (states - 1) // 2}
    return _listed("the oracle's own partition refinement", domain, problems, "table_differs")


def canonical(subject: Subject) -> Outcome:
    """The table is, entry for entry, the one that the oracle numbers by itself."""
    (accept, table), (wanted_accept, wanted) = subject.claim, subject.judge_canonical
    problems = [] if accept == wanted_accept else [f"accepting {accept} where {wanted_accept} is canonical"]
    problems += [
        f"row {state} differs"
        for state, pair in enumerate(zip(table, wanted, strict=False))
        if pair[0] != pair[1]
    ]
    domain = {"states": len(table), "entries": len(table) * 256}
    return _listed("entry by entry with the oracle's canonical table", domain, problems, "table_differs")


def masks_exact(subject: Subject) -> Outcome:
    """Token t is allowed in state s exactly when the output can still be finished after it, for all s and t."""
    tokens, eos = subject.vocabulary.tokens, subject.vocabulary.eos
    accept, table = subject.judge_canonical
    domain = {"states": len(table), "tokens": len(tokens), "pairs": len(table) * len(tokens)}
    method = "first principles on the derivative automaton, every state × every token"
    for state, exact in enumerate(token_masks.mask_rows(accept, table, tokens, eos)):
        wrong = np.flatnonzero(subject.index.mask(state) != exact)
        if wrong.size:
            missing = bool(exact[wrong[0]])
            kind, told = ("incomplete", "is forbidden") if missing else ("unsound", "is allowed")
            outcome = Outcome("refuted", method, domain, kind=kind)
            return _wrong_token(subject, state, int(wrong[0]), told, outcome)
    return Outcome("proven", method, domain)


def next_states_exact(subject: Subject) -> Outcome:
    """The state after a token is the one that its bytes lead to on the oracle's table; no other token is taken.

    All pairs where there are at most EVERY_PAIR, which is proven; else those at sampled states, which is tested.
    """
    (accept, table), tokens, eos = subject.judge_canonical, subject.vocabulary.tokens, subject.vocabulary.eos
    pairs, seeded = _token_pairs(subject, len(table))
    domain = {"states": len(table), "tokens": len(tokens), "pairs": len(pairs), **seeded}
    accepting, method = frozenset(accept), "the token's bytes walked on the derivative automaton"
    for state, token in pairs:
        due = token_masks.next_state(accepting, table, state, token, tokens, eos)
        if (found := _next_state(subject.index, state, token)) != due:
            told = f"leads to {_state(found)}, where {_state(due)} is right"
            outcome = Outcome("refuted", method, domain, kind="advance_disagrees")
            return _wrong_token(subject, state, token, told, outcome)
    return Outcome("tested" if seeded else "proven", method, domain)


def bitmask_is_mask(subject: Subject) -> Outcome:
    """Bit t % 32 of word t // 32 is token t's mask, bits past the last token are 0, and both tables have these rows.

    The table of bool rows is asked for where it has at most MOST_BOOLS entries; `table` counts the rows held to it.
    """
    size, states = len(subject.vocabulary), subject.dfa.n_states
    index = TokenIndex(subject.dfa, subject.vocabulary)
    table, bools = index.bitmask_table(), index.table() if states * size <= MOST_BOOLS else None
    domain = {
        "states": states,
        "tokens": size,
        "pairs": states * size,
        "table": 0 if bools is None else states,
    }
    method = (
        "words taken apart bit by bit, every state × every token; each row again in the tables of all states"
    )
    if bools is not None and (bools.dtype != np.bool_ or bools.shape != (states, size)):
        problem = f"a table of {bools.dtype} of shape {bools.shape} for {states} states, {size} tokens"
        return _listed(method, domain, [problem], "table_differs")
    problems = [] if len(table) == states else [f"a table of {len(table)} rows for {states} states"]
    for state, row in enumerate(table[:states]):
        words = subject.index.bitmask(state)
        if words.dtype != np.uint32 or words.shape != (-(-size // 32),):
            problems.append(f"state {state}: {words.dtype} of shape {words.shape} for {size} tokens")
        elif _bits(words)[size:].any() or not np.array_equal(_bits(words)[:size], subject.index.mask(state)):
            problems.append(f"state {state}: bits and mask differ")
        if row.dtype != words.dtype or not np.array_equal(row, words):
            problems.append(f"state {state}: the table's row and the state's bits differ")
        if bools is not None and not np.array_equal(bools[state], subject.index.mask(state)):
            problems.append(f"state {state}: the bool table's row and the state's mask differ")
    return _listed(method, domain, problems, "table_differs")


def never_stuck(subject: Subject) -> Outcome:
    """From every state that tokens can reach, this vocabulary can finish the output."""
    accept, table = subject.claim
    ends = graphs.dead_ends(accept, table, subject.vocabulary.tokens, subject.vocabulary.eos)
    domain = {"states": len(table), "tokens": len(subject.vocabulary)}
    reached = [end for end in ends if end.path is not None]
    return _listed("networkx over the token graph", domain, _states(reached), "stuck")


def instances_agree(subject: Subject) -> Outcome:
    """Sampled members parse and validate; sampled valid instances, written compactly, are members."""
    language, settings = subject.language, subject.settings
    texts = list(members(subject.dfa, settings.samples, settings.seed))
    if language.kind == "json_object":
        depth, valid = int(language.source), list[bytes]()
        problems = [
            f"{text!r}: {told}" for text in texts if (told := instances.check_object_text(depth, text))
        ]
    else:
        schema = loads(language.source)
        valid = instances.valid_instances(schema, settings.samples, settings.seed)
        problems = [f"{text!r}: {told}" for text in texts if (told := instances.check_text(schema, text))]
        problems += [f"{text!r} is valid and not a member" for text in valid if not subject.dfa.matches(text)]
    domain = {"members": len(texts), "instances": len(valid), "seed": str(settings.seed)}
    outcome = _listed("json.loads and jsonschema", domain, problems, "incomplete")
    return outcome if problems else Outcome("tested", outcome.method, domain)


OBLIGATIONS: tuple[Obligation, ...] = (
    Obligation("parse-agrees", parse_agrees, claim=EQUIVALENT),
    Obligation("equivalent (certificate)", equivalent_by_certificate, claim=EQUIVALENT),
    Obligation("equivalent (z3)", equivalent_by_z3, claim=EQUIVALENT),
    Obligation("schema-exact (z3)", schema_exact, JSON_KINDS),
    Obligation("trimmed", trimmed),
    Obligation("minimal", minimal),
    Obligation("canonical", canonical),
    Obligation("masks-exact", masks_exact),
    Obligation("next-state", next_states_exact),
    Obligation("bitmask = mask", bitmask_is_mask),
    Obligation("never stuck", never_stuck),
    Obligation("instances", instances_agree, JSON_KINDS),
)


def _told(method: str, domain: dict[str, Any], witness: bytes | None, kind: str) -> Outcome:
    if witness is None:
        return Outcome("proven", method, domain)
    message = f"the two differ on {witness!r}"
    return Outcome("refuted", method, domain, message, {"hex": witness.hex()}, kind)


def _listed(method: str, domain: dict[str, Any], problems: list[str], kind: str) -> Outcome:
    if not problems:
        return Outcome("proven", method, domain)
    return Outcome("refuted", method, domain, "; ".join(problems[:3]), {"problems": problems[:20]}, kind)


def _solved(found: z3_languages.Outcome, kind: str) -> Outcome:
    domain = {"strings": "all", "queries": found.queries}
    if found.verdict == "differ":
        return _told(found.method, domain, found.witness or b"", kind)
    verdict: Verdict = "proven" if found.verdict == "equal" else "undecided"
    return Outcome(verdict, found.method, domain, found.note)


def _states(states: Iterable[object]) -> list[str]:
    return [f"state {state}" for state in states]


def _bits(words: np.ndarray[Any, np.dtype[np.uint32]]) -> np.ndarray[Any, np.dtype[np.bool_]]:
    shifts = np.arange(32, dtype=np.uint32)
    return ((words[:, None] >> shifts) & np.uint32(1)).astype(bool).ravel()


def _token_pairs(subject: Subject, states: int) -> tuple[list[tuple[int, int]], dict[str, str]]:
    """Every (state, token) where they are few, else a sample and its seed."""
    size, settings = len(subject.vocabulary), subject.settings
    if states * size <= EVERY_PAIR:
        return [(state, token) for state in range(states) for token in range(size)], {}
    pairs = token_pairs(subject.index, settings.samples, settings.seed)
    return list(pairs), {"seed": str(settings.seed)}


def _next_state(index: TokenIndex, state: int, token: int) -> int:
    """The reference's next state, DEAD where it refuses the token."""
    try:
        return index.next_state(state, token)
    except MaskError:
        return DEAD


def _state(state: int) -> str:
    return "a refusal" if state == DEAD else f"state {state}"


def _wrong_token(subject: Subject, state: int, token: int, told: str, outcome: Outcome) -> Outcome:
    """The outcome with what is wrong of a token, and a shortest path to the state where it is."""
    data, path = subject.vocabulary.tokens[token], shortest_paths(subject.dfa)[state]
    shown = {"id": token} | ({} if data is None else {"hex": data.hex()})
    message = f"after {path!r}, token {token} {data!r} {told}"
    return replace(outcome, message=message, witness={"hex": path.hex(), "token": shown})
