"""The built-in ports: found by scanning, honest about themselves, and one with the reference."""

import ast
import json
import random
import re
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from engine.errors import BadInput
from engine.host import Port
from engine.ports import pure_port
from engine.ports.registry import FOLDER, built_in, find
from engine.protocol import (
    PortError,
    Violation,
    answer_of,
    hello_of,
    logits_text,
    mask_of,
    mask_text,
    packed_mask,
    request_line,
    token_texts,
)
from engine.suite import languages
from maskproof.__main__ import app, load_commands

if not app.registered_commands:
    load_commands()


def test_every_port_file_is_listed() -> None:
    files = {path.name for path in FOLDER.glob("*_port.py")}
    assert {port.path.name for port in built_in()} == files
    assert {"pure", "reference"} <= {port.name for port in built_in()}


def test_a_name_that_is_no_port_is_bad_input_that_names_those_there_are() -> None:
    with pytest.raises(BadInput, match="pure, reference"):
        find("nothing")


def test_the_pure_port_imports_the_standard_library_alone() -> None:
    tree = ast.parse(find("pure").path.read_text(encoding="utf-8"))
    names = {
        alias.name.split(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.Import)
        for alias in node.names
    }
    names |= {
        (node.module or "").split(".")[0] for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)
    }
    assert names <= sys.stdlib_module_names, names


def test_the_ports_command_lists_versions_and_what_is_served() -> None:
    told = CliRunner().invoke(app, ["ports", "pure", "reference", "--json"])
    assert told.exit_code == 0
    records = json.loads(told.stdout)["records"]
    assert [record["subject"] for record in records] == ["pure", "reference"]
    assert all("regex.bytes" in record["detail"]["kinds"] for record in records)
    assert "sample" in records[1]["detail"]["features"]


def test_a_port_whose_engine_is_missing_is_listed_as_skipped(tmp_path: Path) -> None:
    path = tmp_path / "odd_port.py"
    path.write_text(
        'PORT = {"name": "odd", "about": "", "distributions": ["no-such-distribution"]}\nimport nothing\n'
    )
    (port,) = built_in(tmp_path)
    assert port.versions() == {"no-such-distribution": None} and not port.is_here()


@pytest.mark.parametrize(
    "language", [one for one in languages() if one.id != "json-object"], ids=lambda one: one.id
)
def test_the_pure_port_and_the_reference_make_the_same_automata_and_patterns(language) -> None:  # type: ignore[no-untyped-def]
    from engine.audit.policies import compiled_plain

    kind = {"schema": "json_schema", "pattern": f"regex.{language.dialect}"}[language.kind]
    accept, table = pure_port.canonical(pure_port.compiled(kind, language.source))
    exact = compiled_plain(kind, language.source)
    assert accept == exact.accept.nonzero()[0].tolist()
    assert table == exact.trans.tolist()


ATOMS = st.sampled_from(["a", "b", ".", r"\d", r"\W", "[a-c]", "[^b]", r"\x00", "é", r"[\]\-x]", r"\.", " "])
TREES = st.recursive(
    ATOMS,
    lambda inner: st.one_of(
        st.tuples(inner, inner).map("".join),
        st.tuples(inner, inner).map(lambda pair: f"({pair[0]}|{pair[1]})"),
        st.tuples(inner, st.sampled_from(["*", "+", "?", "{2}", "{1,3}", "{2,}"])).map(
            lambda pair: f"(?:{pair[0]}){pair[1]}"
        ),
    ),
    max_leaves=8,
)


@given(TREES, st.integers(0, 2**32))
@settings(max_examples=150, deadline=None)
def test_the_pure_port_agrees_with_pythons_regular_expressions(pattern: str, seed: int) -> None:
    expected, chance = re.compile(pattern.encode()), random.Random(seed)
    automaton = pure_port.compiled("regex.bytes", pattern)
    for _ in range(12):
        data = bytes(chance.choice(b"abcx.\x00\n 19\xc3\xa9-]") for _ in range(chance.randint(0, 6)))
        state = 0
        for byte in data:
            state = automaton.step(state, byte) if state != pure_port.DEAD else state
        matches = state != pure_port.DEAD and automaton.accepts(state)
        assert matches == bool(expected.fullmatch(data)), data


@given(st.lists(st.booleans(), min_size=1, max_size=70))
def test_a_mask_is_packed_as_the_protocol_says(bits: list[bool]) -> None:
    """Bit i % 8 of byte i // 8 is token i."""
    import numpy as np

    packed = mask_of({"mask": mask_text(np.array(bits))}, len(bits))
    assert [bool(packed[token // 8] >> (token % 8) & 1) for token in range(len(bits))] == bits
    assert np.array_equal(packed, packed_mask(np.array(bits)))


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"mask": "AA=="}, "1 bytes; 12 tokens take 2"),
        ({"mask": "AAAA"}, "3 bytes"),
        ({"mask": "AP8="}, "past the last token, 11"),
        ({"mask": "A*=="}, "no base64"),
        ({"mask": None}, "must be a string"),
        ({}, "must be a string"),
    ],
)
def test_a_mask_of_another_shape_is_a_violation(fields: dict[str, object], told: str) -> None:
    with pytest.raises(Violation, match=re.escape(told)):
        mask_of(fields, 12)


def test_an_honest_error_is_read_as_one() -> None:
    line = b'{"id": 3, "ok": false, "error": {"kind": "refused", "message": "no"}}\n'
    error = answer_of(line, 3)
    assert isinstance(error, PortError) and (error.kind, error.message) == ("refused", "no")


def test_a_request_is_one_line_with_its_id_first() -> None:
    assert json.loads(request_line(7, "mask", {"session": 3})) == {"id": 7, "op": "mask", "session": 3}
    assert request_line(7, "dumps", {"text": "a\nb"}).count(b"\n") == 1
    assert token_texts([b"ab", None, b""]) == ["YWI=", None, ""]
    assert logits_text([1.0]) == "AACAPw=="


def test_a_hello_without_anything_to_audit_is_told_so() -> None:
    fields = {"name": "x", "version": "1", "protocol": 1, "kinds": [], "features": []}
    with pytest.raises(Violation, match="nothing to audit"):
        hello_of(fields)
    assert hello_of({**fields, "features": ["dumps"]}).name == "x"


@pytest.mark.parametrize("name", ["pure", "reference"])
def test_what_is_not_open_and_what_is_unknown_get_honest_errors(name: str) -> None:
    with Port(find(name).command()) as port:
        port.request("vocab", tokens=["YQ==", None], eos=[1])
        kinds = {}
        for op, fields in (
            ("mask", {"session": 99}),
            ("open", {"grammar": 99}),
            ("close", {"session": 99}),
            ("fly", {}),
            ("compile", {"kind": "lark", "source": "start: /a/"}),
            ("compile", {"kind": "regex.bytes", "source": "("}),
        ):
            with pytest.raises(PortError) as told:
                port.request(op, **fields)
            kinds[op, str(fields)] = told.value.kind
        assert list(kinds.values()) == ["invalid", "invalid", "invalid", "unsupported", "refused", "invalid"]
        port.bye()
