"""The audit: what it calls a difference, what it lets pass, and that it comes to its end whatever the port does."""

import json
import xml.etree.ElementTree as Xml
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from engine.audit.baseline import Accepted, read_baseline, sort_findings, write_baseline
from engine.audit.compare import Difference, is_forced_first, wrong_tokens
from engine.audit.exact import DONE, Exact, compiled, ids
from engine.audit.forms import form_of, place_after
from engine.audit.instances import broken_keyword, in_schema_order, spellings
from engine.audit.junit import write_junit
from engine.audit.plan import Case, Settings, all_grammars, forbidden, state_paths
from engine.audit.policies import Policy, declared, language, members
from engine.audit.scenario import Grammar
from engine.audit.vocabularies import adversarial, named
from engine.audit.walks import walks
from engine.audit.writing import Tokenizer
from engine.errors import BadInput
from engine.host import Limits
from engine.ports.registry import find
from engine.protocol import packed_mask
from engine.results import Record, read_records
from maskproof.__main__ import app, load_commands
from properties.audit_ports import SMALL, changed, changed_all, fault, records
from reference.dfa import DEAD
from reference.errors import Refused
from reference.vocabulary import Vocabulary, load_vocabulary

if not app.registered_commands:
    load_commands()

TOY = load_vocabulary("toy")
VOCABULARY = Vocabulary((b"a", b"b", b"ab", None, b"", None, b"a"), frozenset({5}), "seven")
AB = Exact(Grammar("regex.bytes", "ab?"), VOCABULARY, Policy())


def mask(*allowed: int) -> np.ndarray:  # type: ignore[type-arg]
    bits = np.zeros(len(VOCABULARY), bool)
    bits[list(allowed)] = True
    return packed_mask(bits)


# What a difference is called.


def test_the_exact_masks_of_the_hand_example_are_as_worked_out() -> None:
    assert ids(AB.mask(0), 7).tolist() == [0, 2, 6]
    assert ids(AB.mask(1), 7).tolist() == [1, 5]
    assert ids(AB.mask(2), 7).tolist() == [5]
    assert not AB.mask(DONE).any()
    assert [AB.after(0, token) for token in range(-1, 8)] == [DEAD, 1, DEAD, 2, DEAD, DEAD, DEAD, 1, DEAD]
    assert AB.after(1, 5) == DONE and AB.after(DONE, 5) == DEAD
    assert AB.paths() == {0: (), 1: (0,), 2: (2,)}


@pytest.mark.parametrize(
    ("state", "allowed", "kinds"),
    [
        (0, [0, 2, 6], {}),
        (0, [0, 1, 2, 6], {"unsound": [1]}),
        (0, [0, 6], {"incomplete": [2]}),
        (0, [0, 2, 5, 6], {"eos_early": [5]}),
        (0, [0, 2, 3, 6], {"special_leak": [3]}),
        (0, [0, 2, 4, 6], {"special_leak": [4]}),
        (0, [], {"stuck": [0, 2, 6]}),
        (0, [1, 3, 5], {"unsound": [1], "special_leak": [3], "eos_early": [5], "incomplete": [0, 2, 6]}),
        (1, [1], {"eos_missing": [5]}),
        (1, [], {"eos_missing": [5], "incomplete": [1]}),
        (2, [], {"eos_missing": [5]}),
        (DONE, [], {}),
        (DONE, [5], {"after_eos": [5]}),
        (DONE, [0, 3], {"after_eos": [0, 3]}),
    ],
)
def test_wrong_masks_are_called_by_the_names_of_the_table(
    state: int, allowed: list[int], kinds: dict[str, list[int]]
) -> None:
    found = wrong_tokens(AB, state, mask(*allowed))
    assert {kind: tokens.tolist() for kind, tokens in found.items()} == kinds


def test_after_eos_the_eos_ids_may_stay_only_where_the_port_says_so() -> None:
    stays = Exact(AB.grammar, VOCABULARY, Policy(eos_stays=True))
    assert wrong_tokens(stays, DONE, mask(5)) == {}
    assert wrong_tokens(stays, DONE, mask(0, 5)).keys() == {"after_eos"}


