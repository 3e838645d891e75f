"""Random walks: outputs drawn under masks from logits that know nothing, or that want the wrong thing.

Each step has a whole row of V logits, the mask is applied to all of it, and the greatest of what is left is taken: that
is drawing evenly from the allowed tokens, while a mask with one bit too many is caught with the next draw. A row is a
stretch of one long pool of standard normal numbers, begun where the walk's own Pcg32 stream says (seed, walk's number),
so that a row costs nothing to make and a walk can be taken again alone. Adversaries bend the row against the mask.

Uniform choices hardly ever end an output (one closing quote among 100,000 tokens), so that walks have a budget: the
masks then keep the output completable, and it is whole when the budget is spent.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from time import perf_counter
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from engine.errors import BadInput
from engine.suite import Language
from engine.walk_checks import MaskJudge, OutputJudge
from reference.bitmasks import unpack
from reference.compile import regex_to_dfa
from reference.constraint import Constraint
from reference.dfa import DEAD
from reference.lookahead import token_distances
from reference.masks import TokenIndex
from reference.pcg32 import Pcg32
from reference.vocabulary import Vocabulary

Floats = NDArray[np.float32]
Bools = NDArray[np.bool_]
End = Literal["eos", "whole", "unfinished"]
Bend = Callable[[Floats, Bools], Floats]

POOL = 1 << 20
LARGE = np.float32(1e6)
LONGEST_WALK = 4096
DEFAULT_BUDGET = 64
ADVERSARIES = ("none", "forbidden", "longest", "endless")


class Ground:
    """A language to walk in, over one vocabulary: its masks, its judges, its least budget."""

    def __init__(self, language: Language, vocabulary: Vocabulary, *, validate: bool = True) -> None:
        """Compile the language and make all its masks; `validate` is whether outputs also go through jsonschema."""
        self.language = language
        dfa = regex_to_dfa(language.pattern, language.dialect)
        self.index = TokenIndex(dfa, vocabulary)
        self.index.bitmask_table()
        self.masks = MaskJudge(language, self.index, dfa)
        self.outputs = OutputJudge(language, validate=validate)

    @property
    def is_finishable(self) -> bool:
        """Whether this vocabulary can write any whole output at all."""
        return self.least_budget != DEAD

    @property
    def least_budget(self) -> int:
        """The fewest tokens of a whole output, EOS counted."""
        return int(token_distances(self.index)[0])

    def budget(self, asked: int | None) -> int:
        """The budget asked for, or the default, which is never less than the least one."""
        return max(DEFAULT_BUDGET, self.least_budget) if asked is None else asked


@dataclass(slots=True)
class Walk:
    """One output: its tokens (EOS among them), how it ended, and what was wrong on the way."""

    number: int
    tokens: list[int] = field(default_factory=list)
    end: End = "unfinished"
    problems: list[str] = field(default_factory=list)
    mask_problems: list[str] = field(default_factory=list)

    def text(self, vocabulary: Vocabulary) -> bytes:
        """The bytes of the tokens; EOS has none."""
        return b"".join(vocabulary.tokens[t] or b"" for t in self.tokens if t not in vocabulary.eos)


class Walker:
    """One walk in progress on a ground: shows its mask, takes a token, and knows when it is over.

    `judging` is the seconds that the judges took, which are no part of what a constraint costs.
    """

    def __init__(self, ground: Ground, number: int, budget: int | None) -> None:
        """Stand at the start; a budget below the least is refused with that number."""
        self.ground = ground
        self.walk = Walk(number)
        self.over = False
        self.judging = 0.0
        self._constraint = Constraint(ground.index, budget=budget)

    def bitmask(self) -> NDArray[np.uint32]:
        """The packed mask of this step, judged; a walk that finds no token allowed is over."""
        row = self._constraint.bitmask()
        budgeted = self._constraint.remaining is not None
        begun = perf_counter()
        problem = self.ground.masks.problem(self._constraint.state, row, budgeted=budgeted)
        self.judging += perf_counter() - begun
        if problem is not None:
            self.walk.mask_problems.append(problem)
        if not row.any():
            self._finish("whole" if self._constraint.is_complete() else "unfinished")
        return row

    def take(self, token: int) -> None:
        """Advance; a walk ends by EOS, by the end of its budget, or whole where the vocabulary has no EOS."""
        self._constraint.advance(token)
        self.walk.tokens.append(token)
        if self._constraint.done:
            self._finish("eos")
        elif self._constraint.is_complete() and not self.ground.index.vocabulary.eos:
            self._finish("whole")
        elif self._constraint.remaining == 0 or len(self.walk.tokens) >= LONGEST_WALK:
            self._finish("whole" if self._constraint.is_complete() else "unfinished")

    def _finish(self, end: End) -> None:
        self.over, self.walk.end = True, end
        if end == "unfinished":
            self.walk.problems.append(f"unfinished after {len(self.walk.tokens)} tokens")
            return
        begun = perf_counter()
        problem = self.ground.outputs.problem(self.walk.text(self.ground.index.vocabulary))
        self.judging += perf_counter() - begun
        if problem is not None:
            self.walk.problems.append(problem)


class RandomLogits:
    """Rows of logits out of a pool of standard normal numbers, bent by an adversary."""

    def __init__(self, vocabulary: Vocabulary, seed: int, adversary: str = "none") -> None:
        """Fill the pool from the seed."""
        if adversary not in ADVERSARIES:
            raise BadInput(f"adversary {adversary!r} is none of {', '.join(ADVERSARIES)}")
        self._size, self._seed = len(vocabulary), seed
        self._pool = _pool(seed, self._size)
        self._bend = _bend(vocabulary, adversary)

    def stream(self, number: int) -> Pcg32:
        """The generator of a walk."""
        return Pcg32(self._seed, number)

    def row(self, stream: Pcg32, mask: Bools) -> Floats:
        """The logits of the walk's next step."""
        start = stream.next_u32() % POOL
        return self._bend(self._pool[start : start + self._size], mask)


def random_walk(ground: Ground, logits: RandomLogits, number: int, budget: int | None) -> Walk:
    """One walk: at each step the greatest logit among the allowed, the lowest id of equals."""
    walker, stream = Walker(ground, number, budget), logits.stream(number)
    size = len(ground.index)
    while not walker.over:
        row = walker.bitmask()
        if walker.over:
            break
        mask = unpack(row, size)
        walker.take(int(np.where(mask, logits.row(stream, mask), -np.inf).argmax()))
    return walker.walk


def dealt(names: Sequence[str], walks: int) -> dict[str, int]:
    """How many of the walks each language gets, evenly, the first ones one more."""
    share, rest = divmod(walks, max(len(names), 1))
    return {name: share + (place < rest) for place, name in enumerate(names)}


@cache
def _pool(seed: int, size: int) -> Floats:
    return np.random.default_rng(seed).standard_normal(POOL + size, dtype=np.float32)


def _bend(vocabulary: Vocabulary, adversary: str) -> Bend:
    """How an adversary bends a row: to what is forbidden, to long tokens, away from whatever ends or closes."""
    if adversary == "none":
        return lambda row, mask: row
    if adversary == "forbidden":
        return lambda row, mask: np.where(mask, row, row + LARGE)
    if adversary == "longest":
        lengths = np.array([len(data or b"") for data in vocabulary.tokens], np.float32)
        return lambda row, mask: row + 100 * lengths
    closing = [any(byte in b'"]}' for byte in data or b"") for data in vocabulary.tokens]
    weight = -100 * np.array(closing, np.float32)
    weight[sorted(vocabulary.eos)] = -LARGE
    return lambda row, mask: row + weight
