"""The report of a study as one HTML page that needs no network."""

from __future__ import annotations

from pathlib import Path

from harness.analysis import StudyReport
from harness.machine import write_whole
from harness.plot import closing, closing_height, draw_svg, estimates, estimates_height
from harness.report import estimate_words
from harness.report.pages import page_template


def write_html(study: StudyReport, path: str | Path) -> Path:
    """Write the page, whole or not at all, and return its path.

    Raises
    ------
    ConfigError
        If the ``report`` extra is missing.
    """
    template = page_template("report.html")
    text = template.render(
        study=study,
        words=estimate_words,
        intervals_svg=draw_svg(lambda axes: estimates(study, axes), estimates_height(study)),
        curve_svg=draw_svg(lambda axes: closing(study, axes), closing_height(study)),
    )
    return write_whole(text, path)
