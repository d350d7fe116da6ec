"""The accuracy of a model from expert labels: the one call most users need."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Literal

from harness.errors import EstimateError, NotIdentified
from harness.estimate.data import Conditioning, tally
from harness.estimate.strata import Estimates, all_estimators, estimate_tallies
from harness.types import Estimate, Label, Prediction, PredictionStatus


def accuracy(
    predictions: Sequence[Prediction],
    labels: Sequence[Label],
    *,
    estimator: str = "ml",
    interval: str | None = None,
    level: float = 0.95,
    strata: Mapping[str, str] | None = None,
    published: bool = False,
    split: Conditioning | Literal["auto"] = "auto",
) -> Estimate:
    """Estimate the probability that a prediction is right.

    Parameters
    ----------
    predictions
        One per item. Unreadable ones count as wrong; failed ones are excluded and counted.
    labels
        What experts said; any number per item, abstentions included.
    estimator
        ``ml`` (default), ``ord``, ``comp``, ``ivw`` or ``ivw_half``; see `point`.
    interval
        A name of `intervals.INTERVALS`; ``exact`` if None (``wald`` with `published`).
    level
        Confidence level, in (0, 1).
    strata
        Stratum of every item, by id. Strata are weighted by their share of the predictions, so
        that they may be labelled at different rates.
    published
        The paper's conventions: n − 1 in `ord` and `comp`, raw q̂ in the s.e. of `ml`, raw Eq. 7.
    split
        Which numbers are taken as given; see `tally`.

    Returns
    -------
    Estimate
        Items of different K are estimated apart and weighted by their share of the labelled
        items: pooled naively, yes-answers over-represent few options and no-answers many.
        Var = Σ W_h² Var(Â_h) + Σ W_h(Â_h − Â)²/N, as the shares W_h are sampled themselves.

    Raises
    ------
    EstimateError
        If the data are contradictory or the estimator is undefined for them; names row and value.
    NotIdentified
        If the questions asked cannot settle this model's predictions, or were drawn so that whether
        the prediction is asked about depends on other models (`pool.routed_pool` and
        `routed.routed_accuracy` weigh such answers), or unreadable predictions were passed over.
    """
    _check_drawn(predictions, labels)
    tallies = tally(predictions, labels, strata=strata, split=split)
    shares = None if strata is None else _pool_shares(predictions, strata)
    return estimate_tallies(
        tallies,
        estimator=estimator,
        interval=interval,
        level=level,
        shares=shares,
        n_pool=_n_pool(predictions),
        published=published,
    )


def accuracies(
    predictions: Sequence[Prediction],
    labels: Sequence[Label],
    *,
    interval: str | None = None,
    level: float = 0.95,
    strata: Mapping[str, str] | None = None,
    published: bool = False,
    split: Conditioning | Literal["auto"] = "auto",
) -> Estimates:
    """All estimators on the same data; parameters as in `accuracy`.

    Returns
    -------
    Estimates
        Keys ``ord``, ``comp``, ``ivw_half``, ``ivw``, ``ml``; one that is undefined is left out
        and `undefined` says why.

    Raises
    ------
    EstimateError
        If the data are contradictory, or no estimator is defined for them.
    NotIdentified
        As in `accuracy`.
    """
    _check_drawn(predictions, labels)
    tallies = tally(predictions, labels, strata=strata, split=split)
    return all_estimators(
        tallies,
        interval=interval,
        level=level,
        shares=None if strata is None else _pool_shares(predictions, strata),
        n_pool=_n_pool(predictions),
        published=published,
    )


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


def _n_pool(predictions: Sequence[Prediction]) -> int:
    return sum(p.status is not PredictionStatus.FAILED for p in predictions)


def _pool_shares(predictions: Sequence[Prediction], strata: Mapping[str, str]) -> dict[str, float]:
    sizes: Counter[str] = Counter()
    for row, p in enumerate(predictions):
        if p.item_id not in strata:
            raise EstimateError(f"strata: predictions[{row}], item {p.item_id!r}, has no stratum")
        if p.status is not PredictionStatus.FAILED:
            sizes[strata[p.item_id]] += 1
    total = sizes.total()
    return {name: size / total for name, size in sizes.items()}