@pytest.mark.parametrize(
    ("pattern", "path", "allowed", "right"),
    [
        ("ab", (), [0], True),  # a begins the forced bytes ab
        ("ab", (), [2], True),
        ("ab", (), [0, 2], False),  # two tokens are no forced token alone
        ("ab", (), [1], False),
        ("a[ab]", (), [0], True),
        ("a[ab]", (), [2], False),  # ab goes past what is forced
        ("ab?", (0,), [1], False),  # nothing is forced where the output may end
    ],
)
def test_a_forced_token_alone_is_told_from_a_wrong_mask(
    pattern: str, path: tuple[int, ...], allowed: list[int], right: bool
) -> None:
    truth = Exact(Grammar("regex.bytes", pattern), VOCABULARY, Policy(forced_first_token=True))
    assert is_forced_first(truth, truth.follow(path), mask(*allowed)) == right


# Policies change the language, exactly.

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-99, 99) | st.text(st.sampled_from('a, :"\\é'), max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab", max_size=2), inner, max_size=3),
    max_leaves=6,
)
OBJECTS = st.dictionaries(st.text("ab,: ", max_size=2), VALUES, max_size=3)
TWO_DEEP = Grammar("json_object", "3")


@given(OBJECTS)
@settings(max_examples=60, deadline=None)
def test_separators_change_where_blanks_stand_and_nothing_else(value: dict[str, object]) -> None:
    """A text with the declared separators is a member iff its compact form is one."""
    policy = declared({"separators": [", ", ": "]})
    spaced, compact = compiled(TWO_DEEP, policy), compiled(TWO_DEEP, Policy())
    own = json.dumps(value, separators=(", ", ": "), ensure_ascii=False).encode()
    plain = json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()
    assert spaced.matches(own) == compact.matches(plain)
    assert own == plain or not spaced.matches(plain)


@given(OBJECTS, st.sampled_from([None, 1, 2, "\t"]))
@settings(max_examples=60, deadline=None)
def test_white_space_may_stand_wherever_json_has_it(
    value: dict[str, object], indent: int | str | None
) -> None:
    free, compact = compiled(TWO_DEEP, declared({"whitespace": "any"})), compiled(TWO_DEEP, Policy())
    text = " \r\n" + json.dumps(value, indent=indent, ensure_ascii=False) + "\n "
    plain = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    assert free.matches(text.encode()) == free.matches(plain.encode()) == compact.matches(plain.encode())


@pytest.mark.parametrize("text", ['{"a":1 2}', '{"a":t rue}', '{"a":"x" "y"}', '{"a":- 1}', '{"a" "b":1}'])
def test_white_space_never_splits_a_value(text: str) -> None:
    free = language("json_object", "2", declared({"whitespace": "any"}))
    assert not free.matches(text.encode())


def test_short_escapes_leave_no_hex_escape() -> None:
    short = language("json_schema", '{"type":"string"}', declared({"escapes": "short-only"}))
    assert short.matches(rb'"a\n\"\\u"') and short.matches('"é"'.encode())
    assert not short.matches(rb'"\u00e9"')
    plain = language("json_schema", '{"type":"string"}', Policy())
    assert members(short, 7) == members(plain, 7) and members(short, 8) + 22**4 == members(plain, 8)


@pytest.mark.parametrize(
    ("pattern", "left"),
    [
        ("ab?", ["a"]),
        ("a*", ["a"]),
        ("(?:ab)*", ["ab"]),
        ("b|a+c|aab", ["b", "ac", "aab", "aac"]),
        ("[ab]*b", ["b", "ab", "aab"]),
    ],
)
def test_an_output_that_ends_where_it_is_first_whole(pattern: str, left: list[str]) -> None:
    """By hand: members that are not empty and begin with no shorter one, of at most three bytes."""
    dfa = language("regex.bytes", pattern, declared({"ends": "first-whole"}))
    short = ["".join(text) for many in range(4) for text in product("abc", repeat=many)]
    assert [text for text in short if dfa.matches(text.encode())] == left


