"""Schema → pattern: the texts of SPEC §4 to the letter, and the language against `jsonschema`, both ways."""

import json
import random
from typing import Any

import jsonschema
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from engine.suite import languages
from properties.pattern_strategies import walks
from reference.compile import regex_to_dfa
from reference.dfa import DEAD, Dfa
from reference.jsontext import JsonValue, dumps
from reference.schema import (
    ANNOTATIONS,
    BOOLEAN,
    INTEGER,
    NULL,
    NUMBER,
    STRING,
    escape,
    json_object_regex,
    json_schema_to_regex,
    schema_from_text,
)

SPEC_STRING = (
    '"(?:[\\x20\\x21\\x23-\\x5b\\x5d-\\x7f]|[\\xc2-\\xdf][\\x80-\\xbf]|\\xe0[\\xa0-\\xbf][\\x80-\\xbf]|[\\xe1-\\xec\\xee\\xef]'
    "[\\x80-\\xbf]{2}|\\xed[\\x80-\\x9f][\\x80-\\xbf]|\\xf0[\\x90-\\xbf][\\x80-\\xbf]{2}|[\\xf1-\\xf3][\\x80-\\xbf]{3}|"
    '\\xf4[\\x80-\\x8f][\\x80-\\xbf]{2}|\\\\["\\\\/bfnrt]|\\\\u[0-9a-fA-F]{4})*"'
)


def test_the_constants_are_those_of_the_spec() -> None:
    assert STRING == SPEC_STRING
    assert INTEGER == "-?(?:0|[1-9][0-9]*)"
    assert NUMBER == "-?(?:0|[1-9][0-9]*)(?:\\.[0-9]+)?(?:[eE][+\\-]?[0-9]+)?"
    assert (BOOLEAN, NULL) == ("(?:true|false)", "null")


def typed(name: str, **keywords: Any) -> dict[str, Any]:
    return {"type": name, **keywords}


INT = typed("integer")
NUL = typed("null")


@pytest.mark.parametrize(
    ("schema", "pattern"),
    [
        (typed("string"), STRING),
        (INT, INTEGER),
        (typed("number"), NUMBER),
        (typed("boolean"), BOOLEAN),
        (NUL, NULL),
        (typed("object"), r"\{\}"),
        (
            typed("object", properties={"city": typed("string")}, required=["city"]),
            r"\{\"city\":" + STRING + r"\}",
        ),
        (
            typed("object", properties={"x": INT, "y": INT}),
            rf"\{{(?:\"x\":{INTEGER}(?:,\"y\":{INTEGER})?|(?:\"y\":{INTEGER}|))\}}",
        ),
        (
            typed("object", properties={"x": NUL, "y": NUL}, required=["y"]),
            r"\{(?:\"x\":null,\"y\":null|\"y\":null)\}",
        ),
        (typed("object", properties={"x": NUL, "y": NUL}, required=["x"]), r"\{\"x\":null(?:,\"y\":null)?\}"),
        (typed("object", properties={"b": NUL, "a": NUL}, required=["a", "b"]), r"\{\"b\":null,\"a\":null\}"),
        (
            typed("object", properties={"a": NUL, "b": NUL, "c": NUL}),
            r"\{(?:\"a\":null(?:,\"b\":null)?(?:,\"c\":null)?|(?:\"b\":null(?:,\"c\":null)?|(?:\"c\":null|)))\}",
        ),
        (typed("object", properties={'a.b "é': NUL}, required=['a.b "é']), r"\{\"a\.b\ \\\"é\":null\}"),
        (typed("array", items=NUL), r"\[(?:null(?:,null)*)?\]"),
        (typed("array", items=NUL, minItems=0), r"\[(?:null(?:,null)*)?\]"),
        (typed("array", items=NUL, minItems=1), r"\[null(?:,null)*\]"),
        (typed("array", items=NUL, minItems=2), r"\[null(?:,null){1,}\]"),
        (typed("array", items=NUL, maxItems=0), r"\[\]"),
        (typed("array", items=NUL, minItems=0, maxItems=0), r"\[\]"),
        (typed("array", items=NUL, maxItems=1), r"\[(?:null(?:,null){0,0})?\]"),
        (typed("array", items=NUL, maxItems=3), r"\[(?:null(?:,null){0,2})?\]"),
        (typed("array", items=NUL, minItems=1, maxItems=1), r"\[null(?:,null){0,0}\]"),
        (typed("array", items=NUL, minItems=2, maxItems=5), r"\[null(?:,null){1,4}\]"),
        ({"const": 2.5}, r"2\.5"),
        ({"const": {"a": [1, "x y"]}}, r"\{\"a\"\:\[1\,\"x\ y\"\]\}"),
        ({"enum": ["a", 1, None, True, -0.0, 1e16]}, r"(?:\"a\"|1|null|true|\-0\.0|1e\+16)"),
        ({"enum": ["one"]}, r"(?:\"one\")"),
        ({"type": "string", "enum": ["a"], "title": "t"}, r"(?:\"a\")"),
        ({"type": "integer", "enum": [1, 2.0]}, r"(?:1|2\.0)"),
        ({"type": "number", "const": 1}, "1"),
        ({"anyOf": [NUL, INT]}, f"(?:null|{INTEGER})"),
        ({"anyOf": [NUL]}, "(?:null)"),
    ],
)
def test_pattern_texts_to_the_letter(schema: JsonValue, pattern: str) -> None:
    assert json_schema_to_regex(schema) == pattern


