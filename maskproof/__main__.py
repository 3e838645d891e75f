"""`maskproof COMMAND`: every module of maskproof.commands is one command, found by scanning."""

import importlib
import os
import pkgutil
import sys
from collections.abc import Sequence
from typing import Any

import typer
from typer.core import TyperGroup

from engine.errors import BadInput, Refused
from maskproof import __version__, commands
from maskproof.terminal import fail, prepare, settle


class Face(TyperGroup):
    """All commands, with the one answer to Ctrl-C in any of them."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command that was asked for; an interrupt is told before typer ends the process in silence."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            fail("interrupted; what was done is kept")
            raise typer.Exit(130) from None


app = typer.Typer(
    name="maskproof",
    cls=Face,
    help="Prove your mask: constrained decoding held to an executable reference and independent oracles.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"maskproof {__version__}")
        raise typer.Exit


@app.callback()
def face(
    version: bool = typer.Option(
        False, "--version", callback=_version, is_eager=True, help="Print the version."
    ),
) -> None:
    """Prove your mask: constrained decoding held to an executable reference and independent oracles."""


def load_commands() -> None:
    """Register every command module in alphabetical order."""
    for module in sorted(pkgutil.iter_modules(commands.__path__), key=lambda found: found.name):
        importlib.import_module(f"maskproof.commands.{module.name}").register(app)


def main() -> None:
    """Run the command line: exit 0 all holds, 1 something refuted, 2 bad input, 130 interrupted."""
    load_commands()
    prepare()
    try:
        check_arguments(sys.argv[1:])
        app()
    except Refused as error:
        fail(str(error))
        sys.exit(2)
    except OSError as error:
        fail(told(error))
        sys.exit(2)
    finally:
        settle()


def check_arguments(words: Sequence[str]) -> None:
    """Refuse words that are not UTF-8: a run's header, its reproductions and `--json` are text, and keep them all."""
    for number, word in enumerate(words, 1):
        try:
            word.encode()
        except UnicodeEncodeError:
            raise BadInput(
                f"argument {number}, {os.fsencode(word)!r}: not UTF-8; rename the file, or write the byte as "
                r"an escape such as \xff where one is understood"
            ) from None


def told(error: OSError) -> str:
    """What the operating system would not do, in one line: where, why, and what helps; a fault of ours has no place."""
    if error.errno is None:
        raise error
    place = f"{os.fsdecode(error.filename)}: " if isinstance(error.filename, str | bytes) else ""
    reason = "not a folder" if isinstance(error, FileExistsError) else os.strerror(error.errno)
    return f"{place}{reason}; name a place that is there and that you may read and write"


if __name__ == "__main__":
    main()
