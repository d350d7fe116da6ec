"""002: "Towards Scalable Oversight via Partitioned Human Supervision" (Yin, Ishida, Sugiyama)."""

from __future__ import annotations

from pathlib import Path

from benchmarks.papers.numbers import Findings, Missing, Section, Source
from benchmarks.papers.partitioned_appendix import appendices
from benchmarks.papers.partitioned_bounds import bounds
from benchmarks.papers.partitioned_counts import search, search_sizes
from benchmarks.papers.partitioned_data import PREDICTIONS, QUESTIONS, real_models
from benchmarks.papers.partitioned_figures import draw_weights, figure_2, figures_3_and_4
from benchmarks.papers.partitioned_tables import table_1, table_2
from benchmarks.papers.partitioned_widths import draw_bounds, half_widths


def draw(folder: Path, _found: dict[str, Findings]) -> None:
    """Draw both pictures of the page."""
    draw_weights(folder)
    draw_bounds(folder)


SOURCE = Source(
    key="002",
    title="Towards Scalable Oversight via Partitioned Human Supervision",
    page="002-partitioned-supervision.md",
    sections=(
        Section(name="table-1", title="Table 1", make=table_1),
        Section(name="table-2", title="Table 2", make=table_2),
        Section(name="counts", title="The integers behind the tables", make=search, exact=False),
        Section(name="sizes", title="Sizes that are not printed", make=search_sizes, exact=False),
        Section(name="figure-2", title="Figure 2", make=figure_2),
        Section(name="figures-3-4", title="Figures 3 and 4", make=figures_3_and_4, exact=False),
        Section(name="bounds", title="Bounds", make=bounds),
        Section(name="widths", title="Widths of the bounds", make=half_widths),
        Section(name="appendices", title="Sections 2 and 3.1, appendices", make=appendices),
        Section(
            name="real-models",
            title="The design on real predictions",
            make=real_models,
            exact=False,
            needs=(QUESTIONS, PREDICTIONS),
            absent=(Missing(place="Section 3.1, MMLU-Pro (9,795)", count=1, why="public data absent"),),
        ),
    ),
    draw=draw,
)
