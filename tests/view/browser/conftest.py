"""One browser for all tests of the folder; pages that may complain about nothing, served and as files."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Dialog, Page, Playwright, expect, sync_playwright

from benchmarks._view_server import Served, serve
from tests.view.browser.hostile_study import write_hostile
from tests.view.browser.studies import Drawn, draw_studies, export

_QUIET = ("gpu", "quic", "background-networking", "component-update", "sync")
_running: list[tuple[Playwright, Browser]] = []


@pytest.fixture(scope="session")
def chromium_path() -> str:
    path = shutil.which("chromium") or shutil.which("chromium-browser")
    if path is None:
        pytest.skip("there is no chromium on the path")
    return path


@pytest.fixture(scope="session")
def drawn(chromium_path: str, tmp_path_factory: pytest.TempPathFactory) -> Drawn:
    """Studies of every kind, each as a file; nobody changes them."""
    return draw_studies(tmp_path_factory.mktemp("drawn"))


@pytest.fixture
def chromium(chromium_path: str, drawn: Drawn) -> Browser:
    """Started by the first test that needs it, and after what needs an event loop of its own."""
    if not _running:
        expect.set_options(timeout=20_000)
        play = sync_playwright().start()
        browser = play.chromium.launch(
            executable_path=chromium_path,
            args=["--no-sandbox", "--no-first-run", *(f"--disable-{q}" for q in _QUIET)],
        )
        _running.append((play, browser))
    return _running[0][1]


@pytest.hookimpl(tryfirst=True)  # before xdist reads the groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run all browser tests in one process if pytest uses several."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
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
class Watched:
    """A reader's browser: what it asks, what it complains about; both must be what is expected at the end."""

    context: BrowserContext
    trouble: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)

    def open(self, address: str) -> Page:
        page = self.context.new_page()
        page.set_default_timeout(20_000)
        page.on("request", lambda request: self.asked.append(request.url))
        page.on("console", lambda message: self.trouble.append(message.text))
        page.on("pageerror", lambda error: self.trouble.append(str(error)))
        page.on("dialog", self.send_away)
        return visit(page, address)

    def send_away(self, dialog: Dialog) -> None:
        self.trouble.append(dialog.message)
        dialog.dismiss()

    @property
    def abroad(self) -> list[str]:
        """Addresses asked that are neither the file nor made by the page itself."""
        return [url for url in self.asked if not url.startswith(("file:", "data:", "blob:", "about:"))]


Reader = Callable[..., Watched]


@pytest.fixture
def reader(chromium: Browser) -> Iterator[Reader]:
    """Readers with windows of a given width; checks that the console stays empty and no dialog opens."""
    made: list[Watched] = []

    def make(width: int = 1280, *, dark: bool = False) -> Watched:
        context = chromium.new_context(
            viewport={"width": width, "height": 900}, color_scheme="dark" if dark else "light"
        )
        made.append(Watched(context))
        return made[-1]

    yield make
    for watched in made:
        watched.context.close()
    assert [watched.trouble for watched in made] == [[] for _ in made]


@pytest.fixture(scope="session")
def hostile(chromium_path: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study of hostile texts with its page as a file; nobody changes it."""
    folder = tmp_path_factory.mktemp("hostile")
    export(folder, write_hostile(folder))
    return folder


@pytest.fixture(scope="session")
def running(drawn: Drawn) -> Iterator[Served]:
    """The server on the first of them."""
    with serve(drawn.colours) as served:
        yield served


@pytest.fixture
def page(reader: Reader, running: Served) -> Page:
    """The overview, served."""
    return reader().open(running.url)


def visit(page: Page, address: str) -> Page:
    """Load an address from a blank page and wait until all of it is drawn."""
    page.goto("about:blank")
    page.goto(address)
    page.locator("main:not([aria-busy]) > div").first.wait_for()
    expect(page.get_by_text("reading …")).to_have_count(0)
    assert page.get_by_role("alert").all_inner_texts() == []
    return page


def here(served: Served, address: str) -> str:
    """The address of a page of a server."""
    return f"http://127.0.0.1:{served.port}/{address}"
