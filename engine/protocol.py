"""The words of the port protocol, version 1: what is written to a port, what may come back, and what may not.

One JSON object a line each way. `answer_of` turns one line of a port into its fields, or into a `PortError`
when the port says honestly that it cannot; anything else is a `Violation`. The pitfall is leniency: an id of
7.0 equals 7 in Python, a mask one byte too long unpacks without complaint, and both hide a port that breaks
with the next suite. engine/host.py runs the child process; docs/porting.md is the page for whoever writes a port.
"""

import base64
import binascii
from collections.abc import Iterable, Sequence
from typing import Any, Literal, get_args

import msgspec
import numpy as np
import numpy.typing as npt

VERSION = 1

ErrorKind = Literal["refused", "invalid", "illegal", "unsupported", "internal"]
PortKind = Literal["regex.bytes", "regex.unicode", "json_schema", "json_object", "gbnf", "lark"]
Feature = Literal[
    "fork",
    "rollback",
    "dfa",
    "pattern",
    "dumps",
    "sample",
    "tokenizer",
    "forced",
    "budget",
    "tool_request",
    "tool_grammar",
    "tool_render",
    "tool_stream",
]
Packed = npt.NDArray[np.uint8]


class Violation(ValueError):  # noqa: N818 (the word of DESIGN, not an error of ours)
    """A line that breaks the protocol; the message says how."""


class PortError(Exception):
    """The port's own honest answer that it does not do what was asked."""

    def __init__(self, kind: ErrorKind, message: str) -> None:
        """Keep the error kind of the protocol and the port's words."""
        super().__init__(f"{kind}: {message}")
        self.kind: ErrorKind = kind
        self.message = message


class Hello(msgspec.Struct, frozen=True):
    """What a port says of itself."""

    name: str
    version: str
    protocol: int
    kinds: list[PortKind]
    features: list[Feature]
    policies: dict[str, Any] = {}
    notes: str = ""
    pipelining: bool = False


class _Failure(msgspec.Struct, frozen=True):
    kind: ErrorKind
    message: str


def request_line(identifier: int, op: str, fields: dict[str, Any]) -> bytes:
    """One request as its line; text that holds a lone surrogate cannot be written and is an error."""
    return msgspec.json.encode({"id": identifier, "op": op, **fields}) + b"\n"


def answer_of(line: bytes, identifier: int) -> dict[str, Any] | PortError:
    """The fields of a good answer to request `identifier`, or the error that the port answered with."""
    fields = _object(line)
    if type(fields.get("id")) is not int or fields["id"] != identifier:
        raise Violation(f"answered with id {fields.get('id')!r}, request {identifier} was open: {_cut(line)}")
    if fields.get("ok") is True:
        return fields
    if fields.get("ok") is not False:
        raise Violation(f"'ok' must be true or false: {_cut(line)}")
    try:
        failure = msgspec.convert(fields.get("error"), _Failure)
    except msgspec.ValidationError as error:
        raise Violation(f"'error' is malformed ({error}): {_cut(line)}") from error
    return PortError(failure.kind, failure.message)


def hello_of(fields: dict[str, Any]) -> Hello:
    """The port's hello, held to its shape and to the protocol version."""
    try:
        hello = msgspec.convert(fields, Hello, strict=True)
    except msgspec.ValidationError as error:
        raise Violation(f"hello is malformed: {error}; it must name what protocol {VERSION} knows") from error
    if hello.protocol != VERSION:
        raise Violation(f"hello speaks protocol {hello.protocol}; this suite speaks {VERSION}")
    if not hello.kinds and "dumps" not in hello.features and not _has_tools(hello):
        raise Violation("hello names no kind and no feature; there is nothing to audit")
    return hello


def integer_of(fields: dict[str, Any], name: str) -> int:
    """The integer field `name` of an answer; a float or a bool is none."""
    value = fields.get(name)
    if type(value) is not int:
        raise Violation(f"{name!r} must be an integer, not {_cut(repr(value).encode())}")
    return value


def text_of(fields: dict[str, Any], name: str) -> str:
    """The text field `name` of an answer."""
    value = fields.get(name)
    if type(value) is not str:
        raise Violation(f"{name!r} must be a string, not {_cut(repr(value).encode())}")
    return value


def bytes_of(fields: dict[str, Any], name: str) -> bytes:
    """The bytes of the base64 field `name` of an answer."""
    try:
        return base64.b64decode(text_of(fields, name), validate=True)
    except (binascii.Error, ValueError) as error:
        raise Violation(f"{name!r} is no base64: {error}") from error


def flag_of(fields: dict[str, Any], name: str) -> bool:
    """The boolean field `name` of an answer."""
    value = fields.get(name)
    if type(value) is not bool:
        raise Violation(f"{name!r} must be true or false, not {_cut(repr(value).encode())}")
    return value


def mask_of(fields: dict[str, Any], size: int) -> Packed:
    """The packed mask of an answer: uint8[ceil(size/8)], bit i%8 of byte i//8 is token i, padding bits zero."""
    data = bytes_of(fields, "mask")
    if len(data) != -(-size // 8):
        raise Violation(f"'mask' has {len(data)} bytes; {size} tokens take {-(-size // 8)}")
    packed = np.frombuffer(data, dtype=np.uint8)
    if size % 8 and packed[-1] >> (size % 8):
        raise Violation(f"'mask' sets a bit past the last token, {size - 1}")
    return packed


def packed_mask(mask: npt.NDArray[np.bool_]) -> Packed:
    """A bool row over the vocabulary as the protocol packs it."""
    return np.packbits(mask, bitorder="little")


def mask_text(mask: npt.NDArray[np.bool_]) -> str:
    """A bool row as the base64 text of an answer."""
    return base64.b64encode(packed_mask(mask).tobytes()).decode("ascii")


def token_texts(tokens: Iterable[bytes | None]) -> list[str | None]:
    """A vocabulary as the `vocab` request writes it: base64, null for a token without bytes."""
    return [None if token is None else base64.b64encode(token).decode("ascii") for token in tokens]


def logits_text(logits: Sequence[float] | npt.NDArray[np.float32]) -> str:
    """Logits as the `sample` request writes them: base64 of little-endian float32."""
    return base64.b64encode(np.asarray(logits, dtype="<f4").tobytes()).decode("ascii")


def _object(line: bytes) -> dict[str, Any]:
    try:
        value = msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Violation(f"not a line of JSON ({error}): {_cut(line)}") from error
    if not isinstance(value, dict):
        raise Violation(f"not a JSON object: {_cut(line)}")
    return value


def _has_tools(hello: Hello) -> bool:
    return any(feature.startswith("tool_") for feature in hello.features)


def _cut(line: bytes, room: int = 120) -> str:
    shown = line[:room].decode("utf-8", "backslashreplace").rstrip("\n")
    return repr(shown) + (f" and {len(line) - room} bytes more" if len(line) > room else "")


KINDS: tuple[str, ...] = get_args(PortKind)
FEATURES: tuple[str, ...] = get_args(Feature)
