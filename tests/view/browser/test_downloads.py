"""Downloads: tables as CSV, pictures as SVG and PNG."""

from __future__ import annotations

import csv
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from matplotlib.image import imread
from playwright.sync_api import Locator, Page

from benchmarks._view_server import Served
from oversight.harness.output import guard_cell
from tests.view.browser.conftest import Reader, here, visit
from tests.view.browser.hostile_study import COLUMNS, HOSTILE, LONG, MODELS, name_of, text_of
from tests.view.browser.studies import Drawn, file_of

pytestmark = pytest.mark.browser

SVG = "{http://www.w3.org/2000/svg}"


def take(page: Page, button: Locator) -> Path:
    with page.expect_download() as coming:
        button.click()
    return Path(coming.value.path())


def take_away(page: Page, caption: str, kind: str) -> Path:
    """Take a file from the menu of downloads."""
    menu = page.locator("#downloads")
    if menu.get_attribute("open") is None:
        menu.locator("summary").click()
    return take(page, menu.get_by_role("button", name=f"{kind}: {caption}", exact=True))


def read_csv(path: Path) -> list[list[str]]:
    with path.open(newline="", encoding="utf-8") as lines:
        return list(csv.reader(lines))


def test_a_table_is_the_same_as_csv(page: Page, running: Served) -> None:
    for address in ("#/", "#/collection", "#/model?name=good", "#/item?id=i7"):
        visit(page, here(running, address))
        for table in page.locator("main .table:visible").all():
            header, *rows = read_csv(take_away(page, table.locator(".caption").inner_text(), "CSV"))
            assert header == table.locator("thead th").all_inner_texts()
            shown = [row.locator("th, td").all_inner_texts() for row in table.locator("tbody tr").all()]
            assert len(rows) == len(shown)
            for cells, told in zip(rows, shown, strict=True):
                assert len(cells) == len(told)
                for cell, text in zip(cells, told, strict=True):
                    assert is_same(cell, text), (header, cells, told)


def is_same(cell: str, text: str) -> bool:
    """Whether a cell holds what is shown; the file has all digits of a number."""
    if cell == text or not cell or not text:  # an empty cell or text belongs to a bar beside its number
        return True
    try:
        number = float(cell)
        shown = float(
            text.partition(" (")[0].replace(",", "").replace("−", "-").strip("$*s hmin").removesuffix(" %")
        )
    except ValueError:
        return cell.lower() == text.lower()
    return abs(number - shown) < 0.051 or abs(100 * number - shown) < 0.051


def test_cells_are_no_formulas_and_stay_whole(reader: Reader, hostile: Path) -> None:
    page = reader().open(f"{file_of(hostile)}#/items")
    header, *rows = read_csv(take_away(page, "Items of this page", "CSV"))
    assert len(rows) == 50
    assert header[:5] == ["item", "text", "asked", "expert", "answer"]
    assert header[5:] == [guard_cell(name) for name in MODELS]
    names = [name_of(j) for j in range(2 * len(HOSTILE))]
    for row in rows:
        text = text_of(names.index(row[0]))
        assert row[1].removesuffix(f" {LONG}") == guard_cell(text)
    for row in [header, *rows]:
        assert not [cell for cell in row if cell.startswith(("=", "+", "-", "@", "\t", "\r"))]


@pytest.mark.parametrize(
    "name", ["overview", "model", "collection", "panel", "search", "candidate", "hostile"]
)
def test_every_picture_stands_alone(name: str, reader: Reader, drawn: Drawn, hostile: Path) -> None:
    page = reader().open(drawn.pages[name] if name in drawn.pages else file_of(hostile))
    figures = page.locator("figure:visible")
    assert figures.count() > 0
    for figure in figures.all():
        title = figure.locator("figcaption").inner_text()
        svg = ElementTree.parse(take_away(page, title, "SVG")).getroot()  # noqa: S314
        assert svg.tag == f"{SVG}svg"
        for node in svg.iter():
            assert node.tag.startswith(SVG)
            assert node.tag not in (f"{SVG}script", f"{SVG}foreignObject", f"{SVG}image")
            assert not [
                key for key in node.attrib if key.startswith("on") or key == "class" or key.endswith("href")
            ]
            assert "url(" not in "".join(node.attrib.values())
        assert svg.find(f"{SVG}title") is not None
        box = [float(x) for x in svg.attrib["viewBox"].split()]
        picture = imread(take_away(page, title, "PNG"))
        assert picture.shape[:2] == (int(2 * box[3]), int(2 * box[2]))
        assert len(np.unique(picture[::3, ::3].sum(axis=2).round(2))) > 5


def test_a_picture_by_night_has_the_night_s_paper(reader: Reader, drawn: Drawn) -> None:
    page = reader(dark=True).open(drawn.pages["overview"])
    picture = imread(take_away(page, "Accuracy of every model with its interval", "PNG"))
    assert picture[2, 2, :3].max() < 0.2
    assert picture[:, :, :3].max() > 0.8


def test_columns_of_strata_are_named_as_they_are(reader: Reader, hostile: Path) -> None:
    page = reader().open(f"{file_of(hostile)}#/items")
    shown = page.get_by_role("combobox", name="column", exact=True).locator("option").all_inner_texts()
    assert shown == ["any", *sorted(COLUMNS)]
