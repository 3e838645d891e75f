"""Certificates by themselves: true claims pass, false ones and tampered ones are refused, what passes is true."""

import copy
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles import check_certificate
from oracles.canonical import canonical
from oracles.certificates import make_certificate
from oracles.check_certificate import check, main
from oracles.derivatives import automaton
from oracles.errors import OracleError
from oracles.pattern_reader import PatternRefused, read
from oracles.terms import Terms
from properties.oracle_subjects import chances, patterns, spoilt_automata, texts, wrong_automata

SUBJECTS = [
    ("(cat|car|dog)s?", "bytes"),
    (r"-?(?:0|[1-9]\d*)(?:\.\d+)?", "bytes"),
    ("", "bytes"),
    (r"[\x00-\xff]*", "bytes"),
    ("(?:é{2,}|a{0,3}b)?", "bytes"),
    ("[é-漢]{1,2}(?:[^a]|😀)?", "unicode"),
    (r".*\u00e9", "unicode"),
]
IDS = ["words", "number", "empty", "all", "counted", "ranges", "any"]


def certificate(pattern: str, dialect: Any) -> dict[str, Any]:
    return make_certificate(pattern, dialect, *canonical(*automaton(pattern, dialect)))


CERTIFICATES = [certificate(*subject) for subject in SUBJECTS]


@pytest.mark.parametrize("document", CERTIFICATES, ids=IDS)
def test_a_true_claim_passes_also_after_a_trip_through_json(document):
    assert check(document) == []
    assert check(json.loads(json.dumps(document))) == []


@chances(60)
@given(st.sampled_from(["bytes", "unicode"]).flatmap(lambda name: st.tuples(patterns(name), st.just(name))))
def test_the_certificate_of_every_pattern_passes(question):
    """The checker's reader, terms and steps are not the maker's: they must agree on every pattern of either dialect."""
    written, dialect = question
    try:
        document = certificate(written.text, dialect)
    except PatternRefused:
        return
    assert check(document) == []


@chances(300)
@given(texts(), st.sampled_from(["bytes", "unicode"]))
def test_the_checker_s_reader_refuses_what_the_oracle_s_refuses_and_nothing_else(text, dialect):
    terms = check_certificate.Terms()
    reader = check_certificate.Reader(terms, text, dialect)
    try:
        read(text, dialect, Terms())
    except PatternRefused:
        with pytest.raises(check_certificate.Flaw):
            reader.union()
    else:
        assert reader.union() < len(terms.nodes)


@pytest.mark.parametrize("subject", SUBJECTS, ids=IDS)
def test_the_certificate_of_every_wrong_automaton_is_refused(subject):
    """Wrong bits, wrong accepting states, merged states: the maker writes what it can, and the checker refuses it."""
    faults = list(wrong_automata(*canonical(*automaton(*subject))))
    assert faults
    for name, wrong in faults:
        assert check(make_certificate(*subject, *wrong)), name


@pytest.mark.parametrize("subject", [SUBJECTS[0], SUBJECTS[1], SUBJECTS[5]], ids=[IDS[0], IDS[1], IDS[5]])
def test_an_automaton_of_the_right_language_that_is_not_canonical_is_refused_for_what_it_is(subject):
    names = {"doubled": "splits", "unreached": "live", "not-live": "dead", "renumbered": "before any led to"}
    for name, spoilt in spoilt_automata(*canonical(*automaton(*subject))):
        assert names.pop(name) in "; ".join(check(make_certificate(*subject, *spoilt)))
    assert not names


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The paths of all parts of a document."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(found for key, part in inside for found in places(part, (*path, key)))]


@st.composite
def tampered(draw: st.DrawFn) -> tuple[dict[str, Any], dict[str, Any]]:
    """A certificate, and the same with one part changed: each top part is as likely as the others."""
    original = draw(st.sampled_from(CERTIFICATES))
    document = copy.deepcopy(original)
    top = draw(
        st.sampled_from([("claim", name) for name in original["claim"]] + [(name,) for name in original])
    )
    path = draw(st.sampled_from([path for path in places(document) if path[: len(top)] == top]))
    holder = document
    for key in path[:-1]:
        holder = holder[key]
    holder[path[-1]] = draw(changed(holder[path[-1]]))
    return original, document


def changed(value: Any) -> st.SearchStrategy[Any]:
    """Other values in the place of one: near misses, other types, parts that are gone, doubled, swapped or new."""
    others: list[Any] = [None, True, False, 1.0, "", [], {}, -1, 0, 2**70, [value]]
    if type(value) is int:
        others += [value + 1, value - 1, -value, float(value), str(value), value ^ 1]
    if type(value) is str:
        others += [
            value + "a",
            value[:-1],
            value[1:],
            value + "|",
            f"(?:{value})",
            value + "00",
            value.upper(),
        ]
    if type(value) is list and value:
        others += [
            value[:-1],
            value[1:],
            value[::-1],
            [*value, value[-1]],
            [*value[1:], value[0]],
            dict(enumerate(value)),
        ]
    if type(value) is dict:
        others += [
            {**value, "extra": 1},
            *[{key: part for key, part in value.items() if key != gone} for gone in value],
        ]
    return st.sampled_from(others).map(copy.deepcopy)


