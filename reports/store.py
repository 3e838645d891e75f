"""Result files as tables of an embedded analytical database: runs, records, and the current state of every key.

Several runs lie side by side. A key (command, subject, case, check) is *current* as the newest run that judged it
left it; so a partial run takes nothing away, and what a newer run finds fixed is fixed. Read reports/queries.py next.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import duckdb

from reports.errors import ReportError

FILE_NAME = "records.jsonl"
_OFFLINE = {"autoinstall_known_extensions": "false", "autoload_known_extensions": "false"}
_TEXTS = ("command", "subject", "case", "check", "verdict", "kind", "method", "message", "reproduce")
_OBJECTS = ("header", "footer", "domain", "witness", "detail")

_LINES = """
CREATE TABLE lines AS
SELECT row_number() OVER () AS pos, parse_path(filename)[-2] AS run, * EXCLUDE (filename)
FROM read_json($files, format='newline_delimited', ignore_errors=true, filename=true,
               maximum_object_size=268435456, columns=$columns)
"""

_RUNS = """
CREATE TABLE runs AS
SELECT run,
       coalesce(first(header->>'command' ORDER BY pos) FILTER (header IS NOT NULL), mode(command), '') AS command,
       coalesce(first(header->>'started' ORDER BY pos) FILTER (header IS NOT NULL), '') AS started,
       coalesce(last(header->>'maskproof' ORDER BY pos) FILTER (header IS NOT NULL), '') AS version,
       coalesce(last(header->'settings' ORDER BY pos) FILTER (header IS NOT NULL)::VARCHAR, '{}') AS settings,
       coalesce(last(header->'arguments' ORDER BY pos) FILTER (header IS NOT NULL)::VARCHAR, '[]') AS arguments,
       CASE WHEN coalesce(max(pos) FILTER (footer IS NOT NULL), 0) < max(pos) FILTER (footer IS NULL) THEN 'unfinished'
            ELSE arg_max(footer->>'outcome', pos) FILTER (footer IS NOT NULL) END AS outcome,
       count(command) AS records,
       count(*) FILTER (header IS NULL AND footer IS NULL AND verdict IS NULL) AS unreadable
FROM lines GROUP BY run
"""

_RECORDS = """
CREATE TABLE records AS
SELECT pos, lines.run, runs.started, lines.command, subject, "case", "check", verdict,
       coalesce(kind, '') AS kind, coalesce(method, '') AS method, coalesce(message, '') AS message,
       coalesce(reproduce, '') AS reproduce, coalesce(seconds, 0) AS seconds,
       domain, witness, detail
FROM lines JOIN runs USING (run) WHERE verdict IS NOT NULL
"""

_CURRENT = """
CREATE TABLE current AS
SELECT *, row_number() OVER (PARTITION BY run, command, subject, "case", "check", kind ORDER BY pos) AS nth
FROM records
QUALIFY dense_rank() OVER (PARTITION BY command, subject, "case", "check" ORDER BY started DESC, run DESC) = 1
"""


class Store:
    """The records of some runs, ready for questions in SQL."""

    def __init__(self, paths: Sequence[Path]) -> None:
        """Read every run found under `paths`: results folders, run folders or single files."""
        self.files = [file for path in paths for file in _run_files(path)]
        if not self.files:
            named = ", ".join(str(path) for path in paths)
            raise ReportError(f"no results under {named}; run `maskproof verify` or `maskproof audit` first")
        self._database = duckdb.connect(config=_OFFLINE)
        columns = dict.fromkeys(_TEXTS, "VARCHAR") | dict.fromkeys(_OBJECTS, "JSON") | {"seconds": "DOUBLE"}
        self._database.execute(_LINES, {"files": [str(file) for file in self.files], "columns": columns})
        for statement in (_RUNS, _RECORDS, _CURRENT, "DROP TABLE lines"):
            self._database.execute(statement)

    def rows(self, question: str, *values: object) -> list[dict[str, Any]]:
        """The answer to a question in SQL, a dictionary a row."""
        answer = self._database.execute(question, list(values))
        names = [column[0] for column in answer.description or []]
        return [dict(zip(names, row, strict=True)) for row in answer.fetchall()]

    def columns(self, question: str, *values: object) -> dict[str, list[Any]]:
        """The answer to a question in SQL, a list a column."""
        answer = self._database.execute(question, list(values))
        names = [column[0] for column in answer.description or []]
        table = answer.fetchall()
        return {name: [row[place] for row in table] for place, name in enumerate(names)}


def _run_files(path: Path) -> list[Path]:
    """The records files under a path: itself, a run folder's, or those of every run in a results folder."""
    if path.is_file():
        return [path.resolve()]
    if (path / FILE_NAME).is_file():
        return [(path / FILE_NAME).resolve()]
    return sorted(file.resolve() for file in path.glob(f"*/{FILE_NAME}"))
