"""Which of several models is better on the same items: one call for every protocol."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np

from harness.arrays import AnyIntArray, BoolArray, FloatArray, IntArray
from harness.columns import (
    AnyLabels,
    AnyPredictions,
    ItemValues,
    LabelColumns,
    PredictionColumns,
    align_models,
)
from harness.errors import BadInput, EstimateError
from harness.estimate.by_design import number_clusters
from harness.estimate.collected import collected_part
from harness.estimate.comparison import (
    Comparison,
    Ranking,
    adjust_comparisons,
    mcnemar,
    paired_difference,
    pairs_table,
    rank_models,
    sign_test,
)
from harness.estimate.core import clopper_pearson
from harness.estimate.routed import (
    PoolKinds,
    RoutedSample,
    informed,
    model_outcomes,
    resolved_accuracy,
    resolved_correctness,
    routed_accuracy,
    routed_pool,
)
from harness.expected import check_mapping
from harness.types import HtmlTable, Shown

COMPARE_TESTS = ("auto", "paired", "sign", "mcnemar")
ADJUSTMENTS = ("max-z", "holm", "bonferroni")


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelComparison(Shown):
    """All pairs of models compared, and their ranking where one was made.

    Attributes
    ----------
    pairs
        Every two models, p-values adjusted for their number.
    ranking
        Ranks in which models share a place that the data cannot tell apart; None for two models and
        for tests of pairs alone.
    """

    pairs: tuple[Comparison, ...]
    ranking: Ranking | None = None

    def records(self) -> list[dict[str, Any]]:
        """A row a pair; those of the ranking are its own."""
        return [row for pair in self.pairs for row in pair.records()]

    def html_tables(self) -> tuple[HtmlTable, ...]:
        """What a notebook shows."""
        return (*(self.ranking.html_tables() if self.ranking else ()), pairs_table(self.pairs))


def compare(
    models: Mapping[str, AnyPredictions],
    labels: AnyLabels,
    *,
    test: str = "auto",
    adjustment: str = "max-z",
    level: float = 0.95,
) -> ModelComparison:
    """Compare models by what experts said about the items that all of them answered.

    Parameters
    ----------
    models
        Name → predictions, of at least two models.
    labels
        What experts said. Resolved items give McNemar's exact test, recorded propensities the paired
        estimator.
    test
        A name of `COMPARE_TESTS`; ``auto`` takes what the protocol allows.
    adjustment
        For several pairs; ``max-z`` ranks the models by a joint test.
    level
        Joint confidence level, in (0, 1).

    Raises
    ------
    BadInput
        If there are fewer than two models, or the protocol does not allow the test.
    EstimateError
        If the data do not tell.
    """
    check_mapping("models", models, "name to predictions")
    names = list(models)
    if len(names) < 2:
        raise BadInput(f"a comparison needs at least 2 models, there are {len(names)}")
    predictions, labels = align_models(list(models.values()), labels)
    everywhere = np.logical_and.reduce([p.is_there for p in predictions])
    labels, flags = collected_part(labels, everywhere)
    why = why_unfinished(labels.asked_items, everywhere)
    _check_test(test, resolved=labels.is_resolved, uniform=labels.is_uniform)
    if len(names) == 2 and not labels.asked_items.any():
        return ModelComparison(pairs=(_unasked(names, predictions, level, labels.cluster),))
    evidence = _gather(labels, predictions, sign=test == "sign")
    if len(names) > 2 and adjustment == "max-z" and test != "sign" and evidence.rankable:
        ranking = rank_models(
            evidence.outcomes(),
            names,
            questions=len(labels),
            level=level,
            pair=lambda i, j, each: evidence.pair(names, i, j, each),
            values=evidence.accuracies(),
            independent=evidence.cluster is None,
        )
        return _flagged(ModelComparison(pairs=ranking.comparisons, ranking=ranking), flags, why)
    pairs = [evidence.pair(names, i, j, level) for i, j in combinations(range(len(names)), 2)]
    if len(pairs) > 1:
        pairs = list(adjust_comparisons(pairs, "holm" if adjustment == "max-z" else adjustment))
    return _flagged(ModelComparison(pairs=tuple(pairs)), flags, why)


def _gather(
    labels: LabelColumns, predictions: Sequence[PredictionColumns], *, sign: bool
) -> _Resolved | _Drawn:
    """What the labels tell of all models' predictions."""
    if labels.is_resolved:
        found = resolved_correctness(labels, predictions, on_differences=True)
        shares = _resolved_shares(labels, predictions, found.correct)
        return _Resolved(
            found.correct, len(labels), number_clusters(found.items, labels.index, labels.cluster), shares
        )
    data, predicted, items = routed_pool(labels, predictions)
    return _Drawn(data, predicted, number_clusters(items, labels.index, labels.cluster), sign=sign)


def why_unfinished(asked: BoolArray, everywhere: BoolArray) -> str:
    """Why a comparison may not hold while a run is under way; empty where all items asked about are run."""
    missing = np.count_nonzero(asked & ~everywhere)
    return (
        f"{missing} of {np.count_nonzero(asked)} items asked about are not run with every model; those run "
        "first may be no random part of them"
        if missing
        else ""
    )


