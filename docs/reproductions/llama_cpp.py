r"""Each cause of llama.cpp's findings, against the engine alone: its grammar sampler, and its converter of schemas.

Run with llama-cpp-python 0.3.36 (Python 3.11, Linux x86-64), built from source, in an environment that has it:

    python docs/reproductions/llama_cpp.py

Every block shows what the engine answers, what the exact answer is, and why. A vocabulary is a list of tokens, and EOS
is the id after the last of them; the engine reads it from a model file without weights, which is written here. Schemas
go through `json_schema_to_gbnf` of the Python package, told to write no blanks (`SPACE_RULE`). Where both answers are
one, the comparison is marked `same`. Where llama-cpp-python is not installed one line says so. The exit status is 0.
"""

import ctypes
import functools
import os
import struct
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
from importlib.metadata import version
from typing import Any

# This file has the name of the package that it imports: its own folder is not to be searched.
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:] = [folder for folder in sys.path if os.path.abspath(folder) != HERE]
try:
    llama_cpp = import_module("llama_cpp")
    converter = import_module("llama_cpp.llama_grammar")
except ImportError:
    print("llama-cpp-python is not installed here; nothing is shown")
    sys.exit(0)

BYTES = tuple(bytes([byte]) for byte in range(256))
U32, I32, F32, TEXT, LIST = 4, 5, 6, 8, 9
NORMAL, CONTROL = 1, 3
Cause = Callable[[], None]
CAUSES: list[Cause] = []
SILENT = llama_cpp.llama_log_callback(lambda level, text, data: None)
QUIET = os.open(os.devnull, os.O_WRONLY)


def cause(function: Cause) -> Cause:
    """List the function among the causes."""
    CAUSES.append(function)
    return function


def text(value: str) -> bytes:
    """A string of a GGUF file."""
    return struct.pack("<Q", len(value.encode())) + value.encode()


def listed(kind: int, values: Iterable[bytes], count: int) -> bytes:
    """An array of a GGUF file."""
    return struct.pack("<IQ", kind, count) + b"".join(values)


def letters() -> list[str]:
    """The letter that byte-level BPE writes for each byte."""
    plain = {*range(33, 127), *range(161, 173), *range(174, 256)}
    others = iter(range(256, 512))
    return [chr(byte) if byte in plain else chr(next(others)) for byte in range(256)]


def model_file(tokens: Sequence[bytes], end: str) -> bytes:
    """A GGUF file of these tokens and EOS after them, of a shape without weights."""
    texts = ["".join(letters()[byte] for byte in token) for token in tokens] + [end]
    kinds = [NORMAL] * len(tokens) + [CONTROL]
    shape = {"context_length": 512, "embedding_length": 64, "block_count": 1, "feed_forward_length": 64}
    shape |= {"attention.head_count": 1, "attention.head_count_kv": 1}
    fields = [
        ("general.architecture", TEXT, text("qwen2")),
        *((f"qwen2.{key}", U32, struct.pack("<I", value)) for key, value in shape.items()),
        ("qwen2.attention.layer_norm_rms_epsilon", F32, struct.pack("<f", 1e-6)),
        ("tokenizer.ggml.model", TEXT, text("gpt2")),
        ("tokenizer.ggml.pre", TEXT, text("qwen2")),
        ("tokenizer.ggml.tokens", LIST, listed(TEXT, map(text, texts), len(texts))),
        (
            "tokenizer.ggml.token_type",
            LIST,
            listed(I32, (struct.pack("<i", kind) for kind in kinds), len(kinds)),
        ),
        ("tokenizer.ggml.merges", LIST, listed(TEXT, [text("a b")], 1)),
        ("tokenizer.ggml.eos_token_id", U32, struct.pack("<I", len(tokens))),
    ]
    body = b"".join(text(key) + struct.pack("<I", kind) + value for key, kind, value in fields)
    return b"GGUF" + struct.pack("<IQQ", 3, 0, len(fields)) + body


