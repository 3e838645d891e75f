"""The pages in a real browser: headless Chromium, driven by Playwright, on files opened from disk.

CHROMIUM names the browser; Debian's package `chromium` puts it on the path.
"""

import os
import re
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest

pytest.importorskip("playwright.sync_api", reason="Playwright is not installed; nox -s browser brings it")

from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from engine import explain
from engine.suite import pattern_language
from reports import queries, synthetic
from reports.explain_page import write_explain_page
from reports.page import write_page
from reports.store import Store

pytestmark = pytest.mark.browser

QUIET = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
]
QUIET += ["--disable-component-update", "--disable-sync"]
WORDS = "(cat|car|dog)s?"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    found = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    assert found, "no Chromium on the path; apt-get install chromium, or name one in CHROMIUM"
    with sync_playwright() as play:
        opened = play.chromium.launch(executable_path=found, args=QUIET)
        yield opened
        opened.close()


class Watched:
    """A page with whatever went wrong in it, and whatever it asked for."""

    def __init__(self, context: BrowserContext) -> None:
        self.page: Page = context.new_page()
        self.errors: list[str] = []
        self.asked: list[str] = []
        self.page.on(
            "console", lambda one: self.errors.append(one.text) if one.type in ("error", "warning") else None
        )
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.on("dialog", lambda dialog: (self.errors.append(dialog.message), dialog.dismiss()))

    def open(self, path: Path, hash_: str = "") -> Page:
        self.page.goto(path.as_uri() + hash_)
        self.page.wait_for_selector("html[data-ready=true]")
        return self.page


@pytest.fixture
def watched(browser: Browser) -> Iterator[Watched]:
    context = browser.new_context(viewport={"width": 1400, "height": 900})
    watching = Watched(context)
    yield watching
    assert watching.errors == []
    assert all(url.startswith(("file:", "data:", "blob:")) for url in watching.asked), watching.asked
    context.close()


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("small")
    synthetic.write_results(folder, 120)
    write_page([folder], folder / "report.html")
    return folder / "report.html"


@pytest.fixture(scope="module")
def table(report: Path) -> dict[str, list[str]]:
    return queries.table(Store([report.parent]))


def count_of(page: Page) -> int:
    return int(page.inner_text("#count").split(" of ")[0].replace(",", ""))


def refuted(table: dict[str, list[str]], **wanted: str) -> list[int]:
    rows = range(len(table["id"]))
    wanted |= {"verdict": "refuted"}
    return [row for row in rows if all(table[name][row] == value for name, value in wanted.items())]


# ---- the report -------------------------------------------------------------------------------------------------


def test_the_page_opens_on_the_overview_and_fetches_nothing(watched: Watched, report: Path) -> None:
    page = watched.open(report)
    expect(page.locator("section.overview")).to_be_visible()
    expect(page.locator("section.findings")).to_be_hidden()
    assert "5 engines" in page.inner_text(".lines")
    assert len(watched.asked) == 1


def test_every_section_opens_from_its_tab(watched: Watched, report: Path) -> None:
    page = watched.open(report)
    for tab in ("findings", "languages", "mutants", "bench", "runs", "overview"):
        page.click(f"nav.tabs a[href='#{tab}']")
        expect(page.locator(f"section.{tab}")).to_be_visible()
        assert page.locator("section.view.shown").count() == 1
        assert page.evaluate("scrollY") == 0


def test_a_cell_of_the_matrix_leads_to_its_findings(
    watched: Watched, report: Path, table: dict[str, list[str]]
) -> None:
    page = watched.open(report)
    page.click(".matrix a.cell.refuted >> nth=0")
    chosen = {name: page.input_value(f"#by-{name}") for name in ("command", "subject", "check", "verdict")}
    assert count_of(page) == len(refuted(table, **chosen)) > 0


