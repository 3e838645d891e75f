"""`maskproof explain`: an automaton, and what is allowed next, for a person to look at."""

from pathlib import Path
from typing import Annotated, Any, cast

import typer
from rich.table import Table
from rich.text import Text

from engine import explain as told
from engine.errors import BadInput
from engine.explain import Place
from engine.suite import Language, from_schema_file, pattern_language, select
from maskproof.terminal import out, print_json, reporting, shown

STATUS = {"member": "green", "viable": "cyan", "dead": "bold red"}
MEANING = {"member": "may end here", "viable": "a viable prefix, not whole yet", "dead": "nothing can follow"}


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("explain", epilog="Example: maskproof explain '(cat|car|dog)s?' --after ca --html cats.html")(
        run
    )


def run(
    pattern: Annotated[str | None, typer.Argument(help="A pattern; or use --language or --schema.")] = None,
    after: Annotated[str, typer.Option(help=r"The output so far; \xHH, \n, \r, \t and \\ are escapes.")] = "",
    dialect: Annotated[str, typer.Option(help="The pattern's dialect: bytes or unicode.")] = "bytes",
    language: Annotated[str | None, typer.Option(help="A language of the suite instead.")] = None,
    schema: Annotated[Path | None, typer.Option(help="The JSON Schema in this file instead.")] = None,
    vocab: Annotated[str, typer.Option(help="toy, qwen3, smollm2, or a tokenizer file.")] = "toy",
    svg: Annotated[Path | None, typer.Option(help="Write the picture here as SVG.")] = None,
    png: Annotated[Path | None, typer.Option(help="Write the picture here as PNG.")] = None,
    html: Annotated[Path | None, typer.Option(help="Write a page to type into here.")] = None,
    json_output: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Show an automaton, and what may and must follow some output: exit 0, or 2 on bad input."""
    chosen = _chosen(pattern, dialect, language, schema)
    explained = told.explain(chosen, vocab)
    place = told.place(explained.dfa, told.bytes_from_text(after), explained.index)
    detail = told.automaton_detail(explained.dfa)
    with reporting():
        files = _write(explained, detail, svg, png, html)
    if json_output:
        head = {"pattern": chosen.pattern, "dialect": chosen.dialect, "vocabulary": vocab, "files": files}
        print_json("explain", 0, {**head, **told.as_plain(place), "automaton": detail}, [])
    else:
        _print(chosen, detail, place, files)


def _chosen(pattern: str | None, dialect: str, language: str | None, schema: Path | None) -> Language:
    if sum(one is not None for one in (pattern, language, schema)) != 1:
        raise BadInput("explain: give one of a pattern, --language and --schema")
    if dialect not in ("bytes", "unicode"):
        raise BadInput(f"--dialect {dialect!r} is not a dialect; choose bytes or unicode")
    if language is not None:
        return select([language])[0]
    if schema is not None:
        return from_schema_file(schema)
    return pattern_language("pattern", cast(str, pattern), cast(Any, dialect))


def _write(
    explained: told.Explained, detail: dict[str, Any], svg: Path | None, png: Path | None, html: Path | None
) -> list[str]:
    if svg is None and png is None and html is None:
        return []
    from reports.explain_page import write_explain_page  # the report extra is imported when it is used
    from reports.pictures import automaton_file

    for path, ending in ((svg, ".svg"), (png, ".png")):
        if path is not None:
            if path.suffix.lower() != ending:
                raise BadInput(f"{path}: --{ending[1:]} writes a {ending} file; end its name so")
            automaton_file(detail, path)
    if html is not None:
        write_explain_page(told.page_data(explained), html)
    return [str(path) for path in (svg, png, html) if path is not None]


def _print(chosen: Language, detail: dict[str, Any], place: Place, files: list[str]) -> None:
    head = f"{chosen.dialect} · {detail['states']:,} states, {len(detail['accepting']):,} accepting, "
    _line(chosen.pattern if len(chosen.pattern) < 400 else chosen.pattern[:399] + "…", "bold")
    _line(f"{head}{detail['live']:,} live edges", "dim")
    out.print(_states(detail, place.state))
    _print_place(place)
    for file in files:
        _line(f"wrote {file}", "dim")


def _states(detail: dict[str, Any], here: int) -> Table:
    """As many states as fit, the one reached marked."""
    room = max(out.size.height - 14, 6) if out.is_terminal else detail["states"]
    table = Table(box=None, pad_edge=False, show_header=False, padding=(0, 2, 0, 0))
    leaving: dict[int, list[str]] = {}
    for source, target, label in detail["edges"]:
        leaving.setdefault(source, []).append(f"{label} → {target}")
    accepting = set(detail["accepting"])
    for state in list(range(detail["states"]))[:room]:
        mark = Text("▶ " if state == here else "  ", style="bold cyan") + Text(f"{state}")
        ring = Text("◎" if state in accepting else " ", style="green")
        table.add_row(mark, ring, Text(shown("   ".join(leaving.get(state, []))), overflow="ellipsis"))
    if detail["states"] > room:
        table.add_row(
            "", "", Text(f"… {detail['states'] - room:,} more states: --json, --svg or --html", style="dim")
        )
    return table


def _print_place(place: Place) -> None:
    words = Text(f"\nafter {place.after!r}: " if place.after else "\nat the start: ")
    out.print(words + Text(f"{place.status}, {MEANING[place.status]}", style=STATUS[place.status]))
    if place.status == "dead":
        alive = next(number for number, step in enumerate(place.steps) if step.state < 0)
        _line(f"  dead at byte {alive + 1}: {place.steps[alive].label} is not allowed there", "")
        return
    _line(f"  state {place.state}" + (f", must go on with {place.forced}" if place.forced else ""), "")
    if place.next is not None:
        _print_tokens(place)


def _print_tokens(place: Place) -> None:
    following = place.next
    assert following is not None
    texts = [told.readable(bytes.fromhex(piece)) for _, piece in following.examples]
    examples = "  ".join(texts) + (" …" if following.allowed > len(texts) + following.eos else "")
    share = f"  {following.allowed:,} of {following.tokens:,} tokens allowed{', EOS too' if following.eos else ''}"
    _line(f"{share}: {examples}" if texts else share, "")
    _line(
        f"  at least {following.distance} tokens to the end, EOS counted"
        if following.distance >= 0
        else "  stuck",
        "",
    )


def _line(text: str, style: str) -> None:
    out.print(Text(shown(text), style=style), soft_wrap=not out.is_terminal)
