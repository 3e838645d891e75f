"""What the model is told: the functions, the form of the answer, and the request (the seed's prompt, as chat turns)."""

from collections.abc import Sequence

from engine.calls.inputs import Function
from engine.models.base import Message


def conversation(functions: Sequence[Function], request: str) -> list[Message]:
    """The system turn that describes the functions, and the user's turn."""
    return [("system", system_text(functions)), ("user", request)]


def system_text(functions: Sequence[Function]) -> str:
    """One line a function, then the form of the answer."""
    lines = [_described(function) for function in functions]
    form = '{"name":"<fn>","parameters":{<args>}}'
    return "\n".join(["Functions:", *lines, "", "Output JSON:", form])


def _described(function: Function) -> str:
    arguments = ", ".join(f"{parameter.name}: {parameter.type}" for parameter in function.parameters)
    return f"{function.name}({arguments}): {function.description}".rstrip(": ")
