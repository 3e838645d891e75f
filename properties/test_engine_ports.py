"""The ports of third-party engines: what their files are, and how each answers on a vocabulary small enough to read.

What an engine does with a grammar is for the audit to judge. Here only the port is: it answers every op as the protocol
has it, ends as it documents, and declines what its engine cannot do. The languages are ones on which all engines agree.
"""

import ast
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from engine.host import Port
from engine.ports import llama_cpp_port
from engine.ports.installed import installed, missing
from engine.ports.registry import FOLDER, built_in, find
from engine.ports.speak import closed
from engine.protocol import PortError, flag_of, integer_of, mask_of, token_texts
from maskproof.__main__ import app, load_commands

PYTHON = os.environ.get("MASKPROOF_ENGINES_PYTHON", sys.executable)
ENGINES = [port.name for port in built_in() if port.distributions]
FILES = sorted(FOLDER.glob("*_port.py"))
TOKENS: tuple[bytes | None, ...] = (
    *(bytes([byte]) for byte in range(256)),
    b"ab",
    b"true",
    b"",
    None,
    None,
    b"zz",
)
EOS = 260
SIZE = len(TOKENS)
SCHEMA = (
    '{"type":"object","properties":{"a":{"type":"boolean"}},"required":["a"],"additionalProperties":false}'
)
OUR_FOLDERS = {"engine", "fixtures", "maskproof", "oracles", "properties", "reference", "reports"}


def started(name: str) -> Iterator[Port]:
    """The port of an engine, or a skip that names what is missing."""
    lacking = [need for need, version in find(name).versions(PYTHON).items() if version is None]
    if lacking:
        pytest.skip(f"{', '.join(lacking)} not installed in {PYTHON}; set MASKPROOF_ENGINES_PYTHON")
    with Port(find(name).command(PYTHON)) as port:
        yield port


@pytest.fixture(params=ENGINES)
def port(request: pytest.FixtureRequest) -> Iterator[Port]:
    """Each engine's port, its vocabulary given."""
    for child in started(request.param):
        assert integer_of(child.request("vocab", tokens=token_texts(TOKENS), eos=[EOS]), "size") == SIZE
        yield child


def opened(port: Port) -> tuple[int, bytes]:
    """A session over a language with one text, and that text: `ab` where there are patterns, else a schema's."""
    kinds = port.hello.kinds
    if "regex.unicode" in kinds:
        grammar, text = port.request("compile", kind="regex.unicode", source="ab"), b"ab"
    else:
        grammar, text = port.request("compile", kind="json_schema", source=SCHEMA), b'{"a":true}'
    return integer_of(port.request("open", grammar=integer_of(grammar, "grammar")), "session"), text


def allowed(port: Port, session: int) -> tuple[set[int], bool]:
    """The ids of a mask, and whether the output is whole."""
    answer = port.request("mask", session=session)
    bits = np.unpackbits(mask_of(answer, SIZE), bitorder="little")[:SIZE]
    return set(np.flatnonzero(bits).tolist()), flag_of(answer, "complete")


def written(port: Port, session: int, text: bytes) -> None:
    """Take the text byte by byte."""
    for byte in text:
        port.request("advance", session=session, token=byte)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_port_file_is_found_by_the_registry(path: Path) -> None:
    assert [port.path.name for port in built_in()].count(path.name) == 1


@pytest.mark.parametrize("name", ENGINES)
def test_an_engine_s_port_imports_nothing_of_the_suite_but_the_line_loop(name: str) -> None:
    tree = ast.parse(find(name).path.read_text(encoding="utf-8"))
    roots = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            roots |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0
            roots.add((node.module or "").partition(".")[0])
    assert not roots & OUR_FOLDERS
    assert "speak" in roots


def test_the_line_loop_imports_the_standard_library_alone() -> None:
    tree = ast.parse((FOLDER / "speak.py").read_text(encoding="utf-8"))
    names = [alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names]
    names += [node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    assert {name.partition(".")[0] for name in names} <= sys.stdlib_module_names


def test_no_two_ports_have_one_name_and_each_tells_what_it_is() -> None:
    names = [port.name for port in built_in()]
    assert len(set(names)) == len(names)
    assert all(port.about for port in built_in())


def test_the_ports_command_lists_every_engine_whether_it_is_installed_or_not() -> None:
    load_commands()
    told = CliRunner().invoke(app, ["ports", "--json", *ENGINES])
    assert told.exit_code == 0
    records = json.loads(told.stdout)["records"]
    assert [record["subject"] for record in records] == ENGINES
    assert all(record["verdict"] in ("tested", "skipped") for record in records)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ('{"type":"object"}', '{"type":"object","additionalProperties":false}'),
        (
            '{"items":{"type":"object","properties":{"type":{"const":1E2}}}}',
            '{"items":{"type":"object","properties":{"type":{"const":1E2}},"additionalProperties":false}}',
        ),
        (
            '{"anyOf":[{"type":"object","additionalProperties":true},{"enum":["é",-0.0]}]}',
            '{"anyOf":[{"type":"object","additionalProperties":true},{"enum":["é",-0.0]}]}',
        ),
        ('{"type":"object","minProperties":1}', '{"type":"object","minProperties":1}'),
        ('{"type":"object","type":"array"}', '{"type":"object","type":"array"}'),
        ('{"properties":["a"]}', '{"properties":["a"]}'),
        ('{"type":', '{"type":'),
        ("true", "true"),
    ],
)
def test_objects_are_closed_in_schemas_of_the_subset_and_nothing_else_is_touched(
    source: str, expected: str
) -> None:
    assert closed(source) == expected