def test_filters_and_search_agree_with_the_records(
    watched: Watched, report: Path, table: dict[str, list[str]]
) -> None:
    page = watched.open(report, "#findings")
    assert count_of(page) == len(refuted(table))
    page.select_option("#by-subject", "maskforge")
    assert count_of(page) == len(refuted(table, subject="maskforge"))
    page.select_option("#by-kind", "unsound")
    assert count_of(page) == len(refuted(table, subject="maskforge", kind="unsound"))
    page.click("#clear")
    assert count_of(page) == len(table["id"])
    page.fill("#search", "00003 maskforge")
    expect(page.locator("#count")).to_have_text(re.compile(r"^\d\d? of "))
    rows = range(len(table["id"]))
    assert count_of(page) == sum(
        "00003" in table["case"][row] and table["subject"][row] == "maskforge" for row in rows
    )


def test_the_list_sorts_both_ways(watched: Watched, report: Path, table: dict[str, list[str]]) -> None:
    page = watched.open(report, "#findings")
    head = page.locator(".grid-head .col-case")
    head.locator("button").click()
    expect(head).to_have_attribute("aria-sort", "ascending")
    cases = sorted(table["case"][row] for row in refuted(table))
    assert page.locator(".row .col-case").first.inner_text() == cases[0]
    head.locator("button").click()
    expect(head).to_have_attribute("aria-sort", "descending")
    assert page.locator(".row .col-case").first.inner_text() == cases[-1]


def test_a_finding_opens_with_path_masks_and_command(
    watched: Watched, report: Path, table: dict[str, list[str]]
) -> None:
    page = watched.open(report, "#findings")
    page.locator(".row").nth(2).click()
    detail = page.locator("#detail")
    expect(detail.locator(".path, p:has-text('at the start')").first).to_be_visible()
    text = detail.inner_text().lower()
    for heading in (
        "show it again",
        "shrunk case: schema",
        "the engine allowed (151)",
        "the exact mask (149)",
        "unsound",
    ):
        assert heading in text
    assert "maskproof audit" in text
    page.keyboard.press("Escape")
    expect(detail).to_be_hidden()


def test_a_deep_link_opens_its_finding(watched: Watched, report: Path, table: dict[str, list[str]]) -> None:
    row = refuted(table)[-1]
    page = watched.open(report, f"#finding={table['id'][row]}")
    expect(page.locator("#detail .title")).to_contain_text(table["subject"][row])
    expect(page.locator("#detail")).to_contain_text(table["case"][row])
    expect(page.locator(".row[aria-selected=true]")).to_have_attribute("data-id", table["id"][row])


def test_a_deep_link_to_a_record_that_the_filter_hides_shows_it(
    watched: Watched, report: Path, table: dict[str, list[str]]
) -> None:
    row = table["verdict"].index("tested")
    page = watched.open(report, f"#finding={table['id'][row]}")
    expect(page.locator(".row[aria-selected=true]")).to_have_attribute("data-id", table["id"][row])


def test_a_dead_link_says_so(watched: Watched, report: Path) -> None:
    page = watched.open(report, "#finding=000000000000")
    expect(page.locator("#detail")).to_contain_text("No record has the id 000000000000 here")


def test_back_returns_to_the_filtered_list(watched: Watched, report: Path) -> None:
    page = watched.open(report, "#findings?verdict=refuted&subject=maskforge")
    before = count_of(page)
    page.locator(".row").first.click()
    expect(page.locator("#detail .title")).to_be_visible()
    page.go_back()
    expect(page.locator("#detail")).to_be_hidden()
    assert (count_of(page), page.input_value("#by-subject")) == (before, "maskforge")


def test_everything_is_reached_by_keyboard(watched: Watched, report: Path) -> None:
    page = watched.open(report)
    page.keyboard.press("2")
    expect(page.locator("section.findings")).to_be_visible()
    page.keyboard.press("/")
    expect(page.locator("#search")).to_be_focused()
    page.keyboard.type("corpus")
    page.keyboard.press("Enter")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page.locator(".row[aria-selected=true]")).to_have_attribute("aria-rowindex", "4")
    page.keyboard.press("j")
    expect(page.locator(".row[aria-selected=true]")).to_have_attribute("aria-rowindex", "5")
    page.keyboard.press("Escape")
    expect(page.locator("#detail")).to_be_hidden()
    page.keyboard.press("?")
    expect(page.locator("#help")).to_be_visible()


