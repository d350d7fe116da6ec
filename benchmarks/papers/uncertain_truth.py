"""004: "The Illusion of Human AI Parity Under Uncertainty" (arXiv 2601.05500), from a summary of its text."""

from __future__ import annotations

from pathlib import Path

from benchmarks.papers import parity_formulas
from benchmarks.papers.numbers import Findings, Missing, Section, Source
from benchmarks.papers.parity_xrays import FILE, table_3, xrays


def draw(folder: Path, _found: dict[str, Findings]) -> None:
    """Draw the picture of the page."""
    parity_formulas.draw(folder)


SOURCE = Source(
    key="004",
    title="The Illusion of Human AI Parity Under Uncertainty",
    page="004-parity-under-uncertainty.md",
    sections=(
        Section(name="expected", title="Expected scores, Table 1", make=parity_formulas.expected),
        Section(name="circularity", title="Scored by oneself", make=parity_formulas.circularity, exact=False),
        Section(
            name="xrays",
            title="Figure 3 on public data",
            make=xrays,
            exact=False,
            needs=(FILE,),
            absent=(Missing(place="Figure 3, F1 of people", count=4, why="public data absent"),),
        ),
        Section(name="table-3", title="Table 3 on public data", make=table_3, exact=False, needs=(FILE,)),
    ),
    draw=draw,
)
