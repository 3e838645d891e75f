"""Random programs over several sessions: what one session does must not be seen in another, nor what was undone.

A program mixes sessions of several grammars in one process: it opens, advances, is refused, forks, rolls back, closes
and compiles again, and asks the masks of all open sessions now and then. Other scenarios try on purpose what caches
get wrong: patterns that share a long beginning, one text as two kinds, a grammar closed while its session lives, the
same grammar over a second vocabulary.
"""

import contextlib
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from engine.audit.exact import DONE, Exact, exact, ids
from engine.audit.plan import forbidden
from engine.audit.policies import Policy
from engine.audit.scenario import Grammar, Scenario, Step
from engine.audit.vocabularies import twins
from reference.dfa import DEAD
from reference.errors import Refused
from reference.vocabulary import Vocabulary

CROWD = 70
"""Sessions open at once: more than a batch of 64."""
TWINS_OF = 2000
"""Ids of a vocabulary that is tried with its twins."""


@dataclass(slots=True)
class _Open:
    truth: Exact
    states: list[int] = field(default_factory=lambda: [0])

    def copy(self) -> "_Open":
        return _Open(self.truth, list(self.states))


def programs(
    grammars: Sequence[Grammar],
    vocabulary: Vocabulary,
    policy: Policy,
    features: Sequence[str],
    seed: int,
    many: int,
) -> Iterator[Scenario]:
    """`many` seeded programs of about 150 steps, each over three of the grammars; and one of many sessions at once."""
    for number in range(many):
        chance = random.Random(f"{seed} {vocabulary.name} {number}")
        chosen = tuple(chance.sample(list(grammars), min(3, len(grammars))))
        truths = [exact(grammar, vocabulary, policy) for grammar in chosen]
        yield Scenario((vocabulary,), chosen, tuple(_Program(truths, features, chance).steps(150)))
        if number == 0:
            yield Scenario((vocabulary,), chosen, tuple(_Program(truths, features, chance).crowd(CROWD)))


class _Program:
    """One program as it is written down: the exact states tell which tokens are worth trying."""

    def __init__(self, truths: Sequence[Exact], features: Sequence[str], chance: random.Random) -> None:
        self.truths, self.features, self.chance = truths, features, chance
        self.open: dict[int, _Open] = {}
        self.made = 0

    def steps(self, length: int) -> list[Step]:
        """Open a session of each grammar, then do as chance says, then look at all and close them."""
        steps = [self._opened(number) for number in range(len(self.truths))]
        while len(steps) < length:
            steps += self._some()
        steps += [("mask", slot) for slot in self.open]
        return [*steps, *(("close", slot) for slot in self.open)]

    def crowd(self, many: int) -> list[Step]:
        """Many sessions open at once, each a few tokens on; then the masks of all."""
        steps = list[Step]()
        for number in range(many):
            steps.append(self._opened(number % len(self.truths)))
            steps += self._taken(self.made)
        steps += [("mask", slot) for slot in self.open]
        return [*steps, *(("close", slot) for slot in self.open)]

    def _some(self) -> list[Step]:
        if not self.open:
            return [self._opened(self.chance.randrange(len(self.truths)))]
        slot = self.chance.choice(list(self.open))
        actions = (
            [self._taken] * 9 + [self._refused] * 2 + [self._looked] * 3 + [self._closed, self._recompiled]
        )
        actions += [self._forked] * 2 if "fork" in self.features else []
        actions += [self._rolled] * 3 if "rollback" in self.features else []
        return self.chance.choice(actions)(slot)

    def _opened(self, number: int) -> Step:
        self.made += 1
        self.open[self.made] = _Open(self.truths[number])
        return ("open", self.made, number)

    def _taken(self, slot: int) -> list[Step]:
        """Take a few tokens, EOS seldom; sometimes look between."""
        session, steps = self.open[slot], list[Step]()
        for _ in range(self.chance.randint(1, 4)):
            token = self._token(session)
            if token is None:
                break
            session.states.append(session.truth.after(session.states[-1], token))
            steps.append(("advance", slot, token))
            if self.chance.random() < 0.5:
                steps.append(("mask", slot))
        return steps or [("mask", slot)]

    def _token(self, session: _Open) -> int | None:
        state, eos = session.states[-1], session.truth.vocabulary.eos
        tokens = ids(session.truth.mask(state), len(session.truth.vocabulary)).tolist()
        plain = [token for token in tokens if token not in eos]
        if plain and (self.chance.random() < 0.9 or len(plain) == len(tokens)):
            return int(self.chance.choice(plain))
        return int(self.chance.choice(tokens)) if tokens and self.chance.random() < 0.5 else None

    def _refused(self, slot: int) -> list[Step]:
        session = self.open[slot]
        token = self.chance.choice(forbidden(session.truth, session.states[-1], self.chance))
        return [("advance", slot, token), ("mask", slot)]

    def _looked(self, slot: int) -> list[Step]:
        """Two sessions asked in turn, then the first again."""
        other = self.chance.choice(list(self.open))
        return [("mask", slot), ("mask", other), ("mask", slot)]

    def _closed(self, slot: int) -> list[Step]:
        del self.open[slot]
        return [("close", slot), self._opened(self.chance.randrange(len(self.truths)))]

    def _recompiled(self, slot: int) -> list[Step]:
        number = self.chance.randrange(len(self.truths))
        if self.chance.random() < 0.5:
            return [("forget", number), ("mask", slot), self._opened(number)]
        return [("compile", number), self._opened(number), ("mask", slot)]

    def _forked(self, slot: int) -> list[Step]:
        self.made += 1
        self.open[self.made] = self.open[slot].copy()
        after = self._taken(self.chance.choice([slot, self.made]))
        return [("fork", slot, self.made), *after, ("mask", slot), ("mask", self.made)]

    def _rolled(self, slot: int) -> list[Step]:
        session = self.open[slot]
        if len(session.states) < 2:
            return self._taken(slot)
        count = self.chance.randint(1, len(session.states) - 1)
        del session.states[-count:]
        return [("rollback", slot, count), ("mask", slot)]


