"""Plots for a panel: agreement, the bounds of a certificate, and parity by certainty of the vote."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from oversight.harness.panel import RELIABLE
from oversight.harness.plot.drawing import (
    DASHES,
    LEAST_HEIGHT,
    MARKERS,
    SERIES,
    THIN,
    draw_grid,
    draw_interval,
    name_rows,
    new_axes,
    rows_height,
    show_percent,
    text_ink,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from oversight.harness.panel import AgreementReport, GrowthPoint, Parity, Superhuman

_ROWS, _NAMED = 40, 12
"""Largest number of classes that are drawn, and of classes with undefined α that are named."""


def agreement(report: AgreementReport, axes: Axes | None = None) -> Axes:
    """Draw Krippendorff's α with its interval, and α of every class against all other classes, sorted.

    If there are more than 40 classes, only the 40 with the lowest α are drawn.

    Parameters
    ----------
    report
        Result of `oversight.harness.panel.measure_agreement`; classes with undefined α are listed under the
        plot.
    axes
        Axes to draw on; None for new ones.

    Raises
    ------
    ConfigError
        If the ``report`` extra is missing.
    """
    known = sorted((a, c) for c, a in report.categories.items() if a is not None)
    rows, left_out = known[:_ROWS], [c for c, a in report.categories.items() if a is None]
    axes = new_axes(axes, agreement_height(report))
    for y, (value, _) in enumerate(rows):
        draw_interval(axes, y, (0, value), value, SERIES[0])
    names, ends, told = [name for _, name in rows], [0.0, *(a for a, _ in rows)], ""
    if report.alpha is not None:
        y, a = len(rows), report.alpha
        if a.low is not None and a.high is not None:
            axes.plot([a.low, a.high], [y, y], color=SERIES[1], lw=2.2, solid_capstyle="butt")
            ends.append(a.low)
            told = f", {a.level:.0%} interval"
        axes.plot([a.value], [y], "s", color=SERIES[1], ms=7)
        ends.append(a.value)
        names.append(f"all classes{told}")
    axes.axvline(RELIABLE, color=text_ink(), lw=0.9, ls=THIN)
    name_rows(axes, names)
    axes.set_xlim(min(ends) - 0.02 * (min(ends) < 0), 1)
    axes.set_title(f"Agreement of {report.annotators} annotators on {report.items:,} items")
    named = f"\nundefined: {', '.join(left_out[:_NAMED])}" if left_out else ""
    named += f" and {len(left_out) - _NAMED:,} more" if len(left_out) > _NAMED else ""
    named += f"\nnot drawn: {len(known) - _ROWS:,} classes of higher α" if len(known) > _ROWS else ""
    axes.set_xlabel(
        f"Krippendorff's α, {report.level}; of a class against the rest\n"
        f"dashed: {RELIABLE:g}, reliable{named}"
    )
    return axes


def agreement_height(report: AgreementReport) -> float:
    """Return the height in inches of the plot of `agreement`."""
    return rows_height(min(len(report.categories), _ROWS) + 1)


CERTIFICATE_HEIGHT = LEAST_HEIGHT + 0.6
_CEILINGS = {"U_t": "U(t)", "U_e": "U(e)", "U_star": "U*", "U_panel": "U(p)"}


def certificate(found: Superhuman, growth: Sequence[GrowthPoint] = (), axes: Axes | None = None) -> Axes:
    """Draw the model's lower bound and the annotators' ceilings, with the confidence bounds of each.

    Parameters
    ----------
    found
        Result of `oversight.harness.panel.assess_superhuman`, drawn as points at the right with bars that end
        at the confidence bounds.
    growth
        Result of `oversight.harness.panel.compute_bounds_by_size`, drawn as lines without confidence bounds.
    axes
        Axes to draw on; None for new ones.

    Raises
    ------
    ConfigError
        If the ``report`` extra is missing.
    """
    axes = new_axes(axes, CERTIFICATE_HEIGHT)
    bounds = {"L": (found.L, found.L_low)}
    bounds |= {name: (c.bound, c.high) for name, c in found.against.items() if name in _CEILINGS}
    last = max((p.annotators for p in growth), default=0)
    step = max(1.0, last / 8)
    for j, name in enumerate(("L", *_CEILINGS)):
        color, label = SERIES[j], "model, at least" if name == "L" else f"annotators ≤ {_CEILINGS[name]}"
        known = [(p.annotators, value) for p in growth if (value := getattr(p, name)) is not None]
        axes.plot(
            [k for k, _ in known],
            [v for _, v in known],
            color=color,
            lw=1.8,
            ls=DASHES[j],
            marker=MARKERS[j],
            ms=4,
        )
        if name in bounds:
            x = last + step * (1 + 0.14 * (j - 2))
            axes.plot([x, x], bounds[name], color=color, lw=2.2)
            axes.plot([x], bounds[name][:1], MARKERS[j], color=color, ms=7, label=label)
    _draw_oracle(axes, found)
    _name_places(axes, found, growth, last + step)
    axes.set_ylabel("accuracy (share of items)")
    draw_grid(axes, "y")
    axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    return axes


def _draw_oracle(axes: Axes, found: Superhuman) -> None:
    if found.check is not None:
        for label, value, dashes in (
            ("annotators, by the oracle", found.check.human_accuracy, (1, 2)),
            ("model, by the oracle", found.check.model_accuracy, (4, 3)),
        ):
            axes.axhline(value, color=text_ink(), lw=0.9, ls=(0, dashes), label=label)


def _name_places(axes: Axes, found: Superhuman, growth: Sequence[GrowthPoint], right: float) -> None:
    """Set the title, and label the x axis: the numbers of annotators, then "all items" at `right`."""
    from matplotlib.ticker import PercentFormatter

    decided = "certified" if found.certified else "not certified"
    title = f"Is the model better than the average annotator? {decided}, at {found.level:.0%}"
    if not found.holds:
        title += "\nconditional: a bound of the model only if it does not share the annotators' errors"
    axes.set_title(title, fontsize=10)
    places = [p.annotators for p in growth]
    axes.set_xticks(
        [*places, right], [*map(str, places), f"all {found.N:,} items,\nwith {found.level:.0%} bound"]
    )
    axes.set_xlabel("annotators per item" if places else "")
    axes.yaxis.set_major_formatter(PercentFormatter(1.0))


def parity(found: Parity, axes: Axes | None = None) -> Axes:
    """Draw human and model accuracy, and an expert's expected accuracy, in each bin of the vote's certainty.

    Parameters
    ----------
    found
        Result of `oversight.harness.panel.measure_parity`.
    axes
        Axes to draw on; None for new ones.

    Raises
    ------
    ConfigError
        If the ``report`` extra is missing.
    """
    rows = (*found.bins, found.overall)
    axes = new_axes(axes)
    for j, who in enumerate(("human", "model")):
        shift = (j - 0.5) * 0.22
        for x, b in enumerate(rows):
            share = getattr(b, who)
            axes.plot([x + shift] * 2, [share.low, share.high], color=SERIES[j], lw=2.2)
            axes.plot([x + shift], [share.value], MARKERS[j], color=SERIES[j], ms=6, label=None if x else who)
    measured = [(x, b.p_d) for x, b in enumerate(rows) if b.p_d is not None]
    for x, p_d in measured:
        expected = "expected of\nan expert" if x == measured[0][0] else None
        axes.plot([x - 0.3, x + 0.3], [p_d] * 2, color=text_ink(), lw=0.9, ls=THIN, label=expected)
    axes.set_xticks(range(len(rows)), [f"{b.name}\n{b.items:,} items" for b in rows])
    axes.set_xlabel("share of the votes that the winning class has")
    axes.set_title(f"Human and model against the vote, with {found.level:.0%} intervals")
    axes.set_ylabel("accuracy against the vote")
    show_percent(axes, "y")
    axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    return axes
