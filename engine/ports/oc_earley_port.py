"""oc-earley as a port: patterns through its Index, schemas through CompiledSchema (whole DFA, LALR or Earley).

The engine takes EOS itself and its mask is empty after it. It writes compact JSON, members in the order of their names,
and refuses every keyword that it cannot do exactly.
"""

import ctypes
import os
import sys
from typing import Any

sys.path.append(os.path.dirname(os.path.abspath(__file__)))
from speak import Engine, Illegal, Refused, Session, Tokens, channel, closed, cut, serve

PORT = {
    "name": "oc-earley",
    "about": "oc-earley's Index, CompiledSchema and Guide",
    "distributions": ["oc_earley"],
}

OUTPUT = channel() if __name__ == "__main__" else None
if __name__ == "__main__":
    import oc_earley

MAX_ROLLBACK = 4096


class Guided(Session):
    """A Guide."""

    def __init__(self, engine: "OcEarley", guide: Any) -> None:
        """Stand where the guide stands."""
        self.engine, self.guide = engine, guide

    def mask(self) -> bytes:
        """write_mask_into over a buffer that holds every id."""
        words = -(-max(self.engine.size, self.engine.highest + 1) // 32)
        buffer = (ctypes.c_uint32 * words)()
        self.guide.write_mask_into(ctypes.addressof(buffer), words, 4)
        return cut(bytes(buffer), self.engine.size)

    def is_complete(self) -> bool:
        """is_accepting before EOS, is_finished after it."""
        return bool(self.guide.is_finished() or self.guide.is_accepting())

    def advance(self, token: int) -> None:
        """advance, which raises on a token that it does not take."""
        try:
            self.guide.advance(token, return_tokens=False)
        except ValueError as error:
            raise Illegal(str(error)[:200]) from None

    def rollback(self, count: int) -> None:
        """rollback_state."""
        self.guide.rollback_state(count)


class OcEarley(Engine):
    """Grammars over one vocabulary."""

    name, distribution = "oc-earley", "oc_earley"
    kinds = ("regex.unicode", "json_schema")
    features = ("rollback",)
    policies = {"escapes": "short-only", "object_order": "sorted"}  # noqa: RUF012 (read by the loop, never changed)
    notes = "one EOS id; empty tokens are left out of the vocabulary; regex: Rust syntax"

    def vocabulary(self, tokens: Tokens, eos: list[int], tokenizer: str | None) -> None:
        """Vocabulary(eos, {bytes: ids}); the engine takes exactly one EOS id."""
        if len(eos) != 1:
            raise Refused(f"the engine takes exactly one EOS id, not {len(eos)}")
        self.size, end, ids = len(tokens), eos[0], dict[bytes, list[int]]()
        for number, token in enumerate(tokens):
            if token and number != end:
                ids.setdefault(token, []).append(number)
        self.highest = max([end, *(number for listed in ids.values() for number in listed)])
        self.known = oc_earley.Vocabulary(end, ids)

    def compile(self, kind: str, source: str, options: dict[str, Any]) -> Any:
        """A function that makes a guide at the start."""
        if kind == "json_schema":
            schema = oc_earley.CompiledSchema.from_json_schema(closed(source), self.known)
            return lambda: schema.guide(MAX_ROLLBACK)
        index = oc_earley.Index(source, self.known)
        return lambda: oc_earley.Guide(index, MAX_ROLLBACK)

    def open(self, grammar: Any) -> Session:
        """A new guide."""
        return Guided(self, grammar())


if __name__ == "__main__":
    serve(OcEarley(), OUTPUT)
