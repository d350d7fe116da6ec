"""Sphinx directives for the reference: packages, command line, settings, pages."""

from __future__ import annotations

from typing import Any

from sphinx.application import Sphinx

from .command_line import CommandLine
from .faces import Face
from .files import lead_inside, show_file
from .pages import Pages
from .settings import Settings


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the directives ``face``, ``command-line``, ``settings`` and ``pages``."""
    app.add_directive("face", Face)
    app.add_directive("command-line", CommandLine)
    app.add_directive("pages", Pages)
    app.add_directive("settings", Settings)
    app.connect("source-read", show_file)
    app.connect("source-read", lead_inside)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
