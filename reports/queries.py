"""The questions that a report answers, each one SQL over the tables of reports/store.py.

The kill matrix stands apart everywhere: there `refuted` means that a check did its work, so mutants are no findings.
Records of the check `automaton` describe a language and judge nothing, so they are not counted either.
"""

import json
from typing import Any

from reports.store import Store

Row = dict[str, Any]

VERDICTS = ("proven", "tested", "refuted", "refused", "undecided", "skipped")
_COUNTS = ", ".join(f"count(*) FILTER (verdict = '{verdict}') AS {verdict}" for verdict in VERDICTS)
_JUDGED = """command NOT IN ('mutants', 'bench') AND "check" <> 'automaton'"""
_ID = """substr(sha256(concat_ws(chr(31), command, subject, "case", "check", kind, nth::VARCHAR)), 1, 12)"""
_SLIM = '{"edges":null,"density":null,"accepting":null,"forced":null,"samples":null}'

# One row a change: keys judged by both runs, or only by one, compared by what is refuted in each.
_COMPARE = """
WITH refuted AS (SELECT DISTINCT run, command, subject, "case", "check", kind FROM records WHERE verdict = 'refuted'),
     old AS (SELECT * EXCLUDE (run) FROM refuted WHERE run = $old),
     new AS (SELECT * EXCLUDE (run) FROM refuted WHERE run = $new),
     old_keys AS (SELECT DISTINCT command, subject, "case", "check" FROM records WHERE run = $old),
     new_keys AS (SELECT DISTINCT command, subject, "case", "check" FROM records WHERE run = $new)
SELECT coalesce(old.subject, new.subject) AS subject, coalesce(old."case", new."case") AS "case",
       coalesce(old."check", new."check") AS "check", coalesce(old.kind, new.kind) AS kind,
       CASE WHEN old.subject IS NOT NULL AND new.subject IS NOT NULL THEN 'still'
            WHEN new.subject IS NOT NULL AND old_keys.subject IS NULL THEN 'unseen'
            WHEN new.subject IS NOT NULL THEN 'new'
            WHEN new_keys.subject IS NULL THEN 'unjudged'
            ELSE 'fixed' END AS change
FROM old FULL JOIN new USING (command, subject, "case", "check", kind)
LEFT JOIN old_keys USING (command, subject, "case", "check")
LEFT JOIN new_keys USING (command, subject, "case", "check")
ORDER BY ALL
"""

_PREDECESSOR = """
SELECT other.run FROM runs AS this JOIN runs AS other USING (command)
WHERE this.run = $1 AND (other.started, other.run) < (this.started, this.run)
  AND EXISTS (SELECT 1 FROM records AS a JOIN records AS b USING (command, subject, "case", "check")
              WHERE a.run = this.run AND b.run = other.run)
ORDER BY other.started DESC, other.run DESC LIMIT 1
"""


def verdict_counts(store: Store) -> dict[str, int]:
    """How many current records have each verdict, kill matrix and bench left out."""
    row = store.rows(f"SELECT {_COUNTS} FROM current WHERE {_JUDGED}")[0]
    return {verdict: int(row[verdict] or 0) for verdict in VERDICTS}


def subjects(store: Store) -> list[Row]:
    """Who was judged by what, how often, with which verdicts and which versions."""
    return store.rows(
        f"""SELECT command, subject, count(DISTINCT "case") AS cases, count(*) AS records, {_COUNTS},
                   coalesce(max(detail->>'version'), '') AS version, sum(seconds) AS seconds
            FROM current WHERE {_JUDGED} GROUP BY command, subject ORDER BY command, refuted DESC, subject"""
    )


def matrix(store: Store) -> list[Row]:
    """Verdict counts of every subject by every check."""
    return store.rows(
        f"""SELECT command, subject, "check", {_COUNTS} FROM current WHERE {_JUDGED}
            GROUP BY command, subject, "check" ORDER BY command, subject, "check" """
    )


