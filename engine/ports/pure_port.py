"""A whole constrained-decoding engine and its port in one file: standard library only, nothing of the suite.

This is the worked example of docs/porting.md. The parts are those of any engine of this kind, in this order:

    pattern text -> tree over bytes (`Parser`) -> automaton without dead ends (`Nfa`) -> states made when met (`Lazy`)
    schema text  -> pattern text (`schema_pattern`)
    vocabulary   -> byte trie (`Trie`); one walk of the trie beside the automaton is a mask (`Grammar.mask`)
    requests     -> `Engine`, one method an op; `main` reads a request a line and writes an answer a line

A token is allowed when the automaton survives all of its bytes. Nothing is dead inside `Nfa`, so whoever survives
can still be finished: that is the whole argument for the masks being exact.
"""

import base64
import json
import math
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NoReturn

PORT = {
    "name": "pure",
    "about": "pure Python in one file, imports nothing of the suite; the worked example of docs/porting.md",
    "distributions": [],
}

Tree = tuple[Any, ...]
Ranges = list[tuple[int, int]]
Bounds = tuple[int, int | None]
Schema = dict[str, Any]
Fields = dict[str, Any]

DEAD = -1
DONE = -2
UNKNOWN = -3
FORK = -1
MAX_REPEAT = 1000
MAX_STATES = 200_000
MAX_DEPTH = 512
MAX_LEAST = 500


class Failure(Exception):  # noqa: N818
    """An honest error answer; the kind is one of the protocol's."""

    def __init__(self, kind: str, message: str) -> None:
        """Keep the kind beside the message."""
        super().__init__(message)
        self.kind = kind


# ---- Pattern text -> tree over bytes: ("byte", 256 bits), ("sequence", trees), ("choice", trees),
# ---- ("repeat", tree, least, most); most is None when there is no end. Character sets are lists of ranges.

DIGITS = [(0x30, 0x39)]
WORDS = [(0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A)]
SPACES = [(0x09, 0x0D), (0x20, 0x20)]
NEWLINE = [(0x0A, 0x0A)]
CONTROLS = {"n": 0x0A, "r": 0x0D, "t": 0x09, "f": 0x0C, "v": 0x0B}
PUNCTUATION = set("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~ ")


