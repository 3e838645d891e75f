"""`maskproof serve`: an OpenAI-compatible server whose tool calls cannot be malformed."""

import os
import sys
from typing import Annotated

import typer

from engine.errors import BadInput
from maskproof.terminal import err, print_json


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        "serve", epilog="Example: maskproof serve --model smollm2 --port 8000 · maskproof serve --model echo"
    )(run)


def run(
    model: Annotated[
        str, typer.Option(help="random, echo, tiny-qwen3, smollm2, a GGUF file, a folder or a hub id.")
    ] = "smollm2",
    host: Annotated[
        str, typer.Option(help="Address to listen on; loopback unless you say otherwise.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port; 0 takes a free one.", min=0, max=65535)] = 8000,
    vocab: Annotated[
        str | None, typer.Option(help="Vocabulary of random or echo: toy, qwen3, smollm2, a file.")
    ] = None,
    api_key: Annotated[
        str | None,
        typer.Option(help="Ask for this key; better put it in MASKPROOF_API_KEY.", show_default=False),
    ] = None,
    max_tokens: Annotated[int, typer.Option(help="Most tokens of an answer.", min=1)] = 4096,
    rows: Annotated[int, typer.Option(help="Answers under way at once.", min=1)] = 32,
    waiting: Annotated[
        int, typer.Option(help="Requests that may wait before others are told 429.", min=1)
    ] = 256,
    json_output: Annotated[
        bool, typer.Option("--json", help="Print where it serves as one JSON document.")
    ] = False,
) -> None:
    """Serve chat completions with tool calls under masks, until Ctrl-C."""
    try:
        from engine.server.limits import Limits
        from engine.server.run import model_named, serve
    except ModuleNotFoundError as error:
        raise BadInput(f"serve needs {error.name}; pip install 'maskproof[serve]'") from error
    key = api_key or os.environ.get("MASKPROOF_API_KEY") or None
    limits = Limits(completion_tokens=max_tokens, rows=rows, waiting=waiting)
    loaded = model_named(model, vocab)

    def ready(url: str) -> None:
        if json_output:
            print_json("serve", 0, {"url": url, "model": loaded.name}, [])
            sys.stdout.flush()
        else:
            err.print(f"serving {loaded.name} at {url}", markup=False)

    serve(loaded, limits, (host, port), key, ready)
