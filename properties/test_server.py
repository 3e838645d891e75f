"""The server over HTTP: limits, errors, budgets, streams, disconnects; loopback only, ended with the test."""

import asyncio
import json
import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

import httpx
import numpy as np
import pytest
from jsonschema import Draft202012Validator

from engine.errors import BadInput
from engine.server import constraints
from engine.server.compiler import Compiler, translate
from engine.server.constraints import Language, free_text, tokens_needed
from engine.server.errors import ApiError
from engine.server.generation import Finished, Output, Plan
from engine.server.languages import Languages
from engine.server.limits import Limits
from engine.server.queue import Job, Scheduler
from engine.server.random_model import EchoModel, RandomModel, byte_vocabulary
from engine.server.run import model_named, running
from engine.server.stops import StopScanner
from properties.tool_texts import CALL, PING
from reference.masks import TokenIndex
from reference.sampling import SamplingParams

WEATHER = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
}
LIMITS = Limits(
    body=64 << 10,
    schemas=8 << 10,
    states=3000,
    compile_seconds=5,
    grammars=4,
    waiting=300,
    prompt_tokens=3000,
)
Client = httpx.Client


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with running(EchoModel(), LIMITS) as url, Client(base_url=url, timeout=60) as found:
        yield found


def body(**fields: Any) -> dict[str, Any]:
    return {"model": "echo", "messages": [{"role": "user", "content": "Hi"}], "max_tokens": 40, **fields}


def say(text: str, **fields: Any) -> dict[str, Any]:
    return body(messages=[{"role": "user", "content": f"Say exactly: {text}"}], temperature=0, **fields)


def ask(client: Client, fields: dict[str, Any]) -> Any:
    response = client.post("/chat/completions", json=fields)
    assert response.status_code == 200, response.text
    return response.json()


REFUSED: list[tuple[dict[str, Any], int, str | None]] = [
    ({"n": 0}, 400, "n"),
    ({"n": 9}, 400, "n"),
    ({"n": 1.5}, 400, "n"),
    ({"n": True}, 400, "n"),
    ({"max_tokens": 0}, 400, "max_tokens"),
    ({"max_tokens": 10**30}, 400, "max_tokens"),
    ({"max_tokens": 5, "max_completion_tokens": 6}, 400, "max_tokens"),
    ({"stop": ["a", ""]}, 400, "stop"),
    ({"stop": ["a"] * 5}, 400, "stop"),
    ({"stop": "x" * 300}, 400, "stop"),
    ({"seed": "1"}, 400, "seed"),
    ({"temperature": -0.1}, 400, "temperature"),
    ({"temperature": "hot"}, 400, "temperature"),
    ({"temperature": 10**400}, 400, "temperature"),
    ({"top_p": 0}, 400, "top_p"),
    ({"top_p": 1.1}, 400, "top_p"),
    ({"top_k": 2.0}, 400, "top_k"),
    ({"presence_penalty": 3}, 400, "presence_penalty"),
    ({"logprobs": 1}, 400, "logprobs"),
    ({"top_logprobs": 2}, 400, "top_logprobs"),
    ({"logprobs": True, "top_logprobs": 21}, 400, "top_logprobs"),
    ({"stream": "yes"}, 400, "stream"),
    ({"stream_options": {"include_usage": True}}, 400, "stream_options"),
    ({"stream": True, "stream_options": {"speed": 1}}, 400, "stream_options.speed"),
    ({"messages": None}, 400, "messages"),
    ({"messages": [{"role": "user", "content": "x" * 4000}]}, 400, "messages"),
    ({"messages": [{"role": "user", "content": ""}] * 1100}, 400, "messages"),
    ({"model": None}, 400, "model"),
    ({"model": "gpt"}, 404, "model"),
    ({"logit_bias": {"5": 1}}, 422, "logit_bias"),
    ({"functions": [{"name": "f"}]}, 422, "functions"),
    ({"colour": "red"}, 400, "colour"),
    ({"tools": [{"type": "function", "function": {"name": "f", "description": "x" * 9000}}]}, 413, "tools"),
]


