r"""An automaton told to a person: states, live edges in readable byte classes, what may and must follow.

A byte class is written as a pattern would write it: `a`, `[0-9a-f]`, `[^"\\]`, `\xc3`; a space is
`␣`, so that it can be seen. All of it is plain data for printing, pictures and result records.
"""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np

from engine.errors import BadInput
from engine.suite import Language
from reference.compile import regex_to_dfa
from reference.dfa import DEAD, Dfa
from reference.lookahead import forced_bytes, token_distances
from reference.masks import TokenIndex
from reference.vocabulary import load_vocabulary

EXAMPLES = 24
FORCED_SHOWN = 120
"""Bytes of forced text that an automaton's states are told with; what is longer is cut there and ends in `…`."""
_NAMED = {0x09: r"\t", 0x0A: r"\n", 0x0D: r"\r", 0x20: "␣", 0x5C: r"\\"}
_IN_BRACKETS = {0x2D: r"\-", 0x5B: r"\[", 0x5D: r"\]", 0x5E: r"\^"}
_ESCAPES = {"n": 0x0A, "r": 0x0D, "t": 0x09, "\\": 0x5C}

Status = Literal["member", "viable", "dead"]


@dataclass(frozen=True, slots=True)
class Explained:
    """A language with its automaton and its token index."""

    language: Language
    dfa: Dfa
    index: TokenIndex


@dataclass(frozen=True, slots=True)
class Edge:
    """All bytes that lead from one state to another, as one readable class."""

    source: int
    target: int
    label: str


@dataclass(frozen=True, slots=True)
class Step:
    """One byte read: its label and the state after it, DEAD once nothing can follow."""

    label: str
    state: int


@dataclass(frozen=True, slots=True)
class Next:
    """What a vocabulary may do in a state: tokens allowed, examples as (id, hex), EOS, least tokens to go."""

    allowed: int
    tokens: int
    examples: list[tuple[int, str]]
    eos: bool
    distance: int


@dataclass(frozen=True, slots=True)
class Place:
    """Where a byte string leads: member, viable prefix or dead, the way there, and what follows."""

    after: str
    status: Status
    state: int
    steps: list[Step]
    edges: list[Edge]
    forced: str
    next: Next | None


def explain(language: Language, vocabulary: str) -> Explained:
    """The language's automaton over a vocabulary, ready to be asked about."""
    dfa = regex_to_dfa(language.pattern, language.dialect)
    return Explained(language, dfa, TokenIndex(dfa, load_vocabulary(vocabulary)))


def byte_label(members: Iterable[int]) -> str:
    """A set of bytes as a pattern would write it, complemented when that is shorter."""
    chosen = sorted(set(members))
    if len(chosen) == 256:
        return "any byte"
    if len(chosen) == 1:
        return _NAMED.get(chosen[0]) or _bare(chosen[0])
    direct, rest = _ranges(chosen), _ranges(sorted(set(range(256)) - set(chosen)))
    return f"[^{rest}]" if len(chosen) > 128 and len(rest) < len(direct) else f"[{direct}]"


def readable(data: bytes) -> str:
    r"""Bytes as text: UTF-8 where it is whole, \xHH where it is not, control characters by escape."""
    text = data.decode("utf-8", "backslashreplace")
    return "".join(char if char.isprintable() else _escaped(char) for char in text)


def bytes_from_text(text: str) -> bytes:
    r"""The bytes a person typed: UTF-8, with \xHH, \n, \r, \t and \\ understood."""
    data, at = bytearray(), 0
    while at < len(text):
        if text[at] == "\\":
            byte, width = _escape_at(text, at)
            data.append(byte)
            at += width
        else:
            data += text[at].encode("utf-8", "surrogateescape")
            at += 1
    return bytes(data)


def edges_from(dfa: Dfa, state: int) -> list[Edge]:
    """The live edges of a state, one for each state they lead to, in the order of their first bytes."""
    targets: dict[int, list[int]] = {}
    for byte, target in enumerate(dfa.trans[state].tolist()):
        if target != DEAD:
            targets.setdefault(target, []).append(byte)
    return [Edge(state, target, byte_label(members)) for target, members in targets.items()]


def edges(dfa: Dfa) -> list[Edge]:
    """All live edges, in state order."""
    return [edge for state in range(dfa.n_states) for edge in edges_from(dfa, state)]


def automaton_detail(dfa: Dfa, index: TokenIndex | None = None) -> dict[str, Any]:
    """The automaton as a result record's `detail` keeps it (docs/results.md), mask density with an index."""
    states = range(dfa.n_states)
    detail: dict[str, Any] = {
        "states": dfa.n_states,
        "live": int((dfa.trans != DEAD).sum()),
        "accepting": [state for state in states if dfa.accept[state]],
        "edges": [[edge.source, edge.target, edge.label] for edge in edges(dfa)],
        "forced": {str(state): text for state, text in enumerate(forced_texts(dfa)) if text},
    }
    if index is not None:
        detail["density"] = [int(index.mask(state).sum()) for state in states]
        detail["tokens"] = len(index.vocabulary)
        detail["vocabulary"] = index.vocabulary.name
    return detail


