"""The two input files of a ConstrainCall job: what may be called, and what is asked.

Both are refused whole at the first thing that is wrong, with file, line and reason, before a model is loaded.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, cast

from engine.calls.places import Path as Where
from engine.calls.places import Places, line_of
from engine.errors import BadInput
from reference.errors import JsonTextError
from reference.jsontext import JsonValue, loads

ValueType = Literal["string", "number", "integer", "boolean"]
DEEPEST = 16
TYPES = ("string", "number", "integer", "boolean")
Call = dict[str, JsonValue]
"""{"name": …, "parameters": {…}}"""


@dataclass(frozen=True, slots=True)
class Parameter:
    """One argument of a function and the type of its value."""

    name: str
    type: ValueType


@dataclass(frozen=True, slots=True)
class Function:
    """A function that may be called: its arguments in the order in which a call writes them."""

    name: str
    description: str
    parameters: tuple[Parameter, ...]
    returns: ValueType | None


@dataclass(frozen=True, slots=True)
class Prompt:
    """One request, and the call that answers it where somebody wrote that down."""

    text: str
    expected: Call | None = None


class _Document:
    """A JSON file with the means to say where something in it is wrong."""

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            self._text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise BadInput(f"{path}: cannot be read as UTF-8 text ({error})") from error
        try:
            self.value = loads(self._text, unique_keys=True, max_depth=DEEPEST)
        except JsonTextError as error:
            raise BadInput(f"{path}, line {line_of(self._text, error.position)}: {error}") from error

    def wrong(self, where: Where, message: str) -> BadInput:
        """The error for the value at this path."""
        name = ".".join(str(part) for part in where) or "the file"
        return BadInput(f"{self._path}, line {Places(self._text).line(where)}: {name}: {message}")

    def items(self) -> list[JsonValue]:
        """The list that the file is; neither another value nor an empty list."""
        if not isinstance(self.value, list) or not self.value:
            raise self.wrong((), "a list with at least one object is expected")
        return self.value

    def object(self, value: JsonValue, where: Where, keys: tuple[str, ...]) -> dict[str, JsonValue]:
        """An object with no other keys than these."""
        if not isinstance(value, dict):
            raise self.wrong(where, f"an object is expected, this is {_kind(value)}")
        for key in value:
            if key not in keys:
                raise self.wrong((*where, key), f"unknown key; an object here has {', '.join(keys)}")
        return value

    def text(self, holder: dict[str, JsonValue], key: str, where: Where, *, empty: bool = False) -> str:
        """The string under this key."""
        if key not in holder:
            raise self.wrong(where, f"{key!r} is missing")
        value = holder[key]
        if not isinstance(value, str) or not (value or empty):
            raise self.wrong(
                (*where, key), f"a {'' if empty else 'non-empty '}string is expected, this is {_kind(value)}"
            )
        return value


def read_functions(path: Path) -> tuple[Function, ...]:
    """The functions of a file: a list of {name, description?, parameters: {p: {type}}, returns?}."""
    document = _Document(path)
    functions = tuple(_function(document, item, (i,)) for i, item in enumerate(document.items()))
    _refuse_twins(document, [function.name for function in functions], "name")
    return functions


def read_prompts(path: Path, functions: tuple[Function, ...]) -> tuple[Prompt, ...]:
    """The prompts of a file: a list of {prompt, expected?}; an expected call must be one that these functions allow."""
    document = _Document(path)
    return tuple(_prompt(document, item, (i,), functions) for i, item in enumerate(document.items()))


def problems_of_call(call: JsonValue, functions: tuple[Function, ...]) -> str | None:
    """Why this is no call of these functions with all arguments in order and of their types, None when it is one."""
    if not isinstance(call, dict) or list(call) != ["name", "parameters"]:
        return "a call has the keys name and parameters, in this order"
    function = next((each for each in functions if each.name == call["name"]), None)
    if function is None:
        return f"no function is named {call['name']!r}"
    arguments = call["parameters"]
    names = [parameter.name for parameter in function.parameters]
    if not isinstance(arguments, dict) or list(arguments) != names:
        return f"the arguments of {function.name} are {', '.join(names) or 'none'}, in this order"
    for parameter in function.parameters:
        if not is_of_type(arguments[parameter.name], parameter.type):
            return f"argument {parameter.name} of {function.name} is a {parameter.type}"
    return None


def is_of_type(value: JsonValue, wanted: ValueType) -> bool:
    """Whether a value has this type; true and false are no numbers, and 2.0 is no integer."""
    tests: dict[ValueType, Callable[[JsonValue], bool]] = {
        "string": lambda v: isinstance(v, str),
        "boolean": lambda v: isinstance(v, bool),
        "integer": lambda v: isinstance(v, int) and not isinstance(v, bool),
        "number": lambda v: isinstance(v, int | float) and not isinstance(v, bool),
    }
    return tests[wanted](value)


def _function(document: _Document, item: JsonValue, where: Where) -> Function:
    holder = document.object(item, where, ("name", "description", "parameters", "returns"))
    name = document.text(holder, "name", where)
    description = document.text(holder, "description", where, empty=True) if "description" in holder else ""
    if "parameters" not in holder:
        raise document.wrong(where, "'parameters' is missing; write {} for none")
    parameters = holder["parameters"]
    if not isinstance(parameters, dict):
        raise document.wrong((*where, "parameters"), f"an object is expected, this is {_kind(parameters)}")
    returns = _type(document, holder["returns"], (*where, "returns")) if "returns" in holder else None
    found = tuple(
        Parameter(key, _type(document, value, (*where, "parameters", key)))
        for key, value in parameters.items()
    )
    return Function(name, description, found, returns)


def _type(document: _Document, value: JsonValue, where: Where) -> ValueType:
    holder = document.object(value, where, ("type", "description"))
    if holder.get("type") not in TYPES:
        place = (*where, "type") if "type" in holder else where
        raise document.wrong(place, f"a type is one of {', '.join(TYPES)}")
    return cast(ValueType, holder["type"])


def _prompt(document: _Document, item: JsonValue, where: Where, functions: tuple[Function, ...]) -> Prompt:
    holder = document.object(item, where, ("prompt", "expected"))
    text = document.text(holder, "prompt", where)
    if "expected" not in holder:
        return Prompt(text)
    expected = document.object(holder["expected"], (*where, "expected"), ("name", "parameters"))
    problem = problems_of_call(expected, functions)
    if problem is not None:
        raise document.wrong((*where, "expected"), problem)
    return Prompt(text, expected)


def _refuse_twins(document: _Document, names: list[str], key: str) -> None:
    for i, name in enumerate(names):
        if name in names[:i]:
            raise document.wrong((i, key), f"{name!r} is the name of an earlier function")


def _kind(value: JsonValue) -> str:
    if value is None or isinstance(value, bool):
        return "null" if value is None else "a boolean"
    if isinstance(value, str):
        return "an empty string" if not value else "a string"
    return {int: "a number", float: "a number", list: "a list", dict: "an object"}[type(value)]
