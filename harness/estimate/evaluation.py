"""The accuracy of a model from expert labels: one call for every protocol.

Labels carry the design that their protocol states (`Labels`), and the call takes the estimator from it.
A plain list of labels says nothing of its protocol: it is taken for uniformly drawn options, and
refused where its propensities say otherwise.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from harness.errors import EstimateError, NotIdentified
from harness.estimate.core import Conditioning
from harness.estimate.data import stratify_by_confidence, tally
from harness.estimate.routed import (
    GoldCounts,
    corrected_accuracy,
    resolved_accuracy,
    resolved_correctness,
    routed_accuracy,
    routed_pool,
)
from harness.estimate.strata import Estimates, all_estimators, estimate_anytime, estimate_tallies
from harness.types import (
    Counts,
    Estimate,
    Label,
    LabelDesign,
    LabelKind,
    Labels,
    Prediction,
    PredictionStatus,
)

CONFIDENCE: Literal["confidence"] = "confidence"
"""In place of strata: by the model's own confidence."""

Strata = Mapping[str, str] | Literal["confidence"] | None

_PLAIN = LabelDesign(statements=(), asked=frozenset())


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
    """Estimate the probability that a prediction is right.

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
        Stratum of every item, by id, or ``"confidence"``. Strata are weighted by their share of the
        predictions, so that they may be labelled at different rates.
    published
        The paper's conventions: n − 1 in `ord` and `comp`, raw q̂ in the s.e. of `ml`, raw Eq. 7.
    split
        Which numbers are taken as given; see `tally`.
    gold
        Experts' answers on items of known truth: the estimate is corrected for their errors.
    n_options
        K of every predicted item, by id; an ``anytime`` interval needs it where K varies.

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
        If the protocol says nothing of one model's accuracy; if a plain list of labels was drawn so
        that whether the prediction is asked about depends on other models; or if unreadable
        predictions were passed over.
    """
    if interval == "anytime":
        _check_watchable(predictions, labels)
        return estimate_anytime(predictions, labels, level=level, n_options=n_options)
    if gold is not None or not is_uniform(labels):
        return _estimate_by_design(predictions, labels, level=level, gold=gold)
    _check_drawn(predictions, labels)
    strata = find_strata(predictions, labels, strata)
    estimate = estimate_tallies(
        tally(predictions, labels, strata=strata, split=split),
        estimator=estimator,
        interval=interval,
        level=level,
        shares=None if strata is None else _pool_shares(predictions, strata),
        n_pool=_n_pool(predictions),
        published=published,
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
    _check_drawn(predictions, labels)
    strata = find_strata(predictions, labels, strata)
    found = all_estimators(
        tally(predictions, labels, strata=strata, split=split),
        interval=interval,
        level=level,
        shares=None if strata is None else _pool_shares(predictions, strata),
        n_pool=_n_pool(predictions),
        published=published,
    )
    more = [found]
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


def design_of(labels: Sequence[Label]) -> LabelDesign:
    """How labels came about; a plain list states nothing."""
    return labels.design if isinstance(labels, Labels) else _PLAIN


def is_uniform(labels: Sequence[Label]) -> bool:
    """Whether the labels' protocol drew options uniformly; a plain list is taken for such."""
    design = design_of(labels)
    return not design.statements or design.statement.estimator == "likelihood"


def _try(name: str, predictions: Sequence[Prediction], labels: Sequence[Label], **options: Any) -> Estimates:
    try:
        return Estimates({name: accuracy(predictions, labels, **options)}, {})
    except EstimateError as error:
        return Estimates({}, {name: str(error)})


def _estimate_by_design(
    predictions: Sequence[Prediction], labels: Sequence[Label], *, level: float, gold: GoldCounts | None
) -> Estimate:
    """The one estimate that recorded propensities or resolved items allow."""
    design = design_of(labels)
    rule = design.statement if design.statements else None
    asked = design.asked or {x.item_id for x in labels}
    if rule is not None and "accuracy" not in rule.answers:
        raise NotIdentified("questions were asked only where two models differ; see: oversight compare")
    if rule is not None and rule.estimator == "resolved":
        estimate = resolved_accuracy(resolved_correctness(labels, [predictions], asked)[:, 0], level=level)
    else:
        data, predicted = routed_pool(labels, [predictions], asked, error_free=gold is None)
        if gold is not None:
            estimate = corrected_accuracy(predicted[:, 0], data, gold, level=level)
        else:
            estimate = routed_accuracy(predicted[:, 0], data, level=level)
    return _with_assumptions(replace(estimate, n=_count(predictions, labels)), labels)


def _with_assumptions(estimate: Estimate, labels: Sequence[Label]) -> Estimate:
    """What the labels' protocol assumes, where the estimate rests on nothing else."""
    design = design_of(labels)
    special = estimate.estimator in ("corrected", "anytime") or estimate.interval == "anytime"
    if not design.statements or special or "conditioned_on_questions" in estimate.flags:
        return estimate
    return replace(estimate, assumptions=design.statement.assumptions)


def _count(predictions: Sequence[Prediction], labels: Sequence[Label]) -> Counts:
    """Count answers as everywhere else: by what experts said on items with a prediction."""
    status = {p.item_id: p.status for p in predictions}
    kinds = Counter(x.kind for x in labels if status.get(x.item_id) is not PredictionStatus.FAILED)
    labelled = {x.item_id for x in labels}
    by_status = Counter(s for item, s in status.items() if item in labelled)
    return Counts(
        ordinary=kinds[LabelKind.ORDINARY],
        complementary=kinds[LabelKind.COMPLEMENTARY],
        abstained=kinds[LabelKind.ABSTAINED],
        unreadable=sum(n for s, n in by_status.items() if s.no_option),
        failed=by_status[PredictionStatus.FAILED],
        unlabelled=len(set(status) - labelled),
    )


def _check_watchable(predictions: Sequence[Prediction], labels: Sequence[Label]) -> None:
    """Refuse a confidence sequence where its likelihood is wrong.

    Options must have been drawn uniformly, or each must be the prediction itself.
    """
    if is_uniform(labels):
        return
    predicted = {p.item_id: p.option for p in predictions}
    rules = design_of(labels).statements
    if not (
        all(rule.estimator == "weighted" and "accuracy" in rule.answers for rule in rules)
        and all(predicted.get(x.item_id) == x.option for x in labels)
    ):
        raise NotIdentified(
            "its questions followed from predictions; an interval for looking on needs the partitioned "
            "protocol, or the targeted one with this model alone; at the end: oversight estimate"
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
