"""Where the derivative oracle and the reference meet: they share the question and, if both are right, the answer."""

import inspect
import json
from importlib import import_module
from pathlib import Path

import jsonschema
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reference
from engine.suite import Language, languages
from fixtures import ROOT
from oracles.bisimulation import difference
from oracles.canonical import canonical
from oracles.certificates import make_certificate
from oracles.check_certificate import check
from oracles.derivatives import automaton
from oracles.errors import OracleError
from oracles.pattern_reader import PatternRefused
from oracles.token_masks import allowed, mask_rows
from properties.oracle_subjects import chances, patterns, texts
from properties.test_certificates import CERTIFICATES
from properties.test_oracle_derivatives import ONLY_BYTES, ONLY_UNICODE, REFUSED
from properties.test_token_masks import vocabularies
from reference import compile as compiler
from reference.compile import regex_to_dfa
from reference.dfa import Dfa
from reference.errors import Refused
from reference.masks import TokenIndex
from reference.vocabulary import Vocabulary

IDS = [language.id for language in languages()]


def plain(dfa: Dfa) -> tuple[list[int], list[list[int]]]:
    """The automaton as oracles take it."""
    return [int(state) for state in np.flatnonzero(dfa.accept)], dfa.trans.tolist()


@pytest.mark.parametrize("language", languages(), ids=IDS)
def test_the_canonical_tables_of_every_suite_language_are_identical(language: Language):
    """Code points, derivatives and Hopcroft on one side; bytes, Thompson, subsets and Moore on the other."""
    assert canonical(*automaton(language.pattern, language.dialect)) == plain(
        regex_to_dfa(language.pattern, language.dialect)
    )


@pytest.mark.parametrize("language", languages(), ids=IDS)
def test_the_reference_s_table_of_every_suite_language_is_certified(language: Language):
    claim = plain(regex_to_dfa(language.pattern, language.dialect))
    document = make_certificate(language.pattern, language.dialect, *claim)
    assert check(document) == []


@pytest.mark.parametrize(
    "document", CERTIFICATES, ids=[document["claim"]["pattern"] for document in CERTIFICATES]
)
def test_certificates_are_written_as_their_schema_says(document):
    schema = json.loads((ROOT / "schemas" / "certificate.schema.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    assert [*jsonschema.Draft202012Validator(schema).iter_errors(document)] == []


@chances(80)
@given(st.sampled_from(["bytes", "unicode"]).flatmap(lambda name: st.tuples(patterns(name), st.just(name))))
def test_both_compile_every_pattern_to_the_same_table_or_both_refuse_it(question):
    written, dialect = question
    try:
        expected = canonical(*automaton(written.text, dialect))
    except PatternRefused:
        with pytest.raises(Refused):
            regex_to_dfa(written.text, dialect)
    else:
        assert plain(regex_to_dfa(written.text, dialect)) == expected


@pytest.mark.parametrize(
    ("pattern", "dialect"),
    [(pattern, dialect) for dialect in ("bytes", "unicode") for pattern, _ in REFUSED]
    + [(pattern, "bytes") for pattern, _ in ONLY_BYTES]
    + [(pattern, "unicode") for pattern, _ in ONLY_UNICODE],
)
def test_what_the_oracle_s_reader_refuses_the_reference_refuses(pattern, dialect):
    with pytest.raises(Refused):
        regex_to_dfa(pattern, dialect)


@chances(400)
@given(texts(), st.sampled_from(["bytes", "unicode"]))
def test_both_readers_accept_the_same_texts(pattern, dialect):
    """Any text at all: refused by both, or compiled by both to one table."""
    try:
        expected = canonical(*automaton(pattern, dialect))
    except OracleError:
        with pytest.raises(Refused):
            regex_to_dfa(pattern, dialect)
    else:
        assert plain(regex_to_dfa(pattern, dialect)) == expected


@chances(60)
@given(
    st.sampled_from(["bytes", "unicode"]).flatmap(lambda name: st.tuples(patterns(name), st.just(name))),
    vocabularies(),
)
def test_the_trie_s_masks_are_the_first_principles_masks(question, vocabulary):
    (written, dialect), (tokens, eos) = question, vocabulary
    try:
        dfa = regex_to_dfa(written.text, dialect)
    except Refused:
        return
    index = TokenIndex(dfa, Vocabulary(tuple(tokens), frozenset(eos), "drawn"))
    for state, row in enumerate(mask_rows(*plain(dfa), tokens, eos)):
        assert np.array_equal(index.mask(state), row)
    assert set(np.flatnonzero(index.mask(0))) == allowed(written.text, dialect, b"", tokens, eos)


def test_oracles_answer_the_same_when_every_function_of_the_reference_raises(monkeypatch):
    """Independence: no oracle asks the reference, not even through something else."""
    before = canonical(*automaton("[é-漢]{1,2}a?", "unicode"))
    files = sorted(Path(reference.__path__[0]).glob("*.py"))
    # All are imported first: one that was imported meanwhile would keep what is planted here.
    for module in [import_module(f"reference.{file.stem}") for file in files]:
        for name, _ in inspect.getmembers(module, inspect.isfunction):
            monkeypatch.setattr(module, name, raising)
    with pytest.raises(AssertionError, match="the reference was asked"):
        compiler.regex_to_dfa("a")
    from oracles.derivatives import language

    language.cache_clear()
    after = canonical(*automaton("[é-漢]{1,2}a?", "unicode"))
    assert after == before
    assert check(make_certificate("[é-漢]{1,2}a?", "unicode", *after)) == []
    assert difference(*before, *after) is None
    assert allowed("ab?", "bytes", b"a", [b"b"], ()) == {0}


def raising(*_: object, **__: object) -> None:
    raise AssertionError("the reference was asked")
