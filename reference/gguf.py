"""The vocabulary inside a GGUF model file: a reader of its metadata, no more than that.

A GGUF file is a header, key-value metadata, tensor descriptions, then weights. Only the metadata is read, through a
memory map, so a file of any size costs the same. Every length is checked against what is left of the file before it
is believed. Source: the GGUF description in ggml (versions 2 and 3, little-endian).
"""

import mmap
import struct
from pathlib import Path

from reference.errors import VocabularyError
from reference.token_bytes import MAX_TOKENS, from_byte_level, from_sentencepiece

_SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_STRING, _ARRAY = 8, 9
_DEEPEST_ARRAY = 4
_NORMAL, _USER_DEFINED, _BYTE = 1, 4, 6
_EOS_KEYS = ("tokenizer.ggml.eos_token_id", "tokenizer.ggml.eot_token_id", "tokenizer.ggml.eom_token_id")

MetadataValue = int | float | bool | bytes | list["MetadataValue"]


class _Metadata:
    """A cursor over the bytes of one file that never reads past their end."""

    def __init__(self, data: mmap.mmap | bytes, place: str) -> None:
        """Start at the first byte; `place` opens every error."""
        self.data, self.place, self.at = data, place, 0

    def fail(self, reason: str) -> VocabularyError:
        """The error for the bytes at the cursor."""
        return VocabularyError(f"{self.place}, byte {self.at}: {reason}; fetch or convert the file again")

    def skip(self, length: int) -> int:
        """Move over `length` bytes and return where they began."""
        left = len(self.data) - self.at
        if length > left:
            raise self.fail(f"{length} bytes are announced and {left} are left")
        start = self.at
        self.at += length
        return start

    def scalar(self, code: str) -> int | float | bool:
        """One little-endian number."""
        start = self.skip(struct.calcsize("<" + code))
        value: int | float | bool = struct.unpack_from("<" + code, self.data, start)[0]
        return value

    def size(self) -> int:
        """One unsigned 64-bit length."""
        return int(self.scalar("Q"))

    def string(self) -> bytes:
        """One length-prefixed string, as bytes."""
        length = self.size()
        start = self.skip(length)
        return bytes(self.data[start : start + length])

    def value(self, kind: int, depth: int = 0) -> MetadataValue:
        """One value of the type with this number."""
        if kind == _STRING:
            return self.string()
        if kind == _ARRAY:
            return self.array(depth + 1)
        if kind not in _SCALARS:
            raise self.fail(f"value type {kind} is none of GGUF's 13")
        return self.scalar(_SCALARS[kind])

    def array(self, depth: int) -> list[MetadataValue]:
        """One array: numbers in one piece, strings and inner arrays one by one."""
        if depth > _DEEPEST_ARRAY:
            raise self.fail(f"arrays nested more than {_DEEPEST_ARRAY} deep")
        kind, count = int(self.scalar("I")), self.size()
        if kind in _SCALARS:
            code = f"<{count}{_SCALARS[kind]}"
            start = self.skip(count * struct.calcsize("<" + _SCALARS[kind]))
            return list(struct.unpack_from(code, self.data, start))
        if count > len(self.data) - self.at:
            raise self.fail(f"an array of {count} entries does not fit in the file")
        return [self.value(kind, depth) for _ in range(count)]


def read_metadata(path: Path) -> dict[str, MetadataValue]:
    """All key-value pairs of a GGUF file's metadata; strings stay bytes."""
    place = f"vocabulary {path}"
    try:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            return _read(_Metadata(data, place))
    except OSError as error:
        raise VocabularyError(f"{place}: {error.strerror}; give the path of a readable file") from None
    except ValueError as error:
        if isinstance(error, VocabularyError):
            raise
        raise VocabularyError(f"{place}: the file is empty; fetch it again") from None


def _read(cursor: _Metadata) -> dict[str, MetadataValue]:
    """The header's checks, then every pair; a key given twice is refused."""
    if cursor.data[:4] != b"GGUF":
        raise cursor.fail("the file does not begin with GGUF")
    cursor.skip(4)
    version = cursor.scalar("I")
    if version not in (2, 3):
        raise cursor.fail(f"GGUF version {version} is not one of 2 and 3 in little-endian order")
    cursor.size()
    pairs: dict[str, MetadataValue] = {}
    for _ in range(cursor.size()):
        key = cursor.string().decode("utf-8", "replace")
        if key in pairs:
            raise cursor.fail(f"the key {key!r} is given twice")
        pairs[key] = cursor.value(int(cursor.scalar("I")))
    return pairs


def read_gguf(path: Path) -> tuple[list[bytes | None], frozenset[int]]:
    """Token bytes and EOS ids of a GGUF file with a byte-level (`gpt2`) or SentencePiece (`llama`, `t5`) tokenizer.

    Unknown, control and unused tokens are nothing. User-defined ones are nothing beside byte-level tokens, where they
    are markup added to the tokenizer, and text beside SentencePiece ones, where they are runs of spaces and lines.
    EOS are the ids of the end of sequence, of turn and of message, as far as they are given.
    """
    pairs, place = read_metadata(path), f"vocabulary {path}"
    texts = _texts(pairs.get("tokenizer.ggml.tokens"), place)
    kinds = pairs.get("tokenizer.ggml.token_type", [_NORMAL] * len(texts))
    if not isinstance(kinds, list) or len(kinds) != len(texts):
        raise VocabularyError(
            f"{place}: tokenizer.ggml.token_type is not one number a token; convert the file again"
        )
    eos = frozenset(value for key in _EOS_KEYS if isinstance(value := pairs.get(key), int))
    return _decode(pairs.get("tokenizer.ggml.model"), texts, kinds, place), eos


def _texts(value: MetadataValue | None, place: str) -> list[str]:
    """The spellings of all tokens."""
    if not isinstance(value, list) or len(value) > MAX_TOKENS:
        raise VocabularyError(
            f"{place}: no list of tokens under tokenizer.ggml.tokens; give a file with a tokenizer"
        )
    texts = []
    for token, raw in enumerate(value):
        if not isinstance(raw, bytes):
            raise VocabularyError(f"{place}, token {token}: {raw!r} is not a string; convert the file again")
        try:
            texts.append(raw.decode())
        except UnicodeDecodeError:
            raise VocabularyError(
                f"{place}, token {token}: {raw!r} is not UTF-8; convert the file again"
            ) from None
    return texts


def _decode(
    model: MetadataValue | None, texts: list[str], kinds: list[MetadataValue], place: str
) -> list[bytes | None]:
    """Bytes of every token by the tokenizer's kind and the token's type."""
    tokens: list[bytes | None] = [None] * len(texts)
    if model == b"gpt2":
        with_bytes = [token for token, kind in enumerate(kinds) if kind in (_NORMAL, _BYTE)]
        pieces = from_byte_level((texts[token] for token in with_bytes), place)
        for token, piece in zip(with_bytes, pieces, strict=True):
            tokens[token] = piece
    elif model in (b"llama", b"t5"):
        for token, kind in enumerate(kinds):
            if kind in (_NORMAL, _BYTE, _USER_DEFINED):
                tokens[token] = from_sentencepiece(texts[token], place)
    else:
        raise VocabularyError(f"{place}: tokenizer model {model!r} is not read; use one of gpt2, llama, t5")
    return tokens
