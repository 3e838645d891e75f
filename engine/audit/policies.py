r"""What an engine does on purpose, as its hello declares it, and the language that it is then held to.

A policy never excuses an undeclared difference: it changes the question. JSON written with blanks after its
separators is another language than compact JSON, and an engine that declares it is held to that language exactly.
The rewriting works on the automaton, not on the text of a pattern, so that it knows a comma between members from a
comma in a string, whatever schema made it.

| key in `policies` | value | meaning |
|---|---|---|
| `mask` | `"forced-first-token"` | where bytes are forced the mask may hold one token alone, a prefix of them |
| `separators` | `[", ", ": "]` | JSON is written with these between members, and between key and value |
| `whitespace` | `"any"` | JSON may have white space wherever RFC 8259 has it |
| `escapes` | `"short-only"` | free JSON strings are written without `\uXXXX`; constants as they must be |
| `after_eos` | `"eos"` | after EOS the mask still holds the EOS ids |
| `ends` | `"first-whole"` | an output ends where it is first whole, whatever could follow; the empty text is none |
| `accepts` | list of names | forms outside the dialect that the engine takes (names in data/refusals.json) |
| `object_order` | `"any"` | members may come in any order; such an engine is not held to exact JSON masks |
| `object_order` | `"sorted"` | members come in the order of their names' code points, in `const` and `enum` too |
"""

from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from reference.compile import regex_to_dfa
from reference.dfa import DEAD, Dfa
from reference.errors import Refused
from reference.jsontext import JsonValue
from reference.minimise import canonical
from reference.schema import json_object_regex, json_schema_to_regex, schema_from_text
from reference.subset import ClassTable

OUT, BARE, GAP, STRING, ESCAPE = range(5)
BLANKS = frozenset(b" \t\n\r")
STRUCTURAL = frozenset(b"{}[],:")
Place = tuple[int, int, bytes]


@dataclass(frozen=True, slots=True)
class Policy:
    """The declared policies that this suite knows; `unknown` are the keys and values that it does not."""

    forced_first_token: bool = False
    separators: tuple[bytes, bytes] = (b",", b":")
    any_whitespace: bool = False
    short_escapes: bool = False
    eos_stays: bool = False
    any_order: bool = False
    sorted_members: bool = False
    first_whole: bool = False
    accepts: frozenset[str] = frozenset()
    unknown: tuple[str, ...] = ()

    @property
    def rewrites_json(self) -> bool:
        """Whether JSON kinds mean another language than compact JSON."""
        return self.any_whitespace or self.short_escapes or self.separators != (b",", b":")


def declared(policies: Mapping[str, Any]) -> Policy:
    """The policy of a hello."""
    known: dict[str, Any] = {}
    unknown = []
    for key, value in policies.items():
        match (key, value):
            case ("mask", "forced-first-token"):
                known["forced_first_token"] = True
            case ("separators", [str(item), str(name)]) if item.rstrip() == "," and name.rstrip() == ":":
                known["separators"] = (item.encode(), name.encode())
            case ("whitespace", "any"):
                known["any_whitespace"] = True
            case ("escapes", "short-only"):
                known["short_escapes"] = True
            case ("after_eos", "eos"):
                known["eos_stays"] = True
            case ("object_order", "any"):
                known["any_order"] = True
            case ("object_order", "sorted"):
                known["sorted_members"] = True
            case ("ends", "first-whole"):
                known["first_whole"] = True
            case ("accepts", list(names)):
                known["accepts"] = frozenset(map(str, names))
            case _:
                unknown.append(key)
    return Policy(**known, unknown=tuple(unknown))


def language(kind: str, source: str, policy: Policy) -> Dfa:
    """The canonical automaton of a source text of one of the protocol's kinds, under a policy."""
    if kind == "json_schema" and policy.sorted_members:
        dfa = regex_to_dfa(json_schema_to_regex(by_name(schema_from_text(source))))
    else:
        dfa = compiled_plain(kind, source)
    if kind in ("json_schema", "json_object") and policy.rewrites_json:
        dfa = rewritten(dfa, policy)
    return at_first_end(dfa) if policy.first_whole else dfa