class Parser:
    """Reads one pattern of the dialect `bytes` or `unicode`."""

    def __init__(self, text: str, dialect: str) -> None:
        """Begin at the first character."""
        self.text, self.place = text, 0
        self.unicode = dialect == "unicode"
        self.last = 0x10FFFF if self.unicode else 0xFF

    def fail(self, message: str, place: int | None = None) -> NoReturn:
        """Say what is wrong and where."""
        raise Failure("invalid", f"pattern, position {self.place if place is None else place}: {message}")

    def peek(self, length: int = 1) -> str:
        """The next characters, not taken; empty at the end."""
        return self.text[self.place : self.place + length]

    def take(self) -> str:
        """The next character, taken."""
        character = self.peek()
        self.place += 1
        return character

    def parse(self) -> Tree:
        """The tree of the whole pattern."""
        tree = self.choice()
        if self.peek():
            self.fail("')' closes nothing")
        return tree

    def choice(self) -> Tree:
        """Branches between bars."""
        branches = [self.sequence()]
        while self.peek() == "|":
            self.take()
            branches.append(self.sequence())
        return ("choice", branches)

    def sequence(self) -> Tree:
        """Atoms with their quantifiers."""
        items = []
        while self.peek() not in ("", "|", ")"):
            items.append(self.repeated(self.atom()))
        return ("sequence", items)

    def repeated(self, tree: Tree) -> Tree:
        """The tree under its quantifier, if one follows."""
        bounds = self.quantifier()
        if bounds is None:
            return tree
        place = self.place
        if self.quantifier() is not None:
            self.fail("a quantifier cannot follow a quantifier", place)
        return ("repeat", tree, *bounds)

    def quantifier(self) -> Bounds | None:
        """The bounds of a quantifier, if one is next."""
        bounds = {"*": (0, None), "+": (1, None), "?": (0, 1)}.get(self.peek())
        if bounds:
            self.take()
            return bounds
        return self.counted() if self.peek() == "{" else None

    def counted(self) -> Bounds:
        """The bounds in braces."""
        end = self.text.find("}", self.place)
        least, comma, most = self.text[self.place + 1 : max(end, self.place)].partition(",")
        if not (is_number(least) and (is_number(most) or not most)):
            self.fail("'{' begins no repetition; put a backslash before it to mean the character")
        low = int(least)
        high = int(most) if most else None if comma else low
        if max(low, high or 0) > MAX_REPEAT:
            self.fail(f"a bound over {MAX_REPEAT}")
        if high is not None and high < low:
            self.fail("the bounds of the repetition are out of order")
        self.place = end + 1
        return low, high

    def atom(self) -> Tree:
        """One character, set, group or escape."""
        place, character = self.place, self.take()
        if character == "(":
            return self.group(place)
        if character == "[":
            return self.bracket(place)
        if character == ".":
            return self.characters(complement(NEWLINE, self.last))
        if character == "\\":
            return self.characters(self.escape())
        if character in "*+?{":
            self.fail("there is nothing to repeat", place)
        if character in "^$":
            self.fail("anchors are not in the dialect; a pattern always matches the whole text", place)
        return ("sequence", [("byte", 1 << byte) for byte in encoded(character)])

    def group(self, place: int) -> Tree:
        """What is in parentheses."""
        if self.peek() == "?":
            if self.peek(2) != "?:":
                self.fail("'(?' other than '(?:' is not in the dialect", place)
            self.place += 2
        inner = self.choice()
        if self.take() != ")":
            self.fail("'(' is never closed", place)
        return inner

    def bracket(self, place: int) -> Tree:
        """The set in brackets."""
        negated = self.peek() == "^"
        if negated:
            self.take()
        if self.peek() == "]":
            self.fail("an empty set", place)
        ranges = []
        while self.peek() != "]":
            if not self.peek():
                self.fail("'[' is never closed", place)
            ranges += self.range()
        self.take()
        return self.characters(complement(ranges, self.last) if negated else ranges)

    def range(self) -> Ranges:
        """One member of a set, or a range of them."""
        place, low = self.place, self.member()
        if self.peek() != "-" or self.peek(2) in ("-]", "-"):
            return low
        self.take()
        high = self.member()
        if not (is_single(low) and is_single(high)):
            self.fail("a class cannot end a range", place)
        if low[0][0] > high[0][0]:
            self.fail("the range is out of order", place)
        return [(low[0][0], high[0][0])]

    def member(self) -> Ranges:
        """One character or class of a set."""
        character = self.take()
        if character == "\\":
            return self.escape()
        if ord(character) > 127 and not self.unicode:
            self.fail("only ASCII may stand in brackets in the dialect of bytes", self.place - 1)
        return single(ord(character))

    def escape(self) -> Ranges:
        """What a backslash and the characters after it stand for."""
        place, character = self.place - 1, self.take()
        if character in ("d", "w", "s"):
            return {"d": DIGITS, "w": WORDS, "s": SPACES}[character]
        if character in ("D", "W", "S"):
            return complement({"D": DIGITS, "W": WORDS, "S": SPACES}[character], self.last)
        if character in CONTROLS:
            return single(CONTROLS[character])
        if character == "x":
            return single(self.hexadecimal(2, place))
        if character == "u" and self.unicode:
            return single(self.code_point(place))
        if character not in PUNCTUATION:
            self.fail(f"unknown escape '\\{character}'", place)
        return single(ord(character))

    def hexadecimal(self, length: int, place: int) -> int:
        """The number in the next hexadecimal digits."""
        digits = self.peek(length)
        if len(digits) != length or not set(digits) <= set("0123456789abcdefABCDEF") or not digits:
            self.fail("hexadecimal digits are wanted", place)
        self.place += length
        return int(digits, 16)

    def code_point(self, place: int) -> int:
        """The number after a backslash and u, with or without braces."""
        if self.peek() != "{":
            return self.hexadecimal(4, place)
        self.take()
        value = self.hexadecimal(self.text.find("}", self.place) - self.place, place)
        if self.take() != "}" or value > self.last:
            self.fail("no code point", place)
        return value

    def characters(self, ranges: Ranges) -> Tree:
        """The tree that reads one character of the ranges."""
        if not self.unicode:
            return ("byte", bits(ranges))
        rows = utf8_rows(without_surrogates(ranges))
        return ("choice", [("sequence", [("byte", bits([part])) for part in row]) for row in rows])


def is_number(text: str) -> bool:
    """Whether the text is digits and nothing else."""
    return text.isascii() and text.isdigit()


def single(code: int) -> Ranges:
    """The set of one character."""
    return [(code, code)]


def is_single(ranges: Ranges) -> bool:
    """Whether the set has one character."""
    return len(ranges) == 1 and ranges[0][0] == ranges[0][1]


def encoded(character: str) -> bytes:
    """The UTF-8 bytes of a character."""
    try:
        return character.encode()
    except UnicodeEncodeError:
        raise Failure("invalid", "pattern: half of a surrogate pair is no character") from None


def bits(ranges: Iterable[tuple[int, int]]) -> int:
    """Ranges of bytes as a number whose bit b says that byte b is in."""
    result = 0
    for low, high in ranges:
        result |= (1 << high + 1) - (1 << low)
    return result


def complement(ranges: Ranges, last: int) -> Ranges:
    """Everything from 0 to `last` that is in none of the ranges."""
    result, low = [], 0
    for first, end in sorted(ranges):
        if low < first:
            result.append((low, first - 1))
        low = max(low, end + 1)
    return result + ([(low, last)] if low <= last else [])


