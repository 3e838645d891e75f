"""Values that a person worked out first: the chapter's section 3 and the examples of SPEC."""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from engine.mutants.columns.shared import Witness, is_accepted, plain, tool_request
from engine.mutants.questions import TOOLS
from reference.compile import regex_to_dfa
from reference.constraint import Constraint
from reference.jsontext import JsonValue, dumps, loads
from reference.masks import TokenIndex
from reference.pcg32 import Pcg32
from reference.sampling import SamplingParams, constrained_sample
from reference.schema import json_schema_to_regex
from reference.tools import grammar, parse_tool_request
from reference.toolstream import Arguments, CallStart, Content, ToolParser, collect, delta_json, message_json
from reference.vocabulary import Vocabulary


def hand() -> Witness:
    """Tables, masks, texts and streams that a person worked out first (the chapter's section 3, SPEC)."""
    for what, told, expected in _hand_cases():
        if told != expected:
            return f"{what}: {told!r} where {expected!r} was worked out"
    return None


def _hand_cases() -> Iterator[tuple[str, Any, Any]]:
    words = regex_to_dfa("(cat|car|dog)s?")
    edges = [(s, chr(b), int(words.trans[s, b])) for s, b in np.argwhere(words.trans >= 0).tolist()]
    yield "states of (cat|car|dog)s?", words.n_states, 7
    yield "accepting", plain(words)[0], [5, 6]
    expected = [
        (0, "c", 1),
        (0, "d", 2),
        (1, "a", 3),
        (2, "o", 4),
        (3, "r", 5),
        (3, "t", 5),
        (4, "g", 5),
        (5, "s", 6),
    ]
    yield "edges", edges, expected
    yield from _hand_masks()
    pair: JsonValue = {"type": "object", "properties": {"x": {"type": "integer"}, "y": {"type": "integer"}}}
    number = "-?(?:0|[1-9][0-9]*)"
    yield (
        "optional pair",
        json_schema_to_regex(pair),
        rf"\{{(?:\"x\":{number}(?:,\"y\":{number})?|(?:\"y\":{number}|))\}}",
    )
    bounded: JsonValue = {"type": "array", "items": {"type": "null"}, "maxItems": 2}
    yield "at most two", json_schema_to_regex(bounded), r"\[(?:null(?:,null){0,1})?\]"
    awkward: JsonValue = {"enum": ["2.5", 1.5e-05]}
    yield "enum", json_schema_to_regex(awkward), r"(?:\"2\.5\"|1\.5e\-05)"
    for text, written in (("-0", "0"), ("-0.0", "-0.0"), ("1e16", "1e+16"), (r'"\/\u007f"', '"/\x7f"')):
        yield f"dumps {text}", dumps(loads(text)), written
    rng = Pcg32(42, 54)
    stream = "a15c02b7 7b47f409 ba1d3330 83d2f293 bfa4784b cbed606e"
    yield "PCG32", " ".join(f"{rng.next_u32():08x}" for _ in range(6)), stream
    yield "an empty language is accepted", is_accepted(regex_to_dfa, r"[^\x00-\xff]"), False
    yield from _hand_tools()


def _hand_masks() -> Iterator[tuple[str, Any, Any]]:
    vocabulary = Vocabulary((b"a", b"b", b"c", None), frozenset({3}), "hand")
    constraint = Constraint(TokenIndex(regex_to_dfa("ab?"), vocabulary))
    logits, greedy, rng = np.array([0, 1, 5, 2], np.float32), SamplingParams(temperature=0), Pcg32(0, 0)
    yield "mask at the start", constraint.mask().tolist(), [True, False, False, False]
    yield "first draw", constrained_sample(logits, constraint, greedy, [], [], rng), (0, 0.0)
    yield "mask after a", constraint.mask().tolist(), [False, True, False, True]
    token, logprob = constrained_sample(logits, constraint, greedy, [], [0], rng)
    yield "second draw", (token, round(logprob, 9)), (3, round(2 - math.log(math.e + math.e**2), 9))
    yield "mask after EOS", constraint.mask().tolist(), [False] * 4


def _hand_tools() -> Iterator[tuple[str, Any, Any]]:
    parser = ToolParser("req7")
    pieces = ("Sure.<tool_", 'call>{"name":"get_weather","argu', 'ments":{"city":"Pa', 'ris"}}</tool_call>')
    told = [parser.push(piece) for piece in pieces]
    start = CallStart(0, "call_req7_0", "get_weather")
    expected = [[Content("Sure.")], [], [start, Arguments(0, '{"city":"Pa')], [Arguments(0, 'ris"}')]]
    yield "the streamed call", told, expected
    content, calls = collect([event for events in told for event in events][1:])
    message = loads(message_json(content, calls))
    yield "content beside calls", message["content"] if isinstance(message, dict) else "", None
    delta = '{"tool_calls":[{"index":0,"function":{"arguments":"x"}}]}'
    yield "a fragment's delta", delta_json(Arguments(0, "x")), delta
    named = grammar(tool_request('{"type":"function","function":{"name":"ping"}}'))
    outside = TOOLS.replace('"type":"string"', '"type":"string","pattern":"a"') % ('"auto"', "")
    yield "a keyword outside the subset is accepted", is_accepted(parse_tool_request, outside), False
    yield (
        "a named choice",
        named and named.pattern,
        r"\<tool_call\>\{\"name\"\:\"ping\"\,\"arguments\"\:\{\}\}\<\/tool_call\>",
    )
