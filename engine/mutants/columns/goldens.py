"""The golden files, read as a porter would and compared with what the reference says now."""

import json
import math
from typing import Any

import numpy as np

from engine.golden.automata import as_case
from engine.golden.check import first_difference
from engine.golden.document import FOLDER, read
from engine.mutants.columns.shared import Witness, is_accepted, plain
from engine.tool_events import event_fields, event_of
from reference.compile import regex_to_dfa
from reference.constraint import Constraint
from reference.jsontext import dumps, loads
from reference.masks import TokenIndex
from reference.pcg32 import Pcg32
from reference.sampling import SamplingParams, constrained_sample
from reference.schema import json_object_regex, json_schema_to_regex
from reference.tools import grammar, parse_tool_request
from reference.toolstream import ToolParser, collect, message_json
from reference.vocabulary import Vocabulary, load_vocabulary


def goldens() -> Witness:
    """The files of fixtures/golden, read as a porter would and compared with what the reference says now."""
    for look in (_golden_languages, _golden_texts, _golden_draws, _golden_requests, _golden_streams):
        if told := look():
            return told
    return None


def _golden_languages() -> Witness:
    document = read(FOLDER / "constrain" / "languages.json")
    vocabulary = load_vocabulary("toy")
    for case in document["cases"][1:]:
        pattern = _pattern_of(case)
        if pattern != case["pattern"]:
            return f"{case['id']}: pattern {pattern[:80]!r}"
        dfa = regex_to_dfa(pattern, case["dialect"])
        if told := first_difference(as_case(*plain(dfa)), case["automaton"]):
            return f"{case['id']}: {told[:160]}"
        index = TokenIndex(dfa, vocabulary)
        for path in case["paths"]:
            constraint = Constraint(index)
            for number, step in enumerate(path["steps"]):
                allowed = [int(token) for token in np.flatnonzero(constraint.mask())]
                if (allowed, constraint.is_complete()) != (step["allowed"], step["complete"]):
                    return f"{case['id']}, path {path['seed']}, step {number}: another mask"
                if "token" in step:
                    constraint.advance(step["token"])
    return None


def _pattern_of(case: dict[str, Any]) -> str:
    if case["kind"] == "schema":
        return json_schema_to_regex(loads(case["source"]))
    return json_object_regex(int(case["source"])) if case["kind"] == "json_object" else str(case["pattern"])


def _golden_texts() -> Witness:
    for case in read(FOLDER / "constrain" / "dumps.json")["cases"]:
        if dumps(loads(case["text"])) != case["dumps"]:
            return f"{case['id']}: {dumps(loads(case['text']))!r}"
    for case in read(FOLDER / "constrain" / "refused-patterns.json")["cases"]:
        if is_accepted(regex_to_dfa, case["pattern"], case["dialect"]):
            return f"{case['id']} is accepted"
    for case in read(FOLDER / "constrain" / "refused-schemas.json")["cases"]:
        if is_accepted(json_schema_to_regex, loads(case["schema"])):
            return f"{case['id']} is accepted"
    return None


def _golden_draws() -> Witness:
    for case in read(FOLDER / "sampling" / "pcg32.json")["cases"]:
        rng = Pcg32(int(case["seed"]), int(case["sequence"]))
        if [f"{rng.next_u32():08x}" for _ in case["words"]] != case["words"]:
            return f"{case['id']}: another stream"
    for case in read(FOLDER / "sampling" / "draws.json")["cases"]:
        tokens = tuple(None if token is None else bytes.fromhex(token) for token in case["tokens"])
        index = TokenIndex(
            regex_to_dfa(case["pattern"]), Vocabulary(tokens, frozenset(case["eos"]), "golden")
        )
        rng = Pcg32(0, 0)
        rng.state, rng.inc = int(case["rng"]["state"]), int(case["rng"]["inc"])
        params = SamplingParams(**case["params"])
        logits = np.array(case["logits"], dtype=np.float32)
        token, logprob = constrained_sample(
            logits, Constraint(index), params, case["prompt"], case["output"], rng
        )
        if token != case["token"] or not math.isclose(logprob, case["logprob"], rel_tol=1e-9, abs_tol=1e-9):
            return f"{case['id']}: token {token}, logprob {logprob}"
    return None


def _golden_requests() -> Witness:
    for case in read(FOLDER / "tools" / "errors.json")["cases"]:
        if is_accepted(parse_tool_request, case["body"]):
            return f"{case['id']} is accepted"
    for case in read(FOLDER / "tools" / "grammars.json")["cases"]:
        made = grammar(parse_tool_request(case["body"]))
        told = (made.pattern, made.trigger) if made else (None, None)
        if told != (case["pattern"], case["trigger"]):
            return f"{case['id']}: {told!r:.160}"
    return None


def _golden_streams() -> Witness:
    for case in read(FOLDER / "tools" / "streams.json")["cases"]:
        parser = ToolParser(case["request_id"])
        pushed = [[event_fields(event) for event in parser.push(piece)] for piece in case["pieces"]]
        last = parser.finish()
        if (pushed, [event_fields(event) for event in last]) != (case["events"], case["finish"]):
            return f"{case['id']}: other events"
        content, calls = collect(
            [event_of(event) for events in [*case["events"], case["finish"]] for event in events]
        )
        if json.loads(message_json(content, calls)) != case["message"]:
            return f"{case['id']}: another message"
    return None
