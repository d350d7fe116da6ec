"""A list of the pages that exist."""

from __future__ import annotations

from pathlib import Path

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.directives.other import TocTree


class Pages(TocTree):
    """``pages`` is a toctree of all pages that match its patterns; a pattern may have none yet."""

    def run(self) -> list[nodes.Node]:
        """The list, in the order of the patterns, then of the names."""
        patterns: list[str] = list(self.content)
        root = Path(self.env.srcdir)
        found = [sorted(root.glob(f"{pattern}.md"), key=_place) for pattern in patterns]
        paths = dict.fromkeys(path for of in found for path in of)
        pages = [path.relative_to(root).with_suffix("").as_posix() for path in paths]
        self.env.note_reread()  # a page may have come
        self.content = StringList(pages, source=self.env.docname)
        return super().run()


def _place(path: Path) -> tuple[bool, str]:
    """A folder's README before all others, which come by their names."""
    return path.stem != "README", path.stem
