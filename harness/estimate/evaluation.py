"""The accuracy of a model from expert labels: one call for every protocol.

Labels carry the design that their protocol states (`Labels`), and the call takes the estimator from it.
A plain list of labels says nothing of its protocol: it is taken for uniformly drawn options, and
refused where its propensities say otherwise.

Items of different K are estimated apart and weighted by their share of the labelled items: pooled
naively, yes-answers over-represent few options and no-answers many. Var = Σ W_h² Var(Â_h) +
Σ W_h(Â_h − Â)²/N, as the shares W_h are sampled themselves.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from harness.errors import EstimateError, NotIdentified
from harness.estimate.anytime_accuracy import estimate_anytime
from harness.estimate.by_design import design_of, estimate_by_design, is_uniform
from harness.estimate.data import (
    Conditioning,
    Estimates,
    Tallies,
    all_estimators,
    estimate_tallies,
    stratify_by_confidence,
    tally,
)
from harness.estimate.routed import GoldCounts
from harness.types import Estimate, Label, Labels, Prediction, PredictionStatus

CONFIDENCE: Literal["confidence"] = "confidence"
"""In place of strata: by the model's own confidence."""

Strata = Mapping[str, str] | Literal["confidence"] | None
"""Stratum of every item, by id, or `CONFIDENCE`.

Strata are weighted by their share of the predictions, so that they may be labelled at different rates.
"""


def accuracy(
    predictions: Sequence[Prediction],
    labels: Sequence[Label],
    *,
    estimator: str = "ml",
    interval: str | None = None,
    level: float = 0.95,
    strata: Strata = None,
    published: bool = False,
    split: Conditioning | Literal["auto"] = "auto",
    gold: GoldCounts | None = None,
    n_options: Mapping[str, int] | None = None,
) -> Estimate:
    """Estimate the probability that a prediction is right; items of different K as the module says.

    Parameters
    ----------
    predictions
        One per item. Unreadable ones count as wrong; failed ones are excluded and counted.
    labels
        What experts said; any number per item, abstentions included.
    estimator
        ``ml`` (default), ``ord``, ``comp``, ``ivw`` or ``ivw_half``, see `make_point`; where options
        were not drawn uniformly, the protocol has one estimator of its own.
    interval
        A name of `INTERVALS`; ``exact`` if None (``wald`` with `published`); or ``anytime``, see
        `estimate_anytime`.
    level
        Confidence level, in (0, 1).
    strata
        See `Strata`.
    published
        The paper's conventions: n − 1 in `ord` and `comp`, raw q̂ in the s.e. of `ml`, raw Eq. 7.
    split
        Which numbers are taken as given; see `tally`.
    gold
        Experts' answers on items of known truth: the estimate is corrected for their errors.
    n_options
        K of every predicted item, by id; an ``anytime`` interval needs it where K varies.

    Raises
    ------
    EstimateError
        If the data are contradictory or the estimator is undefined for them; names row and value.
    NotIdentified
        If the protocol says nothing of one model's accuracy, or a plain list of labels was drawn so
        that it does not.
    """
    if interval == "anytime":
        return estimate_anytime(predictions, labels, level=level, n_options=n_options)
    if gold is not None or not is_uniform(labels):
        estimate = estimate_by_design(predictions, labels, level=level, gold=gold)
    else:
        tallies = _tally_pool(predictions, labels, strata, split)
        estimate = estimate_tallies(
            tallies, estimator=estimator, interval=interval, level=level, published=published
        )
    return _with_assumptions(estimate, labels)


def accuracies(
    predictions: Sequence[Prediction],
    labels: Sequence[Label],
    *,
    interval: str | None = None,
    level: float = 0.95,
    strata: Strata = None,
    published: bool = False,
    split: Conditioning | Literal["auto"] = "auto",
    gold: GoldCounts | None = None,
    anytime: float | None = None,
) -> Estimates:
    """All that the labels' protocol allows to estimate of one model; parameters as in `accuracy`.

    Parameters
    ----------
    anytime
        Level of an interval to add that may be looked at any time.

    Returns
    -------
    Estimates
        For uniformly drawn options ``ord``, ``comp``, ``ivw_half``, ``ivw``, ``ml``, with `anytime` and
        `gold` also ``anytime`` and ``corrected``; else ``routed`` or ``resolved``. One that is
        undefined is left out and `undefined` says why.

    Raises
    ------
    EstimateError
        If the data are contradictory, or no estimator is defined for uniformly drawn options.
    NotIdentified
        As in `accuracy`, for a plain list of labels.
    """
    if not is_uniform(labels):
        rule = design_of(labels).statement
        name = {"weighted": "routed"}.get(rule.estimator, rule.estimator)
        return _try(
            name if "accuracy" in rule.answers else "accuracy", predictions, labels, level=level, gold=gold
        )
    tallies = _tally_pool(predictions, labels, strata, split)
    more = [all_estimators(tallies, interval=interval, level=level, published=published)]
    if anytime is not None:
        more.append(_try("anytime", predictions, labels, level=anytime, interval="anytime"))
    if gold is not None:
        more.append(_try("corrected", predictions, labels, level=level, gold=gold))
    return Estimates(
        {name: _with_assumptions(e, labels) for part in more for name, e in part.items()},
        {name: why for part in more for name, why in part.undefined.items()},
    )


