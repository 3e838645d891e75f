"""Goldens replayed against a port: every case of every file over the protocol, one record a case.

Only the files are read, never the reference, so that the verdict is what a porter's own reader would come to. A
case that the port says it does not serve is `refused` or, when no op asks it, `skipped`; both are counted.
"""

import hashlib
import json
import math
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from engine.golden.automata import as_case, from_case
from engine.golden.check import first_difference
from engine.golden.document import FOLDER, Case, read
from engine.host import Port, PortFault
from engine.protocol import PortError, Violation, integer_of, logits_text, mask_of, text_of, token_texts
from engine.results import Record, Verdict
from reference.vocabulary import load_vocabulary

Document = dict[str, Any]
Answer = tuple[Verdict, str]
REGEX = {"bytes": "regex.bytes", "unicode": "regex.unicode"}


class Difference(Exception):  # noqa: N818 (a finding, not an error of ours)
    """The port's answer is not the golden's; the message says where they first differ."""


def replay(port: Port, folder: Path = FOLDER) -> Iterator[Record]:
    """One record a case of every file that some op of the protocol can ask."""
    for path in sorted(folder.rglob("*.json")):
        document, name = read(path), str(path.relative_to(folder))
        ask = asker(name)
        setup = _Vocabulary(port, document)
        for case in document["cases"]:
            if case.get("kind") != "vocabulary":
                yield _judge(port, setup, ask, name, case)


class _Vocabulary:
    """Gives the port the vocabulary that a file's cases are over, once a file and again after a restart."""

    def __init__(self, port: Port, document: Document) -> None:
        self.port, self.document, self._given = port, document, -1
        self.size = 0

    def give(self, case: Case) -> None:
        """Send `vocab` when this child has not had this file's vocabulary; a case of its own wins."""
        if "tokens" in case:
            self._send(_hexed(case["tokens"]), case["eos"])
            self._given = -1
        elif self._given != self.port.clock.starts:
            self._send(*self._of_file())
            self._given = self.port.clock.starts

    def _of_file(self) -> tuple[list[bytes | None], list[int]]:
        for case in self.document["cases"]:
            if case.get("kind") == "vocabulary" and "tokens" in case:
                return _hexed(case["tokens"]), case["eos"]
            if case.get("kind") == "vocabulary":
                return _real(case)
        toy = load_vocabulary("toy")
        return list(toy.tokens), sorted(toy.eos)

    def _send(self, tokens: list[bytes | None], eos: list[int]) -> None:
        self.size = len(tokens)
        if len(tokens) < 10_000:
            self.port.request("vocab", tokens=token_texts(tokens), eos=eos)
            return
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            json.dump(token_texts(tokens), file)
            file.flush()
            self.port.request("vocab", file=file.name, eos=eos)


def _real(case: Case) -> tuple[list[bytes | None], list[int]]:
    vocabulary = load_vocabulary("qwen3")
    if vocabulary.digest() != case["digest"]:
        raise Difference(
            f"the vocabulary here has digest {vocabulary.digest()}, the golden's is {case['digest']}"
        )
    return list(vocabulary.tokens), sorted(vocabulary.eos)


def _judge(port: Port, setup: _Vocabulary, ask: "Ask", name: str, case: Case) -> Record:
    begun, kind = time.perf_counter(), ""
    try:
        setup.give(case)
        verdict, message = ask(port, setup.size, case)
    except PortError as error:
        honest = error.kind in ("refused", "unsupported")
        verdict, message, kind = (
            ("refused" if honest else "refuted"),
            str(error),
            "" if honest else "advance_disagrees",
        )
    except Difference as error:
        verdict, message, kind = "refuted", str(error), "table_differs"
    except Violation as error:
        verdict, message, kind = "refuted", str(error), "garbage"
    except PortFault as error:
        verdict, message, kind = "refuted", error.message, error.kind
        port.restart()
    return Record(
        command="golden",
        subject=port.hello.name,
        case=f"{name}#{case['id']}",
        check="replay",
        verdict=verdict,
        kind=kind,
        method="the port's answers beside the file's values",
        domain={"cases": 1},
        seconds=time.perf_counter() - begun,
        message=message,
        detail={"version": port.hello.version, "file": name, "flags": case["flags"]},
    )


