"""Plots for decisions: differences of models, a gate's bars, a study's size, and a search's candidates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from oversight.harness.plot.drawing import (
    MARKERS,
    SERIES,
    THIN,
    draw_grid,
    draw_interval,
    name_rows,
    new_axes,
    rows_height,
    text_ink,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from oversight.harness.analysis import GateReport
    from oversight.harness.estimate import (
        ClassComparison,
        Comparison,
        GateVerdict,
        ModelComparison,
        PilotPlan,
        QuestionPlan,
        Ranking,
    )
    from oversight.harness.types import Displayable


def differences(
    found: Comparison | ModelComparison | Ranking | ClassComparison, axes: Axes | None = None
) -> Axes:
    """Draw every difference of two models with its interval, and a line at 0.

    Parameters
    ----------
    found
        Result of `oversight.compare` or `oversight.compare_classes`.
    axes
        Axes to draw on; None for new ones.

    Raises
    ------
    ConfigError
        If the ``report`` extra is missing.
    """
    pairs = _pairs_of(found)
    axes = new_axes(axes, rows_height(len(pairs)))
    for y, pair in enumerate(reversed(pairs)):
        color = SERIES[5] if pair.verdict == "tie" else SERIES[0]
        low, value, high = (pair.scale * x for x in (pair.low, pair.difference, pair.high))
        draw_interval(axes, y, (low, high), value, color, "-" if pair.holds else ":")
    axes.axvline(0, color=text_ink(), lw=0.9, ls=THIN)
    name_rows(axes, [f"{p.first} − {p.second}" + ("" if p.holds else " (!)") for p in reversed(pairs)])
    levels = " and ".join(f"{level:.0%}" for level in sorted({p.level for p in pairs}))
    axes.set_title(f"Difference in accuracy with {levels or 'no'} intervals")
    doubt = "; (!) dotted: the interval may not hold" * any(not p.holds for p in pairs)
    unit = " and ".join(sorted({p.unit.strip() or "cost" for p in pairs}))
    axes.set_xlabel(f"{unit}  (grey: not decided{doubt})")
    return axes


def _pairs_of(found: Comparison | ModelComparison | Ranking | ClassComparison) -> Sequence[Comparison]:
    from oversight.harness.estimate import Comparison, Ranking

    if isinstance(found, Comparison):
        return (found,)
    return found.comparisons if isinstance(found, Ranking) else found.pairs


def gate(found: GateVerdict | GateReport, axes: Axes | None = None) -> Axes:
    """Draw every value that a gate compared with a bar, and the bar.

    Parameters
    ----------
    found
        Result of `oversight.gate_accuracy` or `oversight.gate_difference`, or the report of a
        study's gate. If there are no answers, only the bar is drawn.
    axes
        Axes to draw on; None for new ones.

    Raises
    ------
    ConfigError
        If the ``report`` extra is missing.
    """
    checks = getattr(found, "checks", None)
    rows = [("", found)] if checks is None else [(_name(c.model, c.baseline), c.verdict) for c in checks]
    axes = new_axes(axes, rows_height(len(rows)))
    colors = {"pass": SERIES[2], "fail": SERIES[1]}
    for y, (_, verdict) in enumerate(reversed(rows)):
        color = colors.get(verdict.verdict, SERIES[5])
        axes.plot([verdict.bar] * 2, [y - 0.3, y + 0.3], color=text_ink(), lw=1.4)
        draw_interval(axes, y, (verdict.low, verdict.high), verdict.value, color)
    name_rows(axes, [f"{name} {v.verdict}".strip() for name, v in reversed(rows)])
    axes.set_title(f"Gate: {found.verdict}, at {found.level:.0%}")
    axes.set_xlabel("accuracy, or difference in accuracy  (upright: the bar)")
    return axes


def _name(model: str, baseline: str) -> str:
    return f"{model} − {baseline}:" if baseline else f"{model}:"


def plan(found: QuestionPlan | PilotPlan, axes: Axes | None = None) -> Axes:
    """Draw the number of questions per protocol or, if all numbers are equal, the intervals' half-widths.

    Parameters
    ----------
    found
        Result of `oversight.plan` or `oversight.plan_from_pilot`; rows without numbers are
        left out.
    axes
        Axes to draw on; None for new ones.

    Raises
    ------
    ConfigError
        If the ``report`` extra is missing.
    """
    rows = [row for row in found.records() if row["questions"] and row["half_width"]][::-1]
    axes = new_axes(axes, rows_height(len(rows)))
    by_width = len({row["questions"] for row in rows}) == 1
    lengths = [100 * row["half_width"] if by_width else row["questions"] for row in rows]
    for y, row in enumerate(rows):
        color = SERIES[1] if row.get("of") == "difference" else SERIES[0]
        axes.barh([y], [lengths[y]], color=color, height=0.55)
        text = f" {row['questions']:,} · ±{100 * row['half_width']:.1f} points"
        axes.annotate(text, (lengths[y], y), va="center", fontsize=9)
    names = [f"{row.get('of') or row['model']}: {row.get('protocol') or row['uses']}" for row in rows]
    axes.set_yticks(range(len(rows)), names)
    axes.set_xlim(0, 1.6 * max(lengths, default=1))
    axes.set_title("Questions to experts, and the half-width they reach")
    axes.set_xlabel("half-width, percentage points" if by_width else "questions")
    draw_grid(axes, "x")
    return axes


def search(found: Displayable, axes: Axes | None = None) -> Axes:
    """Draw the score of every candidate of a search, with an interval of about 95 %, against its tokens.

    Parameters
    ----------
    found
        Result of `oversight.agents.search.report_search`. Candidates that were dropped before they answered
        all items have hollow points; candidates without a score are not drawn.
    axes
        Axes to draw on; None for new ones.

    Raises
    ------
    ConfigError
        If the ``report`` extra is missing.
    """
    axes = new_axes(axes)
    for row in found.records():
        if row["mean"] is None:
            continue
        at, color = row["tokens"], SERIES[0] if row["on_front"] else SERIES[5]
        axes.plot([at, at], [row["low"], row["high"]], color=color, lw=1.2, alpha=0.6)
        axes.plot([at], [row["mean"]], "o", color=color, mfc="none" if row["raced_out"] else color, ms=6)
        if row["winner"] or row["start"]:
            axes.plot([at], [row["mean"]], MARKERS[1], color=text_ink(), mfc="none", ms=11)
            who = "winner" if row["winner"] else "start"
            axes.annotate(f"  {who}: {row['name']}", (at, row["mean"]), fontsize=9)
    axes.set_title("Score of every candidate against its cost")
    axes.set_xlabel("tokens per item  (blue: none is both better and cheaper)")
    axes.set_ylabel("score, about 95 %")
    draw_grid(axes, "y")
    return axes
