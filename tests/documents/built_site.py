"""The site as it was built: its pages, and what each leads to and shows."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


@dataclass
class BuiltPage(HTMLParser):
    """One page: its anchors, links, what it loads, and its pictures without a text."""

    path: Path
    anchors: set[str] = field(default_factory=set)
    links: list[str] = field(default_factory=list)
    loads: list[str] = field(default_factory=list)
    silent: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()
        self.feed(self.path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what a tag names, leads to or loads."""
        told = dict(attrs)
        self.anchors |= {value for name in ("id", "name") if (value := told.get(name))}
        if tag == "a" and told.get("href"):
            self.links.append(str(told["href"]))
        loaded = told.get("src") or (told.get("href") if tag == "link" else None)
        if loaded and not loaded.startswith("data:"):
            self.loads.append(loaded)
        if tag == "img" and len(str(told.get("alt") or "")) < 3:
            self.silent.append(str(loaded))


def read_site(folder: Path) -> dict[Path, BuiltPage]:
    """Path → page."""
    return {path: BuiltPage(path) for path in sorted(folder.rglob("*.html")) if "_static" not in path.parts}


def find_dead(site: dict[Path, BuiltPage]) -> list[str]:
    """Links and files that are not there; of an address elsewhere only its form is looked at, not checked."""
    dead = []
    for page in site.values():
        for link in (*page.links, *page.loads):
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                if parts.scheme not in ("https", "mailto", "http") or not (parts.netloc or parts.path):
                    dead.append(f"{page.path.name}: {link}")
                continue
            target = (page.path.parent / unquote(parts.path)).resolve() if parts.path else page.path
            anchor = unquote(parts.fragment)
            known = site[target].anchors if target in site else {anchor}
            if not target.exists() or (anchor and anchor not in known):
                dead.append(f"{page.path.name}: {link}")
    return dead
