"""glrmask as a port: EOS is put at the end of the grammar as a token set, as the engine's documentation asks.

JSON is written with `", "` and `": "`, for which the engine has no setting; the hello declares it. A state that
refuses a token is over, so every advance is tried on a copy. Without an EOS id the grammar stands alone.
"""

import os
import sys
from typing import Any

sys.path.append(os.path.dirname(os.path.abspath(__file__)))
from speak import Engine, Illegal, Refused, Session, Tokens, channel, closed, serve

PORT = {
    "name": "glrmask",
    "about": "glrmask's constraints, compiled from Lark terminals or JSON Schema",
    "distributions": ["glrmask", "numpy"],
}

OUTPUT = channel() if __name__ == "__main__" else None
if __name__ == "__main__":
    import glrmask
    import numpy


class Constrained(Session):
    """A ConstraintState."""

    def __init__(self, engine: "GLRMask", state: Any, *, done: bool = False) -> None:
        """Stand where the state stands."""
        self.engine, self.state, self.done = engine, state, done

    def bits(self) -> Any:
        """The engine's mask as booleans."""
        return self.state.mask(size=self.engine.size)

    def mask(self) -> bytes:
        """The engine's mask, packed."""
        return numpy.packbits(self.bits(), bitorder="little").tobytes()

    def is_complete(self) -> bool:
        """Whether the mask has an EOS id; is_accepting where EOS was taken or there is none."""
        if self.done or not self.engine.eos:
            return bool(self.state.is_accepting())
        return bool(self.bits()[self.engine.eos].any())

    def advance(self, token: int) -> None:
        """commit_token on a copy that replaces the state when it holds."""
        trial = self.state.copy()
        if self.done or not trial.commit_token(token):
            raise Illegal(f"commit_token({token}) is false")
        self.state, self.done = trial, token in self.engine.eos

    def fork(self) -> Session:
        """The engine's own copy."""
        return Constrained(self.engine, self.state.copy(), done=self.done)


class GLRMask(Engine):
    """Constraints over one vocabulary."""

    name, distribution = "glrmask", "glrmask"
    kinds = ("regex.unicode", "json_schema", "lark")
    features = ("fork",)
    policies = {"separators": [", ", ": "]}  # noqa: RUF012 (read by the loop, never changed)
    notes = "a regex is the one terminal of a Lark grammar: Rust syntax, Unicode \\d \\w \\s; empty tokens are left out"

    def vocabulary(self, tokens: Tokens, eos: list[int], tokenizer: str | None) -> None:
        """Vocab.from_id_to_bytes of the tokens that have bytes and are no EOS."""
        self.size, self.eos = len(tokens), sorted(set(eos))
        ends = frozenset(eos)
        pieces = {number: token for number, token in enumerate(tokens) if token and number not in ends}
        self.known = glrmask.Vocab.from_id_to_bytes(pieces)

    def compile(self, kind: str, source: str, options: dict[str, Any]) -> Any:
        """The grammar followed by EOS, compiled for the vocabulary."""
        if kind == "json_schema":
            grammar = glrmask.Grammar.from_json_schema(closed(source))
        else:
            grammar = glrmask.Grammar.from_lark(lark_of(source) if kind == "regex.unicode" else source)
        if self.eos:
            ended = glrmask.Expr.sequence(grammar, glrmask.TokenSet(self.eos))
            grammar = glrmask.Grammar.from_expr(ended)
        return grammar.compile(self.known)

    def open(self, grammar: Any) -> Session:
        """A state at the start."""
        return Constrained(self, grammar.start())


def lark_of(pattern: str) -> str:
    r"""A Lark grammar of one terminal: `/` gets a backslash where it has none, a line break becomes `\n`."""
    if not pattern:
        return 'start: ""\n'
    written, at = "", 0
    while at < len(pattern):
        piece = pattern[at : at + 2] if pattern[at] == "\\" else pattern[at]
        written += {"/": "\\/", "\n": "\\n", "\r": "\\r", "\\\n": "\\n"}.get(piece, piece)
        at += len(piece)
    if pattern.endswith("\\") and len(pattern) - len(pattern.rstrip("\\")) & 1:
        raise Refused("pattern: it ends in a backslash, which would reach into the grammar; take it out")
    return f"start: /{written}/\n"


if __name__ == "__main__":
    serve(GLRMask(), OUTPUT)