PREFIX = "(?:city|true|[a-f0-9]{4}|null){2}-(?:january|february|march)-"
FAMILIES: tuple[tuple[tuple[str, str], ...], ...] = (
    (("regex.bytes", PREFIX + "a"), ("regex.bytes", PREFIX + "b"), ("regex.bytes", PREFIX + "ab?")),
    (("regex.bytes", "a"), ("regex.bytes", "a "), ("regex.bytes", "A"), ("regex.bytes", "a?")),
    (("regex.bytes", ".é?"), ("regex.unicode", ".é?")),
    (("regex.bytes", "[^a]"), ("regex.unicode", "[^a]")),
    (("regex.unicode", PREFIX + "a"), ("regex.unicode", PREFIX + "b")),
    (("json_object", "1"), ("regex.bytes", "1"), ("regex.unicode", "1")),
    (
        ("json_schema", '{"enum":["a","b"]}'),
        ("json_schema", '{"enum":["a","c"]}'),
        ("json_schema", '{"enum": ["a","b"]}'),
        ("json_schema", '{"enum":["a ","b"]}'),
    ),
    (
        ("json_schema", '{"type":"object","properties":{"a":{"type":"null"},"b":{"type":"null"}}}'),
        ("json_schema", '{"type":"object","properties":{"b":{"type":"null"},"a":{"type":"null"}}}'),
    ),
)
"""Grammars that a careless cache takes for one another."""


def families(vocabulary: Vocabulary, policy: Policy, kinds: Sequence[str], seed: int) -> Iterator[Scenario]:
    """Each family compiled together, walked side by side, in both orders, and again after closing one of them."""
    chance = random.Random(f"{seed} families")
    for family in FAMILIES:
        chosen = tuple(Grammar(*pair) for pair in family if pair[0] in kinds)
        for order in (chosen, chosen[::-1]) if len(chosen) > 1 else ():
            yield Scenario((vocabulary,), order, tuple(_side_by_side(order, vocabulary, policy, chance)))


def _side_by_side(
    family: Sequence[Grammar], vocabulary: Vocabulary, policy: Policy, chance: random.Random
) -> Iterator[Step]:
    yield from (("compile", number) for number in range(len(family)))
    for number, grammar in enumerate(family):
        yield from _finished(number, exact(grammar, vocabulary, policy), chance)
    yield ("forget", 0)
    yield from (("open", 100 + number, number) for number in range(len(family)))
    yield from (("mask", 100 + number) for number in range(len(family)))


def _finished(number: int, truth: Exact, chance: random.Random) -> Iterator[Step]:
    """A session to its end, its masks on the way."""
    yield ("open", number, number)
    state = 0
    for _ in range(60):
        yield ("mask", number)
        tokens = ids(truth.mask(state), len(truth.vocabulary)).tolist()
        if not tokens or state == DONE:
            break
        token = chance.choice(tokens)
        yield ("advance", number, token)
        state = truth.after(state, token)
        if state == DEAD:
            break


def two_vocabularies(
    grammars: Sequence[Grammar], first: Vocabulary, second: Vocabulary, policy: Policy, seed: int
) -> Iterator[Scenario]:
    """The same grammar over one vocabulary, then another, then the first again, in one process.

    A small vocabulary is then tried with its twins too, which a careless cache takes for it.
    """
    chance = random.Random(f"{seed} vocabularies")
    pairs = [(grammar, second) for grammar in grammars]
    if len(first) <= TWINS_OF:
        pairs += [(grammar, twin) for grammar in grammars for twin in twins(first)]
    for grammar, other in pairs:
        with contextlib.suppress(Refused):
            yield _there_and_back(grammar, first, other, policy, chance)


def _there_and_back(
    grammar: Grammar, first: Vocabulary, second: Vocabulary, policy: Policy, chance: random.Random
) -> Scenario:
    """A session to its end over the first vocabulary, over the second, and over the first again."""
    steps: list[Step] = []
    for number, vocabulary in enumerate((first, second, first)):
        part = _finished(number, exact(grammar, vocabulary, policy), chance)
        steps += [("vocab", number % 2)] if number else []
        steps += [(*step[:-1], 0) if step[0] == "open" else step for step in part]
    return Scenario((first, second), (grammar,), tuple(steps))
