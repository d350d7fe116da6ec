"""Estimate the accuracy of a model from expert labels, for every protocol and with missing answers.

`Labels` contain the design of their protocol, which determines the estimator. A plain list of labels has no
design: its options count as uniformly drawn, and it is refused if its propensities contradict that.

For uniformly drawn options and one K the interval is exact. If K differs between items, or items of different
strata have different weights, all groups are tested together (`oversight.harness.estimate.tilting`). Simple
pooling would be biased, because items with few options get more yes answers, and items with many options more
no answers. Separate estimates of small groups would be biased upwards.

`accuracy` makes one estimate; `accuracies` makes all estimates that a protocol allows, by name.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oversight.harness.argument_checks import check_mapping
from oversight.harness.arrays import UNREADABLE, BoolArray, FloatArray, IntArray
from oversight.harness.columns import (
    ABSTAINED,
    NO,
    YES,
    AnyLabels,
    AnyPredictions,
    ItemPool,
    LabelColumns,
    PredictionColumns,
    QuestionColumns,
    align,
    mark,
)
from oversight.harness.errors import BadInput, EstimateError, NotIdentified
from oversight.harness.estimate.anytime import (
    DrawnAnswers,
    draw_betting_sequence,
    likelihood_sequence,
    score_betting_sequence,
)
from oversight.harness.estimate.checks import explain_failed_calls, explain_failures
from oversight.harness.estimate.combinations import find_reason, refuse
from oversight.harness.estimate.core import check_known, check_level, effective_clusters, share_interval
from oversight.harness.estimate.decoding import UNIFORM_ASSUMPTIONS
from oversight.harness.estimate.estimators import POINTS
from oversight.harness.estimate.evidence import (
    REFUSALS,
    Estimator,
    Evidence,
    UnequalAnswers,
    bound_missing,
    collected_part,
    estimate_by_design,
    estimate_refusals,
    find_hidden,
    find_unequal,
    number_clusters,
)
from oversight.harness.estimate.expert_errors import GoldCounts
from oversight.harness.estimate.intervals import INTERVALS
from oversight.harness.estimate.routed_sample import RoutedSample
from oversight.harness.estimate.tallies import (
    Estimates,
    Strata,
    Tally,
    estimate_tallies,
    find_strata,
    tally,
    tally_pool,
)
from oversight.harness.seeding import derive_seed
from oversight.harness.types import CORRECTED, Counts, Estimate, Interval, Note, NoteKind

UNEQUAL_ASSUMPTIONS = (
    "items and options were drawn with the recorded chances, before any answer to them",
    "experts answer without error",
    "how fast an expert answers does not depend on the truth",
)
_NEAR = 1e-9


def watch_unequal(predictions: PredictionColumns, labels: LabelColumns, *, level: float = 0.95) -> Estimate:
    """Estimate the accuracy on a pool by a confidence sequence for unequal draws (`draw_betting_sequence`).

    Parameters
    ----------
    predictions
        Predictions for at least the drawn items; unreadable ones count as wrong, failed ones are left out.
    labels
        Labels that `check_watchable` accepts, limited to a random part of each draw by `collected_part`.

    Raises
    ------
    EstimateError
        If there is no answered item.
    NotIdentified
        If several models' predictions were asked about, or items were drawn with equal probabilities.
    """
    now = Evidence.gather([predictions], labels, tilted=False).accuracy(level)
    interval = draw_betting_sequence(see_draws(predictions, labels), level=level)
    value = min(interval.high, max(interval.low, now.value))
    return Estimate.from_interval(
        value=value,
        interval=replace(interval, method="anytime"),
        estimator="routed",
        n=now.n,
        assumptions=UNEQUAL_ASSUMPTIONS,
    )


def see_draws(predictions: PredictionColumns, labels: LabelColumns) -> list[DrawnAnswers]:
    """Collect the answered items of every draw. Errors are those of `watch_unequal`."""
    evidence = Evidence.gather([predictions], labels, tilted=False)
    return _part_draws(*_see_items(evidence.option(), evidence.sample), evidence.items, labels)


def see_known_items(labels: LabelColumns, items: IntArray, right: IntArray) -> list[DrawnAnswers]:
    """Collect `items` by draw as if their predictions had been asked about.

    `right` is 1 for an item with a right prediction.
    """
    every = np.ones(len(items), np.bool_)
    return _part_draws(every.astype(np.int64), every, every, right == 1, items, labels)


def _see_items(option: IntArray, data: RoutedSample) -> tuple[IntArray, BoolArray, BoolArray, BoolArray]:
    """Return four arrays of shape (N,): K, whether the prediction is readable, `own` and `yes`.

    K is 1 if the question was certain to be about the prediction. `own` says whether the
    prediction was asked about, and `yes` whether the answer is yes.

    Raises
    ------
    NotIdentified
        If an item has several questions, or an option was drawn neither uniformly nor with certainty.
    """
    n, readable = len(option), option >= 0
    if np.bincount(data.item).max(initial=0) > 1:
        raise NotIdentified(
            "items were drawn with unequal probabilities, and some of them have several questions; an "
            "anytime estimate needs one question per item"
        )
    asked, yes = data.by_item
    chance = np.where(readable, data.propensities[np.arange(n), np.maximum(option, 0)], 0.0)
    certain = chance > 1 - _NEAR
    if (readable & ~certain & (abs(chance * data.n_options - 1) > _NEAR)).any():
        raise NotIdentified(find_reason("gate", {"weighted", "weights"}))
    return np.where(certain, 1, data.n_options), readable, readable & (asked == option), yes > 0


def _part_draws(
    K: IntArray, readable: BoolArray, own: BoolArray, yes: BoolArray, items: IntArray, labels: LabelColumns
) -> list[DrawnAnswers]:
    """Collect the answers about the items at positions `items`, separately for each draw.

    The other arrays are results of `_see_items`.
    """
    if labels.pool is None:
        raise NotIdentified(
            "the items were drawn with equal probabilities, but this estimate is for unequal probabilities"
        )
    batch, scale, remaining = _scale(labels.pool)
    right, wrong = own & yes, ~readable | (own != yes)
    asked = labels.drawn if labels.drawn is not None else labels.questions
    known = {1} if (K[readable] == 1).all() else set(np.unique(asked.n_options).tolist())
    made = []
    for number, rest in remaining.items():
        now, before = batch[items] == number, batch[items] < number
        made.append(
            DrawnAnswers(
                n_options=K[now],
                readable=readable[now],
                own=own[now],
                yes=yes[now],
                scale=scale[items[now]],
                largest=dict.fromkeys(known, float(scale[batch == number].max())),
                remaining=rest,
                known_right=int(np.count_nonzero(right & before)),
                known_wrong=int(np.count_nonzero(wrong & before)),
            )
        )
    return made


def _scale(pool: ItemPool) -> tuple[IntArray, FloatArray, dict[int, int]]:
    """Return the draw number and the weight v of every item, and a dictionary from draw number to N_b.

    `DrawnAnswers` defines v and N_b.

    A pool without draw numbers counts as a single draw.
    """
    drawn = pool.drawn
    batch = np.where(drawn, 1, 0) if pool.batch is None else pool.batch
    weight = np.zeros(len(drawn)) if pool.weight is None else pool.weight
    scale, remaining, left = np.where(drawn, weight, 0.0), dict[int, int](), pool.size
    for number in np.unique(batch[drawn]).tolist():
        now = batch == number
        size, remaining[number] = int(np.count_nonzero(now)), left
        if pool.chance is None:
            scale[now] *= size / left
        else:
            equal = np.isnan(pool.chance[now])
            scale[now] = np.where(equal, 1.0, size / (left * np.where(equal, 1.0, pool.chance[now])))
        left -= size
    return batch, scale, remaining


ANYTIME_ASSUMPTIONS = (
    "options were asked about without a look at the truth",
    "experts answer without error",
    "how fast an expert answers does not depend on the truth",
    "the predictions of all items were given from the first analysis on (the numbers of "
    "options are taken as known)",
)


def estimate_anytime(
    predictions: PredictionColumns,
    labels: LabelColumns,
    *,
    level: float = 0.95,
    n_options: Mapping[str, int] | None = None,
) -> Estimate:
    """Estimate an accuracy by a confidence sequence, which is valid after every answer.

    The sequence is that of `anytime.likelihood_sequence`. If items are clustered, it is that of
    `score_betting_sequence`; if items were drawn with unequal probabilities, that of `watch_unequal`.

    A = Σ_K W_K ρ_K A_K, where W_K is the share of items with K options, ρ_K the share of readable predictions
    on these items, and A_K the accuracy of these readable predictions. W_K and ρ_K are computed from all
    given predictions, so only A_K needs a sequence. Every analysis must therefore have the predictions of all
    items. If predictions are added between analyses, and some are unreadable or K varies, the sequence covers
    less often than its level. If K takes H values, each sequence has the level 1 − (1 − level)/H, so by the
    union bound all sequences hold jointly. If predictions are unreadable, half of the error probability is
    used for the Clopper–Pearson interval of the share of readable predictions.

    Parameters
    ----------
    predictions
        Predictions for all items of the study, labelled or not; unreadable ones count as wrong, failed ones
        are left out.
    labels
        Labels with the same share of every expert's questions; further answers of fast experts must be left
        out (see `oversight.protocols.collect.label_studio.watch`).
    n_options
        Item id → K for every predicted item; by default all items have the K of the labels.

    Raises
    ------
    EstimateError
        If there is no label on a readable prediction of some K, K varies and `n_options` is not given, or
        labels contradict each other.
    NotIdentified
        If questions followed predictions in a way that makes the likelihood wrong.
    """
    check_watchable(predictions, labels)
    if labels.is_unequal:
        return watch_unequal(predictions, labels, level=level)
    check_level(level)
    tallies, clusters = tally(predictions, labels), labels.cluster
    groups = {t.K: t for t in tallies.strata}
    shares = _readable_shares(predictions, groups, n_options)
    missing = [K for K in shares if not (K in groups and groups[K].n_readable)]
    if missing or not shares:
        raise EstimateError(
            "an anytime estimate needs, for every number of options K, an answer about a readable "
            "prediction; "
            f"there is none for K = {', '.join(map(str, missing)) or '?'}"
        )
    readable = min(1.0, sum(shares.values()))
    is_share_known = readable > 1 - 1e-9
    each = 1 - (1 - level) / len(groups) / (1 if is_share_known else 2)
    parts = [(share, K, _sequence(groups[K], each)) for K, share in shares.items() if share]
    value = sum(share * part.value for share, _, part in parts)
    intervals: list[tuple[float, Estimate | Interval]] = [(share, part) for share, _, part in parts]
    if clusters is not None:
        by_cluster = _tally_clusters(predictions, labels)
        largest = int(np.bincount(clusters.code[predictions.is_there]).max())
        intervals = [(share, _clustered(by_cluster[K], largest, each)) for share, K, _ in parts]
    low, high = (sum(share * getattr(part, end) for share, part in intervals) for end in ("low", "high"))
    if not is_share_known:
        size = float(np.count_nonzero(predictions.ran))
        if clusters is not None:
            size = effective_clusters(clusters.code[predictions.ran])
        least, most = share_interval(readable * size, size, (1 + level) / 2)
        low, high = low * least / readable, min(1.0, high * most / readable)
    return Estimate.from_interval(
        value=value,
        interval=Interval(low=low, high=high, level=level, method="anytime"),
        estimator="ml",
        n=tallies.counts,
        assumptions=(
            *ANYTIME_ASSUMPTIONS,
            *(["clusters are independent draws"] if clusters is not None else []),
        ),
    )


def check_watchable(predictions: PredictionColumns, labels: LabelColumns) -> None:
    """Refuse labels for which the likelihood of a confidence sequence would be wrong.

    Options must have been drawn uniformly, or every question must be about the prediction itself.

    Raises
    ------
    NotIdentified
        If neither is the case; the message names designs that are possible.

    Examples
    --------
    >>> from oversight.harness.columns import align
    >>> from oversight.harness.example_data import example_study
    >>> model, _, labels = example_study()
    >>> predicted, said = align(model, labels)
    >>> check_watchable(predicted, said) is None
    True
    """
    if labels.is_unequal:
        refuse("gate", labels.conditions)
        if labels.cluster is not None:
            raise NotIdentified(
                "items were drawn with unequal probabilities and are in clusters; no anytime interval allows "
                "for both"
            )
    if labels.is_uniform:
        return
    if not (
        all(rule.estimator == "weighted" and "accuracy" in rule.answers for rule in labels.statements)
        and (predictions.option[labels.item] == labels.option).all()
    ):
        raise NotIdentified(
            "the questions depended on predictions; an anytime interval needs the partitioned protocol, or "
            "the targeted protocol with this model alone; for an estimate at the end of the collection: "
            "oversight estimate"
        )


def _readable_shares(
    predictions: PredictionColumns, groups: Mapping[int, Tally], n_options: Mapping[str, int] | None
) -> dict[int, float]:
    """Return W_K ρ_K for every K: the share of predictions that are readable and on items with K options."""
    if n_options is None and len(groups) > 1:
        raise EstimateError(
            f"give n_options, because the labels have different numbers of options: K = {sorted(groups)}"
        )
    readable, ran = np.flatnonzero(predictions.option >= 0), np.count_nonzero(predictions.ran)
    if n_options is None:
        return {next(iter(groups), 0): readable.size / ran} if readable.size else {}
    ids = predictions.index.ids
    number = np.bincount([n_options[ids[i]] for i in readable.tolist()])
    return {int(K): int(number[K]) / ran for K in np.flatnonzero(number)}


def _sequence(t: Tally, level: float) -> Estimate:
    return likelihood_sequence(
        t.hits.S, _errors(t), [m.S for m in t.misses], [m.K for m in t.misses], level=level
    )


def _errors(t: Tally) -> int:
    return t.hits.n - t.hits.S + sum(m.n - m.S for m in t.misses)


def _tally_clusters(predictions: PredictionColumns, labels: LabelColumns) -> Mapping[int, Sequence[Tally]]:
    """Return the counts of answers per cluster, grouped by K."""
    number_clusters(np.flatnonzero(predictions.is_there), labels.index, labels.cluster)
    found: dict[int, list[Tally]] = {}
    for t in tally(predictions, labels, strata=labels.cluster).strata:
        found.setdefault(t.K, []).append(t)
    return found


def _clustered(tallies: Sequence[Tally], largest: int, level: float) -> Interval:
    K = sorted({miss.K for t in tallies for miss in t.misses})
    refused = [{miss.K: miss.S for miss in t.misses} for t in tallies]
    return score_betting_sequence(
        np.array([t.hits.S for t in tallies]),
        np.array([_errors(t) for t in tallies]),
        np.array([[of.get(k, 0) for k in K] for of in refused], dtype=np.int64).reshape(len(tallies), len(K)),
        np.array(K),
        largest=largest,
        level=level,
    )


def accuracy(
    predictions: AnyPredictions,
    labels: AnyLabels,
    *,
    estimator: str = "ml",
    interval: str | None = None,
    level: float = 0.95,
    strata: Strata = None,
    published: bool = False,
    gold: GoldCounts | None = None,
    n_options: Mapping[str, int] | None = None,
    checks: bool = True,
) -> Estimate:
    """Estimate the probability that a prediction is right.

    Parameters
    ----------
    predictions
        One per item. Unreadable predictions count as wrong; failed ones are left out and counted.
    labels
        Experts' labels; any number per item, and any number of options K.
    estimator
        ``ml`` (default), ``ord``, ``comp``, ``ivw`` or ``ivw_half``, see `make_point`. If options were not
        drawn uniformly, the protocol determines the estimator, and only the default is accepted.
    interval, level
        Name of the interval, one of `INTERVALS` or ``anytime`` (`estimate_anytime`, which needs the
        predictions of all items from the first analysis on); by default ``exact``, or ``wald`` with
        `published`. Confidence level of the interval, in (0, 1).
    strata
        Stratum of every item, see `Strata`.
    published
        Whether to use the paper's conventions: denominators n − 1 in ``ord`` and ``comp``, the observed q̂ in
        the standard error of ``ml``, and the weights of Eq. 7 even if a sample does not vary.
    gold
        Experts' answers about gold items (known truth). If given, the estimate is corrected for experts'
        errors.
    n_options
        Item id → K for every predicted item; an ``anytime`` interval needs it if K varies.
    checks
        Whether to check the assumptions (`run_checks`). If a check fails and this makes the estimate invalid,
        the estimate's `why` names the check.

    Raises
    ------
    EstimateError
        If the data are contradictory or the estimator is undefined for them; the message names the data.
    NotIdentified
        If the protocol does not identify one model's accuracy, or a plain list of labels has propensities
        that a uniform draw cannot have.

    Examples
    --------
    >>> import oversight as ov
    >>> from oversight.harness.example_data import example_study
    >>> model, _, labels = example_study()
    >>> print(ov.accuracy(model, labels))
    0.800 [0.639, 0.900] ML, exact 95% · 20 ordinary + 60 complementary
    """
    if n_options is not None:
        check_mapping("n_options", n_options, "item id to number of options")
    predicted, said = align(predictions, labels)
    evaluation = Evaluation(
        predictions=predicted,
        labels=said,
        estimator=estimator,
        interval=interval,
        level=level,
        strata=strata,
        published=published,
        gold=gold,
        n_options=n_options,
    )
    part, notes = collected_part(said, predicted.is_there)
    return evaluation.complete(evaluation.make_estimate(part), part, notes, checks=checks)


@dataclass(frozen=True, kw_only=True, eq=False)
class Evaluation:
    """Arguments of `accuracy`, kept to make the same kind of estimate from other labels of the same items.

    Raises
    ------
    BadInput
        If an argument has no effect on labels of this protocol.
    """

    predictions: PredictionColumns
    labels: LabelColumns
    estimator: str = "ml"
    interval: str | None = None
    level: float = 0.95
    strata: Strata = None
    published: bool = False
    gold: GoldCounts | None = None
    n_options: Mapping[str, int] | None = None

    def __post_init__(self) -> None:
        labels, one, anytime = self.labels, self.is_fixed, self.is_anytime
        has_strata, has_gold = self.strata is not None, self.gold is not None
        refuse("estimate", labels.conditions, strata=has_strata, gold=has_gold)
        honoured = (None, "anytime", "exact") if labels.is_resolved else (None, "anytime")
        options = {
            "estimator": one and self.estimator != "ml",
            "interval": one and self.interval not in honoured,
            "strata": anytime and has_strata,
            "published": one and self.published,
            "gold": anytime and has_gold,
        }
        if ignored := [name for name, given in options.items() if given]:
            how = f"{labels.statement.estimator} labels" if labels.statements else "these labels"
            how += " in clusters" if labels.cluster is not None else ""
            raise BadInput(
                f"{', '.join(ignored)}: has no effect on {how}, because the labels or other arguments "
                "already determine the kind of estimate; leave it out"
            )

    @property
    def is_anytime(self) -> bool:
        """Whether the interval is a confidence sequence, valid after every answer."""
        return self.interval == "anytime"

    @property
    def is_fixed(self) -> bool:
        """Whether the labels, or arguments other than `estimator`, determine the estimator."""
        by_design = not self.labels.is_even or self.labels.cluster is not None
        return self.is_anytime or self.gold is not None or by_design

    @property
    def is_plain(self) -> bool:
        """Whether the arguments ask for the default estimate for uniformly drawn options."""
        usual = self.estimator == "ml" and self.interval in (None, "exact")
        return usual and self.strata is None and not self.published

    def make_estimate(self, labels: LabelColumns, *, tilted: bool = True) -> Estimate:
        """Make the estimate from labels of the same items; if `tilted`, allow for unequal answering rates."""
        predictions, level = self.predictions, self.level
        if self.is_anytime:
            return estimate_anytime(predictions, labels, level=level, n_options=self.n_options)
        if self.is_fixed:
            return estimate_by_design(predictions, labels, level=level, gold=self.gold)
        unequal = find_unequal(labels, predictions.is_there) if tilted and self.is_plain else None
        if unequal is not None and not (unequal.rates is None and unequal.refusal_rates is None):
            return estimate_tilted(predictions, labels, unequal, level)
        return estimate_tallies(
            tally_pool(predictions, labels, self.strata),
            estimator=self.estimator,
            interval=self.interval,
            level=level,
            published=self.published,
        )

    def complete(
        self, made: Estimate, part: LabelColumns, notes: tuple[Note, ...], *, checks: bool = True
    ) -> Estimate:
        """Add counts, notes, assumptions and doubts to an estimate from the interim subset `part`."""
        by_rates = self.gold is None if self.is_fixed else self.is_plain
        tilted = by_rates and not self.is_anytime
        return complete(
            made, self.predictions, part, notes, make=self.make_estimate, checks=checks, tilted=tilted
        )

    def worst_case(self, part: LabelColumns, notes: tuple[Note, ...]) -> Estimate | None:
        """Make an estimate whose interval allows for any missing answers; None if no answer is missing."""

        def make(labels: LabelColumns) -> Estimate:
            return self.make_estimate(labels, tilted=False)

        bounded = bound_missing(make(part), make, self.predictions, part)
        return None if bounded is None else complete(bounded, self.predictions, part, notes)


def estimate_tilted(
    predictions: PredictionColumns, labels: LabelColumns, unequal: UnequalAnswers, level: float
) -> Estimate:
    """Estimate an accuracy from uniformly drawn options, corrected for the answering rate of every option.

    Raises
    ------
    NotIdentified
        If two or more options have no answer, or one option has none and all answers are "no".
    """
    if unequal.refusal_rates is not None:
        rows = np.flatnonzero((labels.kind == NO) & predictions.ran[labels.item])
        options = np.maximum(predictions.option[labels.item[rows]], UNREADABLE).astype(np.int64)
        return estimate_refusals(options, labels.option[rows], unequal.refusal_rates, level)
    estimate = estimate_by_design(predictions, labels, level=level, gold=None)
    return replace(estimate, estimator="ml", assumptions=UNIFORM_ASSUMPTIONS)


def count_labels(predictions: PredictionColumns, labels: LabelColumns) -> Counts:
    """Count answers by verdict, unusable predictions by cause, and items without an answer or prediction."""
    said = labels.leave_out_passed()
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
    """Add assumptions, counts, notes, and the reasons why the interval may not hold (`why`) to an estimate.

    Reasons are: doubts of the estimator itself, unanswered questions, failed checks, answering rates that
    differ between options, an unfinished run of the model, and failed calls.

    Parameters
    ----------
    make
        Computes the estimate from labels, to find the possible effect of unanswered questions.
    checks
        Whether to run the checks of the assumptions.
    tilted
        Whether the estimate's method corrects for unequal answering rates of the options. Only some designs
        allow this correction.
    """
    counts = count_labels(predictions, labels)
    corrected = estimate.estimator in CORRECTED
    failures = explain_failures(predictions, labels, corrected=corrected) if checks else ""
    estimate, hidden = allow_for_missing(estimate, predictions, labels, make)
    unfinished = explain_unfinished(predictions, labels)
    # a cost has no fixed range that the items left out could have
    ends = None if estimate.estimator == "cost" else (estimate.value, estimate.low, estimate.high)
    failed = "" if estimate.estimator == "worst_case" else explain_failed_calls(predictions, found=ends)
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
        why="; ".join(filter(None, [estimate.why, hidden, failures, unfinished, failed, bent])),
    )


def explain_unfinished(predictions: PredictionColumns, labels: LabelColumns) -> str:
    """Return why an estimate from an unfinished run may be biased; empty if the run is finished.

    Examples
    --------
    >>> from oversight.harness.columns import align
    >>> from oversight.harness.example_data import example_study
    >>> model, _, labels = example_study()
    >>> explain_unfinished(*align(model, labels))
    ''
    """
    if unpredicted := np.count_nonzero(labels.asked & ~predictions.is_there):
        return (
            f"the model answered {np.count_nonzero(predictions.ran)} of {len(predictions) + unpredicted} "
            "items; the items answered first may not be a random sample"
        )
    fewer = np.count_nonzero(predictions.is_there & ~predictions.is_complete)
    return f"{fewer} items have fewer samples than others, which may not be a random sample" if fewer else ""


def allow_for_missing(
    estimate: Estimate,
    predictions: PredictionColumns,
    labels: LabelColumns,
    make: Estimator | None,
    *,
    name: str = "questions",
) -> tuple[Estimate, str]:
    """Widen the interval to allow for unanswered questions, if this makes it only a little wider.

    Otherwise, the interval is unchanged, and the second value is the reason why it may not hold. The second
    value is empty if there is no such reason. `name` is what this reason calls the questions.
    """
    if estimate.estimator == "worst_case" or not (labels.kind == ABSTAINED).any():
        return estimate, ""
    is_ran = predictions.ran[labels.item]
    missing = int(np.count_nonzero(is_ran & (labels.kind == ABSTAINED)))
    asked = np.count_nonzero(is_ran)
    why = f"{missing} of {asked} {name} have no yes or no, which could change the estimate too much"
    if make is None:
        return estimate, why if missing else ""
    try:
        hidden = find_hidden(estimate, make, predictions, labels)
    except EstimateError:
        return estimate, why
    allowed = estimate if hidden is None else hidden.allow_for(estimate)
    return allowed or estimate, "" if allowed is not None else why


def _with_assumptions(estimate: Estimate, labels: LabelColumns) -> Estimate:
    """Set the assumptions of the labels' protocol, unless the estimate's method has its own."""
    special = estimate.estimator in ("corrected", "anytime") or estimate.method == "anytime"
    is_conditioned = NoteKind.CONDITIONED_ON_QUESTIONS in (note.kind for note in estimate.notes)
    if not labels.statements or special or is_conditioned:
        return estimate
    return replace(estimate, assumptions=labels.statement.assumptions)


def growing_accuracy(
    predictions: PredictionColumns,
    labels: LabelColumns,
    points: int,
    *,
    interval: str | None = None,
    level: float = 0.95,
    n_options: Mapping[str, int] | None = None,
) -> tuple[tuple[int, Estimate], ...]:
    """Estimate a learning curve: pairs of a number of answers n and the estimate from the first n answers.

    There are up to `points` pairs, at equal steps in the order of the draw; undefined early estimates are
    left out. The other parameters are those of `accuracy`.

    Examples
    --------
    >>> from oversight.harness.columns import align
    >>> from oversight.harness.example_data import example_study
    >>> model, _, labels = example_study()
    >>> predicted, said = align(model, labels)
    >>> [(n, round(found.value, 2)) for n, found in growing_accuracy(predicted, said, 2)]
    [(40, 0.7), (80, 0.8)]
    """
    notes: tuple[Note, ...] = ()
    if labels.drawn is not None and not labels.statement.asks_on:
        try:
            labels, notes = collected_part(labels, predictions.is_there)
        except NotIdentified:
            return ()
        labels = _leave_open(labels)
    found, turn = [], _find_item_turns(labels)
    for part in growing_parts(labels, points):
        share = np.count_nonzero(part.asked) / max(1, np.count_nonzero(labels.asked))
        with contextlib.suppress(EstimateError):
            estimate = accuracy(
                predictions.on(turn <= share),
                part,
                interval=interval,
                level=level,
                n_options=n_options,
                checks=False,
            )
            found.append((part.number_answered, replace(estimate, notes=notes + estimate.notes)))
    return tuple(found)


@lru_cache(maxsize=1)
def _leave_open(labels: LabelColumns) -> LabelColumns:
    """Return the labels as if only the answered and passed-over questions had been drawn."""
    return replace(labels, drawn=labels.questions, asked=mark(labels.item, labels.index.size))


@lru_cache(maxsize=1)
def _find_item_turns(labels: LabelColumns) -> FloatArray:
    """Return the share of the questions (turn) at which each item joins a learning curve, shape (N,).

    Items without a question, for example unreadable ones, are known from the start. They get random turns, so
    that each part of the curve has its share of them. All other items have turn 0.
    """
    turn = np.zeros(labels.index.size)
    if labels.pool is not None or labels.is_resolved:
        there = ~labels.asked if labels.pool is None else labels.pool.drawn & ~labels.asked
        ids = labels.index.ids
        turn[there] = [derive_seed(0, "curve", ids[item]) / 2**64 for item in np.flatnonzero(there).tolist()]
    return turn


def growing_parts(labels: LabelColumns, points: int) -> Iterator[LabelColumns]:
    """Yield the first 1/points, 2/points, … of the labels in the order of the draw.

    Each part has the design of the questions that were drawn up to its last label. For sequential protocols
    all questions of an item are in the same part.
    """
    whole = bool(labels.statements) and labels.statement.asks_on

    def order_of(questions: QuestionColumns) -> NDArray[np.uint64]:
        return questions.item_order if whole else questions.order

    order = order_of(labels.questions)
    ranked = np.argsort(order, kind="stable")
    for j in range(1, points + 1):
        n = round(len(labels) * j / points)
        if n == 0:
            continue
        if n == len(labels):
            yield labels.take(ranked)
            continue
        last = order[ranked[n - 1]]
        part = labels.take(ranked[: np.searchsorted(order[ranked], last, side="right")])
        drawn = labels.drawn
        if drawn is not None:
            drawn = drawn.take(np.flatnonzero(order_of(drawn) <= last))
        asked = labels.asked if drawn is None else mark(drawn.item, labels.index.size)
        pool = labels.pool and replace(
            labels.pool, stratum=np.where(labels.asked & ~asked, -1, labels.pool.stratum)
        )
        yield replace(part, drawn=drawn, asked=asked, pool=pool)


def accuracies(
    predictions: AnyPredictions,
    labels: AnyLabels,
    *,
    interval: str | None = None,
    level: float = 0.95,
    strata: Strata = None,
    published: bool = False,
    gold: GoldCounts | None = None,
    anytime: float | None = None,
) -> Estimates:
    """Make all estimates that the labels' protocol allows for one model.

    Parameters
    ----------
    predictions, labels, interval, level, strata, published, gold
        As in `accuracy`.
    anytime
        Level of an additional estimate by a confidence sequence, in (0, 1); None for none.

    Returns
    -------
    Estimates
        Name → estimate. For uniformly drawn options the names are ``ord``, ``comp``, ``ivw_half``, ``ivw``
        and ``ml``, otherwise ``routed`` or ``resolved``. `anytime` adds ``anytime``, `gold` adds
        ``corrected``, and failed calls or missing answers add ``worst_case``, which covers all possible
        missing values. `undefined` maps the names of undefined and withheld estimates to the reasons.

    Raises
    ------
    EstimateError
        If the data are contradictory, or options were drawn uniformly and no estimator is defined.
    NotIdentified
        As in `accuracy`, for a plain list of labels.

    Examples
    --------
    >>> import oversight as ov
    >>> from oversight.harness.example_data import example_study
    >>> model, _, labels = example_study()
    >>> for name, found in ov.accuracies(model, labels).items():
    ...     print(name, round(found.value, 2))
    ...
    ord 0.8
    comp 0.8
    ivw_half 0.8
    ivw 0.8
    ml 0.8
    """
    predictions, labels = align(predictions, labels)
    main = main_estimator(labels)
    try:
        part, notes = collected_part(labels, predictions.is_there)
    except NotIdentified as error:
        return Estimates({}, {main: str(error)})
    shown: dict[str, Any] = {"interval": interval, "level": level, "published": published, "strata": strata}
    wanted: dict[str, dict[str, Any]] = {main: shown}
    if main == "ml" and labels.cluster is None:
        shown |= {"strata": find_strata(predictions, part, strata)}
        wanted = {name: {"estimator": name, **shown} for name in POINTS}
        # refuse invalid arguments and contradictory labels before any estimator runs
        check_level(level)
        if interval is not None:
            check_known("interval", interval, INTERVALS)
        tally_pool(predictions, part, shown["strata"])
    if anytime is not None:
        wanted["anytime"] = {"level": anytime, "interval": "anytime"}
    if gold is not None:
        wanted["corrected"] = {"level": level, "gold": gold}
    found, undefined = dict[str, Estimate](), dict[str, str]()
    for name, options in wanted.items():
        try:
            one = Evaluation(predictions=predictions, labels=labels, **options)
            found[name] = one.complete(one.make_estimate(part), part, notes)
        except EstimateError as error:
            undefined[name] = str(error)
    if POINTS.keys() <= undefined.keys():
        raise EstimateError(f"no estimator is defined: {undefined['ml']}")
    if main in found:
        bounded = Evaluation(predictions=predictions, labels=labels, **wanted[main]).worst_case(part, notes)
        found |= {} if bounded is None else {"worst_case": bounded}
    return Estimates(found, undefined)


def main_estimator(labels: LabelColumns) -> str:
    """Return the name of the estimate that the labels' protocol determines, for example ``"ml"``.

    If the protocol does not identify the accuracy of one model, the name is ``"accuracy"``.
    """
    if labels.is_even:
        return "ml"
    if not labels.tells_accuracy:
        return "accuracy"
    return "resolved" if labels.is_resolved else "routed"
