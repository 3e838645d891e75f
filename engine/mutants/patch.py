"""An import hook that compiles one module of the reference from changed source; nothing on disk changes."""

import importlib.abc
import importlib.machinery
import importlib.util
import sys
from collections.abc import Sequence
from types import ModuleType

from engine.mutants.catalogue import Mutant, mutated, source_of


class _Loader(importlib.abc.InspectLoader):
    def __init__(self, mutant: Mutant) -> None:
        self.mutant = mutant

    def get_source(self, fullname: str) -> str:
        """The changed source."""
        return mutated(self.mutant, source_of(fullname))

    def is_package(self, fullname: str) -> bool:
        """A mutant changes a module, never a package."""
        return False


class _Finder(importlib.abc.MetaPathFinder):
    def __init__(self, mutant: Mutant) -> None:
        self.mutant = mutant

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Ours to load when it is the mutated module, anyone else's otherwise."""
        if fullname != self.mutant.module:
            return None
        return importlib.util.spec_from_loader(fullname, _Loader(self.mutant))


def install(mutant: Mutant) -> None:
    """From now on, importing the mutant's module gives the changed one; it must not be imported yet."""
    if mutant.module in sys.modules:
        raise RuntimeError(
            f"{mutant.module} is imported already; install mutants before anything of the reference"
        )
    sys.meta_path.insert(0, _Finder(mutant))
