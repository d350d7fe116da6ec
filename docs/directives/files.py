"""Pages that show a file as a whole, and links to such files from everywhere."""

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
"""Page → the file that it shows instead of a text, which links to the file outside the site."""
PAGES = {path: f"/{name}.md" for name, path in SHOWN.items()} | {ROOT / "README.md": "/index.md"}
_LINK = re.compile(r"(?<=\]\()(?!https?:|/|#)([^)#\s]+)")


def show_file(app: Sphinx, name: str, text: list[str]) -> None:
    """Put the whole of a file in the place of a page that stands for it."""
    if path := SHOWN.get(name):
        app.env.note_dependency(str(path))
        text[0] = path.read_text(encoding="utf-8")


def lead_inside(app: Sphinx, name: str, text: list[str]) -> None:
    """Links to files that a page shows lead to the page; all others to where they lie, seen from here."""
    folder = SHOWN.get(name, Path(app.env.doc2path(name))).parent

    def lead(link: re.Match[str]) -> str:
        path = (folder / link[1]).resolve()
        if not path.exists():
            return link[1]  # which the build then names
        return PAGES.get(path) or os.path.relpath(path, app.env.doc2path(name).parent)

    text[0] = _LINK.sub(lead, text[0])
