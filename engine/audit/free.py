"""Texts that the engine itself leads to: whatever it lets be written to the end must parse and validate.

This asks nothing of how an engine spells JSON, so it holds for every policy: tokens are drawn from the engine's own
masks, short ways out preferred, and a text that ends is given to a JSON reader and to `jsonschema`.
"""

import json
import random
from dataclasses import dataclass
from typing import Any

import numpy as np
from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError

from engine.audit.exact import ids
from engine.audit.runner import Runner
from engine.protocol import PortError, integer_of, mask_of
from reference.vocabulary import Vocabulary

CLOSERS = frozenset(b'"}]')


@dataclass(frozen=True, slots=True)
class Outcome:
    """A text that the engine let be written: whether it ended, and what is wrong with it when it did."""

    tokens: tuple[int, ...]
    text: bytes
    ended: bool
    wrong: str = ""
    keyword: str = ""


class FreeWalker:
    """Draws tokens from an engine's own masks."""

    def __init__(self, runner: Runner, vocabulary: Vocabulary, chance: random.Random) -> None:
        """Weigh tokens once: short ones and those that close something get texts to their end."""
        self.runner, self.vocabulary, self.chance = runner, vocabulary, chance
        self.weight = np.array([_weight(piece) for piece in vocabulary.tokens])

    def walk(self, grammar: int, schema: Any, length: int = 120) -> Outcome:
        """One walk of at most `length` tokens."""
        session = integer_of(self.runner.port.request("open", grammar=grammar), "session")
        tokens: list[int] = []
        ended = False
        while len(tokens) < length and not ended:
            token = self._next(session, hurry=len(tokens) > length // 3)
            if token is None:
                break
            try:
                self.runner.port.request("advance", session=session, token=token)
            except PortError:
                break
            ended = token in self.vocabulary.eos
            tokens.append(token)
        self.runner.port.request("close", session=session)
        text = b"".join(
            self.vocabulary.tokens[token] or b"" for token in tokens if token not in self.vocabulary.eos
        )
        wrong, keyword = fault_of(text, schema) if ended else ("", "")
        return Outcome(tuple(tokens), text, ended, wrong, keyword)

    def _next(self, session: int, *, hurry: bool) -> int | None:
        answer = self.runner.port.request("mask", session=session)
        self.runner.tally.masks += 1
        allowed = ids(mask_of(answer, len(self.vocabulary)), len(self.vocabulary))
        ends = [token for token in allowed.tolist() if token in self.vocabulary.eos]
        if ends and (hurry or self.chance.random() < 0.5):
            return int(self.chance.choice(ends))
        if not len(allowed):
            return None
        weight = self.weight[allowed] ** (3 if hurry else 1)
        return int(self.chance.choices(allowed.tolist(), weight.tolist())[0])


def fault_of(text: bytes, schema: Any) -> tuple[str, str]:
    """What is wrong with a text under a schema, and the keyword that it breaks; ("", "") when it is valid."""
    try:
        value = json.loads(text)
    except ValueError as error:
        return f"the text does not parse: {error}", ""
    try:
        Draft202012Validator(schema).validate(value)
    except ValidationError as error:
        place = "/".join(map(str, error.absolute_path)) or "the root"
        return f"{place} breaks {error.validator!r}: {error.message[:120]}", str(error.validator)
    return "", ""


def _weight(piece: bytes | None) -> float:
    if not piece:
        return 0.2
    return (6.0 if CLOSERS & set(piece) else 1.0) / len(piece)
