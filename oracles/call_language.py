"""The language of function calls, built by hand from the functions alone: no pattern, no schema, no compiled automaton.

A call is a row of pieces, fixed bytes and typed values, one row for each function. The automaton runs all rows at once:
a state is the set of places where the bytes so far may stand. A value's own places are JSON's number diagram, the words
true and false, and JSON strings whose characters are held to Python's codec. Every place can be finished, so no state
is dead. What is judged against it: the decoder that goes phase by phase, and the compiled pattern.
Read next: bisimulation.py, which finds the shortest call on which two automata differ.
"""

import json
from collections.abc import Iterator, Sequence
from functools import cache

from oracles.bisimulation import difference
from oracles.errors import OracleError

DEAD = -1
Signature = tuple[str, Sequence[tuple[str, str]]]
"""A function's name, and its arguments as (name, type) in order."""

Piece = tuple[str, bytes]
"""("text", the bytes) or (a type, nothing)."""

Place = tuple[int, int, str, bytes]
"""Row, piece, and where in the piece: a label, and the bytes that were read of a word or of a cut character."""

NUMBER_STEPS = {
    "begin": {"-": "minus", "0": "zero", "19": "integer"},
    "minus": {"0": "zero", "19": "integer"},
    "zero": {".": "point", "eE": "mark"},
    "integer": {"09": "integer", ".": "point", "eE": "mark"},
    "point": {"09": "fraction"},
    "fraction": {"09": "fraction", "eE": "mark"},
    "mark": {"+-": "sign", "09": "exponent"},
    "sign": {"09": "exponent"},
    "exponent": {"09": "exponent"},
}
"""JSON's number diagram: from a place over one byte to the next; `19` and `09` are ranges of digits."""

NUMBER_ENDS = {"number": {"zero", "integer", "fraction", "exponent"}, "integer": {"zero", "integer"}}
SHORT_ESCAPES = b'"\\/bfnrt'
HEX = b"0123456789abcdefABCDEF"
_STAND_INS: dict[tuple[int | None, frozenset[int]], bytes] = {}


def automaton(functions: Sequence[Signature]) -> tuple[list[int], list[list[int]]]:
    """Accepting states and the n × 256 table of all calls `{"name":…,"parameters":{…}}` of these functions."""
    rows = [_pieces(*function) for function in functions]
    first = _settled(rows, {(row, 0, "begin", b"") for row in range(len(rows))})
    numbers, queue, table = {first: 0}, [first], list[list[int]]()
    for places in queue:
        line = []
        for byte in range(256):
            after = _settled(rows, {after for place in places for after in _step(rows, place, byte)})
            if after and after not in numbers:
                numbers[after] = len(numbers)
                queue.append(after)
            line.append(numbers[after] if after else DEAD)
        table.append(line)
    accepting = [
        number for places, number in numbers.items() if any(_is_end(rows, place) for place in places)
    ]
    return accepting, table


def different_call(functions: Sequence[Signature], accept: list[int], table: list[list[int]]) -> bytes | None:
    """A shortest byte string that one of the two takes for a call and the other does not; None when they are equal."""
    return difference(*automaton(functions), accept, table)


def _pieces(name: str, arguments: Sequence[tuple[str, str]]) -> list[Piece]:
    pieces: list[Piece] = [("text", f'{{"name":{_quoted(name)},"parameters":{{'.encode())]
    for position, (argument, kind) in enumerate(arguments):
        if kind not in ("string", "number", "integer", "boolean"):
            raise OracleError(f"argument {argument!r}: {kind!r} is no type of a call's argument")
        comma = "," if position else ""
        pieces += [("text", f"{comma}{_quoted(argument)}:".encode()), (kind, b"")]
    return [*pieces, ("text", b"}}")]


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _settled(rows: list[list[Piece]], places: set[Place]) -> frozenset[Place]:
    """Add to every place whose piece may end here the beginning of the next piece, and drop those that must end."""
    settled = set[Place]()
    queue = list(places)
    for row, piece, label, read in queue:
        if piece < len(rows[row]) and _may_end(rows[row][piece], label, read):
            queue.append((row, piece + 1, "begin", b""))
        if piece == len(rows[row]) or not _must_end(rows[row][piece], label, read):
            settled.add((row, piece, label, read))
    return frozenset(settled)