def forced_texts(dfa: Dfa, most: int = FORCED_SHOWN) -> list[str]:
    """Per state its forced bytes as readable text, cut after `most` bytes and then ending in `…`.

    All states of one long literal together force quadratically many bytes; cut, they are told in linear time.
    """
    live = dfa.trans != DEAD
    only = np.where(~dfa.accept & (live.sum(axis=1) == 1), live.argmax(axis=1), DEAD).tolist()
    onward = dfa.trans[np.arange(dfa.n_states), only].tolist()
    return [_forced_text(only, onward, state, most) for state in range(dfa.n_states)]


def place(dfa: Dfa, after: bytes, index: TokenIndex | None = None) -> Place:
    """Where `after` leads from the start, and what may follow there."""
    steps, state = [], 0
    for byte in after:
        state = dfa.step(state, bytes([byte]))
        steps.append(Step(byte_label([byte]), state))
    if state == DEAD:
        return Place(readable(after), "dead", DEAD, steps, [], "", None)
    status: Status = "member" if dfa.accept[state] else "viable"
    forced = readable(forced_bytes(dfa, state))
    following = None if index is None else tokens_next(index, state)
    return Place(readable(after), status, state, steps, edges_from(dfa, state), forced, following)


def tokens_next(index: TokenIndex, state: int) -> Next:
    """What the vocabulary may do in a state: the exact mask, counted, with the first few ids as examples."""
    vocabulary = index.vocabulary
    allowed = index.allowed(state)
    plain = [token for token in allowed if token not in vocabulary.eos]
    examples = [(token, (vocabulary.tokens[token] or b"").hex()) for token in plain[:EXAMPLES]]
    distance = int(token_distances(index)[state])
    return Next(len(allowed), len(vocabulary), examples, len(plain) < len(allowed), distance)


def page_data(explained: Explained) -> dict[str, Any]:
    """What the page to type into needs: the automaton over byte classes, the vocabulary's tokens in hex."""
    dfa, vocabulary = explained.dfa, explained.index.vocabulary
    classes = dfa.byte_classes().tolist()
    first = [classes.index(number) for number in range(max(classes) + 1)]
    return {
        "pattern": explained.language.pattern,
        "dialect": explained.language.dialect,
        "classes": classes,
        "table": dfa.trans[:, first].tolist(),
        **automaton_detail(dfa),
        "vocabulary": vocabulary.name,
        "eos": sorted(vocabulary.eos),
        "token_bytes": [None if token is None else token.hex() for token in vocabulary.tokens],
    }


def as_plain(told: Place) -> dict[str, Any]:
    """The place as plain JSON data."""
    return asdict(told)


def _forced_text(only: Sequence[int], onward: Sequence[int], state: int, most: int) -> str:
    """The text from one state, by the only byte that each state can go on with (DEAD: none, or not only one)."""
    forced = bytearray()
    while only[state] != DEAD and len(forced) < most:
        forced.append(only[state])
        state = onward[state]
    return readable(bytes(forced)) + ("…" if only[state] != DEAD else "")


def _bare(byte: int) -> str:
    return chr(byte) if 0x21 <= byte < 0x7F else f"\\x{byte:02x}"


def _inside(byte: int) -> str:
    return _NAMED.get(byte) or _IN_BRACKETS.get(byte) or _bare(byte)


def _ranges(members: Sequence[int]) -> str:
    runs: list[list[int]] = []
    for byte in members:
        if runs and byte == runs[-1][1] + 1:
            runs[-1][1] = byte
        else:
            runs.append([byte, byte])
    return "".join(_run(low, high) for low, high in runs)


def _run(low: int, high: int) -> str:
    if high - low < 2:
        return "".join(_inside(byte) for byte in range(low, high + 1))
    return f"{_inside(low)}-{_inside(high)}"


def _escaped(char: str) -> str:
    code = ord(char)
    if code < 256:
        return _NAMED.get(code) if code in (9, 10, 13) else f"\\x{code:02x}"  # type: ignore[return-value]
    return f"\\u{{{code:x}}}"


def _escape_at(text: str, at: int) -> tuple[int, int]:
    following = text[at + 1 : at + 2]
    if following in _ESCAPES and following:
        return _ESCAPES[following], 2
    digits = text[at + 2 : at + 4]
    if following == "x" and len(digits) == 2 and all(digit in "0123456789abcdefABCDEF" for digit in digits):
        return int(digits, 16), 4
    found = text[at : at + 2]
    raise BadInput(f"bytes, position {at}: {found!r} is no escape; write \\xHH, \\n, \\r, \\t or \\\\")
