"""A real browser on the answer page: keys and taps, undo, comments, instructions, panels, hostile texts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from oversight.harness.store import Response, Store
from tests.answer_page.browser.conftest import People, done, press, wait_ready
from tests.answer_page.conftest import N, call, draw, serve

HALF = N // 2
OPEN_STUDY = """\
[study]
name = "Long answers"
seed = 3
[items]
file = "items.jsonl"
answers = "open"
[open]
units = "sentences"
"""


def replies(folder: Path, *, panel: bool = False) -> dict[str, Response]:
    with Store(f"sqlite:///{folder / 'study.db'}") as store:
        return store.replies(panel=panel).read_replies()


def saved(page: Page, number: int, of: int = HALF) -> None:
    """Wait until the page shows `number` answers and has sent all of them."""
    expect(page.locator(".count")).to_contain_text(f"{number} of {of}")
    page.wait_for_function("() => !Object.keys(localStorage).some((name) => name.includes(':unsent:'))")


def reviewed(page: Page, answer: str) -> None:
    """Wait until an earlier answer is shown."""
    expect(page.locator(".review")).to_have_text(f"You answered: {answer}")


def test_one_key_answers_and_goes_on_to_the_end(tmp_path: Path, people: People) -> None:
    draw(tmp_path)
    with serve(tmp_path) as desk:
        ana = people(1280)
        page = ana.open(desk.url, desk.codes["ana"])
        for number, key in enumerate("ynus", 1):
            press(page, key)
            saved(page, number)
        press(page, "Y")
        saved(page, 5)
        press(page, "n")
        saved(page, 6)
        expect(page.get_by_role("heading", level=1)).to_have_text("All 6 questions are answered")
        values = [reply.value for reply in replies(tmp_path).values()]
        assert values == ["yes", "no", "unsure", "skip", "yes", "no"]
        assert all(url.startswith((f"http://127.0.0.1:{desk.port}/", "data:")) for url in ana.asked)
        page.reload()
        expect(page.get_by_role("heading", level=1)).to_have_text("All 6 questions are answered")
        with Store(f"sqlite:///{tmp_path / 'study.db'}") as store:  # new questions appear without a reload
            events = [e for e in store.audit.read_records() if e.kind == "answer"]
        assert all(e.seconds is not None and 0 <= e.seconds < 600 for e in events)


def test_on_a_phone_one_tap_answers(tmp_path: Path, people: People) -> None:
    draw(tmp_path, text="a long note about {} " * 200)
    with serve(tmp_path) as desk:
        page = people(390).open(desk.url, desk.codes["bea"])
        for number, name in enumerate(("Yes", "No", "Unsure", "Skip"), 1):
            wait_ready(page)
            page.get_by_role("button", name=name, exact=True).tap()
            saved(page, number)
        assert [r.value for r in replies(tmp_path).values()] == ["yes", "no", "unsure", "skip"]
        assert page.evaluate("document.documentElement.scrollWidth") == 390
        for box in [button.bounding_box() for button in page.locator("#bar button").all()]:
            assert box is not None  # visible, and large enough for a thumb
            assert box["height"] >= 44
            assert box["y"] + box["height"] <= 844


def test_a_key_that_is_held_or_struck_twice_answers_once(tmp_path: Path, people: People) -> None:
    draw(tmp_path)
    with serve(tmp_path) as desk:
        page = people(1280).open(desk.url, desk.codes["ana"])
        strike = (
            'document.dispatchEvent(new KeyboardEvent("keydown", { key: "n", repeat: j > 2, bubbles: true }))'
        )
        page.evaluate(f"() => {{ for (let j = 0; j < 5; j += 1) {strike}; }}")
        saved(page, 1)
        for key in ("Control+y", "Alt+n", "x", "1", "Enter"):
            press(page, key)
        wait_ready(page)
        assert done(page) == "1 of 6"
        assert len(replies(tmp_path)) == 1


def test_instructions_are_shown_once_and_take_the_keys(tmp_path: Path, people: People) -> None:
    draw(tmp_path)
    with serve(tmp_path) as desk:
        page = people(1280).open(desk.url, desk.codes["ana"], begin=False)
        dialog = page.get_by_role("dialog")
        expect(dialog).to_contain_text("Would you treat <i>this</i> patient?")
        for key in "ynusz":
            page.keyboard.press(key)
        expect(dialog).to_be_visible()
        page.keyboard.press("Enter")
        expect(dialog).to_be_hidden()
        wait_ready(page)
        assert done(page) == "0 of 6"
        page.reload()
        wait_ready(page)
        expect(dialog).to_be_hidden()
        press(page, "i")
        expect(dialog).to_be_visible()
        page.keyboard.press("y")
        page.keyboard.press("Escape")
        expect(dialog).to_be_hidden()
        assert replies(tmp_path) == {}


def test_long_instructions_open_at_their_beginning_on_a_small_phone(tmp_path: Path, people: People) -> None:
    draw(tmp_path)
    study = tmp_path / "study.toml"
    study.write_text(study.read_text().replace("Read the note.", "Read the note. " * 400, 1))
    with serve(tmp_path) as desk:
        page = people(320).open(desk.url, desk.codes["ana"], begin=False)
        go_on = page.get_by_role("button", name="Go on")
        for part in (page.get_by_role("heading", name="Before you begin"), go_on):
            expect(part).to_be_in_viewport(ratio=1)
        assert page.locator("dialog .prose").evaluate("(text) => text.scrollTop") == 0
        go_on.tap()
        wait_ready(page)
        heights = {
            button.evaluate("(b) => b.offsetHeight") for button in page.locator(".verdicts button").all()
        }
        assert heights == {56}  # equal heights: no word is broken
        page.get_by_role("button", name="Unsure").tap()
        saved(page, 1)


def test_undo_goes_back_and_the_history_stays(tmp_path: Path, people: People) -> None:
    draw(tmp_path)
    with serve(tmp_path) as desk:
        page = people(1280).open(desk.url, desk.codes["ana"])
        for number, key in enumerate("yn", 1):
            press(page, key)
            saved(page, number)
        first, second = replies(tmp_path)
        press(page, "z")
        reviewed(page, "No")
        expect(page.get_by_role("button", name="No", exact=True, pressed=True)).to_be_visible()
        press(page, "z")
        reviewed(page, "Yes")
        press(page, "u")
        saved(page, 2)
        assert {name: r.value for name, r in replies(tmp_path).items()} == {first: "unsure", second: "no"}
        press(page, "z")
        reviewed(page, "Unsure")
        press(page, "Escape")
        expect(page.locator(".review")).to_have_count(0)
        with Store(f"sqlite:///{tmp_path / 'study.db'}") as store:
            events = [(e.asked_id, e.value) for e in store.audit.read_records() if e.kind == "answer"]
        assert events == [(first, "yes"), (second, "no"), (first, "unsure")]


def test_comments_are_kept_while_written_and_saved_with_the_answer(tmp_path: Path, people: People) -> None:
    draw(tmp_path)
    with serve(tmp_path) as desk:
        page = people(1280).open(desk.url, desk.codes["ana"])
        press(page, "c")
        page.keyboard.type("yes, no: unsure")  # letters typed into a text field are not answers
        page.reload()
        wait_ready(page)
        box = page.get_by_label("Comment", exact=True)
        expect(box).to_have_value("yes, no: unsure")
        box.focus()
        page.keyboard.press("Control+Enter")
        press(page, "y")
        saved(page, 1)
        assert [r.comment for r in replies(tmp_path).values()] == ["yes, no: unsure"]
        expect(page.get_by_label("Comment", exact=True)).to_be_hidden()
        press(page, "z")
        expect(box).to_have_value("yes, no: unsure")
        box.fill("otherwise")
        page.keyboard.press("Control+Enter")
        saved(page, 1)
        page.wait_for_function("() => !document.querySelector('.review')")
        assert [(r.value, r.comment) for r in replies(tmp_path).values()] == [("yes", "otherwise")]


def test_a_panel_chooses_by_number_and_tap(tmp_path: Path, people: People) -> None:
    draw(tmp_path, panel=True)
    with serve(tmp_path) as desk:
        page = people(1280).open(desk.url, desk.codes["ana"])
        for number, key in enumerate("213s", 1):
            press(page, key)
            saved(page, number, N)
        for key in ("4", "9", "y", "n"):
            press(page, key)
        assert [r.value for r in replies(tmp_path, panel=True).values()] == ["brain", "heart", "skin", ""]
        press(page, "z")
        reviewed(page, "Skip")
        phone = people(390).open(desk.url, desk.codes["bea"])
        phone.get_by_role("button", name="skin").tap()
        saved(phone, 1, N)
        assert [r.value for r in replies(tmp_path, panel=True).values()][-1] == "skin"


def test_hostile_texts_are_texts(tmp_path: Path, people: People) -> None:
    hostile = '<img src=x onerror="alert({})"><script>alert(1)</script>\u202eevil javascript:alert(2)'
    draw(tmp_path, text=hostile)
    with serve(tmp_path) as desk:
        ana = people(390)
        page = ana.open(desk.url, desk.codes["ana"])
        assert "<script>alert(1)</script>" in page.locator("#text").inner_text()
        expect(page.locator("header")).to_contain_text("Notes <b>of</b> a ward")
        assert page.locator("main img, main script, main a, header b b").count() == 0
        page.get_by_role("button", name="Add a comment").tap()
        page.get_by_label("Comment", exact=True).fill("</textarea><img src=x onerror=alert(3)>")
        page.get_by_role("button", name="Yes", exact=True).tap()
        saved(page, 1)
        page.locator("#back").tap()
        expect(page.get_by_label("Comment", exact=True)).to_have_value(
            "</textarea><img src=x onerror=alert(3)>"
        )


def test_an_answer_given_elsewhere_meanwhile_is_kept(tmp_path: Path, people: People) -> None:
    draw(tmp_path)
    with serve(tmp_path) as desk:
        page = people(1280, may_fail=True).open(desk.url, desk.codes["ana"])
        shown = page.evaluate("document.body.dataset.ready")
        with Store(f"sqlite:///{tmp_path / 'study.db'}") as store:
            store.content.replies.add_replies([Response(shown, "ana", "no", "offline")])
        press(page, "y")
        expect(page.get_by_text("This question was answered elsewhere; that answer stays.")).to_be_visible()
        saved(page, 1)
        assert replies(tmp_path)[shown].value == "no"
        status = call(tmp_path, "label", "status")
        assert status["experts"]["ana"]["foreign"] == 1


@pytest.mark.slow
@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("panel", [False, True])
def test_a_screen_reader_misses_nothing(tmp_path: Path, people: People, *, dark: bool, panel: bool) -> None:
    draw(tmp_path, panel=panel)
    with serve(tmp_path) as desk:
        page = people(390, dark=dark).open(desk.url, desk.codes["ana"], begin=False)
        page.get_by_role("dialog").wait_for()
        assert Axe().run(page).response["violations"] == []
        page.get_by_role("button", name="Go on").tap()
        wait_ready(page)
        page.get_by_role("button", name="Add a comment").tap()
        assert Axe().run(page).response["violations"] == []
        page.locator(".answer").first.tap()
        wait_ready(page)
        page.locator("#back").tap()
        page.locator(".review").wait_for()
        assert Axe().run(page).response["violations"] == []


@pytest.mark.parametrize("width", [390, 1280])
def test_marked_sentence_of_a_long_answer_is_in_view(tmp_path: Path, people: People, width: int) -> None:
    (tmp_path / "items.jsonl").write_text(json.dumps({"id": "q", "text": "What now? " * 300}) + "\n")
    (tmp_path / "study.toml").write_text(OPEN_STUDY)
    (tmp_path / "experts.toml").write_text('[[expert]]\nname = "ana"\nclasses = ["*"]\n')
    said = {"id": "q", "raw": "Call an ambulance. " + "Wait for it at the door. " * 200 + "【4†source】"}
    (tmp_path / "said.jsonl").write_text(json.dumps(said) + "\n")
    call(tmp_path, "predictions", "import", "said.jsonl", "--model", "m")
    call(tmp_path, "label", "route", "--questions", "1")
    with serve(tmp_path) as desk:
        page = people(width).open(desk.url, desk.codes["ana"], begin=False)
        expect(page.locator("#text mark")).to_be_in_viewport()
        expect(page.locator("#text b")).to_have_text(["QUESTION", "ANSWER"])
        marked = page.locator("#text mark").inner_text()
        expect(page.get_by_role("heading", level=1)).to_have_text(f"Is this true? “{marked}”")
        expect(page.get_by_role("heading", level=1)).to_be_in_viewport()
