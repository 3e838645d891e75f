"""llguidance as a port: its tokenizer is built from the raw bytes, greedy longest match stands in for the real one.

The mask holds the first token of the canonical tokenization wherever bytes are forced, which the hello declares; the
`tokenizer` feature uses the engine's own Hugging Face loader, whose tokenization is the real one.
"""

import os
import sys
from typing import Any

sys.path.append(os.path.dirname(os.path.abspath(__file__)))
from speak import Engine, Illegal, Refused, Session, Tokens, channel, closed, cut, loader, serve

PORT = {
    "name": "llguidance",
    "about": "llguidance's matcher",
    "distributions": ["llguidance"],
}

OUTPUT = channel() if __name__ == "__main__" else None
if __name__ == "__main__":
    import llguidance


class Greedy:
    """A tokenizer object as the engine's wrapper wants it; encodes by longest match over the tokens' bytes."""

    def __init__(self, tokens: Tokens, eos: list[int]) -> None:
        """Every EOS id is special, whatever bytes it has; keep the first id of every byte string."""
        self.eos_token_id, self.bos_token_id, self.special_token_ids = eos[0], None, list(eos)
        self.tokens = [token or b"" for token in tokens]
        for number in eos:
            self.tokens[number] = b"<|eos%d|>" % number
        self.first: dict[bytes, int] = {}
        for number, token in enumerate(tokens):
            if token and number not in eos:
                self.first.setdefault(token, number)
        self.longest = max(map(len, self.first), default=1)

    def __call__(self, text: bytes | str) -> list[int]:
        """Longest match from the left, up to the first byte that no token has: left out, it would be skipped."""
        data, found, at = text.encode() if isinstance(text, str) else bytes(text), [], 0
        while at < len(data):
            for length in range(min(self.longest, len(data) - at), 0, -1):
                if (token := self.first.get(data[at : at + length])) is not None:
                    found.append(token)
                    at += length
                    break
            else:
                break
        return found


class Matching(Session):
    """An LLMatcher; every advance is tried on a copy, since a refused token breaks a matcher for good."""

    def __init__(self, engine: "LLGuidance", matcher: Any, ended: str = "") -> None:
        """Stand where the matcher stands; `ended` is who took EOS: "engine", "port" or nobody."""
        self.engine, self.matcher, self.ended = engine, matcher, ended

    def mask(self) -> bytes:
        """The bitmask as the engine computes it."""
        return cut(self.matcher.compute_bitmask(), self.engine.size)

    def is_complete(self) -> bool:
        """is_accepting."""
        return bool(self.ended or self.matcher.is_accepting())

    def advance(self, token: int) -> None:
        """consume_token on a copy; a matcher that nothing can follow stops by itself, and the port takes its EOS."""
        if self.ended:
            raise Illegal("EOS was taken")
        if self.matcher.is_stopped():
            if token not in self.engine.eos:
                raise Illegal("the matcher has stopped")
            self.ended = "port"
            return
        trial = self.matcher.deep_copy()
        if not trial.consume_token(token):
            raise Illegal(f"consume_token({token}) is false")
        self.matcher, self.ended = trial, "engine" if token in self.engine.eos else ""

    def fork(self) -> Session:
        """deep_copy."""
        return Matching(self.engine, self.matcher.deep_copy(), self.ended)

    def rollback(self, count: int) -> None:
        """The engine's own rollback, after an EOS that the port took."""
        if count and self.ended == "port":
            self.ended, count = "", count - 1
        if count and not self.matcher.rollback(count):
            raise Refused(f"rollback({count}) is false: {self.matcher.get_error()[:200]}")
        self.ended = self.ended if not count else ""


class LLGuidance(Engine):
    """Matchers over one tokenizer."""

    name, distribution = "llguidance", "llguidance"
    kinds = ("regex.unicode", "json_schema", "lark")
    features = ("fork", "rollback", *loader())
    policies = {"mask": "forced-first-token", "after_eos": "eos"}  # noqa: RUF012 (read by the loop, never changed)
    notes = "json_schema: whitespace_flexible false; regex: Rust syntax, Unicode \\d \\w \\s"

    def vocabulary(self, tokens: Tokens, eos: list[int], tokenizer: str | None) -> None:
        """LLTokenizer over raw bytes, or the engine's Hugging Face loader."""
        if not eos:
            raise Refused("the engine needs an EOS id")
        self.size, self.eos = len(tokens), frozenset(eos)
        if tokenizer is None:
            wrapper = llguidance.TokenizerWrapper(Greedy(tokens, eos))
            more = {"eos_token": eos if len(eos) > 1 else eos[0]}
            self.tokenizer = llguidance.LLTokenizer(wrapper, n_vocab=len(tokens), **more)
        else:
            from llguidance.hf import from_tokenizer
            from transformers import PreTrainedTokenizerFast

            loaded = PreTrainedTokenizerFast(tokenizer_file=tokenizer)
            self.tokenizer = from_tokenizer(loaded, n_vocab=len(tokens), eos_token=eos)

    def compile(self, kind: str, source: str, options: dict[str, Any]) -> Any:
        """A matcher that is not in error."""
        make = llguidance.LLMatcher
        if kind == "regex.unicode":
            grammar = make.grammar_from_regex(source)
        elif kind == "json_schema":
            grammar = make.grammar_from_json_schema(closed(source), overrides={"whitespace_flexible": False})
        else:
            grammar = make.grammar_from_lark(source)
        matcher = make(self.tokenizer, grammar, log_level=0)
        if matcher.is_error():
            raise Refused(matcher.get_error().split("<state>")[0][:400])
        return matcher

    def open(self, grammar: Any) -> Session:
        """A copy of the compiled matcher."""
        return Matching(self, grammar.deep_copy())


if __name__ == "__main__":
    serve(LLGuidance(), OUTPUT)
