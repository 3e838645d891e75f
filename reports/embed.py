"""Data put into a page: compressed and in base64, so that no text in it can end a script or start an element.

Columns are coded by a list of their distinct values; what a row shows only when opened lies in chunks that the
browser unpacks one at a time. Scripts are named in the page's policy by their digest, so no other can run.
"""

import base64
import gzip
import hashlib
import json
from collections.abc import Sequence
from typing import Any

CHUNK_ROWS = 500


def packed(value: Any) -> str:
    """JSON, gzipped, in base64: letters, digits, `+`, `/` and `=` only."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return packed_text(text)


def packed_text(text: str) -> str:
    """A text, gzipped, in base64; the same text gives the same letters."""
    return base64.b64encode(gzip.compress(text.encode("utf-8", "replace"), 6, mtime=0)).decode("ascii")


def coded(values: Sequence[Any]) -> dict[str, list[Any]]:
    """A column as its distinct values, in order of appearance, and one index a row."""
    places: dict[Any, int] = {}
    codes = [places.setdefault(value, len(places)) for value in values]
    return {"values": list(places), "codes": codes}


def chunked(rows: Sequence[str]) -> list[str]:
    """JSON texts packed as lists of CHUNK_ROWS."""
    starts = range(0, len(rows), CHUNK_ROWS)
    return [packed_text("[" + ",".join(rows[start : start + CHUNK_ROWS]) + "]") for start in starts]


def policy(script: str) -> str:
    """A content security policy under which only this script runs and nothing is fetched."""
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode("ascii")
    allowed = f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'; img-src data:"
    return f"{allowed}; base-uri 'none'; form-action 'none'"
