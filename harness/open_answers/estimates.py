"""Scores of models on open answers, from judgements of some of their units."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from oversight.harness.arrays import FloatArray
from oversight.harness.open_answers.experts import ExpertReplies
from oversight.harness.open_answers.units import Judgements

METRICS = ("score", "met", "no_error")


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenEstimate:
    """One number of a model, or of the difference of two, with its interval.

    Attributes
    ----------
    metric
        "score" (mean over items of points of what is met by the sum of positive points), "score_by_item"
        (the same with every item's score clipped to [0, 1]), "met" (share of units met), or "no_error"
        (share of answers without an error).
    model, other
        The model; the model that it is compared with (model − other), else None.
    field
        None for all fields.
    value, low, high
        Estimate and interval from the units that were judged; None if withheld.
    worst_low, worst_high
        Ends of an interval that holds whatever missing judgements would be; None if withheld.
    items, judged, missing
        Items with a judged unit; units judged; units asked about without a yes or no.
    method
        How the interval was made.
    why
        Why the interval may not hold; empty if it does.
    withheld
        Why there is no number; empty if there is one.
    """

    metric: str
    model: str
    other: str | None = None
    field: str | None = None
    value: float | None
    low: float | None
    high: float | None
    worst_low: float | None
    worst_high: float | None
    level: float
    items: int
    judged: int
    missing: int
    method: str = "item bootstrap"
    why: str = ""
    withheld: str = ""

    @property
    def holds(self) -> bool:
        """Whether the interval covers the truth as often as its level says."""
        return not self.why and not self.withheld


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenResult:
    """All estimates of a study of open answers."""

    estimates: tuple[OpenEstimate, ...]
    experts: tuple[ExpertReplies, ...]
    level: float

    def find(
        self, metric: str, model: str, *, other: str | None = None, field: str | None = None
    ) -> OpenEstimate:
        """One estimate by its names."""
        for estimate in self.estimates:
            if (estimate.metric, estimate.model, estimate.other, estimate.field) == (
                metric,
                model,
                other,
                field,
            ):
                return estimate
        raise KeyError((metric, model, other, field))


def estimate_open(
    judgements: Judgements,
    *,
    experts: Mapping[str, str],
    level: float = 0.95,
    metrics: Sequence[str] = METRICS,
    by_field: bool = True,
    differences: bool = True,
    judge: FloatArray | None = None,
    clip: str = "mean",
    anytime: bool = False,
) -> OpenResult:
    """Estimate every model's numbers.

    Parameters
    ----------
    judgements
        All units of all answers, and what was said of them.
    experts
        Expert → field.
    judge
        Shape (R,): a judge's probability that the reply is "yes", NaN where unknown; a control variate.
    clip
        "mean": the mean score is clipped to [0, 1]; "item": every item's score is, which needs complete
        items; "none".
    anytime
        Make intervals that hold however often one looks.
    """
    raise NotImplementedError


def gate_score(
    judgements: Judgements,
    bar: float,
    model: str,
    *,
    other: str | None = None,
    level: float = 0.95,
    metric: str = "score",
) -> str:
    """Whether a number is above a bar, at any time: "pass", "fail" or "undecided"."""
    raise NotImplementedError
