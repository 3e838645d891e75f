"""A mutant of the reference served as a port, so that the audit is tested by every pitfall."""

from engine.mutants.catalogue import Mutant
from engine.mutants.patch import install


def serve(mutant: Mutant) -> None:
    """Install the mutant, then speak the protocol on standard input and output until `bye`."""
    install(mutant)
    from engine.ports.reference_port import main

    main()
