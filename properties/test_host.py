"""Whatever a port does, the host answers with one fault of the right kind, in time, and goes on with a fresh child."""

import os
import sys
import textwrap
import time
from dataclasses import replace
from pathlib import Path

import pytest

from engine.errors import BadInput
from engine.host import Limits, Port, PortFault
from engine.protocol import PortError

QUICK = Limits(answer_seconds=1.0, slow_seconds=1.0, memory=300 << 20, line=1 << 20, log=4096)

PREAMBLE = """
import json, os, signal, sys, time
def say(**fields):
    sys.stdout.write(json.dumps(fields) + "\\n")
    sys.stdout.flush()
def hello(request, **more):
    answer = dict(id=request["id"], ok=True, name="child", version="1", protocol=1,
                  kinds=["regex.bytes"], features=[])
    answer.update(more)
    say(**answer)
def requests():
    for line in sys.stdin:
        request = json.loads(line)
        if request["op"] == "hello":
            hello(request)
        elif request["op"] == "bye":
            say(id=request["id"], ok=True)
            sys.exit(0)
        else:
            yield request
"""

MISBEHAVIOURS = {
    "prints a huge line": (
        "garbage",
        "sys.stdout.write('x' * (4 << 20)); sys.stdout.flush(); time.sleep(60)",
    ),
    "prints NUL bytes": ("garbage", "sys.stdout.write('\\0\\0\\0\\n'); sys.stdout.flush()"),
    "prints invalid UTF-8": (
        "garbage",
        'os.write(1, b\'{"id": \' + str(i).encode() + b\', "ok": true, "x": "\\xff\\xfe"}\\n\')',
    ),
    "prints half a line and waits": ("hang", 'os.write(1, b\'{"id": 2, "ok"\'); time.sleep(60)'),
    "prints half a line and exits": ("crash", 'os.write(1, b\'{"id": 2, "ok"\'); os._exit(0)'),
    "floods its output": ("garbage", "\nwhile True: os.write(1, b'spam\\n' * 1000)"),
    "floods its output without a newline": ("garbage", "\nwhile True: os.write(1, b'spam' * 1000)"),
    "floods its log": ("hang", "\nwhile True: os.write(2, b'spam\\n' * 1000)"),
    "floods its log and dies": ("crash", "os.write(2, b'spam\\n' * 9000 + b'last words\\n'); os._exit(3)"),
    "says nothing": ("hang", "time.sleep(60)"),
    "dies": ("crash", "os._exit(7)"),
    "dies by a signal": ("crash", "os.kill(os.getpid(), signal.SIGSEGV)"),
    "raises": ("crash", "raise RuntimeError('boom')"),
    "stops itself": ("hang", "os.kill(os.getpid(), signal.SIGSTOP)"),
    "closes its output": ("crash", "os.close(1); time.sleep(60)"),
    "leaves a grandchild that holds the pipes": ("crash", "\nif os.fork(): os._exit(5)\ntime.sleep(60)"),
    "leaves a grandchild that goes on writing": (
        "garbage",
        "\nif os.fork(): os._exit(5)\nwhile True: os.write(1, b'spam\\n'); time.sleep(0.001)",
    ),
    "ignores SIGTERM": ("hang", "signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(60)"),
    "answers with a wrong id": ("garbage", "say(id=i + 1, ok=True)"),
    "answers with the id of before": ("garbage", "say(id=i - 1, ok=True)"),
    "answers with a float as id": ("garbage", "say(id=float(i), ok=True)"),
    "answers with true as id": ("garbage", "say(id=True, ok=True)"),
    "answers with a string as id": ("garbage", "say(id=str(i), ok=True)"),
    "answers without an id": ("garbage", "say(ok=True)"),
    "answers twice in one go": (
        "garbage",
        "line = json.dumps(dict(id=i, ok=True)) + '\\n'; os.write(1, (line + line).encode())",
    ),
    "answers twice": ("garbage", "say(id=i, ok=True); say(id=i, ok=True)"),
    "says ok with a number": ("garbage", "say(id=i, ok=1)"),
    "fails without an error": ("garbage", "say(id=i, ok=False)"),
    "fails with an unknown kind": ("garbage", "say(id=i, ok=False, error=dict(kind='oops', message=''))"),
    "answers with a list": ("garbage", "sys.stdout.write('[1]\\n'); sys.stdout.flush()"),
    "answers with NaN": ("garbage", "say(id=i, ok=True, x=float('nan'))"),
    "answers with nested brackets": ("garbage", "os.write(1, b'[' * 200000 + b'\\n')"),
    "prints a log line on its output": ("garbage", "print('loading...', flush=True); say(id=i, ok=True)"),
    "prints an empty line": ("garbage", "print(flush=True); say(id=i, ok=True)"),
    "takes too much memory": ("memory", "\nkept = []\nwhile True: kept.append(bytearray(b'x' * (4 << 20)))"),
    "has a child that takes too much memory": (
        "memory",
        "\nkept = []\nif os.fork(): time.sleep(60)\n"
        "for _ in range(120): kept.append(bytearray(b'x' * (4 << 20)))\ntime.sleep(60)",
    ),
}


