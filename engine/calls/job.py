"""A ConstrainCall job: every prompt answered by one decoder, resumed where it stopped, then judged.

The functions are described to the model once: that part of the prompt, which all conversations share, is computed first
and kept, and every prompt goes on from exactly there. So an answer does not depend on which prompts came before it.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from pathlib import Path
from typing import Any, cast

from engine.calls.accuracy import Score, call_in, score
from engine.calls.decoders import DecoderName, make_grammar
from engine.calls.decoding import DEFAULT_CHOICES, Decoded, ForcedText, decode
from engine.calls.grammar import Grammar
from engine.calls.inputs import Call, Function, Prompt, problems_of_call
from engine.calls.prompting import conversation
from engine.calls.writing import Output
from engine.errors import BadInput
from engine.models.base import Model, Rows
from reference.jsontext import loads
from reference.vocabulary import Vocabulary

FREE_TOKENS = 96


@dataclass(frozen=True, slots=True)
class Job:
    """What to answer, with what, and how many choices an answer may take."""

    functions: tuple[Function, ...]
    prompts: tuple[Prompt, ...]
    model: Model
    decoder: DecoderName = "procedural"
    choices: int = DEFAULT_CHOICES


@dataclass(slots=True)
class Answers:
    """The calls of a job in the order of its prompts, and what the new ones cost."""

    calls: list[Call]
    resumed: int
    decoded: list[Decoded] = field(default_factory=list)
    compile_seconds: float = 0.0
    forced_texts: int = 0

    def score(self, job: Job) -> Score:
        """How many answers are what was expected."""
        return score(zip(job.prompts, self.calls, strict=False), job.functions)


Told = Callable[[int, int, str], None]


def answer(job: Job, path: Path, tell: Told) -> Answers:
    """Answer all prompts of a job into a file; what the file already holds is kept."""
    with Output(path, job.prompts, job.functions) as output:
        answers = Answers(list(output.done), len(output.done))
        if answers.resumed == len(job.prompts):
            return answers
        begun = time.perf_counter()
        made = make_grammar(job.decoder, job.functions, job.model.vocabulary)
        answers.compile_seconds = time.perf_counter() - begun
        grammar = cast(Grammar[Any], made)
        prefixed = Prefixed(job.model, job.functions, job.prompts)
        forced = ForcedText(job.model)
        for number, prompt in enumerate(job.prompts[answers.resumed :], answers.resumed):
            tell(number, len(job.prompts), prompt.text)
            decoded = decode(
                prefixed.after(number), grammar, job.model.vocabulary, forced, choices=job.choices
            )
            call = checked(decoded, job.functions)
            output.append(prompt, call)
            answers.calls.append(call)
            answers.decoded.append(decoded)
        answers.forced_texts = len(forced)
    return answers


def checked(decoded: Decoded, functions: tuple[Function, ...]) -> Call:
    """The decoded text as a call, read back as any program would read it."""
    call = cast(Call, loads(decoded.text, unique_keys=True))
    problem = problems_of_call(call, functions)
    if problem is not None:
        raise BadInput(f"decoder wrote {decoded.text!r}, which is no call: {problem}")
    return call


class Prefixed:
    """The conversations of a job on one batch row, their common beginning computed once."""

    def __init__(self, model: Model, functions: Sequence[Function], prompts: Sequence[Prompt]) -> None:
        """Encode all conversations and compute what they share."""
        self._ids = [model.chat(conversation(functions, prompt.text)) for prompt in prompts]
        # The user's first token may depend on what follows it, and one token at least must be left to feed.
        probes = [model.chat(conversation(functions, text)) for text in ("a", "0", "(")]
        self._shared = shared_length([*probes, *(ids[:-1] for ids in self._ids)])
        self._rows: Rows = model.rows([self._ids[0][: self._shared]])
        self._rows.logits()

    def after(self, number: int) -> Rows:
        """The row after the whole conversation of this prompt; what was there before is forgotten."""
        self._rows.rewind(self._shared)
        self._rows.feed([self._ids[number][self._shared :]])
        return self._rows


def shared_length(rows: Sequence[Sequence[int]]) -> int:
    """How many ids all rows begin with alike."""
    columns = takewhile(lambda column: len(set(column)) == 1, zip(*rows, strict=False))
    return sum(1 for _ in columns)


def free_answers(job: Job, tell: Told) -> Iterator[Call | None]:
    """The baseline: the same prompts, greedy and unconstrained, and the call that can be read out of each text."""
    prefixed = Prefixed(job.model, job.functions, job.prompts)
    for number, prompt in enumerate(job.prompts):
        tell(number, len(job.prompts), prompt.text)
        text = free_text(prefixed.after(number), job.model.vocabulary)
        yield call_in(text.decode(errors="replace"), job.functions)


def free_text(rows: Rows, vocabulary: Vocabulary, *, tokens: int = FREE_TOKENS) -> bytes:
    """What the model writes when nothing is in its way, to its end or to so many tokens."""
    text = b""
    for _ in range(tokens):
        token = int(rows.logits()[0].argmax())
        if token in vocabulary.eos:
            break
        text += vocabulary.tokens[token] or b""
        rows.feed([[token]])
    return text
