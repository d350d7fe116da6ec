"""Which estimates a study's protocol allows, computed for one model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from harness.errors import EstimateError
from harness.estimate import (
    GoldCounts,
    accuracies,
    accuracy,
    corrected_accuracy,
    estimate_anytime,
    obrien_fleming_level,
    resolved_accuracy,
    resolved_correctness,
    routed_accuracy,
    routed_pool,
)
from harness.types import Counts, Estimate, Label, LabelKind, Prediction, PredictionStatus


@dataclass(frozen=True, slots=True)
class Options:
    """How to estimate.

    Attributes
    ----------
    interval, level, published
        As in `harness.accuracy`.
    look, looks
        The look at the data this is, of how many planned ones (O'Brien–Fleming); 0 for one look.
    anytime
        Whether to add the interval that may be watched at all times.
    gold
        Experts' answers to items of known truth, to correct for their errors.
    """

    interval: str | None = None
    level: float = 0.95
    published: bool = False
    look: int = 0
    looks: int = 0
    anytime: bool = False
    gold: GoldCounts | None = None

    @property
    def level_now(self) -> float:
        """Level of the interval at this look."""
        return obrien_fleming_level(self.look, self.looks, self.level) if self.looks else self.level


Estimates = tuple[dict[str, Estimate], dict[str, str]]


def estimate_model(
    predictions: Sequence[Prediction],
    labels: Sequence[Label],
    protocols: Collection[str],
    asked: Collection[str],
    strata: Mapping[str, str] | None,
    options: Options,
) -> Estimates:
    """Estimate one model's accuracy in every way that its study's protocol allows.

    Parameters
    ----------
    protocols
        Names of the protocols that the questions were drawn by.
    asked
        Ids of the items that have a question.

    Returns
    -------
    dict, dict
        Estimator → estimate, and estimator → why it is undefined.
    """
    if "sequential" in protocols:
        return _try("resolved", lambda: _resolved(predictions, labels, asked, options))
    if "disagreement" in protocols:
        why = "questions were asked only where two models differ; see: oversight compare"
        return {}, {"accuracy": why}
    if "targeted" in protocols:
        return _try("routed", lambda: _routed(predictions, labels, asked, options))
    estimates = accuracies(
        predictions,
        labels,
        interval=options.interval,
        level=options.level_now,
        strata=strata,
        published=options.published,
    )
    found, undefined = dict(estimates), dict(estimates.undefined)
    more: list[Estimates] = []
    if options.anytime:
        more.append(_try("anytime", lambda: estimate_anytime(predictions, labels, level=options.level)))
    if options.gold is not None:
        more.append(_try("corrected", lambda: _corrected(predictions, labels, asked, options)))
    for estimate, reason in more:
        found |= estimate
        undefined |= reason
    return found, undefined


def headline(
    predictions: Sequence[Prediction],
    labels: Sequence[Label],
    protocols: Collection[str],
    asked: Collection[str],
    strata: Mapping[str, str] | None,
    options: Options,
) -> Estimate:
    """Compute only the one estimate to quote; raises EstimateError where it is undefined."""
    if set(protocols) == {"partitioned"}:
        return accuracy(
            predictions, labels, interval=options.interval, level=options.level_now, strata=strata
        )
    found, undefined = estimate_model(predictions, labels, protocols, asked, strata, options)
    if not found:
        raise EstimateError("; ".join(undefined.values()))
    return next(iter(found.values()))


def _try(name: str, compute: Callable[[], Estimate]) -> Estimates:
    try:
        return {name: compute()}, {}
    except EstimateError as error:
        return {}, {name: str(error)}


def _routed(
    predictions: Sequence[Prediction], labels: Sequence[Label], asked: Collection[str], options: Options
) -> Estimate:
    data, predicted = routed_pool(labels, [predictions], asked, error_free=options.gold is None)
    if options.gold is not None:
        estimate = corrected_accuracy(predicted[:, 0], data, options.gold, level=options.level_now)
    else:
        estimate = routed_accuracy(predicted[:, 0], data, level=options.level_now)
    return _counted(estimate, predictions, labels)


def _resolved(
    predictions: Sequence[Prediction], labels: Sequence[Label], asked: Collection[str], options: Options
) -> Estimate:
    correct = resolved_correctness(labels, [predictions], asked)[:, 0]
    return _counted(resolved_accuracy(correct, level=options.level_now), predictions, labels)


def _corrected(
    predictions: Sequence[Prediction], labels: Sequence[Label], asked: Collection[str], options: Options
) -> Estimate:
    return replace(_routed(predictions, labels, asked, options), estimator="corrected")


def _counted(estimate: Estimate, predictions: Sequence[Prediction], labels: Sequence[Label]) -> Estimate:
    """Count answers as everywhere else: by what experts said on items with a prediction."""
    status = {p.item_id: p.status for p in predictions}
    kinds = Counter(x.kind for x in labels if status.get(x.item_id) is not PredictionStatus.FAILED)
    labelled = {x.item_id for x in labels}
    by_status = Counter(s for item, s in status.items() if item in labelled)
    counts = Counts(
        ordinary=kinds[LabelKind.ORDINARY],
        complementary=kinds[LabelKind.COMPLEMENTARY],
        abstained=kinds[LabelKind.ABSTAINED],
        unreadable=sum(n for status, n in by_status.items() if status.no_option),
        failed=by_status[PredictionStatus.FAILED],
        unlabelled=len(set(status) - labelled),
    )
    return replace(estimate, n=counts)
