"""The page of a search in a real browser, from a file: nothing is asked, nothing run, all reached."""

from __future__ import annotations

import json
import re
import shutil
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from oversight.harness.cli.main import main
from tests.agents.made_search import HOSTILE, make_search


@dataclass
class Watched:
    """A page with all that it asked for and complained about."""

    page: Page
    asked: list[str]
    errors: list[str]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        pytest.skip("there is no chromium on the path")
    with sync_playwright() as play:
        found = play.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield found
        found.close()


@pytest.fixture(scope="module")
def few(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("few"), 12)


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("many"), 150)


def write(folder: Path, candidates: int, *, fitness: str = "ml") -> Path:
    make_search(folder, candidates, hostile=True)
    with sqlite3.connect(folder / "study.db") as connection:
        (spec,) = connection.execute("select spec from search").fetchone()
        changed = json.loads(spec)
        changed["section"]["fitness"] = fitness
        connection.execute("update search set spec = ?", (json.dumps(changed),))
    page = folder / "search.html"
    assert main(["search", "show", "--study", str(folder / "study.toml"), "--page", str(page), "--json"]) == 0
    return page


def watch(browser: Browser, file: Path, width: int = 1280) -> Watched:
    page = browser.new_page(viewport={"width": width, "height": 900})
    page.set_default_timeout(15_000)
    found = Watched(page, [], [])
    page.on("request", lambda request: found.asked.append(request.url))
    page.on("pageerror", lambda error: found.errors.append(str(error)))
    page.on("console", lambda said: found.errors.append(said.text) if said.type == "error" else None)
    page.goto(file.as_uri())
    page.wait_for_selector("svg.lineage")
    return found


def test_a_file_opens_without_a_request_and_runs_nothing_of_what_others_wrote(
    browser: Browser, few: Path
) -> None:
    watched = watch(browser, few)
    page = watched.page
    expect(page.locator("h1")).to_have_text("Search made")
    expect(page.locator(".strip .verdict")).to_have_text(re.compile(r"^Winner: .* \d+\.\d %$", re.DOTALL))
    expect(page.locator(".strip")).to_have_count(1)  # one headline number
    expect(page.locator(".strip")).to_contain_text("Against the start: the start workflow itself won.")
    expect(page.get_by_text("Other scores, and why they differ")).to_be_visible()
    page.locator(".strip a").click()
    expect(page.locator("h1")).to_contain_text(HOSTILE[:20])
    page.locator("tbody th a").first.click()
    expect(page.get_by_role("heading", name="Call 1 of 1")).to_be_visible()
    expect(page.get_by_text("The calls end here")).to_be_visible()
    assert page.evaluate("window.hit") is None
    assert [url for url in watched.asked if not url.startswith(("file:", "data:"))] == []
    assert watched.errors == []
    page.close()


@pytest.mark.slow
def test_arrows_lead_through_the_tree_and_enter_opens_a_candidate(browser: Browser, many: Path) -> None:
    page = watch(browser, many).page
    nodes = page.locator("svg.lineage a.candidate")
    expect(nodes).to_have_count(150)
    expect(page.locator('svg.lineage a[tabindex="0"]')).to_have_count(1)
    nodes.first.focus()

    def here() -> str:
        return str(page.evaluate("document.activeElement.id"))

    seen = [here()]
    for _ in range(149):
        page.keyboard.press("ArrowDown")
        seen.append(here())
    assert len(set(seen)) == 150
    page.keyboard.press("ArrowDown")
    assert here() == seen[-1]
    page.keyboard.press("Home")
    assert here() == seen[0]
    page.keyboard.press("End")
    page.keyboard.press("ArrowLeft")
    parent = here()
    assert parent != seen[-1]
    page.keyboard.press("ArrowRight")
    child = here()
    assert child not in (parent, seen[0])
    page.keyboard.press("ArrowLeft")
    assert here() == parent
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    expect(page.locator(".lineage .here")).to_have_attribute("id", child)
    assert child.removeprefix("candidate-") in page.url
    page.close()


def test_a_candidates_source_is_marked_against_its_parents(browser: Browser, few: Path) -> None:
    page = watch(browser, few).page
    page.locator('svg.lineage a.candidate:has(rect[x="204"])').first.press("Enter")
    expect(page.get_by_role("heading", level=2).first).to_contain_text("Source, compared with")
    assert page.locator("pre.source ins").all_inner_texts()[0].startswith("+ INSTRUCTION")
    assert page.locator("pre.source del").all_inner_texts()[0].startswith("− INSTRUCTION")
    with page.expect_download() as file:
        page.get_by_text("Downloads", exact=True).click()
        page.get_by_role("button", name="Python: Source").click()
    assert "async def forward(task):" in file.value.path().read_text()
    page.close()


def test_the_table_is_ranked_as_one_likes_and_taken_away(browser: Browser, few: Path) -> None:
    page = watch(browser, few).page
    candidates = page.get_by_role("region", name="Candidates of search made")
    first = candidates.locator("tbody tr").first
    best = first.inner_text()
    page.get_by_label("ranked by").select_option("tokens")
    assert "sort=tokens" in page.url
    tokens = [float(cell) for cell in candidates.locator("tbody td:nth-child(8)").all_inner_texts()]
    assert tokens == sorted(tokens)
    page.get_by_label("ranked by").select_option("accuracy")
    assert first.inner_text() == best
    with page.expect_download() as file:
        page.get_by_text("Downloads", exact=True).click()
        page.get_by_role("button", name="CSV: Candidates of search made").click()
    lines = file.value.path().read_text().splitlines()
    assert len(lines) == 13
    assert lines[0].startswith("candidate,accuracy,about 95 %")
    page.close()


def test_axis_is_labelled_with_q(browser: Browser, tmp_path: Path) -> None:
    page = watch(browser, write(tmp_path, 6, fitness="raw")).page
    figure = page.locator("figure", has_text="q against tokens per item")
    ticks = figure.locator("svg text").all_text_contents()
    assert any(tick.startswith("q 0.") for tick in ticks)
    assert not any("%" in tick for tick in ticks)
    page.close()


@pytest.mark.parametrize("width", [390, 2560])
def test_nothing_is_cut_on_a_narrow_or_a_wide_screen(browser: Browser, many: Path, width: int) -> None:
    page = watch(browser, many, width).page
    for address in ("#/search", page.locator("svg.lineage a.candidate").last.get_attribute("href")):
        page.evaluate("address => { location.hash = address; }", address)
        page.wait_for_selector("svg.lineage")
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.close()
