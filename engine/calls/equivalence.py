"""The proof that both decoders write the same calls: three automata of one language, and a vocabulary that writes all.

The procedural decoder and the compiled automaton are each walked byte by byte into a plain table; an oracle builds a
third table from the functions alone. Hopcroft and Karp's check shows each of the two equal to the third, for all byte
strings. From bytes to tokens: both decoders allow a token only along live bytes, so that no other output can be
written; and when every byte that occurs in a token is a token by itself, both write exactly the calls over those bytes.
Bytes in no token at all (SmolLM2 lacks f1 and f2, the lead bytes of planes nobody uses) leave both sets alike.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from engine.calls.decoders import DECODERS, make_grammar
from engine.calls.grammar import Explored, explore
from engine.calls.inputs import Function
from oracles.call_language import different_call
from reference.vocabulary import Vocabulary


@dataclass(frozen=True, slots=True)
class Equivalence:
    """Per decoder its states and a shortest call on which it and the oracle differ; and what the vocabulary lacks.

    `not_alone` are bytes of calls that occur in tokens but are none by themselves, `unwritable` those in no token.
    """

    different: dict[str, bytes | None]
    states: dict[str, int]
    not_alone: bytes
    unwritable: bytes

    @property
    def holds(self) -> bool:
        """Whether both decoders can write the same calls with this vocabulary."""
        return not self.not_alone and all(witness is None for witness in self.different.values())


def equivalence(functions: Sequence[Function], vocabulary: Vocabulary) -> Equivalence:
    """Hold both decoders to the oracle on all byte strings, and the vocabulary to the bytes that occur."""
    signatures = [
        (function.name, [(parameter.name, str(parameter.type)) for parameter in function.parameters])
        for function in functions
    ]
    walked: dict[str, Explored[Any]] = {
        decoder: explore(make_grammar(decoder, functions, vocabulary)) for decoder in DECODERS
    }
    different = {
        name: different_call(signatures, found.accept, found.table) for name, found in walked.items()
    }
    live = np.flatnonzero((np.array(walked["automaton"].table) >= 0).any(axis=0)).tolist()
    pieces = {data for token, data in enumerate(vocabulary.tokens) if data and token not in vocabulary.eos}
    occurring = set(b"".join(pieces))
    return Equivalence(
        different=different,
        states={name: len(found.table) for name, found in walked.items()},
        not_alone=bytes(byte for byte in live if byte in occurring and bytes([byte]) not in pieces),
        unwritable=bytes(byte for byte in live if byte not in occurring),
    )
