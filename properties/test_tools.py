"""Requests, grammars and renderings of tool calls, against z3, derivatives, the parsers and hand-made cases."""

import copy
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from engine import golden_tools
from engine.golden.agreement import Disagreement
from engine.server.random_model import byte_vocabulary
from oracles import bisimulation, derivatives, tool_text, z3_languages
from properties.tool_texts import CALL, PING
from reference.compile import regex_to_dfa
from reference.constraint import Constraint
from reference.jsontext import dumps
from reference.masks import TokenIndex
from reference.pcg32 import Pcg32
from reference.schema import escape
from reference.toolprompt import ChatML
from reference.tools import (
    ToolError,
    ToolRequest,
    grammar,
    parse_tool_request,
    render_messages,
    render_prompt,
    vocab_bytes,
)
from reference.toolstream import OPENER, ToolParser, collect

WEATHER = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
}
BOOK = {
    "type": "function",
    "function": {
        "name": "book",
        "description": "Book a table.",
        "parameters": {
            "type": "object",
            "properties": {
                "guests": {"type": "integer"},
                "area": {"enum": ["in", "out"]},
                "names": {"type": "array", "items": {"type": "string"}, "maxItems": 2},
            },
            "required": ["guests"],
        },
    },
}
TOOLS = [WEATHER, BOOK, {"type": "function", "function": {"name": "ping"}}]


def pattern_of(choice: Any, tools: list[Any] = TOOLS, **fields: Any) -> str:
    found = grammar(parse_tool_request(json.dumps({"tools": tools, "tool_choice": choice, **fields})))
    assert found is not None
    return found.pattern


def named(name: str) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name}}


PATIENCE = 120_000
"""Milliseconds that z3 may take: seconds on an idle machine, far more on one that does other work beside."""

ONE = pattern_of("required", parallel_tool_calls=False)
MANY = pattern_of("required")


@pytest.mark.parametrize("name", ["get_weather", "book", "ping"])
def test_one_named_call_is_one_of_any_tool_and_that_is_some_of_required(name: str) -> None:
    """named ⊆ one call of any, decided by z3; and another tool's call is in the second only, by derivatives."""
    only = pattern_of(named(name))
    assert z3_languages.included(only, ONE).verdict == "included"
    other = (PING if name != "ping" else CALL).encode()
    assert derivatives.is_member(ONE, other) and not derivatives.is_member(only, other)


def test_one_call_is_among_the_required_and_more_are_too() -> None:
    """one ⊂ required; the witness that they differ is at least two calls."""
    assert z3_languages.included(ONE, MANY, timeout_ms=PATIENCE).verdict == "included"
    outcome = z3_languages.included(MANY, ONE, timeout_ms=PATIENCE)
    assert outcome.verdict == "differ"
    assert outcome.witness is not None and len(tool_text.answer(outcome.witness.decode(), "r")[1]) in (
        2,
        3,
        4,
    )


def test_automatic_choice_goes_on_from_the_trigger_to_one_whole_call() -> None:
    """trigger · auto = one call of any tool, by bisimulation of derivative automata."""
    auto = grammar(parse_tool_request(json.dumps({"tools": TOOLS})))
    assert auto is not None and auto.trigger == OPENER
    whole = derivatives.automaton(escape(OPENER) + auto.pattern)
    assert bisimulation.difference(*whole, *derivatives.automaton(ONE)) is None


@pytest.mark.parametrize("name", ["get_weather", "book", "ping"])
def test_no_other_tool_can_be_named_after_a_named_choice(name: str) -> None:
    """No prefix with another tool's name is viable, and the named one's is."""
    only = pattern_of(named(name))
    for other in ("get_weather", "book", "ping", "pong", ""):
        prefix = f'<tool_call>{{"name":"{other}"'.encode()
        assert derivatives.is_viable(only, prefix) == (other == name)


def test_a_name_that_begins_like_another_is_not_taken_for_it() -> None:
    tools = [{"type": "function", "function": {"name": name}} for name in ("get", "get_all")]
    only = pattern_of(named("get"), tools)
    assert not derivatives.is_viable(only, b'<tool_call>{"name":"get_')
    assert derivatives.is_viable(pattern_of("required", tools), b'<tool_call>{"name":"get_')


