"""The page of open answers: results by field, filters, and units in their colours."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from benchmarks._view_server import Served, serve
from oversight.harness.cli.main import main
from oversight.harness.config import read_study
from oversight.harness.open_answers import read_judged_answers
from oversight.harness.store import Store
from tests.open_answers.open_study import KEY, lay_out
from tests.view.browser.conftest import Reader

pytestmark = [pytest.mark.browser, pytest.mark.slow]


@pytest.fixture
def answered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Served, dict[str, Any]]]:
    """A served study with all questions answered, and its page's data on errors in physics."""
    monkeypatch.chdir(tmp_path)
    lay_out(tmp_path, lambda *words: main([*words]))
    main(["label", "route", "--questions", "150"])
    main(["label", "simulate", "--key", KEY])
    study = read_study("study.toml")
    with Store(study.store_url) as store:
        told = read_judged_answers(study, store, field="physics", outcome="error")
    with serve(tmp_path) as served:
        yield served, told


def test_errors_of_a_field_are_shown_in_their_answers(
    answered: tuple[Served, dict[str, Any]], reader: Reader
) -> None:
    served, told = answered
    page = reader().open(served.url)
    expect(page.get_by_role("heading", level=1)).to_have_text("Answers")
    expect(page.locator("#matches")).to_have_text("120 of 120 answers")
    # three models with a row for all fields and three rows for single fields
    assert page.locator("tbody tr").count() == 12
    page.select_option("#filter-field", "physics")
    page.select_option("#filter-outcome", "error")
    expect(page.locator("#matches")).to_have_text(f"{told['matches']} of 120 answers")
    shown, first = page.locator("article").first, told["answers"][0]
    expect(shown.get_by_role("heading")).to_have_text(f"{first['item']} · {first['model']}")
    states = [unit["state"] for unit in first["units"]]
    assert [shown.locator("li").nth(j).get_attribute("class") for j in range(len(states))] == [
        f"unit {state}" for state in states
    ]
    assert {"field=physics", "outcome=error"} == {*page.url.partition("?")[2].split("&")}


def test_units_are_named_by_what_experts_said(
    answered: tuple[Served, dict[str, Any]], reader: Reader
) -> None:
    served, told = answered
    units = [unit for answer in told["answers"] for unit in answer["units"]]
    harmful = {(unit["word"], unit["state"]) for unit in units if unit["points"] < 0}
    assert harmful >= {("met", "error"), ("not met", "right")}
    wanted = {(unit["word"], unit["state"]) for unit in units if unit["points"] > 0}
    assert wanted >= {("met", "right"), ("not met", "error")}
    page = reader().open(served.url)
    page.select_option("#filter-outcome", "unasked")
    expect(page.locator("li.unasked").first).to_contain_text("· not asked: ")
    assert page.locator("li.open").count() == 0  # all questions are answered
    expect(page.get_by_text("−5 points").first).to_be_visible()
