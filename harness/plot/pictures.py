"""Plots of estimates, comparisons, gates, plans, searches and panels."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from oversight.harness.argument_checks import check_mapping
from oversight.harness.errors import BadInput
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
from oversight.harness.types import Estimate, estimator_name, level_text, main_estimate

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from oversight.harness.analysis import EstimatesOverTime, GateReport, StudyReport
    from oversight.harness.estimate import (
        ClassComparison,
        Comparison,
        GateVerdict,
        ModelComparison,
        PilotPlan,
        QuestionPlan,
        Ranking,
    )
    from oversight.harness.panel import AgreementReport, GrowthPoint, Parity, Superhuman
    from oversight.harness.types import Displayable

Results = Estimate | Mapping[str, Estimate] | Mapping[str, Mapping[str, Estimate]]
"""Estimates in memory: one estimate, one model's estimates by estimator, or those of several models."""


@dataclass(frozen=True, eq=False)
class _Drawn:
    name: str
    estimates: Mapping[str, Estimate]
    truth: float | None = None


def estimates(report: StudyReport | Results, axes: Axes | None = None) -> Axes:
    """Draw every model's estimates with intervals, and its true accuracy if the answer key was unsealed.

    Parameters
    ----------
    report
        Result of `oversight.harness.analysis.report_study`, `oversight.accuracy`,
        `oversight.accuracies` or `oversight.model_accuracies`.
    axes
        Axes to draw on; None for new ones.

    Raises
    ------
    BadInput
        If `report` is not such a result.
    ConfigError
        If the ``report`` extra is missing.
    """
    models = _models_of(report)
    rows = [(m, name, e) for m in models for name, e in m.estimates.items()]
    axes = new_axes(axes, rows_height(len(rows)))
    for y, (model, _, estimate) in enumerate(reversed(rows)):
        color = SERIES[models.index(model) % len(SERIES)]
        ends = (estimate.low, estimate.high)
        draw_interval(axes, y, ends, estimate.clipped, color, "-" if estimate.holds else ":")
        if estimate is main_estimate(model.estimates):
            axes.plot([estimate.clipped], [y], "o", color=color, ms=8)
        if model.truth is not None:
            axes.plot([model.truth] * 2, [y - 0.35, y + 0.35], color=text_ink(), lw=1.2)
    several = len(models) > 1
    labels = [
        f"{m.name}: " * several + estimator_name(n) + ("" if e.holds else " (!)")
        for m, n, e in reversed(rows)
    ]
    name_rows(axes, labels)
    levels = _join_levels(e for _, _, e in rows)
    n_answers = getattr(report, "n_answers", None)
    source = "" if n_answers is None else f" from {n_answers:,} answers,"
    axes.set_title(f"Accuracy{source} with {levels or 'no'} intervals")
    said = ("upright line: by the opened key",) * getattr(report, "opened", False)
    said += ("(!) dotted: the interval may not hold",) * any(not e.holds for _, _, e in rows)
    axes.set_xlabel("accuracy" + (f"  ({'; '.join(said)})" if said else ""))
    show_percent(axes, "x")
    return axes


def _join_levels(estimates: Iterable[Any]) -> str:
    """Return the confidence levels of estimates or differences as text; empty if there are none."""
    return " and ".join(map(level_text, sorted({found.level for found in estimates})))


def _models_of(report: StudyReport | Results) -> list[_Drawn]:
    if isinstance(report, Estimate):
        return [_Drawn("", {report.estimator: report})]
    if isinstance(report, Mapping):
        if all(isinstance(each, Estimate) for each in report.values()):
            return [_Drawn("", cast("Mapping[str, Estimate]", report))]
        if all(isinstance(each, Mapping) for each in report.values()):
            return [_Drawn(name, cast("Mapping[str, Estimate]", each)) for name, each in report.items()]
    elif hasattr(report, "models"):
        return [_Drawn(model.name, model.estimates, model.truth) for model in report.models]
    raise BadInput(
        "plot.estimates: give a study's report or the result of accuracy, accuracies or model_accuracies, "
        f"not a value of type {type(report).__name__}"
    )


_ABREAST = 3
"""Number of models per row of the legend below the axes."""


