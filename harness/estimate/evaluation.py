"""The accuracy of a model from expert labels: one call for every protocol.

Labels carry the design that their protocol states (`Labels`), and the call takes the estimator from it.
A plain list of labels says nothing of its protocol: it is taken for uniformly drawn options, and
refused where its propensities say otherwise.

Uniformly drawn options of one K have an exact interval. Items of different K, and strata whose items weigh
differently, are tested together (`harness.estimate.intervals.tilting`): pooled naively, yes-answers
over-represent few options and no-answers many, and estimated apart, small groups are biased upwards.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal

from harness.errors import BadInput
from harness.estimate.anytime_accuracy import estimate_anytime
from harness.estimate.by_design import estimate_by_design
from harness.estimate.collected import collected_part
from harness.estimate.data import Conditioning, Strata, estimate_tallies, tally_pool
from harness.estimate.routed import GoldCounts
from harness.types import (
    Counts,
    Estimate,
    Label,
    LabelKind,
    Prediction,
    PredictionStatus,
    design_of,
    is_resolved,
    is_uniform,
)


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
        What experts said; any number per item.
    estimator
        ``ml`` (default), ``ord``, ``comp``, ``ivw`` or ``ivw_half``, see `make_point`; where options
        were not drawn uniformly, the protocol has one estimator of its own.
    interval, level
        A name of `INTERVALS`, ``exact`` if None (``wald`` with `published`), or ``anytime``
        (`estimate_anytime`); and its confidence level, in (0, 1).
    strata, published
        See `Strata`; the paper's conventions: n − 1 in `ord` and `comp`, raw q̂ in `ml`'s s.e., raw Eq. 7.
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
    one = _check_options(labels, estimator, interval, strata, gold, published=published)
    part, flags = collected_part(labels, {p.item_id for p in predictions})
    if interval == "anytime":
        estimate = estimate_anytime(predictions, part, level=level, n_options=n_options)
    elif one:
        estimate = estimate_by_design(predictions, part, level=level, gold=gold)
    else:
        estimate = estimate_tallies(
            tally_pool(predictions, part, strata, split),
            estimator=estimator,
            interval=interval,
            level=level,
            published=published,
        )
    return complete(estimate, predictions, part, flags)


def count_labels(predictions: Sequence[Prediction], labels: Sequence[Label]) -> Counts:
    """Count answers by what experts said on items with a prediction, and items by what they lack."""
    design = design_of(labels)
    status = {p.item_id: p.status for p in predictions}
    kinds = Counter(
        x.kind
        for x in labels
        if status.get(x.item_id, PredictionStatus.FAILED) is not PredictionStatus.FAILED
    )
    labelled = {x.item_id for x in labels}
    by_status = Counter(s for item, s in status.items() if item in labelled)
    without = set(status) - labelled
    unasked = len(without - design.asked) if design.asked else 0
    return Counts(
        ordinary=kinds[LabelKind.ORDINARY],
        complementary=kinds[LabelKind.COMPLEMENTARY],
        abstained=kinds[LabelKind.ABSTAINED],
        unreadable=sum(n for s, n in by_status.items() if s.no_option),
        failed=by_status[PredictionStatus.FAILED],
        unlabelled=len(without) - unasked,
        unasked=unasked,
        unpredicted=len(design.asked - set(status)),
    )


def _check_options(
    labels: Sequence[Label],
    estimator: str,
    interval: str | None,
    strata: Strata,
    gold: GoldCounts | None,
    *,
    published: bool,
) -> bool:
    """Whether the labels or the other options allow one estimate only; options without effect are refused."""
    anytime = interval == "anytime"
    one = anytime or gold is not None or not is_uniform(labels) or bool(design_of(labels).clusters)
    honoured = (None, "anytime", "exact") if is_resolved(labels) else (None, "anytime")
    _refuse_ignored(
        labels,
        estimator=one and estimator != "ml",
        interval=one and interval not in honoured,
        strata=one and strata is not None,
        published=one and published,
        gold=gold is not None and (is_resolved(labels) or anytime or not _tells_accuracy(labels)),
    )
    return one


def complete(
    estimate: Estimate, predictions: Sequence[Prediction], labels: Sequence[Label], flags: tuple[str, ...]
) -> Estimate:
    """With the assumptions of the protocol, all counts, and what is known of a run that is not finished."""
    counts = count_labels(predictions, labels)
    answered = sum(p.status is not PredictionStatus.FAILED for p in predictions)
    unfinished = (
        f"the model answered {answered} of {len(predictions) + counts.unpredicted} items; those it "
        "answered first may be no random part of them"
    )
    return replace(
        _with_assumptions(estimate, labels),
        n=counts,
        flags=flags + estimate.flags,
        why=estimate.why or (unfinished if counts.unpredicted else ""),
    )


def _refuse_ignored(labels: Sequence[Label], **options: bool) -> None:
    """Refuse options that the labels' protocol, or another option, leaves without effect.

    Raises
    ------
    BadInput
        Naming them.
    """
    ignored = [name for name, given in options.items() if given]
    if ignored:
        design = design_of(labels)
        how = f"{design.statement.estimator} labels" if design.statements else "these labels"
        how += " in clusters" if design.clusters else ""
        raise BadInput(
            f"{', '.join(ignored)}: has no effect on {how} with the other options given, which allow one "
            "estimate; leave it out"
        )


def _tells_accuracy(labels: Sequence[Label]) -> bool:
    """Whether the labels' protocol tells one model's accuracy."""
    design = design_of(labels)
    return not design.statements or "accuracy" in design.statement.answers


def _with_assumptions(estimate: Estimate, labels: Sequence[Label]) -> Estimate:
    """What the labels' protocol assumes, where the estimate rests on nothing else."""
    design = design_of(labels)
    special = estimate.estimator in ("corrected", "anytime") or estimate.interval == "anytime"
    if not design.statements or special or "conditioned_on_questions" in estimate.flags:
        return estimate
    return replace(estimate, assumptions=design.statement.assumptions)
