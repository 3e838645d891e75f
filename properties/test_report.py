"""Reports: the tables agree with the files, the page holds everything and lets nothing in it act, pictures tell."""

import base64
import gzip
import hashlib
import json
import random
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer import Typer
from typer.testing import CliRunner

from engine.errors import BadInput
from engine.results import Record, open_run, read_records
from maskproof.commands import report as report_command
from reports import automata, charts, embed, overview, pictures, queries, synthetic
from reports.errors import ReportError
from reports.page import page, write_page
from reports.poster import write_picture
from reports.store import Store

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("results")
    synthetic.write_results(made, 60)
    return made


@pytest.fixture(scope="module")
def html(folder: Path) -> str:
    return page(Store([folder]))


def run_of(
    folder: Path, run: str, *records: dict[str, str], command: str = "audit", ends: bool = True
) -> None:
    """A run named so that names sort by time."""
    filled = (
        {"subject": "engine", "case": "c1", "check": "masks", "verdict": "tested"} | one for one in records
    )
    synthetic.write_run(folder, run, command, f"2026-01-{run[-2:]}T00:00:00+00:00", filled, ends)


def unpacked(html: str, name: str) -> Any:
    found = re.search(rf'<script type="application/octet-stream" id="{name}"[^>]*>([^<]*)</script>', html)
    assert found
    return json.loads(gzip.decompress(base64.b64decode(found.group(1))))


# ---- tables -----------------------------------------------------------------------------------------------------


def test_counts_by_the_database_are_counts_by_a_loop(folder: Path) -> None:
    """One file at a time, so that every record is current: two computations of one table."""
    for path in folder.glob("*-audit-aa02/records.jsonl"):
        records = list(read_records(path))
        store = Store([path])
        looped = Counter(record.verdict for record in records)
        assert queries.verdict_counts(store) == {verdict: looped[verdict] for verdict in queries.VERDICTS}
        cells = Counter((record.subject, record.check, record.verdict) for record in records)
        for row in queries.matrix(store):
            for verdict in queries.VERDICTS:
                assert row[verdict] == cells[row["subject"], row["check"], verdict]
        kinds = Counter((record.subject, record.kind) for record in records if record.verdict == "refuted")
        assert {(row["subject"], row["kind"]): row["findings"] for row in queries.kinds(store)} == dict(kinds)


def test_the_newest_run_that_judged_a_key_is_what_counts(tmp_path: Path) -> None:
    refuted = {"verdict": "refuted", "kind": "unsound"}
    run_of(tmp_path, "run-01", refuted, {"case": "c2", **refuted})
    run_of(tmp_path, "run-02", {"verdict": "tested"})
    rows = Store([tmp_path]).rows('SELECT "case", verdict, run FROM current ORDER BY "case"')
    assert [tuple(row.values()) for row in rows] == [("c1", "tested", "run-02"), ("c2", "refuted", "run-01")]


def test_several_kinds_on_one_key_are_several_findings(tmp_path: Path) -> None:
    run_of(
        tmp_path, "run-01", {"verdict": "refuted", "kind": "unsound"}, {"verdict": "refuted", "kind": "crash"}
    )
    table = queries.table(Store([tmp_path]))
    assert sorted(table["kind"]) == ["crash", "unsound"]
    assert len(set(table["id"])) == 2


def test_a_finding_keeps_its_id_from_run_to_run(tmp_path: Path) -> None:
    refuted = {"verdict": "refuted", "kind": "unsound"}
    run_of(tmp_path, "run-01", refuted)
    first = queries.table(Store([tmp_path]))["id"]
    run_of(tmp_path, "run-02", {"case": "c0"}, refuted)
    assert first[0] in queries.table(Store([tmp_path]))["id"]


def test_killed_mutants_are_no_findings(tmp_path: Path) -> None:
    run_of(tmp_path, "run-01", {"case": "s01", "verdict": "refuted"}, command="mutants")
    store = Store([tmp_path])
    assert queries.verdict_counts(store)["refuted"] == 0
    assert queries.table(store)["id"] == []
    assert overview.kill_matrix(store)["mutants"][0]["killers"] == 1


def test_a_torn_line_is_counted_and_the_rest_is_read(tmp_path: Path) -> None:
    run_of(tmp_path, "run-01", {}, ends=False)
    with (tmp_path / "run-01" / "records.jsonl").open("a") as file:
        file.write('{"command":"audit","subject":"engine","ca')
    run = queries.runs(Store([tmp_path]))[0]
    assert (run["records"], run["unreadable"], run["outcome"]) == (1, 1, "unfinished")