@functools.cache
def model(tokens: tuple[bytes, ...], end: str = "<|im_end|>") -> Any:
    """The model of a vocabulary, loaded with vocab_only."""
    with tempfile.NamedTemporaryFile(suffix=".gguf") as file:
        file.write(model_file(tokens, end))
        file.flush()
        settings = llama_cpp.llama_model_default_params()
        settings.vocab_only = True
        return llama_cpp.llama_model_load_from_file(file.name.encode(), settings)


class State:
    """A grammar sampler over a list of tokens."""

    def __init__(self, grammar: str, tokens: Sequence[bytes] = BYTES) -> None:
        """Stand at the start of a GBNF grammar; ValueError where the engine cannot read it."""
        self.tokens = tuple(tokens)
        known = llama_cpp.llama_model_get_vocab(model(self.tokens))
        kept = os.dup(2)
        os.dup2(QUIET, 2)  # the parser of grammars writes to standard error past the log
        self.sampler = llama_cpp.llama_sampler_init_grammar(known, grammar.encode(), b"root")
        os.dup2(kept, 2)
        os.close(kept)
        if not self.sampler:
            raise ValueError("llama_sampler_init_grammar returned NULL")

    def allowed(self) -> list[int]:
        """The ids that keep their logit; EOS is the one after the tokens."""
        size = len(self.tokens) + 1
        rows = (llama_cpp.llama_token_data * size)()
        for number in range(size):
            rows[number].id = number
        array = llama_cpp.llama_token_data_array(data=rows, size=size, selected=-1, sorted=False)
        llama_cpp.llama_sampler_apply(self.sampler, ctypes.byref(array))
        return sorted(rows[number].id for number in range(size) if rows[number].logit > -1)

    def took(self, path: Iterable[bytes]) -> int:
        """How many tokens of the path could be taken."""
        for count, token in enumerate(path):
            number = self.tokens.index(token)
            if number not in self.allowed():
                return count
            llama_cpp.llama_sampler_accept(self.sampler, number)
        return len(list(path))


def shown(token: bytes) -> str:
    """A token in ASCII."""
    return ascii(token)[2:-1]


def allowed(grammar: str, tokens: Sequence[bytes] = BYTES, path: Sequence[bytes] = ()) -> str:
    """The tokens that the sampler allows after the path; many are told by their ends."""
    state = State(grammar, tokens)
    assert state.took(path) == len(path), path
    names = [shown([*tokens, b"EOS"][number]) for number in state.allowed()]
    if not names:
        return "nothing"
    return " ".join(names) if len(names) <= 8 else f"{names[0]} … {names[-1]} ({len(names)})"


def writes(grammar: str, data: bytes) -> str:
    """Whether the text can be written to its end, with every byte a token."""
    try:
        state = State(grammar)
    except ValueError as error:
        return f"refused: {error}"
    path = [bytes([byte]) for byte in data]
    taken = state.took(path)
    if taken < len(path):
        return f"no, it stops after {shown(data[:taken])}"
    return "yes" if len(state.tokens) in state.allowed() else "no, it is not whole"


def gbnf(schema: str) -> str:
    """The grammar that the converter writes for a schema."""
    return str(converter.json_schema_to_gbnf(schema))


def schema_writes(schema: str, data: str | bytes) -> str:
    """Whether a text can be written under a schema."""
    try:
        grammar = gbnf(schema)
    except Exception as error:  # the converter raises what it meets
        return f"refused: {type(error).__name__}: {error}"
    return writes(grammar, data.encode() if isinstance(data, str) else data)


def says(case: str, engine: str, exact: str, why: str) -> None:
    """One comparison; what comes after no or refused is the engine's own reason."""
    agree = engine == exact or (exact in ("no", "refused") and engine.startswith(exact))
    print(f"  {case}\n    engine: {engine}\n    exact:  {exact}   [{'same' if agree else 'differs'}: {why}]")


def of_schema(schema: str, data: str | bytes, exact: str, why: str) -> None:
    """One comparison of whether a text can be written under a schema."""
    name = data if isinstance(data, str) and data.isprintable() else ascii(data)
    says(f"{schema}: {name}", schema_writes(schema, data), exact, why)


ANY = "root ::= [^a]"
WHY_FORMS = "RFC 3629 has one form of a character, none of surrogates, and nothing past U+10FFFF"


