r"""Awkward pieces of text, written wherever a language first takes them: every mask on the way is compared.

Masks are compared at every state by one path each, and an automaton does not show which path an engine has trouble
with: a string is one state, whether `\u00e9` or half of a surrogate pair leads back to it. These pieces are the paths.
"""

from collections.abc import Iterator, Sequence

from engine.audit.exact import Exact
from engine.audit.plan import Case
from engine.audit.scenario import Scenario, Step
from engine.audit.writing import tokenizer
from reference.dfa import DEAD

PHRASES: tuple[bytes, ...] = (
    rb"\ud83d\ude00",
    rb"\uDBFF\uDFFF",
    rb"\ud800\ud8ff\uDC00",
    rb"\u0000\u001F\uFFFF",
    rb"\"\\\/\b\f\n\r\t",
    "\x7f\x80\u07ff\u0800\ud7ff\ue000\uffff\U00010000\U0010ffff".encode(),
    b"null\x20true\x20[1,{2}]",
    b"-0.0E-0",
    b"0.00000000000000000000000001",
    b"1e+0000000400",
    b"18446744073709551617000000000000000000000",
)


def phrases(case: Case, truth: Exact) -> Iterator[Scenario]:
    """A scenario a phrase, at the state nearest to the start that takes all of it; none where no state does."""
    cut, paths = tokenizer(case.vocabulary), truth.paths()
    for phrase in PHRASES:
        tokens = cut(phrase)
        if not tokens:
            continue
        for state, path in paths.items():
            if truth.step(state, phrase) != DEAD and truth.follow(tuple(tokens), state) != DEAD:
                yield case.scenario(_steps(path, tokens))
                break


def _steps(path: Sequence[int], tokens: Sequence[int]) -> list[Step]:
    steps: list[Step] = [("open", 0, 0), *(("advance", 0, token) for token in path), ("mask", 0)]
    for token in tokens:
        steps += [("advance", 0, token), ("mask", 0)]
    return [*steps, ("close", 0)]
