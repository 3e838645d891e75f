"""No value is written that two computations do not agree on."""

from typing import TypeVar

Value = TypeVar("Value")


class Disagreement(AssertionError):  # noqa: N818 (the word of STYLE)
    """Two computations of one golden value differ; one of them is wrong, and the file is not written."""


def agreed(what: str, reference: Value, oracle: Value) -> Value:
    """The value, when both computations came to it."""
    if reference != oracle:
        raise Disagreement(f"{what}: the reference has {_short(reference)}, the oracle has {_short(oracle)}")
    return reference


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 200 else text[:200] + "…"
