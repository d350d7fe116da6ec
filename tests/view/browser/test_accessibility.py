"""Every page by keyboard and for a screen reader, by day and by night."""

from __future__ import annotations

from itertools import pairwise

import pytest
from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import Page

from tests.view.browser.conftest import Reader
from tests.view.browser.studies import Drawn

pytestmark = [pytest.mark.browser, pytest.mark.slow]

PAGES = ("overview", "model", "items", "item", "compare", "collection", "panel", "search", "candidate",
         "candidate item")  # fmt: skip
STOPS = """() => {
  window.stops = [];
  document.addEventListener("focusin", ({ target }) => {
    const { outlineStyle, outlineWidth } = getComputedStyle(target);
    window.stops.push([target, outlineStyle !== "none" && outlineWidth !== "0px"]);
  });
  const stops = document.querySelectorAll("a[href], button, input, select, summary, [tabindex='0']");
  window.expected = [...stops].filter((node) => node.checkVisibility() && !node.disabled
    && node.getAttribute("tabindex") !== "-1");
  return window.expected.length;
}"""
MISSED = """() => window.expected
  .filter((node) => !window.stops.some(([stop, seen]) => stop === node && seen))
  .map((node) => `${node.tagName} ${node.textContent.slice(0, 40)}`)"""


def check(page: Page, *rules: str) -> list[str]:
    """Serious and critical findings of axe; the debugger injects axe because the page's policy forbids it."""
    page.evaluate(AXE_SCRIPT)
    only = {"runOnly": {"type": "rule", "values": list(rules)}} if rules else {}
    found = page.evaluate("(options) => axe.run(options)", {"resultTypes": ["violations"], **only})
    return [
        f"{broken['id']}: {node['html'][:200]}"
        for broken in found["violations"]
        if broken["impact"] in ("serious", "critical")
        for node in broken["nodes"]
    ]


@pytest.mark.parametrize("name", PAGES)
def test_a_screen_reader_finds_its_way(name: str, reader: Reader, drawn: Drawn) -> None:
    page = reader().open(drawn.pages[name])
    assert check(page) == []
    page.emulate_media(color_scheme="dark")
    assert check(page, "color-contrast", "link-in-text-block") == []
    levels = page.evaluate(
        "() => [...document.querySelectorAll('main :is(h1, h2, h3, h4)')].map((h) => +h.tagName[1])"
    )
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(level <= before + 1 for before, level in pairwise(levels))
    for svg in page.locator("figure svg").all():
        assert svg.locator("> title").count() == svg.locator("> desc").count() == 1
        assert svg.get_attribute("aria-labelledby")
    ids = page.evaluate("() => [...document.querySelectorAll('[id]')].map((node) => node.id)")
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize("name", PAGES)
def test_every_control_is_reached_by_tab_and_shows_it(name: str, reader: Reader, drawn: Drawn) -> None:
    page = reader().open(drawn.pages[name])
    for _ in range(5 + page.evaluate(STOPS)):  # boxes that scroll are also tab stops
        page.keyboard.press("Tab")
    assert page.evaluate(MISSED) == []


def test_the_first_stop_leads_past_the_navigation(reader: Reader, drawn: Drawn) -> None:
    page = reader().open(drawn.pages["overview"])
    page.keyboard.press("Tab")
    assert page.evaluate("() => document.activeElement.id") == "skip"
    page.keyboard.press("Enter")
    assert page.evaluate("() => document.activeElement.id") == "main"
    page.keyboard.press("Tab")
    assert page.evaluate("() => document.activeElement.closest('main') !== null")
