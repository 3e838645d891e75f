"""Check a certificate, with nothing but this file and Python, and in ten minutes of reading.

A certificate's `claim` says: the automaton `accept`, `classes`, `table` (−1 is dead, 0 the start, `classes[b]` the
class of byte b, `table[s][k]` the state after a byte of class k) accepts exactly the strings of `pattern` in `dialect`,
and it is canonical: each state live, no two equivalent, numbered breadth-first in byte order. The rest is the proof:

    terms      the regular expressions that occur, each after those that it is built of
    relation   [term, pending, state]: a bisimulation with the pattern's term and state 0 in it. A term accepts as its
               state does, and each of the 256 bytes leads both to dead, or to a pair of the relation. A term is dead
               only as `none`: nothing else is empty. `pending` (hex) are the bytes of a character that is cut; two cuts
               are one when the same completions lead to the same terms
    live       [d, k] for each state: d bytes to acceptance at least, and k the first class to get there (−1 for d = 0)
    splits     [block, class, earlier]: a word is a class before the word of an earlier split; the first is the empty
               word (−1, −1). The states of a block that accept the word get a block of their own. In the end each state
               has one, and dead, which accepts nothing: any two of them differ on some word

What is trusted: this file, Python, and that its UTF-8 codec keeps the order of code points. The pattern is read and the
relation walked here anew, and the document must say the same. Other splits that set all states apart prove the same
claim; any other change of a document is refused.
Exit 0: the claim is proven. 1: it is not. 2: there is no such file, or it holds no JSON.
"""

import json
import re
import string
import sys
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable
from functools import cache
from itertools import pairwise
from typing import Any

DEAD, DEEPEST, DEPTH = -1, 1000, 20_000
Ranges = list[tuple[int, int]]
ALPHABETS: dict[str, Ranges] = {"bytes": [(0, 0xFF)], "unicode": [(0, 0xD7FF), (0xE000, 0x10FFFF)]}
DIGIT, SPACES = (48, 57), [(9, 13), (32, 32)]
CLASSES: dict[str, Ranges] = {"d": [DIGIT], "w": [DIGIT, (65, 90), (95, 95), (97, 122)], "s": SPACES}
CONTROLS = {"n": 10, "r": 13, "t": 9, "f": 12, "v": 11}
ESCAPE = r"\\x[0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\u\{[0-9a-fA-F]+\}|\\.?"
BRACKETS = rf"\[(?!\^?\])(?>{ESCAPE}|[^\]\\])++\]"
TOKEN = re.compile(rf"{ESCAPE}|{BRACKETS}|\(\?:|\{{[0-9]+(?:,[0-9]*)?\}}|.", re.DOTALL)
ELEMENT = re.compile(rf"{ESCAPE}|.", re.DOTALL)
QUANTIFIERS = {"*": "{0,}", "+": "{1,}", "?": "{0,1}"}


class Flaw(ValueError):  # noqa: N818 (what keeps the document from being a proof)
    """What keeps the document from being a proof."""


def require(holds: bool, flaw: str) -> None:
    """Raise the flaw unless the condition holds."""
    if not holds:
        raise Flaw(flaw)


def minus(whole: Ranges, removed: Iterable[tuple[int, int]]) -> Ranges:
    """The symbols of `whole` that no removed range has; in order, and in as few ranges as can be, as `whole` is."""
    for low, high in removed:
        cut = [part for a, b in whole for part in ((a, min(b, low - 1)), (max(a, high + 1), b))]
        whole = [(a, b) for a, b in cut if a <= b]
    return whole


