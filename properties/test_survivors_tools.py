"""What a mutation tool could change in tools, toolprompt, tool_errors without any other test seeing it.

The survivors are listed in docs/mutation.md.
"""

import json
from typing import Any

import pytest

from reference.errors import Refused
from reference.schema import json_object_regex
from reference.toolprompt import ChatML, Tool
from reference.tools import (
    Grammar,
    Named,
    ToolError,
    ToolRequest,
    grammar,
    parse_tool_request,
    render_messages,
    render_prompt,
)

PING = {"type": "function", "function": {"name": "ping"}}
TOOLS = [PING, {"type": "function", "function": {"name": "pong"}}]
NAME_RULE = "a name is 1 to 64 of A-Z a-z 0-9 _ -"


def request(**fields: Any) -> ToolRequest:
    return parse_tool_request(json.dumps(fields))


def function(**fields: Any) -> dict[str, Any]:
    return {"type": "function", "function": fields}


def parameters(value: Any) -> dict[str, Any]:
    return {"tools": [PING, function(name="f", parameters=value)]}


OUTSIDE = {"type": "object", "patternProperties": {}}

DECLINED: dict[str, tuple[dict[str, Any], int, str, str]] = {
    "tools as an object": ({"tools": {}}, 400, "tools", "it is a list of tools"),
    "129 tools": ({"tools": [PING] * 129}, 400, "tools", "129 tools are more than 128"),
    "a tool given twice": (
        {"tools": [*TOOLS, TOOLS[1]]},
        400,
        "tools[2].function.name",
        "'pong' is tools[1] already",
    ),
    "the first tool given twice": (
        {"tools": [PING, PING]},
        400,
        "tools[1].function.name",
        "'ping' is tools[0] already",
    ),
    "a tool that is text": ({"tools": [PING, "f"]}, 400, "tools[1]", "a tool is an object"),
    "a tool of no type": (
        {"tools": [{"function": {"name": "f"}}]},
        400,
        "tools[0].type",
        'it is null; the only type is "function"',
    ),
    "a tool of another type": (
        {"tools": [{"type": "web", "function": {"name": "f"}}]},
        400,
        "tools[0].type",
        'it is "web"; the only type is "function"',
    ),
    "a tool of nothing": (
        {"tools": [{"type": "function"}]},
        400,
        "tools[0].function",
        "it is an object with a name",
    ),
    "a tool of no name": ({"tools": [function()]}, 400, "tools[0].function.name", NAME_RULE),
    "a number as a name": ({"tools": [function(name=1)]}, 400, "tools[0].function.name", NAME_RULE),
    "a name of 65": ({"tools": [function(name="n" * 65)]}, 400, "tools[0].function.name", NAME_RULE),
    "a number as a description": (
        {"tools": [function(name="f", description=1)]},
        400,
        "tools[0].function.description",
        "it is text",
    ),
    "parameters as a list": (
        parameters([]),
        400,
        "tools[1].function.parameters",
        "it is a JSON Schema object",
    ),
    "parameters of another type": (
        parameters({"type": "string"}),
        400,
        "tools[1].function.parameters.type",
        'arguments are an object; write "type": "object"',
    ),
    "a choice of nothing known": (
        {"tools": TOOLS, "tool_choice": "any"},
        400,
        "tool_choice",
        'it is "none", "auto", "required" or a function',
    ),
    "a free choice of no tools": (
        {"tool_choice": "auto"},
        400,
        "tool_choice",
        "'auto' needs tools; give some or choose \"none\"",
    ),
    "a choice needed of no tools": (
        {"tool_choice": "required"},
        400,
        "tool_choice",
        "'required' needs tools; give some or choose \"none\"",
    ),
    "a choice of no type": (
        {"tools": TOOLS, "tool_choice": {"function": {"name": "ping"}}},
        400,
        "tool_choice.type",
        'it is null; the only type is "function"',
    ),
    "a choice of another type": (
        {"tools": TOOLS, "tool_choice": {"type": "web", "function": {"name": "ping"}}},
        400,
        "tool_choice.type",
        'it is "web"; the only type is "function"',
    ),
    "a choice of no function": (
        {"tools": TOOLS, "tool_choice": {"type": "function"}},
        400,
        "tool_choice.function",
        "it is an object with a name",
    ),
    "a choice of no name": (
        {"tools": TOOLS, "tool_choice": function()},
        400,
        "tool_choice.function.name",
        "it is the name of a tool",
    ),
    "a choice of an unknown tool": (
        {"tools": TOOLS, "tool_choice": function(name="pang")},
        400,
        "tool_choice.function.name",
        "'pang' is not among the tools",
    ),
    "a choice of a tool where none is": (
        {"tool_choice": function(name="ping")},
        400,
        "tool_choice.function.name",
        "'ping' is not among the tools",
    ),
    "a format that is text": (
        {"response_format": "text"},
        400,
        "response_format",
        'it is an object such as {"type": "json_object"}',
    ),
    "a format by schema": (
        {"response_format": {"type": "json_schema"}},
        422,
        "response_format",
        "json_schema is not decoded; describe the value as a tool's parameters",
    ),
    "a format of no type": (
        {"response_format": {}},
        400,
        "response_format.type",
        'it is null; take "text" or "json_object"',
    ),
    "a format of another type": (
        {"response_format": {"type": "xml"}},
        400,
        "response_format.type",
        'it is "xml"; take "text" or "json_object"',
    ),
    "an object beside tools": (
        {"tools": TOOLS, "response_format": {"type": "json_object"}},
        400,
        "response_format",
        'json_object goes with tools only when tool_choice is "none"',
    ),
    "a number for parallel": (
        {"parallel_tool_calls": 1},
        400,
        "parallel_tool_calls",
        "it is true or false",
    ),
}


