"""What the reference declines: each error is one line that names the place, the value and the remedy."""


class Refused(ValueError):  # noqa: N818 (the word of the verdicts)
    """Input that the reference declines before it does any work on it."""


def shown(value: object) -> str:
    """A value for a message; a long integer is told by its size, since Python may decline to write its digits."""
    if isinstance(value, int) and value.bit_length() > 200:
        return f"an integer of {value.bit_length()} bits"
    return repr(value)


class PatternError(Refused):
    """A pattern outside the dialect; `position` counts characters from 0, None when no one place is at fault."""

    def __init__(self, message: str, position: int | None = None) -> None:
        """Prefix the message with the place, so that every caller prints the same line."""
        place = "pattern" if position is None else f"pattern, position {position}"
        super().__init__(f"{place}: {message}")
        self.position = position


class EmptyLanguage(PatternError):  # noqa: N818 (the word of SPEC)
    """A pattern that no string matches: a request under it could never finish."""


class TooLarge(Refused):
    """A limit was reached (states, repetitions, size); the message names the limit and the parameter that raises it."""


class JsonTextError(Refused):
    """Text that is not the JSON of RFC 8259 as SPEC §3 reads it; `position` counts characters from 0."""

    def __init__(self, message: str, position: int) -> None:
        """Prefix the message with the place."""
        super().__init__(f"JSON, position {position}: {message}")
        self.position = position


class SchemaError(Refused):
    """A schema outside the subset; `place` is the path from the root, such as `properties.city.type`."""

    def __init__(self, message: str, place: str = "") -> None:
        """Prefix the message with the place."""
        super().__init__(f"schema, {place}: {message}" if place else f"schema: {message}")
        self.place = place


class VocabularyError(Refused):
    """A vocabulary that cannot be read or does not hold together."""


class MaskError(Refused):
    """A question about masks with no answer: a state out of range, a token that is not allowed, an all-false mask."""