@cause
def zero_byte() -> None:
    """A token that begins with the byte 00 is never allowed, and of one that holds it what follows is not read."""
    says("[^a] at the start, below 03", allowed(ANY, BYTES[:3]), r"\x00 \x01 \x02", "U+0000 is not a")
    says("[\\x00]", allowed("root ::= [\\x00]", BYTES[:3]), r"\x00", "the one text is U+0000")
    tokens = [b"a", b"a\x00b"]
    says('"a", tokens a and 61 00 62', allowed('root ::= "a"', tokens), "a", "61 00 62 is no beginning of a")
    says(
        '"a" after 61 00 62',
        allowed('root ::= "a"', tokens, [b"a\x00b"]),
        "no such path",
        "nothing is whole there",
    )
    says(
        "[^a]*, token 62 00 61",
        allowed("root ::= [^a]*", [b"b\x00a"]),
        "EOS",
        "the token ends with a",
    )


@cause
def forms_of_characters() -> None:
    """Overlong forms, encoded surrogates and code points past U+10FFFF are characters."""
    for path, exact in (
        (b"\xe0", r"\xa0 … \xbf (32)"),
        (b"\xed", r"\x80 … \x9f (32)"),
        (b"\xf0", r"\x90 … \xbf (48)"),
        (b"\xf4", r"\x80 … \x8f (16)"),
    ):
        says(f"[^a] after {path.hex()}", allowed(ANY, BYTES, [path]), exact, WHY_FORMS)
    says(
        "[^a] from f0 on", allowed(ANY, BYTES[0xF0:]), r"\xf0 … \xf4 (5)", "no character begins with f5 to ff"
    )
    says("[^a]: e0 9f bf", writes(ANY, b"\xe0\x9f\xbf"), "no", "an overlong form of U+07FF")
    says("[^a]: ed a0 80", writes(ANY, b"\xed\xa0\x80"), "no", "a surrogate")
    says("[^a]: ff bf bf bf", writes(ANY, b"\xff\xbf\xbf\xbf"), "no", "past U+10FFFF")
    of_schema('{"type":"string"}', b'"\xf4\x90\x80\x80"', "no", "past U+10FFFF")
    forms = [b"\xc3\xa9", b"\xe0\x83\xa9", b"\xf0\x88\xaa\x9e"]
    says(
        "[é] at the start, whole tokens", allowed("root ::= [é]", forms), r"\xc3\xa9", "e0 83 a9 is overlong"
    )
    says(
        "[語😀] after f0",
        allowed("root ::= [語😀]", BYTES, [b"\xf0"]),
        r"\x9f",
        "f0 88 aa 9e is an overlong form of U+8A9E, e8 aa 9e",
    )


@cause
def end_inside_a_character() -> None:
    """A text that ends inside a character counts as whole, when its last token also ends the character before."""
    grammar = "root ::= [é漢😀]+"
    tokens = [b"\xf0\x9f\x98", b"\x80\xe6", b"\xbc\xa2"]
    says(
        "[é漢😀]+ after f09f98, 80e6",
        allowed(grammar, tokens, tokens[:2]),
        r"\xbc\xa2",
        "e6 is not a character",
    )
    other = ["é".encode(), b"\xe6", b"\xbc\xa2"]
    says("[é漢😀]+ after c3a9, e6", allowed(grammar, other, other[:2]), r"\xbc\xa2", "the same place")


@cause
def ends_by_text() -> None:
    """A token whose text is that of a known end, `</s>` or others, ends an output, and is no text."""
    tokens = [b"a", b"</s>", b"</", b"s", b">"]
    says(
        '"a" after a', allowed('root ::= "a"', tokens, [b"a"]), "EOS", "EOS is the one end of the vocabulary"
    )
    says('"</s>"', allowed('root ::= "</s>"', tokens), "</s> </", "the text can be one token or three")


@cause
def control_characters() -> None:
    """A JSON string of the converter has control characters as they are."""
    for data in (b'"\x01"', b'"\n"'):
        of_schema('{"type":"string"}', data, "no", "RFC 8259 has U+0000 to U+001F only by escape")
    of_schema('{"type":"string"}', rb'"\u0001"', "yes", "by escape")