def without_surrogates(ranges: Ranges) -> Ranges:
    """The ranges with U+D800 to U+DFFF cut out."""
    cut = [part for low, high in ranges for part in ((low, min(high, 0xD7FF)), (max(low, 0xE000), high))]
    return [(low, high) for low, high in cut if low <= high]


def utf8_rows(ranges: Ranges) -> Iterator[Ranges]:
    """Code points as sequences of byte ranges: one sequence for a block of points that share their lead bytes."""
    for low, high in ranges:
        for first, last in ((0, 0x7F), (0x80, 0x7FF), (0x800, 0xFFFF), (0x10000, 0x10FFFF)):
            if max(low, first) <= min(high, last):
                yield from utf8_split(chr(max(low, first)).encode(), chr(min(high, last)).encode())


def utf8_split(low: bytes, high: bytes) -> Iterator[Ranges]:
    """The sequences from `low` to `high`, two encodings of one length."""
    if len(low) == 1:
        yield [(low[0], high[0])]
    elif low[0] == high[0]:
        for tail in utf8_split(low[1:], high[1:]):
            yield [(low[0], low[0]), *tail]
    else:
        rest = len(low) - 1
        yield from utf8_split(low, low[:1] + b"\xbf" * rest)
        if high[0] - low[0] > 1:
            yield [(low[0] + 1, high[0] - 1)] + [(0x80, 0xBF)] * rest
        yield from utf8_split(high[:1] + b"\x80" * rest, high)


# ---- Tree -> automaton. State 0 is the end; the others read one byte of a set, or fork without reading.


class Nfa:
    """The automaton of a tree; `live` are the states from which the end can be reached."""

    def __init__(self, tree: Tree) -> None:
        """Build backwards from the end, then find what reaches it."""
        self.sets = [0]
        self.following: list[list[int]] = [[]]
        self.start = self.build(tree, 0)
        self.live = self.backwards(0)

    def add(self, byte_set: int, following: list[int]) -> int:
        """A new state; FORK in place of a set reads nothing."""
        if len(self.sets) > MAX_STATES:
            raise Failure("refused", f"the pattern takes more than {MAX_STATES} states")
        self.sets.append(byte_set)
        self.following.append(following)
        return len(self.sets) - 1

    def build(self, tree: Tree, after: int) -> int:
        """The state that reads `tree` and goes on to `after`."""
        kind, inner = tree[0], tree[1]
        if kind == "byte":
            return self.add(inner, [after])
        if kind == "choice":
            return self.add(FORK, [self.build(branch, after) for branch in inner])
        if kind == "sequence":
            for part in reversed(inner):
                after = self.build(part, after)
            return after
        return self.repeat(inner, tree[2], tree[3], after)

    def repeat(self, tree: Tree, least: int, most: int | None, after: int) -> int:
        """Copies that must be read, then copies that may be, or a loop."""
        start = after
        if most is None:
            start = self.add(FORK, [after])
            self.following[start].append(self.build(tree, start))
        for _ in range(least, most or least):
            start = self.add(FORK, [self.build(tree, start), after])
        for _ in range(least):
            start = self.build(tree, start)
        return start

    def backwards(self, end: int) -> set[int]:
        """The states from which `end` can be reached."""
        before: list[list[int]] = [[] for _ in self.sets]
        for state, following in enumerate(self.following):
            if self.sets[state] != 0:  # a state that reads from the empty set leads nowhere
                for target in following:
                    before[target].append(state)
        found, waiting = {end}, [end]
        while waiting:
            for state in before[waiting.pop()]:
                if state not in found:
                    found.add(state)
                    waiting.append(state)
        return found

    def closure(self, states: list[int]) -> frozenset[int]:
        """The live states that are reached without reading: those that read, and the end."""
        found, seen, waiting = set(), set(), list(states)
        while waiting:
            state = waiting.pop()
            if state in seen or state not in self.live:
                continue
            seen.add(state)
            if self.sets[state] != FORK:
                found.add(state)
            else:
                waiting += self.following[state]
        return frozenset(found)


