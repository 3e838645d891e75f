"""The audit's questions about texts: those read in two ways, how they are spelled, how wrong ones are made small."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from engine.audit import policies
from engine.audit.free import fault_of
from engine.audit.instances import broken_keyword, exact_value
from engine.audit.plan import Settings
from engine.audit.refusals import ambiguous, spellings
from engine.audit.shrink import Budget
from engine.audit.smallest import keeps_types, smaller_pairs, smaller_texts, smallest
from engine.ports.registry import find
from engine.results import Record
from fixtures import ROOT
from maskproof.__main__ import app, load_commands
from properties.audit_ports import changed, changed_all, fault, faults, records


@pytest.mark.parametrize("name", ["twice", "escaped-name", "escaped-name-first"])
def test_a_name_given_twice_is_tried_on_objects_that_say_themselves_that_they_are_open(name: str) -> None:
    """Silence is closed in the suite's subset, and ports write so; an open object has to say it."""
    (found,) = [one for one in ambiguous() if one.id == name]
    assert json.loads(found.grammar.source)["additionalProperties"] is True


@pytest.mark.parametrize(
    ("text", "spaced"),
    [
        ('{"a":1,"\\u0061":"x"}', '{"a": 1, "\\u0061": "x"}'),
        ('{"a":1,"a":[2,9e1]}', '{"a": 1, "a": [2, 9e1]}'),
        ('{"a,:\\"":","}', '{"a,:\\"": ","}'),
    ],
)
def test_a_text_is_respelled_between_its_strings_alone(text: str, spaced: str) -> None:
    assert spellings(text, (b",", b":")) == [text, spaced]
    assert spellings(text, (b", ", b": ")) == [spaced, spaced]


@pytest.mark.parametrize(
    ("text", "schema", "keyword"),
    [
        ("1e+23", '{"enum":[100000000000000000000000]}', ""),
        ("10000000000000001.0", '{"const":1e16}', "const"),
        ("9007199254740993", '{"const":9007199254740992}', "const"),
        ("2.0", '{"type":"integer"}', ""),
        ("2.5", '{"type":"integer"}', "type"),
        ("-0.0e+3993866158", '{"type":"integer"}', ""),
        ("2.5", '{"type":"number","multipleOf":0.1}', ""),
        ("1e400", '{"type":"number","minimum":1}', ""),
    ],
)
def test_a_number_of_a_text_is_its_value_and_not_the_nearest_double(
    text: str, schema: str, keyword: str
) -> None:
    assert fault_of(text.encode(), exact_value(schema))[1] == keyword


def test_words_that_python_reads_as_numbers_are_no_json() -> None:
    wrong, keyword = fault_of(b"[NaN]", exact_value('{"type":"array"}'))
    assert (wrong, keyword) == ("the text does not parse: NaN is no JSON", "")


FREE = Settings(vocabularies=("bytes",), languages=("any-of",), walks=1, length=20, programs=0)


def free_ones(command: list[str], folder: Path) -> list[Record]:
    return [record for record in records(command, folder, FREE) if record.check == "free"]


def test_a_dead_end_that_an_engine_leads_into_is_found(tmp_path: Path) -> None:
    """Of an engine that is held to no exact mask: only its own walks can show it."""
    command = changed_all(
        tmp_path,
        ("return self.grammar.mask(self.states[-1])", "return self.grammar.mask(self.states[-1]) " + EMPTY),
        *ANY_ORDER,
    )
    (record,) = free_ones(command, tmp_path)
    assert (record.verdict, record.kind) == ("refuted", "stuck")
    assert "nothing is allowed after 3 tokens" in record.message


EMPTY = "if len(self.states) != 4 else bytearray(len(self.grammar.mask(self.states[-1])))"
ANY_ORDER = (('"features": FEATURES}', '"features": FEATURES, "policies": {"object_order": "any"}}'),)


def test_walks_that_never_end_have_judged_nothing(tmp_path: Path) -> None:
    """The engine forgets the end: no walk comes to one, and that is told."""
    command = changed_all(tmp_path, ("for token in self.trie.eos:", "for token in ():"), *ANY_ORDER)
    (record,) = free_ones(command, tmp_path)
    assert (record.verdict, record.message) == ("skipped", "no walk came to an end: nothing was judged")


def test_short_escapes_are_about_free_strings_alone() -> None:
    """A control character in a constant has no other spelling."""
    short = policies.language(
        "json_schema", '{"enum":["\\u0001","\\n"]}', policies.declared({"escapes": "short-only"})
    )
    assert short.matches(rb'"\u0001"') and short.matches(rb'"\n"')


# Made small.


def found(command: list[str], folder: Path, check: str, asked: Settings, **more: str) -> list[Record]:
    every = records(command, folder, asked, **more)
    return [record for record in every if record.check == check and record.verdict == "refuted"]


TEXTS = Settings(vocabularies=("bytes",), languages=("city",), walks=1, length=20, programs=0)


def test_smaller_things_are_taken_as_long_as_they_go_wrong() -> None:
    assert smallest("xxaxxbxx", smaller_texts, lambda text: "a" in text and "b" in text, Budget()) == "ab"
    assert smallest('{"a":[1,{"b":2}]}', smaller_texts, lambda text: "2" in text, Budget()) == "2"
    assert smallest("abc", smaller_texts, lambda text: True, Budget(runs=0)) == "abc"


