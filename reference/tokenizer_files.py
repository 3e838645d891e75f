"""Vocabularies as files: tokenizer.json with the model folder around it, tiktoken, and a plain JSON list.

Each reader returns token bytes by id and the EOS ids that the file, or the files beside it, declare. What is nothing:
a special token, an id that no token has, and every token that was only *added* to a tokenizer and is not in its base
vocabulary (Qwen3's `<think>`: matched as markup before any text is cut into tokens). Added tokens that the base
vocabulary holds and that are not special keep their bytes (Gemma's runs of spaces). Next: gguf, vocabulary.
"""

import base64
import binascii
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from reference.errors import VocabularyError
from reference.token_bytes import MAX_TOKENS, from_byte_level, from_sentencepiece

MAX_FILE = 1 << 29
"""Bytes of the largest text file that is read into memory."""

Tokens = list[bytes | None]


def read_text_file(path: Path) -> bytes:
    """The bytes of a file that exists, is a file and is not enormous."""
    try:
        if path.stat().st_size > MAX_FILE:
            raise VocabularyError(
                f"vocabulary {path}: larger than {MAX_FILE} bytes; give a tokenizer's own file"
            )
        return path.read_bytes()
    except OSError as error:
        raise VocabularyError(
            f"vocabulary {path}: {error.strerror}; give the path of a readable file"
        ) from None


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
    rows, eos = (value.get("tokens"), value.get("eos", [])) if isinstance(value, dict) else (value, [])
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


def read_tokenizer_json(document: Mapping[str, Any], path: Path) -> tuple[Tokens, frozenset[int]]:
    """Tokens of a tokenizer.json and all EOS ids of generation_config, config and tokenizer_config beside it.

    A `vocab_size` in config.json that is larger than the tokenizer pads with nothing, up to the width of the logits.
    """
    place = f"vocabulary {path}"
    model, added = document.get("model"), _added(document, place)
    if not isinstance(model, dict):
        raise VocabularyError(f"{place}: no model in it; give a tokenizer.json of the tokenizers library")
    base = _base_vocabulary(model, place)
    silent = {entry["id"] for entry in added if entry.get("special", False)} | _unknown(model, base)
    tokens = place_tokens(_spoken(document, model, base, silent, place), place)
    size = max([len(tokens), *(token + 1 for token in base.values()), *(entry["id"] + 1 for entry in added)])
    width, eos = _beside(path, {entry["content"]: entry["id"] for entry in added}, base)
    return tokens + [None] * (max(size, width) - len(tokens)), eos


def _added(document: Mapping[str, Any], place: str) -> list[dict[str, Any]]:
    """The added tokens, each with an id in range and a text."""
    added = document.get("added_tokens") or []
    for entry in added:
        token = entry.get("id") if isinstance(entry, dict) else None
        if (
            not isinstance(token, int)
            or not 0 <= token < MAX_TOKENS
            or not isinstance(entry.get("content"), str)
        ):
            raise VocabularyError(
                f"{place}, added_tokens: {entry!r:.80} has no id and content; fetch the file again"
            )
    return list(added)


def _base_vocabulary(model: Mapping[str, Any], place: str) -> dict[str, int]:
    """Spelling → id of the model, BPE's object or Unigram's list of [spelling, score]."""
    vocab = model.get("vocab")
    if isinstance(vocab, list):
        rows = [row[0] for row in vocab if isinstance(row, list) and row]
        return _unique(rows, len(vocab), place)
    if not isinstance(vocab, dict) or not all(type(token) is int for token in vocab.values()):
        raise VocabularyError(
            f"{place}: model.vocab is neither spelling → id nor a list; only BPE and Unigram are read"
        )
    return vocab


def _unique(rows: list[Any], count: int, place: str) -> dict[str, int]:
    """Spelling → place in a Unigram list of distinct texts."""
    vocab = {text: token for token, text in enumerate(rows) if isinstance(text, str)}
    if len(vocab) != count:
        raise VocabularyError(
            f"{place}: model.vocab is not a list of distinct [spelling, score]; fetch the file again"
        )
    return vocab


def _unknown(model: Mapping[str, Any], base: Mapping[str, int]) -> set[int]:
    """The id of the unknown token, which stands for no text."""
    token = model.get("unk_id", base.get(model.get("unk_token") or ""))
    return set() if token is None else {token}


def _spoken(
    document: Mapping[str, Any], model: Mapping[str, Any], base: dict[str, int], silent: set[int], place: str
) -> list[tuple[int, bytes]]:
    """(id, bytes) of every base token that is text."""
    texts = {text: token for text, token in base.items() if token not in silent}
    if _uses(document, "ByteLevel"):
        return list(zip(texts.values(), from_byte_level(texts, place), strict=True))
    if model.get("byte_fallback") or _uses(document, "ByteFallback") or _uses(document, "Metaspace"):
        return [(token, from_sentencepiece(text, place)) for text, token in texts.items()]
    raise VocabularyError(
        f"{place}: neither byte-level nor SentencePiece; give the token bytes as a JSON list"
    )


def _uses(document: Mapping[str, Any], kind: str) -> bool:
    """Whether the decoder or the pre-tokenizer is of this type or a sequence with a step of it."""
    parts = [document.get("decoder"), document.get("pre_tokenizer")]
    while parts:
        part = parts.pop()
        if isinstance(part, dict):
            if part.get("type") == kind:
                return True
            parts += [*(part.get("decoders") or []), *(part.get("pretokenizers") or [])]
    return False


def _beside(path: Path, added: Mapping[str, int], base: Mapping[str, int]) -> tuple[int, frozenset[int]]:
    """The logits' width and the EOS ids that the files in the tokenizer's folder declare."""
    config = _object(path.with_name("config.json"))
    inner = config.get("text_config")
    text_config: dict[str, Any] = inner if isinstance(inner, dict) else {}
    width = config.get("vocab_size", text_config.get("vocab_size", 0))
    if not isinstance(width, int) or not 0 <= width <= MAX_TOKENS:
        raise VocabularyError(
            f"vocabulary {path.with_name('config.json')}: vocab_size {width!r} is not a count of tokens"
        )
    eos: frozenset[int] = frozenset()
    for part, source in (
        (config, "config"),
        (text_config, "config"),
        (_object(path.with_name("generation_config.json")), "generation_config"),
    ):
        eos |= id_set(
            part.get("eos_token_id"), f"vocabulary {path.with_name(source + '.json')}, eos_token_id"
        )
    name = _object(path.with_name("tokenizer_config.json")).get("eos_token")
    text = name.get("content") if isinstance(name, dict) else name
    token = added.get(text, base.get(text)) if isinstance(text, str) else None
    return width, eos if token is None else eos | {token}


def _object(path: Path) -> dict[str, Any]:
    """The JSON object in a file, empty when there is no such file."""
    value = read_json(path) if path.is_file() else {}
    if not isinstance(value, dict):
        raise VocabularyError(f"vocabulary {path}: not a JSON object; fetch the file again")
    return value
