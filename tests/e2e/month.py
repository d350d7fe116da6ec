"""A study of notes whose truth a test knows, and the experts who answer it on both servers."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic
from typing import Any, NamedTuple

from playwright.sync_api import Browser, Page, expect

from benchmarks._view_server import Served
from oversight.harness.store import Store
from tests.answer_page.browser.conftest import sign_in
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
        """An expert's correct answer about a note: yes if the note is of the expert's class."""
        found = re.search(r"number (\d+)\.", text)
        assert found is not None, text
        erased = TEAM["ben"]  # his answers are kept under another name
        return "yes" if self.truth[int(found[1])] == TEAM.get(expert, erased) else "no"

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
        """An expert's unanswered tasks on Label Studio, in the order in which the expert sees them."""
        return [task for task in self.bench.tasks(expert) if not task["annotations"]]

    def answer(self, expert: str, number: int, skipped: int = 0) -> None:
        """Skip `skipped` questions on Label Studio, then answer `number` as the expert's browser would."""
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
        """An expert's page, signed in to, the instructions read."""
        page = self.window(width)
        page.goto(desk.url)
        sign_in(page, desk.codes[expert])
        page.get_by_role("button", name="Go on").click()
        page.locator("body[data-ready]").wait_for()
        return page

    def change_hands(self, page: Page, code: str, expert: str) -> None:
        """The person before signs out of a window, and an expert signs in to it."""
        page.get_by_role("button", name="Sign out").click()
        expect(page.locator("main")).to_contain_text("You have signed out")
        sign_in(page, code)
        page.get_by_role("button", name="Go on").click()
        expect(page.locator("#person")).to_have_text(expert)
        page.locator("body[data-ready]").wait_for()

    def find_answered(self, expert: str) -> str:
        """The item of an expert's first question that has an answer."""
        with Store(self.bench.url) as store:
            asked = {a.question.item_id for a in store.content.read_answers() if a.question.expert == expert}
        return min(asked)

    def tap_through(self, page: Page, expert: str, number: int, *, offline: bool = False) -> None:
        """Answer on the answer page by one tap each; wait until the answers are stored, unless offline."""
        for _ in range(number):
            asked = page.locator("body[data-ready]").get_attribute("data-ready")
            said = self.verdict(expert, page.locator("#text").inner_text())
            page.locator(f'button[data-value="{said}"]').click()
            page.wait_for_function("(asked) => document.body.dataset.ready !== asked", arg=asked)
        if not offline:
            page.wait_for_function("() => Object.keys(localStorage).every(k => !k.includes('unsent'))")

    def send(self, desk: Desk, own: Mapping[str, str], expert: str, number: int) -> None:
        """Answer on the answer page as its script would."""
        for _ in range(number):
            shown = desk.state(dict(own))["questions"][0]
            status, told = desk.answer(dict(own), self.verdict(expert, shown["text"]), id=shown["id"])
            assert status == 200, told

    def status(self) -> dict[str, Any]:
        found: dict[str, Any] = self.bench.call("label", "status")
        return found

    def answered(self, database: str = "study.db") -> dict[str, str]:
        """Question → the way by which its answer came."""
        with Store(f"sqlite:///{self.bench.folder / database}") as store:
            return {a.question.id: a.source for a in store.content.read_answers()}

    def fill_sheet(self, sheet: Path, expert: str, leave: Callable[[int], str | None]) -> int:
        """Answer the rows of a sheet, but write into some what `leave` gives for them; how many answers."""
        lines = sheet.read_text(encoding="utf-8-sig").splitlines()
        rows = list(csv.DictReader(lines, delimiter=";" if ";" in lines[0] else ","))
        for place, row in enumerate(rows):
            left = leave(place)
            row["answer"] = self.verdict(expert, row["text"]) if left is None else left
        with sheet.open("w", encoding="utf-8", newline="") as stream:
            writer = csv.DictWriter(stream, list(rows[0]), delimiter=";")
            writer.writeheader()
            writer.writerows(rows)
        return sum(leave(place) is None for place in range(len(rows)))

    def check_counts(self, view: Served | None = None) -> int:
        """Check that all outputs show the same counts; returns the number of answered questions."""
        call, status = self.bench.call, self.status()
        asked, answered, left = counts = (status["asked"], status["answered"], status["open"])
        assert asked == answered + left
        audited = call("label", "audit", "audit.jsonl")["counts"]
        assert (audited["questions"], audited["answer"]) == (asked, answered)
        estimated = call("estimate")
        assert estimated["questions"] == {"drawn": asked, "answered": answered}
        items = estimated["models"]["m"]["items"]
        assert (items["labelled"], items["unlabelled"]) == (answered, left)
        call("report", "report.html")
        data = (self.bench.folder / "report.html").read_text().partition('id="data">')[2]
        expected = _Shown(counts, counts, counts, items, len(status["quarantine"]))
        assert _read_shown(json.loads(data.partition("</script>")[0])["parts"]) == expected
        if view is not None:
            end = monotonic() + 30
            while (shown := _read_shown({n: view.read(n) for n in _PARTS})) != expected:
                assert monotonic() < end, (shown, expected)
        return int(answered)


_PARTS = ("frame", "overview", "collection")


class _Shown(NamedTuple):
    """Counts on a page: questions asked, answered and open in each of its parts, and answers not counted."""

    counted: tuple[int, int, int]
    people: tuple[int, int, int]
    collected: tuple[int, int, int]
    items: dict[str, int]
    quarantined: int


def _read_shown(parts: Mapping[str, Any]) -> _Shown:
    collection, rows = parts["collection"], parts["frame"]["rows"]
    names = ("asked", "answered", "open")
    people = [sum(person[name] for person in collection["people"]) for name in names]
    return _Shown(
        (rows["question"], rows["answer"], rows["question"] - rows["answer"]),
        (people[0], people[1], people[2]),
        (collection["asked"], collection["answered"], collection["open"]),
        parts["overview"]["models"][0]["items"],
        collection["quarantine"]["of"],
    )
