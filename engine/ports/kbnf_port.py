"""formatron and kbnf as a port: patterns straight to kbnf, schemas through formatron's translation to KBNF.

Two things are done to formatron before it is used, since it has no setting for them: `pydantic.typing` is put where
version 0.5.0 looks for it, and the blanks before each JSON token are taken out of its module constants, so that JSON is
compact. The engine is finished at the first whole string and knows no EOS: the port takes it, as formatron's own
logits processor does.
"""

import copy
import ctypes
import os
import sys
import typing
from typing import Any

sys.path.append(os.path.dirname(os.path.abspath(__file__)))
from speak import Engine, Illegal, Refused, Session, Tokens, as_dict, channel, cut, loader, pack, serve

PORT = {
    "name": "kbnf",
    "about": "kbnf's engine; JSON Schema through formatron",
    "distributions": ["kbnf", "formatron", "pydantic"],
}

OUTPUT = channel() if __name__ == "__main__" else None
if __name__ == "__main__":
    sys.modules["torch"] = None  # type: ignore[assignment]  # optional there, slow to import, and not used here
    import kbnf

IDENTITY = {
    "$id": "https://example.com/schema.json",
    "$schema": "https://json-schema.org/draft/2020-12/schema",
}


class Generating(Session):
    """An Engine of kbnf, and whether EOS was taken."""

    def __init__(self, engine: "KBNF", inner: Any, *, done: bool = False) -> None:
        """Stand where the inner engine stands."""
        self.engine, self.inner, self.done = engine, inner, done

    def mask(self) -> bytes:
        """compute_allowed_token_ids; EOS alone once the engine is finished, nothing after it."""
        size = self.engine.size
        if self.done:
            return bytes(-(-size // 8))
        if self.inner.is_finished():
            return pack(self.engine.eos, size)
        self.inner.compute_allowed_token_ids()
        buffer = (ctypes.c_uint32 * -(-size // 32))()
        self.inner.fill_torch_bitmask(ctypes.addressof(buffer))
        return cut(bytes(buffer), size)

    def is_complete(self) -> bool:
        """is_finished."""
        return bool(self.inner.is_finished())

    def advance(self, token: int) -> None:
        """try_accept_new_token; EOS is taken here, where the engine is finished."""
        if self.done or (token in self.engine.eos and not self.inner.is_finished()):
            raise Illegal("EOS was taken" if self.done else "EOS before the engine is finished")
        if token in self.engine.eos:
            self.done = True
            return
        if token not in self.engine.pieces:
            raise Illegal(f"token {token} is not in the engine's vocabulary")
        try:
            self.inner.try_accept_new_token(token)
        except ValueError as error:
            raise Illegal(str(error)[:200]) from None

    def fork(self) -> Session:
        """copy.copy of the engine."""
        return Generating(self.engine, copy.copy(self.inner), done=self.done)


class KBNF(Engine):
    """Engines over one vocabulary."""

    name, distribution = "kbnf", "kbnf"
    kinds = ("regex.unicode", "json_schema")
    features = ("fork", *loader())
    policies = {"ends": "first-whole"}  # noqa: RUF012 (read by the loop, never changed)
    notes = "json_schema: formatron, its blanks taken out, $id and $schema added; empty tokens are left out"

    def vocabulary(self, tokens: Tokens, eos: list[int], tokenizer: str | None) -> None:
        """Vocabulary({id: Token}, {id: text}) of the tokens that have bytes and are no EOS."""
        self.size, self.eos = len(tokens), sorted(set(eos))
        ends = frozenset(eos)
        self.pieces = {number: token for number, token in enumerate(tokens) if token and number not in ends}
        texts = {number: token.decode("latin-1") for number, token in self.pieces.items()}
        if tokenizer is None:
            self.known = kbnf.Vocabulary({n: kbnf.Token(token) for n, token in self.pieces.items()}, texts)
        else:
            self.known = loaded(tokenizer)
            self.pieces = dict.fromkeys(range(self.size), b"")

    def compile(self, kind: str, source: str, options: dict[str, Any]) -> Any:
        """A kbnf engine of a pattern, or of the grammar that formatron writes for a schema."""
        if kind == "regex.unicode":
            return kbnf.Engine(f"start ::= #{quoted(source)};", self.known)
        return formatter(source, self.known)._engine  # the one way to it

    def open(self, grammar: Any) -> Session:
        """A copy of the compiled engine."""
        return Generating(self, copy.copy(grammar))


def loaded(tokenizer: str) -> Any:
    """The vocabulary that formatron's Hugging Face integration makes of a tokenizer file."""
    del sys.modules["torch"]  # this integration does need it
    _mend_pydantic()
    from formatron.integrations.transformers import create_engine_vocabulary
    from transformers import PreTrainedTokenizerFast

    return create_engine_vocabulary(PreTrainedTokenizerFast(tokenizer_file=tokenizer))


def _mend_pydantic() -> None:
    """Put `typing` where formatron 0.5.0 imports it from."""
    import pydantic

    pydantic.typing = typing


def quoted(pattern: str) -> str:
    r"""The pattern as a KBNF string, in which `\\`, `\'` and `\n` are escapes."""
    escapes = {"\\": "\\\\", "'": "\\'", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\0": "\\0"}
    return "'" + "".join(escapes.get(character, character) for character in pattern) + "'"


def formatter(source: str, vocabulary: Any) -> Any:
    """formatron's formatter of a schema, without blanks between JSON's tokens."""
    _mend_pydantic()
    import formatron.formats.json as written
    from formatron.formatter import FormatterBuilder
    from formatron.schemas.json_schema import create_schema

    written.GRAMMAR_HEADER = written.GRAMMAR_HEADER.replace("[ \t\n]*", "")
    written.SPACE_NONTERMINAL = ""
    schema = as_dict(source)
    if not isinstance(schema, dict):
        raise Refused("formatron takes a schema that is an object")
    builder = FormatterBuilder()
    builder.append_str(f"{builder.json(create_schema({**IDENTITY, **schema}))}")
    return builder.build(vocabulary, lambda tokens: "")


if __name__ == "__main__":
    serve(KBNF(), OUTPUT)
