"""Patterns made at random, each beside the same pattern as Python's `re` writes it, and strings near their languages.

Python backtracks, so nothing unbounded is repeated inside something repeated and strings are short. The canonical
tables are held to laws of any depth elsewhere (`test_dfa.py`).
"""

import random
from dataclasses import dataclass

from hypothesis import strategies as st

from reference.dfa import DEAD, Dfa


@dataclass(frozen=True, slots=True)
class Both:
    """A pattern of the dialect and the pattern of Python's `re` that means the same."""

    ours: str
    python: str


def _same(text: str) -> Both:
    return Both(text, text)


BYTE_ATOMS = [
    *map(
        _same,
        ["a", "b", "c", "0", "ab", r"\x00", r"\xff", r"\x0a", r"\-", r"\ ", r"\n", "-", "]", "}", "_", ","],
    ),
    *map(_same, [r"\d", r"\D", r"\w", r"\W", r"\s", r"\S", "."]),
    *map(
        _same,
        ["[ab]", "[^a]", "[a-c]", "[^a-c0]", "[-a]", "[a-]", r"[\]a]", r"[a\-c]", r"[\x80-\xff]", r"[^\W]"],
    ),
    *map(_same, [r"[\d\-a]", r"[a^]", r"[\n\x00]", r"[*+?.|(){}\[]", r"[\\]", r"[\x00-\x1f]"]),
    Both("é", "(?:\u00c3\u00a9)"),
    Both("漢", "(?:\u00e6\u00bc\u00a2)"),
    Both("😀", "(?:\u00f0\u009f\u0098\u0080)"),
]
"""Atoms of the dialect `bytes`; Python's side is Latin-1 text, one character a byte."""

BYTE_LETTERS = [
    0x00,
    0x0A,
    0x20,
    0x2C,
    0x2D,
    0x30,
    0x5B,
    0x5C,
    0x5D,
    0x5F,
    0x61,
    0x62,
    0x63,
    0x7D,
    0x7F,
    0x80,
    0xC3,
    0xFF,
]

UNICODE_ATOMS = [
    *map(_same, ["a", "b", "0", "é", "漢", "😀", r"\xe9", r"\u6f22", r"\x00", r"\-", "_"]),
    *map(_same, [r"\d", r"\D", r"\w", r"\W", r"\s", r"\S", "."]),
    *map(_same, ["[ab]", "[^a]", "[é漢]", "[^é漢]", "[a-é]", "[α-ω]", r"[\x7f-\u0080]", r"[\u07ff-\u0800]"]),
    *map(_same, [r"[\uffff-😀]", r"[^\u0000-\uffff]", r"[\ud7ff-\ue000]", r"[^\Wa]", r"[\d漢]", r"[-é]"]),
    Both(r"\u{1F600}", "😀"),
    Both(r"[\u{80}-\u{10FFFF}]", "[\u0080-\U0010ffff]"),
    Both(r"[^\u{0}-\u{10FFFE}]", "[^\\u0000-\U0010fffe]"),
]

UNICODE_LETTERS = "\x00\n ab0_\x7f\x80éαω\u07ff\u0800\ud7ff\ue000漢\uffff\U00010000😀\U0010fffe\U0010ffff"

COUNTS = ["*", "+", "?", "{2}", "{0,2}", "{1,}", "{2,}", "{0}", "{2,3}", "{0,}", "{1}"]


@st.composite
def patterns(draw: st.DrawFn, atoms: list[Both], depth: int = 2, repeat: bool = True) -> Both:
    """Up to three branches of up to three parts, groups within."""
    branches = draw(st.lists(st.lists(_part(atoms, depth, repeat), max_size=3), min_size=1, max_size=3))
    texts = ["".join(part.ours for part in branch) for branch in branches]
    python = ["".join(part.python for part in branch) for branch in branches]
    return Both("|".join(texts), "|".join(python))


@st.composite
def _part(draw: st.DrawFn, atoms: list[Both], depth: int, repeat: bool) -> Both:
    count = draw(st.sampled_from(COUNTS)) if repeat and draw(st.booleans()) else ""
    if depth == 0 or draw(st.integers(0, 2)):
        atom = draw(st.sampled_from(atoms))
        ours = f"(?:{atom.ours})" if count and atom.ours == "ab" else atom.ours
        python = f"(?:{atom.python})" if count and atom.python == "ab" else atom.python
    else:
        inner = draw(patterns(atoms, depth - 1, repeat and not count))
        opening = draw(st.sampled_from(["(", "(?:"]))
        ours, python = f"{opening}{inner.ours})", f"(?:{inner.python})"
    return Both(ours + count, python + count)


def byte_patterns() -> st.SearchStrategy[Both]:
    """Patterns of the dialect `bytes`."""
    return patterns(BYTE_ATOMS)


def unicode_patterns() -> st.SearchStrategy[Both]:
    """Patterns of the dialect `unicode`."""
    return patterns(UNICODE_ATOMS)


byte_strings = st.lists(st.sampled_from(BYTE_LETTERS), max_size=5).map(bytes)
unicode_strings = st.text(st.sampled_from(UNICODE_LETTERS), max_size=5)


def walks(dfa: Dfa, seed: int, count: int, longest: int = 6) -> list[bytes]:
    """Byte strings along random live edges, most of them members or nearly."""
    rng = random.Random(seed)
    return [_walk(dfa, rng, longest) for _ in range(count)]


def _walk(dfa: Dfa, rng: random.Random, longest: int) -> bytes:
    data, state = bytearray(), 0
    for _ in range(longest):
        live = (dfa.trans[state] != DEAD).nonzero()[0].tolist()
        if not live or (dfa.accept[state] and not rng.randrange(3)):
            break
        data.append(rng.choice(live))
        state = int(dfa.trans[state, data[-1]])
    return bytes(data)
