"""The report of a study as one HTML page that needs no network."""

from __future__ import annotations

from pathlib import Path

from harness.analysis import StudyReport
from harness.machine import write_whole
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
    from harness.report.interval_plots import curve_svg, intervals_svg

    text = template.render(
        study=study,
        words=estimate_words,
        intervals_svg=intervals_svg(study),
        curve_svg=curve_svg(study),
    )
    return write_whole(text, path)