@cause
def exponents_and_long_numbers() -> None:
    """An exponent is written as an integer is, without a zero before; 16 digits are the most in every part."""
    number, integer = '{"type":"number"}', '{"type":"integer"}'
    of_schema(number, "0E00", "yes", "RFC 8259: digits, any of them")
    of_schema(number, "0E0", "yes", "one digit")
    of_schema(integer, "1" * 16, "yes", "16 digits")
    of_schema(integer, "1" * 17, "yes", "17 digits")
    of_schema(number, "0." + "0" * 17, "yes", "17 digits after the point")
    of_schema(number, "1e" + "1" * 17, "yes", "an exponent of 17 digits")
    says(
        f"{number} after 1, token of 16 zeros",
        allowed(gbnf(number), [b"1", b"0" * 16], [b"1"]),
        f"1 {'0' * 16} EOS",
        "17 digits",
    )


@cause
def blanks_in_constants() -> None:
    """Objects and arrays in `const` and `enum` have a blank after `:` and `,`, whatever SPACE_RULE is."""
    schema = '{"const":{"a":[1,2]}}'
    of_schema(schema, '{"a":[1,2]}', "yes", "compact, as the members of objects are written")
    of_schema(schema, '{"a": [1, 2]}', "no", "the spelling of json.dumps")


@cause
def escapes_in_constants() -> None:
    """A backslash that JSON needs in `const`, `enum` or a name is read as GBNF's, so the string is another text."""
    of_schema(r'{"const":"a\nb"}', b'"a\nb"', "no", "a newline as itself is no JSON string")
    of_schema(r'{"const":"a\nb"}', r'"a\nb"', "yes", "its JSON text")
    of_schema(r'{"const":"\u0001"}', b'"\x01"', "no", "a control character as itself")
    of_schema(r'{"const":"a\\b"}', r'"a\b"', "no", "the value has a backslash; this is a backspace")
    of_schema(r'{"const":"a\\b"}', r'"a\\b"', "yes", "its JSON text")
    of_schema(r'{"const":"a\"b"}', r'"a\"b"', "yes", "its JSON text")
    name = r'{"type":"object","properties":{"a\"":{"type":"null"}},"required":["a\""],"additionalProperties":false}'
    of_schema(name, r'{"a\"":null}', "yes", "the one text")
    of_schema('{"const":"é"}', '"é"', "yes", "written by json.dumps as an escape, read by GBNF as é")
    of_schema('{"const":"😀"}', '"😀"', "yes", "its JSON text")
    of_schema('{"const":"😀"}', b'"\xed\xa0\xbd\xed\xb8\x80"', "no", "two encoded surrogates are no UTF-8")


@cause
def required_first() -> None:
    """Required members come before the optional ones: a choice of order."""
    schema = '{"type":"object","properties":{"a":{"type":"null"},"b":{"type":"null"}},"required":["b"]'
    schema += ',"additionalProperties":false}'
    of_schema(schema, '{"a":null,"b":null}', "yes", "the order of the schema")
    of_schema(schema, '{"b":null,"a":null}', "no", "another order")


@cause
def count_over_1000() -> None:
    """A count may go to 2000: a choice."""
    says(
        '"a"{1001}: a, 1001 times', writes('root ::= "a"{1001}', b"a" * 1001), "refused", "1000 is the limit"
    )
    says('"a"{1001}: a, 1000 times', writes('root ::= "a"{1001}', b"a" * 1000), "no", "one too few")
    says('"a"{2001}: a', writes('root ::= "a"{2001}', b"a"), "refused", "the engine's limit is 2000")


@cause
def key_given_twice() -> None:
    """Of a key that a schema gives twice the last counts."""
    of_schema('{"type":"null","type":"boolean"}', "true", "refused", "the suite reads no such JSON")


@cause
def bounds_of_items() -> None:
    """Bounds that leave nothing give `minItems` items, and a negative `minItems` gives a comma without an item."""
    items = '{"type":"array","items":{"type":"null"}'
    of_schema(items + ',"minItems":3,"maxItems":2}', "[null,null,null]", "refused", "three are too many")
    of_schema(items + ',"minItems":-1}', "[,null]", "refused", "JSON Schema: a non-negative integer")


