"""Charts as SVG, drawn by matplotlib: mask density of a language, the samples of a benchmark.

Colours are placeholders that become the page's own (CSS variables), so that a chart follows light and dark. Texts are
data: no mathematics is read in them (`parse_math=False`), and reports/text.py makes them fit for XML.
"""

import io
import re
from collections.abc import Sequence
from statistics import median, quantiles
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from reports.text import cut, number

INK, MUTED, LINE, BAR, MARK, BEST = "#010101", "#020202", "#030303", "#040404", "#050505", "#060606"
_VARIABLES = {
    INK: "--ink",
    MUTED: "--muted",
    LINE: "--line",
    BAR: "--bar",
    MARK: "--proven",
    BEST: "--accent",
}
_MOST_BARS = 120
_STYLE = {
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "font.size": 8.5,
    "axes.edgecolor": LINE,
    "axes.labelcolor": MUTED,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "text.color": INK,
}


def density_svg(density: Sequence[int], accepting: Sequence[int], tokens: int, name: str) -> str:
    """How many tokens each state allows, on a logarithmic scale; accepting states stand out."""
    with mpl.rc_context(_STYLE):
        figure = Figure(figsize=(7.2, 1.9))
        axes = figure.add_subplot()
        _draw_density(axes, density, set(accepting))
        axes.set_yscale("symlog", linthresh=1)
        axes.set_ylim(0, max(tokens, *density, 1) * 1.6)
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
        axes.set_ylabel("tokens allowed")
        axes.set_xlabel(
            "state" if len(density) <= _MOST_BARS else "states, from most to fewest tokens allowed"
        )
        return _svg(figure, name)


def _draw_density(axes: Axes, density: Sequence[int], accepting: set[int]) -> None:
    if len(density) <= _MOST_BARS:
        colours = [MARK if state in accepting else BAR for state in range(len(density))]
        axes.bar(range(len(density)), density, width=0.8, color=colours)
    else:
        axes.fill_between(
            range(len(density)), sorted(density, reverse=True), step="mid", color=BAR, linewidth=0
        )
    axes.margins(x=0.01)


def samples_svg(rows: Sequence[dict[str, Any]], unit: str, better: str, name: str) -> str:
    """Every sample of every peer, workload by workload: dots, the middle half as a bar, the median as a mark."""
    places = _places(rows)
    with mpl.rc_context(_STYLE):
        figure = Figure(figsize=(7.2, 0.55 + 0.33 * (places[-1] + 1)))
        axes = figure.add_subplot()
        for place, row in zip(places, rows, strict=True):
            _draw_samples(axes, place, row["samples"], _is_best(row, rows, better))
        _name_rows(axes, places, rows)
        axes.set_xlabel(f"{cut(unit, 20)}, {better} is better", parse_math=False)
        _scale(axes, [value for row in rows for value in row["samples"]])
        return _svg(figure, name)


def _places(rows: Sequence[dict[str, Any]]) -> list[int]:
    """Where each row stands, with room for a heading wherever a new workload begins."""
    places, place = [], -1
    for row, before in zip(rows, [None, *rows], strict=False):
        place += 1 if before is not None and row["workload"] == before["workload"] else 2
        places.append(place)
    return places


def quartiles(samples: Sequence[float]) -> tuple[float, float, float]:
    """Lower quartile, median, upper quartile (inclusive method)."""
    if len(samples) == 1:
        return samples[0], samples[0], samples[0]
    low, middle, high = quantiles(samples, n=4, method="inclusive")
    return low, middle, high


def _draw_samples(axes: Axes, place: int, samples: Sequence[float], best: bool) -> None:
    low, middle, high = quartiles(samples)
    colour = BEST if best else BAR
    axes.hlines(place, min(samples), max(samples), color=colour, linewidth=1, alpha=0.6)
    axes.hlines(place, low, high, color=colour, linewidth=9, alpha=0.35)
    spread = [place + 0.22 * ((index * 7919 % 11) / 10 - 0.5) for index in range(len(samples))]
    axes.scatter(samples, spread, s=7, color=colour, alpha=0.75, linewidths=0)
    axes.scatter([middle], [place], marker="|", s=150, color=INK, linewidths=1.8, zorder=3)
    axes.annotate(
        number(middle), (max(samples), place), (7, 0), textcoords="offset points", va="center", fontsize=8
    )


def _is_best(row: dict[str, Any], rows: Sequence[dict[str, Any]], better: str) -> bool:
    same = [median(other["samples"]) for other in rows if other["workload"] == row["workload"]]
    return len(same) > 1 and median(row["samples"]) == (max(same) if better == "higher" else min(same))


def _name_rows(axes: Axes, places: Sequence[int], rows: Sequence[dict[str, Any]]) -> None:
    axes.set_yticks(places)
    axes.set_yticklabels([cut(row["peer"], 28) for row in rows], color=INK, parse_math=False)
    for place, row, before in zip(places, rows, [None, *rows], strict=False):
        if before is None or row["workload"] != before["workload"]:
            heading: dict[str, Any] = {
                "va": "center",
                "ha": "left",
                "color": MUTED,
                "transform": axes.get_yaxis_transform(),
            }
            axes.text(0, place - 1, cut(row["workload"], 60), weight="bold", parse_math=False, **heading)
    axes.set_ylim(places[-1] + 0.6, -0.6)
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    axes.grid(axis="x", color=LINE, linewidth=0.6, alpha=0.5)
    axes.set_axisbelow(True)


def _scale(axes: Axes, values: Sequence[float]) -> None:
    if min(values) > 0 and max(values) / min(values) > 20:
        axes.set_xscale("log")
    else:
        axes.set_xlim(0, max(values) * 1.12 or 1)


def _svg(figure: Figure, name: str) -> str:
    """The figure as an element for a page: ids of its own, the page's colours, the page's width."""
    drawn = io.StringIO()
    with mpl.rc_context({"svg.hashsalt": name, "svg.id": None}):
        figure.savefig(drawn, format="svg", bbox_inches="tight", transparent=True, metadata={"Date": None})
    text = drawn.getvalue()
    text = re.sub(r"<metadata>.*?</metadata>", "", text[text.index("<svg") :], flags=re.DOTALL)
    for colour, variable in _VARIABLES.items():
        text = text.replace(colour, f"var({variable})")
    text = re.sub(
        r'id="(figure|axes|patch|text|line2d|matplotlib|xtick|ytick|PathCollection|LineCollection)[^"]*"',
        "",
        text,
    )
    return re.sub(r'<svg ([^>]*?)width="[^"]*pt" height="[^"]*pt"', r'<svg \1role="img"', text, count=1)
