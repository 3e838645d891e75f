"""Vocabularies made to be awkward: each holds one kind of trouble that real ones spread thinly.

All but `giant` can write any bytes, so every language is whole over them; ids that matter sit at bits 0, 7, 8, 31, 32,
at the last one, and past 65,535, and no size is a multiple of 8.
"""

import itertools
from collections.abc import Sequence
from functools import cache, lru_cache

from engine.errors import BadInput
from reference.vocabulary import NAMES, Vocabulary, load_vocabulary

LOADER = "tokenizer:"
"""Before the path of a tokenizer.json: the port's own loader reads it, and is under audit with the engine."""
BYTES = tuple(bytes([byte]) for byte in range(256))
BORDERS = (0x80, 0x7FF, 0x800, 0xD7FF, 0xE000, 0xFFFF, 0x10000, 0x10FFFF)
CHARACTERS = tuple(map(chr, (0xE9, 0xFF, 0x6F22, 0xFFFD, 0x1F600, *BORDERS)))


def byte_only() -> Vocabulary:
    """Every byte and EOS, nothing longer; 257 ids."""
    return Vocabulary((*BYTES, None), frozenset({256}), "bytes")


def duplicates() -> Vocabulary:
    """Every byte twice, some words three times; empties and specials between them; EOS in the middle, with bytes."""
    words = [b"true", b"true", b"true", b"ca", b"t", b"ca", b'{"', b'{"', b"12", b"12"]
    tokens = [b"", *BYTES, None, *words, b"", b"</s>", None, *reversed(BYTES), b"", b"t"]
    return Vocabulary(tuple(tokens), frozenset({tokens.index(b"</s>")}), "duplicates")


def no_eos() -> Vocabulary:
    """Bytes and a few words; nothing ends an output."""
    return Vocabulary((*BYTES, b"true", b"null", b'":'), frozenset(), "no-eos")


def several_eos() -> Vocabulary:
    """EOS at ids 0, 31, 32 and the last; two of them have bytes that are text elsewhere."""
    tokens: list[bytes | None] = [None, *BYTES[:30], b"}", None, *BYTES[30:], b'"}', b"</s>"]
    return Vocabulary(tuple(tokens), frozenset({0, 31, 32, len(tokens) - 1}), "several-eos")


def giant() -> Vocabulary:
    """Tokens far longer than any output should need: runs of one byte, a whole JSON text, and the same cut short."""
    text = b'{"city":"' + b"a" * 3000 + b'"}'
    tokens = [*BYTES, b"a" * 5000, b" " * 1000, b"0" * 700, text, text[:-1], text[:-1] + b"]", None]
    return Vocabulary(tuple(tokens), frozenset({len(tokens) - 1}), "giant")


def wide() -> Vocabulary:
    """Ids past 65,535: bytes at 65,536 to 65,791, the same again at the end, nothing in most places."""
    tokens: list[bytes | None] = [None] * 66_305
    tokens[65_536 : 65_536 + 256] = BYTES
    tokens[66_046:66_302] = reversed(BYTES)
    for token, piece in ((0, b"a"), (7, b"1"), (8, b'"'), (65_535, b"tr"), (66_302, b"e"), (66_303, b'{"')):
        tokens[token] = piece
    return Vocabulary(tuple(tokens), frozenset({66_304}), "wide")


def partial() -> Vocabulary:
    """Characters cut in every place; pieces that end inside one and go on with the next, or begin with `a`."""
    whole = [character.encode() for character in CHARACTERS]
    cut = [piece[:place] for piece in whole for place in range(1, len(piece))]
    rest = [piece[place:] for piece in whole for place in range(1, len(piece))]
    across = [one[-1:] + two[:1] for one, two in itertools.pairwise(whole)]
    mixed = [b'"' + piece[:1] for piece in whole] + [piece[1:] + b'"' for piece in whole]
    after = [
        b"a" + piece for piece in (b"\xc0", b"\xc3", b"\xe0", b"\xf0", b"(", b"\n", b"\xe2\x80", b" ", b"\0b")
    ]
    found = [
        piece for piece in dict.fromkeys([*whole, *cut, *rest, *across, *mixed, *after]) if len(piece) > 1
    ]
    return Vocabulary((*BYTES, *found, None, b"a"), frozenset({256 + len(found)}), "partial")


def twins(vocabulary: Vocabulary) -> tuple[Vocabulary, Vocabulary]:
    """As many ids in another order; the same tokens, of which another one ends an output."""
    name, last = vocabulary.name, len(vocabulary) - 1
    turned = frozenset(last - token for token in vocabulary.eos)
    other = max(set(range(last + 1)) - vocabulary.eos, default=last)
    return (
        Vocabulary(vocabulary.tokens[::-1], turned, f"{name} in another order"),
        Vocabulary(vocabulary.tokens, frozenset({other}), f"{name} with another end"),
    )


ADVERSARIAL = (byte_only, duplicates, no_eos, several_eos, giant, wide, partial)


@cache
def adversarial() -> tuple[Vocabulary, ...]:
    """All of these, made once."""
    return tuple(make() for make in ADVERSARIAL)


def named(specs: Sequence[str], eos: Sequence[int] = ()) -> tuple[Vocabulary, ...]:
    """The vocabularies of the names: `adversarial` is all of these, others are one of these, or loaded.

    `eos` are the end ids of those that are read from a file, which may not say what ends an output.
    """
    made = {vocabulary.name: vocabulary for vocabulary in adversarial()}
    if eos and all(spec in (*made, *NAMES, "adversarial") for spec in specs):
        raise BadInput(
            f"--eos {eos[0]}: it is for vocabularies from files; {', '.join(specs)} say their own ends"
        )
    found: list[Vocabulary] = []
    for spec in specs:
        if spec == "adversarial":
            found += made.values()
        else:
            found.append(made[spec] if spec in made else _loaded(spec, tuple(eos)))
    if not found:
        raise BadInput("no vocabulary is named; give --vocab toy, adversarial, qwen3 or a path")
    return tuple(dict.fromkeys(found))


def loader_file(vocabulary: Vocabulary) -> str | None:
    """The tokenizer.json that a port is to load by itself, for a vocabulary named `tokenizer:FILE`."""
    return vocabulary.name.removeprefix(LOADER) if vocabulary.name.startswith(LOADER) else None


@lru_cache(maxsize=8)
def _loaded(spec: str, eos: tuple[int, ...]) -> Vocabulary:
    """A vocabulary that is read; one for a port's own loader keeps a name that says where the file is."""
    path = spec.removeprefix(LOADER)
    if spec in NAMES:
        return load_vocabulary(spec)
    read = load_vocabulary(path, eos=eos or None)
    return Vocabulary(read.tokens, read.eos, spec)


def spelling_vocabulary(vocabularies: Sequence[Vocabulary]) -> Vocabulary:
    """The first vocabulary that has every byte and an EOS, else the one of bytes alone: any text can be written."""
    whole = (one for one in vocabularies if one.eos and has_every_byte(one))
    return next(whole, byte_only())


@lru_cache(maxsize=16)
def has_every_byte(vocabulary: Vocabulary) -> bool:
    """Whether every byte is a token, so that no text ends for want of tokens."""
    return set(BYTES) <= set(vocabulary.tokens)
