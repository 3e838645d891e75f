"""The built-in ports, found by scanning: every engine/ports/*_port.py that has a `PORT` literal is one.

`PORT` is read from the source text, so that a port whose engine is not installed is listed all the same and nothing
of an engine is imported here. Its keys: `name`, `about`, `distributions` (what must be installed in the port's
Python, the engine first). A port is started as `python -P FILE`, so that no file beside it hides a package.
"""

import ast
import json
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from engine.errors import BadInput

FOLDER = Path(__file__).parent
_ASK_VERSIONS = """
import json, sys
from importlib.metadata import PackageNotFoundError, version
found = {}
for name in sys.argv[1:]:
    try: found[name] = version(name)
    except PackageNotFoundError: found[name] = None
print(json.dumps(found))
"""


@dataclass(frozen=True, slots=True)
class BuiltIn:
    """A port that comes with the suite: what it is called, what it needs, where it is."""

    name: str
    about: str
    distributions: tuple[str, ...]
    path: Path

    def command(self, python: str = sys.executable) -> list[str]:
        """How the port is started with a Python."""
        return [python, "-P", str(self.path)]

    def versions(self, python: str = sys.executable) -> dict[str, str | None]:
        """The version of each distribution in a Python, None where it is not installed."""
        return _versions(self.distributions, python)

    def is_here(self, python: str = sys.executable) -> bool:
        """Whether everything the port needs is installed."""
        return all(found is not None for found in self.versions(python).values())


@cache
def built_in(folder: Path = FOLDER) -> tuple[BuiltIn, ...]:
    """All ports of the folder, by name."""
    found = [_read(path) for path in folder.glob("*_port.py")]
    return tuple(sorted((port for port in found if port is not None), key=lambda port: port.name))


def find(name: str) -> BuiltIn:
    """The built-in port of this name."""
    for port in built_in():
        if port.name == name:
            return port
    known = ", ".join(port.name for port in built_in())
    raise BadInput(f"no port is called {name!r}; there are {known}, and '-- COMMAND' for your own")


def _read(path: Path) -> BuiltIn | None:
    for statement in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(statement, ast.Assign) and [ast.unparse(to) for to in statement.targets] == ["PORT"]:
            fields: dict[str, Any] = ast.literal_eval(statement.value)
            return BuiltIn(fields["name"], fields["about"], tuple(fields["distributions"]), path)
    return None


def _versions(distributions: tuple[str, ...], python: str) -> dict[str, str | None]:
    if python == sys.executable or not distributions:
        return {name: _version(name) for name in distributions}
    try:
        told = subprocess.run(
            [python, "-c", _ASK_VERSIONS, *distributions], capture_output=True, timeout=60, check=True
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise BadInput(f"the Python {python!r} cannot be asked: {error}; give the path of one") from error
    found: dict[str, str | None] = json.loads(told.stdout)
    return found


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
