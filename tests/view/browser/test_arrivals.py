"""The open page shows other processes' writes, keeps the reader's position and survives a restart."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from benchmarks._view_server import Served, serve
from tests.view.browser.conftest import Reader
from tests.view.conftest import N, fill, lay_out

pytestmark = pytest.mark.browser

WRITE = """
import sys, time
from oversight.harness.config import read_study
from oversight.harness.store import Store
from oversight.harness.types import Answer, Prediction, Verdict
with Store(read_study("study.toml").store_url) as store:
    answered = {a.question.id for a in store.content.read_answers()}
    left = (q for q in store.content.read_questions() if q.id not in answered)
    run = store.runs.read_runs()[0]["id"]
    for line in sys.stdin:
        if line == "answer\\n":
            q = next(left)
            store.content.add_answers([Answer(q, q.expert, Verdict.NO, "elsewhere")])
        else:
            store.runs.store_predictions([(run, Prediction("i7", 1, sample=int(line)))])
        print(1000 * time.time(), flush=True)
"""
SEEN = """() => {
  window.shown = [];
  const look = () => window.shown.push([Date.now(), document.getElementById("counts").textContent,
    document.querySelector("main").textContent]);
  new MutationObserver(look).observe(document.body, { childList: true, subtree: true, characterData: true });
}"""
GONE = (
    "ERR_CONNECTION_REFUSED",
    "ERR_INCOMPLETE_CHUNKED_ENCODING",
    "ERR_EMPTY_RESPONSE",
    "ERR_CONNECTION_RESET",
)


class Writer:
    """Another process that writes into a study when told to."""

    def __init__(self, folder: Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", WRITE],
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def write(self, what: str) -> float:
        """Write an answer, or the model's further sample of this number; the time of its commit, ms."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{what}\n")
        self._process.stdin.flush()
        return float(self._process.stdout.readline())

    def end(self) -> None:
        self._process.communicate()
        assert self._process.returncode == 0


@dataclass
class Live:
    """A study that is served while another process writes into it; tests go on where the last one ended."""

    folder: Path
    served: Served
    writer: Writer
    answers: int = N // 2
    predictions: int = 2 * N

    @property
    def counts(self) -> str:
        return f"{self.answers} of {N} questions answered · {self.predictions} answers of models"

    @property
    def computed(self) -> str:
        """Text next to the estimates once they include all stored answers."""
        return f"questions{self.answers} of {N} questions answered"

    def answer(self) -> float:
        """One more answer; the time of its commit, ms."""
        self.answers += 1
        return self.writer.write("answer")

    def predict(self) -> float:
        """One more answer of a model."""
        self.predictions += 1
        return self.writer.write(str(self.predictions - 2 * N))


@pytest.fixture(scope="module")
def live(chromium_path: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    folder = tmp_path_factory.mktemp("live")
    fill(lay_out(folder), answered=N // 2)
    writer = Writer(folder)
    with serve(folder) as served:
        yield Live(folder, served, writer)
    writer.end()


def waited(page: Page, since: float, words: str) -> float:
    """Milliseconds from a time to the first moment at which words stood on the page."""
    shown = page.evaluate("() => window.shown")
    return float(next(at for at, *texts in shown if any(words in text for text in texts))) - since


@pytest.mark.slow
def test_an_answer_and_a_prediction_show_at_once(reader: Reader, live: Live) -> None:
    page = reader().open(live.served.url)
    expect(page.locator("#counts")).to_contain_text(live.counts)
    expect(page.locator("#state")).to_have_text("live")
    page.evaluate(SEEN)
    found: dict[str, list[float]] = {"answer": [], "estimate": [], "prediction": []}
    for _ in range(3):
        since = live.answer()
        expect(page.locator("#counts")).to_contain_text(live.counts)
        expect(page.locator("main")).to_contain_text(live.computed)
        found["answer"].append(waited(page, since, live.counts))
        found["estimate"].append(waited(page, since, live.computed))
        since = live.predict()
        expect(page.locator("#counts")).to_contain_text(live.counts)
        found["prediction"].append(waited(page, since, live.counts))
    print("ms from commit to page:", {what: [round(each) for each in times] for what, times in found.items()})  # noqa: T201
    assert max(max(times) for times in found.values()) < 5_000  # about 1,000 on an idle machine


def test_scroll_position_and_focus_stay(reader: Reader, live: Live) -> None:
    page = reader(500).open(live.served.url)
    opened = page.locator("details", has_text="pair of models").first
    opened.locator("summary").click()
    closed = page.locator("details", has_text="What was run").first
    rows = page.get_by_role("region", name="Accuracy by experts' answers")
    rows.evaluate("(box) => box.scrollTo(40, 0)")
    people = page.get_by_role("region", name="Questions and answers of every expert")
    link = people.get_by_role("link").nth(2)
    link.focus()
    page.evaluate("() => window.scrollTo(0, 700)")
    live.answer()
    expect(page.locator("main")).to_contain_text(live.computed)
    expect(page.locator("main")).to_contain_text(f"{live.answers} of {N} questions answered.")
    expect(link).to_be_focused()
    assert page.evaluate("() => window.scrollY") == 700
    assert rows.evaluate("(box) => box.scrollLeft") == 40
    assert opened.evaluate("(part) => part.open")
    assert not closed.evaluate("(part) => part.open")


def test_typed_text_and_position_are_kept(reader: Reader, live: Live) -> None:
    page = reader().open(live.served.url)
    expect(page.locator("#state")).to_have_text("live")
    way = page.get_by_role("navigation").get_by_role("link", name="Items")
    way.focus()
    live.answer()
    expect(page.locator("#counts")).to_contain_text(live.counts)
    expect(way).to_be_focused()
    expect(page.locator("#state")).to_have_class("quiet live")
    way.press("Enter")
    words, left = page.locator("#filter-words"), page.locator("#items > li", has_text="open")
    expect(words).to_be_visible()
    asked = left.count()
    words.fill("text 1")
    words.evaluate("(input) => input.setSelectionRange(4, 4)")
    live.answer()
    expect(left).to_have_count(asked - 1)
    expect(words).to_be_focused()
    page.keyboard.type("x")
    expect(words).to_have_value("textx 1")


@pytest.mark.slow
def test_a_page_outlives_its_server(reader: Reader, live: Live, tmp_path: Path) -> None:
    shutil.copytree(live.folder, tmp_path, dirs_exist_ok=True)
    watched, here = reader(), Live(tmp_path, live.served, Writer(tmp_path), live.answers, live.predictions)
    with serve(tmp_path) as served:
        page = watched.open(served.url)
        expect(page.locator("#state")).to_have_text("live")
    expect(page.locator("#state")).to_contain_text("connection lost")
    here.answer()
    with serve(tmp_path, served.port):
        expect(page.locator("#counts")).to_contain_text(here.counts)
        expect(page.locator("#state")).to_have_text("live")
        expect(page.locator("main")).to_contain_text(here.computed)
        here.answer()
        expect(page.locator("#counts")).to_contain_text(here.counts)
        page.close()
    here.writer.end()
    watched.trouble[:] = [said for said in watched.trouble if not any(code in said for code in GONE)]
