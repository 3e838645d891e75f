"""One engine timed in a process of its own: a stand-alone program that imports nothing of the suite but `reference`.

`python child.py ENGINE VOCABULARY.json` reads one JSON object a line, {"kind", "source", "path"}, compiles the source
anew, opens a session, asks for the first mask, then takes the path token by token and asks for a mask after each. The
answer has the seconds of every part, around the engine's own native call and nothing else; for an engine that can make
the masks of all states, the seconds of compiling anew and making them too. `kind` is `regex` or `schema`.
"""

import base64
import ctypes
import json
import resource
import sys
import time
from collections.abc import Callable
from functools import partial
from importlib.metadata import version
from typing import Any, ClassVar, Literal, Protocol, runtime_checkable

DIALECTS: dict[str, Literal["bytes", "unicode"]] = {"schema": "bytes", "regex": "unicode"}


class UnservedError(Exception):
    """The engine does not do this."""


class Session(Protocol):
    """One output in an engine."""

    def fill(self) -> None:
        """The native mask call."""

    def advance(self, token: int) -> bool:
        """Take a token; False when it is refused."""


class Engine(Protocol):
    """What is timed."""

    distribution: str

    def compile(self, kind: str, source: str) -> Any:
        """Everything the engine does before its first mask."""

    def open(self, compiled: Any) -> Session:
        """A session at the start."""


@runtime_checkable
class Tabled(Protocol):
    """An engine that can make the masks of all states."""

    def table(self, kind: str, source: str) -> None:
        """Compile, and make them all."""


