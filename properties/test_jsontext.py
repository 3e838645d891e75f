"""JSON text: the writer is Python's, the reader takes what Python's takes less what SPEC §3 refuses."""

import json
import random
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from reference.errors import JsonTextError, Refused
from reference.integers import digits_of, int_of
from reference.jsontext import MAX_DEPTH, JsonValue, dumps, loads, quote

characters = st.text(
    st.characters(exclude_categories=["Cs"]) | st.sampled_from('"\\/\b\f\n\r\t\x00\x1f\x7f\u2028😀'),
    max_size=8,
)
finite = st.floats(allow_nan=False, allow_infinity=False) | st.sampled_from(
    [-0.0, 1e16, 1.5e-05, 1e22, 5e-324, 1e-7, 123456789012345680.0]
)
scalars = st.none() | st.booleans() | st.integers() | finite | characters
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(characters, inner, max_size=4),
    max_leaves=12,
)


def python_text(value: object) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


@settings(max_examples=300, deadline=None)
@given(values)
def test_the_writer_writes_what_python_writes(value: JsonValue) -> None:
    assert dumps(value) == python_text(value)


@settings(max_examples=300, deadline=None)
@given(values)
def test_what_is_written_is_read_back_in_order(value: JsonValue) -> None:
    """loads(dumps(v)) is v with its types and its order: repr tells 1 from 1.0 and -0.0 from 0.0."""
    assert repr(loads(dumps(value))) == repr(value)
    assert repr(loads(dumps(value).encode())) == repr(value)


@pytest.mark.parametrize(
    ("text", "compact"),
    [
        ("-0", "0"),
        ("-0.0", "-0.0"),
        ("0.1", "0.1"),
        ("1.0", "1.0"),
        ("100", "100"),
        ("1.5E-5", "1.5e-05"),
        ("0.000015", "1.5e-05"),
        ("1e16", "1e+16"),
        ("1E+2", "100.0"),
        ("123456789012345678901234567890", "123456789012345678901234567890"),
        ("1e-400", "0.0"),
        (r'"\u00e9\/\u000A\u001f\u007f"', '"é/\\n\\u001f\x7f"'),
        (r'"\"\\\n\r\t\f\b"', r'"\"\\\n\r\t\f\b"'),
        (r'"\ud83d\ude00"', '"😀"'),
        (' { "b" : [ 1 , 2 ] , "a" : { } } ', '{"b":[1,2],"a":{}}'),
        ('{"a":1,"b":2,"a":3}', '{"a":3,"b":2}'),
        ("[]", "[]"),
        ("\t\r\n null\n", "null"),
        ("[true,false,null]", "[true,false,null]"),
    ],
)
def test_hand_examples_of_compact_text(text: str, compact: str) -> None:
    assert dumps(loads(text)) == compact
    assert python_text(json.loads(text)) == compact


class ForeignError(ValueError):
    """Python reads it, SPEC §3 refuses it."""


def foreign_constant(name: str) -> object:
    raise ForeignError(name)


def foreign_float(text: str) -> float:
    if abs(float(text)) == float("inf"):
        raise ForeignError(text)
    return float(text)