def test_a_port_is_installed_or_lacks_something_and_never_both() -> None:
    here = {port.name for port in installed()}
    assert here | set(missing()) == set(ENGINES)
    assert not here & set(missing())


@pytest.mark.engines
def test_a_port_names_itself_its_engine_s_version_and_what_it_serves(port: Port) -> None:
    hello = port.hello
    assert hello.name in ENGINES
    assert hello.version == find(hello.name).versions(PYTHON)[find(hello.name).distributions[0]]
    assert hello.kinds
    port.bye()


@pytest.mark.engines
def test_the_first_mask_allows_the_one_first_byte_and_tokens_that_go_on_from_it(port: Port) -> None:
    session, text = opened(port)
    ids, whole = allowed(port, session)
    forced = {number for number, token in enumerate(TOKENS) if token and text.startswith(token)}
    blanks = set(b" \t\n\r") if port.hello.policies.get("whitespace") == "any" else set()
    assert ids
    assert ids <= forced | blanks
    assert not whole


@pytest.mark.engines
def test_a_refused_token_leaves_the_session_as_it_was(port: Port) -> None:
    session, text = opened(port)
    before = allowed(port, session)
    for token in (ord("z"), EOS, SIZE, -1, 258, 259):
        with pytest.raises(PortError) as refused:
            port.request("advance", session=session, token=token)
        assert refused.value.kind == "illegal"
    assert allowed(port, session) == before
    written(port, session, text)


@pytest.mark.engines
def test_eos_is_allowed_when_the_text_is_whole_and_taken_once(port: Port) -> None:
    session, text = opened(port)
    written(port, session, text[:-1])
    assert not allowed(port, session)[1]
    written(port, session, text[-1:])
    ids, whole = allowed(port, session)
    assert EOS in ids
    assert whole
    port.request("advance", session=session, token=EOS)
    ids, whole = allowed(port, session)
    assert ids <= ({EOS} if port.hello.policies.get("after_eos") == "eos" else set())
    assert whole
    with pytest.raises(PortError) as refused:
        port.request("advance", session=session, token=text[0])
    assert refused.value.kind == "illegal"


@pytest.mark.engines
def test_two_sessions_and_a_fork_go_their_own_ways(port: Port) -> None:
    one, text = opened(port)
    two, _ = opened(port)
    written(port, one, text)
    assert not allowed(port, two)[1]
    if "fork" in port.hello.features:
        copy = integer_of(port.request("fork", session=two), "session")
        written(port, copy, text)
        assert allowed(port, copy)[1]
        assert not allowed(port, two)[1]


@pytest.mark.engines
def test_a_rollback_gives_the_mask_from_before(port: Port) -> None:
    session, text = opened(port)
    if "rollback" not in port.hello.features:
        with pytest.raises(PortError) as refused:
            port.request("rollback", session=session, count=1)
        assert refused.value.kind == "refused"
        return
    before = allowed(port, session)
    written(port, session, text)
    port.request("rollback", session=session, count=len(text))
    assert allowed(port, session) == before


