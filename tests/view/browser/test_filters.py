"""Every filter of the items finds on the page, served and as a file, what it finds in Python."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Page, expect

from benchmarks._view_server import serve
from oversight.harness.analysis import ItemFilter, StudyItems
from oversight.harness.config import read_study
from oversight.harness.store import Store
from oversight.harness.types import Item
from tests.analysis.test_item_pages import SINGLES, N, fill
from tests.view.browser.conftest import Reader
from tests.view.browser.studies import export, file_of

pytestmark = pytest.mark.browser

SETTINGS = """\
[study]
name = "Filters"
seed = 3
[items]
file = "items.csv"
classes = ["red", "green", "blue"]
meta = ["ward"]
"""
VISIT = """async (addresses) => {
  const main = document.getElementById("main");
  const found = [];
  for (const address of addresses) {
    const drawn = new Promise((resolve) => {
      const watch = new MutationObserver(() => {
        if (main.hasAttribute("aria-busy")) return;
        watch.disconnect();
        resolve();
      });
      watch.observe(main, { attributes: true });
    });
    location.hash = address;
    await drawn;
    found.push({ ids: [...document.querySelectorAll("#items > li > a")].map((link) => link.textContent),
      matches: document.getElementById("matches")?.textContent ?? main.textContent });
  }
  return found;
}"""
SPLIT_TEXTS = (
    "Straße Strasse",
    "ÎLE île naïve",
    "東京都庁 は 日本 に",
    "foo_bar under_score",
    "ΟΔΟΣ οδος",
    "ﬁne ｗｉｄｅ",
    f"{'long' * 20} end",
    "हिन्दी भाषा שָׁלוֹם",
    "emoji 🙂 only",
    "don't e.g. 3,5 x²",
)
SPLIT_WORDS = (
    *(
        "strasse",
        "STRASSE str",
        "ile",
        "naiv",
        "東",
        "東京",
        "京都 庁",
        "foo",
        "bar foo",
        "under_score",
        "fo",
    ),
    *(
        "ΟΔΌΣ",
        "οδο",
        "fine",
        "wide",
        "long" * 20,
        "long" * 16,
        "हिन्दी",
        "भा",
        "שלום",
        "שָׁלוֹם",
        "🙂",
        "!!!",
        "don",
    ),
    *("t don", "3 5", "x2", "x²", "  ", "emoji only", "only emoji en", "i"),
)


@dataclass(frozen=True)
class Filtered:
    """A study, its page served, and the same as a file."""

    store: Store
    served: str
    file: str

    def find(self, **fields: Any) -> list[str]:
        found = StudyItems.read(self.store).read_page(ItemFilter(**fields), limit=500)
        return [*found.items.values()]


@pytest.fixture(scope="module")
def filtered(chromium_path: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Filtered]:
    yield from serve_items(tmp_path_factory.mktemp("filters"), fill)


@pytest.fixture(scope="module")
def split(chromium_path: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Filtered]:
    classes = ("red", "green", "blue")
    items = [Item(f"i{j}", text, classes, (0, 1, 2), {"ward": "a"}) for j, text in enumerate(SPLIT_TEXTS)]
    yield from serve_items(tmp_path_factory.mktemp("words"), lambda store: store.content.add_items(items))


def serve_items(folder: Path, fill_store: Any) -> Iterator[Filtered]:
    (folder / "study.toml").write_text(SETTINGS)
    with Store(read_study(folder / "study.toml").store_url) as store:
        fill_store(store)
        export(folder)
        with serve(folder) as running:
            yield Filtered(store, running.url, file_of(folder))


def address_of(fields: dict[str, Any]) -> str:
    """A filter as an address carries it."""
    named = {name: value for name, value in fields.items() if name not in ("stratum", "disagreed")}
    if "stratum" in fields:
        named |= dict(zip(("column", "stratum"), fields["stratum"], strict=True))
    if "disagreed" in fields:
        named["disagreed"] = "\n".join(fields["disagreed"])
    return f"#/items?{urlencode(named)}"


@pytest.mark.slow
@pytest.mark.parametrize("way", ["served", "file"])
def test_every_pair_of_filters_finds_the_same_items(way: str, reader: Reader, filtered: Filtered) -> None:
    asked: list[dict[str, Any]] = [{}]
    for fields in [*SINGLES, *({**a, **b} for a, b in combinations(SINGLES, 2))]:
        if fields not in asked:
            asked.append(fields)
    found = reader().open(getattr(filtered, way)).evaluate(VISIT, [address_of(fields) for fields in asked])
    for fields, shown in zip(asked, found, strict=True):
        wanted = filtered.find(**fields)
        assert shown["ids"] == wanted[:50], fields
        assert shown["matches"].startswith(f"{len(wanted)} of {N} items"), fields


@pytest.mark.parametrize("way", ["served", "file"])
def test_words_of_any_script_find_the_same_items(way: str, reader: Reader, split: Filtered) -> None:
    addresses = [address_of({"words": words}) for words in SPLIT_WORDS]
    found = reader().open(getattr(split, way)).evaluate(VISIT, addresses)
    assert {words: shown["ids"] for words, shown in zip(SPLIT_WORDS, found, strict=True)} == {
        words: split.find(words=words) for words in SPLIT_WORDS
    }


@pytest.mark.parametrize("way", ["served", "file"])
def test_pages_go_over_every_item_once_and_back(way: str, reader: Reader, filtered: Filtered) -> None:
    page = reader().open(getattr(filtered, way))
    page.get_by_role("link", name="Items", exact=True).click()
    pages, wanted = [ids_of(page)], filtered.find()
    for start in (50, 100):
        page.get_by_role("link", name="next →").first.click()
        expect(page.locator("#items > li > a").first).to_have_text(wanted[start])
        pages.append(ids_of(page))
    assert [name for names in pages for name in names] == wanted
    expect(page.get_by_role("link", name="next →")).to_have_count(0)
    for names in pages[-2::-1]:
        page.get_by_role("link", name="← previous").last.click()
        expect(page.locator("#items > li > a").first).to_have_text(names[0])
        assert ids_of(page) == names
    expect(page.get_by_role("link", name="← previous")).to_have_count(0)


def ids_of(page: Page) -> list[str]:
    expect(page.locator("#items > li").first).to_be_visible()
    return page.locator("#items > li > a").all_inner_texts()


@pytest.mark.parametrize("way", ["served", "file"])
def test_the_form_sets_every_filter(way: str, reader: Reader, filtered: Filtered) -> None:
    page = reader().open(getattr(filtered, way))
    page.get_by_role("link", name="Items", exact=True).click()

    def shows(**fields: Any) -> None:
        expect(page.locator("#matches")).to_contain_text(f"{len(filtered.find(**fields))} of {N} items")
        assert page.locator("#items > li > a").all_inner_texts() == filtered.find(**fields)[:50]

    page.get_by_label("words").fill("fever")
    page.keyboard.press("Enter")
    shows(words="fever")
    fields: dict[str, Any] = {"words": "fever"}
    for name, value in {"expert": "ana", "verdict": "refuted", "asked": "red", "model": "m"}.items():
        page.locator(f"#filter-{name}").select_option(value)
        fields[name] = value
        shows(**fields)
    page.get_by_role("button", name="clear").click()
    shows()
    page.get_by_role("combobox", name="column", exact=True).select_option("ward")
    page.get_by_role("combobox", name="ward", exact=True).select_option("night")
    shows(stratum=("ward", "night"))
    page.get_by_role("combobox", name="models disagree").select_option(label="any two of them")
    shows(stratum=("ward", "night"), disagreed=("m", "n", "o"))
    page.get_by_role("combobox", name="column", exact=True).select_option("")
    page.get_by_role("combobox", name="outcome of").select_option("unreadable")
    shows(disagreed=("m", "n", "o"), outcome="unreadable")


def test_a_choice_before_the_page_is_drawn_counts(reader: Reader, filtered: Filtered) -> None:
    page = reader().open(f"{filtered.file}#/items?expert=ana&words=fever")
    page.evaluate("""() => {
      for (const [name, value] of [["expert", ""], ["model", "m"], ["verdict", "open"]]) {
        const choice = document.getElementById(`filter-${name}`);
        choice.value = value;
        choice.dispatchEvent(new Event("change"));
      }
    }""")
    wanted = filtered.find(words="fever", model="m", verdict="open")
    expect(page.locator("#matches")).to_contain_text(f"{len(wanted)} of {N} items")