@pytest.mark.parametrize(("fields", "status", "param"), REFUSED)
def test_what_cannot_be_used_is_told_with_its_place(
    client: Client, fields: dict[str, Any], status: int, param: str | None
) -> None:
    response = client.post("/chat/completions", content=json.dumps(body(**fields)))
    error = response.json()["error"]
    assert (response.status_code, error["param"], set(error)) == (
        status,
        param,
        {"message", "type", "param", "code"},
    )
    assert error["type"] == "invalid_request_error" and "\n" not in error["message"]


def test_labels_and_neutral_fields_are_taken(client: Client) -> None:
    fields = {"user": "u", "metadata": {"a": "b"}, "logit_bias": {}, "functions": [], "n": None, "stop": None}
    assert ask(client, body(**fields))["object"] == "chat.completion"


def test_a_body_over_the_limit_is_413_with_or_without_its_length(client: Client) -> None:
    large = json.dumps(body(user="x" * (70 << 10))).encode()
    halves = (part for part in (large[: 35 << 10], large[35 << 10 :]))
    for content in (large, halves):
        response = client.post("/chat/completions", content=content)
        assert (response.status_code, response.json()["error"]["code"]) == (413, "request_too_large")


def test_a_key_given_twice_and_bytes_that_are_no_text_are_refused(client: Client) -> None:
    for content in (
        b'{"model":"echo","model":"echo"}',
        b'{"model":"\xff"}',
        b"",
        b'{"a":NaN}',
        b"\xef\xbb\xbf{}",
    ):
        response = client.post("/chat/completions", content=content)
        assert (response.status_code, response.json()["error"]["code"]) == (400, "invalid_json")


def test_routes_and_methods_that_are_not_there_answer_in_the_same_shape(client: Client) -> None:
    for response in (client.get("/nothing"), client.get("/chat/completions"), client.delete("/models")):
        assert response.status_code in (404, 405)
        assert response.json()["error"]["code"] in ("not_found", "method_not_allowed")


def test_models_and_health_are_told(client: Client) -> None:
    assert client.get("/models").json()["data"][0]["id"] == "echo"
    assert client.get("/models/echo").json()["object"] == "model"
    assert client.get("/models/other").status_code == 404
    health = client.get(str(client.base_url).removesuffix("/v1/") + "/healthz").json()
    assert health["status"] == "ok" and health["model"] == "echo"


def test_a_key_is_asked_for_when_there_is_one() -> None:
    with running(EchoModel(), LIMITS, api_key="sesame") as url, Client(base_url=url) as client:
        assert client.get("/models").status_code == 401
        for wrong in ("Bearer wrong", "Basic sesame", "sesame", "Bearer", "Bearer sesame2", "Bearer séame"):
            answer = client.get("/models", headers={"Authorization": wrong.encode()})
            assert (answer.status_code, answer.json()["error"]["code"]) == (401, "invalid_api_key")
        assert client.get("/models", headers={"Authorization": "Bearer sesame"}).status_code == 200


BOMB = {"type": "object", "properties": {f"p{i}": {"type": "string"} for i in range(12)}}


def bomb(depth: int) -> dict[str, Any]:
    """A small schema whose pattern grows twelvefold a level."""
    return (
        BOMB if depth == 0 else {"type": "object", "properties": {**BOMB["properties"], "z": bomb(depth - 1)}}
    )  # type: ignore[dict-item]


@pytest.mark.parametrize("depth", [2, 6])
def test_a_schema_that_explodes_is_refused_and_the_server_goes_on(client: Client, depth: int) -> None:
    started = time.monotonic()
    tool = {"type": "function", "function": {"name": "f", "parameters": bomb(depth)}}
    response = client.post("/chat/completions", json=body(tools=[tool], tool_choice="required"))
    assert response.status_code == 422 and response.json()["error"]["param"].startswith("tools")
    assert ask(client, say("still here"))["choices"][0]["message"]["content"] == "still here"
    assert time.monotonic() - started < 40