def closing(closings: Mapping[str, EstimatesOverTime], axes: Axes | None = None) -> Axes:
    """Draw how every model's estimate changes as answers are added in the order their questions were drawn.

    The name of a model is marked (!) if one of its intervals may not hold.

    Parameters
    ----------
    closings
        Name of the model → result of `oversight.harness.analysis.close_interval`.
    axes
        Axes to draw on; None for new ones.

    Raises
    ------
    BadInput
        If `closings` is not a mapping.
    ConfigError
        If the ``report`` extra is missing.
    """
    check_mapping("closings", closings, "name of the model to what close_interval returned")
    doubtful = {name for name, found in closings.items() if any(not e.holds for _, e in found.points)}
    several = len(closings) > 1
    axes = new_axes(axes, LEAST_HEIGHT + 0.24 * several * -(-len(closings) // _ABREAST))
    for j, (name, found) in enumerate(closings.items()):
        color, dashes = SERIES[j % len(SERIES)], DASHES[j % len(DASHES)]
        n = [count for count, _ in found.points]
        ends = ([e.low for _, e in found.points], [e.high for _, e in found.points])
        axes.fill_between(n, *ends, color=color, alpha=0.22, lw=0)
        axes.plot(
            n,
            [e.clipped for _, e in found.points],
            ls=dashes,
            color=color,
            lw=1.8,
            label=name + " (!)" * (name in doubtful),
        )
    levels = _join_levels(e for found in closings.values() for _, e in found.points)
    axes.set_title(
        f"Accuracy with {levels} intervals as answers came in"
        if levels
        else "No model has an estimate from part of the answers"
    )
    said = "  ((!): the interval may not hold)" if doubtful else ""
    axes.set_xlabel(f"answers, in the order of the draw{said}")
    axes.set_ylabel("accuracy")
    show_percent(axes, "y")
    if levels and (several or doubtful):
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.18), ncols=_ABREAST)
    return axes


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
    levels = _join_levels(pairs)
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
    axes.set_title(f"Gate: {found.verdict}, at {level_text(found.level)}")
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
    axes = new_axes(axes, rows_height(min(len(report.categories), _ROWS) + 1))
    for y, (value, _) in enumerate(rows):
        draw_interval(axes, y, (0, value), value, SERIES[0])
    names, ends, told = [name for _, name in rows], [0.0, *(a for a, _ in rows)], ""
    if report.alpha is not None:
        y, a = len(rows), report.alpha
        if a.low is not None and a.high is not None:
            axes.plot([a.low, a.high], [y, y], color=SERIES[1], lw=2.2, solid_capstyle="butt")
            ends.append(a.low)
            told = f", {level_text(a.level)} interval"
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
    axes = new_axes(axes, LEAST_HEIGHT + 0.6)
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
    title = f"Is the model better than the average annotator? {decided}, at {level_text(found.level)}"
    if not found.holds:
        title += "\nconditional: a bound of the model only if it does not share the annotators' errors"
    axes.set_title(title, fontsize=10)
    places = [p.annotators for p in growth]
    axes.set_xticks(
        [*places, right], [*map(str, places), f"all {found.N:,} items,\nwith {level_text(found.level)} bound"]
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
            style = "-" if share.holds else ":"
            axes.plot([x + shift] * 2, [share.low, share.high], color=SERIES[j], lw=2.2, ls=style)
            axes.plot([x + shift], [share.value], MARKERS[j], color=SERIES[j], ms=6, label=None if x else who)
    measured = [(x, b.p_d) for x, b in enumerate(rows) if b.p_d is not None]
    for x, p_d in measured:
        expected = "expected of\nan expert" if x == measured[0][0] else None
        axes.plot([x - 0.3, x + 0.3], [p_d] * 2, color=text_ink(), lw=0.9, ls=THIN, label=expected)
    axes.set_xticks(range(len(rows)), [f"{b.name}\n{b.items:,} items" for b in rows])
    doubt = any(not share.holds for b in rows for share in (b.human, b.model))
    said = ["share of the votes that the winning class has", *["dotted: the interval may not hold"] * doubt]
    axes.set_xlabel("\n".join(said))
    axes.set_title(f"Human and model against the vote, with {level_text(found.level)} intervals")
    axes.set_ylabel("accuracy against the vote")
    show_percent(axes, "y")
    axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    return axes
