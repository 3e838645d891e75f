"""The overview as one picture, drawn by matplotlib without a browser: who was judged, which faults, what was killed.

Panels without data are left out. A language × obligation grid, stacked bars a subject, faults by kind, the kill matrix.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from reports import overview, queries
from reports.errors import ReportError
from reports.queries import VERDICTS, Row
from reports.store import Store
from reports.text import cut

INK, MUTED, LINE, SOFT = "#182033", "#5d6779", "#dde1e8", "#eef0f4"
COLOURS = {
    "proven": "#2f9e5b",
    "tested": "#2593b3",
    "refuted": "#cf3f3f",
    "refused": "#8a5cf0",
    "undecided": "#d9a424",
    "skipped": "#9aa3b2",
}
MOST_ROWS = 60
GAP, TOP = 0.45, 0.95  # inches
NAMES = 0.17  # the part of the width that names of rows take
_STYLE = {
    "font.family": "sans-serif",
    "font.size": 9,
    "text.color": INK,
    "svg.fonttype": "path",
    "svg.hashsalt": "maskproof",
}


@dataclass(frozen=True, slots=True)
class Panel:
    """One part of the picture: its title, its rows and their height, the inches above them, and what draws it."""

    title: str
    rows: int
    row: float
    head: float
    draw: Callable[[Axes], None]


def write_picture(paths: Sequence[Path], target: Path) -> Row:
    """Draw the overview of some results into a .png or .svg file, and say how much is in it."""
    kind = target.suffix.lower()
    if kind not in (".png", ".svg"):
        raise ReportError(f"picture {target}: {kind or 'no ending'} is not drawn; name a .png or .svg file")
    store = Store(paths)
    with mpl.rc_context(_STYLE):
        figure = _figure(store)
        metadata = {"Date": None} if kind == ".svg" else {}
        target.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(
            target, dpi=160, facecolor="white", bbox_inches="tight", pad_inches=0.25, metadata=metadata
        )
    return {"picture": str(target), "runs": len(store.files), **queries.verdict_counts(store)}


def _figure(store: Store) -> Figure:
    panels = [
        panel for panel in (_languages(store), _subjects(store), _faults(store), _kills(store)) if panel
    ]
    if not panels:
        raise ReportError("picture: these results hold no verdict to draw; run `maskproof verify` first")
    left, right = _columns(panels)
    height = max(_height(left), _height(right)) + TOP
    figure = Figure(figsize=(13, height))
    _title(figure, store, height)
    _place(figure, left, 0.0, 0.48 if right else 0.7, height)
    _place(figure, right, 0.53, 0.47, height)
    return figure


def _columns(panels: list[Panel]) -> tuple[list[Panel], list[Panel]]:
    """Two columns of about one height, panels in order."""
    left: list[Panel] = []
    total, taken = _height(panels), 0.0
    while len(left) < len(panels) and (
        not left or taken + _height(panels[len(left) : len(left) + 1]) <= total * 0.6
    ):
        left.append(panels[len(left)])
        taken = _height(left)
    return left, panels[len(left) :]


def _height(panels: list[Panel]) -> float:
    return sum(panel.head + panel.rows * panel.row + GAP for panel in panels)


def _row(rows: Sequence[object]) -> float:
    """The height of a row in inches: lower where there are many."""
    return 0.27 if len(rows) <= 24 else 0.2


def _title_of(title: str, shown: Sequence[object], known: Collection[object]) -> str:
    """The title, which says so when not everything fits."""
    return title if len(shown) == len(known) else f"{title} ({len(shown)} of {len(known)})"


def _place(figure: Figure, column: list[Panel], left: float, width: float, height: float) -> None:
    """Panels under one another: a title at the left, names beside the rows."""
    top = height - TOP
    for panel in column:
        bottom = top - panel.head - panel.rows * panel.row
        figure.text(left, (top - 0.05) / height, panel.title, ha="left", va="top", weight="bold", size=11)
        span = (left + NAMES, bottom / height, width - NAMES, panel.rows * panel.row / height)
        axes = figure.add_axes(span)
        axes.set_frame_on(False)
        axes.tick_params(length=0, labelcolor=INK)
        panel.draw(axes)
        top = bottom - GAP


def _title(figure: Figure, store: Store, height: float) -> None:
    counts = queries.verdict_counts(store)
    figure.text(0, 1 - 0.22 / height, "maskproof report", weight="bold", size=17, va="top")
    place, renderer = 0.0, FigureCanvasAgg(figure).get_renderer()
    for verdict in VERDICTS:
        if counts[verdict]:
            told = f"■ {counts[verdict]:,} {verdict}"
            text = figure.text(place, 1 - 0.66 / height, told, color=COLOURS[verdict], size=11, va="top")
            place += text.get_window_extent(renderer).width / figure.bbox.width + 0.015


def _languages(store: Store) -> Panel | None:
    """Languages under proof by obligation, a coloured square each."""
    settled = queries.obligations(store)
    if not settled:
        return None
    names = list(settled)[:MOST_ROWS]
    checks = list(dict.fromkeys(row["check"] for rows in settled.values() for row in rows))

    def draw(axes: Axes) -> None:
        _grid(axes, names, checks)
        for y, name in enumerate(names):
            for row in settled[name]:
                _square(axes, checks.index(row["check"]), y, COLOURS[row["verdict"]])

    return Panel(_title_of("Languages under proof", names, settled), len(names), _row(names), 0.75, draw)


def _subjects(store: Store) -> Panel | None:
    """A bar a subject: the share of every verdict."""
    people = [row for row in queries.subjects(store) if row["command"] != "verify"][:MOST_ROWS]
    if not people:
        return None

    def draw(axes: Axes) -> None:
        for y, row in enumerate(people):
            _bar(axes, y, row)
        _rows(axes, [f"{row['subject']} {row['version']}" for row in people])
        axes.set_xlim(0, 1.22)
        axes.set_xticks([])

    return Panel("Who was judged, and how often refuted", len(people), _row(people), 0.3, draw)


def _bar(axes: Axes, y: int, row: Row) -> None:
    left = 0.0
    for verdict in VERDICTS:
        share = row[verdict] / row["records"]
        axes.barh(y, share, left=left, height=0.62, color=COLOURS[verdict], linewidth=0)
        left += share
    told = f"{row['refuted']:,} of {row['records']:,}" if row["refuted"] else f"none of {row['records']:,}"
    axes.text(1.02, y, told, va="center", color=COLOURS["refuted"] if row["refuted"] else MUTED, size=8.5)


def _faults(store: Store) -> Panel | None:
    """Findings by kind of fault: the darker, the more."""
    found = [row for row in queries.kinds(store) if row["command"] != "verify"]
    if not found:
        return None
    names = list(dict.fromkeys(row["subject"] for row in found))[:MOST_ROWS]
    kinds = list(dict.fromkeys(row["kind"] or "(none)" for row in found))[:14]
    most = max(row["findings"] for row in found)

    def draw(axes: Axes) -> None:
        _grid(axes, names, kinds)
        for row in found:
            if row["subject"] in names and (row["kind"] or "(none)") in kinds:
                x, y, share = (
                    kinds.index(row["kind"] or "(none)"),
                    names.index(row["subject"]),
                    row["findings"] / most,
                )
                _square(axes, x, y, COLOURS["refuted"], 0.12 + 0.7 * share**0.5)
                axes.text(x, y, f"{row['findings']:,}", ha="center", va="center", size=8)

    return Panel("Findings by kind", len(names), _row(names), 0.75, draw)


def _kills(store: Store) -> Panel | None:
    """Mutants by checks: green where the check kills."""
    matrix = overview.kill_matrix(store)
    if not matrix["mutants"]:
        return None
    mutants, checks = matrix["mutants"][:MOST_ROWS], matrix["checks"]

    def draw(axes: Axes) -> None:
        _grid(axes, [_mutant_name(row) for row in mutants], checks)
        for y, row in enumerate(mutants):
            for check, cell in row["cells"].items():
                _square(
                    axes, checks.index(check), y, COLOURS["proven"] if cell["verdict"] == "refuted" else SOFT
                )

    return Panel(
        _title_of("Mutants killed, by check", mutants, matrix["mutants"]),
        len(mutants),
        _row(mutants),
        0.75,
        draw,
    )


def _mutant_name(row: Row) -> str:
    """A mutant's name when it tells something, its number and title otherwise."""
    return str(row["mutant"]) if "-" in row["mutant"] else f"{row['mutant']}  {row['title']}"


def _grid(axes: Axes, names: Sequence[str], columns: Sequence[str]) -> None:
    _rows(axes, names)
    axes.set_xlim(-0.5, max(len(columns), 8) - 0.5)
    axes.set_xticks(range(len(columns)))
    labels = [cut(column, 24) for column in columns]
    axes.set_xticklabels(labels, rotation=35, ha="left", size=8, color=MUTED, parse_math=False)
    axes.xaxis.tick_top()


def _rows(axes: Axes, names: Sequence[str]) -> None:
    axes.set_yticks(range(len(names)))
    axes.set_yticklabels(
        [cut(name, 34) for name in names], size=8.5 if len(names) <= 24 else 7.5, parse_math=False
    )
    axes.set_ylim(len(names) - 0.5, -0.5)


def _square(axes: Axes, x: float, y: float, colour: str, alpha: float = 1.0) -> None:
    axes.barh(y, 0.86, left=x - 0.43, height=0.78, color=colour, alpha=alpha, linewidth=0)
