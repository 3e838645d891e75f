"""The canonical automaton of a table, by Hopcroft's refinement: what the derivative oracle writes when it is alone.

Hopcroft (1971): keep a worklist of splitters. A splitter is a block; every block that some byte leads partly into it
is cut in two, of which the smaller joins the worklist. Dead is a state like any other here, so states from which
nothing can be accepted fall into its block and disappear with it: trimming needs no search of its own. The pitfall is
to stop when one round cuts nothing: here there are no rounds, and only an empty worklist ends the refinement.
"""

from collections.abc import Iterable

from oracles.errors import OracleError
from oracles.tables import DEAD, Automaton, Table, checked


def canonical(accept: Iterable[int], table: Table) -> tuple[list[int], list[list[int]]]:
    """The minimal trim automaton of the same language, its states numbered breadth-first, bytes 0 to 255 in order."""
    automaton = checked(accept, table)
    block_of = blocks(automaton)
    if block_of[0] == block_of[-1]:
        raise OracleError("no string at all is accepted, so there is no canonical automaton")
    return _numbered(automaton, block_of)


def blocks(automaton: Automaton) -> list[int]:
    """The block of each state, equal exactly for equivalent states; the last entry is the block of dead."""
    dead, sources = len(automaton.rows), _sources(automaton)
    members = [set(range(dead + 1)) - automaton.accept, set(automaton.accept)]
    block_of = [int(state in automaton.accept) for state in range(dead + 1)]
    waiting = {0, 1}
    while waiting:
        splitter = frozenset(members[waiting.pop()])
        for into in sources:
            came = {source for state in splitter for source in into.get(state, ())}
            for block, inside in _touched(came, block_of).items():
                _cut(block, inside, members, block_of, waiting)
    return block_of


def _sources(automaton: Automaton) -> list[dict[int, list[int]]]:
    """For each class of bytes, the states that a byte of it leads from, by the state it leads to."""
    dead = len(automaton.rows)
    tables: list[dict[int, list[int]]] = []
    for column in zip(*automaton.rows, strict=True):
        into: dict[int, list[int]] = {dead: [dead]}
        for source, target in enumerate(column):
            into.setdefault(dead if target == DEAD else target, []).append(source)
        tables.append(into)
    return tables


def _touched(came: set[int], block_of: list[int]) -> dict[int, set[int]]:
    """The states that lead into a splitter, by their block."""
    touched: dict[int, set[int]] = {}
    for state in came:
        touched.setdefault(block_of[state], set()).add(state)
    return touched


def _cut(
    block: int, inside: set[int], members: list[set[int]], block_of: list[int], waiting: set[int]
) -> None:
    """Cut a block into the states inside and the others; the smaller part gets a new number and waits."""
    outside = members[block] - inside
    if not outside:
        return
    smaller, larger = sorted((inside, outside), key=len)
    members[block] = larger
    members.append(smaller)
    for state in smaller:
        block_of[state] = len(members) - 1
    waiting.add(len(members) - 1)


def _numbered(automaton: Automaton, block_of: list[int]) -> tuple[list[int], list[list[int]]]:
    """Number the blocks in the order in which a breadth-first walk from the start meets them."""
    samples, numbers = [0], {block_of[0]: 0}
    table: list[list[int]] = []
    for sample in samples:
        row = []
        for byte in range(256):
            after = automaton.step(sample, byte)
            block = block_of[after]
            if block != block_of[-1] and numbers.setdefault(block, len(samples)) == len(samples):
                samples.append(after)
            row.append(DEAD if block == block_of[-1] else numbers[block])
        table.append(row)
    return [number for number, sample in enumerate(samples) if sample in automaton.accept], table
