"""Pictures of the pages on which experts answer: this project's own, and Label Studio's."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page, expect

from oversight.protocols.demo_study import DATA

DOCS = Path(__file__).parents[1]
CLASSES = (
    *("cardiology", "neurology", "gastroenterology", "pulmonology"),
    *("nephrology", "endocrinology", "dermatology", "rheumatology"),
)
STUDY = """\
[study]
name = "{name}"
seed = 7
[items]
file = "case_notes.jsonl"
classes = {classes}
[experts]
{experts}
[label_studio]
instructions = "Read the note. Would you treat this patient in your department?"
[label_studio.descriptions]
cardiology = "Heart and vessels, adults"
rheumatology = "Joints and connective tissue"
"""
COMMENT = "Not ours at first sight, but I would want an ECG."


@dataclass(frozen=True)
class Look:
    """A screen: its name in the file name, its size, and its number of pixels per CSS pixel."""

    name: str
    width: int
    height: int
    scale: float
    panel: bool = False


LOOKS = (Look("390", 390, 844, 2), Look("768", 768, 1024, 1.5, panel=True), Look("1280", 1280, 800, 1.5))


def lay_out(folder: Path, *, panel: bool) -> Path:
    """Create a study of the bundled notes, and draw its questions.

    Ana is asked yes/no questions about the first class or, with `panel`, chooses a class for every note.
    """
    name = "rated notes" if panel else "case notes"
    folder /= name
    folder.mkdir()
    experts = 'protocol = "panel"\nannotators_per_item = 2' if panel else ""
    text = STUDY.format(name=name, classes=json.dumps(CLASSES), experts=experts)
    (folder / "study.toml").write_text(text, encoding="utf-8")
    notes = (DATA / "case_notes.jsonl").read_text(encoding="utf-8").splitlines()[:160]
    (folder / "case_notes.jsonl").write_text("\n".join(notes), encoding="utf-8")
    rest = CLASSES[1:]
    judged = {name: ["*"] for name in ("ana", "bea", "cem")} if panel else {"ana": CLASSES[:1], "bea": rest}
    people = [f'[[expert]]\nname = "{name}"\nclasses = {json.dumps(of)}\n' for name, of in judged.items()]
    (folder / "experts.toml").write_text("\n".join(people), encoding="utf-8")
    tell(folder, "label", "route")
    return folder


def tell(folder: Path, *words: str) -> Any:
    """Run an ``oversight`` command in a folder, and read what it prints as JSON."""
    command = [sys.executable, "-m", "oversight.harness.cli.main", *words, "--json"]
    done = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)  # noqa: S603  fixed
    return json.loads(done.stdout)


@contextmanager
def serve_answers(folder: Path) -> Iterator[tuple[str, str]]:
    """Serve the answer page of a study, and yield its address and Ana's personal code."""
    command = [sys.executable, "-m", "oversight.harness.cli.main", "label", "serve", "--port", "0", "--json"]
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True)  # noqa: S603  fixed
    try:
        told = json.loads(process.stdout.readline() if process.stdout else "")
        yield next((made["url"], made["code"]) for made in told["codes"] if made["expert"] == "ana")
    finally:
        process.terminate()
        process.wait(timeout=30)


def take_answer_page(browser: Browser, folder: Path) -> None:
    """Save docs/answer-page-*.png: each screen, light and dark, after some answers."""
    for panel in (False, True):
        study = lay_out(folder, panel=panel)
        with serve_answers(study) as (url, code):
            for look in LOOKS:
                for scheme in ("light", "dark") if look.panel == panel else ():
                    page = browser.new_page(
                        viewport={"width": look.width, "height": look.height},
                        device_scale_factor=look.scale,
                        color_scheme="dark" if scheme == "dark" else "light",
                        has_touch=look.width < 500,
                        is_mobile=look.width < 500,
                    )
                    page.goto(url)
                    page.get_by_label("Personal code").fill(code)
                    page.get_by_role("button", name="Continue").click()
                    answer_some(page, "1" if panel else "n")
                    end = "" if scheme == "light" else "-dark"
                    page.screenshot(path=DOCS / f"answer-page-{look.name}{end}.png")
                    page.close()


def answer_some(page: Page, key: str, number: int = 2) -> None:
    """Read the instructions, and answer `number` questions by pressing `key`."""
    page.get_by_role("button", name="Go on").click()
    answered = page.locator(".count")
    for _ in range(number):
        page.locator("body[data-ready]").wait_for()
        said = answered.inner_text()
        page.keyboard.press(key)
        expect(answered).not_to_have_text(said)
    page.locator("body[data-ready]").wait_for()


def take_label_studio(browser: Browser, folder: Path) -> None:
    """Start a Label Studio server, save docs/label-studio.png and docs/panel.png, and stop the server."""
    os.environ["OVERSIGHT_DATA"] = str(folder / "server")
    try:
        [server] = tell(folder, "server", "start", "label-studio")["servers"].values()
        for name, panel in (("label-studio", False), ("panel", True)):
            study = lay_out(folder, panel=panel)
            pushed = tell(study, "label", "push")["experts"]["ana"]["url"]
            accounts = {
                account["expert"]: account for account in tell(study, "experts", "invite")["accounts"]
            }
            page = browser.new_context(viewport={"width": 1100, "height": 560}).new_page()
            log_in(page, server["url"], accounts["ana"])
            page.goto(pushed)
            page.get_by_test_id("bottombar-submit-button").wait_for()
            page.keyboard.press("Escape")  # the instructions
            page.keyboard.press("2" if panel else "u")
            if not panel:
                page.get_by_test_id("textarea-input").fill(COMMENT)
            page.wait_for_timeout(1000)
            page.screenshot(path=DOCS / f"{name}.png")
            page.context.close()
    finally:
        tell(folder, "server", "stop", "label-studio")


def log_in(page: Page, url: str, account: dict[str, str]) -> None:
    """Log in to Label Studio with its login form."""
    page.goto(f"{url}/user/login")
    page.fill("input[name=email]", account["email"])
    page.fill("input[name=password]", account["password"])
    page.click("button[type=submit]")
    page.wait_for_url(lambda address: "/user/login" not in address)
