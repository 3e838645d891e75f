"""What the oracles' own tests ask about: patterns beside Python's spelling of them, strings, and wrong automata.

Nothing here imports the reference or the engine: the files that use it also run from a copy of oracles/ alone.
"""

import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from hypothesis import settings
from hypothesis import strategies as st

from oracles.pattern_reader import Dialect

CHANCES = float(os.environ.get("ORACLE_CHANCES", "1"))
Automaton = tuple[list[int], list[list[int]]]

PIECES_OF_PATTERNS = (
    *"ab01,-^$.|*+?(){}[]é",
    "{2}",
    "{1,}",
    "{0,2}",
    "(?:",
    "\\",
    r"\d",
    r"\x",
    "\\u",
    "41",
    "00e9",
    "[^",
)
EDGE_BYTES = (0x00, 0x0A, 0x20, 0x30, 0x61, 0x62, 0x7F, 0x80, 0xA9, 0xBF, 0xC3, 0xE6, 0xF4, 0xFF)
CHARACTERS = (
    "a",
    "b",
    "0",
    "_",
    " ",
    "\n",
    "\x00",
    "\x7f",
    "\x80",
    "é",
    "߿",
    "ࠀ",
    "漢",
    "\ud7ff",
    "\ue000",
    "\uffff",
    "😀",
    "\U0010ffff",
)
LEAVES: dict[Dialect, tuple[tuple[str, str], ...]] = {
    "bytes": (
        *(
            (text, text)
            for text in ("a", "b", r"\.", r"\x00", r"\xff", r"\n", r"\d", r"\W", r"\s", r"\S", ".")
        ),
        *(
            (text, text)
            for text in ("[ab]", "[^a]", r"[\x80-\xff]", r"[^\d\s]", "[a-]", r"[\]\-^.]", r"[\x00-\x7f]")
        ),
        ("é", r"(?:\xc3\xa9)"),
        ("漢", r"(?:\xe6\xbc\xa2)"),
    ),
    "unicode": (
        *(
            (text, text)
            for text in ("a", "é", "漢", "😀", r"\d", r"\W", r"\S", ".", "[^a]", "[aé-漢]", r"[^\w漢]")
        ),
        *(
            (text, text)
            for text in (r"\u00e9", r"[\u007e-\u0801]", r"[^\u0000-\ud7ff]", r"[\x00-\x80]", "[漢😀]")
        ),
        (r"\u{1F600}", r"\U0001F600"),
        (r"[\u{ffff}-\u{10ffff}]", r"[\uffff-\U0010ffff]"),
    ),
}


@dataclass(frozen=True, slots=True)
class Written:
    """A pattern of a dialect, and the text by which Python's `re` means the same."""

    text: str
    python: str

    def matches(self, data: bytes, dialect: Dialect) -> bool:
        """Whether Python's `re` says that all of the data matches; in dialect `unicode` it must be UTF-8."""
        if dialect == "bytes":
            return re.fullmatch(self.python.encode("ascii"), data) is not None
        try:
            return re.fullmatch(self.python, data.decode("utf-8"), re.ASCII) is not None
        except UnicodeDecodeError:
            return False


def chances(count: int) -> settings:
    """Settings with so many examples, or the share of them that the environment asks for."""
    return settings(max_examples=max(3, round(count * CHANCES)), deadline=None)


def texts() -> st.SearchStrategy[str]:
    """Any text over the characters that mean something in patterns: mostly not a pattern at all."""
    return st.lists(st.sampled_from(PIECES_OF_PATTERNS), max_size=7).map("".join)


def patterns(dialect: Dialect) -> st.SearchStrategy[Written]:
    """Patterns of every construct, small enough that a few symbols often match."""
    leaves = st.sampled_from([Written(*pair) for pair in LEAVES[dialect]])
    return st.recursive(leaves, _larger, max_leaves=6)


def _larger(inner: st.SearchStrategy[Written]) -> st.SearchStrategy[Written]:
    some = st.lists(inner, max_size=3)
    quantifiers = st.sampled_from(["*", "+", "?", "{2}", "{0,2}", "{1,}", "{0}"])
    return st.one_of(
        st.builds(lambda parts: _joined(parts, "(?:{})", ""), some),
        st.builds(lambda parts: _joined([*parts, Written("", "")], "({})", "|"), some),
        st.builds(
            lambda body, sign: Written(f"(?:{body.text}){sign}", f"(?:{body.python}){sign}"),
            inner,
            quantifiers,
        ),
    )