def kinds(store: Store) -> list[Row]:
    """How often each subject shows each kind of fault."""
    return store.rows(
        f"""SELECT command, subject, kind, count(*) AS findings, count(DISTINCT "case") AS cases FROM current
            WHERE {_JUDGED} AND verdict = 'refuted' GROUP BY command, subject, kind ORDER BY findings DESC, kind"""
    )


def automata(store: Store) -> dict[str, Row]:
    """The automaton of every case that a record describes, the first description found."""
    rows = store.rows(
        """SELECT "case", first(detail ORDER BY pos) AS detail FROM current
           WHERE json_exists(detail, '$.edges') GROUP BY "case" ORDER BY "case" """
    )
    return {row["case"]: json.loads(row["detail"]) for row in rows}


def obligations(store: Store) -> dict[str, list[Row]]:
    """What `verify` settled, by case, cases in the order of their names."""
    rows = store.rows(
        f"""SELECT "case", "check", verdict, method, domain, seconds, message, kind FROM current
           WHERE command = 'verify' AND {_JUDGED} ORDER BY "case", pos"""
    )
    grouped: dict[str, list[Row]] = {}
    for row in rows:
        grouped.setdefault(row["case"], []).append({**row, "domain": json.loads(row["domain"] or "{}")})
    return grouped


def kill_matrix(store: Store) -> list[Row]:
    """Every mutant by every check: the verdict, and the mutant's title."""
    return store.rows(
        """SELECT "case" AS mutant, "check", first(verdict ORDER BY verdict = 'refuted' DESC) AS verdict,
                  coalesce(max(detail->>'title'), '') AS title, coalesce(max(message), '') AS message
           FROM current WHERE command = 'mutants' GROUP BY "case", "check" ORDER BY "case", "check" """
    )


def measures(store: Store) -> list[Row]:
    """Every benchmark's samples: peer, workload, measure, unit, which way is better, the baseline."""
    rows = store.rows(
        """SELECT subject AS peer, "case" AS workload, coalesce(detail->>'measure', "check") AS measure,
                  coalesce(detail->>'unit', '') AS unit, coalesce(detail->>'better', 'lower') AS better,
                  coalesce(detail->>'baseline', '') AS baseline, detail->'samples' AS samples, message, verdict, pos
           FROM current WHERE command = 'bench' ORDER BY pos"""
    )
    return [{**row, "samples": [float(one) for one in json.loads(row["samples"] or "[]")]} for row in rows]


def runs(store: Store) -> list[Row]:
    """Every run, newest first, with its verdict counts and the run it follows."""
    rows = store.rows(
        f"""SELECT runs.*, {_COUNTS} FROM runs LEFT JOIN records USING (run) GROUP BY ALL
            ORDER BY runs.started DESC, run DESC"""
    )
    return [{**row, "follows": _predecessor(store, row["run"])} for row in rows]


def compare(store: Store, old: str, new: str) -> list[Row]:
    """What changed between two runs: new, unseen (not judged before), fixed, unjudged (not judged now), still."""
    return store.rows(_COMPARE.replace("$old", "$1").replace("$new", "$2"), old, new)


def table(store: Store) -> dict[str, list[Any]]:
    """The records a person searches, refuted ones first, column by column; `more` is each one's rest as JSON text."""
    return store.columns(
        f"""SELECT {_ID} AS id, command, subject, "case", "check", verdict, kind, message, seconds, run,
                   to_json({{method: method, domain: domain, witness: witness, reproduce: reproduce,
                             detail: CASE WHEN json_exists(detail, '$.edges') OR json_exists(detail, '$.samples')
                                          THEN json_merge_patch(detail, '{_SLIM}') ELSE detail END}})::VARCHAR AS more
            FROM current WHERE {_JUDGED}
            ORDER BY verdict <> 'refuted', command, subject, "case", pos"""
    )


def _predecessor(store: Store, run: str) -> str:
    found = store.rows(_PREDECESSOR, run)
    return str(found[0]["run"]) if found else ""
