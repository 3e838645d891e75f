"""`maskproof COMMAND`: every module of maskproof.commands is one command, found by scanning."""

import importlib
import pkgutil
import sys

import typer

from engine.errors import Refused
from maskproof import __version__, commands
from maskproof.terminal import fail

app = typer.Typer(
    name="maskproof",
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
    try:
        app()
    except Refused as error:
        fail(str(error))
        sys.exit(2)
    except KeyboardInterrupt:
        fail("interrupted; what was done is kept")
        sys.exit(130)


if __name__ == "__main__":
    main()
