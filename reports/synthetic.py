"""A made-up results folder of any size, to test the page with: `python -m reports.synthetic FOLDER 50000`.

Nothing in it was measured. Every kind of record is there, with texts that would break a careless page.
"""

import json
import random
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

Json = dict[str, Any]

ENGINES = {"xgrammar": 0.05, "llguidance": 0.03, "outlines-core": 0.09, "maskforge": 0.12, "own-port": 0.01}
CHECKS = ("masks", "advance", "eos", "fork", "rollback", "determinism", "dialect")
KINDS = ("unsound", "incomplete", "eos_early", "eos_missing", "special_leak", "stuck", "crash")
OBLIGATIONS = (
    ("canonical", "bisimulation with derivatives", "proven"),
    ("sound", "every state × every token", "proven"),
    ("complete", "every state × every token", "proven"),
    ("z3", "equivalence by a solver", "undecided"),
    ("instances", "sampled members", "tested"),
)
PITFALLS = {
    "s01": "one refinement only in minimisation",
    "s02": "properties sorted",
    "s03": "no comma before a later optional member",
    "s04": "enum values unescaped",
    "s05": "maxItems off by one",
    "s06": "a token's later bytes walked from the wrong state",
    "s07": "EOS before a whole string",
}
NASTY = (
    "</script><script>window.injected=1</script>",
    "<img src=x onerror=window.injected=1>",
    "line\u2028separator and \u2029 paragraph",
    "\x1b[31mred\x1b[0m and \x00 nul",
    "]]> --> <!-- {{ 7*7 }} ${7*7} 'quote' \"double\"",
    "\u202egnirts lortnoc",
)


def write_run(
    folder: Path, run: str, command: str, started: str, records: Iterator[Json], ends: bool = True
) -> Path:
    """One run's file: header, records, and a footer when it `ends`."""
    path = folder / run / "records.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    header = {
        "run": run,
        "command": command,
        "started": started,
        "settings": {"vocab": "toy"},
        "maskproof": "0.1.0",
    }
    with path.open("w", encoding="utf-8") as file:
        file.write(_line({"header": {**header, "arguments": [command], "python": "3.11", "format": 1}}))
        for record in records:
            file.write(_line({"command": command, **record}))
        if ends:
            file.write(_line({"footer": {"ended": started, "outcome": "finished"}}))
    return path


def write_results(folder: Path, findings: int = 200, seed: int = 1) -> None:
    """A results folder with runs of every command and about `findings` findings in the newest audit."""
    draw = random.Random(seed)
    cases = max(round(findings / 2.4), 8)
    days = "2026-11-{}T09:30:00+00:00"
    write_run(
        folder,
        "20261128-093000-audit-aa01",
        "audit",
        days.format(28),
        audit(random.Random(7), min(cases, 400)),
    )
    write_run(folder, "20261129-093000-audit-aa02", "audit", days.format(29), audit(draw, cases))
    write_run(folder, "20261129-100000-verify-aa03", "verify", days.format(29), verify())
    write_run(folder, "20261129-110000-mutants-aa04", "mutants", days.format(29), mutants(draw))
    write_run(folder, "20261129-120000-bench-aa05", "bench", days.format(29), bench(draw))
    write_run(folder, "20261129-130000-walk-aa06", "walk", days.format(29), walks(draw), ends=False)
    write_run(folder, "20261129-140000-conform-aa07", "conform", days.format(29), conform(draw))


def audit(draw: random.Random, cases: int) -> Iterator[Json]:
    """Engines on a corpus: mostly tested, some refuted with a witness, some refused."""
    for number in range(cases):
        for engine, rate in ENGINES.items():
            case = f"corpus/{number:05d}.json"
            if draw.random() < rate * 8:
                yield finding(draw, engine, case)
            else:
                verdict = draw.choice(["tested"] * 12 + ["refused", "undecided"])
                message = "" if verdict == "tested" else f"{verdict}: {draw.choice(NASTY)}"
                yield {
                    **_cell(engine, case, draw.choice(CHECKS), verdict),
                    "message": message,
                    "seconds": draw.random(),
                }


def finding(draw: random.Random, engine: str, case: str) -> Json:
    """One refuted record with everything a witness may hold."""
    kind = draw.choice(KINDS)
    path = [_token(draw) for _ in range(draw.randrange(6))]
    source = json.dumps(
        {"type": "object", "properties": {"a": {"enum": [draw.choice(NASTY)]}}, "required": ["a"]}
    )
    witness = {
        "kind": "schema",
        "source": source,
        "original": {"kind": "schema", "source": source * 2},
        "path": path,
        "token": _token(draw),
        "allowed": {"count": 151, "tokens": [_token(draw) for _ in range(12)]},
        "expected": {"count": 149, "tokens": [_token(draw) for _ in range(12)]},
        "unsound": {"count": 2, "tokens": [_token(draw) for _ in range(2)]},
        "missing": {"count": 0, "tokens": []},
        "complete": {"engine": False, "exact": True},
        "log": draw.choice(NASTY),
        "exchange": [["→", '{"id":7,"op":"mask","session":3}'], ["←", draw.choice(NASTY)]],
    }
    return {
        **_cell(engine, case, draw.choice(CHECKS), "refuted"),
        "kind": kind,
        "message": f"{kind} after {len(path)} tokens: {draw.choice(NASTY)}",
        "witness": witness,
        "seconds": draw.random(),
        "reproduce": f"maskproof audit {engine} --schema '{case}' --vocab toy",
        "detail": {"version": "1.2.3", "vocabulary": "toy", "shrunk": {"from": 40, "to": 3}},
    }


