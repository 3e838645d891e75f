"""The line loop that the ports of other engines share: standard library only, and nothing else of the suite.

A port file beside this one defines an `Engine` and calls `serve`. The loop keeps the protocol's channel to itself:
file descriptor 1 becomes standard error before anything of an engine is imported, so what native code prints is log.
"""

import base64
import importlib.util
import json
import os
import sys
from importlib.metadata import PackageNotFoundError, version
from typing import Any

Fields = dict[str, Any]
Tokens = list[bytes | None]


class Refused(Exception):  # noqa: N818 (the protocol's word)
    """This engine honestly does not do what was asked."""


class Illegal(Exception):  # noqa: N818 (the protocol's word)
    """The token is not allowed, and the session is as before."""


class Session:
    """One output under way in an engine; `mask` gives the ids' packed bits, ceil(V / 8) bytes."""

    def mask(self) -> bytes:
        """The packed mask: bit i % 8 of byte i // 8 is token i."""
        raise NotImplementedError

    def is_complete(self) -> bool:
        """Whether the output could end here."""
        raise NotImplementedError

    def advance(self, token: int) -> None:
        """Take a token, or raise Illegal with the session as before."""
        raise NotImplementedError

    def fork(self) -> "Session":
        """An independent copy."""
        raise Refused("fork is not served")

    def rollback(self, count: int) -> None:
        """Take back the last `count` tokens."""
        raise Refused("rollback is not served")


class Engine:
    """What a port file fills in: its name, what it serves, its vocabulary, its compiler."""

    name = ""
    distribution = ""
    kinds: tuple[str, ...] = ()
    features: tuple[str, ...] = ()
    policies: Fields = {}  # noqa: RUF012 (read, never changed)
    notes = ""

    def vocabulary(self, tokens: Tokens, eos: list[int], tokenizer: str | None) -> None:
        """Build the engine's vocabulary."""
        raise NotImplementedError

    def compile(self, kind: str, source: str, options: Fields) -> Any:
        """Whatever `open` starts sessions from."""
        raise NotImplementedError

    def open(self, grammar: Any) -> Session:
        """A session at the start."""
        raise NotImplementedError

    def version(self) -> str:
        """The installed version of the distribution."""
        try:
            return version(self.distribution)
        except PackageNotFoundError:
            return "not installed"


def loader(module: str = "transformers") -> tuple[str, ...]:
    """The feature `tokenizer`, where the module that the engine's own loader needs is here."""
    return ("tokenizer",) if importlib.util.find_spec(module) else ()


