"""The accuracy of a model from expert labels: one call for every protocol.

Labels carry the design that their protocol states (`Labels`), and the call takes the estimator from it.
A plain list of labels says nothing of its protocol: it is taken for uniformly drawn options, and
refused where its propensities say otherwise.

Uniformly drawn options of one K have an exact interval. Items of different K, and strata whose items weigh
differently, are tested together (`oversight.harness.estimate.intervals.tilting`): pooled naively, yes-answers
over-represent few options and no-answers many, and estimated apart, small groups are biased upwards.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from oversight.harness.arrays import UNREADABLE
from oversight.harness.columns import (
    ABSTAINED,
    NO,
    YES,
    AnyLabels,
    AnyPredictions,
    LabelColumns,
    PredictionColumns,
    align,
)
from oversight.harness.errors import BadInput, EstimateError
from oversight.harness.estimate.anytime_accuracy import estimate_anytime
from oversight.harness.estimate.checks import explain_failures
from oversight.harness.estimate.collected import collected_part
from oversight.harness.estimate.combinations import refuse
from oversight.harness.estimate.data import (
    UNIFORM_ASSUMPTIONS,
    Conditioning,
    Strata,
    estimate_tallies,
    tally_pool,
)
from oversight.harness.estimate.evidence import (
    REFUSALS,
    Estimator,
    bound_missing,
    estimate_by_design,
    estimate_refusals,
    find_hidden,
    find_unequal,
)
from oversight.harness.estimate.routed import GoldCounts
from oversight.harness.expected import check_mapping
from oversight.harness.types import CORRECTED, Counts, Estimate, Note, NoteKind


def accuracy(
    predictions: AnyPredictions,
    labels: AnyLabels,
    *,
    estimator: str = "ml",
    interval: str | None = None,
    level: float = 0.95,
    strata: Strata = None,
    published: bool = False,
    split: Conditioning | Literal["auto"] = "auto",
    gold: GoldCounts | None = None,
    n_options: Mapping[str, int] | None = None,
    checks: bool = True,
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
    checks
        Whether to run the checks of the assumptions (`run_checks`). One that fails and voids the number is
        named in `why`, and the interval does not hold.

    Raises
    ------
    EstimateError
        If the data are contradictory or the estimator is undefined for them; names row and value.
    NotIdentified
        If the protocol says nothing of one model's accuracy, or a plain list of labels was drawn so
        that it does not.
    """
    if n_options is not None:
        check_mapping("n_options", n_options, "item id to number of options")
    predicted, said = align(predictions, labels)
    evaluation = Evaluation(
        predicted,
        said,
        estimator=estimator,
        interval=interval,
        level=level,
        strata=strata,
        published=published,
        split=split,
        gold=gold,
        n_options=n_options,
    )
    return evaluation.estimate(*collected_part(said, predicted.is_there), checks=checks)


