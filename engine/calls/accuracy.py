"""What a model got right: the function, the arguments, both; and the best that can be read out of free text.

A constrained answer is always a call; whether it is the right one is the model's doing. The baseline is the same model
on the same prompt without a constraint: its text is searched for the first JSON object with a name, under any of the
usual keys, and given the benefit of every doubt.
"""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import cast

from engine.calls.inputs import Call, Function, Prompt, problems_of_call
from reference.jsontext import JsonValue

ARGUMENT_KEYS = ("parameters", "arguments", "args", "params")
_DECODER = json.JSONDecoder()


@dataclass(frozen=True, slots=True)
class Score:
    """Of `asked` prompts with a known answer: how many gave a call, a valid one, the right function, arguments, both.

    Right arguments are counted whatever function was named; both is the whole call.
    """

    asked: int = 0
    called: int = 0
    valid: int = 0
    function: int = 0
    arguments: int = 0
    both: int = 0


def score(pairs: Iterable[tuple[Prompt, Call | None]], functions: tuple[Function, ...]) -> Score:
    """The score of answers to prompts; prompts without an expected call are not counted."""
    known = [(prompt.expected, call) for prompt, call in pairs if prompt.expected is not None]
    functions_right = [call is not None and call.get("name") == wanted["name"] for wanted, call in known]
    arguments_right = [
        call is not None and is_same(call.get("parameters"), wanted["parameters"]) for wanted, call in known
    ]
    return Score(
        asked=len(known),
        called=sum(call is not None for _, call in known),
        valid=sum(call is not None and problems_of_call(call, functions) is None for _, call in known),
        function=sum(functions_right),
        arguments=sum(arguments_right),
        both=sum(one and other for one, other in zip(functions_right, arguments_right, strict=True)),
    )


def plain_statement(name: str, best: Score, free: Score | None) -> str:
    """What the numbers say, in words that promise nothing more."""
    said = (
        f"{name}: every constrained answer is a valid call; {best.function} of {best.asked} name the right function, "
        f"{best.both} are wholly right. A constraint makes the form certain and the choice no better than the model."
    )
    if free is not None:
        said += f" Unconstrained, {free.valid} of {free.asked} texts hold a valid call, {free.both} the right one."
    return said


def is_same(one: JsonValue, other: JsonValue) -> bool:
    """Equal as JSON values: 2 is 2.0, but true is not 1."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(is_same(one[key], other[key]) for key in one)
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    return one == other


def call_in(text: str, functions: tuple[Function, ...]) -> Call | None:
    """The first object in free text that names a function, its arguments in the function's order; None without one."""
    for value in _objects(text):
        found = _as_call(value, functions)
        if found is not None:
            return found
    return None


def _objects(text: str) -> Iterator[JsonValue]:
    at = text.find("{")
    while at != -1:
        try:
            value, end = _DECODER.raw_decode(text, at)
        except (ValueError, RecursionError):
            end = at + 1
        else:
            yield cast(JsonValue, value)
        at = text.find("{", end)


def _as_call(value: JsonValue, functions: tuple[Function, ...]) -> Call | None:
    if not isinstance(value, dict):
        return None
    inner = value.get("function")
    if isinstance(inner, dict):
        value = inner
    name = value.get("name", inner)
    if not isinstance(name, str):
        return None
    arguments = next((value[key] for key in ARGUMENT_KEYS if key in value), {})
    order = next((f.parameters for f in functions if f.name == name), ())
    if isinstance(arguments, dict):
        names = [parameter.name for parameter in order if parameter.name in arguments]
        arguments = {key: arguments[key] for key in [*names, *(k for k in arguments if k not in names)]}
    return {"name": name, "parameters": arguments}
