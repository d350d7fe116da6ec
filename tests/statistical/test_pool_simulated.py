"""Pools while answers come in or experts abstain: neither bends an estimate."""

from __future__ import annotations

import numpy as np
import pytest

import oversight as ov
from oversight.harness.estimate import decode
from oversight.harness.estimate.routed_means import resolved_accuracy, routed_accuracy
from oversight.harness.types import Answer, Item, Prediction
from oversight.protocols.collect import SimulatedExperts
from oversight.protocols.routing import Sequential, one_expert_per_class
from tests.estimate.test_pool import sequential, targeted
from tests.records import routed_pool

pytestmark = [pytest.mark.statistical, pytest.mark.slow]


@pytest.mark.parametrize("share", [0.3, 1.0])
def test_unreadable_items_keep_their_share_while_answers_come_in(share: float) -> None:
    estimates = []
    for seed in range(120):
        answered, labels, asked = targeted(seed, 300, share)
        data, predicted, _ = routed_pool(labels, [answered], asked)
        estimates.append(routed_accuracy(predicted[:, 0], data))
    assert np.mean([e.value for e in estimates]) == pytest.approx(0.6, abs=0.01)
    assert np.mean([e.low <= 0.6 <= e.high for e in estimates]) >= 0.92  # of 120: s.e. 2 points


def test_abstentions_widen_a_sequential_estimate_instead_of_bending_it() -> None:
    """Leaving unknown items out under-covers, because wrong predictions get known more often."""
    covered, naive = [], []
    for seed in range(60):
        known, _ = sequential(seed, abstention=0.2)
        e = resolved_accuracy(known[:, 0])
        covered.append(e.low <= 0.7 <= e.high)
        naive.append(float(known[known[:, 0] >= 0, 0].mean()))
    assert np.mean(naive) < 0.69
    assert np.mean(covered) >= 0.95


@pytest.mark.parametrize(("K", "accuracy", "silence"), [(2, 0.95, 0.3), (5, 0.5, 0.4)])
def test_abstentions_independent_of_the_truth_widen_a_sequential_estimate_little(
    K: int, accuracy: float, silence: float
) -> None:
    """Silence as rare about true options as about others: no bias, and half the width of the worst case."""
    classes = tuple(f"class {k}" for k in range(K))
    items = [Item(f"i{j}", "t", classes, tuple(range(K))) for j in range(80)]
    values, covered, widths, bounds = [], [], [], []
    for seed in range(120):
        rng = np.random.default_rng(seed)
        truth = {i.id: int(rng.integers(K)) for i in items}
        models = {
            name: {
                i: k if rng.random() < accuracy else (k + int(rng.integers(1, K))) % K
                for i, k in truth.items()
            }
            for name in ("first", "second")
        }
        plan = Sequential(one_expert_per_class(classes), models, seed=seed)
        experts, answers = SimulatedExperts(truth, abstention=silence, seed=seed), list[Answer]()
        while new := plan.next_questions(items, answers):
            answers += experts.answer(new)
        rows = [Prediction(i, k) for i, k in models["second"].items()]
        found = ov.accuracies(rows, decode(answers, [a.question for a in answers]))
        e, worst = found["resolved"], found["worst_case"]
        values.append(e.value)
        covered.append(e.low <= accuracy <= e.high and worst.low <= accuracy <= worst.high)
        widths.append(e.high - e.low)
        bounds.append(worst.high - worst.low)
    assert np.mean(values) == pytest.approx(accuracy, abs=4 * np.std(values) / np.sqrt(120))
    assert np.mean(covered) >= 0.95 - 2.6 * np.sqrt(0.05 * 0.95 / 120)
    assert np.mean(widths) < 0.6 * np.mean(bounds)
