"""The languages of one model's answers: compiled once, shared by requests that ask for the same, within a bound."""

import asyncio
from collections import OrderedDict
from concurrent.futures import ThreadPoolExecutor

from engine.server.compiler import Compiled, Compiler
from engine.server.constraints import Language, free_text, tokens_needed
from engine.server.errors import ApiError, busy
from engine.server.limits import Limits
from reference.masks import TokenIndex
from reference.toolprompt import Tool
from reference.toolstream import OPENER
from reference.vocabulary import Vocabulary

Asked = tuple[tuple[Tool, ...], Language]
NO_FIELDS = "{}"


class Languages:
    """From the text of the tool fields to tools and language; called from one event loop."""

    def __init__(self, vocabulary: Vocabulary, compiler: Compiler, limits: Limits) -> None:
        """The languages of free text are made at once; they belong to every request."""
        self._vocabulary, self._compiler, self._limits = vocabulary, compiler, limits
        self._threads = ThreadPoolExecutor(limits.compilers, thread_name_prefix="compile")
        self._kept: OrderedDict[str, Asked | ApiError] = OrderedDict()
        self._under_way: dict[str, asyncio.Future[Asked]] = {}
        trigger = OPENER.encode()
        self._free = TokenIndex(free_text(), vocabulary)
        self._before = TokenIndex(free_text(trigger, ends_there=True), vocabulary)
        self._quiet = TokenIndex(free_text(trigger), vocabulary)

    async def get(self, fields: str) -> Asked:
        """Tools and language of these fields; raises ApiError."""
        if fields == NO_FIELDS:
            return (), self._free_language()
        if fields in self._kept:
            self._kept.move_to_end(fields)
            return _raised(self._kept[fields])
        if fields not in self._under_way:
            self._start(fields)
        return await asyncio.shield(self._under_way[fields])

    def close(self) -> None:
        """End the compilers."""
        self._threads.shutdown(cancel_futures=True)
        self._compiler.close()

    def _start(self, fields: str) -> None:
        if len(self._under_way) >= self._limits.compiling:
            raise busy(f"{len(self._under_way)} grammars are being compiled already; try again later")
        loop = asyncio.get_running_loop()
        future = loop.run_in_executor(self._threads, self._make, fields)
        self._under_way[fields] = future
        future.add_done_callback(lambda done: self._finished(fields, done))

    def _finished(self, fields: str, done: "asyncio.Future[Asked]") -> None:
        del self._under_way[fields]
        if done.cancelled():
            return
        error = done.exception()
        if error is None:
            self._keep(fields, done.result())
        elif isinstance(error, ApiError) and error.status != 429:
            self._keep(fields, error)

    def _keep(self, fields: str, found: Asked | ApiError) -> None:
        self._kept[fields] = found
        while len(self._kept) > self._limits.grammars or self.worst_bytes() > self._limits.mask_bytes:
            if len(self._kept) == 1:
                return
            self._kept.popitem(last=False)

    def worst_bytes(self) -> int:
        """What the kept automata take at most once all their masks are made."""
        return sum(
            self._bytes_of(found[1].whole) for found in self._kept.values() if isinstance(found, tuple)
        )

    def _bytes_of(self, index: TokenIndex | None) -> int:
        per_state = 256 * 4 + len(self._vocabulary) // 8
        return 0 if index is None else index.n_states * per_state

    def _make(self, fields: str) -> Asked:
        compiled = self._compiler.compile(fields)
        return compiled.tools, self._language(compiled)

    def _free_language(self) -> Language:
        return Language(self._vocabulary, self._free, None, None, 0, has_calls=False)

    def _language(self, compiled: Compiled) -> Language:
        if compiled.automaton is None:
            return self._free_language()
        whole = TokenIndex(compiled.automaton, self._vocabulary)
        needed = tokens_needed(whole)
        if needed is None:
            message = "tools: the model's vocabulary cannot write any answer that the schemas allow"
            raise ApiError(422, message, param="tools", code="unsupported_parameter")
        triggered = compiled.trigger is not None
        free, quiet = (self._before, self._quiet) if triggered else (None, None)
        return Language(self._vocabulary, free, quiet, whole, needed, has_calls=compiled.has_calls)


def _raised(found: Asked | ApiError) -> Asked:
    if isinstance(found, ApiError):
        raise ApiError(found.status, found.message, found.type, found.param, found.code)
    return found
