"""Errors as a client of OpenAI's interface reads them: a status and one object with message, type, param and code."""

from typing import Any

from reference.tool_errors import ToolError


class ApiError(Exception):
    """What goes back instead of an answer."""

    def __init__(
        self,
        status: int,
        message: str,
        type: str = "invalid_request_error",
        param: str | None = None,
        code: str | None = None,
    ) -> None:
        """All fields are plain, so that the error can cross a process."""
        super().__init__(status, message, type, param, code)
        self.status, self.message, self.type, self.param, self.code = status, message, type, param, code

    def body(self) -> dict[str, Any]:
        """The JSON object of the answer."""
        error = {"message": self.message, "type": self.type, "param": self.param, "code": self.code}
        return {"error": error}


def from_tool_error(error: ToolError) -> ApiError:
    """The reference's refusal as the server's answer."""
    return ApiError(error.status, error.message, param=error.param, code=error.code)


def bad(param: str, message: str, status: int = 400, code: str | None = None) -> ApiError:
    """The value at `param` cannot be used."""
    return ApiError(status, f"{param}: {message}", param=param, code=code)


def busy(message: str) -> ApiError:
    """429: nothing is wrong with the request, there is no room for it now."""
    return ApiError(429, message, "rate_limit_error", code="rate_limit_exceeded")


def internal(message: str) -> ApiError:
    """500: the server's own fault; the request took nothing else down with it."""
    return ApiError(500, message, "server_error", code="internal_error")
