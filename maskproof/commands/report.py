"""`maskproof report`: the page, and the picture, of what is on disk."""

import webbrowser
from pathlib import Path
from typing import Annotated, Any

import typer

from engine.results import results_folder
from maskproof.terminal import COLOURS, out, print_json, reporting, shown


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        "report", epilog="Example: maskproof report --open · maskproof report run-a run-b -o diff.html"
    )(run)


def run(
    results: Annotated[
        list[Path] | None, typer.Argument(help="Results folder, run folders or files (default reports/out).")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="The page (default report.html there).")
    ] = None,
    picture: Annotated[
        Path | None, typer.Option(help="Write the overview as a .png or .svg, and no page.")
    ] = None,
    open_page: Annotated[bool, typer.Option("--open", help="Open the page in the browser.")] = False,
    json_output: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Turn results into one page that needs no network: exit 0, or 2 when there is nothing to report on."""
    paths = results or [results_folder()]
    with reporting():
        summary = _written(paths, output, picture)
    if json_output:
        print_json("report", 0, summary, [])
    else:
        _print(summary)
    if open_page and "page" in summary:
        webbrowser.open(Path(summary["page"]).resolve().as_uri())


def _written(paths: list[Path], output: Path | None, picture: Path | None) -> dict[str, Any]:
    from reports.page import write_page  # the report extra is imported when it is used
    from reports.poster import write_picture

    if picture is not None:
        return write_picture(paths, picture)
    folder = paths[0] if paths[0].is_dir() else paths[0].parent
    return write_page(paths, output if output is not None else folder / "report.html")


def _print(summary: dict[str, Any]) -> None:
    counts = ", ".join(
        f"[{colour}]{summary[name]:,} {name}[/]" for name, colour in COLOURS.items() if summary[name]
    )
    out.print(f"{summary['runs']:,} run{'' if summary['runs'] == 1 else 's'}: {counts or 'no verdict'}")
    out.print(shown(summary.get("page") or summary["picture"]), markup=False, soft_wrap=True, style="bold")
