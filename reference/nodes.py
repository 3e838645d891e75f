"""The tree of a pattern: byte sets, and the three ways to put languages together (SPEC §1).

L(ByteSet) = its bytes as strings of length 1, L(Sequence) = the concatenation, L(Union) = the union, and
L(Repeat) = ⋃ L(body)^k for low ≤ k ≤ high. Trees can be as deep as the pattern is nested: walk them with `postorder`.
"""

from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class ByteSet:
    """One byte out of a set; bit b of `bits` is byte b."""

    bits: int


@dataclass(frozen=True, slots=True)
class Sequence:
    """One member of each part, in order; no parts is the empty string."""

    parts: tuple["Node", ...]


@dataclass(frozen=True, slots=True)
class Union:
    """A member of any branch."""

    branches: tuple["Node", ...]


@dataclass(frozen=True, slots=True)
class Repeat:
    """`low` to `high` members of the body in a row; `high` None is without end."""

    body: "Node"
    low: int
    high: int | None


Node: TypeAlias = ByteSet | Sequence | Union | Repeat

EMPTY = Sequence(())
"""The language {""}."""


def sequence(parts: list[Node]) -> Node:
    """The parts in order; one part is itself."""
    return parts[0] if len(parts) == 1 else Sequence(tuple(parts))


def union(branches: list[Node]) -> Node:
    """Any of the branches; one branch is itself."""
    return branches[0] if len(branches) == 1 else Union(tuple(branches))


def children(node: Node) -> tuple[Node, ...]:
    """The nodes directly below, in order."""
    match node:
        case ByteSet():
            return ()
        case Sequence(parts):
            return parts
        case Union(branches):
            return branches
        case Repeat(body):
            return (body,)


def postorder(root: Node) -> list[Node]:
    """Every node after the nodes below it, siblings from left to right."""
    order: list[Node] = []
    pending = [root]
    while pending:
        node = pending.pop()
        order.append(node)
        pending.extend(children(node))
    order.reverse()
    return order
