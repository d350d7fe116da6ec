"""What failed calls and unanswered questions may hide from an estimate.

Estimates assume that a missing answer is unrelated to the truth, which nothing in the data can test. So the
estimate is made again with the missing answers put in, all of them for the model or all against it
(`fill_answers`). Whatever the answers would have been, the estimate of all questions lies between these two.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from oversight.harness.columns import ABSTAINED, LabelColumns, PredictionColumns
from oversight.harness.errors import EstimateError
from oversight.harness.estimate.data import fill_answers
from oversight.harness.estimate.evidence import resolved_estimate
from oversight.harness.estimate.intervals import scale_by_share
from oversight.harness.types import WORST_CASE, Estimate, Note, NoteKind

WIDEST = 1.25
"""Times its own width that an interval may be wide so that it holds whatever unanswered questions hide."""

Estimator = Callable[[LabelColumns], Estimate]
"""Makes an estimate of a model from labels."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HiddenRange:
    """Where an estimate would be if the missing answers were all against the model, or all for it.

    Attributes
    ----------
    missing, of
        Number of unanswered questions, and of all questions.
    worst, best
        The two estimates; the interval of the first begins, and that of the second ends, what holds whatever
        the answers would have been.
    """

    missing: int
    of: int
    worst: Estimate
    best: Estimate

    def widen(self, estimate: Estimate) -> Estimate:
        """Widen the interval of an estimate so that it holds whatever the answers would have been."""
        return replace(
            estimate,
            low=min(self.worst.low, self.best.low),
            high=max(self.worst.high, self.best.high),
            steps=_mark_worst(estimate.steps),
        )

    def allow_for(self, estimate: Estimate) -> Estimate | None:
        """Widen the interval; None if it would be more than `WIDEST` times as wide."""
        wide = self.widen(estimate)
        if wide.high - wide.low > WIDEST * (estimate.high - estimate.low):
            return None
        return replace(wide, notes=(*wide.notes, Note(NoteKind.ALLOWS_FOR_MISSING)))

    def __str__(self) -> str:
        """Say how many questions are unanswered, and what the estimate could be for that."""
        low, high = sorted((self.worst.clipped, self.best.clipped))
        return (
            f"{self.missing} of {self.of} questions unanswered: the accuracy can be anywhere from "
            f"{low:.3f} to {high:.3f}"
        )


def _mark_worst(steps: tuple[str, ...]) -> tuple[str, ...]:
    return steps if WORST_CASE in steps else (*steps, WORST_CASE)


def find_hidden(
    estimate: Estimate, make: Estimator, predictions: PredictionColumns, labels: LabelColumns
) -> HiddenRange | None:
    """Find out where an estimate would be with the missing answers; None if nothing is hidden.

    Parameters
    ----------
    make
        Makes the estimate. Not called for items that are asked about until they are resolved: one that is not
        resolved counts as wrong, or as right.
    labels
        Those that are estimated from; questions that were passed over are abstentions (`collected_part`).

    Raises
    ------
    EstimateError
        As of `make`.
    """
    if not (labels.kind == ABSTAINED).any():
        return None
    if labels.is_resolved:
        bounds = resolved_estimate(predictions, labels, estimate.level, bounds=True)
        right, unknown = bounds.n.ordinary, bounds.n.abstained
        of = right + bounds.n.complementary + unknown
        worst, best = (replace(bounds, value=value / of) for value in (right, right + unknown))
        return HiddenRange(missing=unknown, of=of, worst=worst, best=best) if unknown else None
    missing = int(np.count_nonzero(predictions.ran[labels.item] & (labels.kind == ABSTAINED)))
    of = int(np.count_nonzero(predictions.ran[labels.item]))
    if not missing:
        return None
    worst, best = (make(_fill(labels, predictions, favourable=favourable)) for favourable in (False, True))
    return HiddenRange(missing=missing, of=of, worst=worst, best=best)


def _fill(labels: LabelColumns, predictions: PredictionColumns, *, favourable: bool) -> LabelColumns:
    """Put in the missing answers; where no answer is possible any more, a question stays unanswered."""
    n_options = np.full(labels.index.size, 2)
    n_options[labels.item] = labels.questions.n_options
    filled = fill_answers(
        labels.kind, labels.option, labels.item, predictions.option, n_options, favourable=favourable
    )
    return replace(labels, kind=filled.astype(np.int64), passed=None)


def bound_missing(
    estimate: Estimate, make: Estimator, predictions: PredictionColumns, labels: LabelColumns
) -> Estimate | None:
    """Widen an interval so that it holds whatever failed calls and unanswered questions hide.

    With a share ρ of the calls answered, A lies between ρ·A_answered and 1 − ρ·(1 − A_answered), each end
    with the uncertainty of both (`scale_by_share`).

    Returns
    -------
    Estimate or None
        Named ``worst_case``; None if nothing is missing, or what is missing contradicts the answers.
    """
    failed, ran = (int(np.count_nonzero(x)) for x in (predictions.has_failed, predictions.ran))
    bounds, missing = estimate, failed
    try:
        hidden = find_hidden(estimate, make, predictions, labels)
    except EstimateError:
        return None
    if hidden is not None:
        bounds, missing = hidden.widen(estimate), failed + hidden.missing
    if not missing:
        return None
    inner = min(bounds.high, max(bounds.low, bounds.value))
    low, wrong = bounds.low, 1 - bounds.high
    if failed:
        share, n = ran / (ran + failed), int(np.count_nonzero(labels.labelled)) * (ran + failed) / ran
        _, low, _ = scale_by_share(share, n, inner, bounds.low, bounds.high, bounds.level)
        _, wrong, _ = scale_by_share(share, n, 1 - inner, 1 - bounds.high, 1 - bounds.low, bounds.level)
    of = int(np.count_nonzero(labels.labelled & (predictions.ran | predictions.has_failed)))
    return replace(
        bounds,
        value=inner,
        low=max(0.0, low),
        high=min(1.0, 1 - wrong),
        se=None,
        n=estimate.n,
        estimator="worst_case",
        steps=_mark_worst(bounds.steps),
        why=bounds.why or estimate.why,
        notes=(*estimate.notes, Note(NoteKind.MISSING, {"missing": missing, "of": of})),
    )
