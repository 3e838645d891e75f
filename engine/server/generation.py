"""One output, token by token: mask, draw, bytes to text, text to events; nothing is sent before it is certain.

A token may end in the middle of a character, a stop text may come in pieces, markup must never be shown: each has its
own small buffer, in that order, and whatever is held when the output ends is given back or dropped by its own rule.
Log-probabilities go with the content that their tokens make; those of a call's markup and arguments are not reported.
"""

import codecs
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from engine.server.constraints import Language, is_at_end, is_free_now
from engine.server.logprobs import TokenLogprob, likeliest
from engine.server.stops import StopScanner
from reference.pcg32 import Pcg32
from reference.sampling import SamplingParams, constrained_sample
from reference.toolstream import CallStart, Content, Event, ToolParser, finish_reason


@dataclass(frozen=True, slots=True)
class Plan:
    """How a request is decoded: `choices` outputs of the language, each from its own stream of the seed."""

    request_id: str
    prompt: tuple[int, ...]
    language: Language
    sampling: SamplingParams
    seed: int
    max_tokens: int
    choices: int = 1
    stop: tuple[str, ...] = ()
    top_logprobs: int | None = None


@dataclass(frozen=True, slots=True)
class Piece:
    """Something new in a choice, with the log-probabilities of the content tokens since the last piece."""

    choice: int
    event: Event
    logprobs: tuple[TokenLogprob, ...] = ()


@dataclass(frozen=True, slots=True)
class Finished:
    """A choice is over: why, how many tokens it took, and log-probabilities that no piece carried."""

    choice: int
    reason: str
    tokens: int
    logprobs: tuple[TokenLogprob, ...] = ()


Item = Piece | Finished


class Output:
    """One choice under way."""

    def __init__(self, plan: Plan, choice: int) -> None:
        """Nothing is generated yet."""
        self._plan, self._choice = plan, choice
        self._constraint = plan.language.begin(plan.max_tokens)
        self._rng = Pcg32(plan.seed, choice)
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        suffix = f"{plan.request_id}_{choice}" if plan.choices > 1 else plan.request_id
        self._parser = ToolParser(suffix) if plan.language.has_calls else None
        self._scanner = StopScanner(plan.stop if plan.language.is_free else ())
        self._calls = 0
        self._logprobs: list[TokenLogprob] = []
        self.tokens: list[int] = []
        self.is_finished = False

    def take(self, logits: Any) -> list[Item]:
        """Draw the next token from these logits; the items that became certain."""
        plan, constraint = self._plan, self._constraint
        top = self._alternatives(logits)
        token, logprob = constrained_sample(
            logits, constraint, plan.sampling, plan.prompt, self.tokens, self._rng
        )
        self.tokens.append(token)
        if constraint.done:
            return self._finish("stop")
        piece = plan.language.vocabulary.tokens[token] or b""
        if plan.top_logprobs is not None:
            self._logprobs.append(TokenLogprob(piece, logprob, top))
        items = self._read(self._decoder.decode(piece))
        if self._scanner.hit or is_at_end(constraint, plan.language.vocabulary):
            return items + self._finish("stop")
        if len(self.tokens) < plan.max_tokens:
            return items
        whole = constraint.is_complete() and not plan.language.is_free
        return items + self._finish("stop" if whole else "length")

    def _alternatives(self, logits: Any) -> tuple[TokenLogprob, ...]:
        plan = self._plan
        mask, count = self._constraint.mask(), plan.top_logprobs or 0
        return likeliest(
            logits, mask, plan.sampling, plan.prompt, self.tokens, plan.language.vocabulary, count
        )

    def close(self) -> list[Item]:
        """End the output where it is."""
        return self._finish("length")

    def _read(self, text: str) -> list[Item]:
        events = self._parser.push(text) if self._parser else [Content(text)] if text else []
        return self._pieces(events)

    def _pieces(self, events: Sequence[Event]) -> list[Item]:
        """Content passes the stop texts; before a call begins, what they held back is due."""
        items: list[Item] = []
        for event in events:
            if isinstance(event, Content):
                items += self._content(self._scanner.push(event.text))
            elif not self._scanner.hit:
                items += self._content(self._scanner.flush())
                self._calls += isinstance(event, CallStart)
                self._logprobs.clear()
                items.append(Piece(self._choice, event))
        return items

    def _content(self, text: str) -> list[Item]:
        if not text:
            return []
        logprobs, self._logprobs = tuple(self._logprobs), []
        return [Piece(self._choice, Content(text), logprobs)]

    def _finish(self, engine: str) -> list[Item]:
        """Give back what is held; a call that was cut makes the reason `length`, and its markup is not shown."""
        self.is_finished = True
        items = self._read(self._decoder.decode(b"", final=True))
        cut = self._parser is not None and self._parser.is_inside_call
        if self._parser and is_free_now(self._constraint):
            items += self._pieces(self._parser.finish())
        items += self._content(self._scanner.flush())
        reason = "length" if cut and engine == "length" else finish_reason(self._calls, engine)
        left = () if self._calls else tuple(self._logprobs)
        return [*items, Finished(self._choice, reason, len(self.tokens), left)]
