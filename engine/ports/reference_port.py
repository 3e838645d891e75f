"""The reference as a port: every op of the protocol, each one call into `reference/`.

It must audit clean in every mode; that holds the audit to the truth as much as the reference. For a port that
imports nothing of the suite see engine/ports/pure_port.py, which is the example to follow.
"""

import base64
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np

from engine.tool_events import event_fields, request_fields
from reference.bitmasks import pack
from reference.compile import regex_to_dfa
from reference.constraint import Constraint
from reference.dfa import Dfa
from reference.errors import JsonTextError, PatternError, Refused, SchemaError
from reference.jsontext import dumps, loads
from reference.lookahead import forced_bytes
from reference.masks import TokenIndex
from reference.pcg32 import Pcg32
from reference.sampling import SamplingParams, constrained_sample
from reference.schema import json_object_regex, json_schema_to_regex, schema_from_text
from reference.tools import (
    ToolError,
    grammar,
    parse_tool_request,
    render_messages,
)
from reference.toolstream import (
    ToolParser,
    collect,
    finish_reason,
    message_json,
)
from reference.vocabulary import Vocabulary

PORT = {
    "name": "reference",
    "about": "the executable specification itself, with every optional op",
    "distributions": [],
}

Fields = dict[str, Any]
KINDS = ["regex.bytes", "regex.unicode", "json_schema", "json_object"]
TOOLS = ["tool_request", "tool_grammar", "tool_render", "tool_stream"]
FEATURES = ["fork", "rollback", "dfa", "pattern", "dumps", "sample", "forced", "budget", *TOOLS]


class Failure(Exception):  # noqa: N818 (the protocol's word)
    """An honest error answer; the kind is one of the protocol's."""

    def __init__(self, kind: str, message: str) -> None:
        """Keep the kind beside the message."""
        super().__init__(message)
        self.kind = kind


def compiled(kind: str, source: str) -> Dfa:
    """The automaton of a source text of one of the kinds."""
    if kind == "regex.bytes":
        return regex_to_dfa(source)
    if kind == "regex.unicode":
        return regex_to_dfa(source, "unicode")
    if kind == "json_schema":
        return regex_to_dfa(json_schema_to_regex(schema_from_text(source)))
    if kind == "json_object":
        return regex_to_dfa(json_object_regex(int(source)))
    raise Failure("refused", f"kind {kind!r} is not served")


class Session:
    """A constraint and its past: a constraint is three numbers, so the past is a list of copies."""

    def __init__(self, constraint: Constraint, past: list[Constraint]) -> None:
        """Stand where `constraint` stands."""
        self.constraint, self.past = constraint, past

    def advance(self, token: int) -> None:
        """Take a token, remembering where it was taken."""
        before = self.constraint.fork()
        self.constraint.advance(token)
        self.past.append(before)

    def fork(self) -> "Session":
        """An independent copy."""
        return Session(self.constraint.fork(), list(self.past))

    def rollback(self, count: int) -> None:
        """Take back the last `count` tokens."""
        if not 0 <= count <= len(self.past):
            raise Failure("invalid", f"cannot take back {count} of {len(self.past)} tokens")
        if count:
            self.constraint = self.past[-count].fork()
            del self.past[-count:]