class Lazy:
    """The deterministic automaton, made state by state as states are met; 0 is the start."""

    def __init__(self, nfa: Nfa) -> None:
        """Make the start; a pattern without any match is refused."""
        self.nfa = nfa
        self.members: list[frozenset[int]] = []
        self.numbers: dict[frozenset[int], int] = {}
        self.rows: list[list[int]] = []
        if self.number(nfa.closure([nfa.start])) == DEAD:
            raise Failure("invalid", "the pattern matches nothing at all")

    def number(self, members: frozenset[int]) -> int:
        """The number of a set of states, a new one when it is met first."""
        if not members:
            return DEAD
        if members not in self.numbers:
            if len(self.members) > MAX_STATES:
                raise Failure("refused", f"the pattern takes more than {MAX_STATES} states")
            self.numbers[members] = len(self.members)
            self.members.append(members)
            self.rows.append([UNKNOWN] * 256)
        return self.numbers[members]

    def accepts(self, state: int) -> bool:
        """Whether the bytes that led here are a whole match."""
        return 0 in self.members[state]

    def step(self, state: int, byte: int) -> int:
        """The state after one byte, DEAD when nothing can follow."""
        target = self.rows[state][byte]
        if target == UNKNOWN:
            target = self.fill(state, byte)
        return target

    def fill(self, state: int, byte: int) -> int:
        """Find the step, and write it down for every byte that the members of the state treat alike."""
        nfa, alike, reached = self.nfa, (1 << 256) - 1, []
        for member in self.members[state]:
            if nfa.sets[member] >> byte & 1:
                alike &= nfa.sets[member]
                reached += nfa.following[member]
            else:
                alike &= ~nfa.sets[member]
        target = self.number(nfa.closure(reached))
        row = self.rows[state]
        for other in range(256):
            if alike >> other & 1:
                row[other] = target
        return target


def canonical(lazy: Lazy) -> tuple[list[int], list[list[int]]]:
    """(accept, table): the least automaton, numbered breadth-first in the order of bytes."""
    rows, state = [], 0
    while state < len(lazy.members):
        rows.append([lazy.step(state, byte) for byte in range(256)])
        state += 1
    narrow = list(zip(*dict.fromkeys(zip(*rows, strict=True)), strict=True))  # each column once
    blocks = [int(lazy.accepts(state)) for state in range(len(rows))]
    while True:
        names: dict[tuple[int, ...], list[int]] = {}
        for state, row in enumerate(narrow):
            signature = (blocks[state], *(DEAD if target == DEAD else blocks[target] for target in row))
            names.setdefault(signature, []).append(state)
        if len(names) == len(set(blocks)):
            break
        for block, states in enumerate(names.values()):
            for state in states:
                blocks[state] = block
    order, chosen = {blocks[0]: 0}, [0]
    for state in chosen:
        for target in rows[state]:
            if target != DEAD and blocks[target] not in order:
                order[blocks[target]] = len(chosen)
                chosen.append(target)
    table = [
        [DEAD if target == DEAD else order[blocks[target]] for target in rows[state]] for state in chosen
    ]
    return [number for number, state in enumerate(chosen) if lazy.accepts(state)], table


# ---- JSON text, and schema text -> pattern text.


def read_json(text: str, pairs_hook: Callable[[list[tuple[str, Any]]], Any] | None = None) -> Any:
    """The value of a JSON text by the letter of RFC 8259; keys keep their order."""
    try:
        value = json.loads(text, parse_constant=no_constant, parse_float=finite, object_pairs_hook=pairs_hook)
        check_json(value, 0)
    except (ValueError, RecursionError) as error:
        raise Failure("invalid", f"no JSON: {error}") from error
    return value


def no_constant(name: str) -> NoReturn:
    """Refuse NaN and Infinity."""
    raise ValueError(f"{name} is no JSON number")


def finite(text: str) -> float:
    """The number, unless it is too large."""
    if not math.isfinite(float(text)):
        raise ValueError(f"{text} is too large for a float")
    return float(text)


def check_json(value: Any, depth: int) -> None:
    """Refuse half characters and deep nesting."""
    if isinstance(value, str):
        value.encode()  # half of a surrogate pair cannot be written
    if isinstance(value, (list, dict)):
        if depth == MAX_DEPTH:
            raise ValueError(f"nested more than {MAX_DEPTH} levels")
        for inner in value:
            check_json(inner, depth + 1)
    if isinstance(value, dict):
        for inner in value.values():
            check_json(inner, depth + 1)


def dumps(value: Any) -> str:
    """Compact JSON, as every value of an enum is written."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object of a schema, where a key may be given once."""
    if len(dict(pairs)) != len(pairs):
        raise ValueError("a key is given twice in the schema")
    return dict(pairs)


STRING = (
    r'"(?:[\x20\x21\x23-\x5b\x5d-\x7f]|[\xc2-\xdf][\x80-\xbf]|\xe0[\xa0-\xbf][\x80-\xbf]'
    r"|[\xe1-\xec\xee\xef][\x80-\xbf]{2}|\xed[\x80-\x9f][\x80-\xbf]|\xf0[\x90-\xbf][\x80-\xbf]{2}"
    r'|[\xf1-\xf3][\x80-\xbf]{3}|\xf4[\x80-\x8f][\x80-\xbf]{2}|\\["\\/bfnrt]|\\u[0-9a-fA-F]{4})*"'
)
INTEGER = r"-?(?:0|[1-9][0-9]*)"
NUMBER = INTEGER + r"(?:\.[0-9]+)?(?:[eE][+\-]?[0-9]+)?"
SCALARS = {
    "string": STRING,
    "integer": INTEGER,
    "number": NUMBER,
    "boolean": "(?:true|false)",
    "null": "null",
}
ANNOTATIONS = {
    "title",
    "description",
    "default",
    "examples",
    "$schema",
    "$comment",
    "deprecated",
    "readOnly",
    "writeOnly",
}
SHAPES = {
    "object": {"properties", "required", "additionalProperties"},
    "array": {"items", "minItems", "maxItems"},
}
TYPES = {"string": str, "boolean": bool, "null": type(None), "object": dict, "array": list}


