"""The fields of a chat request that decide how it is decoded; each is checked, none is ignored in silence.

A field that would change the answer and is not supported is 422, an unknown one is 400, and fields that only label a
request (`user`, `metadata`, …) are read and left alone.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from engine.server.errors import bad
from engine.server.limits import Limits
from reference.jsontext import JsonValue

TOOL_FIELDS = ("tools", "tool_choice", "response_format", "parallel_tool_calls")
SAMPLING = (
    "temperature",
    "top_p",
    "top_k",
    "min_p",
    "repetition_penalty",
    "presence_penalty",
    "frequency_penalty",
)
LABELS = frozenset({"user", "metadata", "store", "service_tier", "safety_identifier", "prompt_cache_key"})
NEUTRAL: dict[str, tuple[JsonValue, ...]] = {
    "logit_bias": ({},),
    "modalities": (["text"],),
    "functions": ([],),
    "function_call": ("none",),
}
READ = frozenset(
    {
        "model",
        "messages",
        "n",
        "max_tokens",
        "max_completion_tokens",
        "stop",
        "seed",
        "logprobs",
        "top_logprobs",
    }
    | {"stream", "stream_options", *TOOL_FIELDS, *SAMPLING}
)
UNSUPPORTED = frozenset(
    {"audio", "prediction", "reasoning_effort", "verbosity", "web_search_options", "functions"}
)
MAX_SEED = 1 << 64


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """What a client asked for; `seed` and `max_tokens` are None when it left them open."""

    model: str
    messages: JsonValue
    sampling: Mapping[str, float | int]
    n: int = 1
    max_tokens: int | None = None
    stop: tuple[str, ...] = ()
    seed: int | None = None
    top_logprobs: int | None = None
    stream: bool = False
    include_usage: bool = False


def read_parameters(fields: Mapping[str, JsonValue], limits: Limits) -> ChatRequest:
    """The request of these fields; null counts as left out."""
    given = {name: value for name, value in fields.items() if value is not None}
    _check_names(given)
    model = given.get("model")
    if not isinstance(model, str):
        raise bad("model", "it is missing; give the name of the model")
    if "messages" not in given:
        raise bad("messages", "it is missing; give at least one message")
    messages = given["messages"]
    if isinstance(messages, list) and len(messages) > limits.messages:
        raise bad("messages", f"{len(messages)} messages are more than {limits.messages}")
    stream = _flag(given, "stream")
    return ChatRequest(
        model=model,
        messages=messages,
        sampling={name: _number(given, name) for name in SAMPLING if name in given},
        n=_integer(given, "n", 1, limits.choices) or 1,
        max_tokens=_max_tokens(given, limits),
        stop=_stop(given.get("stop"), limits),
        seed=_integer(given, "seed", -MAX_SEED, MAX_SEED),
        top_logprobs=_top_logprobs(given, limits),
        stream=stream,
        include_usage=_include_usage(given, stream),
    )


def _check_names(given: Mapping[str, JsonValue]) -> None:
    for name, value in given.items():
        if name in LABELS or name in READ or value in NEUTRAL.get(name, ()):
            continue
        if name in UNSUPPORTED or name in NEUTRAL:
            raise bad(name, "this server does not do it; leave it out", 422, "unsupported_parameter")
        raise bad(name[:64], "unknown field; leave it out", code="unknown_parameter")


def _flag(given: Mapping[str, JsonValue], name: str) -> bool:
    value = given.get(name, False)
    if not isinstance(value, bool):
        raise bad(name, "it is true or false")
    return value


def _integer(given: Mapping[str, JsonValue], name: str, least: int, most: int) -> int | None:
    value = given.get(name)
    if value is None:
        return None
    if not isinstance(value, int) or isinstance(value, bool):
        raise bad(name, "it is an integer")
    if not least <= value <= most:
        raise bad(name, f"{_short(value)} is not within {least} … {most}")
    return value


def _short(value: int) -> str:
    return str(value) if value.bit_length() < 128 else f"an integer of {value.bit_length()} bits"


def _number(given: Mapping[str, JsonValue], name: str) -> float | int:
    value = given[name]
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise bad(name, "it is a number")
    if (isinstance(value, int) and value.bit_length() > 64) or (
        isinstance(value, float) and not math.isfinite(value)
    ):
        raise bad(name, "it is out of range")
    if name == "top_k" and not isinstance(value, int):
        raise bad(name, "it is an integer")
    return value


def _max_tokens(given: Mapping[str, JsonValue], limits: Limits) -> int | None:
    newer = _integer(given, "max_completion_tokens", 1, limits.completion_tokens)
    older = _integer(given, "max_tokens", 1, limits.completion_tokens)
    if newer is not None and older is not None and newer != older:
        raise bad("max_tokens", "it differs from max_completion_tokens; give one of them")
    return older if newer is None else newer


def _stop(value: JsonValue, limits: Limits) -> tuple[str, ...]:
    stops = [] if value is None else [value] if isinstance(value, str) else value
    if not isinstance(stops, list) or not all(isinstance(stop, str) and stop for stop in stops):
        raise bad("stop", "it is a text or a list of texts, none of them empty")
    if len(stops) > limits.stops or any(len(str(stop)) > limits.stop_characters for stop in stops):
        raise bad("stop", f"at most {limits.stops} texts of at most {limits.stop_characters} characters")
    return tuple(str(stop) for stop in stops)


def _top_logprobs(given: Mapping[str, JsonValue], limits: Limits) -> int | None:
    wanted = _flag(given, "logprobs")
    count = _integer(given, "top_logprobs", 0, limits.alternatives)
    if count is not None and not wanted:
        raise bad("top_logprobs", "it goes with logprobs: true")
    return (count or 0) if wanted else None


def _include_usage(given: Mapping[str, JsonValue], stream: bool) -> bool:
    options = given.get("stream_options")
    if options is None:
        return False
    if not stream:
        raise bad("stream_options", "it goes with stream: true")
    if not isinstance(options, dict):
        raise bad("stream_options", "it is an object")
    present = {name: value for name, value in options.items() if value is not None}
    for name in present:
        if name not in ("include_usage", "include_obfuscation"):
            raise bad(f"stream_options.{name[:64]}", "unknown field; leave it out", code="unknown_parameter")
    return _flag(present, "include_usage")
