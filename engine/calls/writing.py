"""The output of a job: one JSON line a prompt, each on disk before the next prompt begins, never written twice.

A run that was stopped is taken up where it ended: whole lines that answer the first prompts stay as they are, a line
that was cut off is written anew, and anything else in the file is refused rather than overwritten. Since every prompt
is decoded from the same computed prefix, the file comes out the same however often the run was stopped.
"""

import os
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from engine.calls.inputs import Call, Function, Prompt, problems_of_call
from engine.errors import BadInput
from reference.errors import JsonTextError
from reference.jsontext import dumps, loads


class Output:
    """The output file, open for the answers that are still missing; `done` are those that were there."""

    def __init__(self, path: Path, prompts: Sequence[Prompt], functions: tuple[Function, ...]) -> None:
        """Read what is there, refuse what does not belong, drop a torn last line."""
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        whole = _whole_lines(path)
        if len(whole) > len(prompts):
            raise _foreign(path, len(prompts) + 1, f"there are only {len(prompts)} prompts")
        self.done = [
            _answer(path, number, line, prompt, functions)
            for number, (line, prompt) in enumerate(zip(whole, prompts, strict=False), 1)
        ]
        self._file = path.open("ab", buffering=0)
        self._file.truncate(sum(map(len, whole)))

    def append(self, prompt: Prompt, call: Call) -> None:
        """Write one answer and hand it to the disk."""
        line = dumps({"prompt": prompt.text, "name": call["name"], "parameters": call["parameters"]})
        self._file.write(line.encode() + b"\n")
        os.fsync(self._file.fileno())

    def __enter__(self) -> Self:
        """Keep the file open for the block."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the file."""
        self._file.close()


def read_output(path: Path, prompts: Sequence[Prompt], functions: tuple[Function, ...]) -> list[Call]:
    """The answers in an output file, every line held to its prompt and to the functions."""
    return [
        _answer(path, number, line, prompt, functions)
        for number, (line, prompt) in enumerate(zip(_whole_lines(path), prompts, strict=False), 1)
    ]


def _whole_lines(path: Path) -> list[bytes]:
    if not path.exists():
        return []
    lines = path.read_bytes().splitlines(keepends=True)
    return lines[:-1] if lines and not lines[-1].endswith(b"\n") else lines


def _answer(path: Path, number: int, line: bytes, prompt: Prompt, functions: tuple[Function, ...]) -> Call:
    try:
        answer = loads(line.rstrip(b"\n"), unique_keys=True)
    except JsonTextError as error:
        raise _foreign(path, number, str(error)) from error
    if not isinstance(answer, dict) or list(answer) != ["prompt", "name", "parameters"]:
        raise _foreign(path, number, "an answer has the keys prompt, name and parameters, in this order")
    if answer["prompt"] != prompt.text:
        raise _foreign(path, number, f"it answers {answer['prompt']!r}, prompt {number} is {prompt.text!r}")
    call: Call = {"name": answer["name"], "parameters": answer["parameters"]}
    problem = problems_of_call(call, functions)
    if problem is not None:
        raise _foreign(path, number, problem)
    return call


def _foreign(path: Path, number: int, reason: str) -> BadInput:
    return BadInput(
        f"{path}, line {number}: not from this job, so that it cannot be resumed: {reason}; "
        "name another --output or move the file away"
    )