def test_a_language_of_which_a_policy_leaves_nothing_is_refused() -> None:
    with pytest.raises(Refused, match="no text is left"):
        language("regex.bytes", "", declared({"ends": "first-whole"}))


def test_sorted_members_are_those_of_the_schema_with_its_names_in_order() -> None:
    """Objects at any depth, in arrays, branches and constants; `{"type":"object"}` inside a value is no schema."""
    inner = {
        "type": "object",
        "properties": {"é": {"type": "null"}, "Z": {"const": {"b": [{"d": 1, "c": 2}], "a": 1}}},
    }
    schema = {
        "type": "object",
        "properties": {"z": {"anyOf": [inner, {"enum": [{"y": 0, "x": 0}]}]}, "a": inner},
    }
    dfa = language("json_schema", json.dumps(schema), declared({"object_order": "sorted"}))
    assert dfa.matches('{"a":{"Z":{"a":1,"b":[{"c":2,"d":1}]},"é":null},"z":{"x":0,"y":0}}'.encode())
    assert dfa.matches('{"z":{"é":null}}'.encode()) and dfa.matches(b"{}")
    for text in (
        '{"z":{},"a":{}}',
        '{"a":{"é":null,"Z":{"a":1,"b":[{"c":2,"d":1}]}}}',
        '{"z":{"y":0,"x":0}}',
    ):
        assert not dfa.matches(text.encode())
        assert not language("json_schema", json.dumps(schema), Policy()).matches(b'{"a":{},"z":{}}')
    assert declared({"object_order": "sorted"}).unknown == ()
    assert declared({"object_order": "backwards"}).unknown == ("object_order",)


SORTED = (
    'given twice in the schema")\n    return dict(pairs)',
    'given twice in the schema")\n    return dict(sorted(pairs))',
)


@pytest.mark.parametrize("said", [True, False])
def test_a_port_that_sorts_its_members_is_held_to_that_when_it_says_so(said: bool, tmp_path: Path) -> None:
    hello = '"kinds": KINDS, "features": FEATURES, "policies": {"object_order": "sorted"}}'
    pairs = [SORTED, *([(HELLO, hello)] if said else [])]
    asked = Settings(vocabularies=("bytes",), languages=("person", "const-nested"), walks=1, length=30)
    found = list(records(changed_all(tmp_path, *pairs), tmp_path, asked))
    wrong = {record.kind for record in found if record.check == "masks" and record.verdict == "refuted"}
    assert wrong == (set() if said else wrong | {"unsound", "incomplete"})


def test_what_a_port_declares_and_the_suite_does_not_know_is_told() -> None:
    policy = declared(
        {"mask": "telepathy", "colour": "blue", "escapes": "short-only", "separators": ["x", ":"]}
    )
    assert policy.unknown == ("mask", "colour", "separators") and policy.short_escapes


FORCED_MASK = """        packed, automaton = session.mask(), session.grammar.automaton
        here, forced = session.states[-1], b""
        while here != DONE and not automaton.accepts(here):
            live = [byte for byte in range(256) if automaton.step(here, byte) != DEAD]
            if len(live) != 1:
                break
            forced += bytes(live)
            here = automaton.step(here, live[0])
        first = [token for token, data in enumerate(self.trie.tokens) if data and forced.startswith(data)]
        if first:
            packed = bytearray(len(packed))
            chosen = max(first, key=lambda token: len(self.trie.tokens[token]))
            packed[chosen // 8] |= 1 << chosen % 8
        mask = base64.b64encode(packed).decode()"""
HELLO = '"kinds": KINDS, "features": FEATURES}'


