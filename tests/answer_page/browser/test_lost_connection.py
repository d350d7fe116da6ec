"""A real browser on the answer page while connections, windows, codes and servers come and go."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from oversight.harness.store import Store
from tests.answer_page.browser.conftest import People, done, press, sign_in, wait_ready
from tests.answer_page.browser.test_answering import replies, reviewed, saved
from tests.answer_page.conftest import call, draw, serve
from tests.answer_page.test_changed_questions import correct

pytestmark = pytest.mark.slow


def history(folder: Path) -> list[tuple[str, str]]:
    with Store(f"sqlite:///{folder / 'study.db'}") as store:
        return [(e.asked_id, e.value) for e in store.audit.read_records() if e.kind == "answer"]


def unsent(page: Page, number: int) -> None:
    expect(page.locator("#unsent")).to_contain_text(f"Not sent yet: {number}")


def test_answers_survive_a_lost_connection_and_arrive_once(tmp_path: Path, people: People) -> None:
    draw(tmp_path)
    with serve(tmp_path) as desk:
        ana = people(390, may_fail=True)
        page = ana.open(desk.url, desk.codes["ana"])
        ana.context.set_offline(True)
        for number, key in enumerate("ynu", 1):
            press(page, key)
            unsent(page, number)
        expect(page.get_by_role("heading", level=1)).to_have_text("Waiting for the connection")
        assert done(page) == "3 of 6"
        press(page, "z")  # an unsent answer can be viewed and changed
        reviewed(page, "Unsure")
        press(page, "y")
        unsent(page, 4)
        assert replies(tmp_path) == {}
        ana.context.set_offline(False)
        saved(page, 3)
        expect(page.locator("#unsent")).to_be_hidden()
        assert [r.value for r in replies(tmp_path).values()] == ["yes", "no", "yes"]
        assert [value for _, value in history(tmp_path)] == ["yes", "no", "unsure", "yes"]


def test_a_text_changed_meanwhile_is_asked_again_and_other_answers_arrive(
    tmp_path: Path, people: People
) -> None:
    study = draw(tmp_path)
    with serve(tmp_path) as desk:
        ana = people(1280, may_fail=True)
        page = ana.open(desk.url, desk.codes["ana"])
        first = page.get_attribute("body", "data-ready") or ""
        ana.context.set_offline(True)
        for number, key in enumerate("yn", 1):
            press(page, key)
            unsent(page, number)
        with Store(study.store_url) as store:
            (item,) = (q.item_id for q in store.content.read_questions() if q.id == first)
        correct(tmp_path, item, "another note")
        ana.context.set_offline(False)
        expect(page.locator("#notice")).to_contain_text("This question was changed after you read it")
        saved(page, 1)
        assert [r.value for r in replies(tmp_path).values()] == ["no"]
        for key in "nnnnn":
            press(page, key)
        saved(page, 6)
        assert replies(tmp_path)[first].value == "no"


def test_a_reload_while_nothing_arrives_loses_nothing(tmp_path: Path, people: People) -> None:
    draw(tmp_path)
    with serve(tmp_path) as desk:
        ana = people(1280, may_fail=True)
        page = ana.open(desk.url, desk.codes["ana"])
        page.route("**/api/answers", lambda route: route.abort())
        for key in "yn":
            press(page, key)
        unsent(page, 2)
        page.reload()
        unsent(page, 2)
        page.unroute("**/api/answers")
        page.evaluate("dispatchEvent(new Event('online'))")
        saved(page, 2)
        assert [value for _, value in history(tmp_path)] == ["yes", "no"]


def test_an_answer_whose_confirmation_is_lost_is_stored_once(tmp_path: Path, people: People) -> None:
    draw(tmp_path)
    with serve(tmp_path) as desk:
        page = people(1280, may_fail=True).open(desk.url, desk.codes["ana"])
        lost: list[int] = []

        def lose(route: object) -> None:
            response = route.fetch()  # type: ignore[attr-defined]  # it arrives
            lost.append(response.status)
            route.abort() if len(lost) < 3 else route.fulfill(response=response)  # type: ignore[attr-defined]

        page.route("**/api/answers", lose)
        press(page, "y")
        saved(page, 1)
        assert lost == [200, 200, 200]
        assert len(history(tmp_path)) == 1


def test_a_server_that_is_killed_and_started_again_gets_the_answers(tmp_path: Path, people: People) -> None:
    draw(tmp_path)
    with serve(tmp_path) as desk:
        page = people(390, may_fail=True).open(desk.url, desk.codes["ana"])
        press(page, "y")
        saved(page, 1)
        os.kill(desk.process.pid, signal.SIGKILL)
        desk.process.wait()
        for number, key in enumerate("nu", 1):
            press(page, key)
            unsent(page, number)
        with serve(tmp_path, port=desk.port) as again:
            assert again.codes == {}  # no new codes, because the old ones stay valid
            page.evaluate("dispatchEvent(new Event('online'))")
            saved(page, 3)
            assert [value for _, value in history(tmp_path)] == ["yes", "no", "unsure"]


def test_two_windows_of_one_expert_show_the_same_progress(tmp_path: Path, people: People) -> None:
    draw(tmp_path)
    with serve(tmp_path) as desk:
        ana = people(1280)
        first = ana.open(desk.url, desk.codes["ana"])
        second = ana.open(first.url, begin=False)
        wait_ready(second)
        asked = first.evaluate("document.body.dataset.ready")
        assert second.evaluate("document.body.dataset.ready") == asked
        press(first, "y")
        saved(first, 1)
        expect(second.locator(".count")).to_contain_text("1 of 6")  # it goes along
        second.wait_for_function(
            "(asked) => document.body.dataset.ready && document.body.dataset.ready !== asked", arg=asked
        )
        press(second, "n")
        saved(second, 2)
        expect(first.locator(".count")).to_contain_text("2 of 6")
        assert [value for _, value in history(tmp_path)] == ["yes", "no"]
        assert len(replies(tmp_path)) == 2


def test_a_window_that_is_behind_overwrites_nothing(tmp_path: Path, people: People) -> None:
    draw(tmp_path)
    with serve(tmp_path) as desk:
        here, there = people(1280, may_fail=True), people(390)  # two machines
        first, second = here.open(desk.url, desk.codes["ana"]), there.open(desk.url, desk.codes["ana"])
        press(second, "y")
        saved(second, 1)
        press(first, "n")
        expect(
            first.get_by_text("This question was answered in another window; that answer stays.")
        ).to_be_visible()
        assert [r.value for r in replies(tmp_path).values()] == ["yes"]


def test_two_experts_in_one_browser_stay_apart(tmp_path: Path, people: People) -> None:
    draw(tmp_path)
    with serve(tmp_path) as desk:
        shared = people(1280)
        ana, bea = shared.open(desk.url, desk.codes["ana"]), shared.open(desk.url, begin=False)
        bea.get_by_role("button", name="No").click()
        sign_in(bea, desk.codes["bea"])
        bea.get_by_role("button", name="Go on").click()
        expect(ana.get_by_role("heading", level=1)).to_contain_text("heart")
        expect(bea.get_by_role("heading", level=1)).to_contain_text("brain")
        press(ana, "y")
        press(bea, "n")
        saved(ana, 1)
        saved(bea, 1)
        ana.reload()
        wait_ready(ana)
        expect(ana.locator("header")).to_contain_text("ana")
        assert sorted((r.expert, r.value) for r in replies(tmp_path).values()) == [
            ("ana", "yes"),
            ("bea", "no"),
        ]


def test_answers_unsent_under_a_former_code_are_sent_with_the_new_one(tmp_path: Path, people: People) -> None:
    draw(tmp_path)
    with serve(tmp_path) as desk:
        ana = people(390, may_fail=True)
        page = ana.open(desk.url, desk.codes["ana"])
        page.route("**/api/answers", lambda route: route.abort())
        press(page, "y")
        unsent(page, 1)
        [made] = call(tmp_path, "label", "codes", "ana")["codes"]
        page.unroute("**/api/answers")
        page.evaluate("dispatchEvent(new Event('online'))")
        expect(page.get_by_text("your code is no longer valid")).to_be_visible()
        expect(page.get_by_text("Answers not sent yet: 1")).to_be_visible()
        sign_in(page, made["code"])
        saved(page, 1)
        assert [value for _, value in history(tmp_path)] == ["yes"]


@pytest.mark.parametrize(
    "fragment",
    ["", "#pass=000000000000.an-old-secret", "#pass=cut", "#000000000000", "#<img src=x onerror=alert(1)>"],
)
def test_without_a_session_the_page_asks_for_a_code(tmp_path: Path, people: People, fragment: str) -> None:
    draw(tmp_path)
    with serve(tmp_path) as desk:
        page = people(390, may_fail=True).open(f"{desk.url}/{fragment}", begin=False)
        expect(page.get_by_role("heading", level=1)).to_have_text("Enter your code")
        is_old = fragment.startswith("#pass=")
        expect(page.get_by_text("This link no longer opens the page")).to_have_count(int(is_old))
        assert "pass" not in page.url
        assert "Notes" not in page.content()
        sign_in(page, desk.codes["ana"])
        expect(page.locator("#person")).to_have_text("ana")