@cause
def required_text() -> None:
    """`required` that is a string is the list of its letters."""
    schema = (
        '{"type":"object","properties":{"a":{"type":"null"}},"required":"a","additionalProperties":false}'
    )
    of_schema(schema, '{"a":null}', "refused", "JSON Schema: a list of strings")
    of_schema(schema, "{}", "refused", "the same")


def invalid(schema: str, data: str, why: str) -> None:
    """An instance that the schema does not allow."""
    of_schema(schema, data, "no", why)


@cause
def bounds_of_numbers() -> None:
    """`minimum`, `maximum`, the exclusive ones and `multipleOf` are read and change nothing."""
    invalid('{"type":"integer","minimum":10}', "9", "below 10")
    invalid('{"type":"integer","maximum":0}', "1", "over 0")
    invalid('{"type":"number","exclusiveMinimum":1}', "1", "not over 1")
    invalid('{"type":"number","exclusiveMaximum":1}', "1", "not below 1")
    invalid('{"type":"number","maximum":0}', "1.6", "over 0")
    invalid('{"type":"number","minimum":100}', "9e1", "below 100")
    invalid('{"type":"integer","multipleOf":3}', "-4", "no multiple")


@cause
def bounds_of_arrays_and_objects() -> None:
    """`uniqueItems`, `contains`, `minProperties`, `maxProperties` and `propertyNames` change nothing."""
    invalid('{"type":"array","items":{"type":"integer"},"uniqueItems":true}', "[1,1]", "1 comes twice")
    invalid('{"type":"array","items":{"type":"integer"},"contains":{"const":2}}', "[1]", "no item is 2")
    invalid('{"type":"object","minProperties":1}', "{}", "no member")
    invalid('{"type":"object","maxProperties":1}', '{"a":null,"b":null}', "two members")
    invalid('{"type":"object","propertyNames":{"enum":["a"]}}', '{"b":null}', "b is another name")
    members = '"properties":{"a":{"type":"null"},"b":{"type":"null"}},"dependentRequired":{"a":["b"]}'
    invalid(f'{{"type":"object",{members},"additionalProperties":false}}', '{"a":null}', "a without b")


@cause
def combinations() -> None:
    """`oneOf` is read as `anyOf`, and `not` and what stands beside `anyOf`, `enum` or `pattern` changes nothing."""
    invalid('{"oneOf":[{"type":"integer"},{"enum":[1,"a"]}]}', "1", "both branches hold")
    invalid('{"type":"string","not":{"const":"a"}}', '"a"', "that value is excluded")
    invalid('{"type":"string","anyOf":[{"const":"a"},{"const":1}]}', "1", "1 is no string")
    invalid('{"type":"string","enum":["a",1]}', "1", "1 is no string")
    invalid('{"type":"string","pattern":"^[ab]*$","maxLength":2}', '"aba"', "three characters")


@cause
def required_without_a_schema() -> None:
    """A required name that `properties` does not have is not required."""
    invalid(
        '{"type":"object","properties":{"a":{"type":"null"}},"required":["b"]}', '{"a":null}', "b is required"
    )
    invalid('{"type":"object","required":["b"]}', "{}", "b is required")


@cause
def open_objects() -> None:
    """In an open object the values of other members are objects alone, and a name may come twice."""
    schema = (
        '{"type":"object","properties":{"a":{"type":"integer"}},"required":["a"],"additionalProperties":true}'
    )
    of_schema(schema, '{"a":1,"b":2}', "yes", "JSON Schema: b may have any value")
    invalid(schema, '{"a":1,"a":{}}', "a reader that takes the last of two reads a as an object")
    of_schema("{}", "1", "yes", "JSON Schema: any value")


def main() -> None:
    """Run every cause."""
    llama_cpp.llama_log_set(SILENT, None)
    llama_cpp.llama_backend_init()
    converter.SPACE_RULE = '""'
    print(f"llama-cpp-python {version('llama-cpp-python')}")
    for function in CAUSES:
        print(f"\n{function.__name__}: {function.__doc__}")
        function()


if __name__ == "__main__":
    main()
