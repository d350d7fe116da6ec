"""The page shows what the command prints, served and from a file that asks nobody."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, Route, expect

from benchmarks._view_server import Served
from oversight.harness.analysis import ModelReport, report_study
from oversight.harness.config import read_study
from oversight.harness.report import model_to_json
from oversight.harness.store import Store
from oversight.harness.types import estimator_name, interval_text, method_text, value_text
from tests.view.browser.conftest import Reader, here, visit
from tests.view.browser.studies import Drawn, file_of

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def models(drawn: Drawn) -> list[ModelReport]:
    study = read_study(drawn.colours / "study.toml")
    with Store(study.store_url) as store:
        return list(report_study(store, study).models)


@pytest.mark.parametrize("way", ["served", "file"])
def test_page_shows_the_printed_numbers_of_every_model(
    way: str,
    reader: Reader,
    running: Served,
    drawn: Drawn,
    models: list[ModelReport],
    oversight: Callable[..., Any],
) -> None:
    printed = oversight("estimate", "--study", drawn.colours / "study.toml")["models"]
    assert json.loads(json.dumps({model.name: model_to_json(model) for model in models})) == printed
    page = reader().open(running.url if way == "served" else file_of(drawn.colours))
    for model in models:
        visit(page, here(running, "#/") if way == "served" else file_of(drawn.colours))
        quoted = model.accuracy
        assert quoted is not None
        row = page.get_by_role("region", name="Accuracy by experts' answers").get_by_role(
            "row", name=model.name
        )
        expect(row.get_by_role("cell").nth(1)).to_have_text(value_text(quoted))
        ends = row.get_by_role("cell").all_inner_texts()[2:4]
        assert f"{ends[0]} – {ends[1]}" == interval_text(quoted).removesuffix(" (!)")
        row.get_by_role("link").click()
        strip = page.get_by_role("region", name="verdict")
        expect(strip).to_contain_text(f"{value_text(quoted)}, 95 % interval {interval_text(quoted)}")
        shows_estimates(page, model)


def shows_estimates(page: Page, model: ModelReport) -> None:
    expect(page.get_by_role("heading", level=1)).to_have_text(model.name)
    table = page.get_by_role("region", name="Estimates", exact=True)
    rows = table.locator("tbody tr")
    expect(rows).to_have_count(len(model.estimates))
    for place, (name, estimate) in enumerate(model.estimates.items()):
        shown = rows.nth(place).locator("th, td").all_inner_texts()
        assert shown[0] == estimator_name(name)
        assert shown[1] == value_text(estimate)
        assert f"{shown[2]} – {shown[3]}" == interval_text(estimate).removesuffix(" (!)")
        assert shown[5] == method_text(estimate)
        n = model_to_json(model)["estimates"][name]["n"]
        kinds = ("ordinary", "complementary", "abstained", "unreadable", "failed", "unlabelled", "unasked")
        assert shown[7:] == [str(n[kind]) for kind in kinds]


def test_assumptions_that_all_estimators_share_are_listed_once(reader: Reader, drawn: Drawn) -> None:
    page = reader().open(file_of(drawn.colours))
    page.get_by_role("region", name="Accuracy by experts' answers").get_by_role("link").first.click()
    page.get_by_text("Assumptions of each estimator").click()
    folded = page.locator("details", has_text="Assumptions of each estimator")
    expect(folded.get_by_role("heading", name="All estimators")).to_be_visible()
    lines = folded.locator("li").all_inner_texts()
    assert len(lines) == len(set(lines)) > 0


def test_exported_file_sends_no_requests(reader: Reader, drawn: Drawn) -> None:
    watched, sent = reader(), list[str]()

    def refuse(route: Route) -> None:
        sent.append(route.request.url)
        if route.request.url.startswith("file:"):
            route.continue_()
        else:
            route.abort()

    watched.context.route("**/*", refuse)
    watched.context.set_offline(True)
    for address in drawn.pages.values():
        watched.open(address)
    assert watched.abroad == []
    assert [url for url in sent if not url.startswith("file:")] == []
    assert len(watched.asked) == len(drawn.pages)  # only the files themselves were requested
