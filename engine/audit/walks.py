"""Long seeded walks: hundreds of tokens, rare ones first, through the middle of characters, then to the end.

A walk counts how often each token was taken and prefers those that were not, long ones, and pieces of characters; it
stays where it can go on for ever as long as it wants to be long, then takes the shortest way out, EOS, and asks once
more. Some walks ask the mask at every step, some only now and then, since an engine may need to be asked.
"""

import random
from collections.abc import Iterator
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from engine.audit.exact import DONE, Exact
from engine.audit.plan import Case, forbidden
from engine.audit.scenario import Scenario, Step
from reference.dfa import DEAD
from reference.lookahead import token_distances
from reference.vocabulary import Vocabulary

SMALL = 30
"""States of an automaton whose walks are long: a walk of hundreds of tokens goes round in it often."""
Tokens = npt.NDArray[np.intp]


def walks(case: Case, truth: Exact, seed: int, many: int, length: int) -> Iterator[Scenario]:
    """`many` walks, the first of up to `length` tokens and asking every mask, the others shorter."""
    walker = _Walker(truth, random.Random(f"{seed} {case.id}"))
    longest = length if truth.dfa.n_states <= SMALL else length // 3
    for number in range(many):
        yield case.scenario(
            walker.steps(longest if number == 0 else length // 6, every=(1, 1, 7)[number % 3])
        )


class _Walker:
    """Remembers over all walks of a case which tokens were taken."""

    def __init__(self, truth: Exact, chance: random.Random) -> None:
        self.truth, self.chance = truth, chance
        self.generator = np.random.default_rng(chance.getrandbits(64))
        self.taken = np.zeros(len(truth.vocabulary))
        self.appeal = _appeals(truth.vocabulary)
        self.distances = token_distances(truth.index)
        self.endless = _endless(truth)
        self.choices: dict[int, tuple[Tokens, Tokens]] = {}

    def steps(self, length: int, every: int) -> list[Step]:
        """One walk: wander, leave, end, ask again."""
        steps: list[Step] = [("open", 0, 0), ("mask", 0)]
        state = 0
        for number in range(length):
            token = self._wander(state, far=number < length - 1)
            if token is None:
                break
            steps.append(("advance", 0, token))
            state = self.truth.after(state, token)
            if number % every == 0:
                steps.append(("mask", 0))
            if self.chance.random() < 0.05:
                steps += [
                    ("advance", 0, self.chance.choice(forbidden(self.truth, state, self.chance))),
                    ("mask", 0),
                ]
        while (token := self._leave(state)) is not None:
            steps += [("advance", 0, token), ("mask", 0)]
            state = self.truth.after(state, token)
        return [*steps, ("mask", 0), ("close", 0)]

    def _wander(self, state: int, *, far: bool) -> int | None:
        """A token with bytes that leads on, one that can still lead far when the walk wants to be long."""
        choice = self._choices(state)[far]
        if not len(choice):
            return None
        weight = self.appeal[choice] / (1 + self.taken[choice]) ** 2
        token = int(self.generator.choice(choice, p=weight / weight.sum()))
        self.taken[token] += 1
        return token

    def _choices(self, state: int) -> tuple[Tokens, Tokens]:
        """The tokens with bytes that are allowed, and those of them from which one can go on for ever, if any."""
        if state not in self.choices:
            after = self.truth.index.successors(state)
            after[sorted(self.truth.vocabulary.eos)] = DEAD
            choice = np.flatnonzero(after != DEAD)
            lasting = choice[self.endless[after[choice]]]
            self.choices[state] = (choice, lasting if len(lasting) else choice)
        return self.choices[state]

    def _leave(self, state: int) -> int | None:
        """The next token of a shortest way to the end, EOS last."""
        if state == DONE:
            return None
        if self.truth.is_complete(state):
            return min(self.truth.vocabulary.eos, default=None)
        if self.distances[state] == DEAD:
            return None
        targets, tokens = self.truth.first_tokens(state)
        near = [pair for pair in zip(targets, tokens, strict=True) if self._is_nearer(pair[0], state)]
        return near[0][1] if near else None

    def _is_nearer(self, target: int, state: int) -> bool:
        return bool(self.distances[target] != DEAD and self.distances[target] < self.distances[state])


@lru_cache(maxsize=4)
def _appeals(vocabulary: Vocabulary) -> npt.NDArray[np.float64]:
    """Longer tokens, and those that are not ASCII, are more worth a step."""
    return np.array([_appeal(piece) for piece in vocabulary.tokens])


def _appeal(piece: bytes | None) -> float:
    return min(len(piece), 8) * (1.0 if piece.isascii() else 3.0) if piece else 0.0


def _endless(truth: Exact) -> npt.NDArray[np.bool_]:
    """Per state whether tokens can be taken for ever from it."""
    follow = {state: truth.first_tokens(state)[0] for state in truth.paths()}
    alive = set(follow)
    while fewer := {state for state in alive if not any(target in alive for target in follow[state])}:
        alive -= fewer
    return np.isin(np.arange(truth.dfa.n_states), sorted(alive))
