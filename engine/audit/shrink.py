"""Makes a scenario small while it still shows its fault: steps, then the source by structure, then the vocabulary.

`shows` is asked of every candidate; it runs the port, so the number of questions and the time are bounded. Any
scenario means something (engine/audit/scenario.py), so a candidate needs no repair: it shows the fault or it does
not. Each part is gone through until nothing can be taken away, or the budget is spent.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from engine.audit.reductions import reductions
from engine.audit.scenario import Grammar, Scenario, Step
from reference.errors import Refused
from reference.vocabulary import Vocabulary

LARGE = 2000
Shows = Callable[[Scenario], Scenario | None]
"""The scenario that shows the fault, the candidate itself or a better path into it; None when it does not."""


@dataclass(slots=True)
class Budget:
    """How often and how long a shrinking may ask; the clock starts with the first question."""

    runs: int = 300
    seconds: float = 25.0
    begun: float = 0.0
    used: int = 0

    def spend(self) -> bool:
        """Whether one more question may be asked."""
        self.begun = self.begun or time.monotonic()
        self.used += 1
        return self.used <= self.runs and time.monotonic() - self.begun < self.seconds


def shrunk(scenario: Scenario, shows: Shows, budget: Budget, keep: Sequence[int] = ()) -> Scenario:
    """The smallest scenario found; at worst the one given. `keep` are tokens that are likely to be needed.

    A large vocabulary goes first: until then every question costs what giving it costs.
    """
    asking = _Asking(shows, budget)
    for place, vocabulary in enumerate(scenario.vocabularies):
        if len(vocabulary) > LARGE:
            scenario = _fewer_tokens(scenario, place, asking, keep)
            scenario = _renumbered(scenario, place, asking) or scenario
    before = None
    while before is None or scenario.size() < before:
        before = scenario.size()
        for part in (_fewer_steps, _smaller_grammars, _smaller_vocabularies, _fewer_steps):
            scenario = part(scenario, asking)
        if not budget.spend():
            break
    return scenario


class _Asking:
    """Asks within the budget; what the reference refuses shows nothing."""

    def __init__(self, shows: Shows, budget: Budget) -> None:
        self.shows, self.budget = shows, budget

    def __call__(self, candidate: Scenario) -> Scenario | None:
        if not self.budget.spend():
            return None
        try:
            return self.shows(candidate)
        except Refused:
            return None


def _fewer_steps(scenario: Scenario, ask: _Asking) -> Scenario:
    """Delta debugging: take away runs of steps, long runs first."""
    width = max(len(scenario.steps) // 2, 1)
    while width:
        place, changed = 0, False
        while place < len(scenario.steps):
            fewer = scenario.with_steps(scenario.steps[:place] + scenario.steps[place + width :])
            better = ask(fewer) if fewer.steps else None
            if better is not None and len(better.steps) < len(scenario.steps):
                scenario, changed = better, True
            else:
                place += width
        width = width if changed and width == 1 else width // 2
    return _without_unused(_fewer_sessions(scenario, ask), ask)


def _fewer_sessions(scenario: Scenario, ask: _Asking) -> Scenario:
    """Forks taken out: what was asked of the copy is asked of its origin."""
    for step in scenario.steps:
        if step[0] == "fork":
            kept = [other for other in scenario.steps if other != step]
            better = ask(scenario.with_steps(_of_session(other, step[2], step[1]) for other in kept))
            scenario = better or scenario
    slots = dict.fromkeys(slot for step in scenario.steps for slot in _slots(step))
    names = {slot: number for number, slot in enumerate(slots)}
    if all(slot == number for slot, number in names.items()):
        return scenario
    return ask(scenario.with_steps(_with_slots(step, names) for step in scenario.steps)) or scenario


def _slots(step: Step) -> tuple[int, ...]:
    """The sessions that a step names."""
    if step[0] in ("compile", "forget", "vocab"):
        return ()
    return step[1:3] if step[0] == "fork" else step[1:2]


def _with_slots(step: Step, names: dict[int, int]) -> Step:
    many = len(_slots(step))
    return (step[0], *(names.get(slot, slot) for slot in step[1 : 1 + many]), *step[1 + many :])


def _of_session(step: Step, old: int, new: int) -> Step:
    return _with_slots(step, {old: new})


def _without_unused(scenario: Scenario, ask: _Asking) -> Scenario:
    """Grammars and vocabularies that no step names are taken out."""
    used = sorted({step[-1] for step in scenario.steps if step[0] in ("open", "compile", "forget")})
    given = sorted({0} | {step[1] for step in scenario.steps if step[0] == "vocab"})
    if len(used) == len(scenario.grammars) and len(given) == len(scenario.vocabularies):
        return scenario
    names = {old: new for new, old in enumerate(used)}
    places = {old: new for new, old in enumerate(given)}
    steps = [_renamed(step, names, places) for step in scenario.steps]
    fewer = Scenario(
        tuple(scenario.vocabularies[old] for old in given),
        tuple(scenario.grammars[old] for old in used),
        tuple(steps),
    )
    return ask(fewer) or scenario


def _renamed(step: Step, grammars: dict[int, int], vocabularies: dict[int, int]) -> Step:
    if step[0] in ("open", "compile", "forget"):
        return (*step[:-1], grammars[step[-1]])
    return ("vocab", vocabularies[step[1]]) if step[0] == "vocab" else step


def _smaller_grammars(scenario: Scenario, ask: _Asking) -> Scenario:
    for place in range(len(scenario.grammars)):
        scenario = _smaller_grammar(scenario, place, ask)
    return scenario


def _smaller_grammar(scenario: Scenario, place: int, ask: _Asking) -> Scenario:
    """Go down while some reduction still shows the fault."""
    while True:
        grammar = scenario.grammars[place]
        for source in reductions(grammar.kind, grammar.source):
            better = ask(_with_grammar(scenario, place, replace(grammar, source=source)))
            if better is not None:
                scenario = better
                break
        else:
            return scenario


def _with_grammar(scenario: Scenario, place: int, grammar: Grammar) -> Scenario:
    grammars = (*scenario.grammars[:place], grammar, *scenario.grammars[place + 1 :])
    return replace(scenario, grammars=grammars)


def _smaller_vocabularies(scenario: Scenario, ask: _Asking) -> Scenario:
    for place in range(len(scenario.vocabularies)):
        scenario = _fewer_tokens(scenario, place, ask)
        scenario = _renumbered(scenario, place, ask) or scenario
        scenario = _shorter_tokens(scenario, place, ask)
    return scenario


def _shorter_tokens(scenario: Scenario, place: int, ask: _Asking) -> Scenario:
    """Halves of the tokens that are left."""
    for token, piece in enumerate(scenario.vocabularies[place].tokens):
        shorter = piece
        while shorter and len(shorter) > 1:
            half = len(shorter) // 2
            parts = (shorter[:half], shorter[half:], shorter[:-1])
            tried = ((part, ask(_with_token(scenario, place, token, part))) for part in parts)
            found = next(((part, better) for part, better in tried if better is not None), None)
            if found is None:
                break
            shorter, scenario = found
    return scenario


def _with_token(scenario: Scenario, place: int, token: int, piece: bytes) -> Scenario:
    old = scenario.vocabularies[place]
    tokens = (*old.tokens[:token], piece, *old.tokens[token + 1 :])
    return _with_vocabulary(scenario, place, Vocabulary(tokens, old.eos, "reproduction"))


def _fewer_tokens(scenario: Scenario, place: int, ask: _Asking, keep: Sequence[int] = ()) -> Scenario:
    """First only the tokens of the steps, then delta debugging over the others; ids stay as they are."""
    taken = {step[2] for step in scenario.steps if step[0] == "advance"}
    for few in (taken, taken | set(keep[:1]), taken | set(keep)):
        only = _with_tokens(scenario, place, few)
        if only.size() < scenario.size() and (better := ask(only)) is not None:
            return better
    kept = [token for token, piece in enumerate(scenario.vocabularies[place].tokens) if piece is not None]
    width = max(len(kept) // 2, 1)
    while width:
        for part in list(_pieces(kept, width)):
            rest = [token for token in kept if token not in part]
            better = ask(_with_tokens(scenario, place, set(rest)))
            if better is not None:
                scenario, kept = better, rest
        width //= 2
    return scenario


def _pieces(tokens: Sequence[int], width: int) -> Iterator[frozenset[int]]:
    for start in range(0, len(tokens), width):
        yield frozenset(tokens[start : start + width])


def _with_tokens(scenario: Scenario, place: int, kept: set[int]) -> Scenario:
    old = scenario.vocabularies[place]
    tokens = tuple(piece if token in kept else None for token, piece in enumerate(old.tokens))
    return _with_vocabulary(scenario, place, Vocabulary(tokens, old.eos, "reproduction"))


def _with_vocabulary(scenario: Scenario, place: int, vocabulary: Vocabulary) -> Scenario:
    vocabularies = (*scenario.vocabularies[:place], vocabulary, *scenario.vocabularies[place + 1 :])
    return replace(scenario, vocabularies=vocabularies)


def _renumbered(scenario: Scenario, place: int, ask: _Asking) -> Scenario | None:
    """Ids close together, or at least nothing after the last one that stands for something."""
    old = scenario.vocabularies[place]
    named = {step[2] for step in scenario.steps if step[0] == "advance" and 0 <= step[2] < len(old)}
    kept = sorted({token for token, piece in enumerate(old.tokens) if piece is not None} | old.eos | named)
    if not kept or len(kept) == len(old):
        return None
    closer = _moved(scenario, place, {token: number for number, token in enumerate(kept)})
    shorter = Vocabulary(old.tokens[: kept[-1] + 1], old.eos, "reproduction")
    return ask(closer) or ask(_with_vocabulary(scenario, place, shorter))


def _moved(scenario: Scenario, place: int, names: dict[int, int]) -> Scenario:
    old = scenario.vocabularies[place]
    tokens = tuple(old.tokens[token] for token in names)
    vocabulary = Vocabulary(tokens, frozenset(names[token] for token in old.eos), "reproduction")
    steps = [
        ("advance", step[1], names.get(step[2], step[2])) if step[0] == "advance" else step
        for step in scenario.steps
    ]
    return replace(_with_vocabulary(scenario, place, vocabulary), steps=tuple(steps))
