"""The oracles stand alone: they import nothing of ours, and their own tests pass from a copy of oracles/ by itself."""

import ast
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
OURS = {"engine", "fixtures", "maskproof", "properties", "reference", "reports"}
OWN_TESTS = (
    "oracle_subjects",
    "test_oracle_derivatives",
    "test_bisimulation",
    "test_certificates",
    "test_token_masks",
)
BARRED = f"""
import sys
class Barred:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {OURS - {"properties"}}:
            raise ImportError(f"{{name}} is not here")
sys.meta_path.insert(0, Barred())
"""


def imported(file: Path) -> set[str]:
    """The top names of all modules that a file imports, wherever in it."""
    found = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add((node.module or "oracles").partition(".")[0])
    return found


@pytest.mark.parametrize("file", sorted((ROOT / "oracles").glob("*.py")), ids=lambda file: file.stem)
def test_no_oracle_imports_anything_of_ours_but_oracles(file):
    assert imported(file) & OURS == set()


def test_the_checker_imports_the_standard_library_only():
    assert imported(ROOT / "oracles" / "check_certificate.py") <= sys.stdlib_module_names


def test_no_own_test_of_the_oracles_imports_what_they_judge():
    for name in OWN_TESTS:
        assert imported(ROOT / "properties" / f"{name}.py") & (OURS - {"properties"}) == set(), name


@pytest.fixture(scope="module")
def copy_of_oracles(tmp_path_factory):
    """A folder with oracles/ and nothing else of ours."""
    folder = tmp_path_factory.mktemp("alone")
    shutil.copytree(ROOT / "oracles", folder / "oracles", ignore=shutil.ignore_patterns("__pycache__"))
    return folder


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Python in the folder, with the folder first on its path and no other folder of ours to import from."""
    environment = {
        **os.environ,
        "PYTHONPATH": str(folder),
        "PYTHONDONTWRITEBYTECODE": "1",
        "ORACLE_CHANCES": "0.1",
    }
    command = [sys.executable, *arguments]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def test_a_copy_of_oracles_answers_with_only_that_on_the_path(copy_of_oracles):
    question = (
        f"{BARRED}\n"
        "import oracles\n"
        "from oracles import bisimulation, canonical, certificates, check_certificate, derivatives, token_masks\n"
        "table = canonical.canonical(*derivatives.automaton('(cat|car|dog)s?'))\n"
        "document = certificates.make_certificate('(cat|car|dog)s?', 'bytes', *table)\n"
        "print(oracles.__file__, len(table[1]), check_certificate.check(document))\n"
        "print(bisimulation.difference(*table, *derivatives.automaton('(cat|car|dog)')))\n"
        "print(token_masks.allowed('ab?', 'bytes', b'a', [b'b', None], {1}))\n"
    )
    answer = run(copy_of_oracles, "-c", question)
    assert answer.stderr == ""
    assert answer.stdout.splitlines() == [f"{copy_of_oracles}/oracles/__init__.py 7 []", "b'cars'", "{0, 1}"]


def test_the_oracles_own_tests_pass_from_the_copy(copy_of_oracles):
    (copy_of_oracles / "properties").mkdir()
    for name in ("__init__", *OWN_TESTS):
        shutil.copy(ROOT / "properties" / f"{name}.py", copy_of_oracles / "properties")
    (copy_of_oracles / "conftest.py").write_text(BARRED, encoding="utf-8")
    (copy_of_oracles / "pytest.ini").write_text("[pytest]\nmarkers = slow\n", encoding="utf-8")
    answer = run(
        copy_of_oracles, "-m", "pytest", "properties", "-q", "-p", "no:cacheprovider", "-m", "not slow"
    )
    assert answer.returncode == 0, answer.stdout[-3_000:]
    assert " passed" in answer.stdout.splitlines()[-1]