def escape(text: str) -> str:
    """The pattern that matches just this text."""
    return "".join(escaped(character) for character in text)


def escaped(character: str) -> str:
    """The pattern that matches just this character."""
    if (character.isascii() and character.isalnum()) or character == "_" or ord(character) > 127:
        return character
    return "\\" + character if " " <= character <= "~" else f"\\x{ord(character):02x}"


def schema_pattern(schema: Any) -> str:
    """The pattern of a schema of the subset; every keyword outside of it is refused by name."""
    if not isinstance(schema, dict):
        raise Failure("refused", "a schema must be an object")
    used = set(schema) - ANNOTATIONS
    for keyword in ("enum", "const", "anyOf"):
        if keyword in schema:
            return values_pattern(schema, keyword, used - {keyword})
    kind = schema.get("type")
    if not isinstance(kind, str) or kind not in SCALARS.keys() | SHAPES.keys():
        raise Failure("refused", f"'type' must be one name of a JSON type, not {kind!r}")
    for keyword in sorted(used - {"type"} - SHAPES.get(kind, set())):
        raise Failure("refused", f"keyword {keyword!r} is not supported with type {kind!r}")
    return {"object": object_pattern, "array": array_pattern}.get(kind, lambda _: SCALARS[kind])(schema)


def values_pattern(schema: Schema, keyword: str, others: set[str]) -> str:
    """The pattern of enum, const or anyOf."""
    choices = [schema["const"]] if keyword == "const" else schema[keyword]
    if not isinstance(choices, list) or not choices:
        raise Failure("refused", f"'{keyword}' must be a list that is not empty")
    for other in sorted(others - {"type"} if keyword != "anyOf" else others):
        raise Failure("refused", f"keyword {other!r} is not supported beside '{keyword}'")
    if keyword == "anyOf":
        return "(?:" + "|".join(schema_pattern(choice) for choice in choices) + ")"
    if "type" in others and not all(has_type(value, schema["type"]) for value in choices):
        raise Failure("refused", f"a value of '{keyword}' is not of the type {schema['type']!r}")
    patterns = [escape(dumps(value)) for value in choices]
    return patterns[0] if keyword == "const" else "(?:" + "|".join(patterns) + ")"


def has_type(value: Any, name: Any) -> bool:
    """Whether a value has the JSON type of this name."""
    if name in ("integer", "number"):
        whole = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
        return not isinstance(value, bool) and (whole or (name == "number" and isinstance(value, float)))
    return isinstance(name, str) and name in TYPES and isinstance(value, TYPES[name])


def array_pattern(schema: Schema) -> str:
    """Items with commas between them, within the bounds."""
    if "items" not in schema:
        raise Failure("refused", "an array without 'items' is not supported")
    item = schema_pattern(schema["items"])
    least, most = bound(schema, "minItems") or 0, bound(schema, "maxItems")
    if most is not None and most < least:
        raise Failure("refused", "'maxItems' is less than 'minItems'")
    if most == 0:
        return r"\[\]"
    inner = f"{item}(?:,{item})" + ("*" if least < 2 and most is None else counted(least - 1, most))
    return rf"\[{inner}\]" if least else rf"\[(?:{inner})?\]"


def counted(least: int, most: int | None) -> str:
    """The quantifier for the items after the first."""
    return f"{{{max(least, 0)},{'' if most is None else most - 1}}}"


def bound(schema: Schema, keyword: str) -> int | None:
    """A number of items, None when the schema does not say."""
    value = schema.get(keyword)
    if keyword in schema and (type(value) is not int or value < 0):
        raise Failure("refused", f"'{keyword}' must be a number of items")
    return value


def object_pattern(schema: Schema) -> str:
    """Members in the order of `properties`; the optional ones may be left out."""
    properties, required = schema.get("properties", {}), schema.get("required", [])
    if not isinstance(properties, dict) or not isinstance(required, list):
        raise Failure("refused", "'properties' must be an object and 'required' a list")
    if schema.get("additionalProperties", False) is not False:
        raise Failure("refused", "'additionalProperties' other than false is not supported")
    for name in required:
        if not isinstance(name, str) or name not in properties or required.count(name) > 1:
            raise Failure("refused", f"'required' names {name!r}, which is unknown or named twice")
    first, rest = "", ""  # what may follow from here on: when no member was written yet, and when one was
    for name, inner in reversed(properties.items()):
        member = escape(dumps(name)) + ":" + schema_pattern(inner)
        first = member + rest if name in required else f"(?:{member}{rest}|{first})"
        rest = f",{member}{rest}" if name in required else f"(?:,{member})?{rest}"
    return r"\{" + first + r"\}"