def _flagged(found: ModelComparison, flags: tuple[str, ...], why: str) -> ModelComparison:
    """The same, every pair with further flags, and with `why` where it has no reason of its own."""
    pairs = tuple(replace(c, flags=flags + c.flags, why=c.why or why) for c in found.pairs)
    ranking = None if found.ranking is None else replace(found.ranking, comparisons=pairs)
    return ModelComparison(pairs=pairs, ranking=ranking)


def _resolved_shares(
    labels: LabelColumns, predictions: Sequence[PredictionColumns], correct: IntArray
) -> list[float]:
    """Every model's accuracy as `resolved_accuracy` has it.

    In `correct` an unresolved item that the models agree on counts as a wrong one of all, which is right for
    differences alone.
    """
    # Where questions are open no accuracy is known, and a ranking shows what is resolved.
    with contextlib.suppress(EstimateError):
        found = resolved_correctness(labels, predictions)
        own = [None if found.waiting else column for column in found.own.T]
        columns = zip(found.correct.T, own, strict=True)
        return [resolved_accuracy(z, own=heard).value for z, heard in columns]
    return [float(column[column >= 0].mean()) for column in correct.T]


def _unasked(
    names: Sequence[str], models: Sequence[PredictionColumns], level: float, cluster: ItemValues | None
) -> Comparison:
    """Two models that nobody was asked about: something follows only if they never differ.

    Raises
    ------
    EstimateError
        If they differ somewhere, or have no item in common.
    """
    a, b = models
    both = np.flatnonzero(a.ran & b.ran)
    if not both.size or (a.option[both] != b.option[both]).any():
        raise EstimateError("labels: no answered item has a prediction of every model; there are 0")
    units = both.size
    if cluster is not None:
        code = cluster.code[both]
        units = np.unique(code[code >= 0]).size + int(np.count_nonzero(code < 0))
    most = clopper_pearson(0, units, level)[1]
    return Comparison(
        first=names[0],
        second=names[1],
        difference=0.0,
        low=-most,
        high=most,
        p_value=1.0,
        level=level,
        method="paired",
        items=both.size,
        questions=0,
        flags=("never_differ",),
    )


def _check_test(test: str, *, resolved: bool, uniform: bool) -> None:
    if test not in COMPARE_TESTS:
        raise BadInput(f"test must be one of {', '.join(COMPARE_TESTS)}, is {test!r}")
    if test == "mcnemar" and not resolved:
        raise BadInput('--test mcnemar needs resolved items: protocol = "sequential" in study.toml')
    if test in ("paired", "sign") and resolved:
        raise BadInput(f"--test {test} needs drawn options; these were asked about until resolved")
    if test == "sign" and not uniform:
        raise BadInput('--test sign needs uniformly drawn options: protocol = "partitioned"')


@dataclass(frozen=True, slots=True)
class _Resolved:
    """Exact correctness, shape (items, models), −1 where an expert abstained."""

    correct: IntArray
    questions: int
    cluster: IntArray | None
    shares: list[float]

    @property
    def rankable(self) -> bool:
        """Whether every item is known: leaving some out would bend a ranking, see `mcnemar`."""
        return bool((self.correct >= 0).all())

    def pair(self, names: Sequence[str], i: int, j: int, level: float) -> Comparison:
        a, b = self.correct[:, i], self.correct[:, j]
        return mcnemar(
            a, b, questions=self.questions, level=level, names=(names[i], names[j]), cluster=self.cluster
        )

    def outcomes(self) -> FloatArray:
        return self.correct.astype(np.float64)

    def accuracies(self) -> list[float]:
        return self.shares


@dataclass(frozen=True)
class _Drawn:
    """Answers to drawn options, and predictions of shape (items, models)."""

    data: RoutedSample
    predicted: AnyIntArray
    cluster: IntArray | None
    sign: bool
    rankable: bool = True

    @cached_property
    def kinds(self) -> PoolKinds | None:
        """Equal items together, where items are independent and many are equal."""
        return None if self.cluster is not None else PoolKinds.of(self.data)

    def pair(self, names: Sequence[str], i: int, j: int, level: float) -> Comparison:
        a, b, pair = self.predicted[:, i], self.predicted[:, j], (names[i], names[j])
        if not self.sign and self.kinds is not None:
            data, (a, b), count = self.kinds.count(a, b)
            return paired_difference(a, b, data, level=level, names=pair, count=count)
        if not self.sign:
            return paired_difference(a, b, self.data, level=level, names=pair, cluster=self.cluster)
        if (self.predicted < 0).any():
            raise EstimateError("the sign test cannot see that unreadable predictions are wrong; use paired")
        no = self.data.answer == 0
        rows, options = self.data.item[no], np.unique(self.data.n_options)
        if len(options) > 1:
            raise EstimateError(f"the sign test needs one number of options, there are {options.tolist()}")
        return sign_test(a[rows], b[rows], self.data.asked[no], int(options[0]), level=level, names=pair)

    def outcomes(self) -> FloatArray:
        return model_outcomes(self.predicted, informed(self.predicted, self.data))

    def accuracies(self) -> list[float]:
        if self.kinds is None:
            return [routed_accuracy(p, self.data).value for p in self.predicted.T]
        counted = (self.kinds.count(p) for p in self.predicted.T)
        return [routed_accuracy(p, data, count=count).value for data, (p,), count in counted]
