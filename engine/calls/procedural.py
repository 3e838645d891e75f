"""The procedural decoder's grammar: a row of phases, chosen by the function's name, as ConstrainCall does it.

The head is a trie of the functions' names and the fixed text around them; then come the values of the chosen function,
each with the fixed text after it. Structure is never generated. A position is (function, phase, where in it). Next:
compiled.py, the same language as one automaton.
"""

from collections.abc import Sequence

from engine.calls.grammar import Words
from engine.calls.inputs import Function, ValueType
from engine.calls.phases import Phase, Spellings, Texts, value_phase
from engine.errors import BadInput
from reference.dfa import DEAD
from reference.jsontext import dumps
from reference.vocabulary import Vocabulary

HEAD = -1
Place = tuple[int, int, int]
"""Function (HEAD before it is chosen), phase in its row, state in the phase."""


class Procedural:
    """The language of calls, phase by phase; a Grammar whose positions are places."""

    start: Place = (HEAD, 0, 0)

    def __init__(self, functions: Sequence[Function], vocabulary: Vocabulary) -> None:
        """Lay out the phases; a vocabulary that cannot write one of them is refused."""
        self._tokens = vocabulary.tokens
        spellings = Spellings(vocabulary)
        self._head = Texts([head(function) for function in functions], spellings)
        self._values: dict[tuple[ValueType, str], Phase] = {}
        self._rows: dict[int, list[Phase]] = {HEAD: [self._head]}
        for number, function in enumerate(functions):
            self._rows[number] = [self._value(*value, spellings) for value in values(function)]

    def is_complete(self, position: Place) -> bool:
        """Whether the last phase of a function is whole."""
        function, phase, _ = position
        return phase == len(self._rows[function])

    def forced(self, position: Place) -> bytes:
        """Forced bytes of this phase and, while each is whole, of the phases after it."""
        way = bytearray()
        while not self.is_complete(position):
            piece = self._phase(position).forced(position[2])
            if not piece:
                break
            way += piece
            position = self._moved(position, piece)
        return bytes(way)

    def bitmask(self, position: Place) -> Words:
        """The packed mask of the phase."""
        mask = self._phase(position).bitmask(position[2])
        if not mask.any():
            raise BadInput(
                "calls: this vocabulary has no token that goes on here; use one with all single bytes"
            )
        return mask

    def advance(self, position: Place, token: int) -> Place:
        """The position after an allowed token."""
        return self._moved(position, self._tokens[token] or b"")

    def step(self, position: Place, data: bytes) -> Place | None:
        """The position after bytes, through as many phases as they reach over."""
        for byte in data:
            if self.is_complete(position):
                return None
            function, phase, state = position
            after = self._phase(position).step(state, bytes([byte]))
            if after == DEAD:
                return None
            position = self._settled((function, phase, after))
        return position

    def ending(self, position: Place) -> bytes:
        """A shortest way out of each phase, one after the other."""
        way = bytearray()
        while not self.is_complete(position):
            piece = self._phase(position).ending(position[2])
            way += piece
            position = self._moved(position, piece)
        return bytes(way)

    def _value(self, kind: ValueType, follower: str, spellings: Spellings) -> Phase:
        if (kind, follower) not in self._values:
            self._values[kind, follower] = value_phase(kind, follower, spellings)
        return self._values[kind, follower]

    def _phase(self, position: Place) -> Phase:
        function, phase, _ = position
        return self._rows[function][phase]

    def _moved(self, position: Place, data: bytes) -> Place:
        after = self.step(position, data)
        if after is None:
            raise BadInput(f"calls: {data!r} does not go on here; take tokens of the mask only")
        return after

    def _settled(self, position: Place) -> Place:
        """Where a phase is whole, the beginning of the next; after the head, of the named function's row."""
        function, phase, state = position
        if not self._rows[function][phase].is_end(state):
            return position
        return (self._head.ends[state], 0, 0) if function == HEAD else (function, phase + 1, 0)


def head(function: Function) -> bytes:
    """A call's text up to its first value, all of it when there is none."""
    first = f"{dumps(function.parameters[0].name)}:" if function.parameters else "}}"
    return f'{{"name":{dumps(function.name)},"parameters":{{{first}'.encode()


def values(function: Function) -> list[tuple[ValueType, str]]:
    """The type of every value of a call and the fixed text after it."""
    followers = [f",{dumps(parameter.name)}:" for parameter in function.parameters[1:]] + ["}}"]
    return [(parameter.type, text) for parameter, text in zip(function.parameters, followers, strict=False)]
