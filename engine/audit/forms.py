"""What a wrong token is about, so that many differences of one engine fall into few groups.

The place is found in the text, not in any grammar: what came before tells whether a string, a member name, an escape
or a number is open, and the first byte that goes wrong tells the rest.
"""

from dataclasses import dataclass
from typing import NamedTuple

from engine.audit.compare import Difference
from engine.audit.exact import Exact, exact
from engine.audit.policies import Policy
from reference.dfa import DEAD
from reference.errors import Refused

WHITE_SPACE = "white space"
ESCAPES = "escapes"
CHARACTERS = "characters of a string"
NAMES = "names and their order"
NUMBERS = "number forms"
STRUCTURE = "structure"
END = "the end"
BEYOND = "characters beyond ASCII"
BLANKS = b" \t\n\r"
NUMERIC = b"0123456789+-.eE"


@dataclass(frozen=True, slots=True)
class Place:
    """Where a JSON text stands: open brackets, in a string or an escape, whether a name is due, the last byte."""

    open: bytes = b""
    in_string: bool = False
    escaped: int = 0
    is_name: bool = False
    last: int = 0


def place_after(text: bytes) -> Place:
    """The place after a beginning of a JSON text."""
    place = Place()
    for byte in text:
        place = _step(place, byte)
    return place


class Aspect(NamedTuple):
    """What a difference is about, as far as its kind does not tell; another aspect is probably another cause."""

    form: str
    is_end: bool
    is_stuck: bool


def aspect_of(difference: Difference, policy: Policy) -> Aspect:
    """The aspect: the form, whether an end id is among the wrong tokens, whether the exact mask is empty."""
    grammar, vocabulary = difference.grammar, difference.vocabulary
    if grammar is None or vocabulary is None:
        return Aspect("", is_end=False, is_stuck=False)
    is_end = any(token in vocabulary.eos for token in _tokens(difference))
    is_stuck = difference.expected is not None and not difference.expected.any()
    try:
        truth = exact(grammar, vocabulary, policy)
    except Refused:
        return Aspect("", is_end, is_stuck)
    if grammar.kind.startswith("json_"):
        return Aspect(form_of(difference, truth), is_end, is_stuck)
    piece = _piece(difference, truth)
    return Aspect("" if piece.isascii() else BEYOND, is_end, is_stuck)


def form_of(difference: Difference, truth: Exact) -> str:
    """The group of a difference of a JSON grammar."""
    if difference.kind in ("eos_early", "eos_missing", "after_eos", "stuck"):
        return END if difference.kind.startswith("eos") else ""
    piece = _piece(difference, truth)
    if not piece:
        return ""
    state, before = truth.follow(difference.path), _text(truth, difference.path)
    wrong = (many for many in range(len(piece)) if truth.step(state, piece[: many + 1]) == DEAD)
    fine = next(wrong, 0)
    return _form(place_after(before + piece[:fine]), piece[fine])


def _tokens(difference: Difference) -> tuple[int, ...]:
    """The tokens that are wrong in a mask, or the one that was taken or refused wrongly."""
    return difference.wrong or (() if difference.token is None else (difference.token,))


def _piece(difference: Difference, truth: Exact) -> bytes:
    """The shortest of them with bytes."""
    tokens = truth.vocabulary.tokens
    pieces = [tokens[token] for token in _tokens(difference) if 0 <= token < len(tokens)]
    return min((piece for piece in pieces if piece), key=len, default=b"")


def _text(truth: Exact, path: tuple[int, ...]) -> bytes:
    return b"".join(truth.vocabulary.tokens[token] or b"" for token in path)


def _form(place: Place, byte: int) -> str:
    if place.escaped or (place.in_string and byte == ord("\\")):
        return ESCAPES
    if place.in_string:
        return NAMES if place.is_name else CHARACTERS
    if byte in BLANKS:
        return WHITE_SPACE
    if byte in NUMERIC and (place.last in NUMERIC or not place.is_name):
        return NUMBERS
    return NAMES if byte == ord('"') and place.is_name else STRUCTURE


def _step(place: Place, byte: int) -> Place:
    if place.in_string:
        return _in_string(place, byte)
    opened, is_name = place.open, place.is_name
    if byte in b"{[":
        opened, is_name = opened + bytes([byte]), byte == ord("{")
    elif byte in b"}]":
        opened, is_name = opened[:-1], False
    elif byte == ord(","):
        is_name = opened[-1:] == b"{"
    elif byte == ord(":"):
        is_name = False
    return Place(opened, byte == ord('"'), 0, is_name, byte)


def _in_string(place: Place, byte: int) -> Place:
    """`escaped` counts the bytes of an escape that are still to come."""
    if place.escaped:
        left = (
            4 if place.escaped == 5 and byte == ord("u") else 0 if place.escaped == 5 else place.escaped - 1
        )
        return Place(place.open, True, left, place.is_name, byte)
    return Place(place.open, byte != ord('"'), 5 if byte == ord("\\") else 0, place.is_name, byte)
