"""Accuracy against tokens: every candidate with its interval, and the front."""

from __future__ import annotations

from matplotlib.axes import Axes

from harness.plot import SERIES, draw_svg, show_percent, text_ink
from harness.report.search_findings import SearchReport


def front_svg(report: SearchReport) -> str:
    """Draw posterior accuracies over tokens per item; on the front named and joined."""
    return draw_svg(lambda axes: _draw_front(report, axes), height=3.8)


def _draw_front(report: SearchReport, axes: Axes) -> None:
    shown = [(c, c.standing) for c in report.candidates if c.standing is not None]
    front = sorted(((s.tokens, s.mean, c.name) for c, s in shown if c.on_front))
    for c, s in shown:
        color = SERIES[0] if c.on_front else SERIES[5]
        axes.plot([s.tokens] * 2, [s.low, s.high], color=color, lw=1, alpha=0.45)
        face = "none" if c.raced_out else color
        axes.plot([s.tokens], [s.mean], "o", ms=6, color=color, markerfacecolor=face)
        if report.winner is not None and c.id == report.winner.id:
            axes.plot([s.tokens], [s.mean], "o", ms=12, color=text_ink(), markerfacecolor="none")
    tokens, means = [x for x, _, _ in front], [y for _, y, _ in front]
    axes.plot(tokens, means, color=SERIES[0], lw=1.2, drawstyle="steps-post")
    for x, y, name in front:
        axes.annotate(name, (x, y), (5, 5), textcoords="offset points", fontsize=9)
    axes.set_xlabel("tokens per item")
    axes.set_ylabel("accuracy, shrunken")
    show_percent(axes, "y")
    axes.set_xlim(left=0)
