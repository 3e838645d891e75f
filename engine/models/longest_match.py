"""Text to ids without merge rules: at every place the longest token that matches.

Not the tokenization a model was trained on. It serves models with random weights, to which every spelling is alike,
and vocabularies that come without their merges.
"""

from engine.errors import BadInput
from reference.vocabulary import Vocabulary


class LongestMatch:
    """Encodes bytes greedily over a vocabulary; of two ids with the same bytes the lower is taken."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        """Index the tokens by their bytes."""
        self._ids: dict[bytes, int] = {}
        for token, data in enumerate(vocabulary.tokens):
            if data:
                self._ids.setdefault(data, token)
        self._longest = max(map(len, self._ids), default=0)

    def encode(self, text: str) -> list[int]:
        """The ids of a text's UTF-8 bytes."""
        return self.encode_bytes(text.encode())

    def encode_bytes(self, data: bytes) -> list[int]:
        """The ids of bytes."""
        ids, at = list[int](), 0
        while at < len(data):
            token, at = self._longest_from(data, at)
            ids.append(token)
        return ids

    def _longest_from(self, data: bytes, at: int) -> tuple[int, int]:
        for end in range(min(at + self._longest, len(data)), at, -1):
            if (token := self._ids.get(data[at:end])) is not None:
                return token, end
        raise BadInput(
            f"text, byte {at}: no token begins with byte {data[at]:#04x}; this vocabulary cannot write it"
        )
