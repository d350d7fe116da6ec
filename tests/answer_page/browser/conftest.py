"""A browser for the tests of the folder, and experts in it whose pages may complain about nothing."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Dialog, Page, Playwright, expect, sync_playwright

_QUIET = ("gpu", "quic", "background-networking", "component-update", "sync")
ARGUMENTS = ["--no-sandbox", "--no-first-run", *(f"--disable-{q}" for q in _QUIET)]
_running: list[tuple[Playwright, Browser]] = []


def find_chromium() -> str:
    path = shutil.which("chromium") or shutil.which("chromium-browser")
    if path is None:
        pytest.skip("there is no chromium on the path")
    return path


@pytest.fixture
def chromium() -> Browser:
    """Started by the first test that needs it, and after what needs an event loop of its own."""
    path = find_chromium()
    if not _running:
        expect.set_options(timeout=20_000)
        play = sync_playwright().start()
        _running.append((play, play.chromium.launch(executable_path=path, args=ARGUMENTS)))
    return _running[0][1]


@pytest.hookimpl(tryfirst=True)  # before xdist reads the groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run all browser tests in one process if pytest uses several."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.browser)
            item.add_marker(pytest.mark.xdist_group("browser"))


@pytest.hookimpl(trylast=True)  # after the fixtures of the last test
def pytest_runtest_teardown(nextitem: pytest.Item | None) -> None:
    """End the browser behind the last test here: its event loop would keep others from theirs."""
    if nextitem is None or Path(__file__).parent not in nextitem.path.parents:
        while _running:
            play, browser = _running.pop()
            browser.close()
            play.stop()


@dataclass
class Person:
    """An expert's browser: a context of its own, what it asked, and what its pages complained about."""

    context: BrowserContext
    trouble: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    may_fail: bool = False
    """Whether requests may fail, which browsers write into the console."""

    def open(self, address: str, code: str = "", *, begin: bool = True) -> Page:
        """A page at an address, signed in with a code if one is given; its instructions are read."""
        page = self.context.new_page()
        page.set_default_timeout(20_000)
        page.on("request", lambda request: self.asked.append(request.url))
        page.on("console", lambda message: self.note(message.text))
        page.on("pageerror", lambda error: self.trouble.append(str(error)))
        page.on("dialog", self.send_away)
        page.goto(address)
        if code:
            sign_in(page, code)
        if begin:
            page.get_by_role("button", name="Go on").click()
            wait_ready(page)
        return page

    def send_away(self, dialog: Dialog) -> None:
        self.trouble.append(dialog.message)
        dialog.dismiss()

    def note(self, text: str) -> None:
        # an open page sends a last request after the test has ended its server
        is_over = "ERR_CONNECTION_REFUSED" in text
        if not is_over and not (self.may_fail and "Failed to load resource" in text):
            self.trouble.append(text)


People = Callable[..., Person]


@pytest.fixture
def people(chromium: Browser) -> Iterator[People]:
    """Experts at phones (touch, 390 × 844) and desktops."""
    made: list[Person] = []

    def make(width: int = 390, *, dark: bool = False, may_fail: bool = False) -> Person:
        phone = width < 500
        context = chromium.new_context(
            viewport={"width": width, "height": 844},
            color_scheme="dark" if dark else "light",
            has_touch=phone,
            is_mobile=phone,
        )
        made.append(Person(context, may_fail=may_fail))
        return made[-1]

    yield make
    for person in made:
        person.context.close()
    assert [person.trouble for person in made] == [[] for _ in made]


def sign_in(page: Page, code: str) -> None:
    """Type a code into the form, and send it."""
    box = page.get_by_label("Personal code")
    box.fill(code)
    box.press("Enter")
    box.wait_for(state="detached")


def wait_ready(page: Page) -> None:
    """Wait until the page takes answers, or says why there are none to give."""
    page.locator("body[data-ready]").wait_for()


def press(page: Page, key: str) -> None:
    """Press a key once the page takes answers."""
    wait_ready(page)
    page.keyboard.press(key)


def done(page: Page) -> str:
    """The progress that is shown."""
    return page.locator(".count").inner_text().removesuffix(" answered")
