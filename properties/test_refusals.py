"""What the reference core declines: each kind with its place, value and remedy, and hostile sizes in bounded time."""

import resource
import sys
import time
from collections.abc import Callable
from typing import Any

import pytest

from properties.refused_inputs import ALL_PATTERNS, SCHEMAS, TEXTS, UNSUPPORTED
from reference.charsets import Dialect
from reference.compile import regex_to_dfa
from reference.errors import EmptyLanguage, JsonTextError, PatternError, Refused, SchemaError, TooLarge
from reference.jsontext import JsonValue, dumps, loads
from reference.patterns import parse
from reference.schema import escape, json_object_regex, json_schema_to_regex, schema_from_text


@pytest.mark.parametrize(
    ("pattern", "dialect", "position", "message"), ALL_PATTERNS, ids=lambda v: ascii(v)[:24]
)
def test_a_pattern_outside_the_dialect_is_refused_at_its_position(
    pattern: str, dialect: Dialect, position: int, message: str
) -> None:
    with pytest.raises(PatternError) as refusal:
        parse(pattern, dialect)
    assert str(refusal.value) == f"pattern, position {position}: {message}"
    assert refusal.value.position == position


@pytest.mark.parametrize(
    ("pattern", "dialect"),
    [
        (r"[^\x00-\xff]", "bytes"),
        (r"a[^\D\d]|b[^\W\w]", "bytes"),
        (r"(?:a|b)+[^\s\S]{2,}", "bytes"),
        (r"[^\u0000-\u{10ffff}]", "unicode"),
    ],
)
def test_an_empty_language_is_refused_on_the_automaton(pattern: str, dialect: Dialect) -> None:
    """Pitfall s08: the text reads well (`parse` takes it), no string matches."""
    parse(pattern, dialect)
    with pytest.raises(EmptyLanguage) as refusal:
        regex_to_dfa(pattern, dialect)
    assert (
        str(refusal.value)
        == "pattern: no string matches it, so no output could ever be whole; allow at least one"
    )


@pytest.mark.parametrize(
    "pattern", [r"[^\x00-\xff]?", r"[^\x00-\xff]{0}", r"a|[^\x00-\xff]b", r"(?:[^\x00-\xff]a)*"]
)
def test_an_empty_part_is_no_empty_language(pattern: str) -> None:
    assert regex_to_dfa(pattern).n_states >= 1


def test_an_unknown_dialect_is_refused() -> None:
    wrong: Any = "posix"
    with pytest.raises(Refused, match=r"^dialect 'posix' is unknown; use 'bytes' or 'unicode'$"):
        parse("a", wrong)


@pytest.mark.parametrize(
    ("schema", "place", "message"), [case[1:] for case in SCHEMAS], ids=[case[0] for case in SCHEMAS]
)
def test_a_schema_outside_the_subset_is_refused_at_its_place(schema: Any, place: str, message: str) -> None:
    with pytest.raises(SchemaError) as refusal:
        json_schema_to_regex(schema)
    assert refusal.value.place == place
    assert str(refusal.value) == (f"schema, {place}: {message}" if place else f"schema: {message}")


@pytest.mark.parametrize("keyword", UNSUPPORTED.split())
def test_every_other_keyword_of_json_schema_is_refused_by_name(keyword: str) -> None:
    """Never read as if it were not there (pitfall s12)."""
    with pytest.raises(SchemaError) as refusal:
        json_schema_to_regex({"type": "object", keyword: {}})
    assert (refusal.value.place, keyword in str(refusal.value)) == (keyword, True)


def test_a_key_given_twice_in_a_schema_text_is_refused() -> None:
    with pytest.raises(JsonTextError, match=r'^JSON, position 15: the key "type" is given twice; keep one$'):
        schema_from_text('{"type":"null","type":"string"}')


