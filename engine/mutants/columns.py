"""The columns of the kill matrix: checks that share no answer with each other, each telling its first witness.

Every column asks the reference as it is imported here (a mutant when `patch` was installed) and compares with one
source of truth only: values worked by hand, the golden files, one oracle, or one property. They are small on
purpose: a mutant that only a long run sees would be seen too late. None means that nothing was seen.
"""

import json
import math
import random
import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from engine.golden.automata import as_case
from engine.golden.check import first_difference
from engine.golden.document import FOLDER, read
from engine.mutants.questions import (
    LANGUAGES,
    REFUSED_PATTERNS,
    REFUSED_SCHEMAS,
    SCHEMAS,
    TOOL_TEXTS,
    TOOLS,
    VOCABULARIES,
)
from engine.samples import members
from oracles import (
    bisimulation,
    canonical,
    derivatives,
    graphs,
    instances,
    token_masks,
    tool_text,
    z3_languages,
    z3_schemas,
)
from reference.charsets import Dialect
from reference.compile import regex_to_dfa
from reference.constraint import Constraint
from reference.dfa import Dfa
from reference.errors import Refused
from reference.jsontext import JsonValue, dumps, loads
from reference.lookahead import forced_bytes, token_distances
from reference.masks import TokenIndex
from reference.pcg32 import Pcg32
from reference.sampling import SamplingParams, constrained_sample
from reference.schema import json_object_regex, json_schema_to_regex
from reference.tools import grammar, parse_tool_request
from reference.toolstream import Arguments, CallStart, Content, ToolParser, collect, delta_json, message_json
from reference.vocabulary import Vocabulary, load_vocabulary

Witness = str | None
Z3_MS = 4_000


def hand() -> Witness:
    """Tables, masks, texts and streams that a person worked out first (the chapter's section 3, SPEC)."""
    for what, told, expected in _hand_cases():
        if told != expected:
            return f"{what}: {told!r} where {expected!r} was worked out"
    return None


def goldens() -> Witness:
    """The files of fixtures/golden, read as a porter would and compared with what the reference says now."""
    for look in (_golden_languages, _golden_texts, _golden_draws):
        if told := look():
            return told
    return None


def derivative() -> Witness:
    """The derivative oracle's canonical automata, and its refusals."""
    for pattern, dialect in _patterns():
        expected = canonical.canonical(*derivatives.automaton(pattern, dialect))
        dfa = regex_to_dfa(pattern, dialect)
        if _plain(dfa) != expected:
            witness = bisimulation.difference(*_plain(dfa), *expected)
            return f"{pattern!r}: " + (
                f"differs on {witness!r}" if witness is not None else "another table, one language"
            )
    for pattern in REFUSED_PATTERNS:
        if _is_accepted(regex_to_dfa, pattern):
            return f"{pattern!r} is accepted"
    return None


def z3() -> Witness:
    """z3: the pattern of a schema is the schema's language, an automaton is its pattern's."""
    for schema in SCHEMAS:
        found = z3_schemas.schema_equals(schema, json_schema_to_regex(schema), timeout_ms=Z3_MS)
        if found.verdict == "differ":
            return f"{json.dumps(schema, ensure_ascii=False)}: differs on {found.witness!r}"
    found = z3_schemas.json_object_equals(2, json_object_regex(2), timeout_ms=Z3_MS)
    if found.verdict == "differ":
        return f"json_object 2: differs on {found.witness!r}"
    for pattern, dialect in LANGUAGES[:17]:
        found = z3_languages.automaton_equals(
            pattern, dialect, *_plain(regex_to_dfa(pattern, dialect)), timeout_ms=Z3_MS
        )
        if found.verdict == "differ":
            return f"{pattern!r}: differs on {found.witness!r}"
    return None


def networkx() -> Witness:
    """networkx: nothing idle, no state stuck in silence, token distances as the graph has them."""
    for pattern, dialect in LANGUAGES:
        dfa = regex_to_dfa(pattern, dialect)
        if idle := list(graphs.untrimmed(*_plain(dfa))):
            return f"{pattern!r}: idle states {idle[:5]}"
        for name, (tokens, eos) in VOCABULARIES.items():
            told = [
                int(distance) for distance in token_distances(TokenIndex(dfa, Vocabulary(tokens, eos, name)))
            ]
            expected = graphs.distances(*_plain(dfa), tokens, eos)
            if told != expected:
                return f"{pattern!r} over {name}: token distances {told}"
    return None