def test_five_calls_are_too_many_and_four_are_not() -> None:
    assert derivatives.is_member(MANY, "\n".join([PING] * 4).encode())
    assert not derivatives.is_viable(MANY, ("\n".join([PING] * 4) + "\n").encode())


def walk(index: TokenIndex, seed: int, budget: int) -> str:
    constraint, rng, output = Constraint(index, budget=budget), Pcg32(seed, 0), b""
    while True:
        allowed = constraint.mask().nonzero()[0]
        token = int(allowed[rng.next_u32() % len(allowed)])
        constraint.advance(token)
        if constraint.done:
            return output.decode()
        output += index.vocabulary.tokens[token] or b""


@pytest.mark.parametrize("choice", ["required", named("book")])
def test_whatever_the_grammar_allows_parses_to_whole_calls_and_renders_back(choice: Any) -> None:
    """For 25 random walks under a budget: the calls cover the text, fit their schemas, and write it again."""
    index = TokenIndex(regex_to_dfa(pattern_of(choice)), byte_vocabulary())
    schemas = {tool["function"]["name"]: tool["function"].get("parameters", {}) for tool in TOOLS}  # type: ignore[attr-defined]
    for seed in range(25):
        text = walk(index, seed, 220)
        parser = ToolParser("r")
        content, calls = collect([*parser.push(text), *parser.finish()])
        assert content is None and 1 <= len(calls) <= 4
        for call in calls:
            Draft202012Validator(schemas[call.name]).validate(json.loads(call.arguments))
        written = [{"function": {"name": call.name, "arguments": call.arguments}} for call in calls]
        turns = render_messages([{"role": "assistant", "tool_calls": written}], [])  # type: ignore[list-item]
        assert turns == [("assistant", text)]


OBJECTS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters(exclude_categories=["Cs"]), max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text('ab<}"\\é', max_size=4), inner, max_size=3)
    ),
    max_leaves=8,
).map(lambda value: {"v": value})


@settings(max_examples=80, deadline=None)
@given(st.text("ab \n<é", max_size=12), st.lists(OBJECTS, min_size=1, max_size=3))
def test_calls_of_a_history_are_read_back_as_they_were(content: str, values: list[Any]) -> None:
    """parse(render(content, calls)) = (content, calls), for any text before and any arguments."""
    calls = [{"function": {"name": "f", "arguments": dumps(value)}} for value in values]
    turns = render_messages([{"role": "assistant", "content": content, "tool_calls": calls}], [])
    read, found = tool_text.answer(turns[0][1], "r")
    assert (read or "") == content
    assert [json.loads(arguments) for _, _, arguments in found] == values


