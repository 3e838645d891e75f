"""Every bound of the server in one place; what goes over one is told so in OpenAI's error shape."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of one server; sizes in bytes, times in seconds.

    What the defaults add to the model's memory at worst: `grammars` automata with their masks within `mask_bytes`, the
    same again for those of `rows` answers under way, and `waiting` requests of at most `body` bytes each.
    """

    body: int = 1 << 20
    body_seconds: float = 20.0
    messages: int = 1024
    schemas: int = 64 << 10
    states: int = 50_000
    compile_seconds: float = 20.0
    compile_memory: int = 2 << 30
    compilers: int = 2
    compiling: int = 64
    grammars: int = 32
    mask_bytes: int = 512 << 20
    waiting: int = 256
    rows: int = 32
    choices: int = 8
    prompt_tokens: int = 8192
    completion_tokens: int = 4096
    stops: int = 4
    stop_characters: int = 256
    alternatives: int = 20
    request_seconds: float = 600.0
    connections: int = 1000
    header_seconds: float = 20.0
