"""The report as one HTML page that needs no network."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

from harness.analysis import ESTIMATOR_NAMES, StudyReport
from harness.errors import ConfigError

if TYPE_CHECKING:
    from jinja2 import Template


def write_html(study: StudyReport, path: str | Path) -> Path:
    """Write the page, whole or not at all, and return its path.

    Raises
    ------
    ConfigError
        If the ``report`` extra is missing.
    """
    return write_whole(render_html(study), path)


def write_whole(text: str, path: str | Path) -> Path:
    """Write a text file, whole or not at all, and return its path."""
    path = Path(path)
    part = path.with_name(path.name + ".part")
    path.parent.mkdir(parents=True, exist_ok=True)
    with part.open("w", encoding="utf-8") as stream:
        stream.write(text)
        stream.flush()
        os.fsync(stream.fileno())
    part.replace(path)
    return path


def render_html(study: StudyReport) -> str:
    """Render the page as text."""
    template = page_template("report.html")
    from harness.report.study.plots import curve_svg, intervals_svg

    return template.render(
        study=study,
        estimators=ESTIMATOR_NAMES,
        intervals_svg=intervals_svg(study),
        curve_svg=curve_svg(study),
    )


def page_template(name: str) -> Template:
    """Load a template with the filters that all pages share.

    Raises
    ------
    ConfigError
        If the ``report`` extra is missing.
    """
    try:
        import jinja2
        import matplotlib  # noqa: F401  all pages have plots

        from harness.report.study.table import cost, method, percent
    except ImportError as error:
        raise ConfigError(f"the report page needs: pip install 'oversight[report]' ({error})") from None
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parents[1] / "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["percent"] = percent
    environment.filters["cost"] = cost
    environment.filters["method"] = method
    environment.filters["pretty"] = lambda value: json.dumps(value, indent=2, ensure_ascii=False)
    return environment.get_template(name)
