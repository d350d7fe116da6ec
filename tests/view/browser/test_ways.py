"""Ways through the page: from a number down to the items behind it, by keys, and by an address alone."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from benchmarks._view_server import Served
from oversight.harness.analysis import ItemFilter, ModelOutcome, StudyItems
from oversight.harness.config import read_study
from oversight.harness.store import Store
from tests.view.browser.conftest import Reader, here, visit
from tests.view.browser.studies import Drawn, file_of

pytestmark = pytest.mark.browser


@pytest.mark.parametrize("way", ["served", "file"])
def test_links_lead_to_an_item_and_keys_to_the_next(
    way: str, reader: Reader, running: Served, drawn: Drawn
) -> None:
    page = reader().open(running.url if way == "served" else file_of(drawn.colours))
    with Store(read_study(drawn.colours / "study.toml").store_url) as store:
        items = StudyItems.read(store)
        refuted = items.read_page(ItemFilter(model="bad", outcome=ModelOutcome.REFUTED), limit=500).items
    names = [*refuted.values()]
    page.get_by_role("region", name="Accuracy by experts' answers").get_by_role("link", name="bad").click()
    expect(page.get_by_role("heading", name="bad", exact=True)).to_be_visible()
    page.get_by_role("link", name=f"refuted by an expert ({len(names)})").click()
    expect(page.locator("#matches")).to_have_text(f"{len(names)} of 80 items")
    assert page.locator("#items > li > a").all_inner_texts() == names
    page.get_by_role("link", name=names[0], exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_have_text(names[0])
    for key, place in (("j", 1), ("ArrowRight", 2), ("k", 1), ("ArrowLeft", 0), ("k", 0), ("ArrowRight", 1)):
        page.keyboard.press(key)
        expect(page.get_by_role("heading", level=1)).to_have_text(names[place])
    expect(page.locator("article", has_text="bad").locator(".badge")).to_have_text("refuted")
    page.get_by_role("link", name="next (j) →").click()
    expect(page.get_by_role("heading", level=1)).to_have_text(names[2])
    page.keyboard.press("u")
    expect(page.locator("#matches")).to_have_text(f"{len(names)} of 80 items")
    assert {"model=bad", "outcome=refuted"} == {*page.url.partition("?")[2].split("&")}
    page.go_back()
    expect(page.get_by_role("heading", level=1)).to_have_text(names[2])


ADDRESSES = (
    "#/",
    "#/model?name=good",
    "#/items?model=bad&outcome=refuted&after=20",
    "#/items?words=text+1&column=level&stratum=hard",
    "#/item?outcome=unreadable&id=i7",
    "#/compare?first=bad&second=good",
    "#/collection",
)


@pytest.mark.parametrize("address", ADDRESSES)
def test_an_address_alone_shows_the_same_page(address: str, page: Page, running: Served) -> None:
    visit(page, here(running, address))
    other = visit(page.context.new_page(), here(running, address))
    assert other.locator("main").inner_text() == page.locator("main").inner_text()
    assert "pass=" not in page.url


@pytest.mark.parametrize("address", ["#/constructor", "#/__proto__", "#/%", "#/%E0%A4?x=%", "#/nowhere?a=b"])
def test_an_address_that_leads_nowhere_shows_the_overview(address: str, reader: Reader, drawn: Drawn) -> None:
    page = reader().open(file_of(drawn.colours) + address)
    expect(page.get_by_role("heading", name="Overview", level=1)).to_be_visible()


def test_missing_parts_are_named_under_their_heading(page: Page, running: Served) -> None:
    errors: list[str] = []
    page.on("console", lambda message: errors.append(message.text))
    visit(page, here(running, "#/collection"))
    visit(page, here(running, "#/model?name=nobody"))
    expect(page.get_by_role("heading", name="nobody", level=1)).to_be_visible()
    expect(page.get_by_text("There is no estimate for this model.")).to_be_visible()
    assert errors == []