@pytest.mark.parametrize("depth", [0, -1])
def test_any_object_needs_room_for_itself(depth: int) -> None:
    with pytest.raises(
        SchemaError,
        match=f"^schema: json_object depth {depth} leaves no room for the object itself; use 1 or more$",
    ):
        json_object_regex(depth)


def test_a_lone_surrogate_cannot_be_escaped() -> None:
    with pytest.raises(
        Refused, match=r"^text, position 1: U\+DFFF is a lone surrogate, not a character; remove it$"
    ):
        escape("a\udfff")


@pytest.mark.parametrize(("text", "position", "message"), TEXTS, ids=lambda v: ascii(v)[:24])
def test_a_text_that_is_no_json_is_refused_at_its_position(
    text: str | bytes, position: int, message: str
) -> None:
    with pytest.raises(JsonTextError) as refusal:
        loads(text)
    assert str(refusal.value) == f"JSON, position {position}: {message}"
    assert refusal.value.position == position


# Hostile sizes


def nested(wrap: Callable[[JsonValue], JsonValue], levels: int) -> JsonValue:
    value: JsonValue = {"type": "null"}
    for _ in range(levels):
        value = wrap(value)
    return value


def many(count: int, required: int) -> JsonValue:
    names = [f"member{index}" for index in range(count)]
    return {
        "type": "object",
        "properties": {name: {"type": "null"} for name in names},
        "required": [*names[:required]],
    }


def looped() -> JsonValue:
    schema: dict[str, JsonValue] = {"type": "array"}
    schema["items"] = schema
    return schema