def test_a_run_resumed_and_killed_is_unfinished(tmp_path: Path) -> None:
    """A footer closes only what stands before it."""
    run_of(tmp_path, "run-01", {})
    path = tmp_path / "run-01" / "records.jsonl"
    assert queries.runs(Store([path]))[0]["outcome"] == "finished"
    with path.open("a") as file:
        file.write('{"header":{"run":"run-01","command":"audit","started":"2026-01-02","format":1}}\n')
    assert queries.runs(Store([path]))[0]["outcome"] == "unfinished"


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 3), st.booleans()), max_size=6),
    st.lists(st.tuples(st.integers(0, 3), st.booleans()), max_size=6),
)
def test_comparison_is_set_arithmetic(old: list[tuple[int, bool]], new: list[tuple[int, bool]]) -> None:
    """new = refuted now, judged and not refuted before; fixed = the other way; and so on."""
    with tempfile.TemporaryDirectory() as name:
        for run, cells in (("run-01", old), ("run-02", new)):
            verdicts = [{"case": str(case), "verdict": "refuted" if bad else "tested"} for case, bad in cells]
            run_of(Path(name), run, *verdicts)
        found = queries.compare(Store([Path(name)]), "run-01", "run-02")
    bad_old, bad_new = ({case for case, bad in cells if bad} for cells in (old, new))
    all_old, all_new = ({case for case, _ in cells} for cells in (old, new))
    expected = {
        "still": bad_old & bad_new,
        "new": (bad_new - bad_old) & all_old,
        "unseen": bad_new - all_old,
        "fixed": (bad_old - bad_new) & all_new,
        "unjudged": bad_old - all_new,
    }
    for change, cases in expected.items():
        assert {int(row["case"]) for row in found if row["change"] == change} == cases


def test_a_run_follows_the_newest_earlier_run_that_judged_a_common_key(tmp_path: Path) -> None:
    run_of(tmp_path, "run-01", {"case": "a"})
    run_of(tmp_path, "run-02", {"case": "b"})
    run_of(tmp_path, "run-03", {"case": "a"})
    assert {run["run"]: run["follows"] for run in queries.runs(Store([tmp_path]))} == {
        "run-01": "",
        "run-02": "",
        "run-03": "run-01",
    }


def test_a_run_written_by_the_engine_is_read_by_the_report(tmp_path: Path) -> None:
    with open_run("audit", ["x"], results=tmp_path, settings={"vocab": "toy"}) as writer:
        writer.append(
            Record(command="audit", subject="e", case="c", check="k", verdict="refuted", kind="unsound")
        )
    run = queries.runs(Store([tmp_path]))[0]
    assert (run["command"], run["outcome"], run["refuted"]) == ("audit", "finished", 1)
    assert run["settings"] == '{"vocab":"toy"}'


def test_no_results_is_said_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(ReportError, match=r"no results under .*; run `maskproof verify`"):
        Store([tmp_path])


# ---- the page ---------------------------------------------------------------------------------------------------


