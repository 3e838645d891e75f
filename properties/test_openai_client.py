"""The official client, unchanged, against the server: whole and streamed answers, its tools helper, its errors."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from engine.models.base import Model
from engine.server.random_model import EchoModel
from engine.server.run import model_named, running

openai = pytest.importorskip("openai", reason="the official client is not installed")
pydantic = pytest.importorskip("pydantic", reason="it comes with the official client")

WEATHER = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "The weather of a city.",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string"}, "unit": {"enum": ["C", "F"]}},
            "required": ["city", "unit"],
            "additionalProperties": False,
        },
    },
}
NAMED = {"type": "function", "function": {"name": "get_weather"}}
ARGUMENTS = '{"city":"Zürich","unit":"C"}'
SAY = f'Say exactly: Sure.<tool_call>{{"name":"get_weather","arguments":{ARGUMENTS}}}</tool_call>'


class GetWeather(pydantic.BaseModel):  # type: ignore[name-defined, misc]
    """The weather of a city."""

    city: str
    days: list[int]


def client_of(url: str, key: str = "unused") -> Any:
    return openai.OpenAI(base_url=url, api_key=key, max_retries=0, timeout=300)


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    with running(EchoModel()) as url:
        yield client_of(url)


def asked(model: str, text: str, **fields: Any) -> dict[str, Any]:
    return {"model": model, "messages": [{"role": "user", "content": text}], "temperature": 0, **fields}


def test_a_whole_answer_with_text_and_a_call(client: Any) -> None:
    answer = client.chat.completions.create(**asked("echo", SAY, tools=[WEATHER], max_tokens=300))
    choice = answer.choices[0]
    assert (choice.message.content, choice.finish_reason) == ("Sure.", "tool_calls")
    assert [(c.function.name, c.function.arguments) for c in choice.message.tool_calls] == [
        ("get_weather", ARGUMENTS)
    ]
    assert answer.usage.total_tokens == answer.usage.prompt_tokens + answer.usage.completion_tokens


def test_a_stream_of_deltas(client: Any) -> None:
    chunks = list(
        client.chat.completions.create(**asked("echo", SAY, tools=[WEATHER], max_tokens=300, stream=True))
    )
    deltas = [choice.delta for chunk in chunks for choice in chunk.choices]
    assert "".join(delta.content or "" for delta in deltas) == "Sure."
    fragments = [call.function.arguments for delta in deltas for call in delta.tool_calls or []]
    assert "".join(fragments) == ARGUMENTS and len(fragments) > 3
    assert chunks[-1].choices[0].finish_reason == "tool_calls"


def test_the_tools_helper_parses_a_call_into_its_model(client: Any) -> None:
    tool = openai.pydantic_function_tool(GetWeather)
    answer = client.chat.completions.parse(
        **asked("echo", "Hi", tools=[tool], tool_choice="required", max_tokens=150)
    )
    for call in answer.choices[0].message.tool_calls:
        assert isinstance(call.function.parsed_arguments, GetWeather)


def test_the_streaming_helper_folds_to_the_same_call(client: Any) -> None:
    with client.chat.completions.stream(**asked("echo", SAY, tools=[WEATHER], max_tokens=300)) as stream:
        kinds = {event.type for event in stream}
        message = stream.get_final_completion().choices[0].message
    assert {
        "content.delta",
        "tool_calls.function.arguments.delta",
        "tool_calls.function.arguments.done",
    } <= kinds
    assert (message.content, message.tool_calls[0].function.arguments) == ("Sure.", ARGUMENTS)


def test_a_conversation_goes_on_after_a_call(client: Any) -> None:
    first = (
        client.chat.completions.create(**asked("echo", SAY, tools=[WEATHER], max_tokens=300))
        .choices[0]
        .message
    )
    messages = [
        {"role": "user", "content": SAY},
        first.model_dump(exclude_none=True),
        {"role": "tool", "tool_call_id": first.tool_calls[0].id, "content": "sunny"},
        {"role": "user", "content": "Say exactly: It is sunny."},
    ]
    answer = client.chat.completions.create(model="echo", messages=messages, tools=[WEATHER], temperature=0)
    assert answer.choices[0].message.content == "It is sunny."


def test_errors_are_the_clients_own_classes(client: Any) -> None:
    wrong: list[tuple[Any, dict[str, Any]]] = [
        (openai.BadRequestError, {"tool_choice": "maybe"}),
        (openai.UnprocessableEntityError, {"response_format": {"type": "json_schema", "json_schema": {}}}),
        (openai.NotFoundError, {"model": "other"}),
    ]
    for kind, fields in wrong:
        with pytest.raises(kind) as caught:
            client.chat.completions.create(**{**asked("echo", "Hi"), **fields})
        assert caught.value.body["message"]
    with running(EchoModel(), api_key="k") as url:
        with pytest.raises(openai.AuthenticationError):
            client_of(url, "wrong").models.list()
        assert [model.id for model in client_of(url, "k").models.list()] == ["echo"]


def forced_calls(model: Model) -> None:
    """Whole and streamed, forced and free: the calls of a real network are valid, and none calls nothing."""
    with running(model) as url:
        client = client_of(url)
        fields = asked(model.name, "What is the weather in Paris, in C?", tools=[WEATHER], max_tokens=40)
        answer = client.chat.completions.create(**fields, tool_choice=NAMED)
        call = answer.choices[0].message.tool_calls[0]
        assert answer.choices[0].finish_reason == "tool_calls"
        Draft202012Validator(WEATHER["function"]["parameters"]).validate(json.loads(call.function.arguments))  # type: ignore[index]
        chunks = list(client.chat.completions.create(**fields, tool_choice=NAMED, stream=True))
        deltas = [
            delta for chunk in chunks for choice in chunk.choices for delta in choice.delta.tool_calls or []
        ]
        assert "".join(delta.function.arguments for delta in deltas) == call.function.arguments
        none = client.chat.completions.create(**{**fields, "max_tokens": 12}, tool_choice="none")
        assert none.choices[0].message.tool_calls is None
        tool = openai.pydantic_function_tool(GetWeather)
        parsed = client.chat.completions.parse(**{**fields, "tools": [tool]}, tool_choice="required")
        assert all(c.function.parsed_arguments is not None for c in parsed.choices[0].message.tool_calls)


@pytest.mark.models
def test_the_tiny_random_qwen3_calls_validly() -> None:
    forced_calls(model_named("tiny-qwen3"))


@pytest.mark.models
def test_smollm2_calls_validly_and_for_the_right_city() -> None:
    model = model_named("smollm2")
    forced_calls(model)
    with running(model) as url:
        fields = asked("smollm2", "What is the weather in Paris, in C?", tools=[WEATHER], max_tokens=40)
        answer = client_of(url).chat.completions.create(**fields, tool_choice=NAMED)
    arguments = json.loads(answer.choices[0].message.tool_calls[0].function.arguments)
    assert arguments == {"city": "Paris", "unit": "C"}


@pytest.mark.models
def test_forty_forced_calls_of_the_tiny_random_qwen3_are_valid() -> None:
    """40 forced calls at temperature 1 over all 151,936 logits, eight choices a request."""
    with running(model_named("tiny-qwen3")) as url:
        client = client_of(url)
        for seed in range(5):
            fields = asked("tiny-qwen3", "Weather?", tools=[WEATHER], max_tokens=40, n=8, seed=seed)
            answer = client.chat.completions.create(**{**fields, "temperature": 1}, tool_choice=NAMED)
            for choice in answer.choices:
                arguments = json.loads(choice.message.tool_calls[0].function.arguments)
                Draft202012Validator(WEATHER["function"]["parameters"]).validate(arguments)  # type: ignore[index]
                assert choice.finish_reason == "tool_calls"
