"""Accuracy against tokens: every candidate with its interval, and the front."""

from __future__ import annotations

from harness.report.drawing import INK, SERIES, figure, percent_axis, svg
from harness.report.search_findings import SearchReport


def front_svg(report: SearchReport) -> str:
    """Draw posterior accuracies over tokens per item; on the front named and joined."""
    shown = [(c, c.standing) for c in report.candidates if c.standing is not None]
    front = sorted(((s.tokens, s.mean, c.name) for c, s in shown if c.on_front))
    with figure(height=3.8) as (drawn, axes):
        for c, s in shown:
            color = SERIES[0] if c.on_front else SERIES[5]
            axes.plot([s.tokens] * 2, [s.low, s.high], color=color, lw=1, alpha=0.45)
            face = "none" if c.raced_out else color
            axes.plot([s.tokens], [s.mean], "o", ms=6, color=color, markerfacecolor=face)
            if report.winner is not None and c.id == report.winner.id:
                axes.plot([s.tokens], [s.mean], "o", ms=12, color=INK, markerfacecolor="none")
        tokens, means = [x for x, _, _ in front], [y for _, y, _ in front]
        axes.plot(tokens, means, color=SERIES[0], lw=1.2, drawstyle="steps-post")
        for x, y, name in front:
            axes.annotate(name, (x, y), (5, 5), textcoords="offset points", fontsize=9)
        axes.set_xlabel("tokens per item")
        axes.set_ylabel("accuracy, shrunken")
        percent_axis(axes, "y")
        axes.set_xlim(left=0)
        return svg(drawn)
