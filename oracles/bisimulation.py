"""Two automata given as tables: are their languages one, and if not, which shortest string tells?

Hopcroft and Karp (1971): assume that the starts are equal, merge what follows from it with union-find, and look for a
pair of which only one accepts. Almost linear, with no minimisation. Only when the languages differ is the product
searched breadth-first for the shortest string. The pitfall is death: it is not a state, and a live state without a path
to acceptance equals it, so dead is carried along as a state that accepts nothing and goes nowhere else.
"""

from collections import deque
from collections.abc import Iterable, Iterator

from oracles.tables import Automaton, Table, checked

Pair = tuple[int, int]
Node = tuple[int, bool]
"""A state, and whether it is of the right side; dead is one too, on either side."""


def difference(
    accept_a: Iterable[int], table_a: Table, accept_b: Iterable[int], table_b: Table
) -> bytes | None:
    """The shortest string that is a member of one language only, the first in byte order; None when they are equal."""
    left, right = checked(accept_a, table_a), checked(accept_b, table_b)
    return None if is_bisimilar(left, right) else shortest(left, right)


def is_bisimilar(left: Automaton, right: Automaton) -> bool:
    """Whether the two languages are equal, by merging the states that must then be equal."""
    symbols = joint_symbols(left, right)
    parent: dict[Node, Node] = {}
    todo: list[Pair] = [(0, 0)]
    while todo:
        pair = todo.pop()
        if not _merge(parent, (pair[0], False), (pair[1], True)):
            continue
        if _disagrees(left, right, pair):
            return False
        todo.extend(after for _, after in _successors(left, right, pair, symbols))
    return True


def shortest(left: Automaton, right: Automaton) -> bytes | None:
    """The shortest string on which they disagree, by breadth-first search of the product; None when there is none."""
    symbols = joint_symbols(left, right)
    came: dict[Pair, tuple[Pair, int] | None] = {(0, 0): None}
    todo: deque[Pair] = deque(came)
    while todo:
        pair = todo.popleft()
        if _disagrees(left, right, pair):
            return _path(came, pair)
        for byte, after in _successors(left, right, pair, symbols):
            if after not in came:
                came[after] = (pair, byte)
                todo.append(after)
    return None


def joint_symbols(left: Automaton, right: Automaton) -> list[int]:
    """One byte, the first, for each class of bytes that both automata treat alike."""
    first: dict[Pair, int] = {}
    for byte, pair in enumerate(zip(left.classes, right.classes, strict=True)):
        first.setdefault(pair, byte)
    return list(first.values())


def _successors(
    left: Automaton, right: Automaton, pair: Pair, symbols: list[int]
) -> Iterator[tuple[int, Pair]]:
    for byte in symbols:
        yield byte, (left.step(pair[0], byte), right.step(pair[1], byte))


def _disagrees(left: Automaton, right: Automaton, pair: Pair) -> bool:
    """Whether exactly one of the pair accepts; a dead state never does."""
    return (pair[0] in left.accept) != (pair[1] in right.accept)


def _path(came: dict[Pair, tuple[Pair, int] | None], pair: Pair) -> bytes:
    """The bytes along which the search came to the pair."""
    path, link = bytearray(), came[pair]
    while link is not None:
        path.append(link[1])
        link = came[link[0]]
    return bytes(reversed(path))


def _merge(parent: dict[Node, Node], one: Node, other: Node) -> bool:
    """Make two states one; False when they were already."""
    roots = _root(parent, one), _root(parent, other)
    parent[roots[0]] = roots[1]
    return roots[0] != roots[1]


def _root(parent: dict[Node, Node], state: Node) -> Node:
    """The state that stands for all that were merged with this one, with paths halved on the way."""
    while parent.setdefault(state, state) != state:
        parent[state] = parent[parent[state]]
        state = parent[state]
    return state
