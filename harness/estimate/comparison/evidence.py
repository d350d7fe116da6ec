"""What labels tell of several models' predictions: their pairs, their outcomes, their accuracies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from oversight.harness.arrays import AnyIntArray, FloatArray, IntArray
from oversight.harness.errors import EstimateError
from oversight.harness.estimate.comparison.corrected_pairs import corrected_difference
from oversight.harness.estimate.comparison.paired import mcnemar, paired_difference, sign_test
from oversight.harness.estimate.comparison.two_models import Comparison
from oversight.harness.estimate.routed import (
    ErrorRanges,
    PoolKinds,
    RoutedSample,
    informed,
    model_outcomes,
    routed_accuracy,
)


@dataclass(frozen=True, slots=True)
class ResolvedEvidence:
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
        """Two of the models compared."""
        a, b = self.correct[:, i], self.correct[:, j]
        return mcnemar(
            a, b, questions=self.questions, level=level, names=(names[i], names[j]), cluster=self.cluster
        )

    def outcomes(self) -> FloatArray:
        """Shape (items, models): of mean accuracy."""
        return self.correct.astype(np.float64)

    def accuracies(self) -> list[float]:
        """Of every model."""
        return self.shares


@dataclass(frozen=True)
class DrawnEvidence:
    """Answers to drawn options, and predictions of shape (items, models)."""

    data: RoutedSample
    predicted: AnyIntArray
    cluster: IntArray | None
    errors: ErrorRanges | None
    sign: bool
    weight: FloatArray | None = None

    @property
    def rankable(self) -> bool:
        """Whether a joint test may rank the models: of experts who do not err, and items that weigh alike."""
        return self.errors is None and self.weight is None

    @cached_property
    def kinds(self) -> PoolKinds | None:
        """Equal items together, where items are independent and many are equal."""
        return None if self.cluster is not None else PoolKinds.of(self.data)

    def pair(self, names: Sequence[str], i: int, j: int, level: float) -> Comparison:
        """Two of the models compared."""
        a, b, pair = self.predicted[:, i], self.predicted[:, j], (names[i], names[j])
        if self.errors is not None:
            return corrected_difference(
                a.astype(np.int64),
                b.astype(np.int64),
                self.data,
                self.errors,
                level=level,
                names=pair,
                cluster=self.cluster,
            )
        if self.weight is not None:
            return paired_difference(
                a, b, self.data, level=level, names=pair, cluster=self.cluster, weight=self.weight
            )
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
        """Shape (items, models): of mean accuracy."""
        return model_outcomes(self.predicted, informed(self.predicted, self.data))

    def accuracies(self) -> list[float]:
        """Of every model."""
        if self.kinds is None:
            return [routed_accuracy(p, self.data).value for p in self.predicted.T]
        counted = (self.kinds.count(p) for p in self.predicted.T)
        return [routed_accuracy(p, data, count=count).value for data, (p,), count in counted]