def test_a_compiler_that_does_not_answer_is_replaced() -> None:
    compiler = Compiler(Limits(compile_seconds=0.001, compilers=1))
    with pytest.raises(ApiError) as caught:
        compiler.compile(json.dumps({"tools": [WEATHER]}))
    assert (caught.value.status, caught.value.code) == (422, "grammar_too_large")
    compiler.close()
    patient = Compiler(Limits(compilers=1))
    assert patient.compile(json.dumps({"tools": [WEATHER]})).has_calls
    patient.close()


def test_equal_grammars_are_compiled_once_and_the_oldest_go_first() -> None:
    made: list[str] = []

    class Counting(Compiler):
        def compile(self, fields: str) -> Any:
            made.append(fields)
            return translate(fields, 5000)

    async def scenario() -> Languages:
        languages = Languages(byte_vocabulary(), Counting(LIMITS), LIMITS)
        texts = [
            json.dumps({"tools": [{"type": "function", "function": {"name": f"f{i}"}}]}) for i in range(6)
        ]
        await asyncio.gather(*(languages.get(texts[0]) for _ in range(5)))
        for text in texts:
            await languages.get(text)
        await languages.get(texts[5])
        await languages.get(texts[0])
        return languages

    languages = asyncio.run(scenario())
    assert len(made) == 7, "six grammars, and the first again after four others pushed it out"
    assert languages.worst_bytes() > 0
    languages.close()


def test_refusals_are_kept_too() -> None:
    made: list[str] = []

    class Refusing(Compiler):
        def compile(self, fields: str) -> Any:
            made.append(fields)
            raise ApiError(422, "no")

    async def scenario() -> None:
        languages = Languages(byte_vocabulary(), Refusing(LIMITS), LIMITS)
        for _ in range(3):
            with pytest.raises(ApiError, match="no"):
                await languages.get("x")
        languages.close()

    asyncio.run(scenario())
    assert made == ["x"]


def language(choice: Any = "required", **fields: Any) -> Language:
    compiled = translate(json.dumps({"tools": [WEATHER], "tool_choice": choice, **fields}), 20_000)
    vocabulary = byte_vocabulary()
    assert compiled.automaton is not None
    whole = TokenIndex(compiled.automaton, vocabulary)
    needed = tokens_needed(whole)
    assert needed is not None
    if compiled.trigger is None:
        return Language(vocabulary, None, None, whole, needed, has_calls=True)
    free = TokenIndex(free_text(compiled.trigger, ends_there=True), vocabulary)
    return Language(
        vocabulary, free, TokenIndex(free_text(compiled.trigger), vocabulary), whole, needed, True
    )


def generate(found: Language, max_tokens: int, seed: int, wanted: str = "") -> Finished:
    """One output of the echo model when it is told what to say, of the random one else."""
    model = EchoModel(found.vocabulary) if wanted else RandomModel(found.vocabulary, seed=seed)
    prompt = tuple(model.chat([("user", f"Say exactly: {wanted}" if wanted else "x")]))
    plan = Plan("r", prompt, found, SamplingParams(), seed, max_tokens)
    output = Output(plan, 0)
    while True:
        for item in output.take(model.next_logits([*prompt, *output.tokens])):
            if isinstance(item, Finished):
                return item


def test_max_tokens_never_cuts_a_call_that_fits() -> None:
    """For every budget from the fewest tokens a call needs: whole, within it; one token less: length."""
    found = language(parallel_tool_calls=False)
    least = found.needed - 1
    for budget in [*range(least, least + 6), 80, 200]:
        for seed in range(4):
            finished = generate(found, budget, seed)
            assert (finished.reason, finished.tokens <= budget) == ("tool_calls", True)
    assert generate(found, least - 1, 0).reason == "length"


def test_automatic_choice_begins_no_call_that_cannot_end() -> None:
    """With the budget one token short of the call that the model wants, the trigger itself is masked."""
    found = language("auto")
    whole = generate(found, 400, 0, "ok " + CALL)
    assert whole.reason == "tool_calls"
    short = generate(found, 20, 0, "ok " + CALL)
    assert (short.reason, short.tokens) == ("length", 20)


