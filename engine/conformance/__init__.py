"""Conformance of any OpenAI-compatible server: cases as data, asked over HTTP, judged by small named checks.

A case (fixtures/conformance) is a request and what its answer must hold. Read `cases` for the data, `exchange` for how
an answer is read the way a client reads it, `checks` and `stream_checks` for what is judged, `runner` for the verdicts.
"""

from engine.conformance.cases import Case, load_cases, select_cases
from engine.conformance.junit import junit_text
from engine.conformance.runner import Server, judge, judge_all

__all__ = ["Case", "Server", "judge", "judge_all", "junit_text", "load_cases", "select_cases"]
