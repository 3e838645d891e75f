"""The interface of a model: text to ids, and rows of one batch whose next-token logits can be asked.

A row is one output under way. Rows share a batch and keep their key-value cache; what is fed is computed when
logits are next asked, so that forced tokens cost no step of their own. The pitfall is to ask for logits after every
forced token: the model would be run for choices that nobody makes.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from reference.vocabulary import Vocabulary

Logits = Any
"""A float32 tensor of shape (rows, vocabulary) on the model's device."""

Message = tuple[str, str]
"""(role, text) of one chat turn."""


@dataclass(frozen=True, slots=True)
class Shape:
    """What a model is, for a report: its class, sizes, number type, device and where its weights come from."""

    architecture: str
    parameters: int
    layers: int
    hidden: int
    logits: int
    dtype: str
    device: str
    weights: str


class Rows(Protocol):
    """Outputs under way in one batch."""

    def feed(self, tokens: Sequence[Sequence[int]]) -> None:
        """Append the same number of tokens to every row; nothing is computed yet."""

    def logits(self) -> Logits:
        """Next-token logits of every row after all that was fed."""

    def rewind(self, length: int) -> None:
        """Forget all but the first `length` positions of every row."""

    @property
    def length(self) -> int:
        """Positions fed so far, left padding counted."""

    @property
    def cache_bytes(self) -> int:
        """Bytes held by the key-value cache."""


class Model(Protocol):
    """A causal language model with its vocabulary."""

    @property
    def name(self) -> str:
        """The name it was asked by."""

    @property
    def vocabulary(self) -> Vocabulary:
        """Bytes of every logit's token, padded to the width of the logits."""

    @property
    def shape(self) -> Shape:
        """What it is."""

    def encode(self, text: str) -> list[int]:
        """The ids of a text, no special token added."""

    def chat(self, messages: Sequence[Message]) -> list[int]:
        """The ids of a conversation up to where the assistant speaks."""

    def rows(self, prompts: Sequence[Sequence[int]]) -> Rows:
        """A batch with these prompts, padded on the left."""