def _language(port: Port, size: int, case: Case) -> Answer:
    """Pattern text, automaton and the masks along every path, as far as the port serves them."""
    asked = 0
    if "pattern" in port.hello.features and case.get("kind") == "schema":
        _same("pattern", text_of(port.request("pattern", schema=case["source"]), "pattern"), case["pattern"])
        asked += 1
    if "dfa" in port.hello.features and REGEX[case["dialect"]] in port.hello.kinds:
        _same_automaton(port, case["dialect"], case["pattern"], case["automaton"])
        asked += 1
    for kind, source in _compilable(port, case):
        for path in case["paths"]:
            _path(port, size, kind, source, path)
        asked += 1
    return ("tested", "") if asked else ("refused", "the port serves no kind that this case is")


def _compilable(port: Port, case: Case) -> list[tuple[str, str]]:
    """The ways in which the port can be given the case: its pattern, and its schema when it is one."""
    ways = [(REGEX[case["dialect"]], case["pattern"])]
    if case.get("kind") == "schema":
        ways.append(("json_schema", case["source"]))
    return [way for way in ways if way[0] in port.hello.kinds]


def _path(port: Port, size: int, kind: str, source: str, path: Document) -> None:
    grammar = integer_of(port.request("compile", kind=kind, source=source), "grammar")
    session = integer_of(port.request("open", grammar=grammar), "session")
    for number, step in enumerate(path["steps"]):
        answer, place = port.request("mask", session=session), f"path {path['seed']}, step {number}"
        _same(f"{place}, mask", mask_of(answer, size).tobytes().hex(), step["mask"])
        if number == 0 or step["allowed"]:
            _same(f"{place}, complete", answer.get("complete"), step["complete"])
        if "token" in step:
            port.request("advance", session=session, token=step["token"])
    port.request("close", session=session)
    port.request("close", grammar=grammar)


def _same_automaton(port: Port, dialect: str, pattern: str, wanted: Document) -> None:
    answer = port.request("dfa", kind=REGEX[dialect], source=pattern)
    accept, table = from_case(answer)
    _same("automaton", as_case(accept, table), wanted)


def _dumps(port: Port, size: int, case: Case) -> Answer:
    if "dumps" not in port.hello.features:
        return "refused", "the port does not serve dumps"
    _same("dumps", text_of(port.request("dumps", text=case["text"]), "text"), case["dumps"])
    return "tested", ""


def _refused_pattern(port: Port, size: int, case: Case) -> Answer:
    return _must_refuse(port, REGEX[case["dialect"]], case["pattern"])


def _refused_schema(port: Port, size: int, case: Case) -> Answer:
    return _must_refuse(port, "json_schema", case["schema"])


def _must_refuse(port: Port, kind: str, source: str) -> Answer:
    if kind not in port.hello.kinds:
        return "refused", f"the port does not serve {kind}"
    try:
        port.request("compile", kind=kind, source=source)
    except PortError as error:
        if error.kind in ("refused", "invalid"):
            return "tested", ""
        raise
    raise Difference(f"{kind} {source!r} was compiled; it must be refused")


def _states(port: Port, size: int, case: Case) -> Answer:
    """The mask of every state over the real vocabulary, reached byte by byte; compared by count and digest."""
    if REGEX[case["dialect"]] not in port.hello.kinds:
        return "refused", f"the port does not serve {REGEX[case['dialect']]}"
    letters = {
        data: token for token, data in enumerate(load_vocabulary("qwen3").tokens) if data and len(data) == 1
    }
    grammar = integer_of(
        port.request("compile", kind=REGEX[case["dialect"]], source=case["pattern"]), "grammar"
    )
    for number, state in enumerate(case["states"]):
        session = integer_of(port.request("open", grammar=grammar), "session")
        for byte in bytes.fromhex(state["path"]):
            port.request("advance", session=session, token=letters[bytes([byte])])
        answer = port.request("mask", session=session)
        mask = mask_of(answer, size)
        found = {
            "path": state["path"],
            "complete": answer.get("complete"),
            "count": _count(mask.tobytes()),
            "sha256": hashlib.sha256(mask.tobytes()).hexdigest(),
        }
        _same(f"state {number}", found, state)
        port.request("close", session=session)
    port.request("close", grammar=grammar)
    return "tested", ""


def _certificate(port: Port, size: int, case: Case) -> Answer:
    return "skipped", "no op asks for a certificate; check the file with oracles/check_certificate.py"


