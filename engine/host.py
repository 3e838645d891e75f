"""The host of the port protocol: one child process, judged by what it writes and never trusted to behave.

    with Port([sys.executable, "engine/ports/pure_port.py"]) as port:
        port.request("vocab", tokens=[...], eos=[0])

A port may print anything, read nothing, fork, or stop half way through a line. So every wait watches all three
pipes at once, has a deadline, and looks after the child's memory; whatever goes wrong becomes one `PortFault`
with the kind that DESIGN names (`crash`, `hang`, `garbage`, `memory`), the child's whole process group is
killed, and `restart` begins again with a fresh child. An honest "no" is a `PortError` and leaves the child alive.
The pitfall is waiting for the end of a pipe: a grandchild may hold it open for ever. Read engine/protocol.py next.
"""

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Literal, Self

from engine.errors import BadInput
from engine.process import Watched, limited
from engine.protocol import VERSION, Hello, PortError, Violation, answer_of, hello_of, request_line

FaultKind = Literal["crash", "hang", "garbage", "memory"]
Request = tuple[str, dict[str, Any]]

SLOW_OPS = frozenset({"hello", "vocab", "compile", "dfa", "pattern", "tool_grammar"})
TICK_SECONDS = 0.02


class PortFault(Exception):  # noqa: N818 (the word of DESIGN, not an error of ours)
    """The port did not answer as a port must; it is dead now, and `stderr` holds the end of its log."""

    def __init__(self, kind: FaultKind, message: str, stderr: str = "") -> None:
        """Keep the kind of finding, what happened in words, and the log."""
        super().__init__(f"{kind}: {message}")
        self.kind: FaultKind = kind
        self.message = message
        self.stderr = stderr
        self.answered: list[dict[str, Any] | PortError] = []


@dataclass(frozen=True, slots=True)
class Limits:
    """What a port may take: seconds an answer, seconds for the slow ops, resident bytes, bytes a line, bytes of log.

    `memory` is held against the resident memory of the child and its children, sampled every 20 ms; twice that
    plus 16 GiB is also its address-space limit, for a child that grows faster than it is watched.
    """

    answer_seconds: float = 20.0
    slow_seconds: float = 120.0
    memory: int = 6 << 30
    line: int = 64 << 20
    log: int = 64 << 10

    def seconds(self, op: str) -> float:
        """The time limit of one answer to `op`."""
        return max(self.slow_seconds, self.answer_seconds) if op in SLOW_OPS else self.answer_seconds


@dataclass(slots=True)
class Clock:
    """Where the time of a conversation went: requests answered, and seconds the port had one before it."""

    requests: int = 0
    port_seconds: float = 0.0
    starts: int = 0
    by_op: dict[str, float] = field(default_factory=dict)

    def add(self, op: str, seconds: float) -> None:
        """Count one answered (or failed) request."""
        self.requests += 1
        self.port_seconds += seconds
        self.by_op[op] = self.by_op.get(op, 0.0) + seconds