def test_a_declared_policy_is_honoured_and_its_narrowing_reported(tmp_path: Path) -> None:
    said = '"kinds": KINDS, "features": FEATURES, "policies": {"mask": "forced-first-token"}}'
    forced = (fault("stale-buffer").old, FORCED_MASK)
    found = list(records(changed_all(tmp_path, forced, (HELLO, said)), tmp_path))
    assert [record for record in found if record.verdict == "refuted"] == []
    (policy,) = [record for record in found if record.check == "policy"]
    assert policy.domain["narrowed_masks"] > 0 and policy.domain["withheld_tokens"] > 0


def test_the_same_policy_undeclared_is_a_finding(tmp_path: Path) -> None:
    found = list(records(changed(tmp_path, fault("stale-buffer").old, FORCED_MASK), tmp_path))
    assert "incomplete" in {record.kind for record in found if record.verdict == "refuted"}


# What is asked.


def test_every_reachable_state_is_asked_once_in_the_exhaustive_mode() -> None:
    for name, grammar in all_grammars()[:12]:
        case = Case(name, grammar, TOY)
        truth = Exact(grammar, TOY, Policy())
        asked = []
        for scenario in state_paths(case, truth, 10_000, 1):
            state = 0
            for step in scenario.steps:
                if step[0] == "advance":
                    state = truth.after(state, step[2])
                elif step[0] == "mask":
                    asked.append(state)
        assert sorted(asked) == sorted(truth.paths())


def test_walks_are_long_take_many_tokens_and_end_in_the_middle_of_characters_too() -> None:
    grammar = Grammar("json_schema", '{"type":"string"}')
    truth = Exact(grammar, TOY, Policy())
    scenarios = list(walks(Case("string", grammar, TOY), truth, 3, 3, 300))
    tokens = [[step[2] for step in scenario.steps if step[0] == "advance"] for scenario in scenarios]
    assert len(tokens[0]) >= 250 and len(set(tokens[0])) > 90
    cut = [TOY.tokens.index(piece) for piece in (b"\xc3", b"\xf0\x9f")]
    assert set(cut) <= set(tokens[0])
    assert scenarios == list(walks(Case("string", grammar, TOY), truth, 3, 3, 300))


def test_forbidden_tokens_of_every_kind_are_tried() -> None:
    import random

    size = len(VOCABULARY)
    found = set(forbidden(AB, 0, random.Random(1)))
    assert {3, 4, 5, 1, -1, size, 1 << 31} <= found
    assert not found & set(ids(AB.mask(0), size).tolist())


def test_the_adversarial_vocabularies_hold_what_they_say() -> None:
    made = {vocabulary.name: vocabulary for vocabulary in adversarial()}
    assert all(len(vocabulary) % 8 for vocabulary in made.values())
    assert not made["no-eos"].eos and len(made["several-eos"].eos) == 4
    assert {0, 31, 32, len(made["several-eos"]) - 1} == made["several-eos"].eos
    assert len(made["wide"]) > 65_536 and made["wide"].tokens[65_536] is not None
    assert max(len(token or b"") for token in made["giant"].tokens) >= 5000
    every = {bytes([byte]) for byte in range(256)}
    assert all(every <= set(vocabulary.tokens) for name, vocabulary in made.items() if name != "several-eos")
    assert len(set(made["duplicates"].tokens)) < len(made["duplicates"].tokens) / 1.9


def test_a_vocabulary_or_language_that_is_not_known_is_bad_input() -> None:
    with pytest.raises(BadInput, match="no vocabulary"):
        named([])
    told = CliRunner().invoke(app, ["audit", "pure", "--language", "klingon"])
    assert isinstance(told.exception, BadInput) and "klingon" in str(told.exception)


# Ports that are right, wrong, or hardly there.


@pytest.mark.parametrize("name", ["pure", "reference"])
def test_a_sound_port_audits_clean_over_awkward_vocabularies(name: str, tmp_path: Path) -> None:
    asked = Settings(
        vocabularies=("toy", "adversarial"), languages=("city", "unicode-class"), walks=2, length=60
    )
    found = list(records(find(name).command(), tmp_path, asked))
    assert [record for record in found if record.verdict not in ("tested", "proven")] == []
    (effort,) = [record for record in found if record.check == "effort"]
    assert effort.domain["bits"] > 1_000_000 and 0 < effort.detail["port_share"] <= 1


