"""Studies of every kind with their pages as files, and the addresses of all pages there are."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from pathlib import Path

from oversight.harness.analysis import report_study
from oversight.harness.config import Study, read_study
from oversight.harness.errors import OversightError
from oversight.harness.store import Store
from oversight.harness.types import Candidate, Program
from oversight.harness.view import write_page
from tests.agents.made_search import HOSTILE as PROGRAM
from tests.agents.made_search import SEARCH, make_search, source_of
from tests.view.browser import test_panel_and_collection as panels
from tests.view.browser.hostile_study import HOSTILE
from tests.view.conftest import fill, lay_out

_FIRST = Program("", source_of(0)).id
HOSTILE_SOURCE = "\n".join(f"# {' '.join(text.split())}" for text in HOSTILE) + f"\n{source_of(0)}"
_FIFTH = Program("", source_of(5)).id


@dataclass(frozen=True)
class Drawn:
    """Folders with a ``report.html`` each."""

    colours: Path
    panel: Path
    search: Path
    hostile_search: Path

    @property
    def pages(self) -> dict[str, str]:
        """Every page of the application: its name and its address as a file."""
        search = "#/search?id=made"
        found = {
            "overview": (self.colours, ""),
            "model": (self.colours, "#/model?name=good"),
            "items": (self.colours, "#/items?outcome=refuted"),
            "item": (self.colours, "#/item?id=i7"),
            "compare": (self.colours, "#/compare?first=bad&second=good"),
            "collection": (self.colours, "#/collection"),
            "panel": (self.panel, "#/panel"),
            "search": (self.search, search),
            "candidate": (self.search, f"{search}&candidate={_FIFTH}"),
            "candidate item": (self.search, f"{search}&candidate={_FIRST}&item=i0"),
        }
        return {name: file_of(folder) + rest for name, (folder, rest) in found.items()}


def file_of(folder: Path) -> str:
    """The address of a study's page as a file."""
    return (folder / "report.html").as_uri()


def draw_studies(folder: Path) -> Drawn:
    """Lay out a study of experts, a panel and a search, and write the page of each."""
    drawn = Drawn(*(folder / name for name in ("colours", "panel", "search", "hostile")))
    for each in (drawn.colours, drawn.panel, drawn.search, drawn.hostile_search):
        each.mkdir()
    fill(lay_out(drawn.colours))
    export(drawn.colours)
    study, store = panels.write_panel(drawn.panel)
    with store:
        write_page(study, store, None, drawn.panel / "report.html")
    export(drawn.search, make_search(drawn.search, 12))
    study = make_search(drawn.hostile_search, 6, hostile=True)
    with Store(study.store_url) as store:
        program = Program(PROGRAM, HOSTILE_SOURCE, PROGRAM)
        store.searches.add_candidate(SEARCH, Candidate(program, 9, "x", (_FIRST,), PROGRAM))
    export(drawn.hostile_search, study)
    return drawn


def export(folder: Path, study: Study | None = None) -> Path:
    """Write a study's page beside it, with estimates where there are any."""
    study = study or read_study(folder / "study.toml")
    with Store(study.store_url) as store:
        report = None
        with contextlib.suppress(OversightError):  # if this fails, the page says why there are no estimates
            report = report_study(store, study)
        return write_page(study, store, report, folder / "report.html")
