"""Show complete files from outside the site as pages, and make links to these files lead to the pages."""

from __future__ import annotations

import os
import re
from pathlib import Path

from sphinx.application import Sphinx

DOCS = Path(__file__).parents[1]
ROOT = DOCS.parent
SHOWN = {
    "architecture": ROOT / "CONTRIBUTING.md",
    "changelog": ROOT / "CHANGELOG.md",
    "data": ROOT / "data" / "README.md",
    "workflow-search": DOCS / "search.md",  # search.html is the page of the site's own search
}
"""Page → the file whose content replaces the page's own text."""
PAGES = {path: f"/{name}.md" for name, path in SHOWN.items()} | {ROOT / "README.md": "/index.md"}
_LINK = re.compile(r"(?<=\]\()(?!https?:|/|#)([^)#\s]+)")


def show_file(app: Sphinx, name: str, text: list[str]) -> None:
    """If a page shows a file, replace the page's text by the file's content."""
    if path := SHOWN.get(name):
        app.env.note_dependency(str(path))
        text[0] = path.read_text(encoding="utf-8")


def lead_inside(app: Sphinx, name: str, text: list[str]) -> None:
    """Make relative links lead to the page that shows the linked file or, if none does, to the file."""
    folder = SHOWN.get(name, Path(app.env.doc2path(name))).parent

    def lead(link: re.Match[str]) -> str:
        path = (folder / link[1]).resolve()
        if not path.exists():
            return link[1]  # unchanged, so that the build reports the broken link
        return PAGES.get(path) or os.path.relpath(path, app.env.doc2path(name).parent)

    text[0] = _LINK.sub(lead, text[0])