@pytest.mark.parametrize("name", DECLINED)
def test_a_declined_request_is_told_where_and_why(name: str) -> None:
    body, status, param, why = DECLINED[name]
    with pytest.raises(ToolError) as refusal:
        request(**body)
    code = "unsupported_parameter" if status == 422 else None
    error = refusal.value
    assert (error.status, error.param, error.code, error.message) == (status, param, code, f"{param}: {why}")


@pytest.mark.parametrize("schema", [OUTSIDE, {"const": "a" * 2**20}], ids=["a keyword", "the length"])
def test_parameters_outside_the_subset_are_declined_with_what_the_schema_reader_says(schema: Any) -> None:
    with pytest.raises(ToolError) as refusal:
        request(**parameters(schema))
    error, place = refusal.value, "tools[1].function.parameters"
    assert (error.status, error.param, error.code) == (422, place, "unsupported_parameter")
    assert error.message.startswith(f"{place}: ")
    assert ("patternProperties" if schema is OUTSIDE else "max_length=1,000,000") in error.message


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("[]", "request body: it is not a JSON object; send one"),
        ('{"tools":', "request body: JSON, position 9: "),
        ('{"tools":[],"tools":[]}', "request body: JSON, position "),
    ],
)
def test_a_body_that_is_no_object_has_no_place(body: str, message: str) -> None:
    with pytest.raises(ToolError) as refusal:
        parse_tool_request(body)
    error = refusal.value
    assert (error.status, error.param, error.code) == (400, None, None)
    assert error.message.startswith(message)
    assert body == "[]" or error.message.endswith("; send one JSON object")


def test_an_error_is_its_message_and_its_body_is_in_the_shape_of_openai() -> None:
    error = ToolError(422, "tools", "unsupported_parameter", "no tool")
    assert isinstance(error, Refused) and str(error) == "no tool"
    assert error.to_json() == (
        '{"error":{"message":"no tool","type":"invalid_request_error",'
        '"param":"tools","code":"unsupported_parameter"}}'
    )


EMPTY: Any = {"type": "object", "properties": {}}


def test_what_a_request_leaves_out_has_its_default() -> None:
    assert request() == ToolRequest((), "none", "text", True)
    assert request(tools=None, tool_choice=None, response_format=None, parallel_tool_calls=None) == request()
    assert request(tools=[], tool_choice="none") == request()
    one = (Tool("ping", None, EMPTY),)
    assert request(tools=[PING]) == ToolRequest(one, "auto", "text", True)
    assert request(tools=[PING], tool_choice="auto") == request(tools=[PING])
    assert request(tools=[PING], parallel_tool_calls=False) == ToolRequest(one, "auto", "text", False)
    assert request(tools=[PING], parallel_tool_calls=True) == request(tools=[PING])


