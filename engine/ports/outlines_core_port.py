"""outlines-core as a port: the whole token automaton is built at compile; EOS stays in the mask and is never taken.

The engine has no advance for EOS, so the port takes it itself and says so: after EOS the mask is what the engine
would still show.
"""

import ctypes
import os
import sys
from typing import Any

sys.path.append(os.path.dirname(os.path.abspath(__file__)))
from speak import Engine, Illegal, Refused, Session, Tokens, channel, cut, serve

PORT = {
    "name": "outlines-core",
    "about": "outlines-core's Index and Guide",
    "distributions": ["outlines_core"],
}

OUTPUT = channel() if __name__ == "__main__" else None
if __name__ == "__main__":
    import outlines_core
    from outlines_core import json_schema

MAX_ROLLBACK = 4096


class Guided(Session):
    """A Guide."""

    def __init__(self, engine: "OutlinesCore", index: Any) -> None:
        """Start at the index's initial state."""
        self.engine, self.guide, self.done = engine, outlines_core.Guide(index, MAX_ROLLBACK), False

    def mask(self) -> bytes:
        """write_mask_into over a buffer of the vocabulary's width; empty once EOS was taken."""
        size = self.engine.size
        if self.done:
            return bytes(-(-size // 8))
        words = -(-max(size, self.engine.highest + 1) // 32)
        buffer = (ctypes.c_uint32 * words)()
        self.guide.write_mask_into(ctypes.addressof(buffer), words, 4)
        return cut(bytes(buffer), size)

    def is_complete(self) -> bool:
        """is_finished is whether the state accepts."""
        return bool(self.guide.is_finished())

    def advance(self, token: int) -> None:
        """advance; EOS is taken here, where the state accepts, since the engine raises on it."""
        if self.done:
            raise Illegal("EOS was taken")
        if token == self.engine.eos:
            if not self.guide.is_finished():
                raise Illegal("EOS before a whole string")
            self.done = True
            return
        try:
            self.guide.advance(token, return_tokens=False)
        except ValueError as error:
            raise Illegal(str(error)[:200]) from None

    def rollback(self, count: int) -> None:
        """rollback_state; an EOS taken here is given back first."""
        if count and self.done:
            self.done, count = False, count - 1
        if count:
            self.guide.rollback_state(count)


class OutlinesCore(Engine):
    """Indexes over one vocabulary."""

    name, distribution = "outlines-core", "outlines_core"
    kinds = ("regex.unicode", "json_schema")
    features = ("rollback",)
    policies = {"escapes": "short-only"}  # noqa: RUF012 (read by the loop, never changed)
    notes = "one EOS id, which the port takes, since Guide.advance raises on it; empty tokens are left out"

    def vocabulary(self, tokens: Tokens, eos: list[int], tokenizer: str | None) -> None:
        """Vocabulary(eos, {bytes: ids}); the engine takes exactly one EOS id."""
        if len(eos) != 1:
            raise Refused(f"the engine takes exactly one EOS id, not {len(eos)}")
        self.size, self.eos, ids = len(tokens), eos[0], dict[bytes, list[int]]()
        for number, token in enumerate(tokens):
            if token and number != self.eos:
                ids.setdefault(token, []).append(number)
        self.highest = max([self.eos, *(number for listed in ids.values() for number in listed)])
        self.known = outlines_core.Vocabulary(self.eos, ids)

    def compile(self, kind: str, source: str, options: dict[str, Any]) -> Any:
        """The index of a pattern, or of the pattern that the engine writes for a schema without white space."""
        pattern = source if kind == "regex.unicode" else json_schema.build_regex_from_schema(source, "")
        return outlines_core.Index(pattern, self.known)

    def open(self, grammar: Any) -> Session:
        """A new guide."""
        return Guided(self, grammar)


if __name__ == "__main__":
    serve(OutlinesCore(), OUTPUT)
