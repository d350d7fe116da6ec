"""An expert at work in a real browser: mouse, hotkeys, unsure with a comment, a skip, then the labels."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Page, expect, sync_playwright

from harness.labels import decode
from harness.store.repository import Repository
from harness.types import Prediction, Verdict
from protocols.label_studio_server import LabelStudioServer
from tests.e2e.conftest import PASSWORD, Bench
from tests.store.test_repository import SPEC

pytestmark = [pytest.mark.label_studio, pytest.mark.browser]

_QUIET = ("gpu", "quic", "background-networking", "component-update", "sync")


@pytest.fixture
def page(label_studio: LabelStudioServer, bench: Bench) -> Iterator[Page]:
    """Chromium, logged in as ana."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        pytest.skip("there is no chromium on the path")
    with sync_playwright() as play:
        browser = play.chromium.launch(
            executable_path=chromium,
            args=["--no-sandbox", "--no-first-run", *(f"--disable-{q}" for q in _QUIET)],
        )
        page = browser.new_context(viewport={"width": 1200, "height": 760}).new_page()
        page.set_default_timeout(60_000)
        expect.set_options(timeout=60_000)
        page.goto(f"{label_studio.url}/user/login")
        page.fill("input[name=email]", bench.people["ana"].email)
        page.fill("input[name=password]", PASSWORD)
        page.click("button[type=submit]")
        page.wait_for_url(lambda url: "/user/login" not in url)
        yield page
        browser.close()


def sends(page: Page) -> Any:
    return page.expect_response(
        lambda r: re.search(r"/api/tasks/\d+/annotations", r.url) is not None and r.request.method == "POST"
    )


def test_an_expert_answers_in_the_browser(bench: Bench, page: Page) -> None:
    instructions = "Say what you see.\\nLeave nothing out."
    bench.edit(
        "study.toml",
        "[models.m]",
        f'[label_studio]\ninstructions = "{instructions}"\n'
        'descriptions = {red = "Like <roses>."}\n[models.m]',
    )
    url = bench.call("label", "push")["experts"]["ana"]["url"]
    order = [task["data"]["text"] for task in bench.tasks("ana")]
    page.goto(url)
    expect(page.get_by_text("Leave nothing out.")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_text("Is the answer “red”?")).to_be_visible()
    expect(page.get_by_text("Like <roses>.")).to_be_visible()
    expect(page.get_by_text(order[0], exact=True)).to_be_visible()
    submit = page.get_by_test_id("bottombar-submit-button")
    expect(page.get_by_test_id("bottombar-skip-button")).to_have_count(0)

    page.locator("input.ant-radio-input[name=Yes]").check()  # by mouse
    with sends(page):
        submit.click()

    expect(page.get_by_text(order[1], exact=True)).to_be_visible()
    page.keyboard.press("n")  # by hotkeys alone
    expect(page.locator("input.ant-radio-input[name=No]")).to_be_checked()
    with sends(page):
        page.keyboard.press("Control+Enter")

    expect(page.get_by_text(order[2], exact=True)).to_be_visible()
    page.keyboard.press("u")
    page.get_by_test_id("textarea-input").fill("Could be either: é ≥ ü")
    page.screenshot(path=bench.folder / "page.png")
    with sends(page):
        submit.click()

    # The page offers no skipping; whoever owns the server can, and it must not get lost either.
    project = f"/api/projects/{bench.project('ana')}/"
    bench.admin.do("PATCH", project, {"show_skip_button": True})
    page.goto(url)
    expect(page.get_by_text("Leave nothing out.")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_text(order[3], exact=True)).to_be_visible()
    with sends(page):
        page.get_by_test_id("bottombar-skip-button").click()
    expect(page.get_by_text(order[4], exact=True)).to_be_visible()

    pulled = bench.call("label", "pull")
    assert (pulled["new"], pulled["quarantined"]) == (4, 0)
    with Repository(bench.url) as store:
        texts = {item.id: item.text for item in store.items()}
        said = {texts[a.question.item_id]: (a.verdict, a.comment) for a in store.answers()}
        store.add_run(SPEC)
        store.add_predictions(SPEC.id, [Prediction(item, 0) for item in texts])
        assert len(decode(store.answers())) == 4
    assert said == {
        order[0]: (Verdict.YES, ""),
        order[1]: (Verdict.NO, ""),
        order[2]: (Verdict.UNSURE, "Could be either: é ≥ ü"),
        order[3]: (Verdict.SKIP, ""),
    }
    row = bench.call("label", "status")["experts"]["ana"]
    assert row["median_seconds"] > 0
    estimate = bench.call("estimate")["models"]["m"]["estimates"]["ml"]
    assert (estimate["n"]["ordinary"], estimate["n"]["complementary"], estimate["n"]["abstained"]) == (
        1,
        1,
        2,
    )


def test_the_panel_page_asks_for_one_of_k(bench: Bench, page: Page, label_studio: LabelStudioServer) -> None:
    """One project per annotator with the items replicated; classes on the page, or options in the task."""
    from protocols.label_studio import panel_page

    made = {}
    for name, classes in (("fixed", ("red & white", "green", "blue")), ("own", ())):
        body = {"title": f"panel {name}", "label_config": panel_page(classes), "show_skip_button": False}
        project = bench.admin.do("POST", "/api/projects/", body)["id"]
        data: dict[str, Any] = {"text": "A flower.", "question": "Which is the answer?"}
        if not classes:
            data["choices"] = [{"value": f"option {c}", "alias": str(j)} for j, c in enumerate("abcd")]
        bench.admin.do("POST", f"/api/projects/{project}/import", [{"data": data}])
        page.goto(f"{label_studio.url}/projects/{project}/data?labeling=1")
        expect(page.get_by_text("A flower.")).to_be_visible()
        page.get_by_text("green" if classes else "option c").click()
        with sends(page) as sent:
            page.get_by_test_id("bottombar-submit-button").click()
        made[name] = sent.value.json()["result"][0]["value"]["choices"]
    assert made == {"fixed": ["1"], "own": ["2"]}
