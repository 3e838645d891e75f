r"""The patterns that JSON texts are made of, to the letter (SPEC §4): constants, escapes, arrays, members, choices.

A port is held to these texts as well as to the tables: `{"city": string}` is `\{\"city\":"(?:…)*"\}`. The pitfalls
live here: the comma before a later optional member (s03), `maxItems` off by one (s05), text unescaped (s04).
"""

import re
from dataclasses import dataclass

from reference.errors import Refused, TooLarge

STRING = (
    r'"(?:[\x20\x21\x23-\x5b\x5d-\x7f]|[\xc2-\xdf][\x80-\xbf]|\xe0[\xa0-\xbf][\x80-\xbf]'
    r"|[\xe1-\xec\xee\xef][\x80-\xbf]{2}|\xed[\x80-\x9f][\x80-\xbf]|\xf0[\x90-\xbf][\x80-\xbf]{2}"
    r'|[\xf1-\xf3][\x80-\xbf]{3}|\xf4[\x80-\x8f][\x80-\xbf]{2}|\\["\\/bfnrt]|\\u[0-9a-fA-F]{4})*"'
)
INTEGER = r"-?(?:0|[1-9][0-9]*)"
NUMBER = r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+\-]?[0-9]+)?"
BOOLEAN = "(?:true|false)"
NULL = "null"

MAX_LENGTH = 1_000_000
"""Characters of the pattern that a schema becomes; nested arrays and optional members multiply its text."""

_TO_ESCAPE = re.compile("[^A-Za-z0-9_\x80-\U0010ffff]|[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Member:
    """A member of an object: the pattern `name` of its key and colon, the pattern of its value."""

    name: str
    value: str
    required: bool


def escape(text: str) -> str:
    """The pattern that matches exactly a text: letters, digits, `_` and non-ASCII as they are, the rest escaped."""
    return _TO_ESCAPE.sub(_escaped, text)


def choice(patterns: list[str]) -> str:
    """Any of the patterns."""
    return f"(?:{'|'.join(patterns)})"


def array(item: str, low: int, high: int | None) -> str:
    """low to high items, the first by itself and the others after a comma; `high` None is without end."""
    if high == 0:
        return r"\[\]"
    if low == 0:
        more = "*" if high is None else f"{{0,{high - 1}}}"
        return rf"\[(?:{item}(?:,{item}){more})?\]"
    more = f"{{{low - 1},{'' if high is None else high - 1}}}"
    return rf"\[{item}(?:,{item}){'*' if more == '{0,}' else more}\]"


def members(listed: list[Member], max_length: int = MAX_LENGTH) -> str:
    r"""`\{` M(0) `\}`, built from the last member to the first.

    `first` is M(i), the members from i on when none is written yet; `later` is R(i), when some member is. After the
    first required member some member always is.
    """
    first = later = ""
    sure = next((index for index, member in enumerate(listed) if member.required), len(listed))
    for index, member in reversed(list(enumerate(listed))):
        written = f"{member.name}{member.value}"
        if index <= sure:
            first = f"{written}{later}" if member.required else f"(?:{written}{later}|{first})"
            check_length(len(first), max_length)
        later = f",{written}{later}" if member.required else f"(?:,{written})?{later}"
        check_length(len(later), max_length)
    return rf"\{{{first}\}}"


def any_object(value: str) -> str:
    """Any number of members whose values have one pattern."""
    return rf"\{{(?:{STRING}:{value}(?:,{STRING}:{value})*)?\}}"


def check_length(length: int, max_length: int) -> None:
    """Raise TooLarge when a pattern grows past the limit."""
    if length > max_length:
        raise TooLarge(f"schema: its pattern is over max_length={max_length:,} characters; split the schema")


def _escaped(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code >= 0x80:
        raise Refused(
            f"text, position {match.start()}: U+{code:04X} is a lone surrogate, not a character; remove it"
        )
    return "\\" + match[0] if 0x20 <= code < 0x7F else f"\\x{code:02x}"