def test_what_a_request_gives_is_kept() -> None:
    schema = {"type": "object", "properties": {"b": {"type": "null"}, "a": {"type": "null"}}}
    longest = "n" * 64
    read = request(
        tools=[PING, function(name=longest, description="Why.", parameters=schema)],
        tool_choice=function(name=longest),
        response_format={"type": "text"},
    )
    tools = (Tool("ping", None, EMPTY), Tool(longest, "Why.", schema))  # type: ignore[arg-type]
    assert read == ToolRequest(tools, Named(longest), "text", True)
    assert len(request(tools=[function(name=f"f{i}") for i in range(128)]).tools) == 128


def test_a_choice_of_none_leaves_the_tools_and_allows_an_object_beside_them() -> None:
    read = request(tools=[PING], tool_choice="none", response_format={"type": "json_object"})
    assert read == ToolRequest((Tool("ping", None, EMPTY),), "none", "json_object", True)
    assert grammar(read) == Grammar(json_object_regex(3), None)
    assert request(response_format={"type": "json_object"}).response_format == "json_object"


OPEN = r"\<tool_call\>"
REST = r"\{\"name\"\:\"ping\"\,\"arguments\"\:\{\}\}\<\/tool_call\>"


def test_a_grammar_is_written_as_the_specification_says() -> None:
    """Every tool in order, each a whole call; one call alone where it is to be one."""
    rest = REST.replace("ping", "pong")
    call, other = OPEN + REST, OPEN + rest
    assert grammar(request(tools=TOOLS)) == Grammar(f"(?:{REST}|{rest})", "<tool_call>")
    assert grammar(request(tools=[PING])) == Grammar(REST, "<tool_call>")
    assert grammar(request(tools=TOOLS, tool_choice=function(name="pong"))) == Grammar(other, None)
    either = f"(?:{call}|{other})"
    assert grammar(request(tools=TOOLS, tool_choice="required")) == Grammar(
        rf"{either}(?:\n{either}){{0,3}}", None
    )
    alone = request(tools=TOOLS, tool_choice="required", parallel_tool_calls=False)
    assert grammar(alone) == Grammar(either, None)
    assert grammar(request(tools=TOOLS, tool_choice="none")) is None


PART = 'only parts {"type": "text", "text": …} are read'

BAD_HISTORY: dict[str, tuple[Any, str, str]] = {
    "nothing": (None, "messages", "it is a list of at least one message"),
    "an empty list": ([], "messages", "it is a list of at least one message"),
    "text": (["hi"], "messages[0]", "a message is an object"),
    "no role": (
        [{"content": "x"}],
        "messages[0].role",
        "it is null; take system, developer, user, assistant, tool",
    ),
    "a role that is no name": (
        [{"role": ["user"], "content": "x"}],
        "messages[0].role",
        'it is ["user"]; take system, developer, user, assistant, tool',
    ),
    "the second message": (
        [{"role": "user", "content": "x"}, {"role": "user"}],
        "messages[1].content",
        "it is missing; give text",
    ),
    "a number as content": (
        [{"role": "user", "content": 1}],
        "messages[0].content",
        "it is text or a list of text parts",
    ),
    "a number as an assistant's content": (
        [{"role": "assistant", "content": 1}],
        "messages[0].content",
        "it is text or a list of text parts",
    ),
    "a part of another type": (
        [{"role": "user", "content": [{"type": "text", "text": ""}, {"type": "image", "text": "x"}]}],
        "messages[0].content[1]",
        PART,
    ),
    "a part that is text": ([{"role": "user", "content": ["x"]}], "messages[0].content[0]", PART),
    "a part of no text": ([{"role": "user", "content": [{"type": "text"}]}], "messages[0].content[0]", PART),
    "a result for no call": (
        [{"role": "tool", "content": "x"}],
        "messages[0].tool_call_id",
        "it is the id of the call that this answers",
    ),
    "an assistant that says nothing": (
        [{"role": "assistant"}],
        "messages[0].content",
        "an assistant message has text, tool_calls or both",
    ),
    "an assistant that calls nothing": (
        [{"role": "assistant", "tool_calls": []}],
        "messages[0].content",
        "an assistant message has text, tool_calls or both",
    ),
    "calls as an object": (
        [{"role": "assistant", "content": "x", "tool_calls": {}}],
        "messages[0].tool_calls",
        "it is a list of calls",
    ),
}