class Terms:
    """Regular expressions as numbers; those that the laws in these constructors make one have one number."""

    def __init__(self) -> None:
        """Start with `none`, the empty language, and `empty`, the empty string."""
        self.nodes: list[tuple[Any, ...]] = []
        self.numbers: dict[tuple[Any, ...], int] = {}
        self.nullable: list[bool] = []
        self.derived: dict[tuple[int, int], int] = {}
        self.none, self.empty = self.node("none"), self.node("empty")

    def node(self, kind: str, *parts: int) -> int:
        """The number of a term of this kind; of its parts, some are terms and some plain numbers."""
        if (kind, *parts) not in self.numbers:
            inside = [self.nullable[part] for part in children(kind, parts)]
            self.numbers[kind, *parts] = len(self.nodes)
            self.nodes.append((kind, *parts))
            free = kind in ("empty", "star") or (kind == "times" and parts[1] == 0)
            self.nullable.append(free or (any(inside) and (kind == "either" or all(inside))))
        return self.numbers[kind, *parts]

    def symbols(self, ranges: Ranges) -> int:
        """One symbol of the ranges: set lo hi lo hi …"""
        return self.node("set", *[end for pair in ranges for end in pair]) if ranges else self.none

    def then(self, *parts: int) -> int:
        """then r s. none r = r none = none; empty r = r empty = r; (r s) t = r (s t)."""
        whole = self.empty
        for part in reversed(parts):
            spine = [part]
            while self.nodes[spine[-1]][0] == "then":
                spine += self.nodes[spine.pop()][1:]
            for head in reversed(spine):
                if self.none in (head, whole):
                    whole = self.none
                elif head != self.empty:
                    whole = head if whole == self.empty else self.node("then", head, whole)
        return whole

    def either(self, *members: int) -> int:
        """either r s …: a set of terms, none of them a union or `none`; of one term, that term."""
        inside = [self.nodes[part][1:] if self.nodes[part][0] == "either" else (part,) for part in members]
        flat = sorted({part for parts in inside for part in parts} - {self.none})
        return self.node("either", *flat) if len(flat) > 1 else [*flat, self.none][0]

    def times(self, body: int, low: int, high: int) -> int:
        """times r m n, from m to n of r. r{0,0} = none{0,n} = empty; none{m,n} = none for m ≥ 1."""
        if high > 0 and body != self.none:
            return self.node("times", body, low, high)
        return self.none if low else self.empty

    def derive(self, term: int, symbol: int) -> int:
        """Brzozowski's derivative: what may follow the symbol."""
        if (term, symbol) not in self.derived:
            self.derived[term, symbol] = self.rule(term, symbol)
        return self.derived[term, symbol]

    def rule(self, term: int, symbol: int) -> int:
        """∂(rs) = ∂r s | ν(r) ∂s; ∂(r|s) = ∂r | ∂s; ∂r* = ∂r r*; ∂r{m,n} = ∂r r{m-1,n-1}."""
        kind, *parts = self.nodes[term]
        if kind in ("none", "empty", "set"):
            held = any(low <= symbol <= high for low, high in zip(parts[::2], parts[1::2], strict=True))
            return self.empty if held else self.none
        if kind == "either":
            return self.either(*[self.derive(part, symbol) for part in parts])
        if kind == "then":
            first = self.then(self.derive(parts[0], symbol), parts[1])
            return self.either(first, self.derive(parts[1], symbol)) if self.nullable[parts[0]] else first
        rest = term if kind == "star" else self.times(parts[0], max(parts[1] - 1, 0), parts[2] - 1)
        return self.then(self.derive(parts[0], symbol), rest)


def children(kind: str, parts: Iterable[int]) -> list[int]:
    """The terms that a node is built of."""
    return {"then": [*parts], "either": [*parts], "star": [*parts], "times": [*parts][:1]}.get(kind, [])


