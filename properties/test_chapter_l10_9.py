"""The twenty tests of chapter L10.9, by their names, held to this project's reference and goldens."""

import itertools
import json
import math
from collections.abc import Iterator
from typing import Any

import httpx
import numpy as np
import pytest
from jsonschema import Draft202012Validator

from engine.server.random_model import RandomModel, byte_vocabulary
from engine.server.run import running
from fixtures import ROOT
from oracles import tool_text
from properties.tool_texts import TEXTS
from reference.compile import regex_to_dfa
from reference.constraint import Constraint, apply_mask
from reference.dfa import DEAD
from reference.errors import EmptyLanguage, MaskError, PatternError, SchemaError
from reference.jsontext import dumps, loads
from reference.masks import TokenIndex
from reference.pcg32 import Pcg32
from reference.sampling import SamplingParams, constrained_sample
from reference.schema import json_object_regex, json_schema_to_regex, schema_from_text
from reference.toolprompt import ChatML
from reference.tools import (
    Grammar,
    Named,
    ToolError,
    ToolRequest,
    grammar,
    parse_tool_request,
    render_messages,
    render_prompt,
    vocab_bytes,
)
from reference.toolstream import (
    Arguments,
    CallStart,
    Content,
    ToolCall,
    ToolParser,
    collect,
    delta_json,
    finish_reason,
    message_json,
)
from reference.vocabulary import Vocabulary, load_vocabulary

PARAMETERS = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
WEATHER = {"type": "function", "function": {"name": "get_weather", "parameters": PARAMETERS}}
PING = {"type": "function", "function": {"name": "ping"}}
NAMED = {"type": "function", "function": {"name": "get_weather"}}
SCHEMAS = {
    "city": PARAMETERS,
    "optional": {"type": "object", "properties": {"x": {"type": "integer"}, "y": {"type": "integer"}}},
    "enum": {"enum": ["a.b", 2.5, '"', "é", None, 1.5e-05, [1, {"k": "v"}]]},
    "bounds": {"type": "array", "items": {"type": "boolean"}, "minItems": 1, "maxItems": 3},
    "any": {"anyOf": [{"type": "null"}, {"type": "array", "items": {"type": "integer"}, "maxItems": 2}]},
    "nested": {
        "type": "object",
        "properties": {"a": PARAMETERS, "b": {"type": "number"}, "c": {"const": {"k": [0.1, True]}}},
        "required": ["b"],
    },
}


def golden(name: str) -> list[dict[str, Any]]:
    document = json.loads((ROOT / "golden" / f"{name}.json").read_text(encoding="utf-8"))
    cases: list[dict[str, Any]] = document["cases"]
    return cases


def languages() -> list[dict[str, Any]]:
    return [case for case in golden("constrain/languages") if case["kind"] != "vocabulary"]


def request(**fields: Any) -> ToolRequest:
    return parse_tool_request(json.dumps(fields))


def walks(pattern: str, count: int, budget: int) -> Iterator[str]:
    """Random whole outputs over the byte vocabulary, within a budget of tokens."""
    index = TokenIndex(regex_to_dfa(pattern), byte_vocabulary())
    for seed in range(count):
        constraint, rng, output, tokens = Constraint(index, budget=budget), Pcg32(seed, 9), b"", list[int]()
        logits = np.random.default_rng(seed).standard_normal(
            (budget, len(index.vocabulary)), dtype=np.float32
        )
        while not constraint.done:
            token, _ = constrained_sample(logits[len(tokens)], constraint, SamplingParams(), [], tokens, rng)
            tokens.append(token)
            output += index.vocabulary.tokens[token] or b""
        yield output.decode()


