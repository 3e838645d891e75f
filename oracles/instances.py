"""Texts held to a schema by `json.loads` and `jsonschema`, and texts made from a schema that its language must have.

`check_text` says what is wrong with a text: every member of a schema's language must pass. The subset's language is
narrower than JSON Schema in four ways, and all four are asked: compact text, and for `properties` no other members, in
that order, each once. It is not the language itself: 1.0 is valid where the enum says 1, so a text that passes need
not be a member; a text that fails never is one. The pitfalls are numbers: 1e400 is JSON and `json.loads` makes it
infinite (passed, it is a number), and an integer of more than 4,300 digits, which `int` refuses, is read all the same.
`valid_instances` are members by construction, `invalid_instances` are near misses that `check_text` finds fault with.
"""

import json
import re
from collections.abc import Iterator
from decimal import Decimal
from random import Random
from typing import Any

import jsonschema
from jsonschema import Draft202012Validator, validators

from oracles.errors import OracleError
from oracles.instance_writer import Writer, dumps

_NOISE = tuple(bytes([byte]) for byte in b' \n,:"\\{}[]0-.en\x00\x80\xff')


class Members(dict[str, Any]):
    """A JSON object that remembers which of its names came more than once."""

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        """The last value of each name, as in Python, at the first one's place."""
        super().__init__(pairs)
        names = [name for name, _ in pairs]
        self.repeated = (
            sorted({name for name in names if names.count(name) > 1}) if len(names) > len(self) else []
        )


def check_text(schema: Any, data: bytes) -> str | None:
    """What keeps the text from being a compact instance of the schema, members in order; None when nothing does.

    An object schema without `properties` is read as JSON Schema reads it, open: any members.
    """
    value, problem = _read(data)
    if problem is not None:
        return problem
    for error in _Validator(_of_one_dialect(schema)).iter_errors(value):
        return f"{error.json_path}: {error.message}"
    return None


def check_object_text(depth: int, data: bytes) -> str | None:
    """What keeps the text from being a compact JSON object nested at most `depth` levels; a name may be repeated."""
    value, problem = _read(data)
    if problem is not None:
        return problem
    if not isinstance(value, dict):
        return f"{type(value).__name__} where an object belongs"
    levels = nesting(value)
    return f"nested {levels} levels, {depth} allowed" if levels > depth else None


def nesting(value: Any) -> int:
    """How many objects and arrays lie in each other at most: 0 for a scalar."""
    if not isinstance(value, dict | list):
        return 0
    return 1 + max(map(nesting, value.values() if isinstance(value, dict) else value), default=0)


def valid_instances(schema: Any, count: int, seed: int) -> list[bytes]:
    """`count` members of the schema's language: every second one as json.dumps writes it, the others freely spelled."""
    writer = Writer(Random(seed))
    return [writer.text(schema, is_plain=i % 2 == 0).encode() for i in range(count)]


def invalid_instances(schema: Any, count: int, seed: int) -> list[bytes]:
    """`count` near misses: valid instances with one slip in the bytes or the members, found at fault by check_text."""
    random = Random(seed)
    writer = Writer(random)
    found: list[bytes] = []
    for _ in range(100 * count):
        if len(found) == count:
            return found
        text = writer.text(schema, is_plain=True).encode()
        slip = _byte_slip(text, random) if random.random() < 0.5 else _member_slip(text, random)
        if check_text(schema, slip) is not None:
            found.append(slip)
    raise OracleError(f"schema {schema!r}: only {len(found)} near misses of {count}")


def _of_one_dialect(schema: Any) -> Any:
    """The schema without `$schema`, an annotation here, by which jsonschema would turn to another validator halfway."""
    if not isinstance(schema, dict):
        return schema
    inner = {key: part for key, part in schema.items() if key != "$schema"}
    if "items" in inner:
        inner["items"] = _of_one_dialect(inner["items"])
    if "anyOf" in inner:
        inner["anyOf"] = [_of_one_dialect(part) for part in inner["anyOf"]]
    if "properties" in inner:
        inner["properties"] = {name: _of_one_dialect(part) for name, part in inner["properties"].items()}
    return inner


def _read(data: bytes) -> tuple[Any, str | None]:
    """The value of a compact JSON text, or what is wrong with the text."""
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        return None, f"not UTF-8: {error}"
    if re.search(r"\s", re.sub(r'"(?:[^"\\]|\\.)*"', '""', text, flags=re.DOTALL)):
        return None, "white space between tokens"
    try:
        return json.loads(text, object_pairs_hook=Members, parse_int=_integer), None
    except (ValueError, RecursionError) as error:
        return None, f"json.loads: {error}"


class _Long(int):
    """An integer of more digits than Python prints, so that an error message can name it."""

    def __repr__(self) -> str:
        """Its size in bits."""
        return f"an integer of {self.bit_length()} bits"


def _integer(digits: str) -> int:
    return int(digits) if len(digits) < 4000 else _Long(Decimal(digits))


def _closed_properties(validator: Any, properties: Any, instance: Any, schema: Any) -> Iterator[Any]:
    """The keyword `properties` as the subset means it: these members only, in this order, each once."""
    if not isinstance(instance, dict):
        return
    plain: Any = Draft202012Validator.VALIDATORS["properties"]
    yield from plain(validator, properties, instance, schema)
    if [name for name in properties if name in instance] != list(instance):
        yield jsonschema.ValidationError(
            f"members {list(instance)} are not in the order of {list(properties)}"
        )
    if isinstance(instance, Members) and instance.repeated:
        yield jsonschema.ValidationError(f"members {instance.repeated} more than once")


_Validator: Any = validators.extend(  # type: ignore[no-untyped-call]
    Draft202012Validator, {"properties": _closed_properties}
)


def _byte_slip(text: bytes, random: Random) -> bytes:
    """One place cut off, left out, doubled, swapped with the next or replaced, or something put before it."""
    at = random.randrange(len(text))
    head, byte, tail = text[:at], text[at : at + 1], text[at + 1 :]
    noise = random.choice(_NOISE)
    slips = (head, head + tail, head + byte + byte + tail, head + noise + tail, head + noise + byte + tail)
    return random.choice((*slips, head + tail[:1] + byte + tail[1:], text + noise))


def _member_slip(text: bytes, random: Random) -> bytes:
    """One container with its members or items reversed, one more or one less; a scalar as another scalar."""
    value = json.loads(text)
    containers = [part for part in _parts(value) if isinstance(part, dict | list)]
    if not containers:
        return dumps(random.choice((None, True, [value], {"": value}, str(value)))).encode()
    part, how = random.choice(containers), random.randrange(3)
    if isinstance(part, dict):
        items = list(part.items())
        part.clear()
        part.update((items[::-1], [*items, ("~", None)], items[:-1])[how])
    else:
        part[:] = (part[::-1], [*part, *(part[-1:] or [None])], part[:-1])[how]
    return dumps(value).encode()


def _parts(value: Any) -> Iterator[Any]:
    yield value
    if isinstance(value, dict | list):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _parts(part)