@pytest.mark.slow
@pytest.mark.parametrize("name", ["pure", "reference"])
def test_a_sound_port_audits_clean_in_every_mode(name: str, tmp_path: Path) -> None:
    found = list(records(find(name).command(), tmp_path, Settings()))
    assert [record for record in found if record.verdict not in ("tested", "proven")] == []


def test_a_port_that_refuses_everything_is_no_finding(tmp_path: Path) -> None:
    old = "    if kind not in KINDS:\n"
    found = list(records(changed(tmp_path, old, "    if True:\n"), tmp_path))
    assert {record.verdict for record in found if record.check == "compile"} == {"refused"}
    assert [record for record in found if record.verdict == "refuted"] == []


def test_a_port_that_refuses_a_vocabulary_is_no_finding(tmp_path: Path) -> None:
    old = "        if not all(type(token)"
    new = (
        '        if not request["eos"]:\n            raise Failure("refused", "an EOS id is needed")\n' + old
    )
    asked = Settings(
        vocabularies=("no-eos", "bytes"), languages=("hand-words",), walks=1, length=20, programs=1
    )
    found = list(records(changed(tmp_path, old, new), tmp_path, asked))
    assert [record for record in found if record.verdict == "refuted"] == []
    assert {record.case for record in found if record.check == "compile"} == {
        "hand-words@no-eos",
        "hand-words/unicode@no-eos",
    }


def test_a_port_that_dies_at_every_mask_is_audited_to_the_end(tmp_path: Path) -> None:
    found = list(records(changed(tmp_path, fault("stale-buffer").old, "        sys.exit(1)"), tmp_path))
    assert found[-1].check == "effort"
    assert {record.kind for record in found if record.verdict == "refuted"} == {"crash"}


def test_a_port_that_hangs_is_audited_to_the_end(tmp_path: Path) -> None:
    new = (
        "        __import__('time').sleep(60 if len(session.states) == 3 else 0)\n"
        + fault("stale-buffer").old
    )
    limits = Limits(answer_seconds=0.4, slow_seconds=5)
    command = changed(tmp_path, fault("stale-buffer").old, new)
    asked = Settings(vocabularies=("toy",), languages=("hand-mask",), walks=0, programs=0)
    found = list(records(command, tmp_path, asked, limits=limits))
    assert found[-1].check == "effort"
    assert {record.kind for record in found if record.verdict == "refuted"} == {"hang"}


def test_a_port_that_is_no_port_is_one_finding(tmp_path: Path) -> None:
    found = list(records(["/bin/cat"], tmp_path, limits=Limits(slow_seconds=2)))
    assert [(record.case, record.kind) for record in found] == [("hello", "garbage")]


def tokenizer_file(folder: Path) -> str:
    """A byte-level tokenizer.json of printable ASCII with one special and one plain added token."""
    letters = {chr(code): code - 33 for code in range(33, 127)}
    added = [
        {"id": 94, "content": "<|end|>", "special": True},
        {"id": 95, "content": "<think>", "special": False},
    ]
    document = {"model": {"type": "BPE", "vocab": letters, "merges": []}, "added_tokens": added}
    document["pre_tokenizer"] = document["decoder"] = {"type": "ByteLevel"}  # type: ignore[assignment]
    path = folder / "tokenizer.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    return str(path)