class Evaluation:
    """One estimate of one model, which can be made from any labels of its items; parameters of `accuracy`.

    Raises
    ------
    BadInput
        If an option has no effect on labels of this protocol.
    """

    def __init__(
        self,
        predictions: PredictionColumns,
        labels: LabelColumns,
        *,
        estimator: str = "ml",
        interval: str | None = None,
        level: float = 0.95,
        strata: Strata = None,
        published: bool = False,
        split: Conditioning | Literal["auto"] = "auto",
        gold: GoldCounts | None = None,
        n_options: Mapping[str, int] | None = None,
    ) -> None:
        self._predictions, self._level = predictions, level
        self._gold, self._n_options = gold, n_options
        self._strata, self._split = strata, split
        self._shown: dict[str, Any] = {"estimator": estimator, "interval": interval, "published": published}
        self._by_design = _check_options(labels, estimator, interval, strata, gold, published=published)
        is_plain = estimator == "ml" and interval in (None, "exact") and split == "auto"
        self._is_plain = is_plain and strata is None and not published

    @property
    def _is_anytime(self) -> bool:
        return bool(self._shown["interval"] == "anytime")

    def make(self, labels: LabelColumns, *, tilted: bool = True) -> Estimate:
        """Estimate from labels of the same items, corrected for unequal answering rates if `tilted`."""
        predictions, level = self._predictions, self._level
        if self._is_anytime:
            return estimate_anytime(predictions, labels, level=level, n_options=self._n_options)
        if self._by_design:
            return estimate_by_design(predictions, labels, level=level, gold=self._gold)
        if tilted and self._is_plain and needs_tilting(predictions, labels):
            return estimate_tilted(predictions, labels, level=level)
        tallies = tally_pool(predictions, labels, self._strata, self._split)
        return estimate_tallies(tallies, level=level, **self._shown)

    def estimate(self, part: LabelColumns, notes: tuple[Note, ...], *, checks: bool = True) -> Estimate:
        """Estimate from the interim subset of the labels, with all that a reader must know."""
        by_rates = self._gold is None if self._by_design else self._is_plain
        return complete(
            self.make(part),
            self._predictions,
            part,
            notes,
            make=self.make,
            checks=checks,
            tilted=by_rates and not self._is_anytime,
        )

    def worst_case(self, part: LabelColumns, notes: tuple[Note, ...]) -> Estimate | None:
        """Estimate with an interval that holds whatever is missing; None if nothing is."""

        def make(labels: LabelColumns) -> Estimate:
            return self.make(labels, tilted=False)

        bounded = bound_missing(make(part), make, self._predictions, part)
        return None if bounded is None else complete(bounded, self._predictions, part, notes)


def needs_tilting(predictions: PredictionColumns, labels: LabelColumns) -> bool:
    """Whether experts answered unequally often about the options, and `estimate_tilted` corrects for it."""
    unequal = find_unequal(labels, predictions.is_there)
    return unequal is not None and not (unequal.rates is None and unequal.refusal_rates is None)


def estimate_tilted(predictions: PredictionColumns, labels: LabelColumns, *, level: float) -> Estimate:
    """The estimate of uniformly drawn options with the answering rate of every option taken into account.

    Raises
    ------
    NotIdentified
        If no question about several of the options was answered, or about one where all answers are "no".
    """
    unequal = find_unequal(labels, predictions.is_there)
    if unequal is not None and unequal.refusal_rates is not None:
        rows = np.flatnonzero((labels.kind == NO) & predictions.ran[labels.item])
        options = np.maximum(predictions.option[labels.item[rows]], UNREADABLE).astype(np.int64)
        return estimate_refusals(options, labels.option[rows], unequal.refusal_rates, level)
    estimate = estimate_by_design(predictions, labels, level=level, gold=None)
    return replace(estimate, estimator="ml", assumptions=UNIFORM_ASSUMPTIONS)


def count_labels(predictions: PredictionColumns, labels: LabelColumns) -> Counts:
    """Count answers by what experts said on items with a prediction, and items by what they lack."""
    said = labels if labels.passed is None else labels.take(np.flatnonzero(~labels.passed))
    kinds = said.kind[predictions.ran[said.item]]
    labelled, there = said.labelled, predictions.is_there
    without = there & ~labelled
    unasked = np.count_nonzero(without & ~labels.asked) if labels.asked.any() else 0
    return Counts(
        ordinary=int(np.count_nonzero(kinds == YES)),
        complementary=int(np.count_nonzero(kinds == NO)),
        abstained=int(np.count_nonzero(kinds == ABSTAINED)),
        unreadable=int(np.count_nonzero(predictions.is_unreadable & labelled)),
        failed=int(np.count_nonzero(predictions.has_failed & labelled)),
        unlabelled=int(np.count_nonzero(without) - unasked),
        unasked=int(unasked),
        unpredicted=int(np.count_nonzero(labels.asked & ~there)),
    )


