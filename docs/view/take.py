"""Take the pictures of the documents again: every page that a user meets, on the bundled case notes.

python -m docs.view.take                          # all pictures
python -m docs.view.take page answers             # the pictures of docs/view.md and docs/answer-page.md
python -m docs.view.take label-studio             # the pictures of Label Studio; starts its server
"""

from __future__ import annotations

import csv
import json
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

from docs.view.questions import take_answer_page, take_label_studio
from oversight.protocols.demo_study import DATA, lay_out_demo
from tests.studies.opened import copy_study

HERE = Path(__file__).parent
MODELS = {"large": 0.86, "medium": 0.72, "small": 0.5}
SIZES = {"light": (1180, 900), "dark": (1180, 900), "phone": (390, 844)}
TALLEST = {"light": 1700, "dark": 1300, "phone": 1900}
SETTLED = 600
"""Milliseconds in which all parts of a small study's page have come."""


def main() -> None:
    """Take all pictures, or only those of the kinds named on the command line."""
    kinds = {"page": take_page, "answers": take_answer_page, "label-studio": take_label_studio}
    wanted = sys.argv[1:] or list(kinds)
    if unknown := set(wanted) - kinds.keys():
        sys.exit(f"no such kind: {', '.join(sorted(unknown))}; there are: {', '.join(kinds)}")
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    with tempfile.TemporaryDirectory(prefix="oversight-pictures") as folder, sync_playwright() as play:
        browser = play.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for kind in wanted:
            place = Path(folder) / kind
            place.mkdir()
            kinds[kind](browser, place)
        browser.close()


def take_page(browser: Browser, folder: Path) -> None:
    """Take pictures of the pages of three studies: the notes with simulated models, a panel, and a search."""
    notes = folder / "notes"
    lay_out_notes(notes)
    routes = {
        "overview": "/overview",
        "items": "/items?outcome=refuted&model=medium",
        "item": "/item?id=case-017&outcome=refuted",
        "compare": "/compare?first=large&second=medium",
        "collection": "/collection",
    }
    take(browser, notes, routes)
    for name in ("panel", "search"):
        take(browser, copy_study(name, folder), {name: f"/{name}"})


def lay_out_notes(folder: Path) -> None:
    """Create a study with most questions answered and with models simulated from the answer key."""
    lay_out_demo(folder, None)
    key = DATA / "case_notes.key.csv"
    with key.open(encoding="utf-8") as stream:
        truth = {row["id"]: row["label"] for row in csv.DictReader(stream)}
    oversight(folder, "label", "route")
    oversight(folder, "label", "simulate", "--key", str(key), "--abstention", "0.03")
    draws = random.Random(4)  # noqa: S311  pictures, no secrets
    classes = sorted(set(truth.values()))
    for model, share in MODELS.items():
        with (folder / f"{model}.csv").open("w", encoding="utf-8", newline="") as out:
            rows = csv.writer(out)
            rows.writerow(["id", "option", "raw"])
            for item, right in truth.items():
                said = right if draws.random() < share else draws.choice(classes)
                rows.writerow([item, said, f"The note describes a case of {said}."])
        oversight(folder, "predictions", "import", f"{model}.csv", "--format", "table", "--model", model)


def oversight(folder: Path, *words: str) -> None:
    """Run an ``oversight`` command in a folder."""
    command = [sys.executable, "-m", "oversight.harness.cli.main", *words]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)  # noqa: S603  fixed words


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """Serve the pages of the study in a folder, and yield their address."""
    command = [
        sys.executable,
        "-m",
        "oversight.harness.cli.main",
        "view",
        "--port",
        "0",
        "--json",
    ]
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True)  # noqa: S603  fixed
    try:
        yield str(json.loads(process.stdout.readline() if process.stdout else "")["url"])
    finally:
        process.terminate()
        process.wait(timeout=30)


def take(browser: Browser, folder: Path, routes: dict[str, str]) -> None:
    """Take three pictures of every page: light, dark, and as wide as a phone."""
    with served(folder) as url:
        for look, (width, height) in SIZES.items():
            page = browser.new_page(
                viewport={"width": width, "height": height},
                color_scheme="dark" if look == "dark" else "light",
            )
            page.goto(url)
            page.locator("#state.live").wait_for()
            for name, route in routes.items():
                page.goto(f"{url.partition('#')[0]}#{route}")
                page.locator("main:not([aria-busy]) h1").wait_for()
                page.wait_for_timeout(SETTLED)
                tall = min(TALLEST[look], int(page.evaluate("document.documentElement.scrollHeight")))
                page.set_viewport_size({"width": width, "height": tall})
                page.wait_for_timeout(SETTLED)
                page.screenshot(path=HERE / f"{name}-{look}.png")
                page.set_viewport_size({"width": width, "height": height})
            page.close()


if __name__ == "__main__":
    main()
