"""Vocabularies as tokenizer.json of the tokenizers library, with the model folder around it.

Nothing are: a special token, the unknown token, an id that no token has, and every token that was only *added* to a
tokenizer and is not in its base vocabulary (Qwen3's `<think>`: matched as markup before any text is cut into tokens).
An added token that the base vocabulary holds and that is not special keeps its bytes (Gemma's runs of spaces).
Next: gguf, vocabulary.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from reference.errors import VocabularyError
from reference.token_bytes import MAX_TOKENS, from_byte_level, from_sentencepiece
from reference.tokenizer_files import Tokens, id_set, place_tokens, read_json


class Added(NamedTuple):
    """A token that was added to a base vocabulary."""

    id: int
    content: str
    is_special: bool


def read_tokenizer_json(document: Mapping[str, Any], path: Path) -> tuple[Tokens, frozenset[int]]:
    """Tokens of a tokenizer.json and all EOS ids of generation_config, config and tokenizer_config beside it.

    A `vocab_size` in config.json that is larger than the tokenizer pads with nothing, up to the width of the logits.
    """
    place = f"vocabulary {path}"
    model, added = document.get("model"), _added(document.get("added_tokens"), place)
    if not isinstance(model, dict):
        raise VocabularyError(f"{place}: no model in it; give a tokenizer.json of the tokenizers library")
    base = _base_vocabulary(model.get("vocab"), place)
    silent = {token.id for token in added if token.is_special} | _unknown(model, base)
    texts = {text: token for text, token in base.items() if token not in silent}
    tokens = place_tokens(_with_bytes(document, model, texts, place), place)
    size = max([len(tokens), *(token + 1 for token in base.values()), *(token.id + 1 for token in added)])
    ids = base | {token.content: token.id for token in added}
    return tokens + [None] * (max(size, _width(path)) - len(tokens)), _declared_eos(path, ids)


def _added(entries: Any, place: str) -> list[Added]:
    """The added tokens, each with an id in range and a text."""
    added = []
    for entry in entries if isinstance(entries, list) else [] if entries is None else [entries]:
        fields = entry if isinstance(entry, dict) else {}
        token, content = fields.get("id"), fields.get("content")
        if type(token) is not int or not 0 <= token < MAX_TOKENS or not isinstance(content, str):
            raise VocabularyError(
                f"{place}, added_tokens: {entry!r:.80} has no id and content; fetch the file again"
            )
        added.append(Added(token, content, bool(fields.get("special"))))
    return added


def _base_vocabulary(vocab: Any, place: str) -> dict[str, int]:
    """Spelling → id of the model: BPE's object, or Unigram's list of [spelling, score]."""
    if isinstance(vocab, list):
        rows = [row[0] if isinstance(row, list) and row else None for row in vocab]
        listed = {text: token for token, text in enumerate(rows) if isinstance(text, str)}
        if len(listed) == len(vocab) <= MAX_TOKENS:
            return listed
        raise VocabularyError(
            f"{place}: model.vocab is not a list of distinct [spelling, score]; fetch the file again"
        )
    if not isinstance(vocab, dict) or not all(type(token) is int for token in vocab.values()):
        raise VocabularyError(
            f"{place}: model.vocab is neither spelling → id nor a list; only BPE and Unigram are read"
        )
    for text, token in vocab.items():
        if not 0 <= token < MAX_TOKENS:
            raise VocabularyError(
                f"{place}, {text!r:.80}: token id {token} is not in 0 to {MAX_TOKENS - 1}; number tokens from 0"
            )
    return vocab


def _unknown(model: Mapping[str, Any], base: Mapping[str, int]) -> set[int]:
    """The id of the unknown token, which stands for no text."""
    name, token = model.get("unk_token"), model.get("unk_id")
    if isinstance(name, str):
        token = base.get(name)
    return {token} if isinstance(token, int) else set()


def _with_bytes(
    document: Mapping[str, Any], model: Mapping[str, Any], texts: dict[str, int], place: str
) -> list[tuple[int, bytes]]:
    """(id, bytes) of tokens by their spelling."""
    if not (model.get("continuing_subword_prefix") or model.get("end_of_word_suffix")):
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
            steps = part.get("decoders") or part.get("pretokenizers")
            parts += steps if isinstance(steps, list) else []
    return False


def _width(path: Path) -> int:
    """The number of logits that config.json declares, 0 without one."""
    for config in _configs(path):
        width = config.get("vocab_size")
        if type(width) is int and 0 <= width <= MAX_TOKENS:
            return width
        if width is not None:
            raise VocabularyError(
                f"vocabulary {path.with_name('config.json')}: vocab_size {width!r:.80} is not a count of tokens; "
                "give the width of the logits"
            )
    return 0


def _declared_eos(path: Path, ids: Mapping[str, int]) -> frozenset[int]:
    """Every id that a file in the tokenizer's folder ends an output with: the union, since a server stops on any."""
    found = [config.get("eos_token_id") for config in _configs(path)]
    found.append(_object(path.with_name("generation_config.json")).get("eos_token_id"))
    eos = frozenset[int]().union(
        *(id_set(value, f"vocabulary {path}, eos_token_id beside it") for value in found)
    )
    name = _object(path.with_name("tokenizer_config.json")).get("eos_token")
    text = name.get("content") if isinstance(name, dict) else name
    return eos | {ids[text]} if isinstance(text, str) and text in ids else eos


def _configs(path: Path) -> list[dict[str, Any]]:
    """config.json and, of a model of several parts, its text part."""
    config = _object(path.with_name("config.json"))
    inner = config.get("text_config")
    return [config, inner] if isinstance(inner, dict) else [config]


def _object(path: Path) -> dict[str, Any]:
    """The JSON object in a file, empty when there is no such file."""
    value = read_json(path) if path.is_file() else {}
    if not isinstance(value, dict):
        raise VocabularyError(f"vocabulary {path}: not a JSON object; fetch the file again")
    return value