def test_hand_example_dfa() -> None:
    """(cat|car|dog)s? has seven states, accepting {5, 6}, eight live edges, as worked out by hand."""
    dfa = regex_to_dfa("(cat|car|dog)s?")
    edges = {
        (s, chr(b), int(dfa.trans[s, b]))
        for s in range(dfa.n_states)
        for b in range(256)
        if dfa.trans[s, b] != DEAD
    }
    by_hand = {
        (0, "c", 1),
        (0, "d", 2),
        (1, "a", 3),
        (2, "o", 4),
        (3, "r", 5),
        (3, "t", 5),
        (4, "g", 5),
        (5, "s", 6),
    }
    assert (dfa.n_states, np.flatnonzero(dfa.accept).tolist(), edges) == (7, [5, 6], by_hand)
    assert dfa.step(0, b"ca") == 3 and dfa.step(DEAD, b"t") == DEAD
    assert dfa.matches(b"dogs") and not dfa.matches(b"do") and not dfa.matches(b"dogss")


def test_dfa_matches_python_l8_7() -> None:
    """Pattern text per schema, and states, acceptance and every transition, as in the golden file."""
    for case in languages():
        dfa = regex_to_dfa(case["pattern"], case["dialect"])
        wanted = case["automaton"]
        table = np.array(wanted["table"])[:, wanted["classes"]]
        assert np.flatnonzero(dfa.accept).tolist() == wanted["accept"], case["id"]
        assert np.array_equal(dfa.trans, table), case["id"]
        if case["kind"] == "schema":
            assert json_schema_to_regex(schema_from_text(case["source"])) == case["pattern"]
    assert len(languages()) == 21


def test_masks_match_python_l8_7() -> None:
    """Allowed ids and completeness at every step of every recorded path."""
    toy = load_vocabulary("toy")
    for case in languages():
        index = TokenIndex(regex_to_dfa(case["pattern"], case["dialect"]), toy)
        for path in case["paths"]:
            constraint = Constraint(index)
            for step in path["steps"]:
                assert np.flatnonzero(constraint.mask()).tolist() == step["allowed"], case["id"]
                assert constraint.is_complete() == step["complete"]
                if "token" in step:
                    constraint.advance(step["token"])


def test_subset_errors_are_refused() -> None:
    """15 patterns and 11 schemas, each with an error of its own kind."""
    patterns, schemas = golden("constrain/refused-patterns"), golden("constrain/refused-schemas")
    assert (len(patterns), len(schemas)) == (15, 11)
    for case in patterns:
        with pytest.raises(EmptyLanguage if case["id"] == "empty-language" else PatternError):
            regex_to_dfa(case["pattern"], case["dialect"])
    for case in schemas:
        with pytest.raises(SchemaError):
            json_schema_to_regex(schema_from_text(case["schema"]))


def test_dumps_matches_python() -> None:
    """19 texts: what our writer gives is what Python's compact json.dumps gives."""
    cases = golden("constrain/dumps")
    assert len(cases) == 19
    for case in cases:
        compact = json.dumps(json.loads(case["text"]), separators=(",", ":"), ensure_ascii=False)
        assert dumps(loads(case["text"])) == case["dumps"] == compact


def test_token_index_rules() -> None:
    """Specials and empty tokens never, EOS exactly when whole, nothing after EOS, a refused advance changes nothing."""
    vocabulary = Vocabulary((b"a", b"b", b"ab", b"", None, b"ac", None), frozenset({6}), "small")
    constraint = Constraint(TokenIndex(regex_to_dfa("ab?"), vocabulary))
    assert np.flatnonzero(constraint.mask()).tolist() == [0, 2]
    for forbidden in (1, 3, 4, 5, 6):
        with pytest.raises(MaskError):
            constraint.advance(forbidden)
    assert (constraint.state, constraint.done) == (0, False)
    constraint.advance(0)
    assert np.flatnonzero(constraint.mask()).tolist() == [1, 6]
    constraint.advance(6)
    assert constraint.done and not constraint.mask().any() and constraint.is_complete()
    with pytest.raises(MaskError, match="after EOS"):
        constraint.advance(1)


