"""maskforge as a port: JSON Schema alone, with all the white space, orders and escapes that JSON has.

The engine has no raw patterns and no compact JSON. `tokenizer` uses its own Hugging Face loader.
"""

import os
import sys
from typing import Any

sys.path.append(os.path.dirname(os.path.abspath(__file__)))
from speak import Engine, Illegal, Refused, Session, Tokens, channel, cut, loader, serve

PORT = {
    "name": "maskforge",
    "about": "maskforge's compiler and sessions",
    "distributions": ["maskforge"],
}

OUTPUT = channel() if __name__ == "__main__" else None
if __name__ == "__main__":
    import maskforge
    from maskforge.tokenizers import from_transformers


class Masked(Session):
    """A Session of the engine."""

    def __init__(self, engine: "MaskForge", session: Any) -> None:
        """Start with a buffer of the session's width."""
        self.engine, self.session = engine, session
        self.buffer = bytearray(4 * session.mask_word_count)

    def mask(self) -> bytes:
        """write_mask."""
        self.session.write_mask(self.buffer)
        return cut(bytes(self.buffer), self.engine.size)

    def is_complete(self) -> bool:
        """is_accepting, or is_stopped after EOS."""
        return bool(self.session.is_accepting or self.session.is_stopped)

    def advance(self, token: int) -> None:
        """advance, which raises on a token that it does not take."""
        if self.session.is_stopped:
            raise Illegal("the session is stopped")
        try:
            self.session.advance(token)
        except maskforge.MaskforgeError as error:
            raise Illegal(str(error)[:200]) from None


class MaskForge(Engine):
    """Compiled schemas bound to one vocabulary."""

    name, distribution = "maskforge", "maskforge"
    kinds = ("json_schema",)
    features = loader()
    policies = {"whitespace": "any", "object_order": "any", "after_eos": "eos"}  # noqa: RUF012
    notes = "one EOS id; empty tokens are left out of the vocabulary; no cache between schemas"

    def vocabulary(self, tokens: Tokens, eos: list[int], tokenizer: str | None) -> None:
        """Vocabulary.from_id_ordered_tokens, or the engine's Hugging Face loader."""
        if len(eos) != 1:
            raise Refused(f"the engine takes exactly one EOS id, not {len(eos)}")
        self.size = len(tokens)
        if tokenizer is None:
            pieces = [token or None if number != eos[0] else None for number, token in enumerate(tokens)]
            self.known = maskforge.Vocabulary.from_id_ordered_tokens(pieces, eos[0], self.size)
        else:
            from transformers import PreTrainedTokenizerFast

            loaded = PreTrainedTokenizerFast(tokenizer_file=tokenizer)
            self.known = from_transformers(loaded, eos_token_id=eos[0], logits_vocab_size=self.size)

    def compile(self, kind: str, source: str, options: dict[str, Any]) -> Any:
        """The schema compiled without a cache and bound to the vocabulary."""
        return maskforge.Compiler.without_cache().compile(source).bind(self.known)

    def open(self, grammar: Any) -> Session:
        """start_session."""
        return Masked(self, grammar.start_session())


if __name__ == "__main__":
    serve(MaskForge(), OUTPUT)
