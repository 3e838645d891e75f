"""An automaton made small enough to look at, as plain nodes and arrows for reports/pictures.py to draw.

A small one is shown state by state. In a larger one, stretches where only one text can follow become one arrow with
that text, then states with one way on become part of the arrows that lead to them (so the bytes of a long character
are one step); what is still too large has its strongly connected states gathered, or else neighbouring depths. Each
step loses detail on purpose, and the caption says which one was taken.
"""

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import networkx as nx

PLAIN_STATES = 40
MOST_NODES = 80
MOST_ARROWS = 240
LEAST_NODES = 6
MOST_DEPTHS = 12
MOST_LABELS = 3
LABEL_LENGTH = 30
STRETCH_LENGTH = 60


@dataclass(frozen=True, slots=True)
class Node:
    """A state, or several gathered; `forced` when exactly one byte can follow."""

    key: int
    label: str
    accepting: bool = False
    forced: bool = False
    start: bool = False
    states: int = 1


@dataclass(frozen=True, slots=True)
class Arrow:
    """All bytes from one node to another; `text` when it stands for a stretch of several."""

    source: int
    target: int
    label: str
    stretch: bool = False


@dataclass(frozen=True, slots=True)
class Sketch:
    """What to draw, and how it was made small."""

    nodes: tuple[Node, ...]
    arrows: tuple[Arrow, ...]
    caption: str


def sketch(detail: dict[str, Any]) -> Sketch:
    """The automaton of a record's `detail`, summarised until it can be looked at."""
    whole = _whole(detail)
    if _fits(whole, PLAIN_STATES):
        return whole
    joined = _joined(whole)
    if _fits(joined, PLAIN_STATES):
        return joined
    passed = _passed(joined)
    if _fits(passed, MOST_NODES):
        return passed
    gathered = _gathered_components(passed)
    told = len(gathered.nodes) >= LEAST_NODES and _fits(gathered, MOST_NODES)
    return gathered if told else _gathered_depths(whole)


def _fits(small: Sketch, most_nodes: int) -> bool:
    return len(small.nodes) <= most_nodes and len(small.arrows) <= MOST_ARROWS


def shorten(arrow: Arrow) -> str:
    """A label cut to what fits on its arrow."""
    most = STRETCH_LENGTH if arrow.stretch else LABEL_LENGTH
    return arrow.label if len(arrow.label) <= most else arrow.label[: most - 1] + "…"


def _whole(detail: dict[str, Any]) -> Sketch:
    accepting = set(detail.get("accepting", []))
    arrows = tuple(Arrow(int(source), int(target), str(label)) for source, target, label in detail["edges"])
    leaving: dict[int, list[str]] = {}
    for arrow in arrows:
        leaving.setdefault(arrow.source, []).append(arrow.label)
    forced = {
        state for state, labels in leaving.items() if len(labels) == 1 and _is_single(labels[0])
    } - accepting
    states = range(int(detail["states"]))
    nodes = tuple(
        Node(state, str(state), state in accepting, state in forced, state == 0) for state in states
    )
    return Sketch(
        nodes, arrows, f"all {_count(len(nodes), 'state')}, {_count(len(arrows), 'arrow')}, a byte class each"
    )


def _joined(whole: Sketch) -> Sketch:
    """Forced states with one way in and one way out become part of an arrow."""
    arriving = _tally(arrow.target for arrow in whole.arrows)
    inner = {
        node.key for node in whole.nodes if node.forced and not node.start and arriving.get(node.key) == 1
    }
    onward = {arrow.source: arrow for arrow in whole.arrows if arrow.source in inner}
    arrows = tuple(_follow(arrow, onward) for arrow in whole.arrows if arrow.source not in inner)
    nodes = tuple(node for node in whole.nodes if node.key not in inner)
    hidden = _count(len(inner), "state")
    return Sketch(
        nodes, _merged(arrows), f"{_count(len(whole.nodes), 'state')}; {hidden} inside forced stretches"
    )


def _follow(arrow: Arrow, onward: dict[int, Arrow]) -> Arrow:
    label, target, seen = arrow.label, arrow.target, set[int]()
    while target in onward and target not in seen:
        seen.add(target)
        label, target = label + onward[target].label, onward[target].target
    return Arrow(arrow.source, target, label, stretch=bool(seen))


