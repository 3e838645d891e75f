"""The digest of a vocabulary, written out a second time from its description in docs/porting.md."""

import hashlib
from collections.abc import Iterable, Sequence


def digest(tokens: Sequence[bytes | None], eos: Iterable[int]) -> str:
    """SHA-256 over a heading, V, each token's length (−1 for none), all bytes and the EOS ids, little-endian."""
    lengths = (-1 if token is None else len(token) for token in tokens)
    parts = [
        b"maskproof vocabulary 1\n",
        len(tokens).to_bytes(8, "little"),
        *(length.to_bytes(4, "little", signed=True) for length in lengths),
        *(token for token in tokens if token is not None),
        *(token.to_bytes(4, "little") for token in sorted(eos)),
    ]
    return hashlib.sha256(b"".join(parts)).hexdigest()
