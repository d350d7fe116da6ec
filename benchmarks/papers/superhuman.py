"""000 and 001: "Humanly Certifying Superhuman Classifiers" (Xu, Walder, Xu), two versions."""

from __future__ import annotations

from pathlib import Path

from benchmarks.papers import superhuman_figure
from benchmarks.papers.numbers import Findings, Section, Source
from benchmarks.papers.superhuman_appendix import agreement, appendix_b
from benchmarks.papers.superhuman_tables import assumptions, bounds, scores


def draw(folder: Path, _found: dict[str, Findings]) -> None:
    """Draw the picture of the page."""
    superhuman_figure.draw(folder)


SOURCE = Source(
    key="000",
    title="Humanly Certifying Superhuman Classifiers",
    page="000-001-superhuman-certification.md",
    sections=(
        Section(name="bounds", title="Table 2 (000: Table 3)", make=bounds),
        Section(name="scores", title="Table 3 (000: Table 4)", make=scores),
        Section(name="assumptions", title="Table 1 (000: Table 2)", make=assumptions),
        Section(name="agreement", title="Table 6 (001 alone)", make=agreement),
        Section(name="appendix-b", title="Appendix B (001 alone)", make=appendix_b),
        Section(name="convergence", title="Figure 3", make=superhuman_figure.convergence, exact=False),
    ),
    draw=draw,
)