def _passed(joined: Sketch) -> Sketch:
    """States that are not accepting and lead to one state only become part of the arrows that lead to them."""
    nodes, arrows = joined.nodes, joined.arrows
    while onward := _one_way(nodes, arrows):
        nodes = tuple(node for node in nodes if node.key not in onward)
        arrows = _merged(_pass(arrow, onward) for arrow in arrows if arrow.source not in onward)
    hidden = _count(len(joined.nodes) - len(nodes), "state")
    return Sketch(nodes, arrows, f"{joined.caption}, {hidden} with one way on inside arrows (…)")


def _one_way(nodes: tuple[Node, ...], arrows: tuple[Arrow, ...]) -> dict[int, int]:
    """States with one way on, each with where it leads; none leads to another of them."""
    targets: dict[int, set[int]] = {}
    for arrow in arrows:
        targets.setdefault(arrow.source, set()).add(arrow.target)
    found: dict[int, int] = {}
    for node in nodes:
        ways = targets.get(node.key, set()) - {node.key}
        if len(ways) == 1 and targets[node.key] == ways and not node.accepting and not node.start:
            [target] = ways
            if target not in found and node.key not in found.values():
                found[node.key] = target
    return found


def _pass(arrow: Arrow, onward: dict[int, int]) -> Arrow:
    if arrow.target not in onward:
        return arrow
    return Arrow(arrow.source, onward[arrow.target], arrow.label.removesuffix("…") + "…", stretch=True)


def _gathered_components(small: Sketch) -> Sketch:
    """States that can reach each other gathered into one node."""
    graph = nx.DiGraph()
    graph.add_nodes_from(node.key for node in small.nodes)
    graph.add_edges_from((arrow.source, arrow.target) for arrow in small.arrows)
    group = {state: min(part) for part in nx.strongly_connected_components(graph) for state in part}
    return _gathered(small, group.__getitem__, f"{small.caption}; states that reach each other gathered")


def _gathered_depths(whole: Sketch) -> Sketch:
    """States gathered by how many bytes from the start they are, neighbouring depths together."""
    depth = _depths(whole)
    width = max(depth.values()) // MOST_DEPTHS + 1
    caption = (
        f"{_count(len(whole.nodes), 'state')}, gathered by distance from the start, {width} bytes a node"
    )
    return _gathered(whole, lambda state: -1 if state == 0 else depth[state] // width, caption)


def _gathered(small: Sketch, group: Callable[[int], int], caption: str) -> Sketch:
    members: dict[int, list[Node]] = {}
    for node in small.nodes:
        members.setdefault(group(node.key), []).append(node)
    nodes = tuple(_together(key, nodes) for key, nodes in members.items())
    moved = (replace(arrow, source=group(arrow.source), target=group(arrow.target)) for arrow in small.arrows)
    return Sketch(nodes, _merged(arrow for arrow in moved if arrow.source != arrow.target), caption)


def _together(key: int, nodes: list[Node]) -> Node:
    if len(nodes) == 1:
        return replace(nodes[0], key=key)
    label = f"{len(nodes)} states"
    return Node(key, label, any(n.accepting for n in nodes), False, any(n.start for n in nodes), len(nodes))


def _merged(arrows: Iterable[Arrow]) -> tuple[Arrow, ...]:
    """One arrow for each pair of nodes, its labels side by side."""
    pairs: dict[tuple[int, int], list[Arrow]] = {}
    for arrow in arrows:
        pairs.setdefault((arrow.source, arrow.target), []).append(arrow)
    return tuple(
        Arrow(
            source,
            target,
            "  ".join(dict.fromkeys(one.label for one in same)),
            any(one.stretch for one in same),
        )
        for (source, target), same in pairs.items()
    )


def _side_by_side(labels: list[str]) -> str:
    shown = "  ".join(labels[:MOST_LABELS])
    return shown if len(labels) <= MOST_LABELS else f"{shown}  +{len(labels) - MOST_LABELS}"


def _depths(whole: Sketch) -> dict[int, int]:
    following: dict[int, list[int]] = {}
    for arrow in whole.arrows:
        following.setdefault(arrow.source, []).append(arrow.target)
    depth, queue = {0: 0}, deque([0])
    while queue:
        state = queue.popleft()
        for target in following.get(state, []):
            if target not in depth:
                depth[target] = depth[state] + 1
                queue.append(target)
    furthest = max(depth.values())
    return {node.key: depth.get(node.key, furthest) for node in whole.nodes}


def _is_single(label: str) -> bool:
    """A label of exactly one byte: no class and no complement."""
    return label != "any byte" and not (len(label) > 1 and label.startswith("["))


def _tally(values: Iterable[int]) -> dict[int, int]:
    counts: dict[int, int] = {}
    for value in values:
        counts[value] = counts.get(value, 0) + 1
    return counts


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