GOOD_CALL: Any = {"function": {"name": "f", "arguments": "{}"}}
ABOUT_ARGUMENTS = "it is the text of a JSON object"
BAD_CALLS: dict[str, tuple[Any, str, str]] = {
    "a number": (1, "function", "it is an object with a name and arguments"),
    "no function": ({}, "function", "it is an object with a name and arguments"),
    "no name": ({"function": {}}, "function.name", NAME_RULE),
    "a number as a name": ({"function": {"name": 1}}, "function.name", NAME_RULE),
    "a name with a space": ({"function": {"name": "a b"}}, "function.name", NAME_RULE),
    "half a name": ({"function": {"name": ""}}, "function.name", NAME_RULE),
    "a name of 65": ({"function": {"name": "n" * 65}}, "function.name", NAME_RULE),
    "a list": ({"function": {"name": "f", "arguments": "[1]"}}, "function.arguments", ABOUT_ARGUMENTS),
    "a list as it is": ({"function": {"name": "f", "arguments": [1]}}, "function.arguments", ABOUT_ARGUMENTS),
}


@pytest.mark.parametrize("name", BAD_HISTORY)
def test_a_message_that_cannot_be_read_is_told_where_and_why(name: str) -> None:
    messages, param, why = BAD_HISTORY[name]
    with pytest.raises(ToolError) as refusal:
        render_messages(messages, [])
    assert (refusal.value.param, refusal.value.message) == (param, f"{param}: {why}")


@pytest.mark.parametrize("name", BAD_CALLS)
def test_a_call_that_cannot_be_read_is_told_where_and_why(name: str) -> None:
    call, place, why = BAD_CALLS[name]
    with pytest.raises(ToolError) as refusal:
        render_messages([{"role": "assistant", "tool_calls": [GOOD_CALL, call]}], [])
    param = f"messages[0].tool_calls[1].{place}"
    assert (refusal.value.param, refusal.value.message) == (param, f"{param}: {why}")


def test_arguments_that_are_no_json_are_told_with_the_position() -> None:
    call: Any = {"function": {"name": "f", "arguments": '{"a"'}}
    with pytest.raises(ToolError) as refusal:
        render_messages([{"role": "assistant", "tool_calls": [call]}], [])
    message = refusal.value.message
    assert message.startswith("messages[0].tool_calls[0].function.arguments: JSON, position 4")
    assert message.endswith("; it is the text of a JSON object")


@pytest.mark.parametrize(
    ("arguments", "written"),
    [
        (None, "{}"),
        ("", "{}"),
        ("null", "{}"),
        ("{}", "{}"),
        (' \t\r\n{ "b": 1, "a":2 }\n', '{ "b": 1, "a":2 }'),
        ('{"X":1}', '{"X":1}'),
        ({"b": "é", "a": [1, None]}, '{"b":"é","a":[1,null]}'),
    ],
)
def test_the_arguments_of_an_earlier_call_come_back_as_they_were(arguments: Any, written: str) -> None:
    calls: Any = [{"function": {"name": "f", "arguments": arguments}}, {"function": {"name": "n" * 64}}]
    assert render_messages([{"role": "assistant", "content": "So.", "tool_calls": calls}], []) == [
        (
            "assistant",
            f'So.<tool_call>{{"name":"f","arguments":{written}}}</tool_call>\n'
            f'<tool_call>{{"name":"{"n" * 64}","arguments":{{}}}}</tool_call>',
        )
    ]


TOLD = """You can call these tools, one JSON object a line:
{"type":"function","function":{"name":"ping","parameters":{"type":"object","properties":{}}}}
{"type":"function","function":{"name":"f","description":"Why.","parameters":{"type":"object","properties":{}}}}
To call one, write exactly
<tool_call>{"name":"<name>","arguments":<arguments>}</tool_call>
with the arguments as compact JSON that follows the tool's parameters."""
OUR_TOOLS = [Tool("ping", None, EMPTY), Tool("f", "Why.", EMPTY)]
USER: Any = {"role": "user", "content": [{"type": "text", "text": "H"}, {"type": "text", "text": "i"}]}


