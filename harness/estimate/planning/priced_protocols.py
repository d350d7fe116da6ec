"""What every protocol costs, for one accuracy and for the difference of two, as a table."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from oversight.harness.estimate.core import check_least, check_unit
from oversight.harness.estimate.planning.rehearsed_studies import (
    PlannedTest,
    RehearsedProtocol,
    stand_in,
)
from oversight.harness.estimate.planning.sample_size import (
    SIGN_TEST,
    UNIFORM,
    SamplePlan,
    accuracy_variances,
    check_sought,
    difference_variances,
    power_factor,
)
from oversight.harness.types import HtmlTable, Shown


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionPlan(Shown):
    """Prices by protocol.

    Attributes
    ----------
    accuracy, difference
        For the accuracy of a model, and for the difference of two (their half-width is then the difference
        that is detected).
    level
        Confidence level.
    """

    accuracy: tuple[SamplePlan, ...]
    difference: tuple[SamplePlan, ...]
    level: float

    def records(self) -> list[dict[str, Any]]:
        """A row a protocol and quantity."""
        both = {"accuracy": self.accuracy, "difference": self.difference}
        return [{"of": name} | asdict(plan) for name, plans in both.items() for plan in plans]

    def html_tables(self) -> tuple[HtmlTable, ...]:
        """What a notebook shows."""
        tables = (
            (f"Accuracy, {self.level:.0%}", "half-width in 80 %", self.accuracy),
            ("Difference of 2 models", "difference", self.difference),
        )
        return tuple(
            HtmlTable(
                title=title,
                columns=("protocol", "questions", width, "saving"),
                rows=[
                    (p.protocol, f"{p.questions:,}", f"±{p.half_width:.3f}", f"{p.saving:.1f}×")
                    for p in plans
                ],
            )
            for title, width, plans in tables
        )


def plan(
    options: int,
    accuracy: float = 0.7,
    *,
    models: int = 1,
    half_width: float | None = None,
    questions: int | None = None,
    level: float = 0.95,
    power: float = 0.8,
    sensitivity: float = 1.0,
    specificity: float = 1.0,
    cluster_size: float = 1.0,
    intraclass: float = 0.3,
) -> QuestionPlan:
    """Price every protocol: the questions that an interval costs, or the interval that they buy.

    Parameters
    ----------
    options, accuracy
        K of an item, and a guess of the accuracy, in (0, 1).
    models
        Models measured with the same questions.
    half_width, questions
        Give one: the half-width that at least 80 % of studies shall reach, by default 0.03 (3 points); or the
        questions there is money for.
    level, power
        Of intervals; and the least share of studies that shall detect a difference of `half_width` between a
        model of this accuracy and one that is nearer to one half.
    sensitivity, specificity
        Experts' P(yes | it is) and P(no | it is not).
    cluster_size, intraclass
        Items a cluster and their correlation R: M items of a cluster count for M/(1 + (M − 1)R).

    Notes
    -----
    Studies are rehearsed on a stand-in population (`synthesise_population`), whose experts never err and
    whose items are independent. Experts' errors and clusters enlarge the variance, and what else they do to
    half-widths is not counted.

    Raises
    ------
    EstimateError
        If an argument is out of range, or experts with such rates say nothing.
    """
    check_least("cluster_size", cluster_size, 1)
    check_unit("intraclass", intraclass)
    power_factor(level, power)  # which refuses both outside (0, 1)
    check_sought(half_width, questions)
    aim = PlannedTest(level=level, power=power)
    effect = 1 + (cluster_size - 1) * intraclass
    rates = {"sensitivity": sensitivity, "specificity": specificity}
    single = accuracy_variances(options, accuracy, models=models, **rates)
    pair = difference_variances(options, accuracy, **rates)
    free = accuracy_variances(options, accuracy, models=models) | difference_variances(options, accuracy)
    asked = None if questions is None else max(1, round(questions / effect))
    width = 0.03 if half_width is None else half_width
    accurate, different = list[SamplePlan](), list[SamplePlan]()
    population = stand_in(options, (accuracy,) * models)
    for name, variance in (single | pair).items():
        protocol = RehearsedProtocol(name=name, variance=variance, free=free[name])
        if name in pair:
            needed = asked or protocol.plan_test(options, accuracy, aim, width)
            off = width if asked is None else protocol.plan_difference(options, accuracy, aim, asked)
            different.append(_row(name, variance, needed, off, effect))
        else:
            needed, kept = protocol.promise_width(
                population, accuracy, level, half_width=width, questions=asked
            )
            off = width if asked is None else kept.reach(needed)
            expected = kept.expect(needed)
            accurate.append(_row(name, variance, needed, off, effect, expected))
    accuracies = _compare_prices(accurate, UNIFORM, by_width=asked is not None)
    differences = _compare_prices(different, SIGN_TEST, by_width=asked is not None)
    return QuestionPlan(accuracy=accuracies, difference=differences, level=level)


def _row(
    name: str, variance: float, questions: int, half: float, effect: float, expected: float | None = None
) -> SamplePlan:
    asked = math.ceil(questions * effect - 1e-9)
    return SamplePlan(
        protocol=name,
        variance=variance,
        questions=asked,
        half_width=half,
        saving=1.0,
        half_width_expected=expected,
    )


def _compare_prices(plans: Sequence[SamplePlan], reference: str, *, by_width: bool) -> tuple[SamplePlan, ...]:
    """With the questions of the reference over each protocol's; at equal questions, the widths' squares."""
    (base,) = (plan for plan in plans if plan.protocol == reference)
    return tuple(
        replace(
            plan,
            saving=(base.half_width / plan.half_width) ** 2 if by_width else base.questions / plan.questions,
        )
        for plan in plans
    )
