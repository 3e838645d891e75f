"""One call decoded: forced text appended without asking the model, everything else chosen greedily under a mask.

Forced bytes are turned into ids by the model's own tokenizer, once for each text; they are fed together with the next
choice, so that a whole stretch of structure costs one step. The number of choices is limited: a model that never closes
a string or a number is led out by the shortest way, and the call says so.
"""

import time
from dataclasses import dataclass, field
from typing import TypeVar

from engine.calls.grammar import Grammar
from engine.errors import BadInput
from engine.models.base import Model, Rows
from engine.models.longest_match import LongestMatch
from engine.models.masking import apply_bitmask, greedy
from reference.vocabulary import Vocabulary

Position = TypeVar("Position")
DEFAULT_CHOICES = 96


class ForcedText:
    """Ids of forced bytes, each text encoded once; what was encoded spells exactly those bytes."""

    def __init__(self, model: Model) -> None:
        """Take the tokenizer and the vocabulary of a model."""
        self._model = model
        self._spell = LongestMatch(model.vocabulary)
        self._ids: dict[bytes, list[int]] = {}

    def __len__(self) -> int:
        """How many different texts were encoded."""
        return len(self._ids)

    def ids(self, data: bytes) -> list[int]:
        """The ids of these bytes; the tokenizer is asked the first time only."""
        if data not in self._ids:
            self._ids[data] = self._encoded(data)
        return self._ids[data]

    def _encoded(self, data: bytes) -> list[int]:
        """The tokenizer's ids where they spell the bytes, else longest matches (a cut character, a normaliser)."""
        if whole_text(data) == data:
            ids = self._model.encode(data.decode())
            if b"".join(self._model.vocabulary.tokens[token] or b"" for token in ids) == data:
                return ids
        return self._spell.encode_bytes(data)


@dataclass(slots=True)
class Decoded:
    """What came of one request, and what it cost: seconds of every model step and of the constraint's work on it."""

    text: bytes = b""
    forced: int = 0
    cut_short: bool = False
    model: list[float] = field(default_factory=list)
    constraint: list[float] = field(default_factory=list)

    @property
    def chosen(self) -> int:
        """How many tokens the model chose."""
        return len(self.model)


def decode(
    rows: Rows,
    grammar: Grammar[Position],
    vocabulary: Vocabulary,
    forced_text: ForcedText,
    *,
    choices: int = DEFAULT_CHOICES,
) -> Decoded:
    """Decode one call after the prompt that `rows` holds, greedily, with at most so many choices by the model."""
    result, position = Decoded(), grammar.start
    while not grammar.is_complete(position):
        result.cut_short = result.cut_short or result.chosen >= choices
        data = grammar.ending(position) if result.cut_short else whole_text(grammar.forced(position))
        if data:
            ids, position = forced_text.ids(data), _stepped(grammar, position, data)
            result.forced += len(ids)
        else:
            token, position = _chosen(rows, grammar, position, result)
            ids, data = [token], vocabulary.tokens[token] or b""
        rows.feed([ids])
        result.text += data
    return result


def whole_text(data: bytes) -> bytes:
    """The bytes up to their last whole character; nothing when they begin within one."""
    try:
        data.decode()
    except UnicodeDecodeError as error:
        return data[: error.start]
    return data


def _chosen(
    rows: Rows, grammar: Grammar[Position], position: Position, result: Decoded
) -> tuple[int, Position]:
    begun = time.perf_counter()
    logits = rows.logits()
    answered = time.perf_counter()
    token = int(greedy(apply_bitmask(logits, grammar.bitmask(position)[None]))[0])
    position = grammar.advance(position, token)
    result.model.append(answered - begun)
    result.constraint.append(time.perf_counter() - answered)
    return token, position


def _stepped(grammar: Grammar[Position], position: Position, data: bytes) -> Position:
    after = grammar.step(position, data)
    if after is None:
        raise BadInput(f"calls: forced bytes {data!r} do not go on here; the grammar contradicts itself")
    return after
