"""A body of bytes to a plan of decoding: everything that happens to a request before the model sees it.

Reading is quick and done in two threads; grammars are compiled beside them, one compilation for all requests that ask
for the same, and kept with a bound (least recently used first out). Refusals are kept too: asking again costs nothing.
"""

import asyncio
import secrets
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from engine.errors import BadInput
from engine.models.base import Model
from engine.server import answers
from engine.server.compiler import Compiler
from engine.server.errors import ApiError, bad, from_tool_error
from engine.server.generation import Plan
from engine.server.languages import Languages
from engine.server.limits import Limits
from engine.server.parameters import TOOL_FIELDS, ChatRequest, read_parameters
from engine.server.queue import Scheduler
from reference.errors import JsonTextError, Refused
from reference.jsontext import JsonValue, dumps, loads
from reference.sampling import SamplingParams
from reference.tool_errors import ToolError
from reference.toolprompt import Tool, render_messages

DEFAULT_TOKENS = 512
MOST_CHARACTERS = 32
"""Characters that a token of a prompt stands for at most, on average."""
SEED_MASK = (1 << 64) - 1


@dataclass(frozen=True, slots=True)
class Prepared:
    """A request that is ready to be queued."""

    plan: Plan
    heading: answers.Heading
    stream: bool
    include_usage: bool


class Service:
    """One model and what stands in front of it."""

    def __init__(self, model: Model, limits: Limits | None = None) -> None:
        """Start the model thread; compilers start when first needed."""
        self.model, self.limits = model, limits or Limits()
        self.created = int(time.time())
        self.scheduler = Scheduler(model, self.limits)
        self.languages = Languages(model.vocabulary, Compiler(self.limits), self.limits)
        self._readers = ThreadPoolExecutor(2, thread_name_prefix="read")
        self._tokenizer = threading.Lock()

    def close(self) -> None:
        """Stop the thread and the compilers."""
        self.scheduler.close()
        self.languages.close()
        self._readers.shutdown()

    def check_name(self, name: str) -> None:
        """404 unless it is the model's."""
        if name != self.model.name:
            message = f"model: {name[:80]!r} is not served here; {self.model.name!r} is"
            raise ApiError(404, message, param="model", code="model_not_found")

    def model_object(self) -> dict[str, object]:
        """The model's entry of /v1/models."""
        return answers.model_object(self.model.name, self.created)

    async def prepare(self, body: bytes) -> Prepared:
        """The plan of a request; raises ApiError."""
        loop = asyncio.get_running_loop()
        chat, tool_fields = await loop.run_in_executor(self._readers, self._read, body)
        tools, language = await self.languages.get(tool_fields)
        prompt = await loop.run_in_executor(self._readers, self._prompt, chat, tools)
        request_id = secrets.token_hex(12)
        max_tokens = chat.max_tokens or min(DEFAULT_TOKENS, self.limits.completion_tokens)
        seed = secrets.randbits(64) if chat.seed is None else chat.seed & SEED_MASK
        plan = Plan(
            request_id=request_id,
            prompt=prompt,
            language=language,
            sampling=sampling_of(chat),
            seed=seed,
            max_tokens=max_tokens,
            choices=chat.n,
            stop=chat.stop,
            top_logprobs=chat.top_logprobs,
        )
        heading = answers.Heading(request_id, int(time.time()), self.model.name, len(prompt))
        return Prepared(plan, heading, chat.stream, chat.include_usage)

    def _read(self, body: bytes) -> tuple[ChatRequest, str]:
        """The checked fields, and the text of those that make the grammar."""
        fields = read_fields(body)
        chat = read_parameters(fields, self.limits)
        self.check_name(chat.model)
        sampling_of(chat)
        tool_fields = {name: fields[name] for name in TOOL_FIELDS if fields.get(name) is not None}
        text = dumps(tool_fields)
        if len(text) > self.limits.schemas:
            raise bad("tools", f"{len(text)} characters of JSON are more than {self.limits.schemas}", 413)
        return chat, text

    def _prompt(self, chat: ChatRequest, tools: tuple[Tool, ...]) -> tuple[int, ...]:
        """The conversation with its tools as ids, within the limit."""
        try:
            turns = render_messages(chat.messages, tools)
            self._check_length(sum(len(text) for _, text in turns))
            with self._tokenizer:
                ids = tuple(self.model.chat(turns))
        except ToolError as error:
            raise from_tool_error(error) from None
        except BadInput as error:
            raise bad("messages", str(error)) from None
        if not 0 < len(ids) <= self.limits.prompt_tokens:
            raise bad("messages", f"{len(ids)} tokens; the prompt has 1 to {self.limits.prompt_tokens}")
        return ids

    def _check_length(self, characters: int) -> None:
        """Refuse what cannot fit before it costs the time to tokenize it."""
        most = self.limits.prompt_tokens * MOST_CHARACTERS
        if characters > most:
            raise bad("messages", f"{characters} characters with the tools; the prompt has at most {most}")


def read_fields(body: bytes) -> dict[str, JsonValue]:
    """The members of a body that is one JSON object; a key given twice is refused, since readers disagree on it."""
    try:
        fields = loads(body, unique_keys=True)
    except JsonTextError as error:
        raise ApiError(400, f"request body: {error}; send one JSON object", code="invalid_json") from None
    if not isinstance(fields, dict):
        raise ApiError(400, "request body: it is not a JSON object; send one", code="invalid_json")
    return fields


def sampling_of(chat: ChatRequest) -> SamplingParams:
    """The sampling parameters; 400 when one is out of range."""
    try:
        return SamplingParams(**chat.sampling)  # type: ignore[arg-type]
    except Refused as error:
        name = next((name for name in chat.sampling if name in str(error)), None)
        raise ApiError(400, str(error), param=name) from None
