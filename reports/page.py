"""The page: one file with everything in it, made from the tables of reports/store.py by a Jinja2 template.

Every text passes the template's autoescape or lies packed (reports/embed.py); no markup is ever built from data. The
summary is written as HTML; the findings and the languages unfold in the browser (templates/page.js).
"""

from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from statistics import median
from typing import Any

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup

from reports import overview, queries
from reports.automata import sketch
from reports.charts import density_svg, quartiles, samples_svg
from reports.embed import CHUNK_ROWS, chunked, coded, packed, policy
from reports.errors import ReportError
from reports.pictures import automaton_svg
from reports.queries import VERDICTS, Row
from reports.store import Store
from reports.text import number

MARKS = {"proven": "✓", "tested": "●", "refuted": "✗", "refused": "⊘", "undecided": "?", "skipped": "–"}
MEANINGS = {
    "proven": "all of a finite domain covered, a solver's unsat, or a checked certificate",
    "tested": "sampled",
    "refuted": "shown wrong, with a witness",
    "refused": "declined honestly",
    "undecided": "a limit or a time-out",
    "skipped": "not run",
}
MOST_CHANGES = 300
PAGE_SCRIPTS = ("base.js", "records.js", "list.js", "finding.js", "language.js", "page.js")


def write_page(paths: Sequence[Path], target: Path) -> Row:
    """Write the page of some results to a file, and say how much is in it."""
    store = Store(paths)
    html = page(store)
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(html, encoding="utf-8")
    return {
        "page": str(target),
        "bytes": len(html.encode()),
        "runs": len(store.files),
        **queries.verdict_counts(store),
    }


def page(store: Store) -> str:
    """The page of a store as one HTML text."""
    runs, matrix = queries.runs(store), overview.kill_matrix(store)
    languages = _languages(store)
    table = queries.table(store)
    return render(
        "page.html.j2",
        PAGE_SCRIPTS,
        ("base.css", "page.css"),
        lines=overview.summary(store, matrix, runs),
        counts=queries.verdict_counts(store),
        matrices=overview.matrices(store),
        faults=overview.fault_matrices(store),
        kill=matrix,
        languages=languages,
        measures=_measures(store),
        runs=runs,
        changes=_changes(store, runs),
        rows=packed(_row_index(table, [language["name"] for language in languages])),
        chunks=chunked(table["more"]),
        total=len(table["id"]),
    )


def render(template: str, scripts: Sequence[str], styles: Sequence[str], **values: Any) -> str:
    """A template with its scripts and styles put in, under a policy that admits these scripts and nothing else."""
    script, style = ("\n".join(map(text_file, names)) for names in (scripts, styles))
    inline = {
        "script": Markup(script),
        "style": Markup(style),
        "policy": policy(script),
    }  # our own files, no data
    return environment().get_template(template).render(**inline, **values)


