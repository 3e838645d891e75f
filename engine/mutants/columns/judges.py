"""One oracle each: derivatives, z3, networkx, masks from first principles."""

import json
from collections.abc import Iterator
from typing import Any

import numpy as np

from engine.mutants.columns.shared import Witness, is_accepted, plain
from engine.mutants.questions import LANGUAGES, REFUSED_PATTERNS, SCHEMAS, VOCABULARIES
from oracles import bisimulation, canonical, derivatives, graphs, token_masks, z3_languages, z3_schemas
from reference.charsets import Dialect
from reference.compile import regex_to_dfa
from reference.dfa import Dfa
from reference.lookahead import token_distances
from reference.masks import TokenIndex
from reference.schema import json_object_regex, json_schema_to_regex
from reference.vocabulary import Vocabulary

Z3_MS = 4_000


def derivative() -> Witness:
    """The derivative oracle's canonical automata, and its refusals."""
    for pattern, dialect in _patterns():
        expected = canonical.canonical(*derivatives.automaton(pattern, dialect))
        dfa = regex_to_dfa(pattern, dialect)
        if plain(dfa) != expected:
            witness = bisimulation.difference(*plain(dfa), *expected)
            return f"{pattern!r}: " + (
                f"differs on {witness!r}" if witness is not None else "another table, one language"
            )
    for pattern in REFUSED_PATTERNS:
        if is_accepted(regex_to_dfa, pattern):
            return f"{pattern!r} is accepted"
    return None


def z3() -> Witness:
    """z3: the pattern of a schema is the schema's language, an automaton is its pattern's."""
    for schema in SCHEMAS:
        found = z3_schemas.schema_equals(schema, json_schema_to_regex(schema), timeout_ms=Z3_MS)
        if found.verdict == "differ":
            return f"{json.dumps(schema, ensure_ascii=False)}: differs on {found.witness!r}"
    found = z3_schemas.json_object_equals(2, json_object_regex(2), timeout_ms=Z3_MS)
    if found.verdict == "differ":
        return f"json_object 2: differs on {found.witness!r}"
    for pattern, dialect in LANGUAGES[:17]:
        found = z3_languages.automaton_equals(
            pattern, dialect, *plain(regex_to_dfa(pattern, dialect)), timeout_ms=Z3_MS
        )
        if found.verdict == "differ":
            return f"{pattern!r}: differs on {found.witness!r}"
    return None


def networkx() -> Witness:
    """networkx: nothing idle, no state stuck in silence, token distances as the graph has them."""
    for pattern, dialect in LANGUAGES:
        dfa = regex_to_dfa(pattern, dialect)
        if idle := list(graphs.untrimmed(*plain(dfa))):
            return f"{pattern!r}: idle states {idle[:5]}"
        for name, (tokens, eos) in VOCABULARIES.items():
            told = [
                int(distance) for distance in token_distances(TokenIndex(dfa, Vocabulary(tokens, eos, name)))
            ]
            expected = graphs.distances(*plain(dfa), tokens, eos)
            if told != expected:
                return f"{pattern!r} over {name}: token distances {told}"
    return None


def first_principles() -> Witness:
    """Every state × every token of small vocabularies, on the derivative automaton; all forms of a mask agree."""
    for pattern, dialect in LANGUAGES:
        dfa, (accept, table) = regex_to_dfa(pattern, dialect), derivatives.automaton(pattern, dialect)
        for name, (tokens, eos) in VOCABULARIES.items():
            if len(tokens) > 1000 and dfa.n_states > 2:
                continue  # thousands of tokens are for states that allow thousands
            index = TokenIndex(dfa, Vocabulary(tokens, eos, name))
            rows, pairs = list(token_masks.mask_rows(accept, table, tokens, eos)), _pairs(dfa, table)
            for state, judge in pairs.items():
                if told := _mask_differs(index, state, rows[judge]):
                    return f"{pattern!r} over {name}, state {state}: {told}"
    return None


def _patterns() -> Iterator[tuple[str, Dialect]]:
    yield from LANGUAGES
    for schema in SCHEMAS:
        yield json_schema_to_regex(schema), "bytes"


def _pairs(dfa: Dfa, table: list[list[int]]) -> dict[int, int]:
    """Which state of the oracle's automaton each of the reference's corresponds to, by walking both."""
    pairs, pending = {0: 0}, [0]
    while pending:
        state = pending.pop()
        for byte in range(256):
            target = int(dfa.trans[state, byte])
            if target >= 0 and target not in pairs and table[pairs[state]][byte] >= 0:
                pairs[target] = table[pairs[state]][byte]
                pending.append(target)
    return pairs


def _mask_differs(index: TokenIndex, state: int, exact: Any) -> Witness:
    wrong = np.flatnonzero(index.mask(state) != exact)
    if wrong.size:
        return f"token {int(wrong[0])} is {'forbidden' if exact[wrong[0]] else 'allowed'}"
    if not np.array_equal(index.table()[state], exact):
        return "the row of the table is another"
    words = index.bitmask(state)
    if [token for token in range(32 * len(words)) if int(words[token // 32]) >> token % 32 & 1] != list(
        np.flatnonzero(exact)
    ):
        return "the packed row is another"
    for token in range(0, len(exact), 1 + len(exact) // 300):
        if is_accepted(index.next_state, state, token) != bool(exact[token]):
            return f"next_state and the mask disagree on token {token}"
    return None
