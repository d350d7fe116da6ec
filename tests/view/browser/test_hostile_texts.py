"""Texts that would like to be more than texts stay texts, in every place where others' texts are shown."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Page, expect

from benchmarks._view_server import serve
from oversight.harness.types import Program
from tests.agents.made_search import HOSTILE as PROGRAM
from tests.agents.made_search import source_of
from tests.view.browser.conftest import Reader, visit
from tests.view.browser.hostile_study import COLUMNS, HOSTILE, LONG, MODELS, name_of, text_of
from tests.view.browser.studies import HOSTILE_SOURCE, Drawn, file_of

pytestmark = [pytest.mark.browser, pytest.mark.slow]

WALK = """async (addresses) => {
  const main = document.getElementById("main");
  const found = [];
  for (const address of addresses) {
    const drawn = new Promise((resolve) => {
      const watch = new MutationObserver(() => {
        if (main.hasAttribute("aria-busy") || main.textContent.includes("reading …")) return;
        watch.disconnect();
        resolve();
      });
      watch.observe(main, { attributes: true, childList: true, subtree: true });
    });
    location.hash = address;
    await drawn;
    found.push({ address, text: main.textContent,
      trouble: main.querySelector("[role=alert]")?.textContent ?? null, hit: window.hit ?? null,
      wide: document.documentElement.scrollWidth - innerWidth,
      odd: main.querySelectorAll("script, iframe, img, object, embed, style, link, base").length,
      bad: [...main.querySelectorAll("a[href]")].map((link) => link.getAttribute("href"))
        .filter((href) => !href.startsWith("#/")) });
  }
  return found;
}"""


def walk(page: Page, addresses: list[str]) -> dict[str, str]:
    """Go to every address; the text that each page shows."""
    found = page.evaluate(WALK, addresses)
    for seen in found:
        told = {name: value for name, value in seen.items() if name != "text"}
        assert told == {
            "address": seen["address"], "trouble": None, "wide": 0, "hit": None, "odd": 0, "bad": []
        }  # fmt: skip
    return {seen["address"]: seen["text"] for seen in found}


def address(page: str, **params: str) -> str:
    return f"#/{page}?{urlencode(params)}"


@pytest.mark.parametrize("way", ["served", "file"])
def test_study_with_hostile_texts_is_shown(way: str, reader: Reader, hostile: Path) -> None:
    if way == "file":
        watched = reader(390)
        look_through(watched.open(file_of(hostile)))
        assert watched.abroad == []
        return
    with serve(hostile) as served:
        page = reader(390).open(served.url)
        look_through(page)
        page.close()


def look_through(page: Page) -> None:
    walk(page, ["#/items", "#/collection", "#/compare"])
    items = [address("item", id=name_of(j)) for j in range(len(HOSTILE))]
    shown = walk(page, items)
    for j, link in enumerate(items):
        assert shown[link].count(text_of(j)) >= 3  # in the name, text, strata and replies
        assert (LONG in shown[link]) == (j == 5)
        for text in (*HOSTILE, *MODELS):
            assert text in shown[link]  # options and models
    models = [address("model", name=model) for model in MODELS]
    for link, text in walk(page, models).items():
        assert all(f"By {column}" in text for column in COLUMNS), link
    pairs = [address("compare", first=a, second=b) for a, b in pairwise(MODELS)]
    for link, text in walk(page, pairs).items():
        assert "Items on which the two models differ" in text, link
    strata = [address("items", column=column, stratum=HOSTILE[0]) for column in COLUMNS]
    strata += [address("items", expert=name, asked=name) for name in HOSTILE[1::6]]
    for link, text in walk(page, strata).items():
        assert "0 of " not in text.partition("items")[0], link


def test_items_with_any_name_can_be_opened(reader: Reader, hostile: Path) -> None:
    page = reader().open(f"{file_of(hostile)}#/items")
    for j in (4, 6, 25, 29, 31):
        visit(page, f"{file_of(hostile)}#/items")
        page.get_by_role("link", name=name_of(j).strip(), exact=True).first.click()
        expect(page.get_by_role("heading", level=1)).to_have_text(name_of(j))
        page.keyboard.press("j")
        expect(page.get_by_role("heading", level=1)).to_have_text(name_of(j + 1))


def test_hostile_search_words_are_plain_text(reader: Reader, hostile: Path) -> None:
    page = reader().open(f"{file_of(hostile)}#/items")
    for text in (HOSTILE[3], HOSTILE[4], "'; drop table item; --", '" OR "1"="1', "%%%", "\\"):
        page.locator("#filter-words").fill(text)
        page.get_by_role("button", name="search").click()
        # wait for the value that the new page wrote
        expect(page.locator("#filter-words")).to_have_js_property("defaultValue", text.strip())
        expect(page.locator("#filter-words")).to_have_value(text.strip())
        expect(page.locator("#matches")).to_contain_text("of 72 items")
    assert page.evaluate("() => window.hit ?? null") is None


def test_hostile_programs_and_notes_are_plain_text(reader: Reader, drawn: Drawn) -> None:
    page = reader(390).open(file_of(drawn.hostile_search))
    search = address("search", id="made")
    winner, last = Program("", source_of(0)).id, Program("", HOSTILE_SOURCE).id
    shown = walk(
        page,
        [
            search,
            f"{search}&{urlencode({'candidate': winner})}",
            f"{search}&{urlencode({'candidate': winner, 'item': 'i0'})}",
            f"{search}&{urlencode({'candidate': last})}",
            f"{search}&candidate={winner}&only=unreadable",
        ],
    )
    for text in shown.values():
        assert PROGRAM in text
    assert all(line in "".join(shown.values()) for line in HOSTILE_SOURCE.splitlines())