def whole_strings(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    for key, value in pairs:
        key.encode()
        python_text(value).encode()
    return dict(pairs)


def python_reads(text: str) -> object:
    """Python's value, or ValueError when Python or SPEC §3 refuses: NaN, infinities, surrogates (as ValueError too)."""
    value = json.loads(
        text, parse_constant=foreign_constant, parse_float=foreign_float, object_pairs_hook=whole_strings
    )
    python_text(value).encode()
    return value


def outcome(reader: Any, text: str) -> str:
    try:
        return repr(reader(text))
    except ValueError:
        return "refused"


@settings(max_examples=400, deadline=None)
@given(values, st.randoms(use_true_random=False), st.integers(0, 3))
def test_the_reader_takes_what_python_takes_on_damaged_texts(
    value: JsonValue, rng: random.Random, damages: int
) -> None:
    """Written with odd spaces and escapes, then a few characters deleted, doubled or replaced."""
    text = json.dumps(value, indent=rng.choice([None, 1]), ensure_ascii=rng.random() < 0.5)
    for _ in range(damages):
        place = rng.randrange(len(text) + 1)
        piece = rng.choice(
            [
                *'[]{}",:0123456789.eE+-\\ntu \n\x00\x0c\xa0',
                "\\ud83d",
                "\\ude00",
                "NaN",
                "1e999",
                "null",
                "\ufeff",
            ]
        )
        text = text[:place] + rng.choice([piece, ""]) + text[place + rng.randrange(2) :]
    assert outcome(loads, text) == outcome(python_reads, text), text


@settings(max_examples=400, deadline=None)
@given(st.text('[]{}",:01.eE+-\\ntrufalsNIi \n\u00e9', max_size=8))
@example("-Infinity")
@example('"\\ud83d\\ude00"')
@example('{"a":1e999,"a":1}')
@example('{"\\ud800":1}')
@example("1.e1")
@example("[01]")
@example("٣")
@example("")
def test_the_reader_takes_what_python_takes_on_short_texts(text: str) -> None:
    assert outcome(loads, text) == outcome(python_reads, text), text


@settings(max_examples=300, deadline=None)
@given(st.text('[]{}",:01e-\\u \ud800\ufeff', max_size=10) | st.binary(max_size=8))
def test_any_text_is_a_value_or_is_refused_at_a_position_inside_it(text: str | bytes) -> None:
    try:
        loads(text)
    except JsonTextError as error:
        place = error.position
    else:
        return
    assert 0 <= place <= len(text)


def test_containers_nest_to_512_levels_and_no_further() -> None:
    assert python_text(loads("[" * MAX_DEPTH + "]" * MAX_DEPTH)) == "[" * 512 + "]" * 512
    with pytest.raises(JsonTextError, match=r"^JSON, position 512: containers are nested more than 512 deep"):
        loads("[" * 513 + "]" * 513)
    with pytest.raises(
        JsonTextError, match=r"^JSON, position 2560: containers are nested more than 512 deep"
    ):
        loads('{"a":' * 100_000)


@pytest.mark.parametrize(("shape", "closing"), [("[", "]"), ("{", "}"), ("[{", "}]")])
def test_the_writer_writes_any_depth(shape: str, closing: str) -> None:
    """Tens of thousands of levels, where Python's own writer stops at its recursion limit."""
    value: JsonValue = 0
    for kind in reversed(shape * 20_000):
        value = {"a": value} if kind == "{" else [value]
    opening = shape.replace("{", '{"a":')
    assert dumps(value) == opening * 20_000 + "0" + closing * 20_000


@contextmanager
def digits_up_to(most: int) -> Iterator[None]:
    """Python's limit on its own conversions; 0 is none, and 640 the lowest that it takes."""
    before = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(most)
    try:
        yield
    finally:
        sys.set_int_max_str_digits(before)


@pytest.mark.parametrize("length", [1, 599, 600, 601, 1200, 1201, 4300, 4301, 20_000])
@pytest.mark.parametrize("sign", ["", "-"])
def test_integers_are_exact_at_any_size(length: int, sign: str) -> None:
    """Both ways against Python's own conversion with its limit lifted, and again with the limit in force."""
    rng = random.Random(length)
    digits = sign + rng.choice("123456789") + "".join(rng.choices("0123456789", k=length - 1))
    with digits_up_to(0):
        value = int(digits)
    assert loads(digits) == value == int_of(digits)
    assert dumps(value) == digits == digits_of(value)


@settings(max_examples=60, deadline=None)
@given(st.integers(2040, 60_000), st.integers(-2, 2), st.sampled_from([1, -1]))
def test_integers_near_powers_of_two_are_exact(bits: int, offset: int, sign: int) -> None:
    value = sign * ((1 << bits) + offset)
    with digits_up_to(0):
        digits = str(value)
    assert digits_of(value) == digits
    assert int_of(digits) == value


def test_zeros_inside_long_integers_stay() -> None:
    digits = "1" + "0" * 12_000 + "7"
    assert dumps(loads(f"[{digits},-{digits}]")) == f"[{digits},-{digits}]"


def test_a_key_given_twice_is_refused_in_a_schema_at_the_second_key() -> None:
    text = '{"type":"string","x":{"type":1},"type":"null"}'
    assert loads(text) == {"type": "null", "x": {"type": 1}}
    with pytest.raises(JsonTextError, match=r'^JSON, position 32: the key "type" is given twice; keep one$'):
        loads(text, unique_keys=True)
    assert loads('[{"a":1},{"a":2}]', unique_keys=True) == [{"a": 1}, {"a": 2}]


@settings(max_examples=200, deadline=None)
@given(characters)
def test_a_quoted_text_is_the_json_string(text: str) -> None:
    assert quote(text) == python_text(text)
    assert loads(quote(text)) == text


def test_a_value_that_is_used_twice_is_no_cycle() -> None:
    shared: JsonValue = [1]
    assert dumps([shared, {"a": shared}]) == '[[1],{"a":[1]}]'


def cyclic() -> JsonValue:
    value: list[JsonValue] = []
    value.append({"again": value})
    return value


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (float("nan"), "JSON value: nan has no JSON text; use null, a string or a finite number"),
        ([float("-inf")], "JSON value: -inf has no JSON text; use null, a string or a finite number"),
        (
            {"a": b"x"},
            "JSON value: a value of Python's type bytes has no JSON text; use null, a string or a finite number",
        ),
        ({1: 2}, "JSON value: a key of Python's type int is not a string; keys are strings"),
        ({10**5000: 2}, "JSON value: a key of Python's type int is not a string; keys are strings"),
        (["a\ud800"], "JSON string, position 1: U+D800 is a lone surrogate, not a character; remove it"),
        ({"\udfff": 1}, "JSON string, position 0: U+DFFF is a lone surrogate, not a character; remove it"),
        (cyclic(), "JSON value: a container holds itself, which no text can say; break the cycle"),
    ],
)
def test_what_has_no_json_text_is_refused(value: Any, message: str) -> None:
    with pytest.raises(Refused) as refusal:
        dumps(value)
    assert str(refusal.value) == message