def model_accuracies(
    models: Mapping[str, Sequence[Prediction]], labels: Sequence[Label], **options: Any
) -> dict[str, Estimates]:
    """`accuracies` of every model, by name; each from the labels of the items that it was asked about."""
    return {
        name: accuracies(predictions, keep_predicted(labels, predictions), **options)
        for name, predictions in models.items()
    }


def keep_predicted(labels: Sequence[Label], predictions: Sequence[Prediction]) -> Sequence[Label]:
    """The labels of items that have a prediction, with their design: a run under way has fewer items."""
    predicted = {p.item_id for p in predictions}
    kept = [x for x in labels if x.item_id in predicted]
    return Labels(kept, labels.design) if isinstance(labels, Labels) else kept


def find_strata(
    predictions: Sequence[Prediction], labels: Sequence[Label], strata: Strata
) -> Mapping[str, str] | None:
    """The stratum of every item: as given, or by the model's confidence."""
    if isinstance(strata, str):
        return stratify_by_confidence(predictions, len(labels))
    return strata


def _tally_pool(
    predictions: Sequence[Prediction],
    labels: Sequence[Label],
    strata: Strata,
    split: Conditioning | Literal["auto"],
) -> Tallies:
    """Tallies whose strata are weighted by their share of all predictions that did not fail."""
    _check_drawn(predictions, labels)
    strata = find_strata(predictions, labels, strata)
    tallies = tally(predictions, labels, strata=strata, split=split)
    if strata is None:
        return tallies
    pool: Counter[str] = Counter()
    for row, p in enumerate(predictions):
        if p.item_id not in strata:
            raise EstimateError(f"strata: predictions[{row}], item {p.item_id!r}, has no stratum")
        if p.status is not PredictionStatus.FAILED:
            pool[strata[p.item_id]] += 1
    return replace(tallies, pool=pool)


def _try(name: str, predictions: Sequence[Prediction], labels: Sequence[Label], **options: Any) -> Estimates:
    try:
        return Estimates({name: accuracy(predictions, labels, **options)}, {})
    except EstimateError as error:
        return Estimates({}, {name: str(error)})


def _with_assumptions(estimate: Estimate, labels: Sequence[Label]) -> Estimate:
    """What the labels' protocol assumes, where the estimate rests on nothing else."""
    design = design_of(labels)
    special = estimate.estimator in ("corrected", "anytime") or estimate.interval == "anytime"
    if not design.statements or special or "conditioned_on_questions" in estimate.flags:
        return estimate
    return replace(estimate, assumptions=design.statement.assumptions)


def _check_drawn(predictions: Sequence[Prediction], labels: Sequence[Label]) -> None:
    """Refuse answers that followed predictions in a way that a likelihood of hits and misses misses."""
    for row, label in enumerate(labels):
        if label.propensities and label.propensity < 1:
            raise NotIdentified(
                f"labels[{row}]: options were drawn with propensities that differ ({label.propensity:.3g} "
                "for the one asked about); weigh by them: routed_pool, then routed_accuracy"
            )
    predicted = {p.item_id: p.option for p in predictions}
    if not all(x.propensity == 1 and x.option == predicted.get(x.item_id) for x in labels):
        return
    unreadable = [p.item_id for p in predictions if p.status.no_option]
    if unreadable:
        raise NotIdentified(
            f"predictions: all labels are about predictions, so the {len(unreadable)} unreadable ones, such "
            f"as item {unreadable[0]!r}, were never asked about and would be left out though they are "
            "wrong; count them: routed_pool, then routed_accuracy"
        )