def first_principles() -> Witness:
    """Every state × every token of small vocabularies, on the derivative automaton; all forms of a mask agree."""
    for pattern, dialect in LANGUAGES:
        dfa, (accept, table) = regex_to_dfa(pattern, dialect), derivatives.automaton(pattern, dialect)
        for name, (tokens, eos) in VOCABULARIES.items():
            index = TokenIndex(dfa, Vocabulary(tokens, eos, name))
            rows, pairs = list(token_masks.mask_rows(accept, table, tokens, eos)), _pairs(dfa, table)
            for state, judge in pairs.items():
                if told := _mask_differs(index, state, rows[judge]):
                    return f"{pattern!r} over {name}, state {state}: {told}"
    return None


def properties() -> Witness:
    """Random patterns against Python's re, random texts against Python's json, equal languages with equal tables."""
    rng = random.Random(7)
    for one, other in (
        ("(?:a|b)*", "(?:b*a*)*"),
        ("aa*", "a+"),
        ("(?:ab)?(?:ab)?", "(?:ab){0,2}"),
        ("[a-c]d|ed", "[abce]d"),
    ):
        if _plain(regex_to_dfa(one)) != _plain(regex_to_dfa(other)):
            return f"{one!r} and {other!r} have different tables"
    for _ in range(150):
        pattern = _random_pattern(rng, 3)
        compiled, dfa = re.compile(pattern.encode()), regex_to_dfa(pattern)
        for text in _random_texts(rng):
            if dfa.matches(text) != (compiled.fullmatch(text) is not None):
                return f"{pattern!r} on {text!r}"
    return _json_property(rng) or _forced_property()


def walks() -> Witness:
    """Constrained outputs under logits that prefer what is forbidden: they end, parse, validate, and stop at EOS."""
    vocabulary, rng = load_vocabulary("toy"), Pcg32(3, 5)
    for number, schema in enumerate(SCHEMAS):
        index = TokenIndex(regex_to_dfa(json_schema_to_regex(schema)), vocabulary)
        for budget in (None, int(token_distances(index)[0]) + 5):
            told = _walk(index, schema, vocabulary, rng, number, budget)
            if told:
                return f"{json.dumps(schema, ensure_ascii=False)}: {told}"
    return None


def instances_column() -> Witness:
    """Valid instances are members, sampled members parse and validate, schemas outside the subset are refused."""
    for schema in SCHEMAS:
        dfa = regex_to_dfa(json_schema_to_regex(schema))
        for text in instances.valid_instances(schema, 40, 3):
            if not dfa.matches(text):
                return f"{json.dumps(schema)}: {text!r} is valid and not a member"
        for text in members(dfa, 40, 3):
            if told := instances.check_text(schema, text):
                return f"{json.dumps(schema)}: {text!r}: {told}"
    for schema in REFUSED_SCHEMAS:
        if _is_accepted(json_schema_to_regex, schema):
            return f"{json.dumps(schema)} is accepted"
    return None


def tool_texts() -> Witness:
    """The whole-text parser of tool calls, for every two-way cut and for one character at a time."""
    for text in TOOL_TEXTS:
        expected = tool_text.answer(text, "r")
        for pieces in ([text], list(text), *([text[:cut], text[cut:]] for cut in range(1, len(text)))):
            parser = ToolParser("r")
            events = [event for piece in pieces for event in parser.push(piece)] + parser.finish()
            content, calls = collect(events)
            told = (content, [(call.id, call.name, call.arguments) for call in calls])
            if told != expected:
                return f"{pieces!r}: {told!r} where {expected!r} is the whole text's answer"
    return _tool_grammars()


COLUMNS: dict[str, Callable[[], Witness]] = {
    "hand": hand,
    "goldens": goldens,
    "derivative": derivative,
    "z3": z3,
    "networkx": networkx,
    "masks": first_principles,
    "properties": properties,
    "walks": walks,
    "instances": instances_column,
    "tool texts": tool_texts,
}


