"""What every protocol costs, for one accuracy and for the difference of two, as a table."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any

from harness.estimate.core import check_least, check_unit
from harness.estimate.planning.sample_size import (
    SIGN_TEST,
    SamplePlan,
    accuracy_variances,
    difference_variances,
    make_plan,
    power_factor,
)
from harness.types import HtmlTable, Shown


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
        titles = {f"Accuracy, {self.level:.0%}": self.accuracy, "Difference of 2 models": self.difference}
        return tuple(
            HtmlTable(
                title=title,
                columns=("protocol", "questions", "half-width", "saving"),
                rows=[
                    (p.protocol, f"{p.questions:,}", f"±{p.half_width:.3f}", f"{p.saving:.1f}×")
                    for p in plans
                ],
            )
            for title, plans in titles.items()
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
        Give one: 0.03 is ± 3 points (the default); or the questions there is money for.
    level, power
        Of intervals, and to detect a difference.
    sensitivity, specificity
        Experts' P(yes | it is) and P(no | it is not).
    cluster_size, intraclass
        Items a cluster and their correlation R: M items of a cluster count for M/(1 + (M − 1)R).

    Raises
    ------
    EstimateError
        If an argument is out of range, or experts with such rates say nothing.
    """
    check_least("cluster_size", cluster_size, 1)
    check_unit("intraclass", intraclass)
    effect = 1 + (cluster_size - 1) * intraclass
    rates = {"sensitivity": sensitivity, "specificity": specificity}
    single = accuracy_variances(options, accuracy, models=models, **rates)
    pair, factor = difference_variances(options, accuracy, **rates), power_factor(level, power)
    width = 0.03 if half_width is None and questions is None else half_width
    asked = None if questions is None else max(1, round(questions / effect))
    price = partial(make_plan, half_width=width, questions=asked, level=level)
    accurate, different = (
        tuple(p if effect == 1 else replace(p, questions=math.ceil(p.questions * effect)) for p in plans)
        for plans in (price(single), price(pair, factor=factor, reference=SIGN_TEST))
    )
    return QuestionPlan(accuracy=accurate, difference=different, level=level)
