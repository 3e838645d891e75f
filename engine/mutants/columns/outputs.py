"""Whole outputs: constrained walks end, parse and validate; valid instances are members."""

import json
import math
from typing import Any

import numpy as np

from engine.mutants.columns.shared import Witness, is_accepted
from engine.mutants.questions import REFUSED_SCHEMAS, SCHEMAS
from engine.samples import members
from oracles import instances
from reference.compile import regex_to_dfa
from reference.constraint import Constraint
from reference.lookahead import token_distances
from reference.masks import TokenIndex
from reference.pcg32 import Pcg32
from reference.sampling import SamplingParams, constrained_sample
from reference.schema import json_schema_to_regex
from reference.vocabulary import Vocabulary, load_vocabulary


def walks() -> Witness:
    """Constrained outputs under logits that prefer what is forbidden: they end, parse, validate, and stop at EOS."""
    vocabulary, rng = load_vocabulary("toy"), Pcg32(3, 5)
    for number, schema in enumerate(SCHEMAS):
        index = TokenIndex(regex_to_dfa(json_schema_to_regex(schema)), vocabulary)
        for budget in (None, int(token_distances(index)[0]) + 5):
            told = _walk(index, schema, vocabulary, rng, number, budget)
            if told:
                return f"{json.dumps(schema, ensure_ascii=False)}: {told}"
    return None


def instances_column() -> Witness:
    """Valid instances are members, sampled members parse and validate, schemas outside the subset are refused."""
    for schema in SCHEMAS:
        dfa = regex_to_dfa(json_schema_to_regex(schema))
        for text in instances.valid_instances(schema, 40, 3):
            if not dfa.matches(text):
                return f"{json.dumps(schema)}: {text!r} is valid and not a member"
        for text in members(dfa, 40, 3):
            if told := instances.check_text(schema, text):
                return f"{json.dumps(schema)}: {text!r}: {told}"
    for schema in REFUSED_SCHEMAS:
        if is_accepted(json_schema_to_regex, schema):
            return f"{json.dumps(schema)} is accepted"
    return None


def _walk(
    index: TokenIndex, schema: Any, vocabulary: Vocabulary, rng: Pcg32, number: int, budget: int | None
) -> Witness:
    constraint, text = Constraint(index, budget=budget), b""
    taken: list[int] = []
    generator = np.random.default_rng(number)
    while not constraint.done and len(taken) < 400:
        logits = generator.normal(size=len(vocabulary)).astype(np.float32)
        logits[~constraint.mask()] += 50
        if budget is not None:
            logits[list(vocabulary.eos)] -= 60
        elif len(taken) > 25:
            logits[list(vocabulary.eos)] += 40
            logits[_leads_out(index, constraint)] += 20
        token, logprob = constrained_sample(logits, constraint, SamplingParams(), [], taken, rng)
        if not logprob <= 0 or math.isnan(logprob):
            return f"logprob {logprob}"
        taken.append(token)
        text += b"" if token in vocabulary.eos else vocabulary.tokens[token] or b""
    if budget is not None and len(taken) > budget:
        return f"{len(taken)} tokens on a budget of {budget}"
    if not constraint.done or not constraint.is_complete():
        return f"no end after {len(taken)} tokens: {text!r}"
    if constraint.mask().any():
        return "tokens are allowed after EOS"
    return instances.check_text(schema, text)


def _leads_out(index: TokenIndex, constraint: Constraint) -> list[int]:
    """The allowed tokens after which acceptance is nearest."""
    distances = token_distances(index)
    allowed = [token for token in np.flatnonzero(constraint.mask()) if token not in index.vocabulary.eos]
    after = {token: int(distances[index.next_state(constraint.state, int(token))]) for token in allowed}
    least = min(after.values(), default=0)
    return [int(token) for token, distance in after.items() if distance == least]
