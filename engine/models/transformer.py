"""A model of the transformers library, and its batch: left padding, positions and one key-value cache.

With left padding all rows end at the same position, so one token a row is fed at a time whatever the prompts' lengths.
The attention mask hides the padding and the positions count real tokens only: a padded row gives the same logits as
the row alone, up to rounding.
"""

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from transformers import DynamicCache

from engine.errors import BadInput
from engine.models.base import Message, Shape
from reference.vocabulary import Vocabulary


@dataclass(frozen=True, slots=True)
class TransformerModel:
    """A network with the two functions that turn text and conversations into ids."""

    name: str
    network: Any
    vocabulary: Vocabulary
    encode_text: Callable[[str], list[int]]
    encode_chat: Callable[[Sequence[Message]], list[int]]
    weights: str

    @property
    def shape(self) -> Shape:
        """What it is, from its configuration."""
        config = self.network.config
        return Shape(
            architecture=type(self.network).__name__,
            parameters=sum(parameter.numel() for parameter in self.network.parameters()),
            layers=config.num_hidden_layers,
            hidden=config.hidden_size,
            logits=config.vocab_size,
            dtype=str(self.network.dtype).removeprefix("torch."),
            device=str(self.network.device),
            weights=self.weights,
        )

    def encode(self, text: str) -> list[int]:
        """The ids of a text, no special token added."""
        return self.encode_text(text)

    def chat(self, messages: Sequence[Message]) -> list[int]:
        """The ids of a conversation up to where the assistant speaks."""
        return self.encode_chat(messages)

    def rows(self, prompts: Sequence[Sequence[int]]) -> "TransformerRows":
        """A batch with these prompts, padded on the left."""
        return TransformerRows(self.network, prompts)


class TransformerRows:
    """Outputs under way in one batch, their keys and values cached."""

    def __init__(self, network: Any, prompts: Sequence[Sequence[int]]) -> None:
        """Pad the prompts on the left to one width; nothing is computed yet."""
        if not prompts or not all(prompts):
            raise BadInput("a batch needs at least one prompt, and every prompt at least one token")
        self._network = network
        self._cache = DynamicCache(config=network.config)
        self._keyword = _cache_keyword(network)
        width = max(map(len, prompts))
        padding = [width - len(prompt) for prompt in prompts]
        self._pending = self._tensor(
            [[0] * pad + list(prompt) for pad, prompt in zip(padding, prompts, strict=True)]
        )
        self._mask = self._tensor([[0] * pad + [1] * (width - pad) for pad in padding])
        self._padding = self._tensor(padding)[:, None]
        self._logits: Any = None

    @property
    def length(self) -> int:
        """Positions fed so far, left padding counted."""
        return int(self._mask.shape[1])

    @property
    def cache_bytes(self) -> int:
        """Bytes of all keys and values."""
        layers = [layer for layer in self._cache.layers if layer.keys is not None]
        return sum(
            part.numel() * part.element_size() for layer in layers for part in (layer.keys, layer.values)
        )

    def feed(self, tokens: Sequence[Sequence[int]]) -> None:
        """Append the same number of tokens to every row; nothing is computed yet."""
        added = self._tensor(tokens)
        self._pending = torch.cat((self._pending, added), dim=1)
        self._mask = torch.cat((self._mask, torch.ones_like(added)), dim=1)

    def logits(self) -> Any:
        """Next-token logits of every row, float32: one forward pass over all that was fed since the last."""
        if self._pending.shape[1]:
            self._logits = self._forward()
            self._pending = self._pending[:, :0]
        return self._logits

    def rewind(self, length: int) -> None:
        """Forget all but the first `length` positions: of what is cached, and of what was fed and not computed yet."""
        cached = self.length - self._pending.shape[1]
        if not 0 <= length <= cached:
            raise BadInput(f"cannot rewind to {length}: {cached} positions are computed")
        if length < cached:
            self._cache.crop(length - cached)
        self._mask, self._pending, self._logits = self._mask[:, :length], self._pending[:, :0], None

    def _forward(self) -> Any:
        start = self.length - self._pending.shape[1]
        positions = torch.arange(start, self.length, device=self._mask.device)[None, :] - self._padding
        with torch.inference_mode():
            output = self._network(
                input_ids=self._pending,
                attention_mask=self._mask,
                position_ids=positions.clamp(min=0),
                use_cache=True,
                logits_to_keep=1,
                **{self._keyword: self._cache},
            )
        logits = output.logits[:, -1].float()
        if logits.is_cuda:
            torch.cuda.synchronize(logits.device)  # what is timed around this is the model, not the queue
        return logits

    def _tensor(self, rows: Any) -> torch.Tensor:
        return torch.tensor(rows, dtype=torch.long, device=self._network.device)


def _cache_keyword(network: Any) -> str:
    """What this version of transformers calls the argument that takes the cache."""
    return "cache" if "cache" in inspect.signature(network.forward).parameters else "past_key_values"