def by_name(value: JsonValue) -> JsonValue:
    """The value with the members of every object in the order of their names' code points.

    Of a schema this is the schema of the same values written so: `properties` and constants alone tell an order.
    """
    if isinstance(value, dict):
        return {name: by_name(value[name]) for name in sorted(value)}
    return [by_name(entry) for entry in value] if isinstance(value, list) else value


def compiled_plain(kind: str, source: str) -> Dfa:
    """The canonical automaton of a source text, JSON in its compact form."""
    if kind in ("regex.bytes", "regex.unicode"):
        return regex_to_dfa(source, "unicode" if kind == "regex.unicode" else "bytes")
    return regex_to_dfa(json_pattern(kind, source))


def json_pattern(kind: str, source: str) -> str:
    """The pattern of a JSON kind."""
    if kind == "json_schema":
        return json_schema_to_regex(schema_from_text(source))
    if kind == "json_object" and source.isascii() and source.isdigit():
        return json_object_regex(int(source))
    raise Refused(
        f"kind {kind!r} with source {source[:40]!r} has no exact language here; use a regex or a schema"
    )


def rewritten(dfa: Dfa, policy: Policy) -> Dfa:
    """The language of compact JSON `dfa`, written as the policy has it."""
    start: Place = (0, OUT, b"")
    numbers, order, rows = {start: 0}, deque([start]), []
    accept = []
    while order:
        place = order.popleft()
        row = np.full(256, DEAD, np.int32)
        for byte, target in _steps(dfa, policy, place):
            if target not in numbers:
                numbers[target] = len(numbers)
                order.append(target)
            row[byte] = numbers[target]
        rows.append(row)
        accept.append(bool(dfa.accept[place[0]]) and place[1] in (OUT, BARE, GAP) and not place[2])
    return _canonical(np.array(accept), np.array(rows))


def at_first_end(dfa: Dfa) -> Dfa:
    """The members that are not empty and begin with no shorter one: nothing follows an accepting state.

    The start is a state of its own, which a loop does not come back to.
    """
    rows = np.where(dfa.trans == DEAD, DEAD, dfa.trans + 1)
    table = np.vstack([rows[:1], np.where(dfa.accept[:, None], DEAD, rows)]).astype(np.int32)
    return _canonical(np.append(False, dfa.accept), table)


def _canonical(accept: npt.NDArray[np.bool_], trans: npt.NDArray[np.int32]) -> Dfa:
    table = canonical(ClassTable(accept, trans, np.arange(256)))
    if not len(table.accept):
        raise Refused("under the declared policies no text is left in the language")
    return Dfa(table.accept, table.table[:, table.byte_class])


def _steps(dfa: Dfa, policy: Policy, place: Place) -> Iterator[tuple[int, Place]]:
    """Where each byte leads: `place` is (state of compact JSON, where in the text, what must still be written)."""
    state, mode, owed = place
    if owed:
        yield owed[0], (state, mode, owed[1:])
        return
    if policy.any_whitespace and mode in (OUT, BARE, GAP):
        for byte in BLANKS:
            yield byte, (state, OUT if mode == OUT else GAP, b"")
    for byte in np.flatnonzero(dfa.trans[state] != DEAD).tolist():
        target = int(dfa.trans[state, byte])
        if mode == ESCAPE:
            is_free = dfa.trans[state, ord("/")] != DEAD  # constants and names never write it
            if not (policy.short_escapes and is_free and byte == ord("u")):
                yield byte, (target, STRING, b"")
        elif mode == STRING:
            yield byte, (target, {ord('"'): OUT, ord("\\"): ESCAPE}.get(byte, STRING), b"")
        elif byte in STRUCTURAL:
            after = {ord(","): policy.separators[0], ord(":"): policy.separators[1]}.get(byte, b" ")[1:]
            yield byte, (target, OUT, after)
        elif mode != GAP:
            yield byte, (target, STRING if byte == ord('"') else BARE, b"")


def members(dfa: Dfa, length: int) -> int:
    """How many members have at most `length` bytes."""
    counts, total = {0: 1}, 0
    for _ in range(length + 1):
        total += sum(count for state, count in counts.items() if dfa.accept[state])
        following: dict[int, int] = {}
        for state, count in counts.items():
            targets, times = np.unique(dfa.trans[state], return_counts=True)
            for target, many in zip(targets.tolist(), times.tolist(), strict=True):
                if target != DEAD:
                    following[target] = following.get(target, 0) + count * many
        counts = following
    return total
