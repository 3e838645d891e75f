"""llama.cpp's grammar sampler as a port, through llama-cpp-python: GBNF, JSON Schema by its converter, and patterns.

The sampler takes its vocabulary from a model file, so the port writes one that holds a vocabulary and no weights
(format GGUF 3). Which ids end an output llama.cpp decides by their text: EOS ids get the texts that it knows. It has
no patterns: `gbnf_of` translates them, from the standard library's parse tree. A token that the grammar refuses would
abort the process, so the mask is asked before every advance.
"""

import ctypes
import os
import re
import re._parser as syntax  # type: ignore[import-not-found]
import struct
import sys
import tempfile
from collections.abc import Iterable, Iterator
from typing import Any

sys.path.append(os.path.dirname(os.path.abspath(__file__)))
from speak import Engine, Illegal, Refused, Session, Tokens, channel, closed, serve

PORT = {
    "name": "llama.cpp",
    "about": "llama.cpp's grammar sampler, through llama-cpp-python",
    "distributions": ["llama-cpp-python", "numpy"],
}

OUTPUT = channel() if __name__ == "__main__" else None
if __name__ == "__main__":
    import llama_cpp
    import llama_cpp.llama_grammar as converter
    import numpy

    LOG = llama_cpp.llama_log_callback(
        lambda level, text, data: sys.stderr.write(text.decode("utf-8", "replace"))
    )
    llama_cpp.llama_log_set(LOG, None)
    llama_cpp.llama_backend_init()
    converter.SPACE_RULE = '""'  # no setting makes JSON compact
    ROW = numpy.dtype([("id", numpy.int32), ("logit", numpy.float32), ("p", numpy.float32)], align=True)

ENDS = ("<|im_end|>", "<|endoftext|>", "<|eot_id|>", "<end_of_turn>", "<|end|>")
NORMAL, CONTROL, UNUSED = 1, 3, 5
U32, I32, F32, TEXT, LIST = 4, 5, 6, 8, 9