def _is_end(rows: list[list[Piece]], place: Place) -> bool:
    return place[1] == len(rows[place[0]])


def _may_end(piece: Piece, label: str, read: bytes) -> bool:
    kind, _ = piece
    if kind in NUMBER_ENDS:
        return label in NUMBER_ENDS[kind]
    return _must_end(piece, label, read)


def _must_end(piece: Piece, label: str, read: bytes) -> bool:
    kind, text = piece
    if kind == "text":
        return read == text
    return read in (b"true", b"false") if kind == "boolean" else label == "closed"


def _step(rows: list[list[Piece]], place: Place, byte: int) -> Iterator[Place]:
    row, piece, label, read = place
    if piece == len(rows[row]):
        return
    kind, text = rows[row][piece]
    after = _within(kind, text, label, read, byte)
    if after is not None:
        yield row, piece, *after


def _within(kind: str, text: bytes, label: str, read: bytes, byte: int) -> tuple[str, bytes] | None:
    """The place after one byte in a piece, None when the piece cannot hold it."""
    if kind == "string":
        return _string_step(label, read, byte)
    if kind in NUMBER_ENDS:
        return _number_step(kind, label, byte)
    words = (text,) if kind == "text" else (b"true", b"false")
    longer = read + bytes([byte])
    return ("begin", longer) if any(word.startswith(longer) for word in words) else None


def _number_step(kind: str, label: str, byte: int) -> tuple[str, bytes] | None:
    for symbols, after in NUMBER_STEPS[label].items():
        whole = kind == "number" or after in ("minus", "zero", "integer")
        if whole and _is_one_of(symbols, byte):
            return after, b""
    return None


def _is_one_of(symbols: str, byte: int) -> bool:
    if symbols in ("19", "09"):
        return ord(symbols[0]) <= byte <= ord(symbols[1])
    return chr(byte) in symbols


def _string_step(label: str, read: bytes, byte: int) -> tuple[str, bytes] | None:
    if label == "begin":
        return ("inside", b"") if byte == ord('"') else None
    if label == "escape":
        return ("inside", b"") if byte in SHORT_ESCAPES else ("hex1", b"") if byte == ord("u") else None
    if label.startswith("hex"):
        after = "inside" if label == "hex4" else f"hex{int(label[3]) + 1}"
        return (after, b"") if byte in HEX else None
    if not read and byte == ord('"'):
        return "closed", b""
    if not read and byte == ord("\\"):
        return "escape", b""
    return _character_step(read, byte)


def _character_step(read: bytes, byte: int) -> tuple[str, bytes] | None:
    """One byte more of a character inside a string: a control is none, and Python's codec knows what UTF-8 is."""
    longer = read + bytes([byte])
    if byte < 0x20 or not _is_viable(longer):
        return None
    return "inside", _stand_in(longer) if _missing(longer) else b""


def _is_viable(read: bytes) -> bool:
    """Whether a character begins with these bytes, or is them."""
    return _missing(read) is not None


@cache
def _missing(read: bytes) -> int | None:
    """How many bytes a beginning of a character lacks, None when it is none: the least or the greatest ending is one.

    The codec's incremental decoder is not asked, since it waits for one byte more before it refuses a surrogate.
    """
    endings = (
        count for count in range(4) if any(_is_whole(read + byte * count) for byte in (b"\x80", b"\xbf"))
    )
    return next(endings, None)


def _is_whole(read: bytes) -> bool:
    try:
        return len(read.decode()) == 1
    except UnicodeDecodeError:
        return False


@cache
def _stand_in(read: bytes) -> bytes:
    """One beginning of a character for all that lack as many bytes and go on with the same ones."""
    nexts = frozenset(byte for byte in range(256) if _is_viable(read + bytes([byte])))
    return _STAND_INS.setdefault((_missing(read), nexts), read)
