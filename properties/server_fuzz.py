"""Bodies that are almost right: seeded changes of good requests, in their structure, their numbers and their bytes."""

import copy
import json
import random
from typing import Any

TOOL = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "The weather.",
        "parameters": {
            "type": "object",
            "properties": {
                "city": {"type": "string"},
                "days": {"type": "array", "items": {"type": "integer"}},
            },
            "required": ["city"],
        },
    },
}
GOOD: list[dict[str, Any]] = [
    {"messages": [{"role": "user", "content": "Hi"}], "tools": [TOOL], "tool_choice": "required"},
    {"messages": [{"role": "user", "content": "Hi"}], "n": 2, "stop": ["x"], "seed": 3, "temperature": 0.5},
    {
        "messages": [{"role": "user", "content": "Hi"}],
        "stream": True,
        "stream_options": {"include_usage": True},
    },
    {"messages": [{"role": "user", "content": "Hi"}], "response_format": {"type": "json_object"}},
    {
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "assistant", "tool_calls": [{"id": "1", "function": {"name": "f", "arguments": "{}"}}]},
            {"role": "tool", "tool_call_id": "1", "content": [{"type": "text", "text": "ok"}]},
        ],
        "tools": [TOOL],
        "logprobs": True,
        "top_logprobs": 2,
    },
]
JUNK: list[Any] = [
    None,
    True,
    False,
    0,
    -1,
    1 << 63,
    10**400,
    1.5,
    -0.0,
    1e308,
    "",
    "x",
    "\u0000",
    "é🐈",
    "\ud800",
    "null",
    "a" * 5000,
    [],
    {},
    [[]],
    [None] * 50,
    {"a": {"b": []}},
    {"type": "object"},
    {"$ref": "#"},
    {"type": ["string"]},
    {"enum": []},
    {"type": "string", "pattern": "("},
    {"type": "array", "items": {"type": "object"}, "minItems": 10**9},
]


def bodies(count: int, seed: int) -> list[bytes]:
    """So many bodies, the same for the same seed."""
    rng = random.Random(seed)
    return [_body(rng) for _ in range(count)]


def _body(rng: random.Random) -> bytes:
    body = json.loads(json.dumps({"model": "echo", "max_tokens": 4, **rng.choice(GOOD)}))
    for _ in range(rng.randint(1, 3)):
        _change(rng, body)
    data = json.dumps(body).encode()
    return _garbled(rng, data) if rng.random() < 0.3 else data


def _change(rng: random.Random, body: Any) -> None:
    """Replace, remove, add or move one place of the tree."""
    places = list(_places(body))
    holder, key = rng.choice(places)
    match rng.randrange(4):
        case 0:
            holder[key] = copy.deepcopy(rng.choice(JUNK))
        case 1:
            del holder[key]
        case 2 if isinstance(holder, dict):
            holder[rng.choice(["type", "name", "", "required", "anyOf", "const", "unknown"])] = rng.choice(
                JUNK
            )
        case _:
            holder[key] = [copy.deepcopy(holder[key]) for _ in range(rng.randint(1, 3))]
    if not body:
        body["model"] = "echo"


def _places(value: Any) -> Any:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in list(items):
        yield value, key
        yield from _places(part)


def _garbled(rng: random.Random, data: bytes) -> bytes:
    place = rng.randrange(len(data))
    match rng.randrange(4):
        case 0:
            return data[:place]
        case 1:
            return data[:place] + bytes([rng.randrange(256)]) + data[place + 1 :]
        case 2:
            return (
                data[:place]
                + rng.choice([b"[" * 600, b"\xff", b"\x00", b'"', b"{}", b"\\ud800"])
                + data[place:]
            )
        case _:
            return data + data[: place % 40]