class Reader:
    """Reads a pattern of either dialect by descent; what it cannot read is a flaw."""

    def __init__(self, terms: Terms, pattern: str, dialect: str) -> None:
        """Cut the text into tokens, the next one last; brackets are one token, and the end is an empty one."""
        self.terms, self.is_bytes, self.alphabet = terms, dialect == "bytes", ALPHABETS[dialect]
        self.tokens = ["", *reversed(TOKEN.findall(pattern))]

    def union(self, depth: int = 0) -> int:
        """Sequences between bars, up to the end of the group or of the pattern."""
        require(depth <= DEEPEST, f"pattern: more than {DEEPEST} nested groups, which is not checked here")
        members = [self.sequence(depth)]
        while self.tokens[-1] == "|":
            self.tokens.pop()
            members.append(self.sequence(depth))
        require(self.tokens.pop() == (")" if depth else ""), "pattern: a group not closed, or never opened")
        return self.terms.either(*members)

    def sequence(self, depth: int) -> int:
        """Atoms, each with at most one quantifier."""
        parts = []
        while self.tokens[-1] not in ("", "|", ")"):
            parts.append(self.atom(self.tokens.pop(), depth))
            if self.is_quantifier():
                parts.append(self.repeated(parts.pop(), self.tokens.pop()))
        return self.terms.then(*parts)

    def is_quantifier(self) -> bool:
        """Whether the next token repeats the atom before it."""
        return self.tokens[-1] in QUANTIFIERS or (len(self.tokens[-1]) > 1 and self.tokens[-1][0] == "{")

    def repeated(self, atom: int, quantifier: str) -> int:
        """r{m,} = r{m,m} r*."""
        low, comma, high = QUANTIFIERS.get(quantifier, quantifier)[1:-1].partition(",")
        least, most = int(low), int(high or low)
        require(least <= most <= 1000, f"pattern: the bounds of {quantifier[:12]!r}")
        counted = self.terms.times(atom, least, most)
        return self.terms.then(counted, self.terms.node("star", atom)) if comma and not high else counted

    def atom(self, token: str, depth: int) -> int:
        """A group, brackets, or a character; one outside ASCII is one atom, even of several bytes."""
        if token in ("(", "(?:"):
            return self.union(depth + 1)
        if token == ".":
            return self.terms.symbols(minus(self.alphabet, [(10, 10)]))
        if token[0] == "[" and len(token) > 1:
            return self.terms.symbols(self.brackets(token[1:-1]))
        require(token[0] not in "*+?{[^$", f"pattern: {token!r} cannot stand where it does")
        if self.is_bytes and token > "\x7f":
            return self.terms.then(*[self.terms.symbols([(byte, byte)]) for byte in token.encode()])
        return self.terms.symbols(self.element(token))

    def brackets(self, text: str) -> Ranges:
        """What stands between brackets: elements, and ranges from one to another."""
        ranges: Ranges = []
        tokens = ELEMENT.findall(text.removeprefix("^"))
        while tokens:
            chosen = self.element(tokens.pop(0))
            if len(tokens) > 1 and tokens[0] == "-":
                last = self.element(tokens[1])
                ordered = all(low == high for low, high in chosen + last) and chosen <= last
                require(ordered, f"pattern: a range in [{text[:30]}]")
                chosen = [(chosen[0][0], last[0][0])]
                del tokens[:2]
            ranges += chosen
        others = minus(self.alphabet, ranges)
        return others if text.startswith("^") else minus(self.alphabet, others)

    def element(self, token: str) -> Ranges:
        """The symbols of a literal or an escape."""
        name, code = token[1:], -1
        if token[0] != "\\":
            code = ord(token)
        elif name.lower() in CLASSES:
            return CLASSES[name] if name in CLASSES else minus(self.alphabet, CLASSES[name.lower()])
        elif len(name) > 1:
            code = int(name[1:].strip("{}"), 16) if name[0] == "x" or not self.is_bytes else -1
        elif name:
            code = ord(name) if name in string.punctuation + " " else CONTROLS.get(name, -1)
        known = any(low <= code <= high for low, high in self.alphabet)
        require(
            known and bool(name or not self.is_bytes or code < 0x80), f"pattern: {token!r} is no symbol here"
        )
        return [(code, code)]


class Stepper:
    """The pattern's derivatives byte by byte; a state is a term and the pending bytes of a cut character."""

    def __init__(self, terms: Terms, pattern: str, dialect: str) -> None:
        """Read the pattern, and cut the alphabet wherever one of its sets begins or ends."""
        self.terms, self.is_bytes = terms, dialect == "bytes"
        self.start = Reader(terms, pattern, dialect).union()
        sets = [node[1:] for node in terms.nodes if node[0] == "set"]
        ends = {end + at % 2 for edges in sets for at, end in enumerate(edges)}
        self.cuts = sorted({0} | ends)

    def after(self, term: int, symbol: int) -> int:
        """The derivative by a symbol; the first one after a cut stands for all up to the next cut."""
        return self.terms.derive(term, self.cuts[bisect_right(self.cuts, symbol) - 1])

    def step(self, term: int, pending: bytes, byte: int) -> tuple[int, bytes] | None:
        """The state after one more byte, None when it is dead."""
        data = pending + bytes([byte])
        try:
            after = self.after(term, byte if self.is_bytes else ord(data.decode()))
        except UnicodeDecodeError:
            return (term, data) if self.ahead(term, data) else None
        return None if after == self.terms.none else (after, b"")

    def ahead(self, term: int, pending: bytes) -> tuple[tuple[bytes, bytes, int], ...]:
        """The completions of the pending bytes: runs, each from a first to a last one, with the term after them."""
        low, end = first(pending), first(pending + b"\xff")
        edges = sorted({low, end, *[cut for cut in self.cuts if low < cut < end]})
        runs: list[tuple[int, int, int]] = []
        for start, stop in pairwise(edges):
            after = self.after(term, start)
            if runs and runs[-1][1:] == (start, after):
                runs[-1] = (runs[-1][0], stop, after)
            elif after != self.terms.none:
                runs.append((start, stop, after))
        size = len(pending)
        return tuple((encoded(start)[size:], encoded(stop - 1)[size:], after) for start, stop, after in runs)

    def key(self, term: int, pending: bytes) -> object:
        """What tells states apart."""
        return self.ahead(term, pending) if pending else term


