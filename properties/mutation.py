"""Mutation of whole modules by a general tool: `python -m properties.mutation [GROUP…]` (nox -s mutation).

A group is a few modules and the quick tests that are theirs. mutmut rewrites a copy of the project under
build/mutation, runs the tests once, and forks a process a mutant, which runs only the tests that enter the changed
function. What is decided stays on disk: a run that was stopped goes on where it stood. The pitfall: a forked child
inherits the caches that the clean run filled, and a mutant behind a cache would survive unseen; they are emptied
first. The same module is the pytest plugin that does it. Results are argued in docs/mutation.md.
"""

import gc
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from weakref import WeakKeyDictionary

import pytest
from hypothesis import Phase, settings

ROOT = Path(__file__).parent.parent
COPIES = ROOT / "build" / "mutation"
FOLDERS = ("engine", "fixtures", "oracles", "properties", "reference")
EXAMPLES = int(os.environ.get("MUTATION_EXAMPLES", "6"))
TEST_SECONDS = 8
"""Processor time after which a test fails: a mutant that loops for ever is found at once, not when all time is up."""

SETTINGS = "_hypothesis_internal_use_settings"
"""Where hypothesis keeps the settings of a test; they are replaced there."""

SLOW = (
    "test_all_short_texts",
    "test_the_scalars_are_encoded",
    "hostile",
    "in_bounded_time",
    "bound_and_in_time",
    "every_wrong_automaton",
    "logarithm",
    "qwen3",
)
"""Names of tests that take seconds each: a mutant costs too much with them."""
LEFT_OUT = ("slow", "models", "engines", "browser")
"""Marks of tests that take long, or need more than what the session installs."""

CHOSEN = pytest.StashKey[list[str]]()
"""The tests that mutmut asks for, none when it asks for whole files."""

GROUPS: dict[str, tuple[str, str]] = {
    "patterns": ("reference: utf8 charsets atoms nodes patterns", "patterns refusals"),
    "automata": ("reference: nfa subset minimise compile dfa errors", "dfa patterns refusals"),
    "toolstream": ("reference: toolstream", "toolstream"),
    "sampling": ("reference: pcg32 sampling", "sampling"),
    "masks": ("reference: bitmasks walk masks constraint trie token_graph automata", "masks constraint"),
    "schema": ("reference: schema_text schema", "schema refusals"),
    "json": ("reference: jsonwriter jsontext integers", "jsontext refusals"),
    "lookahead": ("reference: lookahead budget token_graph", "lookahead constraint"),
    "tools": ("reference: tools toolprompt tool_errors", "tools"),
    "vocabulary": ("reference: vocabulary gguf token_bytes tokenizer_files tokenizer_json", "vocabulary"),
    "derivatives": ("oracles: charset pattern_reader terms derivatives canonical", "oracle_derivatives"),
    "token_masks": ("oracles: token_masks tables", "token_masks"),
    "tool_text": ("oracles: tool_text", "tool_text toolstream"),
    "bisimulation": ("oracles: bisimulation", "bisimulation"),
    "certificates": ("oracles: certificates check_certificate", "certificates"),
    "graphs": ("oracles: graphs", "graphs"),
}
"""Modules, and the files properties/test_NAME.py that judge them, in the order in which they are run.

Each group has a file of its own beside them, test_survivors_GROUP.py, for what only this tool found.
"""

MUTMUT = """[mutmut]
source_paths=\n    reference\n    oracles
only_mutate=\n    {modules}
also_copy=\n    engine\n    fixtures\n    properties
pytest_add_cli_args=\n    -p\n    properties.mutation\n    -p\n    no:cacheprovider
pytest_add_cli_args_test_selection=\n    {tests}
use_git_change_detection=false
track_dependencies=false
timeout_multiplier=4
timeout_constant=3
"""
LIGHT = {
    "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    "PYTEST_ADDOPTS": "-p no:unraisableexception -p no:threadexception -p no:faulthandler",
}
"""No plugins, no collection of garbage at the end: most of what a mutant costs is pytest itself."""

VERDICTS = {None: "to do", 0: "survived", 1: "killed", 3: "killed", 5: "no test", 33: "no test"}
"""mutmut's exit codes; any other is a mutant that did not come to an end within its time, which is a kill too."""


