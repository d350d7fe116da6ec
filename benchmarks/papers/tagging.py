"""003: "Are Machines Better Than Humans in Image Tagging?", human-level indices."""

from __future__ import annotations

from pathlib import Path

from benchmarks.papers import tagging_experiments
from benchmarks.papers.numbers import Findings, Section, Source
from benchmarks.papers.tagging_table import categories, standings


def draw(folder: Path, _found: dict[str, Findings]) -> None:
    """Draw the picture of the page."""
    tagging_experiments.draw(folder)


SOURCE = Source(
    key="003",
    title="Are Machines Better Than Humans in Image Tagging?",
    page="003-human-level-indices.md",
    sections=(
        Section(name="categories", title="Table 1", make=categories),
        Section(name="standings", title="Standings and HLPRI", make=standings),
        Section(
            name="experiments",
            title="Both experiments, simulated",
            make=tagging_experiments.experiments,
            exact=False,
        ),
    ),
    draw=draw,
)