def test_a_language_shows_its_automaton_density_and_obligations(watched: Watched, report: Path) -> None:
    page = watched.open(report, "#language=hand-words")
    expect(page.locator(".picture .state")).to_have_count(7)
    expect(page.locator(".picture .state.accepting")).to_have_count(2)
    expect(page.locator("#language .chart svg")).to_be_visible()
    expect(page.locator("#language tbody tr")).to_have_count(5)
    page.click("#language summary")
    expect(page.locator(".edges p")).to_have_count(7)
    assert page.locator(".edges p").nth(3).inner_text().split() == ["3", "[rt]", "→", "5"]


def test_a_large_language_is_summarised(watched: Watched, report: Path) -> None:
    page = watched.open(report, "#language=large")
    expect(page.locator("#language")).to_contain_text("900 states, gathered by distance from the start")
    assert page.locator(".picture .state").count() < 50


def test_tables_sort_by_their_heads(watched: Watched, report: Path) -> None:
    page = watched.open(report, "#languages")
    page.click("#language-list th:has-text('states') button")
    states = [int(cell) for cell in page.locator("#language-list tbody tr td:nth-child(3)").all_inner_texts()]
    assert states == sorted(states)
    page.click("#language-list th:has-text('states') button")
    states = [int(cell) for cell in page.locator("#language-list tbody tr td:nth-child(3)").all_inner_texts()]
    assert states == sorted(states, reverse=True)


@pytest.mark.parametrize("width", [360, 768, 1400])
def test_no_section_is_wider_than_the_window(
    watched: Watched, report: Path, table: dict[str, list[str]], width: int
) -> None:
    watched.page.set_viewport_size({"width": width, "height": 800})
    for place in (
        "overview",
        "findings",
        "languages",
        "language=large",
        "mutants",
        "bench",
        "runs",
        f"finding={table['id'][0]}",
    ):
        page = watched.open(report, f"#{place}")
        page.reload()
        page.wait_for_selector("html[data-ready=true]")
        assert page.evaluate("document.documentElement.scrollWidth") <= width, place


def test_light_and_dark_follow_the_system_and_the_button(watched: Watched, report: Path) -> None:
    def ground() -> str:
        return str(page.evaluate("getComputedStyle(document.body).backgroundColor"))

    page = watched.open(report)
    light = ground()
    page.emulate_media(color_scheme="dark")
    dark = ground()
    assert light != dark
    page.click("#theme")
    assert ground() == light
    page.reload()
    page.wait_for_selector("html[data-ready=true]")
    assert ground() == light, "the choice is remembered"


CONTRAST = """selector => {
  const channels = text => text.match(/[\\d.]+/g).map(Number);
  const linear = c => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
  const light = colour => channels(colour).slice(0, 3).reduce(
    (sum, c, at) => sum + linear(c / 255) * [0.2126, 0.7152, 0.0722][at], 0.05);
  const ground = one => channels(getComputedStyle(one).backgroundColor)[3] === 0 ? ground(one.parentElement) : one;
  return [...document.querySelectorAll(selector)].slice(0, 60).map(one => {
    const pair = [light(getComputedStyle(one).color), light(getComputedStyle(ground(one)).backgroundColor)];
    return [Math.max(...pair) / Math.min(...pair), one.className + ' ' + one.textContent.trim().slice(0, 20)];
  });
}"""


def test_text_has_contrast_in_both_themes(watched: Watched, report: Path) -> None:
    """WCAG AA: 4.5 to 1 for every badge, cell and muted text."""
    for scheme in ("light", "dark"):
        watched.page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        for place, selectors in (
            ("overview", ".cell, .cell small, .tile:not(.none) span, .lines a, nav.tabs a, th"),
            ("findings", ".badge, .row > *"),
        ):
            page = watched.open(report, f"#{place}")
            page.reload()
            page.wait_for_selector("html[data-ready=true]")
            for ratio, what in page.evaluate(CONTRAST, selectors):
                assert ratio >= 4.5, (scheme, what, ratio)


