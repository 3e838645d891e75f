"""lm-format-enforcer as a port: its token enforcer over decoded text, default configuration.

The engine's Hugging Face integration is repeated here with the tokens' bytes in place of a tokenizer: a piece that
is no UTF-8 by itself becomes U+FFFD, as there. The engine keeps no session: it is asked about the list of tokens so
far, so a fork is another list. It has no advance; a token is taken when the last list holds it. It has no compact JSON.
"""

import logging
import os
import sys
from typing import Any

sys.path.append(os.path.dirname(os.path.abspath(__file__)))
from speak import Engine, Illegal, Refused, Session, Tokens, as_dict, channel, pack, serve

PORT = {
    "name": "lm-format-enforcer",
    "about": "lm-format-enforcer's TokenEnforcer over RegexParser and JsonSchemaParser",
    "distributions": ["lm-format-enforcer", "interegular"],
}

OUTPUT = channel() if __name__ == "__main__" else None
if __name__ == "__main__":
    sys.modules["torch"] = None  # type: ignore[assignment]  # optional there, slow to import, and not used here
    import lmformatenforcer
    from lmformatenforcer.exceptions import LMFormatEnforcerException
    from lmformatenforcer.tokenenforcer import TokenEnforcerTokenizerData

    logging.basicConfig(level=logging.ERROR, stream=sys.stderr)


class Listed(Session):
    """The tokens so far, in one TokenEnforcer."""

    def __init__(self, engine: "LMFormatEnforcer", enforcer: Any, tokens: tuple[int, ...] = ()) -> None:
        """Stand after these tokens."""
        self.engine, self.enforcer, self.tokens = engine, enforcer, tokens

    def is_done(self) -> bool:
        """Whether EOS was taken."""
        return bool(self.tokens) and self.tokens[-1] in self.engine.eos

    def allowed(self) -> list[int]:
        """get_allowed_tokens of every prefix, so that the engine always knows the one before."""
        if self.is_done():
            return []
        try:
            return self._asked()
        except LMFormatEnforcerException as error:
            raise Refused(f"the engine says so only now: {str(error)[:300]}") from error

    def _asked(self) -> list[int]:
        for length in range(len(self.tokens) + 1):
            if self.tokens[:length] not in self.enforcer.prefix_states:
                self.enforcer.get_allowed_tokens(list(self.tokens[:length]))
        listed = self.enforcer.get_allowed_tokens(list(self.tokens))
        if listed is None:
            raise Refused("the engine has no list here: it refused the schema when it was asked before")
        found: list[int] = listed.allowed_tokens
        return found

    def mask(self) -> bytes:
        """The engine's list, packed; nothing after EOS, about which it is not asked."""
        return pack(self.allowed(), self.engine.size)

    def is_complete(self) -> bool:
        """Whether the list has an EOS id; can_end where the vocabulary has none."""
        if self.is_done():
            return True
        allowed = self.allowed()
        if not self.engine.eos:
            return bool(self.enforcer.prefix_states[self.tokens].parser.can_end())
        return any(end in allowed for end in self.engine.eos)

    def advance(self, token: int) -> None:
        """Take a token that the list holds."""
        if token not in self.allowed():
            raise Illegal(f"token {token} is not in the engine's list")
        self.tokens = (*self.tokens, token)

    def fork(self) -> Session:
        """Another list."""
        return Listed(self.engine, self.enforcer, self.tokens)

    def rollback(self, count: int) -> None:
        """A shorter list."""
        if count:
            self.tokens = self.tokens[:-count]


class LMFormatEnforcer(Engine):
    """Enforcers over one vocabulary."""

    name, distribution = "lm-format-enforcer", "lm-format-enforcer"
    kinds = ("regex.unicode", "json_schema")
    features = ("fork", "rollback")
    policies = {"whitespace": "any", "object_order": "any"}  # noqa: RUF012 (read by the loop, never changed)
    notes = (
        "default limits: 12 blanks in a row, 20 items where a schema has no bound; empty tokens are left out"
    )

    def vocabulary(self, tokens: Tokens, eos: list[int], tokenizer: str | None) -> None:
        """TokenEnforcerTokenizerData of the tokens' text."""
        self.size, self.eos = len(tokens), sorted(set(eos))
        ends = frozenset(eos)
        regular = [
            (number, token.decode("utf-8", "replace"), False)
            for number, token in enumerate(tokens)
            if token and number not in ends
        ]

        def decoded(taken: list[int]) -> str:
            return (
                b"".join(tokens[token] or b"" for token in taken).decode("utf-8", "replace").rstrip("\ufffd")
            )

        self.known = TokenEnforcerTokenizerData(regular, decoded, self.eos, False, self.size)

    def compile(self, kind: str, source: str, options: dict[str, Any]) -> Any:
        """A TokenEnforcer; the first list is asked for, since some schemas are refused only then."""
        if kind == "regex.unicode":
            parser = lmformatenforcer.RegexParser(source)
        else:
            parser = lmformatenforcer.JsonSchemaParser(as_dict(source))
        enforcer = lmformatenforcer.TokenEnforcer(self.known, parser)
        enforcer.get_allowed_tokens([])
        return enforcer

    def open(self, grammar: Any) -> Session:
        """An empty list."""
        return Listed(self, grammar)


if __name__ == "__main__":
    serve(LMFormatEnforcer(), OUTPUT)
