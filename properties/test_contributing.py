"""CONTRIBUTING does what it says: its examples are read from the page and added."""

import json
import re
import tomllib
from pathlib import Path

from engine.golden.pitfalls import pitfalls
from engine.mutants.catalogue import Mutant, mutated, source_of
from engine.ports.registry import built_in
from engine.subject import Settings
from engine.suite import Language, pattern_language
from engine.verify import Job, verify_language

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")


def example(kind: str) -> str:
    """The one code block of this kind on the page."""
    (block,) = re.findall(rf"```{kind}\n(.*?)```", PAGE, re.DOTALL)
    return str(block)


def test_the_language_of_the_page_has_the_fields_of_the_others_and_holds() -> None:
    entry = json.loads(example("json"))
    others = json.loads((ROOT / "fixtures" / "languages.json").read_text(encoding="utf-8"))["languages"]
    assert set(entry) == set(others[-1])
    assert set(entry["guards"]) <= set(pitfalls())
    language: Language = pattern_language(entry["id"], entry["pattern"], entry["dialect"], entry["why"])
    records = list(verify_language(Job(language, "toy", Settings(samples=5))))
    assert {record.verdict for record in records} == {"proven", "tested"}


def test_the_mutant_of_the_page_applies() -> None:
    (entry,) = tomllib.loads(example("toml"))["mutant"]
    found = Mutant(**entry)
    assert mutated(found, source_of(found.module)) != source_of(found.module)
    assert found.pitfall in pitfalls()


def test_the_port_of_the_page_is_found_by_its_file_alone(tmp_path: Path) -> None:
    (tmp_path / "mine_port.py").write_text(example("python"), encoding="utf-8")
    (port,) = built_in(tmp_path)
    assert (port.name, port.distributions) == ("mine", ("my-engine",))
    assert not port.is_here()


def test_the_pages_that_are_linked_are_there() -> None:
    for page in (*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")):
        for link in re.findall(r"\]\((?!https?:|#)([^)#]+)", page.read_text(encoding="utf-8")):
            assert (page.parent / link).exists(), f"{page.name}: {link}"