def object_of_depth(depth: int) -> str:
    """The pattern of any JSON object whose containers are nested at most `depth` levels."""
    scalar = f"{STRING}|{NUMBER}|true|false|null"
    value = f"(?:{scalar})"
    for _ in range(depth - 1):
        inner_object = rf"\{{(?:{STRING}:{value}(?:,{STRING}:{value})*)?\}}"
        value = rf"(?:{scalar}|\[(?:{value}(?:,{value})*)?\]|{inner_object})"
    return rf"\{{(?:{STRING}:{value}(?:,{STRING}:{value})*)?\}}"


# ---- Vocabulary, masks, sessions.


class Trie:
    """The tokens that have bytes, by their bytes: node n has children[n][byte] and the ids that end there."""

    def __init__(self, tokens: list[bytes | None], eos: list[int]) -> None:
        """Insert every token that has bytes and ends nothing."""
        self.tokens, self.eos = tokens, eos
        self.children: list[dict[int, int]] = [{}]
        self.ids: list[list[int]] = [[]]
        for token, data in enumerate(tokens):
            if data and token not in eos:
                self.insert(token, data)

    def insert(self, token: int, data: bytes) -> None:
        """Walk down, adding what is missing."""
        node = 0
        for byte in data:
            if byte not in self.children[node]:
                self.children[node][byte] = len(self.children)
                self.children.append({})
                self.ids.append([])
            node = self.children[node][byte]
        self.ids[node].append(token)


