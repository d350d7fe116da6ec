"""The site is built without a warning, leads nowhere that is not there, and has all of the code's names."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest
from playwright.sync_api import sync_playwright

from oversight.harness.cli.main import VERBS
from oversight.harness.config import read_schema_text
from tests.conftest import ROOT
from tests.documents.built_site import BuiltPage, find_dead, read_site

pytestmark = [pytest.mark.xdist_group("browser"), pytest.mark.slow]
Site = dict[Path, BuiltPage]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built with every warning an error, as ``make docs`` does."""
    folder = tmp_path_factory.mktemp("site").resolve()
    options = ("--builder", "html", "--fail-on-warning", "--keep-going", "--quiet")
    command = [sys.executable, "-m", "sphinx", *options, str(ROOT / "docs"), str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def site(folder: Path) -> Site:
    return read_site(folder)


def test_no_link_is_dead(site: Site) -> None:
    assert len(site) > 40
    assert find_dead(site) == []


def test_a_dead_link_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text(
        '<a href="no.html">.</a> <a href="#no">.</a> <a href="#yes" id="yes">.</a> <img src="no.png">'
    )
    site = read_site(tmp_path)
    assert find_dead(site) == ["page.html: no.html", "page.html: #no", "page.html: no.png"]
    assert site[page].silent == ["no.png"]


def test_pages_load_nothing_from_elsewhere_and_say_what_pictures_show(site: Site) -> None:
    assert [load for page in site.values() for load in page.loads if "//" in load] == []
    assert [(page.path.name, picture) for page in site.values() for picture in page.silent] == []


@pytest.mark.parametrize(
    "face", ["oversight", "oversight.protocols", "oversight.harness.plot", "oversight.harness.analysis"]
)
def test_every_name_of_a_face_is_in_the_reference(site: Site, face: str) -> None:
    shown = {
        anchor for page in site.values() if page.path.parent.name == "reference" for anchor in page.anchors
    }
    names = {*import_module(face).__all__} - {"plot"}
    assert {name for name in names if not {f"{face}.{name}", f"oversight.harness.{name}"} & shown} == set()


def test_every_verb_and_every_setting_is_in_the_reference(folder: Path, site: Site) -> None:
    verbs = site[folder / "reference" / "command-line.html"].anchors
    assert {f"oversight-{verb}" for verb in VERBS} - verbs == set()
    assert {"oversight-label-route", "oversight-search-export"} <= verbs
    text = (folder / "reference" / "settings.html").read_text(encoding="utf-8")
    schema = json.loads(read_schema_text())
    settings = {name for table in schema["$defs"].values() for name in table["properties"]}
    assert [name for name in sorted(settings) if f">{name}</span>" not in text] == []


def test_every_page_of_the_documents_is_in_the_site(folder: Path, site: Site) -> None:
    pages = [path.relative_to(ROOT / "docs") for path in (ROOT / "docs").rglob("*.md")]
    shown = {"search.md": "workflow-search.html"}
    missing = [
        page
        for page in pages
        if "_build" not in page.parts
        and folder / shown.get(str(page), str(page.with_suffix(".html"))) not in site
    ]
    assert missing == []


@pytest.mark.browser
def test_opened_from_disk_it_is_searched_and_read_on_a_phone(folder: Path, site: Site) -> None:
    """Nothing is asked of a network, no page is wider than a phone, and the search finds without a server."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        pytest.skip("there is no chromium on the path")
    asked: list[str] = []
    trouble: list[str] = []
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 390, "height": 844}, color_scheme="dark")
        page.on("request", lambda request: asked.append(request.url))
        page.on("console", lambda message: trouble.append(message.text))
        page.on("pageerror", lambda error: trouble.append(str(error)))
        wide = []
        for path in site:
            page.goto(path.as_uri())
            if page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth"):
                wide.append(path.name)
        page.goto((folder / "search.html").as_uri() + "?q=krippendorff")
        page.locator("ul.search a", has_text="Several annotators per item").wait_for()
        browser.close()
    assert wide == []
    assert [address for address in asked if not address.startswith(("file:", "data:"))] == []
    assert trouble == []