def test_constrained_sample_hand_example() -> None:
    """ab? over [a, b, c, EOS] with logits [0, 1, 5, 2]: a with logprob 0, then EOS with 2 − ln(e¹ + e²)."""
    index = TokenIndex(regex_to_dfa("ab?"), Vocabulary((b"a", b"b", b"c", None), frozenset({3}), "hand"))
    constraint, rng, greedy = Constraint(index), Pcg32(0, 0), SamplingParams(temperature=0)
    logits = np.array([0, 1, 5, 2], dtype=np.float32)
    assert constrained_sample(logits, constraint, greedy, [], [], rng) == (0, 0.0)
    token, logprob = constrained_sample(logits, constraint, greedy, [], [0], rng)
    assert token == 3
    assert logprob == pytest.approx(2 - math.log(math.e + math.e**2), abs=1e-12)
    with pytest.raises(MaskError, match="no token is allowed"):
        apply_mask(logits, np.zeros(4, dtype=np.bool_))


@pytest.mark.parametrize("name", SCHEMAS)
def test_constrained_output_always_parses(name: str) -> None:
    """25 random walks of each schema parse and satisfy it."""
    for text in walks(json_schema_to_regex(loads(json.dumps(SCHEMAS[name]))), 25, 160):
        Draft202012Validator(SCHEMAS[name]).validate(json.loads(text))


def test_json_object_grammar() -> None:
    """Objects nested up to three levels; no arrays, scalars or broken objects at the top."""
    dfa = regex_to_dfa(json_object_regex(3))
    for text in ("{}", '{"a":{"b":{"c":1}}}', '{"a":[[1,"x"]],"b":null}'):
        assert dfa.matches(text.encode()), text
    for text in (
        "",
        "[]",
        "1",
        "null",
        '{"a":{"b":{"c":{}}}}',
        '{"a":[[[]]]}',
        '{"a":1',
        '{"a":1,}',
        "{a:1}",
        "{} ",
    ):
        assert not dfa.matches(text.encode()), text


def test_parse_tool_request_hand_example() -> None:
    """Defaults, a named choice, 400s with the place, and the 422 that names the keyword."""
    found = request(tools=[WEATHER, PING])
    assert (found.choice, found.response_format, found.parallel) == ("auto", "text", True)
    assert found.tools[1].parameters == {"type": "object", "properties": {}}
    assert request(tools=[WEATHER], tool_choice=NAMED).choice == Named("get_weather")
    assert request().choice == "none"
    for fields, status, param in [
        ({"tools": [{"type": "function", "function": {}}]}, 400, "tools[0].function.name"),
        ({"tools": [PING], "tool_choice": NAMED}, 400, "tool_choice.function.name"),
        ({"response_format": {"type": "json_schema"}}, 422, "response_format"),
    ]:
        with pytest.raises(ToolError) as caught:
            request(**fields)  # type: ignore[arg-type]
        assert (caught.value.status, caught.value.param) == (status, param)
    bad = {"type": "function", "function": {"name": "f", "parameters": {**PARAMETERS, "minProperties": 1}}}
    with pytest.raises(ToolError, match="minProperties") as caught:
        request(tools=[bad])
    assert (caught.value.status, caught.value.code) == (422, "unsupported_parameter")


def test_grammar_by_tool_choice() -> None:
    """named, required, parallel off, auto with its trigger, none: who may be called and how often."""
    weather, ping = TEXTS["hand-example"].removeprefix("Sure."), TEXTS["empty-arguments"]
    both = {"tools": [WEATHER, PING]}
    expected: list[tuple[dict[str, Any], str | None, dict[str, bool]]] = [
        ({"tool_choice": NAMED}, None, {weather: True, ping: False, weather + "\n" + weather: False}),
        ({"tool_choice": "required"}, None, {weather: True, ping + "\n" + weather: True, "": False}),
        (
            {"tool_choice": "required", "parallel_tool_calls": False},
            None,
            {ping: True, ping + "\n" + weather: False},
        ),
        ({}, "<tool_call>", {ping.removeprefix("<tool_call>"): True, ping: False}),
    ]
    for fields, trigger, texts in expected:
        found = grammar(request(**both, **fields))
        assert isinstance(found, Grammar) and found.trigger == trigger
        dfa = regex_to_dfa(found.pattern)
        assert {text: dfa.matches(text.encode()) for text in texts} == texts
    assert grammar(request(**both, tool_choice="none")) is None
    assert grammar(request(response_format={"type": "json_object"})) == Grammar(json_object_regex(3), None)


