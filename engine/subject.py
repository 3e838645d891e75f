"""One language under proof: what the reference makes of it beside what the oracles make of it, each computed once."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from engine.suite import Language
from oracles import canonical, derivatives
from reference.compile import regex_to_dfa
from reference.dfa import Dfa
from reference.masks import TokenIndex
from reference.vocabulary import Vocabulary

Plain = tuple[list[int], list[list[int]]]


@dataclass(frozen=True, slots=True)
class Settings:
    """Limits of a verification: z3's time a question (milliseconds), sampled instances a language, their seed."""

    z3_timeout_ms: int = 20_000
    samples: int = 200
    seed: int = 10


class Subject:
    """A language and its vocabulary; everything else is computed when an obligation first asks for it."""

    def __init__(self, language: Language, vocabulary: Vocabulary, settings: Settings) -> None:
        """Nothing is computed yet."""
        self.language = language
        self.vocabulary = vocabulary
        self.settings = settings

    @property
    def is_compiled(self) -> bool:
        """Whether the reference has taken the pattern: what it refuses from then on is a fault of its own."""
        return "dfa" in self.__dict__

    @cached_property
    def dfa(self) -> Dfa:
        """The reference's automaton."""
        return regex_to_dfa(self.language.pattern, self.language.dialect)

    @cached_property
    def claim(self) -> Plain:
        """The reference's automaton as plain data: accepting states and an n × 256 table, −1 dead."""
        return [int(state) for state in np.flatnonzero(self.dfa.accept)], self.dfa.trans.tolist()

    @cached_property
    def index(self) -> TokenIndex:
        """The reference's masks."""
        return TokenIndex(self.dfa, self.vocabulary)

    @cached_property
    def judge(self) -> Plain:
        """The derivative oracle's automaton, from the pattern text alone."""
        return derivatives.automaton(self.language.pattern, self.language.dialect)

    @cached_property
    def judge_canonical(self) -> Plain:
        """The oracle's own canonical form of its own automaton."""
        return canonical.canonical(*self.judge)
