"""Models without weights behind `engine.models.base`: seeded random logits, and one that says what the prompt asks for.

They make the server testable without torch: `RandomModel` has no sense at all, so whatever is well formed in
its answers comes from the masks; `EchoModel` repeats the last message from its `Say exactly: ` on, the way an
obedient model would, so that a test can choose the text that the server has to parse.
"""

import zlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from engine.models.base import Message, Shape
from engine.models.longest_match import LongestMatch
from reference.vocabulary import Vocabulary

Float32 = NDArray[np.float32]
REQUEST = "Say exactly: "
ANSWER = "\nassistant: "
PIECES = ('{"', '":', '":"', '","', '"}', "<tool", "_call", ">{", "</", "}}", "the ", "é", "漢字", "😀")


def byte_vocabulary() -> Vocabulary:
    """All 256 bytes, a few pieces of JSON and markup that cut the markers, a special id and EOS."""
    singles = [bytes([byte]) for byte in range(256)]
    pieces = [piece.encode() for piece in PIECES]
    tokens = (*singles, *pieces, None, None)
    return Vocabulary(tokens, frozenset({len(tokens) - 1}), "bytes")


class _Rows:
    """Outputs under way: the ids fed so far, from which the logits are computed anew."""

    def __init__(self, model: "RandomModel", prompts: Sequence[Sequence[int]]) -> None:
        self._model = model
        self._ids = [list(prompt) for prompt in prompts]

    def feed(self, tokens: Sequence[Sequence[int]]) -> None:
        for ids, added in zip(self._ids, tokens, strict=True):
            ids.extend(added)

    def logits(self) -> Float32:
        return np.stack([self._model.next_logits(ids) for ids in self._ids])

    def rewind(self, length: int) -> None:
        self._ids = [ids[:length] for ids in self._ids]

    @property
    def length(self) -> int:
        return max(map(len, self._ids))

    @property
    def cache_bytes(self) -> int:
        return 0


class RandomModel:
    """Logits drawn anew from the seed and the ids so far: the same output always continues alike."""

    def __init__(self, vocabulary: Vocabulary | None = None, *, seed: int = 0, name: str = "random") -> None:
        """Over the byte vocabulary unless another is given."""
        self.name = name
        self.vocabulary = vocabulary or byte_vocabulary()
        self.seed = seed
        self._encode = LongestMatch(self.vocabulary).encode

    @property
    def shape(self) -> Shape:
        """No weights at all."""
        return Shape(
            type(self).__name__, 0, 0, 0, len(self.vocabulary), "float32", "cpu", f"seed {self.seed}"
        )

    def encode(self, text: str) -> list[int]:
        """The longest matches."""
        return self._encode(text)

    def chat(self, messages: Sequence[Message]) -> list[int]:
        """The turns as plain text."""
        return self.encode("\n".join(f"{role}: {text}" for role, text in messages) + ANSWER)

    def rows(self, prompts: Sequence[Sequence[int]]) -> _Rows:
        """A batch with these prompts."""
        return _Rows(self, prompts)

    def next_logits(self, ids: Sequence[int]) -> Float32:
        """A standard normal draw for every token."""
        seen = zlib.crc32(np.array(ids, dtype=np.int32).tobytes())
        rng = np.random.default_rng((self.seed, seen))
        return rng.standard_normal(len(self.vocabulary), dtype=np.float32)


class EchoModel(RandomModel):
    """Says what follows the last `Say exactly: `; random where a mask forbids that."""

    def __init__(self, vocabulary: Vocabulary | None = None, *, seed: int = 0, name: str = "echo") -> None:
        """Over the byte vocabulary unless another is given."""
        super().__init__(vocabulary, seed=seed, name=name)
        self._ids = {data: token for token, data in enumerate(self.vocabulary.tokens) if data}
        self._longest = max(map(len, self._ids))

    def next_logits(self, ids: Sequence[int]) -> Float32:
        """Far above all others: the tokens that go on with the asked text, longer ones first, and EOS at its end."""
        logits = super().next_logits(ids)
        wanted, said = self.asked(ids)
        if wanted is None or not wanted.startswith(said):
            return logits
        rest = wanted[len(said) :]
        for token in self.continuations(rest):
            logits[token] += 1e4 * len(self.vocabulary.tokens[token] or b"")
        if not rest:
            logits[sorted(self.vocabulary.eos)] += 1e4
        return logits

    def asked(self, ids: Sequence[int]) -> tuple[bytes | None, bytes]:
        """The text that the conversation asks for (None for none; backslash n is a newline), and what was said."""
        text = b"".join(self.vocabulary.tokens[token] or b"" for token in ids)
        _, _, turn = text.rpartition(REQUEST.encode())
        wanted, marker, said = turn.partition(ANSWER.encode())
        return (wanted.replace(b"\\n", b"\n"), said) if marker and REQUEST.encode() in text else (None, b"")

    def continuations(self, rest: bytes) -> list[int]:
        """The tokens that `rest` begins with."""
        found = (self._ids.get(rest[:end]) for end in range(1, min(len(rest), self._longest) + 1))
        return [token for token in found if token is not None]
