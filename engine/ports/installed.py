"""Which engines' ports can be started in a Python: the list that an audit of everything installed goes through."""

import sys

from engine.ports.registry import BuiltIn, built_in


def installed(python: str = sys.executable) -> tuple[BuiltIn, ...]:
    """The ports of engines that a Python has everything for, by name; a port without an engine is not among them."""
    return tuple(port for port in built_in() if port.distributions and port.is_here(python))


def missing(python: str = sys.executable) -> dict[str, tuple[str, ...]]:
    """For each engine's port that cannot be started in a Python: the distributions that it lacks."""
    lacking = {
        port.name: tuple(name for name, found in port.versions(python).items() if found is None)
        for port in built_in()
    }
    return {name: names for name, names in lacking.items() if names}
