"""The errors of the request surface, in OpenAI's shape: a status, the parameter at fault, a code, one line of text."""

from reference.errors import Refused
from reference.jsontext import JsonValue, dumps

UNSUPPORTED = "unsupported_parameter"


class ToolError(Refused):
    """A request that is declined: 400 for a bad shape, 422 for a well-formed wish outside the subset."""

    def __init__(self, status: int, param: str | None, code: str | None, message: str) -> None:
        """`param` is the path of the value at fault, such as `tools[0].function.name`."""
        super().__init__(message)
        self.status = status
        self.param = param
        self.code = code
        self.message = message

    def to_json(self) -> str:
        """The error body as compact JSON."""
        error: dict[str, JsonValue] = {
            "message": self.message,
            "type": "invalid_request_error",
            "param": self.param,
            "code": self.code,
        }
        return dumps({"error": error})


def bad_shape(param: str, message: str) -> ToolError:
    """400: the value at `param` is not what the interface takes."""
    return ToolError(400, param, None, f"{param}: {message}")


def unsupported(param: str, message: str) -> ToolError:
    """422: the value at `param` is well formed, but outside what is decoded exactly, so it is not weakened silently."""
    return ToolError(422, param, UNSUPPORTED, f"{param}: {message}")