def byte_level_tokenizer(path: Path) -> list[bytes | None]:
    """Write a byte-level BPE tokenizer.json: every byte, words after a blank, a special EOS last; the list as bytes."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    rest = iter(range(256, 512))
    letters = [chr(byte) if byte in plain else chr(next(rest)) for byte in range(256)]
    vocabulary = {letter: byte for byte, letter in enumerate(letters)}
    words = [f"{letters[32]}{letters[byte]}" for byte in range(33, 127)]
    vocabulary |= {word: number for number, word in enumerate(words, 256)}
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    model = {"type": "BPE", "vocab": vocabulary, "merges": [" ".join(word) for word in words]}
    end = {"id": 350, "content": "<|end|>", "special": True}
    end |= dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
    document = {"version": "1.0", "added_tokens": [end], "model": model}
    document |= {"pre_tokenizer": byte_level, "decoder": byte_level}
    path.write_text(json.dumps(document), encoding="utf-8")
    return [*(bytes([byte]) for byte in range(256)), *(bytes([32, byte]) for byte in range(33, 127)), None]


@pytest.mark.engines
@pytest.mark.parametrize("name", ENGINES)
def test_the_engine_s_own_loader_reads_a_tokenizer_file(name: str, tmp_path: Path) -> None:
    for port in started(name):
        if "tokenizer" not in port.hello.features:
            pytest.skip(f"the port of {name} serves no tokenizer")
        tokens = byte_level_tokenizer(tmp_path / "tokenizer.json")
        fields = {"tokens": token_texts(tokens), "eos": [350], "tokenizer": str(tmp_path / "tokenizer.json")}
        assert integer_of(port.request("vocab", **fields), "size") == 351
        session, text = opened(port)
        written(port, session, text)
        answer = port.request("mask", session=session)
        assert flag_of(answer, "complete")
        assert np.unpackbits(mask_of(answer, 351), bitorder="little")[350] == 1


@pytest.mark.engines
@pytest.mark.parametrize("name", ENGINES)
def test_a_text_whose_first_byte_no_token_has_does_not_begin_with_a_later_one(name: str) -> None:
    for port in started(name):
        vocabulary: dict[str, Any] = {"tokens": token_texts((b"u", b"l", None)), "eos": [2]}
        null = {"kind": "json_schema", "source": '{"type":"null"}'}
        steps = [("vocab", vocabulary), ("compile", null), ("open", {"grammar": 1}), ("mask", {"session": 2})]
        for op, fields in steps:
            (answer,) = port.batch([(op, fields)])
            if isinstance(answer, PortError):
                assert answer.kind == "refused"
                break
        else:
            assert isinstance(answer, dict)
            assert np.unpackbits(mask_of(answer, 3), bitorder="little")[:2].tolist() == [0, 0]


@pytest.mark.engines
@pytest.mark.parametrize("name", ["lm-format-enforcer", "kbnf"])
def test_a_key_given_twice_is_refused_by_the_port_of_an_engine_that_takes_a_dict(name: str) -> None:
    for port in started(name):
        port.request("vocab", tokens=token_texts(TOKENS), eos=[EOS])
        for source in ('{"type":"null","type":"boolean"}', '{"anyOf":[{"type":"null","type":"null"}]}'):
            with pytest.raises(PortError, match="a key twice") as declined:
                port.request("compile", kind="json_schema", source=source)
            assert declined.value.kind == "refused"
        source = '{"type":"object","properties":{"a":{"type":"boolean"}}}'
        assert port.request("compile", kind="json_schema", source=source)


@pytest.mark.engines
def test_unknown_ops_kinds_and_handles_are_declined_and_the_port_goes_on(port: Port) -> None:
    for op, fields, kind in (
        ("no-such-op", {}, "unsupported"),
        ("compile", {"kind": "no-such-kind", "source": "a"}, "refused"),
        (
            "compile",
            {"kind": port.hello.kinds[0], "source": "(" if len(port.hello.kinds) > 1 else "{"},
            "refused",
        ),
        ("mask", {"session": 12345}, "invalid"),
        ("open", {}, "invalid"),
    ):
        with pytest.raises(PortError) as declined:
            port.request(op, **fields)
        assert declined.value.kind == kind
    session, _ = opened(port)
    assert allowed(port, session)[0]


@pytest.mark.engines
@pytest.mark.parametrize("name", ENGINES)
def test_several_eos_ids_or_none_are_served_or_refused_at_once(name: str) -> None:
    for port in started(name):
        for ends in ([], [EOS, 259]):
            (told,) = port.batch([("vocab", {"tokens": token_texts(TOKENS), "eos": ends})])
            if isinstance(told, PortError):
                assert told.kind == "refused"
                continue
            session, text = opened(port)
            written(port, session, text)
            ids, whole = allowed(port, session)
            assert whole
            assert ids & {EOS, 259} == set(ends)


@pytest.mark.parametrize(
    ("pattern", "grammar"),
    [
        ("a{2}", r"([\U00000061-\U00000061]){2,2}"),
        ("a{2,}", r"([\U00000061-\U00000061]){2,}"),
        (r"\u{1F600}", r"[\U0001F600-\U0001F600]"),
        (r"[\u{41}-\u{5a}{]", r"[\U00000041-\U0000005A\U0000007B-\U0000007B]"),
        (r"\\{3}", r"([\U0000005C-\U0000005C]){3,3}"),
    ],
)
def test_the_port_of_llama_cpp_writes_the_dialect_s_patterns_as_gbnf(pattern: str, grammar: str) -> None:
    assert llama_cpp_port.gbnf_of(pattern) == grammar


@pytest.mark.parametrize("pattern", ["a{x}", "a{2", "a{,3}", "[a]{", r"\\{", r"\u{110000}"])
def test_the_port_of_llama_cpp_refuses_braces_that_the_dialect_refuses(pattern: str) -> None:
    with pytest.raises((llama_cpp_port.Refused, llama_cpp_port.syntax.error)):
        llama_cpp_port.gbnf_of(pattern)
