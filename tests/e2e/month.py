"""A study of notes whose truth a test knows, and the experts who answer it on both servers."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from playwright.sync_api import Browser, Page, expect

from tests.answer_page.conftest import Desk
from tests.e2e.conftest import PASSWORD, Bench

CLASSES = ("heart", "brain", "skin", "lung")
TEAM = {
    "ana": "heart", "ada": "heart", "bea": "brain", "ben": "brain",
    "cem": "skin", "cleo": "skin", "dua": "lung", "dan": "lung",
}  # fmt: skip


@dataclass
class Month:
    """A study of notes whose truth the test knows, and the experts at work."""

    bench: Bench
    browser: Browser
    studio: str
    truth: tuple[str, ...]
    accuracy: float
    contexts: list[Any] = field(default_factory=list)

    def verdict(self, expert: str, text: str) -> str:
        """What an expert who can tell says of a note: yes if it is of their class."""
        found = re.search(r"number (\d+)\.", text)
        assert found is not None, text
        return "yes" if self.truth[int(found[1])] == TEAM[expert] else "no"

    def window(self, width: int) -> Page:
        """A browser of somebody's own: a phone below 500 px."""
        phone = width < 500
        context = self.browser.new_context(
            viewport={"width": width, "height": 844}, has_touch=phone, is_mobile=phone
        )
        self.contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(60_000)
        return page

    def open_tasks(self, expert: str) -> list[dict[str, Any]]:
        """What an expert has not answered on Label Studio, in the order in which it is shown."""
        return [task for task in self.bench.tasks(expert) if not task["annotations"]]

    def answer(self, expert: str, number: int, skipped: int = 0) -> None:
        """Answer so many questions on Label Studio as the expert's browser would, and pass some over."""
        for task in self.open_tasks(expert)[skipped : skipped + number]:
            self.bench.people[expert].answer(task["id"], self.verdict(expert, task["data"]["text"]))

    def at_studio(self, expert: str) -> Page:
        """Chromium at an expert's project, logged in."""
        page, url = self.window(1280), self.studio
        page.goto(f"{url}/user/login")
        page.fill("input[name=email]", f"{expert}@example.org")
        page.fill("input[name=password]", PASSWORD)
        page.click("button[type=submit]")
        page.wait_for_url(lambda url: "/user/login" not in url)
        page.goto(f"{url}/projects/{self.bench.project(expert)}/data?labeling=1")
        return page

    def click_through(self, page: Page, expert: str, number: int) -> None:
        """Answer by keys what Label Studio shows next."""
        for task in self.open_tasks(expert)[:number]:
            text = task["data"]["text"]
            expect(page.get_by_text(text, exact=True)).to_be_visible()
            page.keyboard.press(self.verdict(expert, text)[0])
            with page.expect_response(lambda r: "/annotations" in r.url and r.request.method == "POST"):
                page.keyboard.press("Control+Enter")

    def at_page(self, desk: Desk, expert: str, width: int) -> Page:
        """An expert's link, opened, the instructions read."""
        page = self.window(width)
        page.goto(desk.links[expert])
        page.get_by_role("button", name="Go on").click()
        page.locator("body[data-ready]").wait_for()
        return page

    def tap_through(self, page: Page, expert: str, number: int) -> None:
        """Answer on the answer page by one tap each."""
        for _ in range(number):
            asked = page.locator("body[data-ready]").get_attribute("data-ready")
            said = self.verdict(expert, page.locator("#text").inner_text())
            page.locator(f'button[data-value="{said}"]').click()
            page.wait_for_function("(asked) => document.body.dataset.ready !== asked", arg=asked)

    def send(self, desk: Desk, own: Mapping[str, str], expert: str, number: int) -> None:
        """Answer on the answer page as its script would."""
        for _ in range(number):
            shown = desk.state(dict(own))["questions"][0]
            status, told = desk.answer(dict(own), self.verdict(expert, shown["text"]), id=shown["id"])
            assert status == 200, told

    def status(self) -> dict[str, Any]:
        found: dict[str, Any] = self.bench.call("label", "status")
        return found