BODIES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-2, 2)
    | st.sampled_from(["auto", "none", "function", "f", "object", "x y"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["type", "function", "name", "parameters", "properties", "required", "description", "enum"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=14,
)


@settings(max_examples=300, deadline=None)
@given(st.fixed_dictionaries({}, optional=dict.fromkeys(("tools", "tool_choice", "response_format"), BODIES)))
def test_any_json_is_read_or_declined_with_its_place(body: dict[str, Any]) -> None:
    """Nothing but ToolError comes out, with a status, a message and the path of a field that was given."""
    read = outcome(json.dumps(body))
    if isinstance(read, ToolError):
        assert read.status in (400, 422)
        assert read.param and read.param.split(".")[0].split("[")[0] in body
        assert json.loads(read.to_json())["error"]["param"] == read.param
    else:
        assert (grammar(read) is None) == (read.choice == "none" and read.response_format == "text")


def outcome(body: str) -> ToolRequest | ToolError:
    try:
        return parse_tool_request(body)
    except ToolError as error:
        return error


def test_goldens_are_confirmed_and_deterministic() -> None:
    cases = golden_tools.build()
    assert cases == golden_tools.build()
    assert {kind: len(found) > 5 for kind, found in cases.items()} == dict.fromkeys(cases, True)


@pytest.mark.parametrize("kind", ["requests", "errors", "grammars", "renderings"])
def test_a_golden_value_that_is_wrong_is_never_written(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Change the first expectation of a kind: nothing is built."""
    data = json.loads(golden_tools.DATA.read_text(encoding="utf-8"))
    wrong = copy.deepcopy(data)
    case = wrong[kind][2]
    if kind == "requests":
        case["request"]["parallel"] = not case["request"]["parallel"]
    elif kind == "errors":
        case["rejected"]["param"] = "tools[9]"
    elif kind == "grammars":
        case["members"].append("no member")
    else:
        case["messages"][0][1] += " "
    real = json.loads
    monkeypatch.setattr(golden_tools.json, "loads", lambda text: wrong if real(text) == data else real(text))
    with pytest.raises(Disagreement):
        golden_tools.build()


def test_a_template_that_takes_tools_gets_them_and_one_that_does_not_gets_our_turns() -> None:
    seen: list[Any] = []

    class Own:
        takes_tools = True

        def render(self, messages: Any, tools: Any, bos: str, eos: str) -> str:
            seen.extend([messages, tools])
            return bos + "own"

    request = parse_tool_request(json.dumps({"tools": TOOLS}))
    history: Any = [
        {"role": "developer", "content": "x"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"function": {"name": "ping", "arguments": ""}}],
        },
        {"role": "tool", "tool_call_id": "1", "content": "pong"},
    ]
    assert render_prompt(Own(), history, request.tools, "<s>", "</s>") == "<s>own"
    assert [message["role"] for message in seen[0]] == ["system", "assistant", "tool"]
    assert seen[0][1]["tool_calls"][0]["function"] == {"name": "ping", "arguments": {}}
    assert [tool["function"]["name"] for tool in seen[1]] == ["get_weather", "book", "ping"]
    ours = render_prompt(ChatML(), history, request.tools, "", "")
    assert ours.endswith("<tool_response>pong</tool_response><|im_end|>\n<|im_start|>assistant\n")
    assert PING in ours


def test_specials_have_no_bytes() -> None:
    class Tokens:
        vocab_size = 3

        def token_bytes(self, token: int) -> bytes:
            return b"abc"[token : token + 1]

    assert vocab_bytes(Tokens(), [1]) == [b"a", None, b"c"]


BAD_MESSAGES: list[tuple[Any, str]] = [
    (None, "messages"),
    ([], "messages"),
    (["hi"], "messages[0]"),
    ([{"content": "x"}], "messages[0].role"),
    ([{"role": "function", "content": "x"}], "messages[0].role"),
    ([{"role": "user"}], "messages[0].content"),
    ([{"role": "user", "content": 1}], "messages[0].content"),
    ([{"role": "user", "content": [{"type": "image_url"}]}], "messages[0].content[0]"),
    ([{"role": "assistant"}], "messages[0].content"),
    ([{"role": "assistant", "tool_calls": {}}], "messages[0].tool_calls"),
    ([{"role": "assistant", "tool_calls": [1]}], "messages[0].tool_calls[0].function"),
    (
        [{"role": "assistant", "tool_calls": [{"function": {"name": "a b"}}]}],
        "messages[0].tool_calls[0].function.name",
    ),
    (
        [{"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": "[1]"}}]}],
        "messages[0].tool_calls[0].function.arguments",
    ),
    (
        [{"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": "{"}}]}],
        "messages[0].tool_calls[0].function.arguments",
    ),
    ([{"role": "tool", "content": "x"}], "messages[0].tool_call_id"),
]


@pytest.mark.parametrize(("messages", "param"), BAD_MESSAGES)
def test_a_message_of_a_wrong_shape_is_told_with_its_place(messages: Any, param: str) -> None:
    with pytest.raises(ToolError) as caught:
        render_messages(messages, [])
    assert (caught.value.status, caught.value.param) == (400, param)


def test_the_example_call_is_a_member_of_its_grammar() -> None:
    assert derivatives.is_member(pattern_of(named("get_weather")), CALL.encode())
