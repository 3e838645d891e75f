"""Makes a thing small while it still goes wrong: for what is no scenario (those are for engine/audit/shrink.py).

The thing is a text, a source, or a schema with a value. Candidates come from structure, the boldest first; whether one
still goes wrong is asked of the port, so their number and the time are bounded.
"""

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

from engine.audit.reductions import smaller_schemas
from engine.audit.shrink import Budget
from reference.errors import Refused
from reference.jsontext import dumps, loads

T = TypeVar("T")
Pair = tuple[Any, Any]
SHRUNK_A_KIND = 2
"""How many findings of one check and kind are made small."""


def quick() -> Budget:
    """A few seconds."""
    return Budget(runs=200, seconds=6.0)


def smallest(
    thing: T, smaller: Callable[[T], Iterable[T]], is_wrong: Callable[[T], bool], budget: Budget
) -> T:
    """Go down while some smaller thing is wrong too; at worst the thing itself."""
    while True:
        for candidate in smaller(thing):
            if not budget.spend():
                return thing
            if is_wrong(candidate):
                thing = candidate
                break
        else:
            return thing


def smaller_pairs(pair: Pair) -> Iterator[Pair]:
    """Of (schema, value): a part of the schema with the part of the value that it is about, then one smaller alone."""
    schema, value = pair
    if isinstance(schema, dict):
        properties, items = schema.get("properties"), schema.get("items")
        if isinstance(properties, dict) and isinstance(value, dict):
            yield from ((inner, value[name]) for name, inner in properties.items() if name in value)
        if isinstance(items, dict) and isinstance(value, list):
            yield from ((items, item) for item in value)
    yield from ((smaller, value) for smaller in _shorter(schema))
    yield from ((schema, smaller) for smaller in _shorter(value))


def keeps_types(schema: Any, smaller: Any) -> bool:
    """Whether a smaller schema has a type wherever this one has: most engines let a schema without one be anything.

    So that a fault is not made small into that other one, keywords without a type beside them must be so here too.
    """
    known = list(_untyped(schema))
    return all(any(keys <= more for more in known) for keys in _untyped(smaller) if keys)


def _untyped(value: Any) -> Iterator[set[str]]:
    if isinstance(value, dict):
        if "type" not in value:
            yield set(value)
        for inner in value.values():
            yield from _untyped(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _untyped(inner)


def smaller_texts(text: str) -> Iterator[str]:
    """Shorter texts: of a JSON text those with less in it, then of any text those without some of its characters."""
    try:
        value = loads(text)
    except Refused:
        pass
    else:
        yield from (smaller for smaller in map(dumps, smaller_schemas(value)) if len(smaller) < len(text))
    yield from shorter_texts(text)


def shorter_texts(text: str) -> Iterator[str]:
    """The text without runs of its characters, long runs first."""
    width = len(text) // 2 or len(text)
    while width:
        yield from (text[:place] + text[place + width :] for place in range(0, len(text), width))
        width //= 2


def compact(value: Any) -> str:
    """A value as its compact text."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def _shorter(value: Any) -> Iterator[Any]:
    text = compact(value)
    for smaller in smaller_schemas(value):
        if len(compact(smaller)) < len(text):
            yield smaller
