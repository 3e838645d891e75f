"""The language of calls, and what a decoder of it must answer.

A call is `{"name":NAME,"parameters":{"p":VALUE,…}}` in compact JSON, all arguments of the chosen function in the order
of the functions file. A grammar tells four things at a position: the bytes that must come (forced, never asked of the
model), the tokens that may come, where a token leads, and a shortest way out when the model has used up its choices.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from engine.calls.inputs import Function
from reference.jsontext import JsonValue
from reference.schema import json_schema_to_regex

Position = TypeVar("Position")
Words = NDArray[np.uint32]


class Grammar(Protocol[Position]):
    """A decoder's view of the language of calls."""

    @property
    def start(self) -> Position:
        """Before the first byte."""

    def is_complete(self, position: Position) -> bool:
        """Whether the bytes so far are a whole call; nothing follows one."""

    def forced(self, position: Position) -> bytes:
        """Bytes that every completion goes on with."""

    def bitmask(self, position: Position) -> Words:
        """The packed mask of the tokens that may come."""

    def advance(self, position: Position, token: int) -> Position:
        """The position after an allowed token."""

    def step(self, position: Position, data: bytes) -> Position | None:
        """The position after bytes, None when no call goes on with them."""

    def ending(self, position: Position) -> bytes:
        """Bytes that make the call whole by a short way."""


@dataclass(frozen=True, slots=True)
class Explored(Generic[Position]):
    """A grammar walked byte by byte: its accepting states and n × 256 table, and the position of every state."""

    accept: list[int]
    table: list[list[int]]
    positions: list[Position]


def explore(grammar: Grammar[Position]) -> Explored[Position]:
    """Every position that bytes reach, as a plain automaton; −1 where no call goes on."""
    numbers: dict[Position, int] = {grammar.start: 0}
    positions, table = [grammar.start], list[list[int]]()
    for position in positions:
        row = []
        for byte in range(256):
            after = grammar.step(position, bytes([byte]))
            if after is not None and after not in numbers:
                numbers[after] = len(numbers)
                positions.append(after)
            row.append(-1 if after is None else numbers[after])
        table.append(row)
    accept = [state for state, position in enumerate(positions) if grammar.is_complete(position)]
    return Explored(accept, table, positions)


def call_schema(functions: Sequence[Function]) -> JsonValue:
    """The JSON Schema of all calls of these functions, in the subset of SPEC §4."""
    return {"anyOf": [_schema_of(function) for function in functions]}


def call_pattern(functions: Sequence[Function]) -> str:
    """The pattern of all calls of these functions."""
    return json_schema_to_regex(call_schema(functions))


def _schema_of(function: Function) -> JsonValue:
    names: list[JsonValue] = [parameter.name for parameter in function.parameters]
    arguments: JsonValue = {
        "type": "object",
        "properties": {parameter.name: {"type": parameter.type} for parameter in function.parameters},
        "required": names,
    }
    members: dict[str, JsonValue] = {"name": {"const": function.name}, "parameters": arguments}
    return {"type": "object", "properties": members, "required": ["name", "parameters"]}