def _patterns() -> Iterator[tuple[str, Dialect]]:
    yield from LANGUAGES
    for schema in SCHEMAS:
        yield json_schema_to_regex(schema), "bytes"


def _plain(dfa: Dfa) -> tuple[list[int], list[list[int]]]:
    return [int(state) for state in np.flatnonzero(dfa.accept)], dfa.trans.tolist()


def _is_accepted(work: Callable[..., object], *arguments: object) -> bool:
    try:
        work(*arguments)
    except Refused:
        return False
    return True


def _pairs(dfa: Dfa, table: list[list[int]]) -> dict[int, int]:
    """Which state of the oracle's automaton each of the reference's corresponds to, by walking both."""
    pairs, pending = {0: 0}, [0]
    while pending:
        state = pending.pop()
        for byte in range(256):
            target = int(dfa.trans[state, byte])
            if target >= 0 and target not in pairs and table[pairs[state]][byte] >= 0:
                pairs[target] = table[pairs[state]][byte]
                pending.append(target)
    return pairs


def _mask_differs(index: TokenIndex, state: int, exact: Any) -> Witness:
    wrong = np.flatnonzero(index.mask(state) != exact)
    if wrong.size:
        return f"token {int(wrong[0])} is {'forbidden' if exact[wrong[0]] else 'allowed'}"
    if not np.array_equal(index.table()[state], exact):
        return "the row of the table is another"
    words = index.bitmask(state)
    if [token for token in range(32 * len(words)) if int(words[token // 32]) >> token % 32 & 1] != list(
        np.flatnonzero(exact)
    ):
        return "the packed row is another"
    for token in range(0, len(exact), 1 + len(exact) // 300):
        if _is_accepted(index.next_state, state, token) != bool(exact[token]):
            return f"next_state and the mask disagree on token {token}"
    return None


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
        if _is_accepted(loads, text):
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


def _walk(
    index: TokenIndex, schema: Any, vocabulary: Vocabulary, rng: Pcg32, number: int, budget: int | None
) -> Witness:
    constraint, text = Constraint(index, budget=budget), b""
    taken: list[int] = []
    generator = np.random.default_rng(number)
    while not constraint.done and len(taken) < 400:
        logits = generator.normal(size=len(vocabulary)).astype(np.float32)
        logits[~constraint.mask()] += 50
        if budget is not None:
            logits[list(vocabulary.eos)] -= 60
        elif len(taken) > 25:
            logits[list(vocabulary.eos)] += 40
            logits[_leads_out(index, constraint)] += 20
        token, logprob = constrained_sample(logits, constraint, SamplingParams(), [], taken, rng)
        if not logprob <= 0 or math.isnan(logprob):
            return f"logprob {logprob}"
        taken.append(token)
        text += b"" if token in vocabulary.eos else vocabulary.tokens[token] or b""
    if budget is not None and len(taken) > budget:
        return f"{len(taken)} tokens on a budget of {budget}"
    if not constraint.done or not constraint.is_complete():
        return f"no end after {len(taken)} tokens: {text!r}"
    if constraint.mask().any():
        return "tokens are allowed after EOS"
    return instances.check_text(schema, text)


def _leads_out(index: TokenIndex, constraint: Constraint) -> list[int]:
    """The allowed tokens after which acceptance is nearest."""
    distances = token_distances(index)
    allowed = [token for token in np.flatnonzero(constraint.mask()) if token not in index.vocabulary.eos]
    after = {token: int(distances[index.next_state(constraint.state, int(token))]) for token in allowed}
    least = min(after.values(), default=0)
    return [int(token) for token, distance in after.items() if distance == least]


def _golden_languages() -> Witness:
    document = read(FOLDER / "constrain" / "languages.json")
    vocabulary = load_vocabulary("toy")
    for case in document["cases"][1:]:
        pattern = _pattern_of(case)
        if pattern != case["pattern"]:
            return f"{case['id']}: pattern {pattern[:80]!r}"
        dfa = regex_to_dfa(pattern, case["dialect"])
        if told := first_difference(as_case(*_plain(dfa)), case["automaton"]):
            return f"{case['id']}: {told[:160]}"
        index = TokenIndex(dfa, vocabulary)
        for path in case["paths"]:
            constraint = Constraint(index)
            for number, step in enumerate(path["steps"]):
                allowed = [int(token) for token in np.flatnonzero(constraint.mask())]
                if (allowed, constraint.is_complete()) != (step["allowed"], step["complete"]):
                    return f"{case['id']}, path {path['seed']}, step {number}: another mask"
                if "token" in step:
                    constraint.advance(step["token"])
    return None


def _pattern_of(case: dict[str, Any]) -> str:
    if case["kind"] == "schema":
        return json_schema_to_regex(loads(case["source"]))
    return json_object_regex(int(case["source"])) if case["kind"] == "json_object" else str(case["pattern"])


def _golden_texts() -> Witness:
    for case in read(FOLDER / "constrain" / "dumps.json")["cases"]:
        if dumps(loads(case["text"])) != case["dumps"]:
            return f"{case['id']}: {dumps(loads(case['text']))!r}"
    for case in read(FOLDER / "constrain" / "refused-patterns.json")["cases"]:
        if _is_accepted(regex_to_dfa, case["pattern"], case["dialect"]):
            return f"{case['id']} is accepted"
    for case in read(FOLDER / "constrain" / "refused-schemas.json")["cases"]:
        if _is_accepted(json_schema_to_regex, loads(case["schema"])):
            return f"{case['id']} is accepted"
    return None


def _golden_draws() -> Witness:
    for case in read(FOLDER / "sampling" / "pcg32.json")["cases"]:
        rng = Pcg32(int(case["seed"]), int(case["sequence"]))
        if [f"{rng.next_u32():08x}" for _ in case["words"]] != case["words"]:
            return f"{case['id']}: another stream"
    for case in read(FOLDER / "sampling" / "draws.json")["cases"]:
        tokens = tuple(None if token is None else bytes.fromhex(token) for token in case["tokens"])
        index = TokenIndex(
            regex_to_dfa(case["pattern"]), Vocabulary(tokens, frozenset(case["eos"]), "golden")
        )
        rng = Pcg32(0, 0)
        rng.state, rng.inc = int(case["rng"]["state"]), int(case["rng"]["inc"])
        params = SamplingParams(**case["params"])
        logits = np.array(case["logits"], dtype=np.float32)
        token, logprob = constrained_sample(
            logits, Constraint(index), params, case["prompt"], case["output"], rng
        )
        if token != case["token"] or not math.isclose(logprob, case["logprob"], rel_tol=1e-9, abs_tol=1e-9):
            return f"{case['id']}: token {token}, logprob {logprob}"
    return None


def _request(choice: str, more: str = "") -> Any:
    return parse_tool_request(TOOLS % (choice, more))


def _tool_grammars() -> Witness:
    """By membership in the derivative oracle's reading: which calls each choice allows."""
    weather = b'<tool_call>{"name":"get_weather","arguments":{"city":"Rome"}}</tool_call>'
    ping = b'<tool_call>{"name":"ping","arguments":{}}</tool_call>'
    named = '{"type":"function","function":{"name":"ping"}}'
    expected = (
        (named, "", {ping: True, weather: False, ping + b"\n" + ping: False}),
        ('"required"', "", {ping: True, weather: True, ping + b"\n" + weather: True, ping + weather: False}),
        ('"required"', "", {b"\n".join([ping] * 4): True, b"\n".join([ping] * 5): False}),
        ('"required"', ',"parallel_tool_calls":false', {ping: True, ping + b"\n" + weather: False}),
        ('"auto"', "", {ping[len(b"<tool_call>") :]: True, ping: False}),
    )
    for choice, more, texts in expected:
        made = grammar(_request(choice, more))
        for text, member in texts.items():
            if made is None or derivatives.is_member(made.pattern, text) != member:
                return f"tool_choice {choice}{more}: {text!r} should be {'a member' if member else 'none'}"
    bad = TOOLS.replace('"type":"string"', '"type":"string","minLength":1') % ('"auto"', "")
    return "parameters outside the subset are accepted" if _is_accepted(parse_tool_request, bad) else None


def _hand_cases() -> Iterator[tuple[str, Any, Any]]:
    words = regex_to_dfa("(cat|car|dog)s?")
    edges = [(s, chr(b), int(words.trans[s, b])) for s, b in np.argwhere(words.trans >= 0).tolist()]
    yield "states of (cat|car|dog)s?", words.n_states, 7
    yield "accepting", _plain(words)[0], [5, 6]
    expected = [
        (0, "c", 1),
        (0, "d", 2),
        (1, "a", 3),
        (2, "o", 4),
        (3, "r", 5),
        (3, "t", 5),
        (4, "g", 5),
        (5, "s", 6),
    ]
    yield "edges", edges, expected
    yield from _hand_masks()
    pair: JsonValue = {"type": "object", "properties": {"x": {"type": "integer"}, "y": {"type": "integer"}}}
    number = "-?(?:0|[1-9][0-9]*)"
    yield (
        "optional pair",
        json_schema_to_regex(pair),
        rf"\{{(?:\"x\":{number}(?:,\"y\":{number})?|(?:\"y\":{number}|))\}}",
    )
    bounded: JsonValue = {"type": "array", "items": {"type": "null"}, "maxItems": 2}
    yield "at most two", json_schema_to_regex(bounded), r"\[(?:null(?:,null){0,1})?\]"
    awkward: JsonValue = {"enum": ["2.5", 1.5e-05]}
    yield "enum", json_schema_to_regex(awkward), r"(?:\"2\.5\"|1\.5e\-05)"
    for text, written in (("-0", "0"), ("-0.0", "-0.0"), ("1e16", "1e+16"), (r'"\/\u007f"', '"/\x7f"')):
        yield f"dumps {text}", dumps(loads(text)), written
    rng = Pcg32(42, 54)
    stream = "a15c02b7 7b47f409 ba1d3330 83d2f293 bfa4784b cbed606e"
    yield "PCG32", " ".join(f"{rng.next_u32():08x}" for _ in range(6)), stream
    yield "an empty language is accepted", _is_accepted(regex_to_dfa, r"[^\x00-\xff]"), False
    yield from _hand_tools()


def _hand_masks() -> Iterator[tuple[str, Any, Any]]:
    vocabulary = Vocabulary((b"a", b"b", b"c", None), frozenset({3}), "hand")
    constraint = Constraint(TokenIndex(regex_to_dfa("ab?"), vocabulary))
    logits, greedy, rng = np.array([0, 1, 5, 2], np.float32), SamplingParams(temperature=0), Pcg32(0, 0)
    yield "mask at the start", constraint.mask().tolist(), [True, False, False, False]
    yield "first draw", constrained_sample(logits, constraint, greedy, [], [], rng), (0, 0.0)
    yield "mask after a", constraint.mask().tolist(), [False, True, False, True]
    token, logprob = constrained_sample(logits, constraint, greedy, [], [0], rng)
    yield "second draw", (token, round(logprob, 9)), (3, round(2 - math.log(math.e + math.e**2), 9))
    yield "mask after EOS", constraint.mask().tolist(), [False] * 4


def _hand_tools() -> Iterator[tuple[str, Any, Any]]:
    parser = ToolParser("req7")
    pieces = ("Sure.<tool_", 'call>{"name":"get_weather","argu', 'ments":{"city":"Pa', 'ris"}}</tool_call>')
    told = [parser.push(piece) for piece in pieces]
    start = CallStart(0, "call_req7_0", "get_weather")
    expected = [[Content("Sure.")], [], [start, Arguments(0, '{"city":"Pa')], [Arguments(0, 'ris"}')]]
    yield "the streamed call", told, expected
    content, calls = collect([event for events in told for event in events][1:])
    message = loads(message_json(content, calls))
    yield "content beside calls", message["content"] if isinstance(message, dict) else "", None
    delta = '{"tool_calls":[{"index":0,"function":{"arguments":"x"}}]}'
    yield "a fragment's delta", delta_json(Arguments(0, "x")), delta
    named = grammar(_request('{"type":"function","function":{"name":"ping"}}'))
    outside = TOOLS.replace('"type":"string"', '"type":"string","pattern":"a"') % ('"auto"', "")
    yield "a keyword outside the subset is accepted", _is_accepted(parse_tool_request, outside), False
    yield (
        "a named choice",
        named and named.pattern,
        r"\<tool_call\>\{\"name\"\:\"ping\"\,\"arguments\"\:\{\}\}\<\/tool_call\>",
    )
