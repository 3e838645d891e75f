"""Untrusted tool fields to an automaton, in processes that can be stopped: no schema can hold the server up.

A schema of five kilobytes can ask for a pattern of gigabytes (optional members nest), and a small pattern for an
automaton of millions of states. Translation therefore runs in a child with a memory limit, within a time limit, and
only so many at once; the child is replaced when it did not answer. Results are plain data and are cached by the caller.
"""

import multiprocessing
import os
import queue
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.server.errors import ApiError, busy, from_tool_error, internal
from engine.server.limits import Limits
from reference.errors import Refused, TooLarge
from reference.tool_errors import ToolError
from reference.tools import Tool, ToolRequest, grammar, parse_tool_request

TOO_LARGE = "grammar_too_large"
START_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Automaton:
    """A table of states: `accept` bool[n], `trans` int32[n, 256], −1 dead."""

    accept: NDArray[np.bool_]
    trans: NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class Compiled:
    """What a request's tool fields mean: the tools, and the automaton of the answer, None when it is free text.

    With a `trigger` the automaton is about what follows the trigger.
    """

    tools: tuple[Tool, ...]
    automaton: Automaton | None
    trigger: bytes | None
    has_calls: bool


def translate(fields: str, states: int) -> Compiled:
    """The meaning of a JSON text that has the tool fields; ToolError or TooLarge when it has none."""
    request: ToolRequest = parse_tool_request(fields)
    language = grammar(request)
    if language is None:
        return Compiled(request.tools, None, None, has_calls=False)
    from reference.compile import regex_to_dfa

    dfa = regex_to_dfa(language.pattern, max_states=states)
    trigger = None if language.trigger is None else language.trigger.encode()
    has_calls = request.choice != "none"
    return Compiled(request.tools, Automaton(dfa.accept, dfa.trans), trigger, has_calls)


def _answer(fields: str, states: int) -> tuple[str, Any]:
    try:
        return "compiled", translate(fields, states)
    except ToolError as error:
        return "error", from_tool_error(error)
    except (TooLarge, MemoryError) as error:
        return "error", _too_large(str(error) or "out of memory")
    except Refused as error:
        return "error", ApiError(422, f"tools: {error}", param="tools", code="unsupported_parameter")


def _too_large(why: str) -> ApiError:
    message = f"tools: the grammar is too large ({why}); give fewer tools or smaller schemas"
    return ApiError(422, message, param="tools", code=TOO_LARGE)


def _serve(pipe: Connection, states: int, memory: int) -> None:
    """The child: one text in, one answer out, until the pipe closes."""
    import resource
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    pipe.send(("ready", None))
    while True:
        try:
            fields = pipe.recv()
        except EOFError:
            return
        pipe.send(_answer(fields, states))


class Worker:
    """One child and the pipe to it."""

    def __init__(self, limits: Limits) -> None:
        """Start the child and wait for it; its time limits begin when it is there."""
        self._limits = limits
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        arguments = (theirs, limits.states, limits.compile_memory)
        self._process = context.Process(target=_serve, args=arguments, daemon=True)
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
        self._process.start()
        theirs.close()
        if not self._pipe.poll(START_SECONDS):
            self.close()
            raise internal("no compiler could be started")
        self._pipe.recv()

    def ask(self, fields: str) -> Compiled | ApiError | None:
        """The child's answer, None when it gave none in time or died: then this worker is of no more use."""
        try:
            self._pipe.send(fields)
            if not self._pipe.poll(self._limits.compile_seconds):
                return None
            _, answer = self._pipe.recv()
        except (EOFError, OSError):
            return None
        found: Compiled | ApiError = answer
        return found

    def close(self) -> None:
        """End the child."""
        self._process.kill()
        self._process.join()
        self._pipe.close()


class Compiler:
    """A few workers, started when first needed; one request holds one worker for a bounded time."""

    def __init__(self, limits: Limits) -> None:
        """No child runs yet."""
        self._limits = limits
        self._idle: queue.LifoQueue[Worker | None] = queue.LifoQueue()
        for _ in range(limits.compilers):
            self._idle.put(None)
        self._closed = False

    def compile(self, fields: str) -> Compiled:
        """The meaning of the tool fields; raises ApiError. Blocks: call it in a thread."""
        try:
            worker = self._idle.get(timeout=self._limits.compile_seconds)
        except queue.Empty:
            raise busy("too many grammars are being compiled; try again") from None
        answer: Compiled | ApiError | None = None
        try:
            worker = worker or Worker(self._limits)
            answer = worker.ask(fields)
        finally:
            if answer is None and worker is not None:
                worker.close()
                worker = None
            self._idle.put(worker)
        if answer is None:
            raise _too_large(f"no automaton within {self._limits.compile_seconds:g} s")
        if isinstance(answer, ApiError):
            raise answer
        return answer

    def close(self) -> None:
        """End all children that are idle; busy ones end with their request."""
        for _ in range(self._limits.compilers):
            try:
                worker = self._idle.get(timeout=self._limits.compile_seconds + 5)
            except queue.Empty:
                return
            if worker is not None:
                worker.close()
