"""The columns of the kill matrix: checks that share no answer with each other, each telling its first witness.

Every column asks the reference as it is imported here (a mutant when `patch` was installed) and compares with one
source of truth only: values worked by hand, the golden files, one oracle, or one property. They are small on
purpose: a mutant that only a long run sees would be seen too late. None means that nothing was seen.
"""

from collections.abc import Callable

from engine.mutants.columns.goldens import goldens
from engine.mutants.columns.hand import hand
from engine.mutants.columns.judges import derivative, first_principles, networkx, z3
from engine.mutants.columns.outputs import instances_column, walks
from engine.mutants.columns.properties import properties
from engine.mutants.columns.shared import Witness
from engine.mutants.columns.tools import tool_texts

COLUMNS: dict[str, Callable[[], Witness]] = {
    "hand": hand,
    "goldens": goldens,
    "derivative": derivative,
    "z3": z3,
    "networkx": networkx,
    "masks": first_principles,
    "properties": properties,
    "walks": walks,
    "instances": instances_column,
    "tool texts": tool_texts,
}
