"""A real browser signs in with a personal code, which stays in none of the browser's files."""

from __future__ import annotations

from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, expect

from oversight.protocols.collect.answer_page.expert_codes import derive_link_id, normalise_code
from tests.answer_page.browser.conftest import ARGUMENTS, People, find_chromium, press, sign_in
from tests.answer_page.browser.test_answering import saved
from tests.answer_page.conftest import draw, serve

pytestmark = pytest.mark.slow


def find_files(folder: Path, text: str) -> set[str]:
    """Paths of the files that contain a text in UTF-8 or UTF-16, as Chromium stores texts."""
    forms = [text.encode(), text.encode("utf-16-le")]
    contents = {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}
    return {path for path, content in contents.items() if any(form in content for form in forms)}


def test_no_file_of_the_browser_and_no_log_contains_the_code(tmp_path: Path, chromium: Browser) -> None:
    draw(study := tmp_path / "study")
    profile = tmp_path / "profile"
    with serve(study, "--host", "0.0.0.0") as desk:  # noqa: S104  so that the log has a line
        code = desk.codes["ana"]
        context = chromium.browser_type.launch_persistent_context(
            profile, executable_path=find_chromium(), args=ARGUMENTS
        )
        page = context.new_page()
        page.goto(f"http://127.0.0.1:{desk.port}")
        sign_in(page, code)
        page.get_by_role("button", name="Go on").click()
        press(page, "y")
        saved(page, 1)
        context.close()
    secret = normalise_code(code)
    assert "Default/History" in find_files(profile, derive_link_id(secret))
    assert "unencrypted" in desk.errors[0]
    for text in (code, secret):
        assert find_files(profile, text) == set()
        assert text not in desk.errors[0]


@pytest.mark.parametrize(("width", "height"), [(320, 640), (320, 256), (1280, 844)])
def test_form_is_used_by_keyboard_and_names_its_error(
    tmp_path: Path, people: People, width: int, height: int
) -> None:
    draw(tmp_path)
    with serve(tmp_path) as desk:
        page = people(width, may_fail=True).open(desk.url, begin=False)
        page.set_viewport_size({"width": width, "height": height})
        box = page.get_by_role("textbox", name="Personal code")
        expect(box).to_be_focused()
        named = ("autocomplete", "autocapitalize", "spellcheck")
        assert [box.get_attribute(name) for name in named] == ["off", "off", "false"]
        assert Axe().run(page).response["violations"] == []
        page.keyboard.type("ziny – 🙂")
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        expect(page.get_by_role("alert")).to_contain_text("This code is not valid")
        expect(box).to_be_focused()
        expect(box).to_have_accessible_description(
            "You received it from the person who invited you. This code is not valid; "
            "correct it, or ask the person who sent it for a new one."
        )
        assert Axe().run(page).response["violations"] == []
        box.fill(desk.codes["ana"])
        assert box.evaluate("(box) => box.scrollWidth <= box.clientWidth"), "the code is cut off"
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        page.keyboard.press("Control+a")
        page.keyboard.type(desk.codes["ana"].upper().replace("-", " – ").replace("0", "O").replace("1", "i"))
        page.keyboard.press("Enter")
        expect(page.locator("#person")).to_have_text("ana")


def test_too_many_wrong_codes_must_wait(tmp_path: Path, people: People) -> None:
    draw(tmp_path)
    with serve(tmp_path) as desk:
        page = people(390, may_fail=True).open(desk.url, begin=False)
        box = page.get_by_label("Personal code")
        box.fill(desk.codes["ana"])
        while desk.sign_in("x")[0].getheader("Retry-After") != "3":
            pass
        box.press("Enter")
        expect(page.get_by_role("alert")).to_contain_text("Wait a few seconds")
        expect(box).to_have_value(desk.codes["ana"])
