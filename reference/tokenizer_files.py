"""Vocabularies as files: the tiktoken and JSON list formats, and the checks that every text format shares.

Each reader returns token bytes by id, None for an id that no token has, and the EOS ids where the format declares any.
Next: tokenizer_json, gguf, vocabulary.
"""

import base64
import binascii
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from reference.errors import VocabularyError
from reference.token_bytes import MAX_TOKENS

MAX_FILE = 1 << 29
"""Bytes of the largest text file that is read into memory."""

Tokens = list[bytes | None]


def read_text_file(path: Path) -> bytes:
    """The bytes of a file that exists, is a file and is not enormous."""
    try:
        with path.open("rb") as file:  # read to the limit and not by size: a device has none
            data = file.read(MAX_FILE + 1)
    except OSError as error:
        raise VocabularyError(
            f"vocabulary {path}: {error.strerror}; give the path of a readable file"
        ) from None
    if len(data) > MAX_FILE:
        raise VocabularyError(f"vocabulary {path}: larger than {MAX_FILE} bytes; give a tokenizer's own file")
    return data


def read_json(path: Path) -> Any:
    """The value of a JSON file."""
    try:
        return json.loads(read_text_file(path))
    except VocabularyError:
        raise
    except (ValueError, RecursionError) as error:
        raise VocabularyError(f"vocabulary {path}: not JSON ({error}); fetch the file again") from None


def place_tokens(pairs: Iterable[tuple[int, bytes]], place: str) -> Tokens:
    """A list by id from (id, bytes) pairs; ids that no pair names are nothing, an id named twice is refused."""
    by_id: dict[int, bytes] = {}
    for token, piece in pairs:
        if not 0 <= token < MAX_TOKENS:
            raise VocabularyError(
                f"{place}: token id {token} is not in 0 to {MAX_TOKENS - 1}; number tokens from 0"
            )
        if token in by_id:
            raise VocabularyError(f"{place}: token id {token} is given twice; keep one of the two")
        by_id[token] = piece
    size = max(by_id, default=-1) + 1
    return [by_id.get(token) for token in range(size)]


def decode_base64(text: Any, place: str) -> bytes:
    """Strict base64 (RFC 4648 §4, padded, nothing else between)."""
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError, TypeError):
        raise VocabularyError(
            f"{place}: {text!r:.80} is not base64; encode the token's bytes with RFC 4648 §4"
        ) from None


def read_tiktoken(path: Path) -> Tokens:
    """Tokens of a `*.tiktoken` file: a line a token, its bytes in base64, a space, its id."""
    lines = read_text_file(path).splitlines()
    return place_tokens(_tiktoken_pairs(lines, path), f"vocabulary {path}")


def _tiktoken_pairs(lines: list[bytes], path: Path) -> Iterable[tuple[int, bytes]]:
    for number, line in enumerate(lines, 1):
        fields = line.split()
        if not fields:
            continue
        if len(fields) != 2 or not fields[1].isdigit() or len(fields[1]) > 9:
            raise VocabularyError(
                f"vocabulary {path}, line {number}: {line!r:.80} is not 'BASE64 ID'; see tiktoken's files"
            )
        yield int(fields[1]), decode_base64(fields[0].decode("latin-1"), f"vocabulary {path}, line {number}")


def read_json_list(value: Any, path: Path) -> tuple[Tokens, frozenset[int]]:
    """Tokens of a list of base64 strings or null, or of an object with that list as `tokens` and ids as `eos`."""
    rows, eos = (value.get("tokens"), value.get("eos")) if isinstance(value, dict) else (value, None)
    if not isinstance(rows, list) or len(rows) > MAX_TOKENS:
        raise VocabularyError(
            f"vocabulary {path}: no list of tokens; write base64 strings or null, one an id"
        )
    tokens = [
        None if row is None else decode_base64(row, f"vocabulary {path}, token {token}")
        for token, row in enumerate(rows)
    ]
    return tokens, id_set(eos, f"vocabulary {path}, eos")


def id_set(value: Any, place: str) -> frozenset[int]:
    """The ids of null, one id, or a list of ids."""
    ids = [] if value is None else value if isinstance(value, list) else [value]
    for entry in ids:
        if not isinstance(entry, int) or isinstance(entry, bool):
            raise VocabularyError(
                f"{place}: {entry!r:.80} is not a token id; write an integer or a list of them"
            )
    return frozenset(ids)