def _check_options(
    labels: LabelColumns,
    estimator: str,
    interval: str | None,
    strata: Strata,
    gold: GoldCounts | None,
    *,
    published: bool,
) -> bool:
    """Whether the labels or the other options allow one estimate only; options without effect are refused."""
    anytime = interval == "anytime"
    features = {"strata": strata is not None, "gold": gold is not None}
    refuse("estimate", labels.conditions, **features)
    one = anytime or gold is not None or not labels.is_even or labels.cluster is not None
    honoured = (None, "anytime", "exact") if labels.is_resolved else (None, "anytime")
    _refuse_ignored(
        labels,
        estimator=one and estimator != "ml",
        interval=one and interval not in honoured,
        strata=anytime and strata is not None,
        published=one and published,
        gold=anytime and gold is not None,
    )
    return one


def complete(
    estimate: Estimate,
    predictions: PredictionColumns,
    labels: LabelColumns,
    notes: tuple[Note, ...],
    *,
    make: Estimator | None = None,
    checks: bool = True,
    tilted: bool = False,
) -> Estimate:
    """Add the protocol's assumptions, all counts, and why the interval may not hold.

    That is what the estimator itself says, what unanswered questions hide, a check that failed, answering
    rates that differ, or a run that is not finished. `tilted` says that the estimate is corrected for such
    rates wherever that is possible.
    """
    counts = count_labels(predictions, labels)
    corrected = estimate.estimator in CORRECTED
    failures = explain_failures(predictions, labels, corrected=corrected, bounded=True) if checks else ""
    estimate, hidden = _allow_for_missing(estimate, predictions, labels, make)
    answered = np.count_nonzero(predictions.ran)
    unfinished = (
        f"the model answered {answered} of {len(predictions) + counts.unpredicted} items; those it "
        "answered first may be no random part of them"
        if counts.unpredicted
        else ""
    )
    unequal, bent = find_unequal(labels, predictions.is_there), ""
    is_weighted = estimate.method == REFUSALS
    if unequal is not None and tilted and (unequal.rates is not None or is_weighted):
        notes += (unequal.note,)
    elif unequal is not None and estimate.estimator != "worst_case":
        bent = unequal.why
    return replace(
        _with_assumptions(estimate, labels),
        n=counts,
        notes=notes + estimate.notes,
        why="; ".join(filter(None, [estimate.why, hidden, failures, unfinished, bent])),
    )


def _allow_for_missing(
    estimate: Estimate, predictions: PredictionColumns, labels: LabelColumns, make: Estimator | None
) -> tuple[Estimate, str]:
    """Widen the interval for what unanswered questions hide if that costs little; or say what they hide."""
    if estimate.estimator == "worst_case" or not (labels.kind == ABSTAINED).any():
        return estimate, ""
    is_ran = predictions.ran[labels.item]
    missing = int(np.count_nonzero(is_ran & (labels.kind == ABSTAINED)))
    why = f"{missing} of {np.count_nonzero(is_ran)} questions unanswered, which could move it too far"
    if make is None:
        return estimate, why if missing else ""
    try:
        hidden = find_hidden(estimate, make, predictions, labels)
    except EstimateError:
        return estimate, why
    allowed = estimate if hidden is None else hidden.allow_for(estimate)
    return allowed or estimate, "" if allowed is not None else why


def _refuse_ignored(labels: LabelColumns, **options: bool) -> None:
    """Refuse options that the labels' protocol, or another option, leaves without effect.

    Raises
    ------
    BadInput
        Naming them.
    """
    ignored = [name for name, given in options.items() if given]
    if ignored:
        how = f"{labels.statement.estimator} labels" if labels.statements else "these labels"
        how += " in clusters" if labels.cluster is not None else ""
        raise BadInput(
            f"{', '.join(ignored)}: has no effect on {how} with the other options given, which allow one "
            "estimate; leave it out"
        )


def _with_assumptions(estimate: Estimate, labels: LabelColumns) -> Estimate:
    """What the labels' protocol assumes, where the estimate rests on nothing else."""
    special = estimate.estimator in ("corrected", "anytime") or estimate.method == "anytime"
    is_conditioned = NoteKind.CONDITIONED_ON_QUESTIONS in (note.kind for note in estimate.notes)
    if not labels.statements or special or is_conditioned:
        return estimate
    return replace(estimate, assumptions=labels.statement.assumptions)