def test_render_messages_with_tools() -> None:
    """Tools in the system message, calls and results written back, and all of it through the chat template."""
    tools = request(tools=[WEATHER]).tools
    call = {
        "id": "1",
        "type": "function",
        "function": {"name": "get_weather", "arguments": '{"city":"Paris"}'},
    }
    messages: Any = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Weather?"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "1", "content": "sunny"},
    ]
    turns = render_messages(messages, tools)
    assert turns[0][1].startswith("Be brief.\n\n") and '"name":"get_weather"' in turns[0][1]
    assert turns[1:] == [
        ("user", "Weather?"),
        ("assistant", TEXTS["hand-example"].removeprefix("Sure.")),
        ("user", "<tool_response>sunny</tool_response>"),
    ]
    prompt = render_prompt(ChatML(), messages, tools, "", "")
    assert all(f"<|im_start|>{role}\n{text}<|im_end|>\n" in prompt for role, text in turns)
    assert prompt.endswith("<|im_start|>assistant\n")


def test_vocab_bytes_marks_specials() -> None:
    class Tokens:
        vocab_size = 4

        def token_bytes(self, token: int) -> bytes:
            return [b"a", b"<|im_end|>", b"b", b""][token]

    assert vocab_bytes(Tokens(), [1]) == [b"a", None, b"b", b""]


def test_parser_hand_example() -> None:
    """The chapter's four pieces, event by event, and their fold."""
    parser = ToolParser("req7")
    pieces = ["Sure.<tool_", 'call>{"name":"get_weather","argu', 'ments":{"city":"Pa', 'ris"}}</tool_call>']
    events = [parser.push(piece) for piece in pieces]
    assert events == [
        [Content("Sure.")],
        [],
        [CallStart(0, "call_req7_0", "get_weather"), Arguments(0, '{"city":"Pa')],
        [Arguments(0, 'ris"}')],
    ]
    assert parser.finish() == []
    content, calls = collect([event for group in events for event in group])
    assert (content, calls) == ("Sure.", [ToolCall("call_req7_0", "get_weather", '{"city":"Paris"}')])
    assert finish_reason(len(calls), "stop") == "tool_calls"


def test_parser_holds_back_only_real_markup() -> None:
    """a<b passes at once, a trailing <tool comes back at the end, an opener without a header is content."""
    parser = ToolParser("r")
    assert parser.push("a<b") == [Content("a<b")]
    assert parser.push(" <tool") == [Content(" ")]
    assert parser.finish() == [Content("<tool")]
    parser = ToolParser("r")
    assert parser.push("<tool_call>") == []
    assert parser.push("hello") == [Content("<tool_call>hello")]
    assert ToolParser("r").push("<<tool_cal") == [Content("<")]


def test_parser_parallel_calls() -> None:
    """Indices, ids, and the newline between calls, which is markup."""
    parser = ToolParser("r")
    content, calls = collect([*parser.push(TEXTS["parallel"]), *parser.finish()])
    assert content is None
    assert [(call.id, call.name) for call in calls] == [("call_r_0", "get_weather"), ("call_r_1", "ping")]