def encoded(code: int) -> bytes:
    """The UTF-8 bytes of a code point; surrogates, which no set holds, keep their place."""
    return chr(code).encode("utf-8", "surrogatepass")


@cache
def first(data: bytes) -> int:
    """The first code point whose bytes do not come before the data."""
    return bisect_left(range(0x110000), data, key=encoded)


def plain(document: Any) -> bool:
    """Whether all of it is objects with text keys, lists, texts and integers: then nothing but 1 equals 1."""
    found = [document]
    for value in found:
        found += value if type(value) is list else value.values() if type(value) is dict else ()
    keys = {type(key) for value in found if type(value) is dict for key in value}
    return keys <= {str} and {type(value) for value in found} <= {dict, list, str, int}


def shape(document: Any) -> None:
    """The document has its parts and no others, and the claim is an automaton over canonical byte classes."""
    require(plain(document) and type(document) is dict, "a value that is no object, list, text or integer")
    claim, parts = document["claim"], ["claim", "format", "live", "relation", "splits", "terms"]
    require(sorted(document) == parts and document["format"] == 1, "parts missing or unknown, or the format")
    parts = ["accept", "classes", "dialect", "pattern", "table"]
    require(sorted(claim) == parts and claim["dialect"] in ALPHABETS, "claim: parts missing or unknown")
    accept, classes, table = claim["accept"], claim["classes"], claim["table"]
    width, size = max(classes) + 1, len(table)
    by_first_byte = [*dict.fromkeys(classes)] == [*range(width)]
    require(len(classes) == 256 and by_first_byte, "classes: not 256, numbered by first byte")
    require(size > 0 and all(len(row) == width for row in table), "table: a row without one state a class")
    require(all(DEAD <= after < size for row in table for after in row), "table: no such state")
    require(len(set(zip(*table, strict=True))) == width, "classes: the table treats two of them alike")
    require(accept == sorted({*accept} & {*range(size)}), "accept: not states, each once, in order")


def listed(terms: Terms, document: dict[str, Any]) -> None:
    """Every term is new, built of earlier ones, and used in the relation."""
    rows, used = document["terms"], {terms.none, terms.empty, *[row[0] for row in document["relation"]]}
    for number, (kind, *parts) in enumerate(rows):
        require(max(children(kind, parts), default=-1) < number, f"terms, {number}: built of later terms")
        require(terms.node(kind, *parts) == number, f"terms, {number}: not new, or not in its place")
        require(rows[number] == [*terms.nodes[number]], f"terms, {number}: not a list")
    for number, (kind, *parts) in reversed([*enumerate(rows)]):
        require(number in used, f"terms, {number}: not used")
        used.update(children(kind, parts))
    require(max(used) < len(rows), "relation: a term that is not listed")


def equivalence(document: dict[str, Any]) -> None:
    """The relation is what a walk by all bytes from the pattern's term and state 0 meets, and its pairs agree."""
    claim, relation, terms = document["claim"], document["relation"], Terms()
    listed(terms, document)
    stepper = Stepper(terms, claim["pattern"], claim["dialect"])
    found, seen = [(stepper.start, b"", 0)], {(stepper.key(stepper.start, b""), 0)}
    for number, (term, pending, state) in enumerate(found):
        pair = [term, pending.hex(), state]
        require(relation[number : number + 1] == [pair], f"relation, {number}: the walk meets {pair}")
        accepts = terms.nullable[term] and pending == b""
        require(accepts == (state in claim["accept"]), f"state {state}: it and its term do not accept alike")
        for byte in range(256):
            target = claim["table"][state][claim["classes"][byte]]
            after = stepper.step(term, pending, byte)
            require(
                (after is None) == (target == DEAD), f"state {state}, byte {byte:#04x}: dead, or its term is"
            )
            if after is not None and (stepper.key(*after), target) not in seen:
                seen.add((stepper.key(*after), target))
                found.append((*after, target))
    require(len(found) == len(relation), f"relation, {len(found)}: not met on the walk")


