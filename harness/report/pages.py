"""Templates, filters and files: what all pages share."""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from harness.errors import ConfigError

if TYPE_CHECKING:
    from jinja2 import Template


def page_template(name: str) -> Template:
    """Load a template with the filters that all pages share.

    Raises
    ------
    ConfigError
        If the ``report`` extra is missing.
    """
    try:
        import jinja2

        import_module("matplotlib")  # all pages have plots
    except ImportError as error:
        raise ConfigError(f"the report page needs: pip install 'oversight[report]' ({error})") from None
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["percent"] = percent
    environment.filters["pretty"] = lambda value: json.dumps(value, indent=2, ensure_ascii=False)
    return environment.get_template(name)


def percent(share: float) -> str:
    """``71.2 %``."""
    return f"{100 * share:.1f} %"