def script(tmp_path: Path, body: str, preamble: str = PREAMBLE) -> list[str]:
    path = tmp_path / "child.py"
    path.write_text(preamble + textwrap.dedent(body), encoding="utf-8")
    return [sys.executable, "-S", str(path)]


def misbehaving(tmp_path: Path, action: str) -> list[str]:
    body = "for request in requests():\n    i = request['id']\n" + textwrap.indent(action, "    ") + "\n"
    return script(tmp_path, body)


def ask_twice(port: Port) -> None:
    """A second answer may only be seen with the next request."""
    port.request("mask", session=1)
    time.sleep(0.05)
    port.request("mask", session=1)


@pytest.mark.parametrize("name", MISBEHAVIOURS)
def test_a_misbehaving_port_is_one_fault_of_the_right_kind_in_time(name: str, tmp_path: Path) -> None:
    kind, action = MISBEHAVIOURS[name]
    limits = replace(QUICK, answer_seconds=20.0) if kind == "memory" else QUICK
    with Port(misbehaving(tmp_path, action), limits=limits) as port:
        begun = time.monotonic()
        with pytest.raises(PortFault) as told:
            ask_twice(port)
        assert told.value.kind == kind, told.value.message
        assert time.monotonic() - begun < limits.answer_seconds + 5.0
        with pytest.raises(PortFault):
            port.request("mask", session=1)
        assert port.restart().hello.name == "child"


def test_a_port_that_never_reads_its_input_is_a_hang_even_when_the_request_fills_the_pipe(
    tmp_path: Path,
) -> None:
    command = script(tmp_path, "hello(json.loads(sys.stdin.readline()))\ntime.sleep(60)\n")
    with Port(command, limits=QUICK) as port, pytest.raises(PortFault) as told:
        port.request("vocab", tokens=["AAAA"] * 500_000, eos=[])
    assert told.value.kind == "hang"


def test_a_port_that_answers_before_it_has_read_everything_is_heard(tmp_path: Path) -> None:
    body = """
        hello(json.loads(sys.stdin.readline()))
        head = sys.stdin.read(20)
        say(id=2, ok=True, size=1)
        sys.stdin.readline()
        time.sleep(60)
    """
    with Port(script(tmp_path, body), limits=QUICK) as port:
        assert port.request("vocab", tokens=["AAAA"] * 200_000, eos=[])["size"] == 1


def test_the_grandchildren_die_with_the_port(tmp_path: Path) -> None:
    body = """
        for request in requests():
            pid = os.fork()
            if not pid:
                signal.signal(signal.SIGTERM, signal.SIG_IGN)
                time.sleep(60)
            say(id=request["id"], ok=True, pid=pid)
    """
    with Port(script(tmp_path, body), limits=QUICK) as port:
        pid = port.request("mask", session=1)["pid"]
        os.kill(pid, 0)
    deadline = time.monotonic() + 3
    while (
        Path(f"/proc/{pid}").exists() and "Z" not in Path(f"/proc/{pid}/stat").read_text().split(")")[1][:3]
    ):
        assert time.monotonic() < deadline, "the grandchild lives on"
        time.sleep(0.02)


