"""Two models side by side: the items on which they differ, and who is better, whoever stands first."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from benchmarks._view_server import Served
from oversight.harness.analysis import ItemFilter, StudyItems
from oversight.harness.config import read_study
from oversight.harness.store import Store
from tests.view.browser.conftest import Reader, here, visit
from tests.view.browser.studies import Drawn, file_of

pytestmark = pytest.mark.browser


@pytest.mark.parametrize("way", ["served", "file"])
@pytest.mark.parametrize(("first", "second"), [("good", "bad"), ("bad", "good")])
def test_comparison_is_the_same_in_both_orders(
    way: str,
    first: str,
    second: str,
    reader: Reader,
    running: Served,
    drawn: Drawn,
    oversight: Callable[..., Any],
) -> None:
    (pair,) = oversight("compare", "--study", drawn.colours / "study.toml")["comparisons"]
    turn = 1 if pair["first"] == first else -1
    low, high = sorted((turn * pair["low"], turn * pair["high"]))
    page = reader().open(running.url if way == "served" else file_of(drawn.colours))
    page.get_by_role("link", name="Compare").click()
    page.get_by_role("combobox", name="model", exact=True).select_option(first)
    page.get_by_role("combobox", name="against").select_option(second)
    strip = page.get_by_role("region", name="verdict")
    expect(strip).to_contain_text(f"{pair['verdict']} is better.")
    expect(strip).to_contain_text(f"{first} − {second}: {points(turn * pair['difference'])} points")
    expect(strip).to_contain_text(f"95 % interval {points(low)} to {points(high)}")
    expect(strip).to_contain_text(f"answers; method: {pair['method']}")
    with Store(read_study(drawn.colours / "study.toml").store_url) as store:
        wanted = StudyItems.read(store).read_page(ItemFilter(disagreed=(first, second)), limit=500)
    names = [*wanted.items.values()]
    expect(page.get_by_role("status").first).to_contain_text(f"{len(names)} of 80 items.")
    assert shown_on(page) == names
    for item in page.locator("#items > li").all():
        assert {*item.locator(".quiet").all_inner_texts()} == {f"{first}: ", f"{second}: "}
    picture = page.locator("figure", has_text="against 0").locator("svg")
    expect(picture.locator("desc")).to_contain_text(f"{points(low)} to {points(high)}")
    interval, zero = picture.locator(".interval"), picture.locator(".reference")
    ends = sorted(float(interval.get_attribute(end) or "nan") for end in ("x1", "x2"))
    at = float(zero.get_attribute("x1") or "nan")
    assert (ends[0] > at) == (low > 0)
    assert (ends[1] < at) == (high < 0)


def points(difference: float) -> str:
    return f"{100 * difference:+.1f}".replace("-", "−")


def shown_on(page: Page) -> list[str]:
    """The items of all pages, forward."""
    links = page.locator("#items > li > a")
    found = links.all_inner_texts()
    while page.get_by_role("link", name="next →").count():
        page.get_by_role("link", name="next →").first.click()
        expect(links.first).not_to_have_text(found[-20])
        found += links.all_inner_texts()
    return found


def test_an_item_leads_on_through_those_that_differ(page: Page, running: Served) -> None:
    visit(page, here(running, "#/compare?first=good&second=bad"))
    links = page.locator("#items > li > a")
    expect(links.first).to_be_visible()
    first, second = links.all_inner_texts()[:2]
    links.first.click()
    expect(page.get_by_role("heading", level=1)).to_have_text(first)
    page.keyboard.press("j")
    expect(page.get_by_role("heading", level=1)).to_have_text(second)


def test_a_model_is_not_compared_with_itself(page: Page, running: Served) -> None:
    visit(page, here(running, "#/compare?first=good&second=good"))
    expect(page.get_by_text("Choose two different models.")).to_be_visible()
