"""Bad input from a person, told in one line."""

from reference.errors import PatternError, Refused, TooLarge

__all__ = ["BadInput", "PatternError", "Refused", "TooLarge"]


class BadInput(Refused):
    """A command line, file or setting that cannot be used; the message names the place and the remedy (exit code 2)."""
