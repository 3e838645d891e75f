"""`python -m engine.mutants.child ID`: all columns against one mutant (or against `none`), one JSON line a column."""

import json
import sys
import time

from engine.mutants.catalogue import mutant
from engine.mutants.patch import install


def main(arguments: list[str]) -> None:
    """Install the mutant, then ask every column for its first witness."""
    name, wanted = arguments[0], arguments[1:]
    if name != "none":
        install(mutant(name))
    from engine.mutants.columns import COLUMNS

    for column, look in COLUMNS.items():
        if wanted and column not in wanted:
            continue
        begun = time.perf_counter()
        try:
            witness = look()
        except Exception as error:  # the mutated code may break in any way, and that is seen too
            witness = f"raised {type(error).__name__}: {error}"
        seconds = time.perf_counter() - begun
        line = {"column": column, "witness": witness, "seconds": round(seconds, 3)}
        print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