def test_optional_members_take_their_commas_with_them() -> None:
    """SPEC §4's hand example, pitfall s03: every subset of the members, in order, and nothing else."""
    dfa = regex_to_dfa(json_schema_to_regex(typed("object", properties={"x": INT, "y": INT})))
    for text in ["{}", '{"x":1}', '{"y":2}', '{"x":1,"y":2}']:
        assert dfa.matches(text.encode())
    for text in ['{"x":1"y":2}', '{"y":2,"x":1}', '{"x":1,}', '{,"y":2}', '{"x":1,"x":1}', "", "{"]:
        assert not dfa.matches(text.encode())


def test_annotations_do_not_change_the_pattern() -> None:
    for annotation in ANNOTATIONS:
        assert json_schema_to_regex({annotation: {"type": 1}, **INT}) == INTEGER
        assert json_schema_to_regex({"const": 1, annotation: None}) == "1"
        assert json_schema_to_regex({annotation: [], "anyOf": [INT]}) == f"(?:{INTEGER})"
    assert json_schema_to_regex(typed("object", additionalProperties=False)) == r"\{\}"


def test_the_order_of_a_schema_text_is_the_order_of_members() -> None:
    """Pitfall s02: not sorted, and `required` has no say."""
    text = '{"required":["a","z"],"properties":{"z":{"type":"null"},"a":{"type":"null"}},"type":"object"}'
    assert json_schema_to_regex(schema_from_text(text)) == r"\{\"z\":null,\"a\":null\}"


@settings(max_examples=200, deadline=None)
@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=8))
@example("\x00\x1f\x7f\x80 _aZ9~é😀")
@example(r"\[](){}^$.|*+?-/")
def test_an_escaped_text_matches_itself_alone(text: str) -> None:
    """L(escape(t)) = {utf8(t)}: a chain with one accepting state at its end."""
    dfa = regex_to_dfa(escape(text))
    assert dfa.matches(text.encode())
    assert dfa.n_states == len(text.encode()) + 1
    assert int((dfa.trans != DEAD).sum()) == len(text.encode())
    assert dfa.accept.nonzero()[0].tolist() == [len(text.encode())]


def test_escapes_to_the_letter() -> None:
    assert escape("aZ09_") == "aZ09_"
    assert escape(" -/\"'`~") == "\\ \\-\\/\\\"\\'\\`\\~"
    assert escape("\n\x00\x7f") == r"\x0a\x00\x7f"
    assert escape("é漢😀\x80") == "é漢😀\x80"


# What a schema means: against jsonschema. Names are drawn and kept sorted, so that order never decides.

NAMES = ["", "a", "b.c", 'd"', "é"]
VALUES: list[JsonValue] = [
    None,
    True,
    False,
    0,
    -7,
    12,
    2.5,
    -1.5e-05,
    "",
    "a",
    "b.c",
    'q"\\\n',
    "漢",
    [],
    [1, "a"],
    {},
    {"a": None},
]