def test_the_ports_own_loader_is_under_audit_when_it_has_one(tmp_path: Path) -> None:
    """The pure port with a loader that takes added tokens for text."""
    old = "        tokens = [None if text is None"
    new = """        if "tokenizer" in request:
            added = json.load(open(request["tokenizer"]))["added_tokens"]
            for entry in added:
                texts[entry["id"]] = base64.b64encode(entry["content"].encode()).decode()
"""
    features = ('FEATURES = ["fork", "rollback"', 'FEATURES = ["tokenizer", "fork", "rollback"')
    command = changed_all(tmp_path, (old, new + old), features)
    spec = "tokenizer:" + tokenizer_file(tmp_path)
    asked = Settings(vocabularies=(spec,), languages=("city",), walks=1, length=20, programs=1)
    found = list(records(command, tmp_path, asked))
    assert {record.kind for record in found if record.verdict == "refuted"} == {
        "special_leak",
        "advance_disagrees",
    }
    plain = list(records(find("pure").command(), tmp_path, asked))
    assert {record.verdict for record in plain if record.check == "compile"} == {"refused"}


# Corpora.


def corpus(folder: Path, schema: object, *instances: tuple[object, bool]) -> str:
    folder.mkdir()
    tests = [{"description": "", "data": data, "valid": valid} for data, valid in instances]
    (folder / "one.json").write_text(json.dumps({"schema": schema, "tests": tests}), encoding="utf-8")
    return str(folder)


SCHEMA = {
    "type": "object",
    "properties": {"b": {"type": "integer", "minimum": 3}, "a": {"type": "string"}},
    "required": ["b"],
}


def test_a_keyword_that_is_not_enforced_is_found_with_its_instance_and_made_small(tmp_path: Path) -> None:
    planted = fault("keywords-ignored")
    folder = corpus(tmp_path / "corpus", SCHEMA, ({"a": "x", "b": 7}, True), ({"a": "x", "b": 1}, False))
    found = list(records(changed(tmp_path, planted.old, planted.new), tmp_path, corpus=folder))
    (record,) = [one for one in found if one.check == "instances"]
    assert (record.verdict, record.kind, record.detail["keyword"]) == ("refuted", "not_enforced", "minimum")
    assert json.loads(record.witness["source"]) == {"type": "integer", "minimum": 3}
    assert record.witness["text"] == "1"


def test_a_valid_instance_that_cannot_be_written_is_found(tmp_path: Path) -> None:
    """The pure port with numbers that end after three digits."""
    schema = {"type": "object", "properties": {"b": {"type": "integer"}}, "required": ["b"]}
    folder = corpus(tmp_path / "corpus", schema, ({"b": 12}, True), ({"b": 12345}, True), ({"b": "x"}, False))
    command = changed(tmp_path, 'INTEGER = r"-?(?:0|[1-9][0-9]*)"', 'INTEGER = r"-?(?:0|[1-9][0-9]{0,2})"')
    found = list(records(command, tmp_path, corpus=folder))
    (record,) = [one for one in found if one.check == "instances"]
    assert (record.kind, record.witness["text"]) == (
        "incomplete",
        '{"b":12345}',
    ) or record.kind == "incomplete"
    assert "cannot be written" in record.message


def test_a_sound_port_is_clean_over_a_corpus_and_its_refusals_are_counted(tmp_path: Path) -> None:
    schema = {"type": "object", "properties": {"b": {"type": "integer"}, "a": {"type": "null"}}}
    folder = corpus(
        tmp_path / "corpus",
        schema,
        ({"a": None, "b": 1}, True),
        ({"c": 1}, True),
        ({"b": "x"}, False),
        ({"b": 1}, False),
    )
    found = list(records(find("pure").command(), tmp_path, corpus=folder))
    (record,) = [one for one in found if one.check == "instances"]
    assert record.verdict == "tested"
    assert record.domain == {"valid": 1, "narrowed": 1, "invalid": 1, "undecided": 1}
    (tmp_path / "corpus" / "one.json").write_text(
        json.dumps({"schema": SCHEMA, "tests": []}), encoding="utf-8"
    )
    (record,) = [
        one for one in records(find("pure").command(), tmp_path, corpus=folder) if one.case == "corpus:one"
    ]
    assert record.verdict == "refused" and "minimum" in record.message


