"""Texts of a schema's language, made from the schema: what an instance may look like, edges first.

Nothing here filters: a text is a member by the way it is made. Member names and the values of `enum` and `const` have
one spelling, json.dumps's; strings and numbers have many, and those that no writer would choose are made on purpose.
The pitfall is a generator that only makes what a writer makes: escapes, -0 and 1E+05 would go untested.
"""

import json
from random import Random
from typing import Any

from oracles.errors import OracleError

CHARACTERS = (
    *("a", "Z", "0", " ", "~", "\x7f", '"', "\\", "/", "{", "}", "[", "]", ",", ":"),
    *("\x00", "\x1f", "\n", "\t", "\b", "\f", "\r", "\x80", "\u07ff", "\u0800", "\u2028", "é", "漢"),
    *("\ud7ff", "\ue000", "\ufeff", "\uffff", "\U00010000", "😀", "\U0010ffff"),
)
_SHORT = dict(zip('"\\/\b\f\n\r\t', '"\\/bfnrt', strict=True))


class Writer:
    """Random members of a schema's language, as text."""

    def __init__(self, random: Random) -> None:
        """All choices are taken from this generator."""
        self.random = random

    def text(self, schema: Any, *, is_plain: bool) -> str:
        """A member: strings and numbers as json.dumps writes them when plain, else in any form the language has."""
        if "const" in schema:
            return dumps(schema["const"])
        if "enum" in schema:
            return dumps(self.random.choice(schema["enum"]))
        if "anyOf" in schema:
            return self.text(self.random.choice(schema["anyOf"]), is_plain=is_plain)
        kind = schema.get("type")
        if kind in ("array", "object"):
            parts = self._items(schema, is_plain) if kind == "array" else self._members(schema, is_plain)
            return ("[%s]" if kind == "array" else "{%s}") % ",".join(parts)
        return self._scalar(kind, is_plain)

    def _scalar(self, kind: Any, is_plain: bool) -> str:
        makers = {"string": self._string, "integer": self._whole, "number": self._number}
        words = {"boolean": ("true", "false"), "null": ("null",)}
        if kind in makers:
            return makers[kind](is_plain)
        if kind in words:
            return self.random.choice(words[kind])
        raise OracleError(f"schema type {kind!r} is not in the subset")

    def _items(self, schema: Any, is_plain: bool) -> list[str]:
        low, high = schema.get("minItems", 0), schema.get("maxItems")
        most = low + 3 if high is None else high
        count = self.random.choice((low, most, self.random.randint(low, most)))
        return [self.text(schema["items"], is_plain=is_plain) for _ in range(count)]

    def _members(self, schema: Any, is_plain: bool) -> list[str]:
        chance, needed = self.random.choice((0.0, 0.5, 0.5, 1.0)), schema.get("required", ())
        return [
            f"{dumps(name)}:{self.text(part, is_plain=is_plain)}"
            for name, part in schema.get("properties", {}).items()
            if name in needed or self.random.random() < chance
        ]

    def _string(self, is_plain: bool) -> str:
        characters = self.random.choices(CHARACTERS, k=self.random.choice((0, 1, 1, 2, 3, 8)))
        if is_plain:
            return dumps("".join(characters))
        return '"' + "".join(map(self._spelled, characters)) + '"'

    def _spelled(self, character: str) -> str:
        """The character raw, by its short escape or by code, as the language has it; now and then half of a pair."""
        units = character.encode("utf-16-be").hex()
        codes = [
            "\\u" + "".join(self.random.choice((d, d.upper())) for d in units[i : i + 4])
            for i in range(0, len(units), 4)
        ]
        spellings = ["".join(codes), codes[0]]
        if character in _SHORT:
            spellings.append("\\" + _SHORT[character])
        if character >= " " and character not in '"\\':
            spellings.append(character)
        return self.random.choice(spellings)

    def _whole(self, is_plain: bool) -> str:
        digits = self.random.choice((1, 1, 2, 9, 30))
        value = self.random.choice((0, self.random.randrange(10**digits)))
        sign = self.random.choice(("", "-"))
        return sign + str(value) if value or not is_plain else "0"

    def _number(self, is_plain: bool) -> str:
        if is_plain:
            return dumps(
                self.random.choice((0.0, -0.0, 1.5e-05, 1e16, 1e22, 5e-324, self.random.uniform(-9, 9), 7))
            )
        fraction = self.random.choice(("", ".0", ".50", f".{self.random.randrange(1000)}"))
        exponent = self.random.choice(("", "e0", "E+05", f"e-{self.random.randrange(99)}", "e400"))
        return self._whole(False) + fraction + exponent


def dumps(value: Any) -> str:
    """The compact text of a value, non-ASCII raw."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
