"""The server as a process of its own under load, junk and clients that leave: it answers, and its memory is bounded."""

import asyncio
import json
import os
import random
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from jsonschema import Draft202012Validator

from properties.server_fuzz import TOOL, bodies

ROOT = Path(__file__).parent.parent
GROWTH = 200 << 20


SCRIPT = """
import sys
from engine.server.limits import Limits
from engine.server.random_model import EchoModel
from engine.server.run import serve
serve(EchoModel(), Limits(completion_tokens=128), ("127.0.0.1", 0), None, lambda url: print(url, file=sys.stderr))
"""
COMMAND = ["-m", "maskproof", "serve", "--model", "echo", "--port", "0"]


class Process:
    """A server of the echo model on a free port, in a process of its own."""

    def __init__(self, *arguments: str) -> None:
        command = [sys.executable, *(arguments or ("-c", SCRIPT))]
        self.child = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True)
        assert self.child.stderr is not None
        said = self.child.stderr.readline()
        found = re.search(r"http://\S+/v1", said)
        assert found is not None, said
        self.url = found.group()

    def memory(self) -> int:
        """Resident bytes of the server, without its compilers."""
        status = Path(f"/proc/{self.child.pid}/status").read_text(encoding="ascii")
        found = re.search(r"VmRSS:\s+(\d+) kB", status)
        assert found is not None
        return int(found.group(1)) << 10

    def stop(self) -> int:
        self.child.send_signal(signal.SIGINT)
        try:
            return self.child.wait(30)
        except subprocess.TimeoutExpired:
            self.child.kill()
            raise


@pytest.fixture(scope="module")
def server() -> Iterator[Process]:
    process = Process()
    yield process
    if process.child.poll() is None:
        assert process.stop() == 0


def is_well(server: Process) -> None:
    """It still says what it is asked to."""
    fields = {
        "model": "echo",
        "messages": [{"role": "user", "content": "Say exactly: well"}],
        "temperature": 0,
    }
    answer = httpx.post(server.url + "/chat/completions", json=fields, timeout=60).json()
    assert answer["choices"][0]["message"]["content"] == "well"


async def outcome(client: httpx.AsyncClient, number: int, rng: random.Random) -> str:
    """One of many requests: forced calls, text, streams; a third of the clients leave early."""
    fields: dict[str, Any] = {
        "model": "echo",
        "messages": [{"role": "user", "content": f"Hi {number}"}],
        "max_tokens": 100,
    }
    if number % 2:
        fields |= {"tools": [TOOL], "tool_choice": "required", "parallel_tool_calls": False}
    fields["stream"] = number % 4 < 2
    leaves = rng.random() < 0.33
    try:
        async with client.stream("POST", "/chat/completions", json=fields) as response:
            if leaves:
                await asyncio.sleep(rng.random() / 4)
                return "left"
            text = (await response.aread()).decode()
    except httpx.HTTPError as error:
        return f"broken: {error!r}"
    if response.status_code == 429:
        return "busy"
    assert response.status_code == 200, text
    if number % 2:
        function = call_of(text, fields["stream"])
        Draft202012Validator(TOOL["function"]["parameters"]).validate(json.loads(function[1]))  # type: ignore[index]
        assert function[0] == "get_weather"
    return "finished"


def call_of(text: str, streamed: bool) -> tuple[str, str]:
    """Name and arguments of the one call."""
    if not streamed:
        call = json.loads(text)["choices"][0]["message"]["tool_calls"][0]["function"]
        return call["name"], call["arguments"]
    lines = [line[6:] for line in text.split("\n\n") if line and not line.endswith("[DONE]")]
    deltas = [c["delta"] for line in lines for c in json.loads(line)["choices"]]
    functions = [call["function"] for delta in deltas for call in delta.get("tool_calls", [])]
    return functions[0]["name"], "".join(function["arguments"] for function in functions)


def test_two_hundred_at_once_with_clients_that_leave(server: Process) -> None:
    """Every request that was not left is answered, every call valid; then nothing runs and memory is as before."""
    is_well(server)
    before = server.memory()

    async def all_of_them() -> list[str]:
        rng = random.Random(5)
        limits = httpx.Limits(max_connections=None)
        async with httpx.AsyncClient(base_url=server.url, timeout=300, limits=limits) as client:
            return await asyncio.gather(*(outcome(client, number, rng) for number in range(200)))

    outcomes = asyncio.run(all_of_them())
    assert set(outcomes) == {"finished", "left"}
    assert outcomes.count("finished") > 100
    is_well(server)
    assert server.memory() - before < GROWTH
    health = httpx.get(server.url.removesuffix("/v1") + "/healthz").json()
    assert health["waiting"] == 0


def fuzzed(server: Process, count: int, seed: int) -> dict[int, int]:
    """How often each status came; no answer is a fault of the server's own, every refusal has its shape."""
    statuses: dict[int, int] = {}
    with httpx.Client(base_url=server.url, timeout=120) as client:
        for body in bodies(count, seed):
            response = client.post("/chat/completions", content=body)
            statuses[response.status_code] = statuses.get(response.status_code, 0) + 1
            assert response.status_code < 500, (body[:300], response.text)
            if response.status_code != 200:
                error = response.json()["error"]
                assert isinstance(error["message"], str) and set(error) == {
                    "message",
                    "type",
                    "param",
                    "code",
                }
    return statuses


def test_three_hundred_malformed_bodies_take_nothing_down(server: Process) -> None:
    before = server.memory()
    statuses = fuzzed(server, 300, 1)
    assert statuses[400] > 50 and statuses[200] > 10 and statuses[422] > 5
    is_well(server)
    assert server.memory() - before < GROWTH


@pytest.mark.slow
def test_two_thousand_malformed_bodies_take_nothing_down(server: Process) -> None:
    before = server.memory()
    statuses = fuzzed(server, 2000, 2)
    assert sum(statuses.values()) == 2000
    is_well(server)
    assert server.memory() - before < GROWTH


RAW = [
    b"",
    b"\r\n\r\n",
    b"GET\r\n\r\n",
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" * 20,
    b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: -5\r\n\r\n",
    b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999999\r\n\r\n{",
    b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\n",
    b"GET /healthz HTTP/1.1\r\nX: " + b"a" * 200_000,
    b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n{",
]


def test_junk_on_the_wire_and_half_requests_take_nothing_down(server: Process) -> None:
    """Each is sent and left open; the server answers others meanwhile."""
    address = re.search(r"//([\d.]+):(\d+)", server.url)
    assert address is not None
    sockets = []
    for data in RAW * 4:
        connection = socket.create_connection((address[1], int(address[2])), timeout=10)
        sockets.append(connection)
        connection.sendall(data[:1000])
    is_well(server)
    for connection in sockets:
        connection.close()
    is_well(server)


def test_a_server_that_is_told_to_stop_ends_in_time_and_leaves_no_child() -> None:
    """`maskproof serve` at SIGINT: exit code 0, and the compilers that it started are gone."""
    process = Process(*COMMAND)
    fields = {
        "model": "echo",
        "messages": [{"role": "user", "content": "x"}],
        "tools": [TOOL],
        "max_tokens": 4,
    }
    httpx.post(process.url + "/chat/completions", json=fields, timeout=60)
    children = (
        Path(f"/proc/{process.child.pid}/task/{process.child.pid}/children")
        .read_text(encoding="ascii")
        .split()
    )
    assert process.stop() == 0
    assert [child for child in children if is_running(int(child))] == []


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return "zombie" not in Path(f"/proc/{pid}/status").read_text(encoding="ascii")