class Tags(HTMLParser):
    """Every element and attribute of a page."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.seen: list[tuple[str, dict[str, str | None]]] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))


def test_the_page_fetches_nothing(html: str) -> None:
    for tag, attributes in Tags(html).seen:
        assert tag not in {"iframe", "object", "embed", "img", "base", "form"}
        for name in ("src", "href", "action", "poster", "srcset"):
            value = attributes.get(name) or "#"
            assert value.startswith("#") or value == "data:,", f"<{tag} {name}={value}>"
    assert "url(" not in re.sub(r"url\(#[\w-]+\)", "", html)
    assert "@import" not in html


def test_only_the_page_s_own_script_may_run(html: str) -> None:
    script = re.findall(r"<script>(.*?)</script>", html, flags=re.DOTALL)
    assert len(script) == 1
    digest = base64.b64encode(hashlib.sha256(script[0].encode()).digest()).decode()
    allowed = next(a["content"] for t, a in Tags(html).seen if t == "meta" and a.get("http-equiv"))
    assert allowed is not None
    assert f"script-src 'sha256-{digest}';" in allowed
    assert "default-src 'none'" in allowed and "unsafe-eval" not in allowed


def test_no_text_of_a_record_becomes_markup(html: str) -> None:
    for tag, attributes in Tags(html).seen:
        assert not any(name.startswith("on") for name in attributes), f"<{tag} {attributes}>"
        assert tag != "script" or attributes.get("type") == "application/octet-stream" or not attributes
    for nasty in ("<img src=x", "<script>window", "onerror=window.injected=1>"):
        assert nasty not in html
    assert "&lt;/script&gt;&lt;script&gt;window.injected=1" in html, (
        "the made-up language's name is shown, escaped"
    )


def test_the_page_holds_every_record_whole(folder: Path, html: str) -> None:
    """What the browser unpacks is what the files say: ids, columns, witnesses."""
    index = unpacked(html, "data-rows")
    shown = [
        {
            name: index[name]["values"][index[name]["codes"][row]]
            for name in ("subject", "case", "check", "verdict", "message")
        }
        for row in range(len(index["id"]))
    ]
    more = [one for number in range(html.count('id="chunk-')) for one in unpacked(html, f"chunk-{number}")]
    assert len(more) == len(shown)
    written = [r for path in folder.glob("*/records.jsonl") for r in read_records(path)]
    for row, rest in zip(shown, more, strict=True):
        fitting = [r for r in written if all(getattr(r, name) == value for name, value in row.items())]
        assert any((rest["witness"] or {}) == record.witness for record in fitting)


def test_the_page_of_equal_results_is_equal(folder: Path, html: str) -> None:
    assert page(Store([folder])) == html


def test_the_summary_says_what_is_open(html: str) -> None:
    assert "1 run did not come to an end: 20261129-130000-walk-aa06." in html
    assert re.search(r"5 engines on up to \d+ cases, 5 with findings", html)


def test_an_empty_run_makes_a_page(tmp_path: Path) -> None:
    run_of(tmp_path, "run-01")
    assert "No language has been judged yet" in page(Store([tmp_path]))


@pytest.mark.slow
def test_a_page_of_fifty_thousand_findings_is_small_and_quick_to_make(tmp_path: Path) -> None:
    synthetic.write_results(tmp_path, 50_000)
    started = time.monotonic()
    told = write_page([tmp_path], tmp_path / "report.html")
    assert told["refuted"] >= 50_000
    assert told["bytes"] < 25_000_000
    assert time.monotonic() - started < 60


# ---- packing ----------------------------------------------------------------------------------------------------

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner, max_size=3),
    max_leaves=6,
)


@given(json_values)
def test_packed_data_unpacks_to_itself_and_cannot_end_a_script(value: Any) -> None:
    packed = embed.packed(value)
    assert re.fullmatch(r"[A-Za-z0-9+/=]*", packed)
    assert json.loads(gzip.decompress(base64.b64decode(packed))) == value


@given(st.lists(st.text(max_size=3)))
def test_a_coded_column_decodes_to_itself(values: list[str]) -> None:
    coded = embed.coded(values)
    assert [coded["values"][code] for code in coded["codes"]] == values
    assert len(set(coded["values"])) == len(coded["values"])


# ---- pictures ---------------------------------------------------------------------------------------------------


def words() -> dict[str, Any]:
    return synthetic.words_automaton()


def test_a_small_automaton_is_drawn_state_by_state() -> None:
    root = ElementTree.fromstring(pictures.automaton_svg(words()))
    classes = Counter(group.get("class") for group in root.iter(f"{SVG}g"))
    assert classes["node state start"] == 1
    assert classes["node state accepting"] == 2
    assert classes["node state forced"] == 3
    assert classes["edge edge-class"] == 7
    texts = {"".join(text.itertext()).strip() for text in root.iter(f"{SVG}text")}
    assert texts == {*map(str, range(7)), *"cdaogs", "[rt]"}


@settings(max_examples=30, deadline=None)
@given(st.text(max_size=12))
def test_any_label_is_shown_as_text_and_nothing_else(label: str) -> None:
    """A picture is a tree of known elements, and the arrow's title is the label, unfit characters replaced."""
    detail = {"states": 2, "accepting": [1], "edges": [[0, 1, label]]}
    root = ElementTree.fromstring(pictures.automaton_svg(detail))
    assert {element.tag.removeprefix(SVG) for element in root.iter()} <= pictures._KEPT
    assert not any(
        name.startswith("on") or "href" in name for element in root.iter() for name in element.attrib
    )
    arrow = next(group for group in root.iter(f"{SVG}g") if group.get("id") == "e0")
    title = arrow.find(f"{SVG}title")
    assert title is not None
    kept = "".join(char for char in label if char.isprintable())
    assert [char for char in title.text or "" if char in kept] == [
        char for char in kept if char in (title.text or "")
    ]
    if label.isascii() and label.isprintable():
        assert title.text == label or (not label and not title.text)


@given(st.integers(0, 10**6), st.integers(60, 400))
@settings(max_examples=20, deadline=None)
def test_a_large_automaton_is_summarised_to_a_size_one_can_see(seed: int, states: int) -> None:
    draw = random.Random(seed)
    edges = [[at, at + 1, draw.choice("ab")] for at in range(states - 1)]
    edges += [
        [draw.randrange(states), draw.randrange(states), "[0-9]"] for _ in range(draw.randrange(states))
    ]
    small = automata.sketch({"states": states, "accepting": [states - 1], "edges": edges})
    assert 1 <= len(small.nodes) <= automata.MOST_NODES
    keys = {node.key for node in small.nodes}
    assert all(arrow.source in keys and arrow.target in keys for arrow in small.arrows)
    assert sum(node.start for node in small.nodes) == 1
    assert any(node.accepting for node in small.nodes)
    assert f"{states:,} states" in small.caption


