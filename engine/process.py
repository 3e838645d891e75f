"""A child process under watch: its three pipes without blocking, its memory, its end, and the end of its children.

Used by engine/host.py only. The process group is the unit that is killed; memory is that of the child and of its
descendants. On a system without /proc memory is not watched and only the address-space limit, where there is one,
holds.
"""

import contextlib
import os
import selectors
import signal
import subprocess
import time
from pathlib import Path
from typing import IO, Protocol

CHUNK = 1 << 16
PAGE = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096


class Bounds(Protocol):
    """How much of a line and of a log is kept."""

    @property
    def line(self) -> int:
        """Bytes of a line."""

    @property
    def log(self) -> int:
        """Bytes of a log."""


class Watched:
    """A started child whose pipes are read and written only when they are ready."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        """Make the three pipes non-blocking."""
        assert process.stdin is not None and process.stdout is not None and process.stderr is not None
        self.pid = process.pid
        self.peak_bytes = 0
        self._process = process
        self._input: IO[bytes] = process.stdin
        self._output, self._errors = process.stdout, process.stderr
        self._selector = selectors.DefaultSelector()
        for pipe in (self._output, self._errors):
            os.set_blocking(pipe.fileno(), False)
            self._selector.register(pipe, selectors.EVENT_READ)
        os.set_blocking(self._input.fileno(), False)
        self._writing = False
        self._can_write = True
        self.is_silent = False
        self._looked = time.monotonic()

    @property
    def status(self) -> int | None:
        """The exit status, minus the signal that killed it, None while it runs."""
        return self._process.returncode

    def is_over(self) -> bool:
        """Whether the child itself has ended; its children may live on."""
        if self._process.returncode is None:
            self._reap()
        return self._process.returncode is not None

    def is_over_within(self, seconds: float) -> bool:
        """Whether the child ends within some seconds."""
        deadline = time.monotonic() + seconds
        while not self.is_over() and time.monotonic() < deadline:
            time.sleep(0.005)
        return self.is_over()

    def memory(self, every: float) -> int:
        """The resident bytes of the child and its descendants, looked at once in `every` seconds, else 0."""
        now = time.monotonic()
        if now - self._looked < every:
            return 0
        self._looked = now
        size = resident_bytes(self.pid)
        self.peak_bytes = max(self.peak_bytes, size)
        return size

    def turn(self, pending: bytes, unread: bytearray, log: bytearray, bounds: Bounds, wait: float) -> bytes:
        """Write what fits, wait for a pipe at most `wait` seconds, serve the ready ones; what is left to write."""
        if pending:
            pending = self._write(pending)
        self._want_to_write(bool(pending))
        for key, _ in self._selector.select(wait):
            if key.fileobj is self._input:
                pending = self._write(pending)
            elif key.fileobj is self._output:
                self.read_output(unread, bounds)
            else:
                self._read(self._errors, log, bounds.log, keep_start=False)
        return pending

    def read_output(self, unread: bytearray, bounds: Bounds) -> None:
        """Read what is there already, once."""
        self._read(self._output, unread, bounds.line + CHUNK, keep_start=True)

    def read_log(self, log: bytearray, room: int) -> None:
        """Read what the log pipe holds, a bounded amount."""
        for _ in range(64):
            before = len(log)
            self._read(self._errors, log, room, keep_start=False)
            if len(log) == before:
                return

    def end(self, patience: float = 0.3) -> None:
        """Close the pipes, ask the group to end, then kill what is left of it."""
        for pipe in (self._input, self._output, self._errors):
            with contextlib.suppress(OSError):
                pipe.close()
        self._selector.close()
        self._signal(signal.SIGTERM)
        self.is_over_within(patience)
        self._signal(signal.SIGKILL)
        self.is_over_within(10 * patience)

    def _signal(self, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, number)

    def _reap(self) -> None:
        try:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
        except ChildProcessError:
            self._process.returncode = 0
            return
        if pid:
            self._process.returncode = os.waitstatus_to_exitcode(status)

    def _want_to_write(self, wanted: bool) -> None:
        wanted = wanted and self._can_write
        if wanted == self._writing:
            return
        if wanted:
            self._selector.register(self._input, selectors.EVENT_WRITE)
        else:
            self._selector.unregister(self._input)
        self._writing = wanted

    def _write(self, pending: bytes) -> bytes:
        try:
            return pending[os.write(self._input.fileno(), memoryview(pending)[:CHUNK]) :]
        except BlockingIOError:
            return pending
        except OSError:  # the child closed its input: its silence or its end will tell
            self._can_write = False
            return b""

    def _read(self, pipe: IO[bytes], into: bytearray, room: int, *, keep_start: bool) -> None:
        try:
            data = os.read(pipe.fileno(), CHUNK)
        except BlockingIOError:
            return
        except (OSError, ValueError):
            data = b""
        if not data:
            self.is_silent = self.is_silent or pipe is self._output
            with contextlib.suppress(KeyError, ValueError):
                self._selector.unregister(pipe)
        into += data
        if len(into) > room:
            del into[slice(room, None) if keep_start else slice(len(into) - room)]


def limited(pid: int, address_bytes: int) -> None:
    """Set the address-space limit of a process where the system can (Linux)."""
    with contextlib.suppress(ImportError, AttributeError, OSError, ValueError):
        import resource

        hard = resource.prlimit(pid, resource.RLIMIT_AS)[1]
        soft = address_bytes if hard == resource.RLIM_INFINITY else min(address_bytes, hard)
        resource.prlimit(pid, resource.RLIMIT_AS, (soft, hard))
        resource.prlimit(pid, resource.RLIMIT_CORE, (0, resource.prlimit(pid, resource.RLIMIT_CORE)[1]))


def resident_bytes(pid: int) -> int:
    """The resident memory of a process and its descendants, 0 where it cannot be told."""
    total, seen, waiting = 0, set[int](), [pid]
    while waiting and len(seen) < 64:
        current = waiting.pop()
        if current not in seen:
            seen.add(current)
            total += _pages(current) * PAGE
            waiting += _children(current)
    return total


def _pages(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except (OSError, IndexError, ValueError):
        return 0


def _children(pid: int) -> list[int]:
    found: list[int] = []
    with contextlib.suppress(OSError, ValueError):
        for task in os.listdir(f"/proc/{pid}/task"):
            found += map(int, Path(f"/proc/{pid}/task/{task}/children").read_text().split())
    return found
