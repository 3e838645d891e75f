"""From a tokenizer's own spelling of a token to the raw bytes that the token stands for.

Two spellings are in use. Byte-level BPE writes every byte as one visible character (GPT-2's table: a space is `Ġ`).
SentencePiece writes text, a space as `▁`, and a byte that is no text as `<0xHH>`. The pitfall is to take the spelling
for the text: then ` null` has no token and masks lose half of the vocabulary. Next: tokenizer_files, gguf.
"""

import re
from collections.abc import Iterable

from reference.errors import VocabularyError

MAX_TOKENS = 1 << 24
"""More ids than any vocabulary has; a file that announces more is refused before memory is taken for them."""

_BYTE_PIECE = re.compile(r"<0x([0-9A-Fa-f]{2})>")


def _visible_bytes() -> list[int]:
    """The bytes that GPT-2's table writes as themselves: printable Latin-1 without the space and the soft hyphen."""
    return [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]


def byte_level_alphabet() -> dict[str, int]:
    """Character → byte of byte-level BPE: visible bytes are themselves, the other 68 U+0100 onwards in order."""
    visible = _visible_bytes()
    hidden = [byte for byte in range(256) if byte not in visible]
    return {chr(byte): byte for byte in visible} | {chr(0x100 + i): byte for i, byte in enumerate(hidden)}


_ALPHABET = byte_level_alphabet()
_TO_LATIN_1 = {ord(character): byte for character, byte in _ALPHABET.items()}


def utf8(text: str, place: str) -> bytes:
    """The UTF-8 bytes of a text; a lone surrogate is a VocabularyError that names the place."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise VocabularyError(f"{place}: {text!r} holds a lone surrogate; write whole characters") from None


def from_byte_level(texts: Iterable[str], place: str) -> list[bytes]:
    """Bytes of byte-level spellings; one with a character outside the table is its own UTF-8."""
    pieces = list(texts)
    joined = "".join(pieces)
    if not _ALPHABET.keys() >= set(joined):
        return [_one_byte_level(text, place) for text in pieces]
    raw = joined.translate(_TO_LATIN_1).encode("latin-1")
    ends, end = [], 0
    for text in pieces:
        end += len(text)
        ends.append(end)
    return [raw[start:stop] for start, stop in zip([0, *ends], ends, strict=False)]


def _one_byte_level(text: str, place: str) -> bytes:
    """Bytes of one byte-level spelling, or its UTF-8 when it is not one."""
    if _ALPHABET.keys() >= set(text):
        return bytes(_ALPHABET[character] for character in text)
    return utf8(text, place)


def from_sentencepiece(text: str, place: str) -> bytes:
    """Bytes of one SentencePiece spelling: `<0xHH>` is that byte, elsewhere `▁` is a space and the rest is text.

    A decoder that drops the first space of a whole text is not looked at: the bytes are those in mid-text.
    """
    match = _BYTE_PIECE.fullmatch(text)
    return bytes([int(match[1], 16)]) if match else utf8(text.replace("▁", " "), place)