@pytest.mark.parametrize(
    ("smaller", "kept"),
    [
        ({"type": "string", "maxLength": 2}, True),
        ({"maxLength": 2}, False),
        ({}, True),
        ({"properties": {"v": {"type": "string"}}}, False),
        ({"anyOf": [{"const": 1}]}, True),
    ],
)
def test_a_keyword_never_loses_the_type_beside_it(smaller: object, kept: bool) -> None:
    inner = {"type": "string", "pattern": "^a$", "maxLength": 2}
    schema = {"type": "object", "properties": {"v": inner, "w": {"anyOf": [{"const": 1}, {"type": "null"}]}}}
    assert keeps_types(schema, smaller) == kept


def test_schema_and_value_go_down_together() -> None:
    schema = {
        "type": "object",
        "properties": {"b": {"type": "array", "items": {"type": "integer", "minimum": 3}}},
    }

    def is_wrong(pair: tuple[object, object]) -> bool:
        return "minimum" in json.dumps(pair[0]) and "1" in json.dumps(pair[1])

    small = smallest((schema, {"b": [4, 1]}), smaller_pairs, is_wrong, Budget())
    assert len(json.dumps(small)) < 40 and "minimum" in json.dumps(small[0])


def test_a_keyword_of_a_refusal_that_is_not_enforced_is_made_small(tmp_path: Path) -> None:
    planted = fault("keywords-ignored")
    wrong = found(changed(tmp_path, planted.old, planted.new), tmp_path, "refusals", TEXTS)
    (record,) = [one for one in wrong if one.case == "refusal:keyword-minimum"]
    assert record.kind == "not_enforced"
    source = json.loads(record.witness["source"])
    assert source.keys() == {"type", "minimum"} and len(record.witness["text"]) == 1
    assert broken_keyword(source, json.loads(record.witness["text"])) == "minimum"
    assert record.witness["original"]["text"] == '{"v":9}'


def test_a_text_that_the_engine_leads_to_is_made_small_with_its_schema(tmp_path: Path) -> None:
    """Strings that may hold control characters: the shortest such text, under the shortest schema of it."""
    command = changed(tmp_path, "(?:[\\x20\\x21\\x23-\\x5b", "(?:[\\x01-\\x21\\x23-\\x5b")
    wrong = found(command, tmp_path, "free", TEXTS)
    (record,) = wrong
    assert record.kind == "unsound"
    assert json.loads(record.witness["source"]) == {
        "type": "object",
        "properties": {"city": {"type": "string"}},
    }
    assert len(record.witness["text"]) == len('{"city":"?"}') < len(record.witness["original"]["text"])


def test_a_text_that_is_no_utf_8_is_shown_again_byte_by_byte(tmp_path: Path) -> None:
    """Strings of any bytes: most of what the engine leads to cannot be read as text."""
    wide = ("(?:[\\x20\\x21\\x23-\\x5b", "(?:[\\x80-\\xff\\x20\\x21\\x23-\\x5b")
    command = changed(tmp_path, *wide)
    (record,) = found(command, tmp_path, "free", TEXTS)
    assert bytes.fromhex(record.witness["hex"]) and record.kind == "unsound"
    (path,) = [word for word in record.reproduce.split() if word.endswith(".json")]
    load_commands()
    told = CliRunner().invoke(app, ["audit", "--replay", path, "--results", str(tmp_path), "--", *command])
    assert told.exit_code == 1, told.stdout


def test_a_wrong_answer_of_a_surface_is_made_small(tmp_path: Path) -> None:
    asked = Settings(vocabularies=("bytes",), walks=0, programs=0, states=1)
    command = changed(
        tmp_path, 'separators=(",", ":"), ensure_ascii=False', 'separators=(",", ":"), ensure_ascii=True'
    )
    every = records(command, tmp_path, asked)
    record = next(one for one in every if one.check == "dumps" and one.verdict == "refuted")
    every.close()  # type: ignore[attr-defined]
    assert record.kind == "text_differs" and len(record.witness["text"]) == 3
    assert len(record.witness["original"]["text"]) > 3


# The page.


def test_the_page_has_every_policy_and_every_kind_of_finding() -> None:
    page = (ROOT.parent / "docs" / "audit.md").read_text(encoding="utf-8")
    rows = [line for line in (policies.__doc__ or "").splitlines() if line.startswith("| ")]
    assert len(rows) >= 8 and [row for row in rows if row not in page] == []
    kinds = {kind for one in faults() for kind in one.kinds}
    assert [kind for kind in sorted(kinds) if f"`{kind}`" not in page] == []


def test_a_corpus_file_of_which_nothing_could_be_asked_has_judged_nothing(tmp_path: Path) -> None:
    """The only claim is wrong, so it is set aside: that is no pass."""
    folder = tmp_path / "corpus"
    folder.mkdir()
    entry = {"schema": {"type": "integer"}, "tests": [{"data": "x", "valid": True}]}
    (folder / "one.json").write_text(json.dumps(entry), encoding="utf-8")
    every = records(find("pure").command(), tmp_path, FREE, corpus=str(folder))
    (record,) = [record for record in every if record.check == "instances"]
    assert (record.verdict, record.message) == ("skipped", "no instance could be asked: nothing was judged")
    assert record.domain == {"undecided": 1}


def test_a_language_without_a_least_budget_is_skipped_and_says_why(tmp_path: Path) -> None:
    """Without EOS the empty text is whole after no token: there is no budget of one less to refuse."""
    asked = Settings(vocabularies=("no-eos",), programs=0, walks=0, shrink_seconds=0)
    every = records(find("pure").command(), tmp_path, asked)
    found = [record for record in every if record.check == "budget" and record.verdict == "skipped"]
    assert found and {record.message for record in found} == {"the empty output is whole without EOS"}
