"""The languages under proof, read from fixtures/languages.json: one entry a language, no other edit to add one."""

from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Literal, cast

from engine.errors import BadInput
from fixtures import ROOT
from reference.jsontext import JsonValue, dumps, loads
from reference.patterns import Dialect
from reference.schema import json_object_regex, json_schema_to_regex, schema_from_text

Kind = Literal["schema", "json_object", "pattern"]

MAX_FILE = 1 << 24
"""Bytes of the largest schema file that is read."""


@dataclass(frozen=True, slots=True)
class Language:
    """A language under proof: its `source` text (schema text, depth or pattern) and the regex text it stands for."""

    id: str
    kind: Kind
    dialect: Dialect
    source: str
    pattern: str
    why: str
    guards: tuple[str, ...] = ()


@cache
def languages() -> tuple[Language, ...]:
    """All languages of the suite, in file order."""
    text = (ROOT / "languages.json").read_text(encoding="utf-8")
    document = cast(dict[str, list[dict[str, JsonValue]]], loads(text))
    return tuple(replace(_language(entry), guards=_guards(entry)) for entry in document["languages"])


def select(ids: list[str]) -> tuple[Language, ...]:
    """The languages of these ids, each once, all of them when none is named."""
    known = {language.id: language for language in languages()}
    for wanted in ids:
        if wanted not in known:
            raise BadInput(f"language {wanted!r} is not in the suite; it has {', '.join(known)}")
    return tuple(known[wanted] for wanted in dict.fromkeys(ids)) if ids else languages()


def schema_language(name: str, schema: JsonValue, why: str = "") -> Language:
    """The language of a JSON Schema of the subset (SPEC §4)."""
    return Language(name, "schema", "bytes", dumps(schema), json_schema_to_regex(schema), why)


def pattern_language(name: str, pattern: str, dialect: str = "bytes", why: str = "") -> Language:
    """The language of a pattern (SPEC §1)."""
    if dialect not in ("bytes", "unicode"):
        raise BadInput(f"dialect {dialect!r} is not one of ours; use bytes or unicode")
    return Language(name, "pattern", cast(Dialect, dialect), pattern, pattern, why)


def from_schema_file(path: Path) -> Language:
    """The language of the JSON Schema in a file; the file's stem is its id."""
    try:
        with path.open("rb") as file:
            text = file.read(MAX_FILE + 1).decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"{path}: cannot be read as UTF-8 text ({error}); name a JSON Schema file") from error
    if len(text) > MAX_FILE:
        raise BadInput(f"{path}: larger than {MAX_FILE:,} bytes; name a JSON Schema file")
    return schema_language(path.stem, schema_from_text(text))


def _guards(entry: dict[str, JsonValue]) -> tuple[str, ...]:
    return tuple(str(flag) for flag in cast(list[JsonValue], entry["guards"]))


def _language(entry: dict[str, JsonValue]) -> Language:
    name, why = str(entry["id"]), str(entry["why"])
    if entry["kind"] == "schema":
        return schema_language(name, entry["schema"], why)
    if entry["kind"] == "json_object":
        depth = cast(int, entry["depth"])
        return Language(name, "json_object", "bytes", str(depth), json_object_regex(depth), why)
    return pattern_language(name, str(entry["pattern"]), str(entry["dialect"]), why)