def liveness(document: dict[str, Any]) -> None:
    """d(s) = 0 exactly where s accepts, else 1 + the least d of a successor: so d bytes lead to acceptance."""
    live, claim = document["live"], document["claim"]
    require(len(live) == len(claim["table"]), "live: not one pair a state")
    for state, row in enumerate(claim["table"]):
        ways = [[live[after][0] + 1, number] for number, after in enumerate(row) if after != DEAD]
        least = [0, -1] if state in claim["accept"] else min(ways, default=None)
        require(live[state] == least, f"live, state {state}: not the least number of bytes, or class")


def minimality(document: dict[str, Any]) -> None:
    """Each split cuts its block in two by a word; one split a state gives each state, and dead, its own block."""
    accept, table = document["claim"]["accept"], document["claim"]["table"]
    require(len(document["splits"]) == len(table), "splits: not one a state")
    blocks, words = [0] * (len(table) + 1), [bytes([*(state in accept for state in range(len(table))), 0])]
    for number, (block, chosen, earlier) in enumerate(document["splits"]):
        if number == 0:
            require((chosen, earlier) == (-1, -1), "splits, 0: not by the empty word")
        else:
            require(0 <= earlier < number and 0 <= chosen < len(table[0]), f"splits, {number}: no such word")
            words.append(bytes([*(words[earlier][row[chosen]] for row in table), 0]))
        inside = [state for state, own in enumerate(blocks) if own == block and words[number][state]]
        require(0 < len(inside) < blocks.count(block), f"splits, {number}: the word does not cut this block")
        for state in inside:
            blocks[state] = number + 1


def numbering(document: dict[str, Any]) -> None:
    """Row by row, class by class, the states are met for the first time in the order 1, 2, 3, …"""
    met = 0
    for state, row in enumerate(document["claim"]["table"]):
        require(state <= met, f"table, state {state}: no state before it leads to it")
        for after in row:
            require(after <= met + 1, f"table, state {state}: leads to {after} before any led to {met + 1}")
            met = max(met, after)


def check(document: Any) -> list[str]:
    """The flaws of a certificate, one at most for each part; none when it proves its claim."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, DEPTH))
    try:
        flaws = checked(shape, document)
        parts = () if flaws else (equivalence, liveness, minimality, numbering)
        return flaws + [flaw for part in parts for flaw in checked(part, document)]
    finally:
        sys.setrecursionlimit(limit)


def checked(part: Callable[[Any], None], document: Any) -> list[str]:
    """The flaw that one part of the check finds, if any; what it cannot even read is malformed."""
    try:
        part(document)
    except Flaw as flaw:
        return [str(flaw)]
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
        return [f"{part.__name__}: malformed ({error})"]
    return []


def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object; a key given twice makes it none."""
    require(len(dict(pairs)) == len(pairs), "a key is given twice")
    return dict(pairs)


def held(data: Any) -> list[Any]:
    """The certificates in a file: the one that it is, or those of its cases, if it is a list of `cases`."""
    cases = data.get("cases") if type(data) is dict else None
    if type(cases) is not list:
        return [data]
    require(cases != [], "cases: there is no certificate")
    return [case.get("certificate") if type(case) is dict else None for case in cases]


def main(arguments: list[str]) -> int:
    """Check the file named and print one line."""
    try:
        (name,) = arguments
        with open(name, encoding="utf-8") as file:
            flaws = [
                flaw for document in held(json.load(file, object_pairs_hook=once)) for flaw in check(document)
            ]
    except Flaw as flaw:
        flaws = [str(flaw)]
    except (OSError, RecursionError, ValueError) as error:
        print(f"no certificate to check: {error}; usage: check_certificate.py FILE", file=sys.stderr)
        return 2
    print(f"{name}: {'; '.join(flaws) or 'OK, the claim is proven'}")
    return 1 if flaws else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
