"""Windows, shared devices and slow lines: whose page it is, signing out, blocked cookies, large texts."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Route, expect

from oversight.protocols.collect.answer_page.expert_codes import derive_link_id, normalise_code
from tests.answer_page.browser.conftest import People, press, sign_in, wait_ready
from tests.answer_page.browser.test_answering import replies, reviewed, saved
from tests.answer_page.conftest import draw, serve

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(("width", "height"), [(320, 640), (390, 844), (1280, 844), (320, 256)])
def test_a_window_shows_whose_it_is_and_the_text(
    tmp_path: Path, people: People, width: int, height: int
) -> None:
    draw(tmp_path, text="a note about {} " * 60)
    with serve(tmp_path) as desk:
        page = people(width).open(desk.url, desk.codes["ana"])
        page.set_viewport_size({"width": width, "height": height})
        person, text = page.locator("#person"), page.locator("#text")
        expect(person).to_be_in_viewport()
        expect(person).to_have_text("ana")
        text.scroll_into_view_if_needed()
        page.mouse.wheel(0, 300)
        if height > 300:
            expect(page.locator(".who")).to_be_in_viewport()
        page.screenshot(path=tmp_path / f"{width}x{height}.png")
        middle = f"document.elementFromPoint({width} / 2, {height} / 2).closest('#text') !== null"
        assert page.evaluate(middle), "the text is hidden by what sticks to the edges"
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_signing_out_leads_to_the_form_and_the_code_opens_again(tmp_path: Path, people: People) -> None:
    draw(tmp_path)
    with serve(tmp_path) as desk:
        ana = people(390, may_fail=True)
        page = ana.open(desk.url, desk.codes["ana"])
        former = page.url
        page.get_by_role("button", name="Sign out").click()
        expect(page.locator("main")).to_contain_text("You have signed out")
        assert ana.context.cookies() == []
        assert page.evaluate("localStorage.length") == 0
        again = ana.open(former, begin=False)
        expect(again.get_by_role("heading", level=1)).to_have_text("Enter your code")
        sign_in(page, desk.codes["ana"])
        page.get_by_role("button", name="Go on").click()
        press(page, "y")
        saved(page, 1)
        assert page.url == former


def test_an_address_without_a_link_id_asks_who_is_there(tmp_path: Path, people: People) -> None:
    draw(tmp_path)
    with serve(tmp_path) as desk:
        tablet = people(768)
        page = tablet.open(desk.url, desk.codes["ana"])
        address = page.url.partition("#")[0]
        page.goto("about:blank")
        page.goto(address)
        expect(page.get_by_role("heading", level=1)).to_have_text("Are you ana?")
        # ana's questions stay hidden until the user says who they are
        page.evaluate("dispatchEvent(new Event('online'))")
        expect(page.get_by_role("heading", level=1)).to_have_text("Are you ana?")
        page.get_by_role("button", name="No").click()
        sign_in(page, desk.codes["bea"])
        page.get_by_role("button", name="Go on").click()
        expect(page.locator("#person")).to_have_text("bea")
        press(page, "y")
        saved(page, 1)
        assert {reply.expert for reply in replies(tmp_path).values()} == {"bea"}


def test_a_second_link_id_in_the_same_window_is_followed(tmp_path: Path, people: People) -> None:
    draw(tmp_path)
    with serve(tmp_path) as desk:
        page = people(1280, may_fail=True).open(desk.url, desk.codes["ana"])
        page.evaluate(f"location.hash = {derive_link_id(normalise_code(desk.codes['bea']))!r}")
        sign_in(page, desk.codes["bea"])
        expect(page.locator("#person")).to_have_text("bea")


def test_blocked_cookies_are_named(tmp_path: Path, people: People) -> None:
    draw(tmp_path)
    with serve(tmp_path) as desk:
        ana = people(390, may_fail=True)
        ana.context.route("**/session", _drop_cookie)
        page = ana.open(desk.url, begin=False)
        page.get_by_label("Personal code").fill(desk.codes["ana"])
        page.get_by_role("button", name="Continue").tap()
        expect(page.get_by_role("alert")).to_contain_text("does not keep cookies")


def _drop_cookie(route: Route) -> None:
    told = route.fetch().text()
    route.request.frame.page.context.clear_cookies()
    route.fulfill(status=200, body=told, content_type="application/json")


def test_two_clicks_within_600_ms_are_one_answer(tmp_path: Path, people: People) -> None:
    draw(tmp_path)
    with serve(tmp_path) as desk:
        page = people(1280).open(desk.url, desk.codes["ana"])
        press(page, "y")
        page.wait_for_timeout(450)
        page.keyboard.press("y")
        saved(page, 1)
        wait_ready(page)
        assert len(replies(tmp_path)) == 1


def test_an_earlier_answer_is_found_and_changed_in_two_steps(tmp_path: Path, people: People) -> None:
    draw(tmp_path)
    with serve(tmp_path) as desk:
        page = people(390).open(desk.url, desk.codes["ana"])
        for number, key in enumerate("yny", 1):
            press(page, key)
            saved(page, number)
        wait_ready(page)
        page.get_by_role("button", name="My answers").click()
        page.locator(".given").nth(1).click()
        reviewed(page, "No")
        press(page, "u")
        saved(page, 3)
        expect(page.locator(".review")).to_have_count(0)
        assert [reply.value for reply in replies(tmp_path).values()] == ["yes", "unsure", "yes"]


def test_8000_words_arrive_over_a_slow_line(tmp_path: Path, people: People) -> None:
    draw(tmp_path, text="laboratory findings of patient {} were unremarkable " * 1_300)
    with serve(tmp_path) as desk:
        ana = people(1280)
        page = ana.context.new_page()
        line = ana.context.new_cdp_session(page)
        slow = 50_000 / 8
        line.send("Network.enable")
        line.send(
            "Network.emulateNetworkConditions",
            {"offline": False, "latency": 100, "downloadThroughput": slow, "uploadThroughput": slow},
        )
        page.set_default_timeout(60_000)
        page.goto(desk.url, wait_until="commit")
        sign_in(page, desk.codes["ana"])
        page.get_by_role("button", name="Go on").click()
        wait_ready(page)
        page.keyboard.press("y")
        expect(page.locator(".count")).to_contain_text("1 of 6", timeout=60_000)