HOSTILE: dict[str, tuple[Callable[[], object], type[Refused], str]] = {
    "a cube of repetitions": (
        lambda: regex_to_dfa("((a{1000}){1000}){1000}"),
        TooLarge,
        "max_nfa_states=500,000",
    ),
    "a tower of repetitions": (
        lambda: regex_to_dfa("(" * 900 + "a" + "){1000}" * 900),
        TooLarge,
        "max_nfa_states",
    ),
    "a cube of empty strings": (lambda: regex_to_dfa("((){1000}){1000}"), TooLarge, "max_nfa_states"),
    "a hundred thousand parentheses": (
        lambda: regex_to_dfa("(" * 100_000 + "a" + ")" * 100_000),
        TooLarge,
        "position 1000: groups are nested over max_nesting=1,000",
    ),
    "parentheses never closed": (
        lambda: regex_to_dfa("(?:" * 100_000),
        TooLarge,
        "position 3000: groups are nested",
    ),
    "a hundred thousand brackets": (lambda: regex_to_dfa("[" * 100_000), PatternError, "position 0: '['"),
    "brackets and their ends": (
        lambda: regex_to_dfa("[" * 100_000 + "]" * 100_000),
        TooLarge,
        "max_states=50,000",
    ),
    "ten megabytes": (
        lambda: regex_to_dfa("a" * 10_000_000),
        TooLarge,
        "10,000,000 characters are over max_length=1,000,000",
    ),
    "a megabyte of letters": (lambda: regex_to_dfa("a" * 1_000_000), TooLarge, "max_nfa_states"),
    "a megabyte of branches": (lambda: regex_to_dfa("a|" * 499_999), TooLarge, "max_nfa_states"),
    "a bound of a million digits": (
        lambda: regex_to_dfa("a{" + "9" * 900_000 + "}"),
        PatternError,
        "over 1000",
    ),
    "exponential subsets": (lambda: regex_to_dfa("[ab]*a[ab]{100}"), TooLarge, "max_states=50,000"),
    "large subsets": (lambda: regex_to_dfa("((a?){100}){100}"), TooLarge, "max_work=5,000,000"),
    "many epsilon edges": (lambda: regex_to_dfa("((|){300}a?){300}"), TooLarge, "max_work=5,000,000"),
    "a schema of nested arrays": (
        lambda: json_schema_to_regex(nested(lambda s: {"type": "array", "items": s}, 10_000)),
        TooLarge,
        "max_depth=512",
    ),
    "a schema of nested objects": (
        lambda: json_schema_to_regex(nested(lambda s: {"type": "object", "properties": {"a": s}}, 10_000)),
        TooLarge,
        "max_depth=512",
    ),
    "a schema of nested choices": (
        lambda: json_schema_to_regex(nested(lambda s: {"anyOf": [s, s]}, 10_000)),
        TooLarge,
        "max_depth=512",
    ),
    "a schema that holds itself": (lambda: json_schema_to_regex(looped()), TooLarge, "max_depth=512"),
    "arrays that double": (
        lambda: json_schema_to_regex(nested(lambda s: {"type": "array", "items": s}, 40)),
        TooLarge,
        "max_length=1,000,000",
    ),
    "ten thousand optional members": (
        lambda: json_schema_to_regex(many(10_000, 0)),
        TooLarge,
        "max_length=1,000,000",
    ),
    "ten thousand required members": (
        lambda: regex_to_dfa(json_schema_to_regex(many(10_000, 10_000))),
        TooLarge,
        "max_states",
    ),
    "any object of many levels": (lambda: json_object_regex(10**9), TooLarge, "max_length=1,000,000"),
    "a text nested ten million deep": (
        lambda: loads("[" * 10_000_000),
        JsonTextError,
        "position 512: containers are nested",
    ),
    "a schema text nested ten thousand deep": (
        lambda: schema_from_text('{"items":' * 10_000),
        JsonTextError,
        "position 4608",
    ),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_hostile_sizes_are_refused_in_bounded_time_and_memory(case: str) -> None:
    """About two seconds at most where this was written; ten here, because machines differ. And under 512 MiB more."""
    act, error, fragment = HOSTILE[case]
    before, started = peak_mib(), time.process_time()
    with pytest.raises(error) as refusal:
        act()
    assert fragment in str(refusal.value)
    assert time.process_time() - started < 10
    assert peak_mib() - before < 512


def peak_mib() -> float:
    """Peak resident memory of this process; Linux counts KiB, macOS bytes."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1 << 20 if sys.platform == "darwin" else 1 << 10)


def test_limits_are_parameters() -> None:
    """The same inputs pass once their limit is raised, and fail once it is lowered."""
    assert regex_to_dfa("(a{10}){10}", max_nfa_states=500).n_states == 101
    with pytest.raises(TooLarge, match="max_nfa_states=100 "):
        regex_to_dfa("(a{10}){10}", max_nfa_states=100)
    with pytest.raises(TooLarge, match="max_work=50 "):
        regex_to_dfa("(a?){10}", max_work=50)
    with pytest.raises(TooLarge, match="max_length=2"):
        parse("aaa", max_length=2)
    parse("((a))", max_nesting=2)
    with pytest.raises(TooLarge, match="max_nesting=1"):
        parse("((a))", max_nesting=1)
    with pytest.raises(TooLarge, match="max_depth=1 "):
        json_schema_to_regex({"anyOf": [{"type": "null"}]}, max_depth=1)
    with pytest.raises(TooLarge, match="max_length=3 "):
        json_schema_to_regex({"type": "null"}, max_length=3)
    with pytest.raises(JsonTextError, match="more than 1 deep"):
        loads("[[]]", max_depth=1)


def test_deep_values_are_no_problem_where_depth_is_none() -> None:
    """A const may nest as it likes: its text is written with a stack, and a thousand groups are within the limit."""
    deep: JsonValue = 0
    for _ in range(10_000):
        deep = [deep]
    assert json_schema_to_regex({"const": deep}) == escape(dumps(deep))
    assert regex_to_dfa("(" * 1000 + "a" + ")*" * 1000).n_states == 1
    assert json_schema_to_regex(many(3000, 1)).startswith(r"\{\"member0\":null(?:,\"member1\":null)?")
