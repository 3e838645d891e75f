"""What a reader sees first: sentences that say how it stands, and the tables of subjects by checks and by faults."""

from dataclasses import dataclass
from typing import Any

from reports import queries
from reports.queries import VERDICTS, Row
from reports.store import Store

ORDER = ("verify", "audit", "golden", "mutants", "walk", "conform", "bench")


@dataclass(frozen=True, slots=True)
class Matrix:
    """Subjects by checks (or kinds of fault) for one command; a cell is its verdict counts."""

    command: str
    columns: list[str]
    rows: list[Row]


@dataclass(frozen=True, slots=True)
class Line:
    """One sentence of the summary and how it stands: good, bad or open."""

    state: str
    text: str
    link: str


def matrices(store: Store) -> list[Matrix]:
    """One matrix a command, in the order in which a reader asks."""
    cells = queries.matrix(store)
    people = queries.subjects(store)
    return [_matrix(command, cells, people) for command in in_order({cell["command"] for cell in cells})]


def fault_matrices(store: Store) -> list[Matrix]:
    """Subjects by kinds of fault, the commonest kind first."""
    found = queries.kinds(store)
    return [_faults(command, found) for command in in_order({row["command"] for row in found})]


def in_order(commands: set[str]) -> list[str]:
    """Commands as ORDER has them, unknown ones after."""
    return sorted(commands, key=lambda name: (ORDER.index(name) if name in ORDER else len(ORDER), name))


def summary(store: Store, matrix: Row, runs: list[Row]) -> list[Line]:
    """How it stands, in a few sentences: every command, the kill matrix, and whatever is open or broken off."""
    people = queries.subjects(store)
    lines = [_line(command, people) for command in in_order({row["command"] for row in people})]
    if matrix["mutants"]:
        killed = sum(1 for mutant in matrix["mutants"] if mutant["killers"])
        state = "good" if killed == len(matrix["mutants"]) else "bad"
        lines.append(
            Line(state, f"{killed} of {_count(len(matrix['mutants']), 'mutant')} killed.", "#mutants")
        )
    return lines + _caveats(runs)


def kill_matrix(store: Store) -> Row:
    """Mutants by checks, how many checks kill each, and which checks kill none."""
    cells = queries.kill_matrix(store)
    checks = list(dict.fromkeys(cell["check"] for cell in cells))
    mutants: dict[str, Row] = {}
    for cell in cells:
        mutant = mutants.setdefault(
            cell["mutant"], {"mutant": cell["mutant"], "title": "", "cells": {}, "killers": 0}
        )
        mutant["title"] = mutant["title"] or cell["title"]
        mutant["cells"][cell["check"]] = cell
        mutant["killers"] += cell["verdict"] == "refuted"
    kills = {
        check: sum(1 for cell in cells if cell["check"] == check and cell["verdict"] == "refuted")
        for check in checks
    }
    return {"checks": checks, "mutants": list(mutants.values()), "kills": kills}


def worst(counts: dict[str, Any]) -> str:
    """The verdict that a cell is coloured by: the worst there is."""
    for verdict in ("refuted", "undecided", "skipped", "refused", "tested", "proven"):
        if counts.get(verdict):
            return verdict
    return ""


def _matrix(command: str, cells: list[Row], people: list[Row]) -> Matrix:
    own = [cell for cell in cells if cell["command"] == command]
    rows = [{**row, "cells": {}} for row in people if row["command"] == command]
    by_name = {row["subject"]: row for row in rows}
    for cell in own:
        total = sum(cell[verdict] for verdict in VERDICTS)
        by_name[cell["subject"]]["cells"][cell["check"]] = {**cell, "total": total, "worst": worst(cell)}
    return Matrix(command, list(dict.fromkeys(cell["check"] for cell in own)), rows)


def _faults(command: str, found: list[Row]) -> Matrix:
    own = [row for row in found if row["command"] == command]
    rows: dict[str, Row] = {}
    for row in own:
        subject = rows.setdefault(row["subject"], {"subject": row["subject"], "cells": {}, "findings": 0})
        subject["cells"][row["kind"]] = row["findings"]
        subject["findings"] += row["findings"]
    ranked = sorted(rows.values(), key=lambda row: -row["findings"])
    most = max(row["findings"] for row in own)
    columns = list(dict.fromkeys(row["kind"] for row in own))
    return Matrix(command, columns, [{**row, "most": most} for row in ranked])


def _line(command: str, people: list[Row]) -> Line:
    own = [row for row in people if row["command"] == command]
    totals = {verdict: sum(row[verdict] for row in own) for verdict in VERDICTS}
    state = "bad" if totals["refuted"] else "open" if totals["undecided"] or totals["skipped"] else "good"
    counts = ", ".join(f"{totals[verdict]:,} {verdict}" for verdict in VERDICTS if totals[verdict])
    return Line(state, f"{_who(command, own)}: {counts}.", f"#findings?command={command}")


def _who(command: str, own: list[Row]) -> str:
    """The sentence's beginning: who was judged, and on how much."""
    cases = max(row["cases"] for row in own)
    if command == "verify":
        return f"The reference on {_count(cases, 'language')}"
    faulty = sum(1 for row in own if row["refuted"])
    if command == "audit":
        return (
            f"{_count(len(own), 'engine')} on up to {_count(cases, 'case')}, {faulty or 'none'} with findings"
        )
    return f"{command}, {_count(len(own), 'subject')} on up to {_count(cases, 'case')}"


def _caveats(runs: list[Row]) -> list[Line]:
    lines = []
    broken = [run["run"] for run in runs if run["outcome"] != "finished"]
    if broken:
        lines.append(
            Line(
                "open",
                f"{_count(len(broken), 'run')} did not come to an end: {', '.join(broken[:3])}.",
                "#runs",
            )
        )
    unreadable = sum(run["unreadable"] for run in runs)
    if unreadable:
        lines.append(
            Line(
                "open", f"{_count(unreadable, 'line')} could not be read (a torn write, or damage).", "#runs"
            )
        )
    return lines


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
