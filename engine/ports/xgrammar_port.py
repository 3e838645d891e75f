"""XGrammar as a port: raw byte vocabulary, compact JSON in property order, one compile thread.

`tokenizer` builds the vocabulary through the engine's own Hugging Face loader instead. Stop ids are the EOS ids.
"""

import os
import sys
from typing import Any

sys.path.append(os.path.dirname(os.path.abspath(__file__)))
from speak import Engine, Illegal, Session, Tokens, channel, closed, cut, serve

PORT = {
    "name": "xgrammar",
    "about": "XGrammar's compiler and matcher",
    "distributions": ["xgrammar", "torch"],
}

OUTPUT = channel() if __name__ == "__main__" else None
if __name__ == "__main__":
    import xgrammar


class Matching(Session):
    """A GrammarMatcher."""

    def __init__(self, engine: "XGrammar", matcher: Any) -> None:
        """Start with a fresh bitmask of the vocabulary's width."""
        self.engine, self.matcher = engine, matcher

    def mask(self) -> bytes:
        """The bitmask; all zero once the stop token was taken, where the engine refuses to answer."""
        size = self.engine.size
        if self.matcher.is_terminated():
            return bytes(-(-size // 8))
        bitmask = xgrammar.allocate_token_bitmask(1, size)
        if not self.matcher.fill_next_token_bitmask(bitmask):
            bitmask.fill_(-1)  # the engine says that nothing is masked and leaves the buffer alone
        return cut(bitmask.numpy().tobytes(), size)

    def is_complete(self) -> bool:
        """is_completed before the stop token, is_terminated after it."""
        return bool(self.matcher.is_terminated() or self.matcher.is_completed())

    def advance(self, token: int) -> None:
        """accept_token."""
        if self.matcher.is_terminated() or not self.matcher.accept_token(token):
            raise Illegal(f"accept_token({token}) is false")

    def fork(self) -> Session:
        """The engine's own fork."""
        return Matching(self.engine, self.matcher.fork())

    def rollback(self, count: int) -> None:
        """The engine's own rollback."""
        self.matcher.rollback(count)


class XGrammar(Engine):
    """The compiler over one vocabulary."""

    name, distribution = "xgrammar", "xgrammar"
    kinds = ("regex.unicode", "json_schema", "gbnf")
    features = ("fork", "rollback", "tokenizer")
    notes = "json_schema: any_whitespace=False, separators (',', ':'), strict_mode=False"

    def vocabulary(self, tokens: Tokens, eos: list[int], tokenizer: str | None) -> None:
        """TokenizerInfo from raw bytes, b'' where a token has none, or from a tokenizer file."""
        self.size = len(tokens)
        if tokenizer is None:
            raw = [token if token is not None else b"" for token in tokens]
            info = xgrammar.TokenizerInfo(
                raw, xgrammar.VocabType.RAW, vocab_size=len(tokens), stop_token_ids=eos
            )
        else:
            from transformers import PreTrainedTokenizerFast

            loaded = PreTrainedTokenizerFast(tokenizer_file=tokenizer)
            info = xgrammar.TokenizerInfo.from_huggingface(loaded, vocab_size=len(tokens), stop_token_ids=eos)
        self.compiler = xgrammar.GrammarCompiler(info, max_threads=1, cache_enabled=False)

    def compile(self, kind: str, source: str, options: dict[str, Any]) -> Any:
        """The compiled grammar."""
        if kind == "regex.unicode":
            return self.compiler.compile_regex(source)
        if kind == "json_schema":
            return self.compiler.compile_json_schema(
                closed(source), any_whitespace=False, separators=(",", ":"), strict_mode=False
            )
        return self.compiler.compile_grammar(source)

    def open(self, grammar: Any) -> Session:
        """A new matcher."""
        return Matching(self, xgrammar.GrammarMatcher(grammar))


if __name__ == "__main__":
    serve(XGrammar(), OUTPUT)
