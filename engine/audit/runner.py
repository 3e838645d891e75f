"""One child of a port: the vocabulary it has, the grammars it has taken, and what it was asked before.

It runs scenarios; how a scenario's answers are judged is in engine/audit/judging.py.
"""

import json
import tempfile
from collections import Counter
from dataclasses import dataclass
from typing import Any

from engine.audit.compare import Difference
from engine.audit.exact import Exact, exact
from engine.audit.judging import Run
from engine.audit.policies import Policy, declared
from engine.audit.problems import Declined
from engine.audit.scenario import Grammar, Scenario
from engine.audit.vocabularies import loader_file
from engine.host import Port
from engine.protocol import PortError, Violation, integer_of, token_texts
from reference.vocabulary import Vocabulary

INLINE_TOKENS = 50_000
HONEST = ("refused", "unsupported", "invalid")


@dataclass(slots=True)
class Tally:
    """What was compared, and how long the audit took beside the engine."""

    scenarios: int = 0
    masks: int = 0
    bits: int = 0
    advances: int = 0
    refusals: int = 0
    withheld: int = 0
    withheld_masks: int = 0


class Runner:
    """One port child, the vocabulary it has, and the grammars it has compiled."""

    def __init__(self, port: Port, tally: Tally | None = None) -> None:
        """Begin with a started port."""
        self.port, self.tally = port, tally or Tally()
        self.policy: Policy = declared(port.hello.policies)
        self.taken: set[tuple[Grammar, str]] = set()
        self.begun: set[tuple[Grammar, str]] = set()
        self.refused: set[tuple[Grammar, str]] = set()
        self.history: list[Scenario] = []
        self.shrunk: Counter[tuple[str, str]] = Counter()
        self.vocabulary: Vocabulary | None = None
        self.grammars: dict[Grammar, int] = {}

    def run(self, scenario: Scenario) -> list[Difference]:
        """The differences of a scenario in order; an advance that differs ends it, since nothing after it is known."""
        if not self.port.alive:
            self.restart()
        self.history.append(scenario)
        self.tally.scenarios += 1
        return Run(self, scenario).differences()

    def restart(self) -> None:
        """A fresh child that knows nothing."""
        self.vocabulary, self.grammars, self.history = None, {}, []
        self.port.restart()

    def give(self, vocabulary: Vocabulary) -> None:
        """Send a vocabulary; grammars and sessions are gone. A large one goes by file."""
        self.grammars, self.vocabulary = {}, None
        fields: dict[str, Any] = {"eos": sorted(vocabulary.eos)}
        if (path := loader_file(vocabulary)) is not None:
            if "tokenizer" not in self.port.hello.features:
                raise Declined(f"vocabulary {vocabulary.name}: the port has no loader of its own")
            fields["tokenizer"] = path
        try:
            answer = self._given(token_texts(vocabulary.tokens), fields)
        except PortError as error:
            if error.kind in HONEST:
                raise Declined(f"vocabulary {vocabulary.name}: {error}") from error
            raise
        if integer_of(answer, "size") != len(vocabulary):
            raise Violation(f"'size' is {answer['size']}; the vocabulary has {len(vocabulary)} ids")
        self.vocabulary = vocabulary

    def _given(self, texts: list[str | None], fields: dict[str, Any]) -> dict[str, Any]:
        if len(texts) <= INLINE_TOKENS:
            return self.port.request("vocab", tokens=texts, **fields)
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            file.write(json.dumps(texts))
            file.flush()
            return self.port.request("vocab", file=file.name, **fields)

    def compile(self, grammar: Grammar) -> int:
        """The port's handle of a grammar, compiled now; Declined when it honestly refuses one it never took."""
        try:
            answer = self.port.request("compile", kind=grammar.kind, source=grammar.source)
        except PortError as error:
            if error.kind in HONEST and (grammar, self._digest()) not in self.taken:
                raise Declined(str(error)) from error
            raise
        self.grammars[grammar] = integer_of(answer, "grammar")
        self.taken.add((grammar, self._digest()))
        return self.grammars[grammar]

    def may_shrink(self, check: str, kind: str, most: int) -> bool:
        """Whether this is one of the first findings of a kind in a check, which are made small."""
        self.shrunk[check, kind] += 1
        return self.shrunk[check, kind] <= most

    def exact(self, grammar: Grammar) -> Exact:
        """The truth about a grammar over the vocabulary of now."""
        assert self.vocabulary is not None
        return exact(grammar, self.vocabulary, self.policy)

    def begin(self, grammar: Grammar) -> None:
        """Remember that the port has answered a mask of the grammar: from now on it may not refuse it."""
        self.begun.add((grammar, self._digest()))

    def has_begun(self, grammar: Grammar) -> bool:
        """Whether the port has answered a mask of the grammar over the vocabulary of now."""
        return (grammar, self._digest()) in self.begun

    def refuse(self, grammar: Grammar) -> None:
        """Remember that the port refused the grammar before any token, unless it has served it."""
        if not self.has_begun(grammar):
            self.refused.add((grammar, self._digest()))

    def is_refused(self, grammar: Grammar) -> bool:
        """Whether the port refused the grammar before any token."""
        return (grammar, self._digest()) in self.refused

    def _digest(self) -> str:
        assert self.vocabulary is not None
        return f"{len(self.vocabulary)} {self.vocabulary.name}"
