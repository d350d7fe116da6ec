"""The page of a search: lineage, differences of source, front of accuracy against tokens."""

from __future__ import annotations

from pathlib import Path

from harness.machine import write_whole
from harness.report.pages import page_template
from harness.report.search.findings import SearchedCandidate, SearchReport
from harness.report.search.lineage import HEIGHT, WIDTH, lay_out


def write_search_html(report: SearchReport, path: str | Path) -> Path:
    """Write the page, whole or not at all, and return its path.

    Raises
    ------
    ConfigError
        If the ``report`` extra is missing.
    """
    return write_whole(render_search_html(report), path)


def render_search_html(report: SearchReport) -> str:
    """Render the page as text."""
    template = page_template("search.html")
    from harness.report.search.front_plot import front_svg

    return template.render(
        search=report,
        graph=lay_out(report.candidates),
        box={"width": WIDTH, "height": HEIGHT},
        front_svg=front_svg(report),
        ranked=sorted((c for c in report.candidates if c.standing), key=_rank),
    )


def _rank(candidate: SearchedCandidate) -> float:
    return -candidate.standing.mean if candidate.standing else 0.0
