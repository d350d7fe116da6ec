from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from oversight.harness import EstimateError
from oversight.harness.types import Label, LabelKind, Prediction, PredictionStatus
from tests.records import stratify_by_confidence

K, N = 4, 2000


def study(seed: int, n_labels: int, *, useful: bool) -> tuple[list[Prediction], list[Label], float]:
    """A model that is right with a probability it states (or a number that means nothing)."""
    rng = np.random.default_rng(seed)
    sure = rng.beta(0.6, 0.6, N)
    right = rng.random(N) < sure
    stated = sure if useful else rng.random(N)
    truth = rng.integers(K, size=N)
    option = np.where(right, truth, (truth + rng.integers(1, K, size=N)) % K)
    predictions = [Prediction(str(j), int(option[j]), confidence=float(stated[j])) for j in range(N)]
    labels = []
    for j in rng.choice(N, n_labels, replace=False):
        asked = int(rng.integers(K))
        kind = LabelKind.ORDINARY if asked == truth[j] else LabelKind.COMPLEMENTARY
        labels.append(Label(str(j), asked, kind, K, 1 / K))
    return predictions, labels, float(right.mean())


def test_strata_are_about_equal_and_follow_the_confidence() -> None:
    predictions, _, _ = study(1, 10, useful=True)
    strata = stratify_by_confidence(predictions, 400)
    sizes = {s: [p.confidence for p in predictions if strata[p.item_id] == s] for s in set(strata.values())}
    assert len(sizes) == 5
    assert all(abs(len(members) - N / 5) <= 1 for members in sizes.values())
    ordered = [sizes[f"confidence {j}"] for j in range(1, 6)]
    for lower, upper in pairwise(ordered):
        assert max(x for x in lower if x is not None) <= min(x for x in upper if x is not None)


def test_few_labels_make_few_strata_and_ties_stay_together() -> None:
    predictions, _, _ = study(1, 10, useful=True)
    assert set(stratify_by_confidence(predictions, 79).values()) == {"confidence 1"}
    same = [Prediction(str(j), 0, confidence=0.5) for j in range(10)]
    missing = [Prediction("x", None, PredictionStatus.UNREADABLE, "none")]
    found = stratify_by_confidence(same + missing, 400)
    assert len({found[str(j)] for j in range(10)}) == 1
    with pytest.raises(EstimateError, match="no prediction has a confidence"):
        stratify_by_confidence(missing, 400)
