"""The numbers that the texts tell are those of the registries."""

from pathlib import Path

import pytest

from engine.mutants import catalogue
from engine.mutants.matrix import COLUMN_NAMES
from engine.obligations import OBLIGATIONS
from engine.ports.registry import built_in
from engine.suite import languages

ROOT = Path(__file__).parent.parent
WORDS = ["", "", "", "", "", "", "", "", "eight", "nine", "ten", "eleven", "twelve", "thirteen", "fourteen"]
ENGINE_PORTS = [port for port in built_in() if port.name not in ("pure", "reference")]
ENGINES = {
    name for port in ENGINE_PORTS for name in ({port.name, "formatron"} & {port.name, *port.distributions})
}


@pytest.mark.parametrize(
    ("file", "told"),
    [
        ("CHANGELOG.md", f"{WORDS[len(ENGINE_PORTS)]} ports for {WORDS[len(ENGINES)]} engines"),
        ("CHANGELOG.md", f"on {len(languages())} languages"),
        ("CHANGELOG.md", f"{WORDS[len(OBLIGATIONS)]} obligations"),
        ("CHANGELOG.md", f"{len(catalogue.mutants())} known pitfalls"),
        ("CHANGELOG.md", f"which of {WORDS[len(COLUMN_NAMES)]} independent checks"),
        ("README.md", f"{len(languages())} languages · {len(OBLIGATIONS)} obligations"),
        ("docs/engines.md", f"an audit of {WORDS[len(ENGINES)]} engines"),
        ("docs/engines.md", f"{WORDS[len(ENGINE_PORTS)].capitalize()} ports serve them"),
    ],
)
def test_a_text_tells_the_number_that_there_is(file: str, told: str) -> None:
    assert told in (ROOT / file).read_text(encoding="utf-8")