class Engine:
    """What is known between requests, and one method for each op."""

    def __init__(self) -> None:
        """Nothing is known before the vocabulary."""
        self.vocabulary = Vocabulary(())
        self.indexes: dict[int, TokenIndex] = {}
        self.sessions: dict[int, Session] = {}
        self.made = 0

    def answer(self, request: Fields) -> Fields:
        """The fields of a good answer."""
        operation: Callable[[Fields], Fields] | None = getattr(self, f"op_{request.get('op')}", None)
        if operation is None:
            raise Failure("unsupported", f"op {request.get('op')!r} is not served")
        return operation(request)

    def _shelve(self, shelf: dict[int, Any], thing: Any) -> int:
        self.made += 1
        shelf[self.made] = thing
        return self.made

    def _session(self, request: Fields) -> Session:
        if request.get("session") not in self.sessions:
            raise Failure("invalid", f"session {request.get('session')!r} is not open")
        return self.sessions[request["session"]]

    def op_hello(self, request: Fields) -> Fields:
        """What this port is and serves."""
        return {
            "name": "reference",
            "version": "1",
            "protocol": 1,
            "kinds": KINDS,
            "features": FEATURES,
            "pipelining": True,
        }

    def op_vocab(self, request: Fields) -> Fields:
        """Take a vocabulary; all that was made over the old one is gone."""
        texts = request.get("tokens")
        if texts is None:
            texts = json.loads(Path(request["file"]).read_text(encoding="utf-8"))
        tokens = (None if text is None else base64.b64decode(text, validate=True) for text in texts)
        self.vocabulary = Vocabulary(tuple(tokens), frozenset(request["eos"]))
        self.indexes, self.sessions = {}, {}
        return {"size": len(self.vocabulary)}

    def op_compile(self, request: Fields) -> Fields:
        """A token index over the automaton of the source."""
        index = TokenIndex(compiled(request["kind"], request["source"]), self.vocabulary)
        return {"grammar": self._shelve(self.indexes, index)}

    def op_open(self, request: Fields) -> Fields:
        """A session at the start of a grammar."""
        if request.get("grammar") not in self.indexes:
            raise Failure("invalid", f"grammar {request.get('grammar')!r} is not open")
        constraint = Constraint(self.indexes[request["grammar"]], budget=request.get("budget"))
        session = Session(constraint, [])
        return {"session": self._shelve(self.sessions, session)}

    def op_mask(self, request: Fields) -> Fields:
        """What is allowed now, and whether the text could end here."""
        constraint = self._session(request).constraint
        packed = pack(constraint.mask()).astype("<u4").tobytes()[: -(-len(self.vocabulary) // 8)]
        return {"mask": base64.b64encode(packed).decode("ascii"), "complete": constraint.is_complete()}

    def op_advance(self, request: Fields) -> Fields:
        """Take one token."""
        try:
            self._session(request).advance(request["token"])
        except Refused as error:
            raise Failure("illegal", str(error)) from error
        return {}

    def op_fork(self, request: Fields) -> Fields:
        """A copy of a session."""
        return {"session": self._shelve(self.sessions, self._session(request).fork())}

    def op_rollback(self, request: Fields) -> Fields:
        """Take back the last tokens."""
        self._session(request).rollback(request["count"])
        return {}

    def op_close(self, request: Fields) -> Fields:
        """Forget a session or a grammar."""
        name = "session" if "session" in request else "grammar"
        shelves: dict[str, dict[Any, Any]] = {"session": self.sessions, "grammar": self.indexes}
        if shelves[name].pop(request.get(name), None) is None:
            raise Failure("invalid", "it is not open")
        return {}

    def op_forced(self, request: Fields) -> Fields:
        """The bytes that must come next."""
        constraint = self._session(request).constraint
        forced = forced_bytes(constraint.index, constraint.state)
        return {"forced": base64.b64encode(forced).decode("ascii")}

    def op_dfa(self, request: Fields) -> Fields:
        """The canonical automaton by byte classes."""
        dfa = compiled(request["kind"], request["source"])
        classes = dfa.byte_classes()
        firsts = np.unique(classes, return_index=True)[1]
        return {
            "accept": np.flatnonzero(dfa.accept).tolist(),
            "classes": classes.tolist(),
            "table": dfa.trans[:, firsts].tolist(),
        }

    def op_pattern(self, request: Fields) -> Fields:
        """The pattern of a schema text."""
        return {"pattern": json_schema_to_regex(schema_from_text(request["schema"]))}

    def op_dumps(self, request: Fields) -> Fields:
        """A JSON text, compact."""
        return {"text": dumps(loads(request["text"]))}

    def op_sample(self, request: Fields) -> Fields:
        """Draw a token under the mask and take it."""
        session = self._session(request)
        logits = np.frombuffer(base64.b64decode(request["logits"]), dtype="<f4")
        rng = Pcg32.at(int(request["rng"]["state"]), int(request["rng"]["inc"]))
        before = session.constraint.fork()
        params = SamplingParams(**request["params"])
        token, logprob = constrained_sample(
            logits, session.constraint, params, request["prompt"], request["output"], rng
        )
        session.past.append(before)
        return {
            "token": token,
            "logprob": logprob,
            "rng": {"state": str(rng.state), "inc": str(rng.inc)},
        }

    def op_tool_request(self, request: Fields) -> Fields:
        """The tool fields of a request body, or why it is rejected."""
        try:
            return {"request": request_fields(parse_tool_request(request["body"]))}
        except ToolError as error:
            rejected = {"status": error.status, "param": error.param, "code": error.code}
            return {"rejected": {**rejected, "message": error.message}}

    def op_tool_grammar(self, request: Fields) -> Fields:
        """The grammar that the choice of a request makes."""
        made = grammar(parse_tool_request(request["body"]))
        return {"pattern": made and made.pattern, "trigger": made and made.trigger}

    def op_tool_render(self, request: Fields) -> Fields:
        """The conversation as it is told to the model."""
        fields, parsed = loads(request["body"]), parse_tool_request(request["body"])
        messages = fields.get("messages") if isinstance(fields, dict) else None
        return {"messages": [list(turn) for turn in render_messages(messages, parsed.tools)]}

    def op_tool_stream(self, request: Fields) -> Fields:
        """The events of a text that arrives in pieces, and the message it folds to."""
        parser = ToolParser(request["request_id"])
        pushed = [parser.push(piece) for piece in request["pieces"]]
        last = parser.finish()
        content, calls = collect([event for events in [*pushed, last] for event in events])
        return {
            "events": [[event_fields(event) for event in events] for events in pushed],
            "finish": [event_fields(event) for event in last],
            "message": json.loads(message_json(content, calls)),
            "finish_reason": finish_reason(len(calls), request["engine_finish"]),
        }

    def op_bye(self, request: Fields) -> Fields:
        """Nothing more."""
        return {}


def answered(engine: Engine, line: bytes) -> Fields:
    """The answer to one line, whatever happens."""
    identifier = None
    try:
        request = json.loads(line)
        identifier = request["id"]
        return {"id": identifier, "ok": True, **engine.answer(request)}
    except Failure as failure:
        error = {"kind": failure.kind, "message": str(failure)}
    except ToolError as refusal:
        error = {"kind": "invalid", "message": refusal.message}
    except Refused as refusal:
        malformed = isinstance(refusal, PatternError | SchemaError | JsonTextError)
        error = {"kind": "invalid" if malformed else "refused", "message": str(refusal)}
    except Exception as problem:
        error = {"kind": "internal", "message": f"{type(problem).__name__}: {problem}"}
    return {"id": identifier, "ok": False, "error": error}


def main() -> None:
    """Answer line by line until `bye` or the end of the input."""
    engine = Engine()
    for line in sys.stdin.buffer:
        answer = answered(engine, line)
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()
        if answer["ok"] and json.loads(line).get("op") == "bye":
            break


if __name__ == "__main__":
    main()
