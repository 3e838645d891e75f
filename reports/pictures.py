"""Automata as pictures, laid out by Graphviz (through pygraphviz, whose wheels bring Graphviz along).

Labels are data: they are padded and doubled-backslashed so that Graphviz reads no escape and no HTML in them, and the
SVG is rebuilt from a short list of elements and attributes before it may go into a page. Colours are for paper; a
page restyles the classes `state`, `accepting`, `forced`, `start`, `gathered`, `stretch`.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from reports.automata import Arrow, Node, Sketch, shorten, sketch
from reports.errors import ReportError
from reports.text import fit

FONT = "Helvetica,Arial,sans-serif"
INK, MUTED, PAPER, ACCEPT, FORCED, GATHERED = "#1d2433", "#6b7280", "#ffffff", "#dff3e6", "#eef1f6", "#e9ecfb"
_KEPT = {"svg", "g", "path", "polygon", "polyline", "ellipse", "text", "title", "tspan"}
_KEPT_SHAPE = {
    "width",
    "height",
    "viewBox",
    "class",
    "id",
    "transform",
    "d",
    "points",
    "cx",
    "cy",
    "rx",
    "ry",
    "x",
    "y",
}
_KEPT_STYLE = {
    "fill",
    "stroke",
    "stroke-width",
    "stroke-dasharray",
    "text-anchor",
    "font-family",
    "font-size",
}
_SVG = "{http://www.w3.org/2000/svg}"


def automaton_svg(detail: dict[str, Any]) -> str:
    """The automaton as a well-formed SVG of known elements only."""
    drawn = sketch(detail)
    return _clean(_draw(drawn, "svg"), drawn)


def automaton_file(detail: dict[str, Any], path: Path) -> None:
    """The automaton written to a .svg or .png file."""
    kind = path.suffix.lower()
    if kind == ".svg":
        path.write_text(automaton_svg(detail) + "\n", encoding="utf-8")
    elif kind == ".png":
        path.write_bytes(_draw(sketch(detail), "png"))
    else:
        raise ReportError(f"picture {path}: {kind or 'no ending'} is not drawn; name a .svg or .png file")


def _draw(picture: Sketch, kind: str) -> bytes:
    try:
        import pygraphviz  # type: ignore[import-untyped,unused-ignore]
    except ImportError as error:
        raise ReportError("pictures of automata need pygraphviz; pip install 'maskproof[report]'") from error
    graph = pygraphviz.AGraph(directed=True, strict=False)
    graph.graph_attr.update(rankdir="LR", bgcolor="transparent" if kind == "svg" else PAPER, nodesep="0.22")
    graph.graph_attr.update(ranksep="0.42", pad="0.1", dpi="144" if kind == "png" else "72")
    graph.node_attr.update(
        fontname=FONT, fontsize="11", color=INK, fontcolor=INK, style="filled", fillcolor=PAPER
    )
    graph.edge_attr.update(
        fontname=FONT, fontsize="10", color=MUTED, fontcolor=INK, arrowsize="0.6", penwidth="0.9"
    )
    for node in picture.nodes:
        _add_node(graph, node)
    for number, arrow in enumerate(picture.arrows):
        _add_arrow(graph, number, arrow)
    with _quiet():
        drawn: bytes = graph.draw(format=kind, prog="dot")
    return drawn


def _add_node(graph: Any, node: Node) -> None:
    classes = ["state"]
    classes += [name for name in ("accepting", "forced", "start") if getattr(node, name)]
    classes += ["gathered"] if node.states > 1 else []
    fill = GATHERED if node.states > 1 else ACCEPT if node.accepting else FORCED if node.forced else PAPER
    shape = {"shape": "box", "style": "filled,rounded", "margin": "0.1,0.05", "height": "0.34"}
    if node.states == 1:
        shape = {"shape": "circle", "width": "0.36" if node.key < 100 else "0.44", "fixedsize": "true"}
    peripheries = "2" if node.accepting else "1"
    name = f"s{node.key}"
    graph.add_node(
        name, label=_literal(node.label, ""), id=name, fillcolor=fill, peripheries=peripheries, **shape
    )
    graph.get_node(name).attr["class"] = " ".join(classes)
    if node.start:
        graph.add_node("entry", label="", shape="none", width="0.05", height="0.05", style="", id="entry")
        graph.add_edge("entry", name, id="enter")


def _add_arrow(graph: Any, number: int, arrow: Arrow) -> None:
    classes = "edge-stretch" if arrow.stretch else "edge-class"
    ends = (f"s{arrow.source}", f"s{arrow.target}")
    graph.add_edge(*ends, key=f"e{number}", label=_literal(shorten(arrow), " "), id=f"e{number}")
    graph.get_edge(*ends, f"e{number}").attr["class"] = classes


def _literal(label: str, pad: str) -> str:
    """Text that Graphviz shows as it is: no escape, no entity, no HTML-like label."""
    return pad + fit(label).replace("\\", "\\\\").replace("&", "&amp;") + pad


def _clean(drawn: bytes, picture: Sketch) -> str:
    root = _rebuilt(ElementTree.fromstring(drawn))
    titles = {f"s{node.key}": node.label for node in picture.nodes}
    titles |= {f"e{number}": arrow.label for number, arrow in enumerate(picture.arrows)}
    for group in root.iter("g"):
        title = group.find("title")
        if title is not None:
            title.text = (
                _literal(titles.get(group.get("id", ""), ""), "").replace("&amp;", "&").replace("\\\\", "\\")
            )
    root.set("xmlns", "http://www.w3.org/2000/svg")
    root.set("role", "img")
    root.set("aria-label", picture.caption)
    return ElementTree.tostring(root, encoding="unicode")


def _rebuilt(element: ElementTree.Element) -> ElementTree.Element:
    """The same tree from known elements and attributes only."""
    kept = {name: value for name, value in element.attrib.items() if name in _KEPT_SHAPE | _KEPT_STYLE}
    copy = ElementTree.Element(element.tag.removeprefix(_SVG), kept)
    copy.text = element.text if element.tag.removeprefix(_SVG) in ("text", "title", "tspan") else None
    for child in element:
        if child.tag.removeprefix(_SVG) in _KEPT:
            copy.append(_rebuilt(child))
    return copy


@contextmanager
def _quiet() -> Iterator[None]:
    """Graphviz's libraries warn about a machine's fonts on standard error; a report has no use for that."""
    saved = os.dup(2)
    with open(os.devnull, "wb") as nowhere:
        os.dup2(nowhere.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(saved, 2)
        os.close(saved)
