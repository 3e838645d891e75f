"""Random patterns against Python's re, random texts against Python's json, equal languages with equal tables."""

import json
import random
import re
from collections.abc import Iterator
from typing import Any

import numpy as np

from engine.mutants.columns.shared import Witness, is_accepted, plain
from engine.mutants.questions import LANGUAGES
from reference.compile import regex_to_dfa
from reference.jsontext import dumps, loads
from reference.lookahead import forced_bytes


def properties() -> Witness:
    """Random patterns against Python's re, random texts against Python's json, equal languages with equal tables."""
    rng = random.Random(7)
    for one, other in (
        ("(?:a|b)*", "(?:b*a*)*"),
        ("aa*", "a+"),
        ("(?:ab)?(?:ab)?", "(?:ab){0,2}"),
        ("[a-c]d|ed", "[abce]d"),
    ):
        if plain(regex_to_dfa(one)) != plain(regex_to_dfa(other)):
            return f"{one!r} and {other!r} have different tables"
    for _ in range(150):
        pattern = _random_pattern(rng, 3)
        compiled, dfa = re.compile(pattern.encode()), regex_to_dfa(pattern)
        for text in _random_texts(rng):
            if dfa.matches(text) != (compiled.fullmatch(text) is not None):
                return f"{pattern!r} on {text!r}"
    return _json_property(rng) or _forced_property()


def _random_pattern(rng: random.Random, depth: int) -> str:
    kind = rng.randrange(8 if depth else 4)
    if kind < 2:
        return rng.choice(["a", "b", "é", r"\n", r"\.", r"\x80", "0"])
    if kind == 2:
        return rng.choice([".", r"\d", r"\W", r"\s", r"\S", r"\D", r"\w"])
    if kind == 3:
        return rng.choice(["[a-c]", "[^a]", r"[\d\-x]", r"[^\x00-\x60]", r"[\x7f-\x80]", "[0-9a-f]"])
    inner = [_random_pattern(rng, depth - 1) for _ in range(2)]
    if kind == 4:
        return f"(?:{inner[0]}|{inner[1]}|)"
    if kind == 5:
        return f"(?:{inner[0]}){rng.choice(['*', '+', '?', '{2}', '{1,3}', '{0,2}', '{2,}'])}"
    return inner[0] + inner[1]


def _random_texts(rng: random.Random) -> Iterator[bytes]:
    letters = [
        b"a",
        b"b",
        b"c",
        b"0",
        b".",
        b"\n",
        b" ",
        b"\x00",
        b"\x7f",
        b"\x80",
        b"\xff",
        "é".encode(),
        b"\xc3",
    ]
    for length in range(5):
        for _ in range(6):
            yield b"".join(rng.choice(letters) for _ in range(length))


def _json_property(rng: random.Random) -> Witness:
    for _ in range(300):
        value = _random_value(rng, 3)
        expected = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
        if dumps(value) != expected:
            return f"dumps {value!r}: {dumps(value)!r} where Python writes {expected!r}"
        spaced = json.dumps(value, indent=rng.choice([None, 1]), ensure_ascii=rng.random() < 0.5)
        if repr(loads(spaced)) != repr(value):
            return f"loads {spaced!r}: {loads(spaced)!r}"
    for text in ('{"a":1,"b":2,"a":3}', "-0", "-0.0", "1E5", "[" * 512 + "]" * 512):
        if repr(loads(text)) != repr(json.loads(text)):
            return f"loads {text[:40]!r}: {loads(text)!r}"
    for text in (
        "[" * 513 + "]" * 513,
        "NaN",
        "1e999",
        r'"\ud800"',
        "\ufeff1",
        "1 2",
        "01",
        "[1,]",
        '"\n"',
        "'a'",
    ):
        if is_accepted(loads, text):
            return f"loads accepts {text[:40]!r}"
    return None


def _random_value(rng: random.Random, depth: int) -> Any:
    kind = rng.randrange(7 if depth else 5)
    if kind == 5:
        return [_random_value(rng, depth - 1) for _ in range(rng.randrange(3))]
    if kind == 6:
        return {_random_text(rng): _random_value(rng, depth - 1) for _ in range(rng.randrange(3))}
    numbers: list[Any] = [0, -1, 10**25, 0.1, -0.0, 1e-5, 1.5e-05, 1e16, 1e22, 5e-324, 123456.789, 2.5]
    return rng.choice([None, True, False, _random_text(rng), rng.choice(numbers), rng.choice(numbers)])


def _random_text(rng: random.Random) -> str:
    return "".join(rng.choice('ab"\\/\n\t\x00\x1f\x7f\x80é漢😀\u2028\ufeff') for _ in range(rng.randrange(4)))


def _forced_property() -> Witness:
    """Along forced bytes no output may end and no other byte lives; after them it may end, or two bytes live."""
    for pattern, dialect in LANGUAGES:
        dfa = regex_to_dfa(pattern, dialect)
        for state in range(dfa.n_states):
            forced, here = forced_bytes(dfa, state), state
            for byte in forced:
                if dfa.accept[here] or list(np.flatnonzero(dfa.trans[here] >= 0)) != [byte]:
                    return f"{pattern!r}, state {state}: {forced!r} is not forced"
                here = int(dfa.trans[here, byte])
            if not dfa.accept[here] and np.count_nonzero(dfa.trans[here] >= 0) == 1:
                return f"{pattern!r}, state {state}: more than {forced!r} is forced"
    return None
