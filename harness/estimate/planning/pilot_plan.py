"""What a pilot says of the questions that a half-width costs, with other models' votes, a judge, a pool.

Each row is made with the variance of the estimate that it names (`side_variances`). Without side information
the number is uncertain as far as the accuracy is; with it also because what votes or a judge are worth was
seen on the pilot's answers alone. Where these are too few for that, a row has the reason in place of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from oversight.harness.arrays import IntArray
from oversight.harness.columns import AnyLabels, AnyPredictions, align_pool
from oversight.harness.errors import EstimateError
from oversight.harness.estimate.core import check_level
from oversight.harness.estimate.planning.needed_questions import Aim
from oversight.harness.estimate.planning.pilot_gathering import (
    PARTITIONED,
    SEQUENTIAL,
    TARGETED,
    PilotStudy,
    refuse_pilot,
)
from oversight.harness.estimate.planning.pilot_rows import plan_model
from oversight.harness.estimate.planning.planned_row import PlannedRow
from oversight.harness.expected import check_mapping, check_names
from oversight.harness.types import HtmlTable, Shown


@dataclass(frozen=True, slots=True, kw_only=True)
class PilotPlan(Shown):
    """Questions by model and by what is made use of beside experts' answers.

    Attributes
    ----------
    rows
        One a model and use.
    protocol
        Of the study that is planned.
    aim
        What was asked for.
    """

    rows: tuple[PlannedRow, ...]
    protocol: str
    aim: Aim

    def records(self) -> list[dict[str, Any]]:
        """A row a model and use."""
        return [asdict(row) for row in self.rows]

    def html_tables(self) -> tuple[HtmlTable, ...]:
        """What a notebook shows."""
        rows = [(row.model, row.sentence) for row in self.rows]
        title = f"Plan, {self.protocol}, {self.aim.level:.0%}"
        return (HtmlTable(title=title, columns=("model", "plan"), rows=rows),)


def plan_from_pilot(
    models: Mapping[str, AnyPredictions],
    labels: AnyLabels,
    *,
    judges: Mapping[str, AnyPredictions] | None = None,
    protocol: str | None = None,
    asked_for: Sequence[str] | None = None,
    half_width: float | None = None,
    questions: int | None = None,
    level: float = 0.95,
    epsilon: float = 0.1,
    n_options: IntArray | None = None,
    voters: Mapping[str, AnyPredictions] | None = None,
) -> PilotPlan:
    """Questions that a half-width costs, from predictions and the answers to a pilot study.

    Parameters
    ----------
    models, judges
        Predictions by name, of all items of which more are to be asked about.
    labels
        Of the pilot: a part of the items drawn at random, such as `label route --questions` draws.
    protocol
        Of the study to plan: ``partitioned``, ``targeted`` or ``sequential``; None is the pilot's own.
    asked_for
        Models whose predictions targeted and sequential questions look at; None for all.
    half_width, questions
        Give one: 0.03 is ± 3 points (the default); or the questions there is money for.
    level
        Confidence level.
    epsilon
        Uniform share of targeted propensities for several models.
    n_options
        Shape (N,): K of every item, with predictions as columns; None where all have the same.
    voters
        Models that vote; None for those in `models`.

    Raises
    ------
    EstimateError
        If an argument is out of range, items share clusters, or the labels tell no accuracy.
    """
    check_mapping("models", models, "name to predictions")
    check_mapping("judges", judges or {}, "name to predictions")
    check_mapping("voters", voters or {}, "name to predictions")
    check_names("asked_for", asked_for or ())
    aim = _check_aim(half_width, questions, level)
    more = {"judge": judges or {}, "voter": voters or {}}
    every = [*models.values(), *more["judge"].values(), *more["voter"].values()]
    columns, said = align_pool(every, labels)
    refuse_pilot(said)
    named = dict(zip(models, columns, strict=False))
    wise = dict(zip(more["judge"], columns[len(named) :], strict=False))
    voting = dict(zip(more["voter"], columns[len(named) + len(wise) :], strict=False)) or named
    own = SEQUENTIAL if said.is_resolved else PARTITIONED if said.is_uniform else TARGETED
    chosen = own if protocol is None else protocol
    if chosen not in (PARTITIONED, TARGETED, SEQUENTIAL):
        known = f"{PARTITIONED}, {TARGETED} and {SEQUENTIAL}"
        raise EstimateError(f"protocol: a pilot tells what {known} cost, not {chosen!r}")
    looked_at = list(models) if asked_for is None else list(asked_for)
    for name in looked_at:
        if name not in named | voting:
            raise EstimateError(f"asked_for: {name!r} is not among the models: {', '.join(named | voting)}")
    study = PilotStudy(
        models=named,
        judges=wise,
        labels=said,
        voters=named | voting,
        asked_for=looked_at,
        protocol=chosen,
        epsilon=epsilon,
        n_options=n_options,
    )
    rows = [row for name in named for row in plan_model(study, name, aim)]
    return PilotPlan(rows=tuple(rows), protocol=chosen, aim=aim)


def _check_aim(half_width: float | None, questions: int | None, level: float) -> Aim:
    check_level(level)
    if half_width is not None and questions is not None:
        raise EstimateError(f"give half_width ({half_width}) or questions ({questions}), not both")
    width = 0.03 if half_width is None and questions is None else half_width
    if width is not None and not 0 < width < 1:
        raise EstimateError(f"half_width must lie in (0, 1), is {width}")
    if questions is not None and questions < 1:
        raise EstimateError(f"questions must be at least 1, is {questions}")
    return Aim(half_width=width, questions=questions, level=level)