def test_free_text_is_every_text_without_the_trigger_inside() -> None:
    """The automaton against `in`, for all short texts over the trigger's own characters."""
    trigger = b"aab"
    dfa, quiet = free_text(trigger, ends_there=True), free_text(trigger)
    for length in range(8):
        for number in range(3**length):
            text = bytes(b"abc"[number // 3**i % 3] for i in range(length))
            assert runs(dfa, text) == (trigger not in text[:-1]), text
            assert runs(quiet, text) == (trigger not in text), text


def runs(automaton: Any, text: bytes) -> bool:
    state = 0
    for byte in text:
        state = int(automaton.trans[state, byte]) if state >= 0 else -1
    return state >= 0


def test_a_token_that_runs_past_the_trigger_is_masked() -> None:
    """After `<tool_call` the token `>{` is masked in free text and `>` is not."""
    found = language("auto")
    constraint = found.begin(100)
    for byte in b"<tool_call":
        constraint.advance(byte)
    past = found.vocabulary.tokens.index(b">{")
    assert not constraint.mask()[past] and constraint.mask()[ord(">")]
    constraint.advance(ord(">"))
    assert np.flatnonzero(constraint.mask()).tolist() == [ord("{"), found.vocabulary.tokens.index(b'{"')]
    assert not constraints.is_free_now(constraint)


def test_stop_texts_are_found_across_pieces_and_never_shown() -> None:
    """For every cut of the text, what passes is what stands before the first stop text."""
    text, stops = "one two three", ["two t", "thr"]
    for cut in range(len(text) + 1):
        for other in range(cut, len(text) + 1):
            scanner = StopScanner(stops)
            shown = "".join(scanner.push(piece) for piece in (text[:cut], text[cut:other], text[other:]))
            assert (shown + scanner.flush(), scanner.hit) == ("one ", True)
    scanner = StopScanner(["two"])
    assert scanner.push("one tw") == "one " and scanner.flush() == "tw" and not scanner.hit


def test_none_never_calls_whatever_the_model_writes(client: Client) -> None:
    message = ask(client, say(PING, tools=[WEATHER], tool_choice="none", max_tokens=80))["choices"][0][
        "message"
    ]
    assert "tool_calls" not in message and message["content"] == PING


def test_a_cut_call_ends_with_length_and_shows_no_markup(client: Client) -> None:
    for budget in (3, 20, 30):
        choice = ask(client, say(CALL, tools=[WEATHER], tool_choice="required", max_tokens=budget))[
            "choices"
        ][0]
        assert choice["finish_reason"] == "length"
        assert not (choice["message"]["content"] or "")


def test_a_body_or_a_header_that_does_not_come_in_time_ends_the_connection() -> None:
    """A half body is 408, a half header is closed; both leave the server to others."""
    head = b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 50\r\n\r\n"
    with running(EchoModel(), Limits(body_seconds=0.3, header_seconds=0.3)) as url:
        port = int(url.split(":")[2].split("/")[0])
        assert received(port, head + b"{").startswith(b"HTTP/1.1 408")
        assert received(port, head[:30]) == received(port, b"") == b""
        again = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
        assert received(port, again + b"GET /heal").startswith(b"HTTP/1.1 200")


def received(port: int, data: bytes) -> bytes:
    """All that comes back until the server closes the connection."""
    with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
        connection.sendall(data)
        return b"".join(iter(lambda: connection.recv(65536), b""))


def test_one_seed_gives_one_answer_and_choices_differ(client: Client) -> None:
    first, again = (ask(client, body(seed=4, n=2)) for _ in range(2))
    texts = [[choice["message"]["content"] for choice in answer["choices"]] for answer in (first, again)]
    assert texts[0] == texts[1] and texts[0][0] != texts[0][1]


def test_ids_of_calls_differ_between_choices(client: Client) -> None:
    answer = ask(client, body(n=3, tools=[WEATHER], tool_choice="required", max_tokens=100))
    ids = [call["id"] for choice in answer["choices"] for call in choice["message"]["tool_calls"]]
    assert len(set(ids)) == len(ids) >= 3


def test_stop_does_not_cut_a_call(client: Client) -> None:
    answer = ask(
        client, say(CALL, tools=[WEATHER], tool_choice="required", stop=["Par", "}"], max_tokens=200)
    )
    arguments = answer["choices"][0]["message"]["tool_calls"][0]["function"]["arguments"]
    assert json.loads(arguments) == {"city": "Paris"}


class Slow(EchoModel):
    """A fiftieth of a second a step: what it is asked to say here would take forty seconds."""

    def next_logits(self, ids: Any) -> Any:
        time.sleep(0.02)
        return super().next_logits(ids)


@pytest.mark.parametrize("stream", [True, False])
def test_a_client_that_leaves_frees_its_rows(stream: bool) -> None:
    """Streams and whole answers alike: after all clients left, nothing waits and nothing runs, long before the end."""
    with running(Slow(), LIMITS) as url:
        asked = say("x" * 2000, max_tokens=4000, stream=stream)
        threads = [threading.Thread(target=leave_early, args=(url, asked)) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert emptied(url.removesuffix("/v1"), 10)


def leave_early(base: str, fields: dict[str, Any]) -> None:
    with Client(base_url=base, timeout=0.5) as client:
        try:
            with client.stream("POST", "/chat/completions", json=fields) as response:
                next(response.iter_raw())
        except (httpx.TimeoutException, StopIteration):
            pass


def emptied(base: str, seconds: float = 20) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        load = httpx.get(base + "/healthz", timeout=20).json()
        if (load["waiting"], load["rows"]) == (0, 0):
            return True
        time.sleep(0.1)
    return False


def test_a_full_queue_is_429_and_empties_again() -> None:
    limits = Limits(rows=1, waiting=2, request_seconds=30)
    with running(EchoModel(), limits) as url, Client(base_url=url, timeout=30) as client:
        statuses: list[int] = []

        def one() -> None:
            answer = client.post(
                "/chat/completions", json=body(max_tokens=150, tools=[WEATHER], tool_choice="required")
            )
            statuses.append(answer.status_code)
            if answer.status_code == 429:
                assert (
                    answer.headers["retry-after"] and answer.json()["error"]["code"] == "rate_limit_exceeded"
                )

        threads = [threading.Thread(target=one) for _ in range(16)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert set(statuses) == {200, 429}
        assert ask(client, say("again"))["choices"][0]["message"]["content"] == "again"


class Failing(RandomModel):
    """Raises, or gives NaN, for the prompts that ask for it."""

    def next_logits(self, ids: Any) -> Any:
        text = bytes(token for token in ids if token < 256).decode(errors="replace")
        if "raise" in text:
            raise RuntimeError("broken")
        logits = super().next_logits(ids)
        return logits * np.nan if "nan" in text else logits


@pytest.mark.parametrize("word", ["raise", "nan"])
def test_a_model_that_fails_ends_its_own_requests_only(word: str) -> None:
    with running(Failing(), LIMITS) as url, Client(base_url=url, timeout=30) as client:
        fields = {**body(), "model": "random", "messages": [{"role": "user", "content": word}]}
        answer = client.post("/chat/completions", json=fields)
        assert (answer.status_code, answer.json()["error"]["type"]) == (500, "server_error")
        streamed = client.post("/chat/completions", json={**fields, "stream": True}).text
        assert '"server_error"' in streamed and "[DONE]" not in streamed
        assert ask(client, {**body(), "model": "random"})["choices"]


class Watched(EchoModel):
    """Counts the rows of every batch; the first batch waits until it is let go."""

    def __init__(self) -> None:
        super().__init__()
        self.sizes: list[int] = []
        self.go = threading.Event()

    def rows(self, prompts: Any) -> Any:
        self.sizes.append(len(prompts))
        self.go.wait(20)
        return super().rows(prompts)


def plan(wanted: str, max_tokens: int = 100) -> Plan:
    vocabulary = byte_vocabulary()
    free = Language(vocabulary, TokenIndex(free_text(), vocabulary), None, None, 0, has_calls=False)
    prompt = tuple(EchoModel().chat([("user", f"Say exactly: {wanted}")]))
    return Plan("r", prompt, free, SamplingParams(temperature=0), 0, max_tokens)


def test_requests_that_wait_are_batched_and_a_batch_shrinks_with_its_answers() -> None:
    """One request, then nine that came meanwhile as one batch, packed anew at 4, 2 and 1 rows; all answers right."""
    model = Watched()
    scheduler = Scheduler(model, LIMITS)
    texts = {number: "x" * (10 + 10 * number) for number in range(10)}
    items: dict[int, list[Any]] = {number: [] for number in texts}
    for number, text in texts.items():
        scheduler.submit(Job(plan(text, 300), items[number].append, 60))
        deadline = time.monotonic() + 20
        while not model.sizes and time.monotonic() < deadline:
            time.sleep(0.01)
    model.go.set()
    deadline = time.monotonic() + 60
    while not all(found and isinstance(found[-1], Finished) for found in items.values()):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    scheduler.close()
    assert model.sizes == [1, 9, 4, 2, 1]
    for number, text in texts.items():
        assert "".join(item.event.text for item in items[number][:-1]) == text
        assert items[number][-1].reason == "stop"


def test_a_late_request_ends_with_what_it_has() -> None:
    with running(EchoModel(), Limits(request_seconds=0.3)) as url, Client(base_url=url, timeout=30) as client:
        choice = ask(client, say("x" * 2000, max_tokens=4000))["choices"][0]
        assert choice["finish_reason"] == "length" and set(choice["message"]["content"]) == {"x"}


def test_a_stopping_server_tells_what_it_leaves() -> None:
    scheduler = Scheduler(Slow(), LIMITS)
    items: list[Any] = []
    scheduler.submit(Job(plan("x" * 3000, 100_000), items.append, 60))
    time.sleep(0.1)
    scheduler.close()
    assert isinstance(items[-1], ApiError) and items[-1].status == 429
    with pytest.raises(ApiError, match="try again later"):
        scheduler.submit(Job(plan("x"), items.append, 60))


def test_a_vocabulary_that_cannot_write_the_answer_is_told_before() -> None:
    """Without a token that has `{` no call can be written, and no token is generated to find out."""
    vocabulary = byte_vocabulary()
    tokens = tuple(None if token and b"{" in token else token for token in vocabulary.tokens)
    poor = RandomModel(type(vocabulary)(tokens, vocabulary.eos, "poor"))
    with running(poor, LIMITS) as url, Client(base_url=url, timeout=30) as client:
        fields = {**body(tools=[WEATHER], tool_choice="required"), "model": "random"}
        answer = client.post(
            "/chat/completions", json={**fields, "messages": [{"role": "user", "content": "x"}]}
        )
        assert answer.status_code == 422 and "cannot write any answer" in answer.json()["error"]["message"]


def test_models_by_name() -> None:
    assert model_named("echo", "toy").vocabulary.name == "toy"
    with pytest.raises(BadInput, match="has a vocabulary of its own"):
        model_named("smollm2", "toy")


def test_logprobs_are_those_of_the_masked_distribution(client: Client) -> None:
    entries = ask(client, body(logprobs=True, top_logprobs=5, max_tokens=6, seed=1))["choices"][0][
        "logprobs"
    ]["content"]
    assert 1 <= len(entries) <= 6
    for entry in entries:
        tops = [top["logprob"] for top in entry["top_logprobs"]]
        assert len(tops) == 5 and tops == sorted(tops, reverse=True) and sum(np.exp(tops)) <= 1 + 1e-9
        assert entry["logprob"] <= tops[0] + 1e-9


def test_every_forced_call_of_the_random_model_is_valid(client: Client) -> None:
    """40 forced calls over HTTP, each one whole and accepted by its schema."""
    with running(RandomModel(), LIMITS) as url, Client(base_url=url, timeout=60) as random:
        for seed in range(10):
            fields = {
                **body(n=4, tools=[WEATHER], tool_choice="required", max_tokens=70, seed=seed),
                "model": "random",
            }
            fields["parallel_tool_calls"] = False
            for choice in ask(random, fields)["choices"]:
                assert choice["finish_reason"] == "tool_calls" and len(choice["message"]["tool_calls"]) == 1
                arguments = choice["message"]["tool_calls"][0]["function"]["arguments"]
                Draft202012Validator(WEATHER["function"]["parameters"]).validate(json.loads(arguments))  # type: ignore[index]
