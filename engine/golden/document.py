"""The form of a golden file: a header, then one case a line, so that a diff shows whole cases.

The text is canonical: one spelling of every value, keys in the order given here, no date, host or user, so that
`golden generate` is deterministic to the byte.
"""

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine.errors import BadInput
from fixtures import ROOT

FORMAT = 1
GENERATOR = {"name": "maskproof golden generate", "version": "1"}
FOLDER = ROOT / "golden"
SCHEMAS = ROOT / "schemas"
LICENCE = "Apache-2.0"

Case = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Golden:
    """One file: where it lies below fixtures/golden, what it is about, its flags with their meaning, its cases."""

    path: str
    schema: str
    about: str
    flags: dict[str, str]
    cases: tuple[Case, ...]
    inputs: str

    def text(self) -> str:
        """The canonical text of the file."""
        head = {
            "$schema": f"../../schemas/{self.schema}",
            "format": FORMAT,
            "about": self.about,
            "licence": LICENCE,
            "generator": GENERATOR,
            "provenance": "computed by the project's own code; no value is taken from another engine",
            "inputs": self.inputs,
            "flags": self.flags,
            "count": len(self.cases),
        }
        lines = [f'"{key}":{compact(value)},' for key, value in head.items()]
        cases = ",\n".join(compact(case) for case in self.cases)
        return "{\n" + "\n".join(lines) + '\n"cases":[\n' + cases + "\n]}\n"


def compact(value: Any) -> str:
    """Compact JSON on one line, non-ASCII raw but for the line separators some readers split at."""
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    return text.replace("\u2028", "\\u2028").replace("\u2029", "\\u2029").replace("\x7f", "\\u007f")


def digest(*parts: str | bytes) -> str:
    """SHA-256 over the inputs that a file was made from, each with its length before it."""
    total = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        total.update(len(data).to_bytes(8, "big") + data)
    return total.hexdigest()


def read(path: Path) -> dict[str, Any]:
    """The document in a file; told in one line when it is no JSON."""
    try:
        document: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise BadInput(
            f"{path}: not a golden file ({error}); write it anew with: maskproof golden generate"
        ) from error
    return document


def readable(data: bytes) -> str:
    r"""The bytes as text for a reader: printable ASCII as it is, everything else (and the backslash) as \\xHH."""
    return "".join(chr(byte) if 0x20 <= byte < 0x7F and byte != 0x5C else f"\\x{byte:02x}" for byte in data)