@cache
def environment() -> Environment:
    """Jinja2 with everything escaped and nothing undefined let through."""
    made = Environment(
        loader=FunctionLoader(text_file),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.globals |= {"VERDICTS": VERDICTS, "MARKS": MARKS, "MEANINGS": MEANINGS}
    made.filters |= {"number": number, "thousands": lambda value: f"{value:,}"}
    return made


@cache
def text_file(name: str) -> str:
    """A file of reports/templates."""
    return files("reports.templates").joinpath(name).read_text(encoding="utf-8")


def _row_index(table: dict[str, list[Any]], languages: list[str]) -> Row:
    """What the list needs of every record, column by column."""
    names = ("command", "subject", "case", "check", "verdict", "kind", "message", "run")
    index: Row = {name: coded(table[name]) for name in names}
    index["id"] = table["id"]
    index["seconds"] = [round(value, 4) for value in table["seconds"]]
    index["languages"], index["chunk"] = languages, CHUNK_ROWS
    return index


def _languages(store: Store) -> list[Row]:
    """Every case whose automaton is known or that `verify` judged, with its pictures packed."""
    known, settled = queries.automata(store), queries.obligations(store)
    names = sorted({*settled, *known})
    return [
        _language(place, name, known.get(name), settled.get(name, [])) for place, name in enumerate(names)
    ]


def _language(place: int, name: str, detail: Row | None, settled: list[Row]) -> Row:
    counts = {verdict: sum(1 for row in settled if row["verdict"] == verdict) for verdict in VERDICTS}
    facts = {"name": name, "counts": counts, "worst": overview.worst(counts), "settled": settled}
    if detail is None:
        return {
            **facts,
            "detail": {},
            "edges": 0,
            "accepting": 0,
            "density": None,
            "packed": packed({"obligations": settled}),
        }
    density = detail.get("density") or []
    spread = {"least": min(density), "middle": median(density), "most": max(density)} if density else None
    return {
        **facts,
        "detail": {
            key: detail.get(key, "") for key in ("kind", "dialect", "why", "pattern", "source", "states")
        },
        "edges": detail.get("live") or len(detail["edges"]),
        "accepting": len(detail.get("accepting", [])),
        "density": spread,
        "packed": packed(_language_pictures(place, detail, settled)),
    }


def _language_pictures(place: int, detail: Row, settled: list[Row]) -> Row:
    """What a language shows when opened: its automaton, its density, its edges, its obligations."""
    unfolded: Row = {"detail": detail, "obligations": settled, "caption": sketch(detail).caption}
    try:
        unfolded["picture"] = automaton_svg(detail)
    except ReportError as error:
        unfolded["problem"] = str(error)
    if detail.get("density"):
        tokens = int(detail.get("tokens") or 0)
        unfolded["chart"] = density_svg(
            detail["density"], detail.get("accepting", []), tokens, f"density{place}"
        )
    return unfolded


def _measures(store: Store) -> list[Row]:
    """One chart and one table a measure, workload by workload."""
    grouped: dict[tuple[str, str, str], list[Row]] = {}
    for row in queries.measures(store):
        grouped.setdefault((row["measure"], row["unit"], row["better"]), []).append(row)
    return [_measure(place, *key, rows) for place, (key, rows) in enumerate(grouped.items())]


def _measure(place: int, measure: str, unit: str, better: str, rows: list[Row]) -> Row:
    counted = [{**row, **_spread(row, rows)} for row in rows if row["samples"]]
    counted.sort(key=lambda row: row["workload"])
    chart = samples_svg(counted, unit, better, f"bench{place}") if counted else ""
    silent = [row for row in rows if not row["samples"]]
    described = {"measure": measure, "unit": unit, "better": better, "rows": counted, "silent": silent}
    return {**described, "chart": Markup(chart)}  # drawn by matplotlib, which escapes its texts


def _spread(row: Row, rows: list[Row]) -> Row:
    low, middle, high = quartiles(row["samples"])
    base = [
        r for r in rows if r["peer"] == row["baseline"] and r["workload"] == row["workload"] and r["samples"]
    ]
    against = median(base[0]["samples"]) if base else 0
    return {"low": low, "middle": middle, "high": high, "ratio": middle / against if against else None}


def _changes(store: Store, runs: list[Row]) -> list[Row]:
    """What each run changed against the one it follows."""
    changes = []
    for run in runs:
        if run["follows"] and run["command"] not in ("mutants", "bench"):
            rows = queries.compare(store, run["follows"], run["run"])
            groups = {
                name: [row for row in rows if row["change"] == name]
                for name in ("new", "fixed", "unseen", "unjudged")
            }
            counts = {name: len(group) for name, group in groups.items()} | {
                "still": len(rows) - sum(map(len, groups.values()))
            }
            shown = {name: group[:MOST_CHANGES] for name, group in groups.items()}
            changes.append({"new": run, "old": run["follows"], "counts": counts, "groups": shown})
    return changes
