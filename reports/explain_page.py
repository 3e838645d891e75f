"""A small page about one automaton: a person types text and sees, byte by byte, where it leads and what may follow.

The whole vocabulary is in the page, and the browser computes the exact mask of any state itself.
"""

from pathlib import Path
from typing import Any

from reports.automata import sketch
from reports.embed import packed
from reports.errors import ReportError
from reports.page import render
from reports.pictures import automaton_svg


def write_explain_page(data: dict[str, Any], target: Path) -> None:
    """Write the page of an automaton; `data` is what engine.explain.page_data makes."""
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(explain_page(data), encoding="utf-8")


def explain_page(data: dict[str, Any]) -> str:
    """The page as one HTML text."""
    drawn = sketch(data)
    shown: dict[str, Any] = {**data, "caption": drawn.caption, "whole": len(drawn.nodes) == data["states"]}
    try:
        shown["picture"] = automaton_svg(data)
    except ReportError as error:
        shown["problem"] = str(error)
    known = {key: shown[key] for key in ("pattern", "dialect", "states", "vocabulary", "caption")}
    facts = {**known, "accepting": len(data["accepting"]), "tokens": len(data["token_bytes"])}
    return render(
        "explain.html.j2",
        ("base.js", "explain.js"),
        ("base.css", "explain.css"),
        facts=facts,
        problem=shown.get("problem", ""),
        data=packed(shown),
    )
