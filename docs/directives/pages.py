"""A Sphinx directive that lists existing pages."""

from __future__ import annotations

from pathlib import Path

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.directives.other import TocTree


class Pages(TocTree):
    """``pages`` is a toctree of all pages that match its patterns; a pattern may match no page."""

    def run(self) -> list[nodes.Node]:
        """Return the list of pages, ordered by pattern, then by name."""
        patterns: list[str] = list(self.content)
        root = Path(self.env.srcdir)
        found = [sorted(root.glob(f"{pattern}.md"), key=_place) for pattern in patterns]
        paths = dict.fromkeys(path for of in found for path in of)
        pages = [path.relative_to(root).with_suffix("").as_posix() for path in paths]
        self.env.note_reread()  # read this page in every build, because matching pages may be added
        self.content = StringList(pages, source=self.env.docname)
        return super().run()


def _place(path: Path) -> tuple[bool, str]:
    """Return a sort key that puts README first, then the other pages by name."""
    return path.stem != "README", path.stem
