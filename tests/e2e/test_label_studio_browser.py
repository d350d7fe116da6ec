"""People at work in a real browser: mouse, hotkeys, comments, a skip, and what comes home of it."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from oversight.harness.estimate import decode
from oversight.harness.store import Store
from oversight.harness.types import Prediction, Verdict
from oversight.protocols.collect.label_studio.server.own_server import LabelStudioServer
from tests.e2e.conftest import EXPERTS, PASSWORD, Bench, Person
from tests.e2e.test_label_studio_open import FIELDS, open_campaign
from tests.open_answers.test_campaign import key_by_question, true_scores
from tests.store.test_study_store import SPEC

pytestmark = [pytest.mark.label_studio, pytest.mark.browser, pytest.mark.slow]

SHOWN = '[label_studio]\ninstructions = "Say what you see.\\nLeave nothing out."\n'
MEANT = 'red = "Like roses, pink among them."\nblue = "Like the sky."\n'
_QUIET = ("gpu", "quic", "background-networking", "component-update", "sync")


@pytest.fixture
def browser() -> Iterator[Browser]:
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        pytest.skip("there is no chromium on the path")
    with sync_playwright() as play:
        browser = play.chromium.launch(
            executable_path=chromium,
            args=["--no-sandbox", "--no-first-run", *(f"--disable-{q}" for q in _QUIET)],
        )
        yield browser
        browser.close()


@pytest.fixture
def page(browser: Browser, label_studio: LabelStudioServer, people: dict[str, Person]) -> Page:
    """Chromium, logged in as ana."""
    return log_in(browser, label_studio, people["ana"])


def log_in(browser: Browser, label_studio: LabelStudioServer, person: Person) -> Page:
    page = browser.new_context(viewport={"width": 1200, "height": 760}).new_page()
    page.set_default_timeout(60_000)
    expect.set_options(timeout=60_000)
    page.goto(f"{label_studio.url}/user/login")
    page.fill("input[name=email]", person.email)
    page.fill("input[name=password]", PASSWORD)
    page.click("button[type=submit]")
    page.wait_for_url(lambda url: "/user/login" not in url)
    return page


def sends(page: Page) -> Any:
    return page.expect_response(
        lambda r: re.search(r"/api/tasks/\d+/annotations", r.url) is not None and r.request.method == "POST"
    )


def opens(page: Page, url: str) -> None:
    """Begin to label: what is to be known first is shown, and sent away."""
    page.goto(url)
    expect(page.get_by_text("Leave nothing out.")).to_be_visible()
    page.keyboard.press("Escape")


def shows(page: Page, text: str) -> None:
    expect(page.get_by_text(text, exact=True)).to_be_visible()


def answers_three(page: Page, order: list[str], picture: Path) -> None:
    """Yes by mouse, no by hotkeys alone, unsure with a comment."""
    submit = page.get_by_test_id("bottombar-submit-button")
    shows(page, order[0])
    page.locator("input.ant-radio-input[name=Yes]").check()
    with sends(page):
        submit.click()
    shows(page, order[1])
    page.keyboard.press("n")
    expect(page.locator("input.ant-radio-input[name=No]")).to_be_checked()
    with sends(page):
        page.keyboard.press("Control+Enter")
    shows(page, order[2])
    page.keyboard.press("u")
    page.get_by_test_id("textarea-input").fill("Could be either: é ≥ ü")
    page.screenshot(path=picture)
    with sends(page):
        submit.click()


def test_an_expert_answers_in_the_browser(bench: Bench, page: Page) -> None:
    bench.edit("study.toml", "[models.m]", SHOWN + 'descriptions = {red = "Like <roses>."}\n[models.m]')
    url = bench.call("label", "push")["experts"]["ana"]["url"]
    order = [task["data"]["text"] for task in bench.tasks("ana")]
    opens(page, url)
    shows(page, "Is the answer “red”?")
    shows(page, "Like <roses>.")
    expect(page.get_by_test_id("bottombar-skip-button")).to_have_count(0)
    answers_three(page, order, bench.folder / "page.png")
    # The page has no skip button. The server's owner can add one; a skipped task must not be lost.
    bench.admin.do("PATCH", f"/api/projects/{bench.project('ana')}/", {"show_skip_button": True})
    opens(page, url)
    shows(page, order[3])
    with sends(page):
        page.get_by_test_id("bottombar-skip-button").click()
    shows(page, order[4])
    pulled = bench.call("label", "pull")
    assert (pulled["new"], pulled["quarantined"]) == (4, 0)
    with Store(bench.url) as store:
        texts = {item.id: item.text for item in store.content.read_items()}
        said = {texts[a.question.item_id]: (a.verdict, a.comment) for a in store.content.read_answers()}
        store.runs.add_run(SPEC)
        store.runs.store_predictions([(SPEC.id, Prediction(item, 0)) for item in texts])
        assert len(decode(store.content.read_answers())) == 4
    assert said == {
        order[0]: (Verdict.YES, ""),
        order[1]: (Verdict.NO, ""),
        order[2]: (Verdict.UNSURE, "Could be either: é ≥ ü"),
        order[3]: (Verdict.SKIP, ""),
    }
    assert bench.call("label", "status")["experts"]["ana"]["median_seconds"] > 0
    # Only one expert has answered, so the answers are not a random subset, and the estimate is marked.
    shown = bench.call("estimate")
    assert shown["questions"]["answered"] == 4
    assert "not answered yet" in shown["models"]["m"]["undefined"]["ml"]


def test_an_annotator_of_a_panel_chooses_in_the_browser(panel_bench: Bench, page: Page) -> None:
    bench = panel_bench
    bench.edit("study.toml", "[models.m]", SHOWN + "[label_studio.descriptions]\n" + MEANT + "[models.m]")
    url = bench.call("label", "push")["experts"]["ana"]["url"]
    order = [task["data"]["text"] for task in bench.tasks("ana")]
    opens(page, url)
    shows(page, order[0])
    shows(page, "Which one is the answer?")
    expect(page.get_by_text("blue: Like the sky.")).to_be_visible()
    expect(page.get_by_test_id("bottombar-skip-button")).to_have_count(0)
    expect(page.get_by_test_id("bottombar-submit-button")).to_be_disabled()
    page.locator("input.ant-radio-input[name=green]").check()  # by mouse
    with sends(page):
        page.get_by_test_id("bottombar-submit-button").click()
    shows(page, order[1])
    page.keyboard.press("3")  # by hotkeys alone
    expect(page.locator("input.ant-radio-input[name=blue]")).to_be_checked()
    page.screenshot(path=bench.folder / "panel.png")
    with sends(page):
        page.keyboard.press("Control+Enter")
    shows(page, order[2])
    page.keyboard.press("1")
    page.get_by_test_id("textarea-input").fill("or pink")
    with sends(page):
        page.get_by_test_id("bottombar-submit-button").click()
    shows(page, order[3])
    pulled = bench.call("label", "pull")
    assert (pulled["new"], pulled["quarantined"]) == (3, 0)
    with Store(bench.url) as store:
        texts = {item.id: item.text for item in store.content.read_items()}
        choices = store.panel.read_choices()
    said = {texts[c.assignment.item_id]: (c.assignment.annotator, c.label, c.comment) for c in choices}
    assert said == {
        order[0]: ("ana", "green", ""),
        order[1]: ("ana", "blue", ""),
        order[2]: ("ana", "red", "or pink"),
    }


def test_options_of_the_items_own_can_be_clicked(make_bench: Callable[..., Bench], page: Page) -> None:
    extra = 'options = "options"\n[experts]\nprotocol = "panel"\n' + SHOWN
    bench = make_bench(1, extra, dict.fromkeys(EXPERTS, "*"))
    bench.edit("study.toml", 'classes = ["red", "green", "blue"]\n', "")
    row = 'i0,A flower.,"[""red & white"", ""$5"", ""<b>blue</b>""]"\n'
    (bench.folder / "items.csv").write_text("id,text,options\n" + row)
    bench.call("label", "route")
    opens(page, bench.call("label", "push")["experts"]["ana"]["url"])
    shows(page, "A flower.")
    page.get_by_text("<b>blue</b>").click()
    with sends(page):
        page.get_by_test_id("bottombar-submit-button").click()
    assert bench.call("label", "pull")["answers"] == 1
    with Store(bench.url) as store:
        assert [r.label for r in store.panel.read_ratings()] == ["<b>blue</b>"]


def test_three_experts_judge_open_answers(
    make_bench: Callable[..., Bench], browser: Browser, label_studio: LabelStudioServer
) -> None:
    """Each opens the own queue; one says "not my field", and every judgement is stored as it was made."""
    bench = open_campaign(make_bench, 90)
    queues, key = bench.call("label", "push")["experts"], key_by_question()
    passed = bench.tasks("ana")[3]["data"]["question_id"]
    for name in EXPERTS:
        page = log_in(browser, label_studio, bench.people[name])
        page.goto(queues[name]["url"])
        for task in bench.tasks(name):
            data = task["data"]
            shows(page, data["question"])
            expect(page.locator(".ask-text")).to_contain_text(data["text"].split("\n")[0])
            verdict, field = key[data["question_id"]]
            assert field == FIELDS[name]
            page.keyboard.press("s" if data["question_id"] == passed else verdict[0])
            if data["question_id"] == passed:
                expect(page.locator("input.ant-radio-input[name='Not my field']")).to_be_checked()
                page.screenshot(path=bench.folder / "open.png")
            with sends(page):
                page.get_by_test_id("bottombar-submit-button").click()
        page.context.close()
    pulled = bench.call("label", "pull")
    assert (pulled["new"], pulled["quarantined"]) == (len(key), 0)
    with Store(bench.url) as store:
        replies = store.replies(panel=False).read_replies()
    expected = {question: verdict for question, (verdict, _) in key.items()} | {passed: Verdict.SKIP.value}
    assert {question: reply.value for question, reply in replies.items()} == expected
    found = bench.call("estimate")["models"]
    for model, truth in true_scores().items():
        assert found[model]["score"]["low"] <= truth <= found[model]["score"]["high"], model