def test_the_tools_are_told_in_the_first_system_message() -> None:
    system: Any = {"role": "system", "content": "Be."}
    developer: Any = {"role": "developer", "content": ""}
    assert render_messages([USER], OUR_TOOLS) == [("system", TOLD), ("user", "Hi")]
    assert render_messages([USER, system, USER, developer], OUR_TOOLS) == [
        ("user", "Hi"),
        ("system", f"Be.\n\n{TOLD}"),
        ("user", "Hi"),
        ("system", ""),
    ]
    assert render_messages([developer, USER, system], OUR_TOOLS) == [
        ("system", TOLD),
        ("user", "Hi"),
        ("system", "Be."),
    ]
    assert render_messages([system, developer, USER], []) == [
        ("system", "Be."),
        ("system", ""),
        ("user", "Hi"),
    ]


HISTORY: Any = [
    {"role": "developer", "content": "Be."},
    USER,
    {"role": "assistant", "content": "", "tool_calls": []},
    {"role": "assistant", "tool_calls": [{"id": "1", "function": {"name": "f", "arguments": '{"a":1}'}}]},
    {"role": "tool", "tool_call_id": "1", "content": "one"},
]


class Recorder:
    """A template that keeps what it is given."""

    def __init__(self, takes_tools: bool) -> None:
        self.takes_tools = takes_tools
        self.given: tuple[Any, ...] = ()

    def render(self, *given: Any) -> str:
        self.given = given
        return "text"


def test_a_template_that_takes_tools_gets_each_message_as_it_came() -> None:
    template = Recorder(takes_tools=True)
    assert render_prompt(template, HISTORY, OUR_TOOLS, "<s>", "</s>") == "text"
    empty = {"type": "object", "properties": {}}
    assert template.given == (
        [
            {"role": "system", "content": "Be."},
            {"role": "user", "content": "Hi"},
            {"role": "assistant", "content": ""},
            {
                "role": "assistant",
                "content": "",
                "tool_calls": [{"type": "function", "function": {"name": "f", "arguments": {"a": 1}}}],
            },
            {"role": "tool", "content": "one"},
        ],
        [
            {"type": "function", "function": {"name": "ping", "parameters": empty}},
            {"type": "function", "function": {"name": "f", "description": "Why.", "parameters": empty}},
        ],
        "<s>",
        "</s>",
    )


OUR_TURNS = [
    ("system", "Be."),
    ("user", "Hi"),
    ("assistant", ""),
    ("assistant", '<tool_call>{"name":"f","arguments":{"a":1}}</tool_call>'),
    ("user", "<tool_response>one</tool_response>"),
]


@pytest.mark.parametrize(("takes_tools", "tools"), [(True, []), (False, []), (False, OUR_TOOLS)])
def test_any_other_template_gets_our_turns_and_no_tools(takes_tools: bool, tools: list[Tool]) -> None:
    template = Recorder(takes_tools)
    render_prompt(template, HISTORY, tools, "<s>", "</s>")
    first = ("system", f"Be.\n\n{TOLD}") if tools else OUR_TURNS[0]
    turns = [{"role": role, "content": text} for role, text in [first, *OUR_TURNS[1:]]]
    assert template.given == (turns, [], "<s>", "</s>")


def test_a_template_that_takes_tools_gets_no_message_that_cannot_be_read() -> None:
    template = Recorder(takes_tools=True)
    with pytest.raises(ToolError, match=r"^messages\[0\]\.content: it is missing; give text$"):
        render_prompt(template, [{"role": "user"}], OUR_TOOLS, "", "")
    assert template.given == ()


def test_turns_follow_one_another_in_chatml_and_the_answer_is_opened() -> None:
    assert render_prompt(ChatML(), [{"role": "system", "content": "Be."}, USER], [], "<s>", "</s>") == (
        "<|im_start|>system\nBe.<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n"
    )