# ---- injection --------------------------------------------------------------------------------------------------

ATTACKS = [
    "<script>window.injected=1</script>",
    "</script><script>window.injected=1</script>",
    "<img src=x onerror=window.injected=1>",
    "<svg onload=window.injected=1>",
    "\"><iframe srcdoc='<script>parent.injected=1</script>'>",
    "javascript:window.injected=1",
    "\u2028window.injected=1\u2029",
    "{{ 7*7 }}{% raw %}",
    "<!--<script>",
    "&lt;script&gt;window.injected=1",
]


def attacked(attack: str) -> dict[str, object]:
    token = {"id": 1, "hex": attack.encode().hex(), "text": attack}
    witness = {
        name: {"count": 1, "tokens": [token]} for name in ("allowed", "expected", "unsound", "missing")
    }
    witness |= {
        "path": [token],
        "token": token,
        "kind": attack,
        "source": attack,
        "log": attack,
        "exchange": [["→", attack]],
    }
    witness |= {"original": {"source": attack}, "vocabulary": [token], "text": attack, attack: attack}
    automaton = synthetic.automaton(attack, 2, [1], [(0, 1, attack)], [1, 1]) | {
        "why": attack,
        "forced": {"0": attack},
    }
    record = dict.fromkeys(("subject", "case", "check", "kind", "message", "method", "reproduce"), attack)
    return {
        **record,
        "verdict": "refuted",
        "witness": witness,
        "domain": {attack: attack},
        "detail": automaton | {"version": attack},
    }


@pytest.mark.parametrize("attack", ATTACKS)
def test_no_script_runs_from_any_text_of_a_record(watched: Watched, tmp_path: Path, attack: str) -> None:
    name = f"{tmp_path.name}-{attack.replace('/', '_')[:60]}"
    synthetic.write_run(tmp_path, name, "audit", "2026-01-01T00:00:00", iter([attacked(attack)]))
    synthetic.write_run(tmp_path, name + "2", "audit", "2026-01-02T00:00:00", iter([attacked(attack)]))
    synthetic.write_run(tmp_path, "m", "mutants", attack, iter([attacked(attack)]))
    bench = attacked(attack) | {
        "detail": {"measure": attack, "unit": attack, "samples": [1, 2], "baseline": attack}
    }
    synthetic.write_run(tmp_path, "b", "bench", "2026-01-01T00:00:00", iter([bench]))
    write_page([tmp_path], tmp_path / "report.html")
    finding = queries.table(Store([tmp_path]))["id"][0]
    page = watched.open(tmp_path / "report.html", f"#finding={finding}")
    expect(page.locator("#detail .path")).to_be_visible()
    for summary in page.locator("#detail summary").all():
        summary.click()
    for place in (
        f"language={quote(attack, safe='')}",
        "mutants",
        "bench",
        "runs",
        "overview",
        f"findings?q={quote(attack, safe='')}",
    ):
        page.evaluate("hash => { location.hash = hash }", place)
        page.wait_for_timeout(60)
    assert page.evaluate("window.injected") is None
    assert page.locator("iframe, main img, script:not([type]):not(:last-of-type)").count() == 0


@pytest.mark.parametrize("attack", [one for one in ATTACKS if "{" not in one])
def test_no_script_runs_from_a_pattern_of_the_explain_page(
    watched: Watched, tmp_path: Path, attack: str
) -> None:
    pattern = re.sub(r"([^\w\s])", r"\\\1", attack.replace("\u2028", "").replace("\u2029", ""))
    write_explain_page(
        explain.page_data(explain.explain(pattern_language("p", pattern), "toy")), tmp_path / "e.html"
    )
    page = watched.open(tmp_path / "e.html", f"#after={quote(attack, safe='')}")
    expect(page.locator("#here")).to_be_visible()
    assert page.evaluate("window.injected") is None


# ---- fifty thousand ---------------------------------------------------------------------------------------------


