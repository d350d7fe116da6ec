"""The strip on top of every page: the verdict, what speaks against it before it, and what it rests on."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from oversight.harness.config import ModelSection
from oversight.harness.llm import make_spec
from oversight.harness.store import Store
from oversight.harness.types import Answer, Verdict
from tests.view.browser.conftest import Reader, visit
from tests.view.browser.studies import Drawn, export, file_of
from tests.view.conftest import N, fill, lay_out, predict

pytestmark = pytest.mark.browser


def verdict_of(page: Page) -> str:
    return page.locator(".strip").inner_text()


def test_every_page_has_a_verdict(reader: Reader, drawn: Drawn) -> None:
    watched = reader()
    for name, address in drawn.pages.items():
        if name not in ("candidate", "candidate item"):
            page = watched.open(address)
            expect(page.locator(".strip")).to_have_count(1)
            expect(page.locator(".strip .verdict")).not_to_be_empty()
            page.close()


def test_better_model_is_named_with_its_difference(reader: Reader, drawn: Drawn) -> None:
    told = verdict_of(reader().open(drawn.pages["overview"]))
    assert "good is the best of 2 models (!): " in told  # some questions have no yes or no
    assert "70 of 80 questions answered." in told


def test_doubtful_comparison_is_marked(reader: Reader, tmp_path: Path) -> None:
    study = lay_out(tmp_path)
    fill(study)
    with Store(study.store_url) as store:
        spec = make_spec("half", ModelSection(model="half"), "$text", None)
        store.runs.add_run(spec)
        store.runs.store_predictions([(spec.id, predict(j, 2)) for j in range(N // 2)])
    export(tmp_path)
    page = reader().open(file_of(tmp_path))
    assert "Not decided which model is the best: good, bad (!)" in verdict_of(page)
    page.get_by_text("Intervals by number of labels").click()
    expect(page.get_by_text("(!) half: the interval may not hold: ")).to_be_visible()


def test_without_answers_it_says_so(reader: Reader, tmp_path: Path) -> None:
    fill(lay_out(tmp_path), answered=0)
    export(tmp_path)
    assert verdict_of(reader().open(file_of(tmp_path))).startswith("No accuracy yet: ")


def test_a_failed_check_stands_before_the_verdict(reader: Reader, tmp_path: Path) -> None:
    study = lay_out(tmp_path)
    fill(study, answered=0)
    with Store(study.store_url) as store:
        asked = store.content.read_questions()
        store.content.add_answers(Answer(q, q.expert, Verdict.YES, "test") for q in asked)
    export(tmp_path)
    page = reader(390).open(file_of(tmp_path))
    warning, *rest = verdict_of(page).splitlines()
    assert warning.startswith("! ")
    assert "yes_rate" in warning
    assert "for 2 of 2 models: do not report these numbers" in warning
    assert rest
    failed = page.get_by_role("region", name="Checks that failed")
    expect(failed).to_be_visible()
    assert failed.evaluate("(box) => box.scrollWidth <= box.clientWidth")  # a phone shows whole messages
    models = page.get_by_role("region", name="Accuracy by experts' answers")
    above, below = failed.bounding_box(), models.bounding_box()
    assert above is not None
    assert below is not None
    assert above["y"] < below["y"]


def test_many_models_are_grouped_by_their_answers(reader: Reader, tmp_path: Path) -> None:
    study = lay_out(tmp_path)
    fill(study)
    with Store(study.store_url) as store:
        for number in range(18):
            spec = make_spec(f"m{number}", ModelSection(model=f"m{number}"), "$text", None)
            store.runs.add_run(spec)
            store.runs.store_predictions([(spec.id, predict(j, 3)) for j in range(N)])
    export(tmp_path)
    page = reader(390).open(f"{file_of(tmp_path)}#/items")
    first = page.locator("#items > li").first
    assert "20 models: " in first.inner_text()
    assert len(first.inner_text()) < 200
    visit(page, f"{file_of(tmp_path)}#/item?id=i1")
    replies = page.locator("article pre")
    expect(replies).to_have_count(20)
    expect(replies.first).not_to_be_visible()