@chances(600)
@given(tampered())
def test_a_tampered_certificate_is_refused_or_still_proves_what_is_true(question):
    """check(d') = [] ⇒ d' claims the canonical automaton of its pattern.

    Only other splits, or another way to write the same pattern, can then make it differ from d.
    """
    original, document = question
    if json.dumps(document, sort_keys=True) == json.dumps(original, sort_keys=True) or check(document):
        return
    assert {name for name in original if document[name] != original[name]} <= {"claim", "splits"}
    claim = document["claim"]
    assert [claim[name] for name in ("accept", "classes", "table")] == [
        original["claim"][name] for name in ("accept", "classes", "table")
    ]
    table = [[row[number] for number in claim["classes"]] for row in claim["table"]]
    assert canonical(*automaton(claim["pattern"], claim["dialect"])) == (claim["accept"], table)


@pytest.mark.parametrize(
    "document", [certificate("a(b|c)?", "bytes"), certificate("[é-ñ]?", "unicode")], ids=["bytes", "unicode"]
)
def test_every_single_number_of_a_certificate_counts(document):
    """Each integer is raised and lowered by one: all are refused, but for splits that set the states apart as well."""
    passed = []
    for path in places(document):
        *way, last = path or (None,)
        holder = document
        for key in way:
            holder = holder[key]
        if path and type(holder[last]) is int:
            value = holder[last]
            for other in (value + 1, value - 1):
                holder[last] = other
                passed += [path] if not check(document) else []
            holder[last] = value
    assert check(document) == []
    assert {path[0] for path in passed} <= {"splits"}


@pytest.mark.parametrize(
    ("path", "value", "flaw"),
    [
        (["format"], 2, "parts missing or unknown, or the format"),
        (["extra"], 1, "parts missing or unknown, or the format"),
        (["claim", "extra"], 1, "claim: parts missing or unknown"),
        (["claim", "dialect"], "posix", "claim: parts missing or unknown"),
        (["claim", "accept", 0], True, "a value that is no object, list, text or integer"),
        (["live", 0, 0], 3.0, "a value that is no object, list, text or integer"),
        (["claim", "accept"], [5, 6, 6], "accept: not states, each once, in order"),
        (["claim", "accept"], [5, 6, 7], "accept: not states, each once, in order"),
        (["claim", "classes", 255], 99, "classes: not 256, numbered by first byte"),
        (["claim", "table", 0, 1], -2, "table: no such state"),
        (["claim", "table", 0, 1], 7, "table: no such state"),
        (["claim", "table"], [], "table: a row without one state a class"),
        (["claim", "table", 0], [-1], "table: a row without one state a class"),
        (["claim", "table"], [[-1] * 9] * 7, "table: a row without one state a class"),
        (["claim", "table"], [[-1] * 8] * 7, "classes: the table treats two of them alike"),
        (["terms", 0], {"none": 1}, "terms, 0: not a list"),
        (["terms", 2], ["star", 2], "terms, 2: built of later terms"),
        (["terms", 4], ["set", 99, 99], "terms, 4: not new, or not in its place"),
        (["terms", -1], ["star", 2], "terms, 23: not used"),
        (["relation", 1, 1], "c3", "relation, 1: the walk meets [20, '', 1]"),
        (["relation", 6], [1, "", 5], "relation, 6: the walk meets [1, '', 6]"),
        (["live", 1], [1, 0], "live, state 0: not the least number of bytes, or class"),
        (["splits", 0], [0, 1, 0], "splits, 0: not by the empty word"),
        (["splits", 1], [0, 0, 0], "splits, 1: the word does not cut this block"),
        (["splits", 1], [0, 1, 1], "splits, 1: no such word"),
        (["splits", 1], [0, -1, 0], "splits, 1: no such word"),
    ],
)
def test_the_flaw_names_the_part_and_the_place(path, value, flaw):
    document = copy.deepcopy(CERTIFICATES[0])
    holder = document
    for key in path[:-1]:
        holder = holder[key]
    holder[path[-1]] = value
    found = check(document)
    assert found[:1] == [flaw]


def test_pairs_terms_and_states_that_nothing_leads_to_are_refused():
    """Each is true for itself, but no part of the proof."""
    document = copy.deepcopy(CERTIFICATES[0])
    document["relation"].append(document["relation"][-1])
    assert check(document) == ["relation, 7: not met on the walk"]
    document["relation"][-1] = [len(document["terms"]), "", 6]
    assert check(document) == ["relation: a term that is not listed"]
    accept, table = canonical(*automaton("ab"))
    document = make_certificate("ab", "bytes", accept, [*table, [0] * 256])
    assert check(document) == ["table, state 3: no state before it leads to it"]


