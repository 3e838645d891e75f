"""Smaller sources: every pattern or schema that is one structural step below a given one.

Nothing here decides: a reduction may be nonsense (`(?:)*` is none, `a|` is one), and whether it still shows the
fault, or is in the subset at all, is asked of the reference and of the port. The pitfall is cutting text instead of
structure, which leaves half a bracket; so a pattern is read into items first and written back from them.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from reference.jsontext import dumps, loads


@dataclass(frozen=True, slots=True)
class Item:
    """An atom with its quantifier; `branches` are those of a group, None for any other atom."""

    atom: str
    quantifier: str = ""
    branches: tuple["Items", ...] | None = None


Items = tuple[Item, ...]


def reductions(kind: str, source: str) -> Iterator[str]:
    """Sources that are shorter, or simpler at the same length, the boldest first."""
    smaller = _candidates(kind, source)
    for candidate in dict.fromkeys(smaller):
        if (len(candidate), candidate) < (len(source), source):
            yield candidate


def _candidates(kind: str, source: str) -> Iterator[str]:
    if kind.startswith("regex"):
        branches = _Reader(source).branches()
        yield from (_written(smaller) for smaller in _smaller(branches))
    elif kind == "json_object":
        yield from (str(depth) for depth in range(1, int(source)))
    else:
        yield from (dumps(smaller) for smaller in smaller_schemas(loads(source)))


class _Reader:
    """Splits a pattern into items; it need not understand what is in a bracket, only where it ends."""

    def __init__(self, text: str) -> None:
        self.text, self.place = text, 0

    def branches(self) -> tuple[Items, ...]:
        found, items = [], list[Item]()
        while self.place < len(self.text) and self.text[self.place] != ")":
            if self.text[self.place] == "|":
                self.place += 1
                found.append(tuple(items))
                items = []
            else:
                items.append(self.item())
        return (*found, tuple(items))

    def item(self) -> Item:
        start, branches = self.place, None
        if self.text[start] == "(":
            self.place += 3 if self.text.startswith("(?:", start) else 1
            branches = self.branches()
            self.place += 1
        elif self.text[start] == "[":
            self.place = self._bracket_end(start)
        elif self.text[start] == "\\":
            self.place += {"x": 4, "u": 6}.get(self.text[start + 1 : start + 2], 2)
            if self.text.startswith("\\u{", start):
                self.place = self.text.find("}", start) + 1
        else:
            self.place += 1
        atom = self.text[start : self.place]
        return Item(atom, self._quantifier(), branches)

    def _bracket_end(self, start: int) -> int:
        place = start + 1
        while self.text[place] != "]":
            place += 2 if self.text[place] == "\\" else 1
        return place + 1

    def _quantifier(self) -> str:
        start = self.place
        if self.text[start : start + 1] in ("*", "+", "?"):
            self.place += 1
        elif self.text.startswith("{", start):
            self.place = self.text.find("}", start) + 1
        return self.text[start : self.place]


def _written(branches: tuple[Items, ...]) -> str:
    return "|".join("".join(_item_text(item) for item in items) for items in branches)


def _item_text(item: Item) -> str:
    atom = item.atom if item.branches is None else f"(?:{_written(item.branches)})"
    return atom + item.quantifier


def _smaller(branches: tuple[Items, ...]) -> Iterator[tuple[Items, ...]]:
    """One step below: one branch alone, a branch less, an item less or simpler."""
    if len(branches) > 1:
        yield from ((branch,) for branch in branches)
        yield from (branches[:place] + branches[place + 1 :] for place in range(len(branches)))
    for place, items in enumerate(branches):
        for smaller in _smaller_items(items):
            yield (*branches[:place], smaller, *branches[place + 1 :])


def _smaller_items(items: Items) -> Iterator[Items]:
    for width in (len(items) // 2, 1):
        if width:
            yield from (items[:place] + items[place + width :] for place in range(0, len(items), width))
    for place, item in enumerate(items):
        for smaller in _simpler(item):
            yield items[:place] + smaller + items[place + 1 :]


def _simpler(item: Item) -> Iterator[Items]:
    """The items that one item may become."""
    if item.branches is not None and len(item.branches) == 1 and not item.quantifier:
        yield item.branches[0]
    if item.branches is not None and [len(items) for items in item.branches] == [1]:
        inner = item.branches[0][0]
        yield (replace(inner, quantifier=inner.quantifier or item.quantifier),)
    if item.quantifier:
        yield (replace(item, quantifier=""),)
        yield from ((replace(item, quantifier=shorter),) for shorter in _quantifiers(item.quantifier))
    if item.branches is not None:
        yield from ((replace(item, branches=smaller),) for smaller in _smaller(item.branches))
    else:
        yield from ((replace(item, atom=atom),) for atom in _atoms(item.atom))


def _quantifiers(quantifier: str) -> Iterator[str]:
    if quantifier.startswith("{"):
        least, comma, most = quantifier[1:-1].partition(",")
        for number in sorted({0, 1, 2, int(least) // 2, int(least) - 1} - {int(least)}):
            if 0 <= number <= int(least):
                yield f"{{{number}{comma}{most}}}"
        if most:
            for number in sorted({int(least), int(most) // 2, int(most) - 1}):
                if int(least) <= number < int(most):
                    yield f"{{{least},{number}}}"
        yield from ("*", "+", "?")


def _atoms(atom: str) -> Iterator[str]:
    """Simpler atoms: a single character for a class."""
    if atom.startswith("["):
        parts = list(_parts(atom))
        yield from (parts if len(parts) == 1 else (f"[{part}]" for part in parts))
    if len(atom) > 1 or atom == ".":
        yield "a"
    if atom.startswith("\\") and len(atom) == 2 and atom[1] in "dws":
        yield {"d": "0", "w": "a", "s": "\\ "}[atom[1]]


def _parts(bracket: str) -> Iterator[str]:
    """The members of a bracket one by one, for one that is not complemented."""
    inner, place = bracket[1:-1], 0
    while place < len(inner):
        width = {"x": 4, "u": 6}.get(inner[place + 1 : place + 2], 2) if inner[place] == "\\" else 1
        yield inner[place : place + width]
        place += width


def smaller_schemas(schema: Any) -> Iterator[Any]:
    """JSON values one structural step below: a part alone, a member less, a smaller member.

    An object schema keeps its `properties`, empty at the least: without them it is open in most engines, another fault.
    """
    if isinstance(schema, dict):
        yield from _parts_of_schema(schema)
        for key in schema:
            if key == "properties" and schema.get("type") == "object":
                continue
            yield {name: value for name, value in schema.items() if name != key}
        for key, value in schema.items():
            for smaller in _smaller_member(key, value):
                yield _consistent({**schema, key: smaller})
    elif isinstance(schema, list):
        for place in range(len(schema)):
            yield schema[:place] + schema[place + 1 :]
        for place, value in enumerate(schema):
            yield from (
                [*schema[:place], smaller, *schema[place + 1 :]] for smaller in smaller_schemas(value)
            )
    else:
        yield from _smaller_scalars(schema)


def _parts_of_schema(schema: dict[str, Any]) -> Iterator[Any]:
    """The schemas directly inside, each instead of the whole."""
    inner = list(schema.get("properties", {}).values()) if isinstance(schema.get("properties"), dict) else []
    inner += schema["anyOf"] if isinstance(schema.get("anyOf"), list) else []
    inner += [schema["items"]] if isinstance(schema.get("items"), dict) else []
    yield from inner
    if len(json.dumps(schema)) > len('{"type":"null"}') and schema.keys() & {
        "type",
        "enum",
        "const",
        "anyOf",
    }:
        yield {"type": "null"}


def _smaller_member(key: str, value: Any) -> Iterator[Any]:
    yield from smaller_schemas(value)
    if key == "properties" and isinstance(value, dict):
        for name in value:
            fresh = next((letter for letter in "abc" if letter not in value), name)
            yield {fresh if other == name else other: inner for other, inner in value.items()}


def _consistent(schema: dict[str, Any]) -> dict[str, Any]:
    """`required` without the names that are gone."""
    if isinstance(schema.get("required"), list) and isinstance(schema.get("properties"), dict):
        kept = [name for name in schema["required"] if name in schema["properties"]]
        return {**schema, "required": kept}
    return schema


def _smaller_scalars(value: Any) -> Iterator[Any]:
    if isinstance(value, str) and value:
        yield from ("", value[:1], value[len(value) // 2 :], value[: len(value) // 2])
    elif isinstance(value, int) and not isinstance(value, bool) and value:
        yield from (0, 1, value // 2)
    elif isinstance(value, float):
        yield 0