def main(names: list[str]) -> int:
    """Run the groups and print what each mutant came to."""
    for name in names or GROUPS:
        copy = COPIES / name
        prepare(name, copy)
        command = [sys.executable, "-m", "mutmut", "run", "--max-children", "1"]
        subprocess.run(command, cwd=copy, env=os.environ | LIGHT, check=False)
        report(name, copy)
    return 0


def prepare(name: str, copy: Path) -> None:
    """Lay the copy that mutmut works in; the verdicts that are in it stay."""
    folder, modules = GROUPS[name][0].split(": ")
    for each in FOLDERS:
        shutil.copytree(ROOT / each, copy / each, dirs_exist_ok=True)
    for module in (copy / "reference").glob("*.py"):
        text = module.read_text()
        module.write_text(re.sub(r"^@lru_cache\(maxsize=\d+\)\n", "", text, flags=re.MULTILINE))
    shutil.copy(ROOT / "pyproject.toml", copy)
    files = [f"properties/test_{test}.py" for test in (*GROUPS[name][1].split(), f"survivors_{name}")]
    tests = "\n    ".join(file for file in files if (ROOT / file).exists())
    chosen = "\n    ".join(f"{folder}/{module}.py" for module in modules.split())
    (copy / "setup.cfg").write_text(MUTMUT.format(modules=chosen, tests=tests))


def report(name: str, copy: Path) -> None:
    """One line a module, then the mutants that live."""
    for file in sorted((copy / "mutants").glob("*/*.py.meta")):
        codes = json.loads(file.read_text())["exit_code_by_key"]
        if codes:
            found = Counter(VERDICTS.get(code, "timed out") for code in codes.values())
            print(f"{name}: {file.parent.name}/{file.name.removesuffix('.py.meta')}: {dict(found)}")
            print(
                *(f"  {key}" for key, code in codes.items() if VERDICTS.get(code) in ("survived", "no test")),
                sep="\n",
            )


def pytest_sessionstart(session: pytest.Session) -> None:
    """Empty every cache of the modules under test, and look at no old object again when collecting garbage."""
    gc.freeze()
    for name, module in list(sys.modules.items()):
        if name.startswith(("reference.", "oracles.")):
            for value in vars(module).values():
                if hasattr(value, "cache_clear"):
                    value.cache_clear()
                elif isinstance(value, WeakKeyDictionary):
                    value.clear()


def pytest_configure(config: pytest.Config) -> None:
    """Collect whole files; which tests of them mutmut names is seen to afterwards.

    A module that is collected a second time in a process has each backslash of its ids escaped once more (pytest
    9.2.0). The ids that mutmut noted are not found then: pytest ends with a usage error, and mutmut's child with the
    exit code 1 of a kill.
    """
    config.stash[CHOSEN] = [_plain(each) for each in config.args if "::" in each]
    config.args[:] = dict.fromkeys(each.split("::")[0] for each in config.args)


def _plain(test: str) -> str:
    return test.replace("\\", "")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Those that are named; hand examples first; few drawn ones, always the same, none shrunk; and nothing slow."""
    if chosen := config.stash[CHOSEN]:
        places = {test: place for place, test in enumerate(chosen)}
        named = [item for item in items if _plain(item.nodeid) in places]
        items[:] = sorted(named, key=lambda item: places[_plain(item.nodeid)])
    slow = [
        item
        for item in items
        if any(part in item.name for part in SLOW) or any(map(item.get_closest_marker, LEFT_OUT))
    ]
    items[:] = sorted(
        (item for item in items if item not in slow),
        key=lambda item: hasattr(getattr(item, "obj", None), SETTINGS),
    )
    config.hook.pytest_deselected(items=slow)
    for item in items:
        test = getattr(item, "obj", None)
        if hasattr(test, SETTINGS):
            setattr(test, SETTINGS, few(getattr(test, SETTINGS)))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Fail a test that takes too long, and again should hypothesis repeat it."""
    signal.signal(signal.SIGVTALRM, _too_long)
    signal.setitimer(signal.ITIMER_VIRTUAL, TEST_SECONDS, TEST_SECONDS)
    try:
        return (yield)
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)


def _too_long(number: int, frame: FrameType | None) -> None:
    pytest.fail(f"over {TEST_SECONDS} s of processor time")


def few(own: settings) -> settings:
    """The test's settings for a mutant."""
    return settings(
        own,
        max_examples=min(own.max_examples, EXAMPLES),
        derandomize=True,
        database=None,
        phases=[Phase.explicit, Phase.generate],
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
