"""The decoders of calls by name."""

from collections.abc import Sequence
from typing import Literal

from engine.calls.compiled import Compiled
from engine.calls.inputs import Function
from engine.calls.procedural import Procedural
from engine.errors import BadInput
from reference.vocabulary import Vocabulary

DecoderName = Literal["procedural", "automaton"]
DECODERS: tuple[DecoderName, ...] = ("procedural", "automaton")


def make_grammar(
    decoder: DecoderName, functions: Sequence[Function], vocabulary: Vocabulary
) -> Procedural | Compiled:
    """The grammar of this decoder."""
    kinds: dict[DecoderName, type[Procedural | Compiled]] = {"procedural": Procedural, "automaton": Compiled}
    if decoder not in kinds:
        raise BadInput(f"decoder {decoder!r} is none of {', '.join(DECODERS)}")
    return kinds[decoder](functions, vocabulary)