def test_a_forced_stretch_becomes_one_arrow_with_its_text() -> None:
    text = "abcdefghij" * 5
    edges = [[at, at + 1, char] for at, char in enumerate(text)] + [[0, 60, "x"], [50, 51, "[yz]"]]
    edges += [[51 + at, 52 + at, "[uv]"] for at in range(9)]
    small = automata._joined(automata._whole({"states": 61, "accepting": [60], "edges": edges}))
    assert any(arrow.label == text and arrow.stretch for arrow in small.arrows)
    assert len(small.nodes) == 12


def test_a_picture_file_is_svg_or_png(tmp_path: Path) -> None:
    pictures.automaton_file(words(), tmp_path / "a.png")
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    pictures.automaton_file(words(), tmp_path / "a.svg")
    ElementTree.parse(tmp_path / "a.svg")
    with pytest.raises(ReportError, match=r"\.gif is not drawn; name a \.svg or \.png file"):
        pictures.automaton_file(words(), tmp_path / "a.gif")


def test_a_chart_takes_no_mathematics_and_no_markup_from_its_texts() -> None:
    row = {"peer": "$x^{<b>", "workload": "</svg>\x00\u2028", "samples": [1.0, 2.0, 3.0]}
    chart = charts.samples_svg([row, {**row, "peer": "b", "samples": [200.0]}], "$\\frac", "lower", "t")
    root = ElementTree.fromstring(chart)
    texts = ["".join(text.itertext()) for text in root.iter(f"{SVG}text")]
    assert "$x^{<b>" in texts
    assert any("$\\frac, lower is better" in text for text in texts)


def test_a_chart_s_median_is_the_median() -> None:
    assert charts.quartiles([4.0, 1.0, 3.0, 2.0]) == (1.75, 2.5, 3.25)
    assert charts.quartiles([7.0]) == (7.0, 7.0, 7.0)


@pytest.mark.parametrize("kind", ["png", "svg"])
def test_the_overview_is_drawn_without_a_browser(folder: Path, tmp_path: Path, kind: str) -> None:
    told = write_picture([folder], tmp_path / f"overview.{kind}")
    assert told["refuted"] > 0
    assert (tmp_path / f"overview.{kind}").stat().st_size > 10_000


def test_the_overview_of_verification_alone_is_drawn(tmp_path: Path) -> None:
    synthetic.write_run(tmp_path, "run-01", "verify", "2026-01-01", synthetic.verify())
    write_picture([tmp_path], tmp_path / "overview.png")
    assert (tmp_path / "overview.png").read_bytes().startswith(b"\x89PNG")


# ---- the command ------------------------------------------------------------------------------------------------


def command() -> Typer:
    app = Typer(pretty_exceptions_enable=False)
    app.callback()(lambda: None)
    report_command.register(app)
    return app


def test_the_command_writes_the_page_and_says_what_is_in_it(folder: Path, tmp_path: Path) -> None:
    answer = CliRunner().invoke(command(), ["report", str(folder), "-o", str(tmp_path / "r.html"), "--json"])
    assert answer.exit_code == 0
    document = json.loads(answer.stdout)
    assert document["command"] == "report" and document["exit"] == 0
    assert document["summary"]["refuted"] > 0
    assert (tmp_path / "r.html").read_text(encoding="utf-8").startswith("<!doctype html>")


def test_the_command_refuses_an_empty_folder(tmp_path: Path) -> None:
    answer = CliRunner().invoke(command(), ["report", str(tmp_path)])
    assert isinstance(answer.exception, BadInput)
    assert "no results under" in str(answer.exception)


WITHOUT = """
import sys
for name in ("duckdb", "pygraphviz", "matplotlib", "jinja2"):
    sys.modules[name] = None
from typer import Typer
from maskproof.commands import explain, report
from engine.errors import BadInput
app = Typer(pretty_exceptions_enable=False)
explain.register(app)
report.register(app)
try:
    app(sys.argv[1:], standalone_mode=False)
except BadInput as error:
    print(error)
"""


@pytest.mark.parametrize(
    "arguments", [["report", "."], ["explain", "ab", "--svg", "x.svg"], ["explain", "ab", "--html", "x.html"]]
)
def test_without_the_extra_a_command_says_what_to_install(arguments: list[str], tmp_path: Path) -> None:
    command_ = [sys.executable, "-c", WITHOUT, *arguments]
    told = subprocess.run(command_, capture_output=True, text=True, check=True).stdout
    assert re.search(r"need \w+; pip install 'maskproof\[report\]'", told)


def test_without_the_extra_explain_still_tells() -> None:
    told = subprocess.run(
        [sys.executable, "-c", WITHOUT, "explain", "ab"], capture_output=True, text=True, check=True
    ).stdout
    assert "3 states, 1 accepting, 2 live edges" in told
