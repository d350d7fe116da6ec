"""Every page from a phone to a wide screen, and on paper: nothing lies outside of its box."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Page

from tests.view.browser.conftest import Reader
from tests.view.browser.studies import Drawn, file_of

pytestmark = pytest.mark.browser

PAGES = ("overview", "model", "items", "item", "compare", "collection", "panel", "search", "candidate",
         "candidate item", "hostile")  # fmt: skip
OUTSIDE = """() => {
  const named = (node) => `${node.tagName} ${node.textContent.slice(0, 40)}`;
  const box = (node) => node.getBoundingClientRect();
  const whole = document.documentElement.scrollWidth;
  const found = whole > innerWidth ? [`page of ${whole}`] : [];
  const parts = "a, button, select, input, summary, h1, h2, h3, p, li, .strip, pre";
  for (const node of document.querySelectorAll(parts)) {
    if (node.closest(".scroll, svg, .skip") || !node.getClientRects().length) continue;
    if (box(node).left < -1 || box(node).right > innerWidth + 1) found.push(named(node));
    const isNarrow = node.clientWidth && node.scrollWidth > node.clientWidth + 1;
    if (isNarrow && node.matches("button, a, summary")) found.push(named(node));
  }
  for (const svg of document.querySelectorAll("figure svg")) {
    const whole = box(svg);
    const title = svg.querySelector("title").textContent;
    for (const node of svg.querySelectorAll("text, circle, rect, .line, .interval")) {
      const part = box(node);
      if (!part.width && !part.height) continue;
      if (part.left < whole.left - 1 || part.right > whole.right + 1 || part.top < whole.top - 1
        || part.bottom > whole.bottom + 1) found.push(`${title}: ${named(node)}`);
    }
  }
  for (const table of document.querySelectorAll(".scroll"))
    if (box(table).right > innerWidth + 1) found.push(named(table));
  return [...new Set(found)];
}"""
CUT = """() => [...document.querySelectorAll("main *")].filter((node) => {
  if (!node.getClientRects().length || node.closest("svg") !== null && node.tagName !== "svg") return false;
  const style = getComputedStyle(node);
  return node.getBoundingClientRect().right > innerWidth + 1
    || (style.overflowX !== "visible" && node.scrollWidth > node.clientWidth + 1)
    || (style.overflowY !== "visible" && node.scrollHeight > node.clientHeight + 1);
}).map((node) => `${node.tagName}.${node.getAttribute("class")} ${node.textContent.slice(0, 40)}`)"""


def open_page(name: str, reader: Reader, drawn: Drawn, hostile: Path, width: int) -> Page:
    return reader(width).open(drawn.pages[name] if name in drawn.pages else file_of(hostile))


@pytest.mark.parametrize("name", PAGES)
def test_nothing_is_cut_on_any_screen_and_on_paper(
    name: str, reader: Reader, drawn: Drawn, hostile: Path
) -> None:
    page = open_page(name, reader, drawn, hostile, 390)
    found = {}
    for width in (390, 768, 1280, 2560):
        page.set_viewport_size({"width": width, "height": 900})
        page.evaluate("() => new Promise((resolve) => setTimeout(() => requestAnimationFrame(resolve), 50))")
        page.locator("main:not([aria-busy]) > div").first.wait_for()
        found[width] = page.evaluate(OUTSIDE)
    assert found == {390: [], 768: [], 1280: [], 2560: []}
    page.set_viewport_size({"width": 720, "height": 1000})  # the width of a printed page without its margins
    page.emulate_media(media="print")
    assert page.evaluate(CUT) == []
    for hidden in ("nav", ".tools", ".filters"):
        assert not [node for node in page.locator(hidden).all() if node.is_visible()]