def objects(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Objects with sorted names, some of them required."""
    properties = st.dictionaries(st.sampled_from(NAMES), inner, max_size=3).map(
        lambda d: dict(sorted(d.items()))
    )
    return properties.flatmap(
        lambda d: st.sets(st.sampled_from(sorted(d))) if d else st.just(set[str]())
    ).flatmap(lambda required: properties.map(lambda d: with_required(d, required)))


def with_required(properties: dict[str, Any], required: set[str]) -> dict[str, Any]:
    names = sorted(required & set(properties))
    return typed("object", properties=properties, required=names, additionalProperties=False)


def arrays(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    bounds = st.tuples(st.none() | st.integers(0, 2), st.none() | st.integers(0, 2))
    return st.tuples(inner, bounds).map(with_bounds)


def with_bounds(drawn: tuple[Any, tuple[int | None, int | None]]) -> dict[str, Any]:
    items, (low, more) = drawn
    schema = typed("array", items=items)
    if low is not None:
        schema["minItems"] = low
    if more is not None:
        schema["maxItems"] = (low or 0) + more
    return schema


SCALARS = st.sampled_from(["string", "integer", "number", "boolean", "null"]).map(typed)
CHOICES = st.lists(st.sampled_from(VALUES), min_size=1, max_size=3).map(
    lambda v: {"enum": v}
) | st.sampled_from(VALUES).map(lambda v: {"const": v})
SCHEMAS = st.recursive(
    SCALARS | CHOICES,
    lambda inner: (
        objects(inner) | arrays(inner) | st.lists(inner, min_size=1, max_size=3).map(lambda s: {"anyOf": s})
    ),
    max_leaves=5,
)
INSTANCES = st.recursive(
    st.sampled_from(VALUES),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(NAMES), inner, max_size=3).map(lambda d: dict(sorted(d.items())))
    ),
    max_leaves=5,
)


def member(schema: dict[str, Any], rng: random.Random) -> JsonValue:
    """A valid instance, members in order: drawn from the schema itself."""
    if "const" in schema:
        return schema["const"]  # type: ignore[no-any-return]
    if "enum" in schema:
        return rng.choice(schema["enum"])  # type: ignore[no-any-return]
    if "anyOf" in schema:
        return member(rng.choice(schema["anyOf"]), rng)
    match schema["type"]:
        case "object":
            kept = (n for n in schema["properties"] if n in schema["required"] or rng.random() < 0.5)
            return {name: member(schema["properties"][name], rng) for name in kept}
        case "array":
            low = schema.get("minItems", 0)
            return [
                member(schema["items"], rng) for _ in range(rng.randint(low, schema.get("maxItems", low + 2)))
            ]
        case "string":
            return rng.choice(["", "plain", 'q"\\\n\x01\x7f', "é漢😀\u2028"])
        case "integer":
            return rng.choice([0, -1, 10, 10**30])
        case "number":
            return rng.choice([0, -1, 2.5, -0.0, 1e16, 1.5e-05, 5e-324])
        case "boolean":
            return rng.random() < 0.5
    return None


@settings(max_examples=120, deadline=None)
@given(SCHEMAS, st.randoms(use_true_random=False))
def test_every_valid_instance_is_in_the_language(schema: dict[str, Any], rng: random.Random) -> None:
    dfa = regex_to_dfa(json_schema_to_regex(schema))
    for _ in range(8):
        instance = member(schema, rng)
        jsonschema.validate(instance, schema)
        assert dfa.matches(dumps(instance).encode()), instance


@settings(max_examples=150, deadline=None)
@given(SCHEMAS, st.lists(INSTANCES, min_size=5, max_size=20))
def test_an_instance_is_in_the_language_exactly_when_it_validates(
    schema: dict[str, Any], instances: list[JsonValue]
) -> None:
    """No value drawn is a whole number written as a float, whose text an INTEGER is not."""
    dfa = regex_to_dfa(json_schema_to_regex(schema))
    judge = jsonschema.Draft202012Validator(schema)
    for instance in instances:
        assert dfa.matches(dumps(instance).encode()) == judge.is_valid(instance), instance


@settings(max_examples=120, deadline=None)
@given(SCHEMAS, st.randoms(use_true_random=False))
def test_one_change_to_a_valid_instance_is_judged_as_jsonschema_judges(
    schema: dict[str, Any], rng: random.Random
) -> None:
    """A member dropped, added or exchanged, somewhere inside."""
    dfa = regex_to_dfa(json_schema_to_regex(schema))
    judge = jsonschema.Draft202012Validator(schema)
    for _ in range(8):
        instance = changed(member(schema, rng), rng)
        if not has_whole_float(instance):
            assert dfa.matches(dumps(instance).encode()) == judge.is_valid(instance), instance


def changed(value: JsonValue, rng: random.Random) -> JsonValue:
    if isinstance(value, list) and value and rng.random() < 0.7:
        place = rng.randrange(len(value))
        return [
            *value[:place],
            *rng.choice([[], [changed(value[place], rng)], [value[place]] * 2]),
            *value[place + 1 :],
        ]
    if isinstance(value, dict) and rng.random() < 0.7:
        name = rng.choice(NAMES)
        other = changed(value.get(name), rng)
        kept = {key: each for key, each in value.items() if key != name}
        return dict(sorted((kept if rng.random() < 0.5 else kept | {name: other}).items()))
    return rng.choice(VALUES)


def has_whole_float(value: JsonValue) -> bool:
    if isinstance(value, dict):
        return any(map(has_whole_float, value.values()))
    if isinstance(value, list):
        return any(map(has_whole_float, value))
    return isinstance(value, float) and value.is_integer()


@settings(max_examples=120, deadline=None)
@given(SCHEMAS, st.integers(0, 2**32))
def test_every_string_of_the_language_parses_and_validates(schema: dict[str, Any], seed: int) -> None:
    """Random walks that end in an accepting state, strings with escapes and multi-byte text among them."""
    dfa = regex_to_dfa(json_schema_to_regex(schema))
    judge = jsonschema.Draft202012Validator(schema)
    for data in whole_walks(dfa, seed):
        judge.validate(json.loads(data))


def whole_walks(dfa: Dfa, seed: int) -> list[bytes]:
    return [data for data in walks(dfa, seed, 30, longest=60) if dfa.matches(data)]


@pytest.mark.parametrize(
    "language", [language for language in languages() if language.kind == "schema"], ids=lambda each: each.id
)
def test_the_suites_schemas_are_the_languages_jsonschema_describes(language: Any) -> None:
    """Walks of each schema of the suite parse, validate once additional properties are closed, and exist."""
    dfa = regex_to_dfa(language.pattern)
    judge = jsonschema.Draft202012Validator(closed(json.loads(language.source)))
    found = [data for seed in range(4) for data in walks(dfa, seed, 100, longest=200) if dfa.matches(data)]
    assert found
    for data in found:
        judge.validate(json.loads(data))


def closed(schema: Any) -> Any:
    if isinstance(schema, list):
        return [closed(each) for each in schema]
    if not isinstance(schema, dict) or "const" in schema or "enum" in schema:
        return schema
    inner = {key: closed(value) for key, value in schema.items()}
    return inner | {"additionalProperties": False} if schema.get("type") == "object" else inner


# json_object_regex


def test_any_object_is_built_as_the_spec_builds_it() -> None:
    scalar = f"(?:{STRING}|{NUMBER}|true|false|null)"
    assert json_object_regex(1) == rf"\{{(?:{STRING}:{scalar}(?:,{STRING}:{scalar})*)?\}}"
    array, inner = rf"\[(?:{scalar}(?:,{scalar})*)?\]", json_object_regex(1)
    value = f"(?:{STRING}|{NUMBER}|true|false|null|{array}|{inner})"
    assert json_object_regex(2) == rf"\{{(?:{STRING}:{value}(?:,{STRING}:{value})*)?\}}"


def depth_of(value: JsonValue) -> int:
    if isinstance(value, dict):
        return 1 + max(map(depth_of, value.values()), default=0)
    return 1 + max(map(depth_of, value), default=0) if isinstance(value, list) else 0


OBJECT_TABLES = {depth: regex_to_dfa(json_object_regex(depth)) for depth in (1, 2, 3)}


@settings(max_examples=200, deadline=None)
@given(INSTANCES, st.sampled_from([1, 2, 3]))
@example({"a": [[{}]]}, 3)
@example({"a": [[]]}, 3)
@example({}, 1)
def test_an_object_is_in_exactly_when_its_containers_nest_within_the_depth(
    value: JsonValue, depth: int
) -> None:
    expected = isinstance(value, dict) and depth_of(value) <= depth
    assert OBJECT_TABLES[depth].matches(dumps(value).encode()) == expected


@pytest.mark.parametrize(
    "text", ["[]", "1", '"a"', "null", "{", '{"a"}', '{"a":1,}', "{a:1}", '{"a":1}{"a":1}', '{"a": 1}', ""]
)
def test_whatever_is_no_compact_object_is_out(text: str) -> None:
    assert not any(table.matches(text.encode()) for table in OBJECT_TABLES.values())