def test_a_state_that_never_accepts_has_no_number_of_bytes():
    (accept, table), names = canonical(*automaton("ab")), []
    for value in (0, -1, [0, -1], [-1, -1], [1, 0]):
        document = make_certificate("ab", "bytes", accept, [*table[:-1], [3] + [-1] * 255, [-1] * 256])
        document["live"][3] = value
        names += [flaw for flaw in check(document) if flaw.startswith("live, state 3") or "malformed" in flaw]
    assert len(names) == 5


@pytest.mark.parametrize("document", [None, [], 1, "x", {}, {"claim": 1}, {"claim": {}, "format": 1}, [[[]]]])
def test_what_is_no_certificate_is_refused_without_a_crash(document):
    assert len(check(document)) == 1


@pytest.mark.parametrize(
    ("pattern", "dialect"),
    [
        *[
            (text, "bytes")
            for text in ("a**", "a?{2}", "[é]", "(a", "a)", r"\u0061", r"\q", r"\x4", "^a", "a$", "[]")
        ],
        *[
            (text, "bytes")
            for text in ("a{,2}", "a{2,1}", "a{1001}", "{2}", "(?=a)", "\\", "[b-a]", r"[a-\d]", "[a")
        ],
        *[
            (text, "unicode")
            for text in (r"\ud800", r"\u{110000}", r"[\udc00]", r"\u{}", "\ud800", "[^]", "|*")
        ],
        ("(?:" * 1_001 + ")" * 1_001, "bytes"),
    ],
)
def test_a_claim_about_a_pattern_outside_the_dialect_is_refused(pattern, dialect):
    """The checker has a reader of its own, and refuses what the dialect does not have."""
    document = {
        **CERTIFICATES[0],
        "claim": {**CERTIFICATES[0]["claim"], "pattern": pattern, "dialect": dialect},
    }
    assert any("pattern" in flaw or "malformed" in flaw for flaw in check(document))


def test_the_maker_passes_no_judgement_but_refuses_what_it_cannot_read():
    with pytest.raises(PatternRefused, match=r"pattern, position 0: there is nothing to repeat"):
        make_certificate("*", "bytes", [0], [[0] * 256])
    with pytest.raises(OracleError, match=r"table, state 0: 1 entries instead of 256"):
        make_certificate("a", "bytes", [0], [[0]])


def test_the_checker_file_alone_checks_a_file_and_says_so_in_one_line(tmp_path):
    """Copied to an empty folder and run in isolation: exit 0 for a proof, 1 for none, 2 for no certificate."""
    script = tmp_path / "check.py"
    script.write_text(Path(check_certificate.__file__).read_text(encoding="utf-8"), encoding="utf-8")
    good, bad, torn = tmp_path / "good.json", tmp_path / "bad.json", tmp_path / "torn.json"
    good.write_text(json.dumps(CERTIFICATES[5]), encoding="utf-8")
    bad.write_text(json.dumps({**CERTIFICATES[0], "live": []}), encoding="utf-8")
    torn.write_text("{", encoding="utf-8")
    runs = [
        subprocess.run(
            [sys.executable, "-I", "-S", str(script), str(file)], capture_output=True, text=True, check=False
        )
        for file in (good, bad, torn, tmp_path / "missing.json")
    ]
    assert [run.returncode for run in runs] == [0, 1, 2, 2]
    assert runs[0].stdout == f"{good}: OK, the claim is proven\n"
    assert runs[1].stdout == f"{bad}: live: not one pair a state\n"
    assert runs[2].stdout == "" and runs[2].stderr.startswith("no certificate to check: ")


def test_a_golden_file_is_checked_case_by_case(tmp_path, capsys):
    file = tmp_path / "cases.json"
    cases = [{"id": "one", "certificate": CERTIFICATES[0]}, {"id": "two", "certificate": CERTIFICATES[5]}]
    for said, held in [("OK, the claim is proven", cases), ("cases: there is no certificate", [])]:
        file.write_text(json.dumps({"format": 1, "cases": held}), encoding="utf-8")
        assert main([str(file)]) == (0 if held else 1)
        assert capsys.readouterr().out == f"{file}: {said}\n"
    for wrong in ({"id": "three"}, {"id": "three", "certificate": {**CERTIFICATES[0], "splits": []}}, 3):
        file.write_text(json.dumps({"cases": [*cases, wrong]}), encoding="utf-8")
        assert main([str(file)]) == 1


def test_a_key_given_twice_is_refused(tmp_path, capsys):
    file = tmp_path / "twice.json"
    file.write_text(json.dumps(CERTIFICATES[0])[:-1] + ', "format": 1}', encoding="utf-8")
    assert main([str(file)]) == 1
    assert capsys.readouterr().out == f"{file}: a key is given twice\n"


@pytest.mark.parametrize("pattern", ["(?:" * 200 + "a" + "b)?" * 200, "a?" * 40, "(?:" + "x" * 400 + ")?y"])
def test_patterns_that_nest_deeply_or_run_long_are_checked_too(pattern):
    assert check(certificate(pattern, "bytes")) == []
