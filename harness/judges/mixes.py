"""Total cost of expert questions and judges, and the cheapest way to reach a half-width.

A plan from a pilot (`PilotPlan`) has one row for every use of side information, with the number of questions
at which 80 % of studies would reach the half-width. This module converts these rows into dollars and minutes.
A judge is paid for every item that it judges. These are all items of the pool if items are drawn from a pool,
otherwise the items asked about. Other models' votes exist already and cost nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from oversight.harness.config import CostsSection
from oversight.harness.estimate import PilotPlan, PlannedRow

_JUDGE, _POOL = "judge", "pool"


@dataclass(frozen=True, slots=True, kw_only=True)
class PricedPlan:
    """One way to reach the planned half-width of an interval, with its cost.

    Attributes
    ----------
    model, protocol, uses
        Model, protocol of the questions, and side information used (see `PlannedRow.uses`).
    questions
        Number of questions to experts, including those of the pilot.
    judged
        Number of items that each judge is paid for; 0 without judges.
    usd, minutes
        Cost of experts and judges together, in dollars and in minutes.
    cheapest
        Whether this is the cheapest plan for the model. If several cost the same, it is the one with fewer
        minutes, then fewer questions.
    """

    model: str
    protocol: str
    uses: str
    questions: int
    judged: int
    usd: float
    minutes: float
    cheapest: bool = False


def price_plans(
    plans: Sequence[PilotPlan], costs: CostsSection, *, pool: int, judges: int
) -> list[PricedPlan]:
    """Compute the cost of every plan row whose `questions` is not None, cheapest first for each model.

    Parameters
    ----------
    plans
        Plans for the same half-width by different protocols.
    costs
        Costs of a question and of a judged item.
    pool
        Number of items of the study.
    judges
        Number of judges.

    Examples
    --------
    >>> import oversight as ov
    >>> from oversight.harness.config import CostsSection
    >>> from oversight.harness.example_data import example_study
    >>> model, _, labels = example_study()
    >>> plan = ov.plan_from_pilot({"model": model}, labels, half_width=0.05)
    >>> row = price_plans([plan], CostsSection(question_usd=2.0), pool=1000, judges=0)[0]
    >>> row.questions, row.usd
    (686, 1372.0)
    """
    rows = [
        _price(plan.protocol, row, costs, pool, judges)
        for plan in plans
        for row in plan.rows
        if row.questions is not None
    ]
    found = list[PricedPlan]()
    for model in dict.fromkeys(row.model for row in rows):
        mine = sorted(
            (row for row in rows if row.model == model),
            key=lambda row: (round(row.usd, 9), round(row.minutes, 9), row.questions),
        )
        found += [replace(mine[0], cheapest=True), *mine[1:]]
    return found


def _price(protocol: str, row: PlannedRow, costs: CostsSection, pool: int, judges: int) -> PricedPlan:
    questions, parts = row.questions or 0, row.uses.split("+")
    judged = 0
    if _JUDGE in parts:
        judged = pool if _POOL in parts else min(pool, questions)
    answers = judged * judges
    return PricedPlan(
        model=row.model,
        protocol=protocol,
        uses=row.uses,
        questions=questions,
        judged=judged,
        usd=questions * costs.question_usd + answers * costs.judge_usd,
        minutes=questions * costs.question_minutes,
    )


def mix_sentence(row: PricedPlan) -> str:
    """Return one line that names a plan's questions, side information, judged items and total cost.

    Examples
    --------
    >>> row = PricedPlan(
    ...     model="model", protocol="targeted", uses="none", questions=200, judged=0, usd=300.0, minutes=400.0
    ... )
    >>> mix_sentence(row)
    'model: 200 targeted questions: 300.00 USD, 6.7 hours'
    """
    used = "" if row.uses == "none" else f" with {row.uses.replace('+', ' and ')}"
    judged = f", {row.judged:,} items judged" if row.judged else ""
    cost = f"{row.usd:,.2f} USD, {row.minutes / 60:,.1f} hours"
    return f"{row.model}: {row.questions:,} {row.protocol} questions{used}{judged}: {cost}"
