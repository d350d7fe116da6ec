"""Which of several models is better on the same items: one call for every protocol."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from harness.arrays import FloatArray, IntArray
from harness.errors import BadInput, EstimateError
from harness.estimate.by_design import asked_items, is_resolved, is_uniform
from harness.estimate.comparison import (
    Comparison,
    Ranking,
    adjust_comparisons,
    mcnemar,
    paired_difference,
    rank_models,
    sign_test,
)
from harness.estimate.routed import (
    RoutedSample,
    accuracy_target,
    informed,
    pseudo_outcomes,
    resolved_correctness,
    routed_pool,
)
from harness.types import Label, Prediction

COMPARE_TESTS = ("auto", "paired", "sign", "mcnemar")
ADJUSTMENTS = ("max-z", "holm", "bonferroni")


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelComparison:
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


def compare(
    models: Mapping[str, Sequence[Prediction]],
    labels: Sequence[Label],
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
    names = list(models)
    if len(names) < 2:
        raise BadInput(f"a comparison needs at least 2 models, there are {len(names)}")
    resolved = is_resolved(labels)
    _check_test(test, resolved=resolved, uniform=is_uniform(labels))
    asked, predictions = asked_items(labels), list(models.values())
    evidence: _Resolved | _Drawn
    if resolved:
        evidence = _Resolved(
            resolved_correctness(labels, predictions, asked, on_differences=True), len(labels)
        )
    else:
        data, predicted = routed_pool(labels, predictions, asked)
        evidence = _Drawn(data, predicted, sign=test == "sign")
    if len(names) > 2 and adjustment == "max-z" and test != "sign" and evidence.rankable:
        ranking = rank_models(evidence.outcomes(), names, questions=len(labels), level=level)
        return ModelComparison(pairs=ranking.comparisons, ranking=ranking)
    pairs = [evidence.pair(names, i, j, level) for i, j in combinations(range(len(names)), 2)]
    if len(pairs) == 1:
        return ModelComparison(pairs=tuple(pairs))
    return ModelComparison(
        pairs=tuple(adjust_comparisons(pairs, "holm" if adjustment == "max-z" else adjustment))
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

    @property
    def rankable(self) -> bool:
        """Whether every item is known: leaving some out would bend a ranking, see `mcnemar`."""
        return bool((self.correct >= 0).all())

    def pair(self, names: Sequence[str], i: int, j: int, level: float) -> Comparison:
        a, b = self.correct[:, i], self.correct[:, j]
        return mcnemar(a, b, questions=self.questions, level=level, names=(names[i], names[j]))

    def outcomes(self) -> FloatArray:
        return self.correct.astype(np.float64)


@dataclass(frozen=True, slots=True)
class _Drawn:
    """Answers to drawn options, and predictions of shape (items, models)."""

    data: RoutedSample
    predicted: IntArray
    sign: bool
    rankable: bool = True

    def pair(self, names: Sequence[str], i: int, j: int, level: float) -> Comparison:
        a, b, pair = self.predicted[:, i], self.predicted[:, j], (names[i], names[j])
        if not self.sign:
            return paired_difference(a, b, self.data, level=level, names=pair)
        if (self.predicted < 0).any():
            raise EstimateError("the sign test cannot see that unreadable predictions are wrong; use paired")
        no = self.data.answer == 0
        rows, options = self.data.item[no], np.unique(self.data.n_options)
        if len(options) > 1:
            raise EstimateError(f"the sign test needs one number of options, there are {options.tolist()}")
        return sign_test(a[rows], b[rows], self.data.asked[no], int(options[0]), level=level, names=pair)

    def outcomes(self) -> FloatArray:
        data = informed(self.predicted, self.data)
        width = data.propensities.shape[1]
        return np.stack([pseudo_outcomes(accuracy_target(p, width), data) for p in self.predicted.T], axis=1)