def test_a_folder_without_files_is_bad_input(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="no \\.json files"):
        list(records(find("pure").command(), tmp_path, corpus=str(tmp_path)))


def test_instances_are_spelled_in_the_schemas_order_and_in_their_own() -> None:
    value = {"a": "x", "b": 1, "z": 0}
    assert list(in_schema_order(SCHEMA, value)) == ["b", "a", "z"]
    texts = spellings(SCHEMA, value, Policy(separators=(b", ", b": ")))
    assert texts[0] == '{"b": 1, "a": "x", "z": 0}' and '{"a":"x","b":1,"z":0}' in texts


@pytest.mark.parametrize(
    ("value", "keyword"),
    [({"b": 3}, None), ({"b": 2}, "minimum"), ({}, "required"), ({"b": 3, "a": 1}, "type")],
)
def test_the_keyword_that_an_instance_breaks_is_named(value: object, keyword: str | None) -> None:
    assert broken_keyword(SCHEMA, value) == keyword


def test_text_is_cut_into_the_longest_tokens() -> None:
    cut = Tokenizer(Vocabulary((b"a", b"ab", b"abc", b"b", None), frozenset(), "cut"))
    assert cut(b"abcab") == [2, 1] and cut(b"bab") == [3, 1] and cut(b"xa") is None and cut(b"") == []


# Groups of JSON differences.


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (b'{"a', (True, True)),
        (b'{"a"', (False, True)),
        (b'{"a":', (False, False)),
        (b'{"a":"x', (True, False)),
        (b'{"a":1,', (False, True)),
        (b'{"a":[1,', (False, False)),
        (b'{"a":"\\"', (True, False)),
        (b'{"a":"\\u00e9', (True, False)),
        (b'{"a":"\\\\"', (False, False)),
    ],
)
def test_the_place_in_a_json_text_is_found(text: bytes, expected: tuple[bool, bool]) -> None:
    place = place_after(text)
    assert (place.in_string, place.is_name) == expected


@pytest.mark.parametrize(
    ("schema", "before", "piece", "kind", "form"),
    [
        ('{"type":"integer"}', b"-", b"0", "incomplete", "number forms"),
        ('{"type":"integer"}', b"0", b"1", "unsound", "number forms"),
        ('{"type":"array","items":{"type":"null"}}', b"[", b" ", "unsound", "white space"),
        ('{"type":"string"}', b'"', b"\\", "incomplete", "escapes"),
        ('{"type":"string"}', b'"\\', b"x", "unsound", "escapes"),
        ('{"type":"string"}', b'"', b"a", "incomplete", "characters of a string"),
        (
            '{"type":"object","properties":{"a":{"type":"null"}}}',
            b'{"',
            b"b",
            "unsound",
            "names and their order",
        ),
        ('{"type":"array","items":{"type":"null"}}', b"[null", b"}", "unsound", "structure"),
    ],
)
def test_a_difference_is_grouped_by_what_it_is_about(
    schema: str, before: bytes, piece: bytes, kind: str, form: str
) -> None:
    letters = Vocabulary((*(bytes([byte]) for byte in range(256)), None), frozenset({256}), "letters")
    truth = Exact(Grammar("json_schema", schema), letters, Policy())
    difference = Difference(0, kind, "", path=tuple(before), wrong=(piece[0],))
    assert form_of(difference, truth) == form


# Results, baselines, JUnit, the command line.


def record(kind: str = "unsound", case: str = "city@toy", verdict: str = "refuted") -> Record:
    return Record(command="audit", subject="x", case=case, check="masks", verdict=verdict, kind=kind)  # type: ignore[arg-type]


def test_a_baseline_sorts_findings_into_known_and_new(tmp_path: Path) -> None:
    known, fresh, fine = record(), record("incomplete"), record("", verdict="tested")
    accepted = (Accepted("x", "city@*", "masks", "unsound"), Accepted("x", "gone", "masks", "stuck"))
    found = sort_findings([known, fresh, fine], accepted)
    assert (found.new, found.accepted, found.unmatched) == ((fresh,), (known,), (accepted[1],))
    path = tmp_path / "baseline.json"
    assert write_baseline(path, [known, fresh, fine], accepted) == 3
    assert sort_findings([known, fresh], read_baseline(path)).new == ()