def _joined(parts: list[Written], frame: str, between: str) -> Written:
    texts, pythons = between.join(part.text for part in parts), between.join(part.python for part in parts)
    return Written(frame.replace("{}", texts), frame.replace("{}", pythons))


def strings(dialect: Dialect) -> st.SearchStrategy[bytes]:
    """Byte strings at the edges; for dialect `unicode` mostly whole characters, sometimes cut ones."""
    byte = st.sampled_from([bytes((value,)) for value in EDGE_BYTES])
    character = st.sampled_from([text.encode() for text in CHARACTERS])
    pieces = (
        st.one_of(character, character, byte) if dialect == "unicode" else st.one_of(byte, byte, character)
    )
    return st.lists(pieces, max_size=6).map(b"".join)


@st.composite
def automata(draw: st.DrawFn, states: int = 4) -> Automaton:
    """Any automaton over three bytes, with dead edges, states that are never reached, states that never accept."""
    size = draw(st.integers(1, states))
    row = st.tuples(*[st.integers(-1, size - 1)] * 3)
    table = [[-1] * 256 for _ in range(size)]
    for state in range(size):
        for byte, target in zip((0x00, 0x61, 0xFF), draw(row), strict=True):
            table[state][byte] = target
    return sorted(draw(st.sets(st.integers(0, size - 1)))), table


def wrong_automata(accept: list[int], table: list[list[int]]) -> Iterator[tuple[str, Automaton]]:
    """Faults of a canonical automaton, each with a name; every one accepts another language."""
    for state in range(len(table)):
        yield f"accept-{state}", (sorted({*accept} ^ {state}), table)
        live = next((byte for byte in range(256) if table[state][byte] >= 0), None)
        dead = next((byte for byte in range(256) if table[state][byte] < 0), None)
        if live is not None:
            yield f"kill-{state}", (accept, _edge(table, state, live, -1))
        if live is not None and len(table) > 1:
            yield f"turn-{state}", (accept, _edge(table, state, live, (table[state][live] + 1) % len(table)))
        if dead is not None:
            yield f"revive-{state}", (accept, _edge(table, state, dead, len(table) - 1))
        if state:
            yield (
                f"merge-{state}",
                (accept, [[state - 1 if to == state else to for to in row] for row in table]),
            )


def spoilt_automata(accept: list[int], table: list[list[int]]) -> Iterator[tuple[str, Automaton]]:
    """Faults of a canonical automaton that leave its language as it is: doubled, renumbered, unreached, not live."""
    size = len(table)
    last = size - 1
    yield "doubled", ([*accept, *([size] if last in accept else [])], _doubled(table))
    yield "unreached", (accept, [*table, [-1] * 256])
    yield "not-live", (accept, [*_edge(table, last, *_free(table[last], size)), [-1] * 256])
    if size > 2:
        yield "renumbered", _renamed(accept, table, lambda state: {1: 2, 2: 1}.get(state, state))


def _edge(table: list[list[int]], state: int, byte: int, target: int) -> list[list[int]]:
    changed = [list(row) for row in table]
    changed[state][byte] = target
    return changed


def _free(row: list[int], target: int) -> tuple[int, int]:
    """A byte that is dead in the row and where it shall lead; the caller's row has one."""
    return row.index(-1), target


def _doubled(table: list[list[int]]) -> list[list[int]]:
    """A copy of the last state, to which the last edge that led to it now leads."""
    last = len(table) - 1
    state, byte = max(
        (state, byte) for state in range(last + 1) for byte in range(256) if table[state][byte] == last
    )
    return [*_edge(table, state, byte, last + 1), list(table[last])]


def _renamed(accept: list[int], table: list[list[int]], name: Callable[[int], int]) -> Automaton:
    rows = {name(state): [name(to) for to in row] for state, row in enumerate(table)}
    return sorted(name(state) for state in accept), [rows[state] for state in range(len(table))]
