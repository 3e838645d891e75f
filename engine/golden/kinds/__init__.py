"""One module a kind of golden, found by scanning; each defines `files() -> list[Golden]` from inputs alone."""

import importlib
import pkgutil
from collections.abc import Iterator

from engine.golden.document import Golden


def kinds() -> list[str]:
    """The kinds there are, in alphabetical order."""
    return sorted(found.name for found in pkgutil.iter_modules(__path__))


def build(kind: str) -> list[Golden]:
    """The files of one kind, computed anew; raises Disagreement when two computations differ."""
    files: list[Golden] = importlib.import_module(f"{__name__}.{kind}").files()
    return files


def build_all() -> Iterator[Golden]:
    """Every file of every kind."""
    for kind in kinds():
        yield from build(kind)