def test_parser_is_split_invariant() -> None:
    """Every two-way split and 200 random splits of every text fold to what the whole-text oracle reads."""
    rng = Pcg32(9, 10)
    for text in TEXTS.values():
        splits = [[cut] for cut in range(len(text) + 1)]
        splits += [sorted(rng.next_u32() % (len(text) + 1) for _ in range(1 + i % 6)) for i in range(200)]
        for cuts in splits:
            parser = ToolParser("r")
            places = [0, *cuts, len(text)]
            events = [e for a, b in itertools.pairwise(places) for e in parser.push(text[a:b])]
            content, calls = collect([*events, *parser.finish()])
            assert (content, [(c.id, c.name, c.arguments) for c in calls]) == tool_text.answer(text, "r")


def test_message_and_delta_json_shapes() -> None:
    """content null beside calls, arguments as text, and both delta shapes."""
    call = ToolCall("call_r_0", "f", '{"a":1}')
    function = {"name": "f", "arguments": '{"a":1}'}
    assert json.loads(message_json(None, [call])) == {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "call_r_0", "type": "function", "function": function}],
    }
    assert json.loads(message_json("hi", [])) == {"role": "assistant", "content": "hi"}
    start = {"index": 0, "id": "call_r_0", "type": "function", "function": {"name": "f", "arguments": ""}}
    assert json.loads(delta_json(CallStart(0, "call_r_0", "f"))) == {"tool_calls": [start]}
    fragment = {"index": 0, "function": {"arguments": '{"a'}}
    assert json.loads(delta_json(Arguments(0, '{"a'))) == {"tool_calls": [fragment]}


def test_forced_call_from_a_random_model_is_valid() -> None:
    """40 random walks under a named choice, each one valid get_weather call."""
    found = grammar(request(tools=[WEATHER, PING], tool_choice=NAMED))
    assert found is not None
    count = 0
    for text in walks(found.pattern, 40, 120):
        parser = ToolParser("r")
        content, calls = collect([*parser.push(text), *parser.finish()])
        assert content is None and [call.name for call in calls] == ["get_weather"]
        Draft202012Validator(PARAMETERS).validate(json.loads(calls[0].arguments))
        count += 1
    assert count == 40


def test_serve_loop_routes_tool_calls() -> None:
    """A live server: a forced call, the same call streamed, none that calls nothing, errors in OpenAI's shape."""
    body = {
        "model": "random",
        "messages": [{"role": "user", "content": "Hi"}],
        "tools": [WEATHER],
        "max_tokens": 120,
    }
    with running(RandomModel()) as url, httpx.Client(base_url=url, timeout=60) as client:
        forced = client.post("/chat/completions", json={**body, "tool_choice": NAMED, "seed": 5}).json()
        choice = forced["choices"][0]
        assert choice["finish_reason"] == "tool_calls"
        function = choice["message"]["tool_calls"][0]["function"]
        Draft202012Validator(PARAMETERS).validate(json.loads(function["arguments"]))
        streamed = client.post(
            "/chat/completions", json={**body, "tool_choice": NAMED, "seed": 5, "stream": True}
        )
        assert joined(streamed.text) == (function["name"], function["arguments"])
        prompt = RandomModel().chat(render_messages(body["messages"], request(tools=[WEATHER]).tools))  # type: ignore[arg-type]
        assert forced["usage"]["prompt_tokens"] == len(prompt)
        none = client.post("/chat/completions", json={**body, "tool_choice": "none"}).json()
        assert "tool_calls" not in none["choices"][0]["message"]
        wrong = client.post("/chat/completions", json={**body, "tool_choice": "maybe"})
        assert (wrong.status_code, wrong.json()["error"]["param"]) == (400, "tool_choice")


def joined(text: str) -> tuple[str, str]:
    """Name and arguments of the one call of a stream."""
    lines = [
        line.removeprefix("data: ") for line in text.split("\n\n") if line and not line.endswith("[DONE]")
    ]
    deltas = [choice["delta"] for line in lines for choice in json.loads(line)["choices"]]
    functions = [call["function"] for delta in deltas for call in delta.get("tool_calls", [])]
    return functions[0]["name"], "".join(function["arguments"] for function in functions)
