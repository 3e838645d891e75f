r"""The whole way: pattern → tree → Thompson NFA → subset construction → trim, Moore, numbering → `Dfa` (SPEC §2).

Every stage is a function of its own module; this one says their order and refuses the empty language, which shows
only on the automaton: `[^\x00-\xff]` reads well and matches nothing.
"""

from reference.charsets import Dialect
from reference.dfa import Dfa
from reference.errors import EmptyLanguage
from reference.minimise import canonical
from reference.nfa import MAX_NFA_STATES, thompson
from reference.patterns import MAX_LENGTH, MAX_NESTING, parse
from reference.subset import MAX_STATES, MAX_WORK, determinise


def regex_to_dfa(
    pattern: str,
    dialect: Dialect = "bytes",
    *,
    max_states: int = MAX_STATES,
    max_nfa_states: int = MAX_NFA_STATES,
    max_work: int = MAX_WORK,
    max_length: int = MAX_LENGTH,
    max_nesting: int = MAX_NESTING,
) -> Dfa:
    """The canonical DFA of a pattern; raises PatternError, EmptyLanguage, or TooLarge at a limit.

    The limits are those of the stages: text and nesting, states of the NFA, subset states and the work on them.
    """
    tree = parse(pattern, dialect, max_length=max_length, max_nesting=max_nesting)
    nfa = thompson(tree, max_nfa_states=max_nfa_states)
    automaton = canonical(determinise(nfa, max_states=max_states, max_work=max_work))
    if not len(automaton.accept):
        raise EmptyLanguage("no string matches it, so no output could ever be whole; allow at least one")
    return Dfa(automaton.accept, automaton.table[:, automaton.byte_class])