class Grammar:
    """One compiled pattern over one vocabulary; masks are kept by state and shared by all sessions."""

    def __init__(self, automaton: Lazy, trie: Trie) -> None:
        """No mask is known yet."""
        self.automaton, self.trie = automaton, trie
        self.masks: dict[int, bytearray] = {}
        self.needed: dict[int, int] = {}

    def mask(self, state: int) -> bytearray:
        """The packed mask of a state."""
        if state not in self.masks:
            self.masks[state] = self.walk(state)
        return self.masks[state]

    def walk(self, state: int) -> bytearray:
        """Walk the trie beside the automaton; whole branches fall away at the first dead byte."""
        mask = bytearray((len(self.trie.tokens) + 7) // 8)
        if state == DONE:
            return mask
        if self.automaton.accepts(state):
            for token in self.trie.eos:
                mask[token // 8] |= 1 << token % 8
        waiting, step = [(0, state)], self.automaton.step
        while waiting:
            node, here = waiting.pop()
            for byte, child in self.trie.children[node].items():
                there = step(here, byte)
                if there != DEAD:
                    waiting.append((child, there))
                    for token in self.trie.ids[child]:
                        mask[token // 8] |= 1 << token % 8
        return mask

    def after(self, state: int, token: int) -> int:
        """The state after a token, DEAD when it is not allowed."""
        if state == DONE or not 0 <= token < len(self.trie.tokens):
            return DEAD
        if token in self.trie.eos:
            return DONE if self.automaton.accepts(state) else DEAD
        data = self.trie.tokens[token]
        if not data:
            return DEAD
        for byte in data:
            state = self.automaton.step(state, byte)
            if state == DEAD:
                return DEAD
        return state

    def forced(self, state: int) -> bytes:
        """The bytes with which everything begins that may follow; none where the text may end."""
        found, step = bytearray(), self.automaton.step
        while state != DONE and not self.automaton.accepts(state):
            live = [byte for byte in range(256) if step(state, byte) != DEAD]
            if len(live) != 1:
                break
            found.append(live[0])
            state = step(state, live[0])
        return bytes(found)

    def least(self) -> dict[int, int]:
        """For every state that tokens reach, the fewest tokens to the end of a whole text, the end id counted."""
        if not self.needed:
            following: dict[int, set[int]] = {}
            waiting = [0]
            while waiting and len(following) <= MAX_LEAST:
                state = waiting.pop()
                if state not in following:
                    following[state] = {self.after(state, token) for token in self.allowed(state)} - {DONE}
                    waiting += following[state]
            if waiting:
                raise Failure("refused", f"a budget over more than {MAX_LEAST} states is not served")
            self.needed = steps_to_the_end(following, self.automaton.accepts, bool(self.trie.eos))
        return self.needed

    def allowed(self, state: int) -> list[int]:
        """The ids of a mask."""
        mask = self.mask(state)
        return [token for token in range(len(self.trie.tokens)) if mask[token // 8] >> token % 8 & 1]


def steps_to_the_end(
    following: dict[int, set[int]], accepts: Callable[[int], bool], end: bool
) -> dict[int, int]:
    """Least distances over the edges of a graph: 0 where the text may end, 1 when an end id must be taken there."""
    found = {state: int(end) for state in following if accepts(state)}
    changed = True
    while changed:
        changed = False
        for state, targets in following.items():
            best = min((found[target] + 1 for target in targets if target in found), default=None)
            if best is not None and best < found.get(state, best + 1):
                found[state], changed = best, True
    return found


class Session:
    """The states so far, the last one is now; a refused token is never written down."""

    def __init__(self, grammar: Grammar, states: list[int]) -> None:
        """Begin where `states` ends."""
        self.grammar, self.states = grammar, states

    def mask(self) -> bytearray:
        """What is allowed now."""
        return self.grammar.mask(self.states[-1])

    def is_complete(self) -> bool:
        """Whether the bytes so far are a whole match."""
        return self.states[-1] == DONE or self.grammar.automaton.accepts(self.states[-1])

    def advance(self, token: int) -> None:
        """Take a token, or change nothing."""
        state = self.grammar.after(self.states[-1], token)
        if state == DEAD:
            raise Failure("illegal", f"token {token} is not allowed here")
        self.states.append(state)

    def fork(self) -> "Session":
        """An independent copy."""
        return Session(self.grammar, list(self.states))

    def rollback(self, count: int) -> None:
        """Take back some tokens."""
        if not 0 <= count < len(self.states):
            raise Failure("invalid", f"cannot take back {count} of {len(self.states) - 1} tokens")
        del self.states[len(self.states) - count :]


class Budgeted(Session):
    """A session that must be whole within a number of tokens, the end id counted."""

    def __init__(self, grammar: Grammar, states: list[int], budget: Any) -> None:
        """Refuse a budget that no text fits in."""
        super().__init__(grammar, states)
        least = grammar.least().get(0)
        if type(budget) is not int or least is None or budget < least:
            raise Failure("refused", f"the shortest text takes {least} tokens; the budget is {budget!r}")
        self.budget = budget

    def mask(self) -> bytearray:
        """What is allowed now and leaves tokens enough to come to an end."""
        grammar, state, mask = self.grammar, self.states[-1], bytearray(len(super().mask()))
        left, least = self.budget - len(self.states), grammar.least()
        for token in grammar.allowed(state):
            target = grammar.after(state, token)
            if left >= (0 if target == DONE else least.get(target, left + 1)):
                mask[token // 8] |= 1 << token % 8
        return mask

    def advance(self, token: int) -> None:
        """Take a token that the budget has room for."""
        if not 0 <= token < len(self.grammar.trie.tokens) or not self.mask()[token // 8] >> token % 8 & 1:
            raise Failure("illegal", f"token {token} does not fit in the budget, or at all")
        super().advance(token)

    def fork(self) -> Session:
        """An independent copy."""
        return Budgeted(self.grammar, list(self.states), self.budget)


# ---- The protocol.

KINDS = ["regex.bytes", "regex.unicode", "json_schema", "json_object"]
FEATURES = ["fork", "rollback", "dfa", "pattern", "dumps", "forced", "budget"]


def compiled(kind: str, source: str) -> Lazy:
    """The automaton of a source text of one of the kinds."""
    if kind not in KINDS:
        raise Failure("refused", f"kind {kind!r} is not served")
    dialect, pattern = "bytes", source
    if kind == "regex.unicode":
        dialect = "unicode"
    elif kind == "json_schema":
        pattern = schema_pattern(read_json(source, unique_keys))
    elif kind == "json_object":
        if not is_number(source) or not 1 <= int(source) <= 8:
            raise Failure("refused", "the source of a json_object is its depth, 1 to 8")
        pattern = object_of_depth(int(source))
    try:
        return Lazy(Nfa(Parser(pattern, dialect).parse()))
    except RecursionError:
        raise Failure("refused", "the pattern is nested too deeply") from None


class Engine:
    """What is known between requests, and one method for each op."""

    def __init__(self) -> None:
        """Nothing is known before the vocabulary."""
        self.take_vocabulary(Trie([], []))

    def take_vocabulary(self, trie: Trie) -> None:
        """Begin anew over a vocabulary."""
        self.trie = trie
        self.cache: dict[tuple[str, str], Grammar] = {}
        self.grammars: dict[int, Grammar] = {}
        self.sessions: dict[int, Session] = {}
        self.made = 0

    def answer(self, request: Fields) -> Fields:
        """The fields of a good answer."""
        operation: Callable[[Fields], Fields] | None = getattr(self, f"op_{request.get('op')}", None)
        if operation is None:
            raise Failure("unsupported", f"op {request.get('op')!r} is not served")
        return operation(request)

    def found(self, shelf: dict[int, Any], request: Fields, name: str) -> Any:
        """What the request names, if it is open."""
        if request.get(name) not in shelf:
            raise Failure("invalid", f"{name} {request.get(name)!r} is not open")
        return shelf[request[name]]

    def shelve(self, shelf: dict[int, Any], thing: Any) -> int:
        """Keep a thing under a number of its own."""
        self.made += 1
        shelf[self.made] = thing
        return self.made

    def op_hello(self, request: Fields) -> Fields:
        """What this port is and serves."""
        return {"name": "pure", "version": "1", "protocol": 1, "kinds": KINDS, "features": FEATURES}

    def op_vocab(self, request: Fields) -> Fields:
        """Take a vocabulary; all that was made over the old one is gone."""
        texts = request.get("tokens")
        if texts is None:
            with open(request["file"], encoding="utf-8") as file:
                texts = json.load(file)
        tokens = [None if text is None else base64.b64decode(text, validate=True) for text in texts]
        if not all(type(token) is int and 0 <= token < len(tokens) for token in request["eos"]):
            raise Failure("invalid", "an end id is outside the vocabulary")
        self.take_vocabulary(Trie(tokens, sorted(set(request["eos"]))))
        return {"size": len(tokens)}

    def op_compile(self, request: Fields) -> Fields:
        """A grammar; the same source is compiled once."""
        key = (request["kind"], request["source"])
        if key not in self.cache:
            self.cache[key] = Grammar(compiled(*key), self.trie)
        return {"grammar": self.shelve(self.grammars, self.cache[key])}

    def op_open(self, request: Fields) -> Fields:
        """A session at the start of a grammar."""
        grammar = self.found(self.grammars, request, "grammar")
        if "budget" in request:
            return {"session": self.shelve(self.sessions, Budgeted(grammar, [0], request["budget"]))}
        return {"session": self.shelve(self.sessions, Session(grammar, [0]))}

    def op_mask(self, request: Fields) -> Fields:
        """What is allowed now, and whether the text could end here."""
        session = self.found(self.sessions, request, "session")
        mask = base64.b64encode(session.mask()).decode()
        return {"mask": mask, "complete": session.is_complete()}

    def op_advance(self, request: Fields) -> Fields:
        """Take one token."""
        token = request.get("token")
        if type(token) is not int:
            raise Failure("invalid", "a token is a whole number")
        self.found(self.sessions, request, "session").advance(token)
        return {}

    def op_fork(self, request: Fields) -> Fields:
        """A copy of a session."""
        return {"session": self.shelve(self.sessions, self.found(self.sessions, request, "session").fork())}

    def op_rollback(self, request: Fields) -> Fields:
        """Take back the last tokens."""
        self.found(self.sessions, request, "session").rollback(request["count"])
        return {}

    def op_close(self, request: Fields) -> Fields:
        """Forget a session or a grammar."""
        name = "session" if "session" in request else "grammar"
        shelf = self.sessions if name == "session" else self.grammars
        self.found(shelf, request, name)
        del shelf[request[name]]
        return {}

    def op_forced(self, request: Fields) -> Fields:
        """The bytes that must come next."""
        session = self.found(self.sessions, request, "session")
        return {"forced": base64.b64encode(session.grammar.forced(session.states[-1])).decode()}

    def op_dfa(self, request: Fields) -> Fields:
        """The least automaton, with bytes that are treated alike in one class."""
        accept, table = canonical(compiled(request["kind"], request["source"]))
        columns = list(zip(*table, strict=True))
        numbers: dict[tuple[int, ...], int] = {}
        classes = [numbers.setdefault(column, len(numbers)) for column in columns]
        return {
            "accept": accept,
            "classes": classes,
            "table": [list(row) for row in zip(*numbers, strict=True)],
        }

    def op_pattern(self, request: Fields) -> Fields:
        """The pattern of a schema text."""
        return {"pattern": schema_pattern(read_json(request["schema"], unique_keys))}

    def op_dumps(self, request: Fields) -> Fields:
        """A JSON text, compact."""
        return {"text": dumps(read_json(request["text"]))}

    def op_bye(self, request: Fields) -> Fields:
        """Nothing more."""
        return {}


def answered(engine: Engine, line: bytes) -> Fields:
    """The answer to one line, whatever happens."""
    identifier = None
    try:
        request = json.loads(line)
        identifier = request["id"]
        return {"id": identifier, "ok": True, **engine.answer(request)}
    except Failure as failure:
        error = {"kind": failure.kind, "message": str(failure)}
    except Exception as problem:
        error = {"kind": "internal", "message": f"{type(problem).__name__}: {problem}"}
    return {"id": identifier, "ok": False, "error": error}


def main() -> None:
    """Answer line by line until `bye` or the end of the input."""
    sys.setrecursionlimit(20_000)
    if hasattr(sys, "set_int_max_str_digits"):
        sys.set_int_max_str_digits(0)
    engine = Engine()
    for line in sys.stdin.buffer:
        answer = answered(engine, line)
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()
        if answer["ok"] and json.loads(line).get("op") == "bye":
            break


if __name__ == "__main__":
    main()