class Port:
    """A port's child process: `request` sends one op and returns the fields of the answer."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        limits: Limits | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """Remember how the port is started; nothing runs before `start`, which `with` calls."""
        if not command:
            raise BadInput("the command of the port is empty; give a program after '--'")
        self.command = list(command)
        self.limits = limits or Limits()
        self.clock = Clock()
        self.fault: PortFault | None = None
        self._environment = {**os.environ, **(environment or {})}
        self._hello: Hello | None = None
        self._child: Watched | None = None
        self._identifier = 0
        self._unread = bytearray()
        self._log = bytearray()

    def start(self) -> Self:
        """Start the child and hold its hello to the protocol."""
        self.fault, self._hello = None, None
        self._unread, self._log, self._identifier = bytearray(), bytearray(), 0
        self._child = self._spawn()
        self.clock.starts += 1
        fields = self.request("hello", protocol=VERSION)
        try:
            self._hello = hello_of(fields)
        except Violation as error:
            raise self._broken("garbage", str(error)) from error
        return self

    def restart(self) -> Self:
        """A fresh child in place of the old one, which is killed."""
        self.kill()
        return self.start()

    @property
    def hello(self) -> Hello:
        """What the port said of itself."""
        if self._hello is None:
            raise BadInput("the port has not been started; enter its 'with' block or call start()")
        return self._hello

    @property
    def alive(self) -> bool:
        """Whether the child can be asked something."""
        return self._child is not None and self.fault is None

    @property
    def log(self) -> str:
        """The end of what the port wrote to its standard error."""
        return self._log.decode("utf-8", "backslashreplace")

    def request(self, op: str, **fields: Any) -> dict[str, Any]:
        """The fields of the answer; an honest error is raised as PortError, anything else as PortFault."""
        (answer,) = self.batch([(op, fields)])
        if isinstance(answer, PortError):
            raise answer
        return answer

    def batch(self, requests: Sequence[Request]) -> list[dict[str, Any] | PortError]:
        """The answers in order; all requests are under way at once where the port announced pipelining.

        A fault on the way carries the answers before it in `answered`.
        """
        together = self._hello is not None and self._hello.pipelining
        answers: list[dict[str, Any] | PortError] = []
        try:
            for part in [requests] if together else [[request] for request in requests]:
                self._exchange(part, answers)
        except PortFault as fault:
            fault.answered = answers
            raise
        return answers

    def bye(self) -> None:
        """Say goodbye; a port that then does not exit with status 0 in time is a fault."""
        self.request("bye")
        child = self._living()
        deadline = time.monotonic() + self.limits.answer_seconds
        while not child.is_over():
            self._pump(child, b"", deadline)
            if time.monotonic() > deadline:
                raise self._broken("hang", "said goodbye and did not exit")
        status = child.status
        if status != 0:
            raise self._broken("crash", f"said goodbye and {_ending(status)}")
        self.kill()

    def kill(self) -> None:
        """End the child and everything in its process group; never waits long and never fails."""
        if self._child is not None:
            self._child.end()
            self._child = None

    def __enter__(self) -> Self:
        """Start the port for the block."""
        try:
            return self.start()
        except BaseException:
            self.kill()
            raise

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Say goodbye when all is well, and end the child in any case."""
        try:
            if kind is None and self.alive:
                with contextlib.suppress(PortFault, PortError):
                    self.bye()
        finally:
            self.kill()

    def _spawn(self) -> Watched:
        try:
            process = subprocess.Popen(
                self.command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
                start_new_session=True,
                env=self._environment,
            )
        except (OSError, ValueError) as error:
            raise BadInput(
                f"the port {self.command[0]!r} cannot be started: {error}; name a program that exists"
            ) from error
        limited(process.pid, 2 * self.limits.memory + (16 << 30))
        return Watched(process)

    def _living(self) -> Watched:
        if self.fault is not None:
            raise self.fault
        if self._child is None:
            raise BadInput("the port is not running; enter its 'with' block or call start()")
        return self._child

    def _exchange(self, requests: Sequence[Request], answers: list[dict[str, Any] | PortError]) -> None:
        """Send requests, then add their answers one by one, so that a fault leaves those before it."""
        child = self._living()
        self._refuse_leftovers(child)
        first = self._identifier + 1
        self._identifier += len(requests)
        pending = b"".join(
            request_line(identifier, op, fields) for identifier, (op, fields) in enumerate(requests, first)
        )
        for identifier, (op, _) in enumerate(requests, first):
            line, pending = self._timed_line(child, op, pending)
            try:
                answers.append(answer_of(line, identifier))
            except Violation as error:
                raise self._broken("garbage", f"{op}: {error}") from error
        if self._unread:
            raise self._broken("garbage", f"{requests[-1][0]}: printed more than one answer: {self._peek()}")

    def _refuse_leftovers(self, child: Watched) -> None:
        """Whatever was printed since the last answer was not asked for."""
        child.read_output(self._unread, self.limits)
        if self._unread:
            raise self._broken("garbage", f"printed without being asked: {self._peek()}")

    def _timed_line(self, child: Watched, op: str, pending: bytes) -> tuple[bytes, bytes]:
        begun = time.monotonic()
        try:
            return self._line(child, op, pending, begun + self.limits.seconds(op))
        finally:
            self.clock.add(op, time.monotonic() - begun)

    def _line(self, child: Watched, op: str, pending: bytes, deadline: float) -> tuple[bytes, bytes]:
        """Write what is pending and wait for one whole line, whichever the child does first."""
        searched = 0
        while (end := self._unread.find(b"\n", searched)) < 0:
            searched = len(self._unread)
            if searched > self.limits.line:
                raise self._broken("garbage", f"{op}: a line of over {searched} bytes: {self._peek()}")
            over = child.is_over()
            pending = self._pump(child, pending, deadline)
            if (over or child.is_silent) and len(self._unread) == searched:
                child.is_over_within(1.0)
                raise self._died(op, child)
            if time.monotonic() > deadline:
                raise self._broken("hang", f"{op}: {self._silence(op)}")
        line = bytes(self._unread[: end + 1])
        del self._unread[: end + 1]
        return line, pending

    def _pump(self, child: Watched, pending: bytes, deadline: float) -> bytes:
        """One turn of the pipes: write some, read some, then look at the child's memory."""
        wait = max(0.0, min(TICK_SECONDS, deadline - time.monotonic()))
        pending = child.turn(pending, self._unread, self._log, self.limits, wait)
        if (size := child.memory(TICK_SECONDS)) > self.limits.memory:
            raise self._broken(
                "memory", f"took {size >> 20} MiB of memory; the limit is {self.limits.memory >> 20} MiB"
            )
        return pending

    def _silence(self, op: str) -> str:
        limit = f"no answer within {self.limits.seconds(op):g} s"
        return f"{limit}, only half a line: {self._peek()}" if self._unread else limit

    def _died(self, op: str, child: Watched) -> PortFault:
        half = f" in the middle of a line: {self._peek()}" if self._unread else ""
        if child.peak_bytes > 0.9 * self.limits.memory:
            return self._broken(
                "memory", f"{op}: {_ending(child.status)} at {child.peak_bytes >> 20} MiB{half}"
            )
        return self._broken("crash", f"{op}: {_ending(child.status)}{half}")

    def _broken(self, kind: FaultKind, message: str) -> PortFault:
        """The fault, remembered, with the child dead and the rest of its log read."""
        if self._child is not None:
            self._child.read_log(self._log, self.limits.log)
        self.fault = PortFault(kind, message, self.log)
        self.kill()
        return self.fault

    def _peek(self) -> str:
        return repr(bytes(self._unread[:80]).decode("utf-8", "backslashreplace"))


def _ending(status: int | None) -> str:
    if status is None:
        return "closed its output and went on"
    if status >= 0:
        return f"exited with status {status}"
    with contextlib.suppress(ValueError):
        return f"died by signal {signal.Signals(-status).name}"
    return f"died by signal {-status}"