def test_a_baseline_that_is_none_is_bad_input(tmp_path: Path) -> None:
    (tmp_path / "b.json").write_text("[]", encoding="utf-8")
    with pytest.raises(BadInput, match="no baseline"):
        read_baseline(tmp_path / "b.json")


def test_junit_counts_new_findings_as_failures_and_survives_what_engines_print(tmp_path: Path) -> None:
    odd = Record(
        command="audit",
        subject="x",
        case="c",
        check="masks",
        verdict="refuted",
        kind="crash",
        message="\x00\x1b[2J\ud800 ü",
    )
    path = tmp_path / "out" / "junit.xml"
    write_junit(
        path, [odd, record(), record("", verdict="tested"), record("", verdict="refused")], (record(),)
    )
    suite = Xml.parse(path).getroot().find("testsuite")
    assert suite is not None
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("4", "1", "2")


def run(*words: str) -> tuple[int, dict]:  # type: ignore[type-arg]
    told = CliRunner().invoke(app, ["audit", *words])
    assert told.exception is None or isinstance(told.exception, SystemExit), told.exception
    return told.exit_code, json.loads(told.stdout) if "--json" in words else {}


QUICK = ("--vocab", "toy", "--language", "hand-words", "--json")


def test_the_command_says_one_for_findings_and_a_baseline_accepts_them(tmp_path: Path) -> None:
    planted = fault("anchors-dropped")
    command = ("--", *changed(tmp_path, planted.old, planted.new))
    options = (*QUICK, "--results", str(tmp_path / "out"))
    code, document = run(*options, *command)
    assert code == 1 and document["summary"]["new"] == document["summary"]["refuted"] > 0
    baseline = str(tmp_path / "baseline.json")
    assert run(*options, "--baseline", baseline, "--accept", *command)[0] == 0
    junit = tmp_path / "junit.xml"
    code, document = run(*options, "--baseline", baseline, "--junit", str(junit), *command)
    assert (code, document["summary"]["new"]) == (0, 0) and document["summary"]["accepted"] > 0
    assert Xml.parse(junit).getroot()[0].get("failures") == "0"


def test_a_resumed_run_goes_on_where_the_last_one_was_killed(tmp_path: Path) -> None:
    options = ("pure", *QUICK, "--results", str(tmp_path / "out"))
    _, first = run(*options)
    (path,) = (tmp_path / "out").glob("*/records.jsonl")
    lines = path.read_bytes().splitlines(keepends=True)
    kept = lines[: len(lines) // 2]
    path.write_bytes(b"".join(kept) + b'{"command":"aud')
    _, second = run(*options, "--resume")
    assert list((tmp_path / "out").glob("*/records.jsonl")) == [path]
    keys = [record.key() for record in read_records(path)]
    repeated = {key for key in keys if keys.count(key) > 1}
    assert {key[3] for key in repeated} <= {"hello", "bye", "effort"}
    wanted = {(one["case"], one["check"]) for one in first["records"]}
    assert {(one["case"], one["check"]) for one in second["records"]} == wanted


@pytest.mark.parametrize(
    "words",
    [
        ("no-such-port",),
        ("pure", "--vocab", "./nothing.json"),
        ("pure", "--accept"),
        ("pure", "--corpus", "/nope"),
    ],
)
def test_bad_input_is_told_in_one_line(words: tuple[str, ...], tmp_path: Path) -> None:
    told = CliRunner().invoke(app, ["audit", *words, "--results", str(tmp_path)])
    assert isinstance(told.exception, ValueError) and "\n" not in str(told.exception)


def test_an_audit_is_small_by_its_settings() -> None:
    assert Settings().vocabularies == ("toy", "adversarial") and SMALL.languages