def verify() -> Iterator[Json]:
    """A small, a chained and a large automaton, and the obligations of each."""
    for case, detail in (
        ("hand-words", words_automaton()),
        ("long-keys", chained_automaton()),
        ("large", large_automaton()),
        (NASTY[0], nasty_automaton()),
    ):
        automaton = {
            **_cell("reference", case, "automaton", "proven"),
            "method": "bisimulation with derivatives",
        }
        yield {**automaton, "domain": {"states": detail["states"], "bytes": 256}, "detail": detail}
        for check, method, verdict in OBLIGATIONS:
            domain = {"states": detail["states"], "tokens": 151936, "pairs": detail["states"] * 151936}
            yield {
                **_cell("reference", case, check, verdict),
                "method": method,
                "domain": domain,
                "seconds": 0.25,
            }


def mutants(draw: random.Random) -> Iterator[Json]:
    """The kill matrix: every pitfall by every check."""
    for mutant, title in PITFALLS.items():
        for check in ("derivatives", "certificate", "graphs", "token masks", "hand examples"):
            verdict = "refuted" if draw.random() < 0.5 else "tested"
            yield {
                **_cell("reference", mutant, check, verdict),
                "detail": {"title": title, "pitfall": mutant},
            }


def bench(draw: random.Random) -> Iterator[Json]:
    """Three measures of three peers on two workloads, eleven samples each."""
    for measure, unit, base in (
        ("mask time", "µs", 40.0),
        ("compile time", "ms", 12.0),
        ("tokens/s", "1/s", 90.0),
    ):
        for workload in ("person schema", "timestamp"):
            for place, peer in enumerate(("maskproof", "xgrammar", "llguidance")):
                samples = [round(base * (place + 1) * draw.lognormvariate(0, 0.12), 3) for _ in range(11)]
                better = "higher" if unit == "1/s" else "lower"
                detail = {
                    "measure": measure,
                    "unit": unit,
                    "samples": samples,
                    "better": better,
                    "baseline": "maskproof",
                }
                yield {**_cell(peer, workload, measure, "tested"), "detail": detail}


def walks(draw: random.Random) -> Iterator[Json]:
    """Constrained walks with their outputs."""
    for number in range(12):
        detail = {"tokens": 20 + number, "model": "random logits", "output": draw.choice(NASTY)}
        yield {**_cell("reference", f"walk-{number:02d}", "whole", "tested"), "detail": detail}


def conform(draw: random.Random) -> Iterator[Json]:
    """A server's conformance cases."""
    for number in range(15):
        verdict = "refuted" if number % 7 == 3 else "tested"
        detail = {"request": {"tool_choice": "auto"}, "response": {"text": draw.choice(NASTY)}, "status": 200}
        kind = "tools_differ" if verdict == "refuted" else ""
        yield {
            **_cell("http://localhost:8000", f"stream-{number}", "deltas", verdict),
            "kind": kind,
            "detail": detail,
        }


def _cell(subject: str, case: str, check: str, verdict: str) -> Json:
    return {"subject": subject, "case": case, "check": check, "verdict": verdict}


def _token(draw: random.Random) -> Json:
    text = draw.choice(["{", '"a"', ":", " ", "é", "</script>", "\n", "\u2028", "12", "true", "<b>"])
    return {"id": draw.randrange(151936), "hex": text.encode().hex(), "text": text}


def words_automaton() -> Json:
    """The chapter's seven states."""
    edges = [(0, 1, "c"), (0, 2, "d"), (1, 3, "a"), (2, 4, "o"), (3, 5, "[rt]"), (4, 5, "g"), (5, 6, "s")]
    return automaton("(cat|car|dog)s?", 7, [5, 6], edges, [12, 9, 3, 7, 2, 2, 1])


def chained_automaton() -> Json:
    """A long forced stretch with two free texts in it."""
    text = '{"first-name":"", "last-name":""}'
    edges = [(at, at + 1, char if char != " " else "␣") for at, char in enumerate(text)]
    edges += [(15, 15, '[^"\\\\]'), (31, 31, '[^"\\\\]')]
    density = [4 if at % 3 else 151000 for at in range(len(text) + 1)]
    return automaton("an object of two names", len(text) + 1, [len(text)], edges, density)


def large_automaton(states: int = 900) -> Json:
    """More states than a picture can hold."""
    draw = random.Random(3)
    edges = [(at, at + 1, chr(97 + at % 26)) for at in range(states - 1)]
    edges += [(at, max(0, at - draw.randrange(40)), f"[0-{at % 9}]") for at in range(0, states, 3)]
    return automaton(
        "[a-z]{900}", states, [states - 1], edges, [draw.randrange(1, 151936) for _ in range(states)]
    )


def nasty_automaton() -> Json:
    """Labels that would break a careless picture."""
    edges = [
        (0, 1, "<b>&amp;</b>"),
        (1, 2, "</script><script>window.injected=1</script>"),
        (2, 0, "\\N\\G\u2028"),
    ]
    return automaton("<svg onload=window.injected=1>", 3, [2], edges, [1, 1, 1])


def automaton(
    pattern: str, states: int, accepting: list[int], edges: list[tuple[int, int, str]], density: list[int]
) -> Json:
    """The `detail` of a record that describes an automaton."""
    return {
        "pattern": pattern,
        "source": pattern,
        "kind": "pattern",
        "dialect": "bytes",
        "why": "made up",
        "states": states,
        "accepting": accepting,
        "edges": [list(edge) for edge in edges],
        "forced": {"2": "og"},
        "density": density,
        "tokens": 151936,
        "vocabulary": "qwen3",
    }


def _line(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")) + "\n"


if __name__ == "__main__":
    write_results(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 200)
