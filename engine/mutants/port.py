"""`python -m engine.mutants.port ID`: a mutant of the reference served as a port, so that the audit is tested by it."""

import os
import sys
from typing import NoReturn

from engine.mutants.catalogue import Mutant, mutant
from engine.mutants.patch import install


def command(changed: Mutant) -> list[str]:
    """The command that serves a mutant in a process of its own, where nothing of the reference is imported yet."""
    return [sys.executable, "-m", "engine.mutants.port", changed.id]


def become(changed: Mutant) -> NoReturn:
    """Turn this process into the port."""
    os.execv(sys.executable, command(changed))


def main(name: str) -> None:
    """Install the mutant, then speak the protocol until `bye`."""
    install(mutant(name))
    from engine.ports.reference_port import main as serve

    serve()


if __name__ == "__main__":
    main(sys.argv[1])
