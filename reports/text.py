"""Text of unknown origin made fit for pictures: what XML cannot hold, and what turns lines around, becomes U+FFFD."""

import re

_UNFIT = re.compile(
    "[^\t\n\r\x20-\x7e\xa0-\u2027\u202f-\u2065\u206a-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]"
)


def fit(text: str) -> str:
    """The text without control, separator and direction characters."""
    return _UNFIT.sub("\ufffd", text)


def cut(text: str, length: int) -> str:
    """The fit text, cut to a length with an ellipsis."""
    clean = fit(text).replace("\n", " ")
    return clean if len(clean) <= length else clean[: length - 1] + "…"


def number(value: float) -> str:
    """A measured value in three significant digits, thousands apart."""
    if value == 0 or abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3g}"