TIMED = """async ([selector, typed]) => {
  const started = performance.now(), one = document.querySelector(selector);
  if (typed) { one.value = typed; one.dispatchEvent(new Event('input')); await new Promise(r => setTimeout(r, 70)); }
  else one.click();
  await new Promise(r => setTimeout(r));
  await new Promise(requestAnimationFrame);
  return performance.now() - started;
}"""


@pytest.mark.slow
def test_fifty_thousand_findings_open_and_filter_quickly(watched: Watched, tmp_path: Path) -> None:
    synthetic.write_results(tmp_path, 50_000)
    write_page([tmp_path], tmp_path / "report.html")
    started = time.monotonic()
    page = watched.open(tmp_path / "report.html", "#findings")
    assert time.monotonic() - started < 15
    assert count_of(page) >= 50_000
    assert page.locator(".row").count() < 80, "only the rows in sight exist"
    assert page.evaluate(TIMED, [".col-message button", ""]) < 2000
    assert page.evaluate(TIMED, ["#search", "0001"]) < 1500
    page.click("#clear")
    page.focus("#rows")
    page.keyboard.press("End")
    expect(page.locator(".row.cursor")).to_have_attribute("aria-rowindex", str(count_of(page) + 1))
    page.keyboard.press("Enter")
    expect(page.locator("#detail .title")).to_be_visible()


# ---- explain ----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def words(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("explain") / "words.html"
    write_explain_page(explain.page_data(explain.explain(pattern_language("words", WORDS), "toy")), path)
    return path


def test_typing_shows_state_by_state_what_is_allowed_next(watched: Watched, words: Path) -> None:
    page = watched.open(words)
    explained = explain.explain(pattern_language("words", WORDS), "toy")
    for text in ("", "c", "ca", "car", "cars", "d", "do", "dog"):
        page.fill("#text", text)
        place = explain.place(explained.dfa, text.encode(), explained.index)
        assert place.next is not None
        expect(page.locator("#allowed")).to_have_text(str(place.next.allowed))
        expect(page.locator(".status")).to_contain_text(f"state {place.state}")
        expect(page.locator(".bytes li")).to_have_count(len(text) + 1)
        expect(page.locator(".picture .state.here")).to_have_attribute("id", f"s{place.state}")


def test_the_browser_s_mask_is_the_reference_s_in_every_state(watched: Watched, tmp_path: Path) -> None:
    """A language with characters of several bytes: the page walks every token itself, and agrees."""
    explained = explain.explain(pattern_language("p", 'é*[0-9]{1,2}("[^"]"|日)'), "toy")
    write_explain_page(explain.page_data(explained), tmp_path / "e.html")
    page = watched.open(tmp_path / "e.html")
    for text in ("", "\\xc3", "é", "7", '7"', '7"\\xff', "12", "12\\xe6", "12日"):
        page.fill("#text", text)
        place = explain.place(explained.dfa, explain.bytes_from_text(text), explained.index)
        assert place.next is not None
        expect(page.locator("#allowed")).to_have_text(str(place.next.allowed))
        shown = [int(one) for one in page.locator("#here .chip small").all_inner_texts()]
        assert shown[: place.next.eos] == [*explained.index.vocabulary.eos][: place.next.eos]
        assert shown[place.next.eos :][:20] == [token for token, _ in place.next.examples][:20]


def test_a_dead_output_shows_where_it_died_and_goes_back(watched: Watched, words: Path) -> None:
    page = watched.open(words, "#after=cb")
    expect(page.locator("#here")).to_contain_text(
        "After 1 byte the output was still alive; b is not allowed in state 1."
    )
    page.click("text=Go back there")
    expect(page.locator("#text")).to_have_value("c")
    page.click(".chips button >> nth=0")
    expect(page.locator("#text")).to_have_value("ca")
    page.click("#undo")
    expect(page.locator("#text")).to_have_value("c")


def test_a_wrong_escape_is_named(watched: Watched, words: Path) -> None:
    page = watched.open(words)
    page.fill("#text", "c\\q")
    expect(page.locator("#problem")).to_contain_text("\\q at position 1 is no escape")