def pack(ids: "list[int]", size: int) -> bytes:
    """A packed mask of allowed ids."""
    bits = bytearray(-(-size // 8))
    for token in ids:
        bits[token >> 3] |= 1 << (token & 7)
    return bytes(bits)


def cut(words: bytes, size: int) -> bytes:
    """A mask of 32-bit little-endian words as ceil(V / 8) bytes with nothing set past the last token."""
    octets = bytearray(words[: -(-size // 8)].ljust(-(-size // 8), b"\0"))
    if size % 8:
        octets[-1] &= (1 << size % 8) - 1
    return bytes(octets)


MEANING = {"type", "properties", "required", "items", "minItems", "maxItems", "enum", "const", "anyOf"}
SILENT = {"title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly"}
SUBSET = MEANING | SILENT | {"additionalProperties", "$schema", "$comment"}


class _Number(str):
    """A number as it is spelled."""


def as_dict(source: str) -> Any:
    """The value of a schema, for engines that take a dict: a key given twice, which no dict holds, is refused."""

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) != len(pairs):
            raise Refused("the engine takes a dict, and this schema gives a key twice")
        return found

    return json.loads(source, object_pairs_hook=once)


def closed(source: str) -> str:
    """The schema with `additionalProperties: false` where an object is silent about it, numbers spelled as they are.

    The suite's own schemas mean closed objects; JSON Schema's default is open ones. A schema that uses any other
    keyword than the suite's, or gives a key twice, or is no JSON, is left alone: there JSON Schema's meaning counts.
    """
    try:
        schema = json.loads(
            source, object_pairs_hook=_once, parse_int=_Number, parse_float=_Number, parse_constant=_none
        )
        return _text(_closed(schema))
    except (ValueError, TypeError, AttributeError, RecursionError):
        return source


def _closed(schema: Any) -> Any:
    if not isinstance(schema, dict) or not schema.keys() <= SUBSET:
        raise ValueError("not of the subset")
    found = dict(schema)
    if "properties" in schema:
        found["properties"] = {name: _closed(value) for name, value in schema["properties"].items()}
    if schema.get("type") == "object":
        found.setdefault("additionalProperties", False)
    if "items" in schema:
        found["items"] = _closed(schema["items"])
    if "anyOf" in schema:
        found["anyOf"] = [_closed(branch) for branch in schema["anyOf"]]
    return found


def _once(pairs: list[tuple[str, Any]]) -> Fields:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key given twice")
    return found


def _none(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


def _text(value: Any) -> str:
    if isinstance(value, _Number):
        return str(value)
    if isinstance(value, dict):
        return (
            "{"
            + ",".join(
                f"{json.dumps(name, ensure_ascii=False)}:{_text(entry)}" for name, entry in value.items()
            )
            + "}"
        )
    if isinstance(value, list):
        return "[" + ",".join(map(_text, value)) + "]"
    return json.dumps(value, ensure_ascii=False)


class _Loop:
    """The ops, each on what an Engine gives; sessions and grammars are kept under numbers."""

    def __init__(self, engine: Engine) -> None:
        self.engine, self.shelf, self.made, self.size = engine, {"grammar": {}, "session": {}}, 0, 0  # type: ignore[var-annotated]

    def keep(self, name: str, thing: Any) -> Fields:
        """Put a thing under the next number."""
        self.made += 1
        self.shelf[name][self.made] = thing
        return {name: self.made}

    def kept(self, name: str, request: Fields) -> Any:
        """The thing that a request names."""
        return self.shelf[name][request[name]]

    def op_hello(self, request: Fields) -> Fields:
        """What this port is and serves."""
        engine = self.engine
        about = {"name": engine.name, "version": engine.version(), "protocol": 1, "kinds": list(engine.kinds)}
        return about | {"features": list(engine.features), "policies": engine.policies, "notes": engine.notes}

    def op_vocab(self, request: Fields) -> Fields:
        """Take the vocabulary from the request or from a file of the same list."""
        texts = request.get("tokens")
        if texts is None:
            with open(request["file"], encoding="utf-8") as file:
                texts = json.load(file)
        tokens: Tokens = [None if text is None else base64.b64decode(text) for text in texts]
        self.size, self.shelf = len(tokens), {"grammar": {}, "session": {}}
        try:
            self.engine.vocabulary(tokens, list(request.get("eos", [])), request.get("tokenizer"))
        except (KeyboardInterrupt, SystemExit, Refused):
            raise
        except BaseException as error:  # a Rust panic is no Exception
            raise Refused(f"{type(error).__name__}: {str(error)[:400]}") from error
        return {"size": len(tokens)}

    def op_compile(self, request: Fields) -> Fields:
        """Compile a source; what the engine cannot read is refused with its own words."""
        if request["kind"] not in self.engine.kinds:
            raise Refused(f"kind {request['kind']!r} is not served")
        try:
            grammar = self.engine.compile(request["kind"], request["source"], request.get("options") or {})
        except (KeyboardInterrupt, SystemExit, Refused):
            raise
        except BaseException as error:  # a Rust panic is no Exception
            raise Refused(f"{type(error).__name__}: {str(error)[:400]}") from error
        return self.keep("grammar", grammar)

    def op_open(self, request: Fields) -> Fields:
        """Start a session."""
        return self.keep("session", self.engine.open(self.kept("grammar", request)))

    def op_mask(self, request: Fields) -> Fields:
        """What is allowed now, and whether the output could end here."""
        session: Session = self.kept("session", request)
        return {"mask": base64.b64encode(session.mask()).decode(), "complete": bool(session.is_complete())}

    def op_advance(self, request: Fields) -> Fields:
        """Take one token."""
        session: Session = self.kept("session", request)
        if type(request["token"]) is not int or not 0 <= request["token"] < self.size:
            raise Illegal(f"token {request['token']!r} is not in the vocabulary")
        session.advance(request["token"])
        return {}

    def op_fork(self, request: Fields) -> Fields:
        """A copy of a session."""
        return self.keep("session", self.kept("session", request).fork())

    def op_rollback(self, request: Fields) -> Fields:
        """Take back the last tokens."""
        self.kept("session", request).rollback(request["count"])
        return {}

    def op_close(self, request: Fields) -> Fields:
        """Forget a session or a grammar."""
        name = "session" if "session" in request else "grammar"
        del self.shelf[name][request[name]]
        return {}

    def op_bye(self, request: Fields) -> Fields:
        """Nothing more."""
        return {}


def answered(loop: _Loop, line: bytes) -> tuple[Fields, bool]:
    """The answer to one line, and whether it was the last."""
    identifier = None
    try:
        request = json.loads(line)
        if not isinstance(request, dict):
            raise KeyError("id: the request is no object")
        identifier = request["id"]
        operation = getattr(loop, f"op_{request['op']}", None)
        if operation is None:
            raise NotImplementedError
        return {"id": identifier, "ok": True, **operation(request)}, request["op"] == "bye"
    except Refused as error:
        kind, message = "refused", str(error)
    except Illegal as error:
        kind, message = "illegal", str(error)
    except NotImplementedError:
        kind, message = "unsupported", "this op is not served"
    except (KeyError, json.JSONDecodeError) as error:
        kind, message = "invalid", f"unknown, missing or no JSON: {error}"
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # a Rust panic is no Exception
        kind, message = "internal", f"{type(error).__name__}: {str(error)[:400]}"
    return {"id": identifier, "ok": False, "error": {"kind": kind, "message": message}}, False


def channel() -> Any:
    """The protocol's output: descriptor 1 as it was, which from now on is standard error for everyone else."""
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    for name in ("RAYON_NUM_THREADS", "OMP_NUM_THREADS", "GLRMASK_COMPILE_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ.setdefault(name, "1")
    kept = os.dup(1)
    os.dup2(2, 1)
    return os.fdopen(kept, "wb", buffering=0)


def serve(engine: Engine, output: Any) -> None:
    """Answer line by line until `bye` or the end of the input."""
    loop = _Loop(engine)
    for line in sys.stdin.buffer:
        answer, is_last = answered(loop, line)
        output.write(json.dumps(answer).encode() + b"\n")
        if is_last:
            break
    sys.stderr.flush()
    os._exit(0)  # native thread pools may not end by themselves