class Sampling(Session):
    """A grammar sampler."""

    def __init__(self, engine: "LlamaCpp", sampler: Any, *, done: bool = False) -> None:
        """Own the sampler."""
        self.engine, self.sampler, self.done = engine, sampler, done

    def __del__(self) -> None:
        """Give the sampler back."""
        llama_cpp.llama_sampler_free(self.sampler)

    def bits(self) -> Any:
        """Whether each candidate keeps its logit."""
        rows = self.engine.rows
        rows["logit"] = 0
        candidates = llama_cpp.llama_token_data_array(
            data=rows.ctypes.data_as(ctypes.POINTER(llama_cpp.llama_token_data)),
            size=len(rows),
            selected=-1,
            sorted=False,
        )
        llama_cpp.llama_sampler_apply(self.sampler, ctypes.byref(candidates))
        return rows["logit"] > -1

    def mask(self) -> bytes:
        """llama_sampler_apply; after EOS, which does not change the sampler, nothing is asked."""
        if self.done:
            return bytes(-(-len(self.engine.rows) // 8))
        return numpy.packbits(self.bits(), bitorder="little").tobytes()

    def is_complete(self) -> bool:
        """Whether an EOS id keeps its logit."""
        return self.done or bool(self.bits()[self.engine.eos].any())

    def advance(self, token: int) -> None:
        """llama_sampler_accept of a token that the mask has."""
        if self.done or not self.bits()[token]:
            raise Illegal("EOS was taken" if self.done else f"the sampler forbids token {token}")
        self.done = token in self.engine.eos
        if not self.done:
            llama_cpp.llama_sampler_accept(self.sampler, token)

    def fork(self) -> Session:
        """llama_sampler_clone."""
        return Sampling(self.engine, llama_cpp.llama_sampler_clone(self.sampler), done=self.done)


class LlamaCpp(Engine):
    """Grammars over one vocabulary."""

    name, distribution = "llama.cpp", "llama-cpp-python"
    kinds = ("regex.unicode", "json_schema", "gbnf")
    features = ("fork",)
    notes = (
        "patterns are translated to GBNF by the port; json_schema: the Python converter, its blanks taken out"
    )

    def vocabulary(self, tokens: Tokens, eos: list[int], tokenizer: str | None) -> None:
        """A model file with these tokens alone, loaded with vocab_only."""
        if not 1 <= len(eos) <= len(ENDS):
            raise Refused(f"the port can tell llama.cpp of 1 to {len(ENDS)} EOS ids, not {len(eos)}")
        pieces = [token for number, token in enumerate(tokens) if token and number not in eos]
        if len(set(pieces)) < len(pieces):
            raise Refused("llama.cpp takes no vocabulary in which two ids have the same bytes")
        with tempfile.NamedTemporaryFile(suffix=".gguf") as file:
            file.write(vocabulary_file(tokens, eos))
            file.flush()
            settings = llama_cpp.llama_model_default_params()
            settings.vocab_only = True
            self.model = llama_cpp.llama_model_load_from_file(file.name.encode(), settings)
        if not self.model:
            raise Refused("llama.cpp does not load this vocabulary")
        self.known = llama_cpp.llama_model_get_vocab(self.model)
        self.eos = sorted(set(eos))
        self.rows = numpy.zeros(len(tokens), ROW)
        self.rows["id"] = numpy.arange(len(tokens))

    def compile(self, kind: str, source: str, options: dict[str, Any]) -> Any:
        """A sampler that no session uses; NULL is a grammar that llama.cpp cannot read."""
        if kind == "json_schema":
            source = converter.json_schema_to_gbnf(closed(source))
        elif kind == "regex.unicode":
            source = f"root ::= {gbnf_of(source)}"
        sampler = llama_cpp.llama_sampler_init_grammar(self.known, source.encode(), b"root")
        if not sampler:
            raise Refused("llama_sampler_init_grammar returned NULL; what it says is in the log")
        return Sampling(self, sampler)

    def open(self, grammar: Any) -> Session:
        """A clone of the compiled sampler."""
        return Sampling(self, llama_cpp.llama_sampler_clone(grammar.sampler))


def vocabulary_file(tokens: Tokens, eos: list[int]) -> bytes:
    """A GGUF file of byte-level tokens without weights: EOS ids as control tokens, ids without bytes unused."""
    letters = byte_letters()
    texts, types = [], []
    for number, token in enumerate(tokens):
        if number in eos:
            texts.append(ENDS[eos.index(number)])
            types.append(CONTROL)
        else:
            texts.append("".join(letters[byte] for byte in token) if token else f"[unused {number}]")
            types.append(NORMAL if token else UNUSED)
    shape = {"context_length": 512, "embedding_length": 64, "block_count": 1, "feed_forward_length": 64}
    shape |= {"attention.head_count": 1, "attention.head_count_kv": 1}
    fields = [entry("general.architecture", TEXT, text("qwen2"))]
    fields += [entry(f"qwen2.{key}", U32, struct.pack("<I", value)) for key, value in shape.items()]
    fields += [entry("qwen2.attention.layer_norm_rms_epsilon", F32, struct.pack("<f", 1e-6))]
    fields += [
        entry("tokenizer.ggml.model", TEXT, text("gpt2")),
        entry("tokenizer.ggml.pre", TEXT, text("qwen2")),
    ]
    fields += [entry("tokenizer.ggml.tokens", LIST, listed(TEXT, map(text, texts), len(texts)))]
    numbers = (struct.pack("<i", kind) for kind in types)
    fields += [entry("tokenizer.ggml.token_type", LIST, listed(I32, numbers, len(types)))]
    fields += [entry("tokenizer.ggml.merges", LIST, listed(TEXT, [text("a b")], 1))]
    fields += [entry("tokenizer.ggml.eos_token_id", U32, struct.pack("<I", eos[0]))]
    return b"GGUF" + struct.pack("<IQQ", 3, 0, len(fields)) + b"".join(fields)


def text(value: str) -> bytes:
    """A GGUF string."""
    data = value.encode()
    return struct.pack("<Q", len(data)) + data


def entry(key: str, kind: int, value: bytes) -> bytes:
    """A GGUF key and value."""
    return text(key) + struct.pack("<I", kind) + value


def listed(kind: int, values: Iterable[bytes], count: int) -> bytes:
    """A GGUF array."""
    return struct.pack("<IQ", kind, count) + b"".join(values)


def byte_letters() -> list[str]:
    """The letter that byte-level BPE writes for each byte: itself when it prints, else one from U+0100 on."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = iter(range(256, 512))
    return [chr(byte) if byte in plain else chr(next(others)) for byte in range(256)]


DIGIT = [(48, 57)]
WORD = [(48, 57), (65, 90), (95, 95), (97, 122)]
SPACE = [(9, 13), (32, 32)]
NEVER = "[^\\x00-\\U0010FFFF]"
CODE_POINT = re.compile(r"\\u\{([0-9A-Fa-f]{1,6})\}|\\.", re.DOTALL)
QUOTED = re.compile(r"\\.|\[(?:\\.|[^\]\\])*\]", re.DOTALL)
STRAY = re.compile(r"\{(?![0-9]+(?:,[0-9]*)?\})")


def gbnf_of(pattern: str) -> str:
    r"""A pattern as a GBNF expression: classes are ASCII, a dot is every character but a line feed.

    The parser has no `\u{…}`, and takes a brace that is no count as itself, which the dialect does not.
    """
    pattern = CODE_POINT.sub(lambda found: f"\\U{int(found[1], 16):08x}" if found[1] else found[0], pattern)
    if STRAY.search(QUOTED.sub("", pattern)):
        raise Refused("a brace that is no count and has no backslash is not translated to GBNF")
    tree = syntax.parse(pattern, syntax.SRE_FLAG_ASCII)
    if tree.state.flags != syntax.SRE_FLAG_ASCII or tree.state.groupdict:
        raise Refused("flags and named groups are not translated to GBNF")
    return sequence(tree)


def sequence(tree: Any) -> str:
    """A sequence of nodes."""
    return " ".join(node(operator, value) for operator, value in tree) or '""'


def node(operator: Any, value: Any) -> str:
    """One node of the parse tree."""
    if operator in (syntax.LITERAL, syntax.NOT_LITERAL, syntax.ANY, syntax.IN):
        return written(list(ranges(operator, value)))
    if operator is syntax.BRANCH:
        return "(" + " | ".join(map(sequence, value[1])) + ")"
    if operator is syntax.SUBPATTERN and not value[1] and not value[2]:
        return f"({sequence(value[3])})"
    if operator is syntax.MAX_REPEAT:
        least, most, tree = value
        bound = "" if most is syntax.MAXREPEAT else str(most)
        return f"({sequence(tree)}){{{least},{bound}}}"
    raise Refused(f"{operator} is not translated to GBNF")


def ranges(operator: Any, value: Any) -> Iterator[tuple[int, int]]:
    """The characters of a node of one character."""
    if operator is syntax.LITERAL:
        yield value, value
    elif operator is syntax.RANGE:
        yield value
    elif operator is syntax.NOT_LITERAL:
        yield from others([(value, value)])
    elif operator is syntax.ANY:
        yield from others([(10, 10)])
    elif operator is syntax.CATEGORY:
        name = str(value).rpartition("_")[2]
        found = {"DIGIT": DIGIT, "WORD": WORD, "SPACE": SPACE}[name]
        yield from others(found) if "NOT" in str(value) else found
    elif value[0][0] is syntax.NEGATE:
        yield from others([pair for inner in value[1:] for pair in ranges(*inner)])
    else:
        for inner in value:
            yield from ranges(*inner)


def others(found: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The characters that are not among these, surrogates left out."""
    kept, first = [], 0
    for low, high in sorted([*found, (0xD800, 0xDFFF)]):
        if low > first:
            kept.append((first, low - 1))
        first = max(first, high + 1)
    return [*kept, (first, 0x10FFFF)] if first <= 0x10FFFF else kept


def written(found: list[tuple[int, int]]) -> str:
    """A set of characters in GBNF."""
    return "[" + "".join(f"\\U{low:08X}-\\U{high:08X}" for low, high in found) + "]" if found else NEVER


if __name__ == "__main__":
    serve(LlamaCpp(), OUTPUT)