class Vocabulary:
    """The tokens that every engine gets, and buffers of their width."""

    def __init__(self, path: str) -> None:
        """Read the file."""
        with open(path, encoding="utf-8") as file:
            document = json.load(file)
        self.tokens = [None if text is None else base64.b64decode(text) for text in document["tokens"]]
        self.eos: int = document["eos"]
        self.words = -(-len(self.tokens) // 32)

    def buffer(self) -> Any:
        """A packed row for an engine to write into."""
        return (ctypes.c_int32 * self.words)()

    def by_bytes(self) -> dict[bytes, list[int]]:
        """Ids by their bytes, EOS left out."""
        ids: dict[bytes, list[int]] = {}
        for token, data in enumerate(self.tokens):
            if data and token != self.eos:
                ids.setdefault(data, []).append(token)
        return ids


class Reference:
    """The suite's own reference."""

    distribution = ""

    def __init__(self, vocabulary: Vocabulary) -> None:
        """Take the vocabulary over; not timed."""
        from reference import compile as patterns
        from reference import constraint, masks, schema
        from reference.vocabulary import Vocabulary as Ours

        self.patterns, self.constraint, self.masks, self.schema = patterns, constraint, masks, schema
        self.vocabulary = Ours(tuple(vocabulary.tokens), frozenset({vocabulary.eos}), "bench")
        self.table("regex", "a")

    def compile(self, kind: str, source: str) -> Any:
        """Everything before a session."""
        pattern, dialect = source, DIALECTS[kind]
        if kind == "schema":
            pattern = self.schema.json_schema_to_regex(self.schema.schema_from_text(source))
        return self.masks.TokenIndex(self.patterns.regex_to_dfa(pattern, dialect), self.vocabulary)

    def table(self, kind: str, source: str) -> None:
        """Compile, and make the masks of all states."""
        self.compile(kind, source).bitmask_table()

    def open(self, compiled: Any) -> Session:
        """A session at the start."""
        constraint = self.constraint.Constraint(compiled)

        class Walking:
            def fill(self) -> None:
                constraint.bitmask()

            def advance(self, token: int) -> bool:
                constraint.advance(token)
                return True

        return Walking()


class XGrammar:
    """xgrammar with its caches off, so that every compilation is one."""

    distribution = "xgrammar"

    def __init__(self, vocabulary: Vocabulary) -> None:
        """Take the vocabulary over; not timed."""
        import xgrammar

        self.xgrammar, raw = xgrammar, [data or b"" for data in vocabulary.tokens]
        info = xgrammar.TokenizerInfo(
            raw, xgrammar.VocabType.RAW, vocab_size=len(raw), stop_token_ids=[vocabulary.eos]
        )
        self.compiler = xgrammar.GrammarCompiler(info, max_threads=1, cache_enabled=False)
        self.mask = xgrammar.allocate_token_bitmask(1, len(raw))

    def compile(self, kind: str, source: str) -> Any:
        """Everything before a session."""
        if kind == "regex":
            return self.compiler.compile_regex(source)
        return self.compiler.compile_json_schema(
            source, any_whitespace=False, separators=(",", ":"), strict_mode=False
        )

    def open(self, compiled: Any) -> Session:
        """A session at the start."""
        matcher, mask = self.xgrammar.GrammarMatcher(compiled), self.mask

        class Matching:
            def fill(self) -> None:
                matcher.fill_next_token_bitmask(mask)

            def advance(self, token: int) -> bool:
                return bool(matcher.accept_token(token))

        return Matching()


class LLGuidance:
    """llguidance; longest match stands in for its tokenizer."""

    distribution = "llguidance"

    def __init__(self, vocabulary: Vocabulary) -> None:
        """Take the vocabulary over; not timed."""
        import llguidance

        self.llguidance = llguidance
        ids = {data: tokens[0] for data, tokens in vocabulary.by_bytes().items()}
        longest = max(map(len, ids))

        class Spelling:
            eos_token_id, bos_token_id, special_token_ids = vocabulary.eos, None, [vocabulary.eos]
            tokens: ClassVar[list[bytes]] = [data or b"" for data in vocabulary.tokens]

            def __call__(self, text: Any) -> list[int]:
                data = text.encode() if isinstance(text, str) else bytes(text)
                found, at = [], 0
                while at < len(data):
                    size = next(
                        n for n in range(min(longest, len(data) - at), 0, -1) if data[at : at + n] in ids
                    )
                    found.append(ids[data[at : at + size]])
                    at += size
                return found

        Spelling.tokens[vocabulary.eos] = b"<|eos|>"
        wrapper = llguidance.TokenizerWrapper(Spelling())
        self.tokenizer = llguidance.LLTokenizer(wrapper, n_vocab=len(vocabulary.tokens))
        self.buffer, self.size = vocabulary.buffer(), 4 * vocabulary.words

    def compile(self, kind: str, source: str) -> Any:
        """Everything before a session."""
        make = self.llguidance.LLMatcher
        if kind == "regex":
            grammar = make.grammar_from_regex(source)
        else:
            grammar = make.grammar_from_json_schema(source, overrides={"whitespace_flexible": False})
        matcher = make(self.tokenizer, grammar, log_level=0)
        if matcher.is_error():
            raise UnservedError(matcher.get_error().splitlines()[0])
        return matcher

    def open(self, compiled: Any) -> Session:
        """A session at the start."""
        matcher, address, size = compiled.deep_copy(), ctypes.addressof(self.buffer), self.size

        class Matching:
            def fill(self) -> None:
                matcher.unsafe_compute_mask_ptr(address, size)

            def advance(self, token: int) -> bool:
                return bool(matcher.consume_token(token))

        return Matching()


class OutlinesCore:
    """outlines-core, whose Index is the automaton over tokens; compiling is making the whole table."""

    distribution, module = "outlines-core", "outlines_core"

    def __init__(self, vocabulary: Vocabulary) -> None:
        """Take the vocabulary over; not timed."""
        import importlib

        self.core = importlib.import_module(self.module)
        self.known = self.core.Vocabulary(vocabulary.eos, vocabulary.by_bytes())
        self.buffer, self.words = vocabulary.buffer(), vocabulary.words

    def compile(self, kind: str, source: str) -> Any:
        """Everything before a session."""
        pattern = self.core.json_schema.build_regex_from_schema(source, "") if kind == "schema" else source
        return self.core.Index(pattern, self.known)

    def table(self, kind: str, source: str) -> None:
        """Compile, and make the masks of all states."""
        self.compile(kind, source)

    def open(self, compiled: Any) -> Session:
        """A session at the start."""
        guide, address, words = self.core.Guide(compiled, 4), ctypes.addressof(self.buffer), self.words

        class Guided:
            def fill(self) -> None:
                guide.write_mask_into(address, words, 4)

            def advance(self, token: int) -> bool:
                guide.advance(token, return_tokens=False)
                return True

        return Guided()


class GlrMask:
    """glrmask, patterns only: its JSON has blanks after commas and colons, which is another language."""

    distribution = "glrmask"

    def __init__(self, vocabulary: Vocabulary) -> None:
        """Take the vocabulary over; not timed."""
        import glrmask
        import numpy as np

        self.glrmask, self.eos = glrmask, vocabulary.eos
        known = {i: data for i, data in enumerate(vocabulary.tokens) if data and i != vocabulary.eos}
        self.known = glrmask.Vocab.from_id_to_bytes(known | {vocabulary.eos: b"<|eos|>"})
        self.buffer = np.zeros(vocabulary.words, np.int32)

    def compile(self, kind: str, source: str) -> Any:
        """Everything before a session."""
        if kind != "regex":
            raise UnservedError("its JSON has blanks after commas and colons, with no option")
        grammar = self.glrmask.Grammar.from_lark("start: /" + source.replace("/", "\\/") + "/\n")
        ending = self.glrmask.Expr.sequence(grammar, self.glrmask.TokenSet([self.eos]))
        return self.glrmask.Grammar.from_expr(ending).compile(self.known)

    def open(self, compiled: Any) -> Session:
        """A session at the start."""
        state, buffer = compiled.start(), self.buffer

        class Walking:
            def fill(self) -> None:
                state.fill_mask(buffer)

            def advance(self, token: int) -> bool:
                return bool(state.commit_token(token))

        return Walking()


ENGINES: dict[str, Any] = {
    "reference": Reference,
    "xgrammar": XGrammar,
    "llguidance": LLGuidance,
    "outlines-core": OutlinesCore,
    "glrmask": GlrMask,
}


def measured(engine: Engine, kind: str, source: str, path: list[int]) -> dict[str, Any]:
    """Seconds of one compilation, of the first mask, of the mask after every token of the path, of the whole table."""
    begun = time.perf_counter()
    compiled = engine.compile(kind, source)
    spent = time.perf_counter() - begun
    session = engine.open(compiled)
    masks = [timed(session.fill)]
    for token in path:
        if not session.advance(token):
            raise UnservedError(f"token {token} of the path is refused after {len(masks) - 1} tokens")
        masks.append(timed(session.fill))
    table = timed(partial(engine.table, kind, source)) if isinstance(engine, Tabled) else None
    return {"compile": spent, "masks": masks, "table": table}


def timed(call: Callable[[], None]) -> float:
    """Seconds of one call."""
    begun = time.perf_counter()
    call()
    return time.perf_counter() - begun


def resident_bytes() -> int:
    """The memory this process holds now, 0 where the system does not say."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * resource.getpagesize()
    except OSError:
        return 0


def main(name: str, vocabulary: str) -> None:
    """Serve requests until the input ends."""
    channel, sys.stdout = sys.stdout, sys.stderr
    try:
        engine = ENGINES[name](Vocabulary(vocabulary))
        hello = {
            "ok": True,
            "version": version(engine.distribution) if engine.distribution else "",
            "resident": resident_bytes(),
        }
    except Exception as error:
        hello = {"ok": False, "error": f"{type(error).__name__}: {error}"}
    print(json.dumps(hello), file=channel, flush=True)
    for line in sys.stdin:
        asked = json.loads(line)
        try:
            answer = {"ok": True, **measured(engine, asked["kind"], asked["source"], asked["path"])}
        except Exception as error:
            answer = {"ok": False, "error": f"{type(error).__name__}: {error}"[:300]}
        print(json.dumps(answer | {"resident": resident_bytes()}), file=channel, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