def _stream(port: Port, size: int, case: Case) -> Answer:
    return "skipped", "no op asks for a stream; sampling/draws.json asks for its draws"


def _draw(port: Port, size: int, case: Case) -> Answer:
    """The token, the generator afterwards, and the logprob to 1e-9."""
    if "sample" not in port.hello.features or "regex.bytes" not in port.hello.kinds:
        return "refused", "the port does not serve sample"
    grammar = integer_of(port.request("compile", kind="regex.bytes", source=case["pattern"]), "grammar")
    session = integer_of(port.request("open", grammar=grammar), "session")
    answer = port.request(
        "sample",
        session=session,
        logits=logits_text(case["logits"]),
        params=case["params"],
        prompt=case["prompt"],
        output=case["output"],
        rng=case["rng"],
    )
    _same("token", answer.get("token"), case["token"])
    _same("rng", answer.get("rng"), case["rng_after"])
    logprob = answer.get("logprob")
    if not isinstance(logprob, float | int) or not math.isclose(
        logprob, case["logprob"], rel_tol=1e-9, abs_tol=1e-9
    ):
        raise Difference(f"logprob: {logprob!r} where {case['logprob']!r} is expected")
    return "tested", ""


def _served(port: Port, op: str) -> Answer | None:
    return None if op in port.hello.features else ("refused", f"the port does not serve {op}")


def _tool_request(port: Port, size: int, case: Case) -> Answer:
    if no := _served(port, "tool_request"):
        return no
    answer = port.request("tool_request", body=case["body"])
    if "request" in case:
        _same("request", answer.get("request"), case["request"])
        return "tested", ""
    rejected = answer.get("rejected")
    told = {key: rejected.get(key) for key in case["rejected"]} if isinstance(rejected, dict) else rejected
    _same("rejected", told, case["rejected"])
    if not isinstance(rejected, dict) or case["names"] not in str(rejected.get("message")):
        raise Difference(f"the message does not name {case['names']!r}")
    return "tested", ""


def _tool_grammar(port: Port, size: int, case: Case) -> Answer:
    if no := _served(port, "tool_grammar"):
        return no
    answer = port.request("tool_grammar", body=case["body"])
    _same(
        "grammar",
        {key: answer.get(key) for key in ("pattern", "trigger")},
        {key: case[key] for key in ("pattern", "trigger")},
    )
    return "tested", ""


def _tool_render(port: Port, size: int, case: Case) -> Answer:
    if no := _served(port, "tool_render"):
        return no
    _same("messages", port.request("tool_render", body=case["body"]).get("messages"), case["messages"])
    return "tested", ""


def _tool_stream(port: Port, size: int, case: Case) -> Answer:
    if no := _served(port, "tool_stream"):
        return no
    asked = {key: case[key] for key in ("request_id", "pieces", "engine_finish")}
    answer = port.request("tool_stream", **asked)
    for key in ("events", "finish", "message", "finish_reason"):
        _same(key, answer.get(key), case[key])
    return "tested", ""


Ask = Callable[[Port, int, Case], Answer]
ASKERS: tuple[tuple[str, Ask], ...] = (
    ("constrain/languages", _language),
    ("constrain/dumps", _dumps),
    ("constrain/refused-patterns", _refused_pattern),
    ("constrain/refused-schemas", _refused_schema),
    ("oracle/", _language),
    ("qwen3/", _states),
    ("certificates/", _certificate),
    ("sampling/pcg32", _stream),
    ("sampling/draws", _draw),
    ("tools/requests", _tool_request),
    ("tools/errors", _tool_request),
    ("tools/grammars", _tool_grammar),
    ("tools/renderings", _tool_render),
    ("tools/streams", _tool_stream),
)


def asker(name: str) -> Ask:
    """What asks the cases of the file of this name, relative to fixtures/golden without its ending."""
    for prefix, ask in ASKERS:
        if name.startswith(prefix):
            return ask
    return _unknown


def _unknown(port: Port, size: int, case: Case) -> Answer:
    return "skipped", "no way to replay this file is known"


def _same(place: str, there: Any, wanted: Any) -> None:
    told = first_difference(there, wanted, f"{place} ")
    if told:
        raise Difference(told)


def _count(packed: bytes) -> int:
    return sum(byte.bit_count() for byte in packed)


def _hexed(tokens: list[str | None]) -> list[bytes | None]:
    return [None if token is None else bytes.fromhex(token) for token in tokens]