def test_the_end_of_the_log_comes_with_the_fault(tmp_path: Path) -> None:
    with Port(misbehaving(tmp_path, MISBEHAVIOURS["floods its log and dies"][1]), limits=QUICK) as port:
        with pytest.raises(PortFault) as told:
            port.request("mask", session=1)
        assert told.value.stderr.endswith("last words\n")
        assert len(told.value.stderr) <= QUICK.log


@pytest.mark.parametrize("kind", ["refused", "invalid", "illegal", "unsupported", "internal"])
def test_an_honest_error_is_no_fault_and_the_port_lives(kind: str, tmp_path: Path) -> None:
    action = f"say(id=i, ok=False, error=dict(kind={kind!r}, message='no'))"
    with Port(misbehaving(tmp_path, action), limits=QUICK) as port:
        for _ in range(2):
            with pytest.raises(PortError) as told:
                port.request("compile", kind="regex.bytes", source="a")
            assert told.value.kind == kind and told.value.message == "no"


LIES = {
    "another protocol": {"protocol": 2},
    "a float protocol": {"protocol": 1.0},
    "a boolean protocol": {"protocol": True},
    "an unknown kind": {"kinds": ["regex.pcre"]},
    "kinds that are text": {"kinds": "regex.bytes"},
    "an unknown feature": {"features": ["telepathy"]},
    "no name": {"name": None},
    "nothing to audit": {"kinds": [], "features": []},
    "policies that are a list": {"policies": ["mask"]},
}


@pytest.mark.parametrize("name", LIES)
def test_a_port_that_lies_in_its_hello_is_told_so(name: str, tmp_path: Path) -> None:
    body = f"hello(json.loads(sys.stdin.readline()), **{LIES[name]!r})\ntime.sleep(60)\n"
    with pytest.raises(PortFault) as told, Port(script(tmp_path, body), limits=QUICK):
        pass
    assert told.value.kind == "garbage" and "hello" in told.value.message


def test_a_program_that_is_not_there_is_bad_input() -> None:
    with pytest.raises(BadInput, match="cannot be started"), Port(["./no-such-port"]):
        pass


def test_goodbye_wants_status_zero(tmp_path: Path) -> None:
    body = """
        hello(json.loads(sys.stdin.readline()))
        say(id=json.loads(sys.stdin.readline())["id"], ok=True)
        sys.exit(4)
    """
    port = Port(script(tmp_path, body), limits=QUICK).start()
    with pytest.raises(PortFault) as told:
        port.bye()
    assert told.value.kind == "crash" and "status 4" in told.value.message


def test_goodbye_wants_an_end(tmp_path: Path) -> None:
    body = """
        hello(json.loads(sys.stdin.readline()))
        say(id=json.loads(sys.stdin.readline())["id"], ok=True)
        time.sleep(60)
    """
    port = Port(script(tmp_path, body), limits=QUICK).start()
    with pytest.raises(PortFault) as told:
        port.bye()
    assert told.value.kind == "hang"


ECHO = """
for line in sys.stdin:
    request = json.loads(line)
    if request["op"] == "hello":
        hello(request, pipelining=PIPELINING)
    else:
        say(id=request["id"], ok=True, n=request.get("n"))
    if request["op"] == "bye":
        break
"""


@pytest.mark.parametrize("pipelining", [True, False])
def test_a_batch_is_answered_in_order_with_and_without_pipelining(pipelining: bool, tmp_path: Path) -> None:
    command = script(tmp_path, ECHO.replace("PIPELINING", str(pipelining)))
    with Port(command, limits=QUICK) as port:
        answers = port.batch([("mask", {"n": n}) for n in range(500)])
        assert [answer["n"] for answer in answers if isinstance(answer, dict)] == list(range(500))
        assert port.clock.requests == 501 and port.clock.port_seconds > 0
        port.bye()


def test_a_request_without_pipelining_waits_for_the_answer_before_it(tmp_path: Path) -> None:
    body = """
        import selectors
        hello(json.loads(os.read(0, 1 << 16)))
        for _ in range(3):
            lines = os.read(0, 1 << 16).splitlines()
            say(id=json.loads(lines[0])["id"], ok=True, lines=len(lines))
        time.sleep(60)
    """
    with Port(script(tmp_path, body), limits=QUICK) as port:
        answers = port.batch([("mask", {"session": 1})] * 3)
        assert [answer["lines"] for answer in answers if isinstance(answer, dict)] == [1, 1, 1]
