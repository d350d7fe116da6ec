"""Fallible experts and gold items through the one call: coverage where normal intervals fail."""

from __future__ import annotations

import numpy as np
import pytest

import harness as h
from harness.estimate import GoldCounts
from harness.types import Estimate, Item, Prediction, PredictionStatus
from protocols.collect import SimulatedExperts
from protocols.routing import Partitioned, Targeted, one_expert_per_class

pytestmark = pytest.mark.statistical


Study = tuple[list[Prediction], list[Item], dict[str, int], Partitioned | Targeted]


def study(
    rng: np.random.Generator,
    protocol: str,
    K: int,
    n: int,
    A: float,
    *,
    questions: int = 1,
    silent: float = 0,
) -> Study:
    """A model's predictions, of which a share `silent` is unreadable, and the rule that asks."""
    classes = tuple(f"class {k}" for k in range(K))
    items = [Item(f"i{j}", "t", classes, tuple(range(K))) for j in range(n)]
    truth = {i.id: int(rng.integers(K)) for i in items}
    guess = {i: k if rng.random() < A else (k + int(rng.integers(1, K))) % K for i, k in truth.items()}
    rows = [
        Prediction(i, None, PredictionStatus.UNREADABLE) if rng.random() < silent else Prediction(i, k)
        for i, k in guess.items()
    ]
    roster, seed = one_expert_per_class(classes), int(rng.integers(1 << 30))
    if protocol == "targeted":
        return rows, items, truth, Targeted(roster, {"m": {p.item_id: p.option for p in rows}}, seed)
    return rows, items, truth, Partitioned(roster, seed, questions)


def ask(rng: np.random.Generator, s: float, t: float, gold: int, made: Study) -> Estimate:
    """The corrected estimate with experts of sensitivity s and specificity t."""
    rows, items, truth, rule = made
    questions = rule.route(items)
    experts = SimulatedExperts(truth, s, t, seed=int(rng.integers(1 << 30)))
    known = GoldCounts(
        yes_on_true=int(rng.binomial(gold, s)),
        n_true=gold,
        no_on_false=int(rng.binomial(gold, t)),
        n_false=gold,
    )
    return h.accuracy(rows, h.decode(experts.answer(questions), questions), gold=known)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("protocol", "K", "n", "A", "s", "t", "gold", "silent"),
    [
        ("partitioned", 10, 100, 0.9, 0.95, 0.99, 200, 0.0),
        ("partitioned", 4, 50, 0.05, 0.98, 0.99, 20, 0.0),
        ("partitioned", 10, 200, 0.98, 0.9, 1.0, 50, 0.0),
        ("partitioned", 4, 100, 0.8, 0.9, 0.95, 100, 0.15),
        ("targeted", 4, 100, 0.8, 0.9, 0.95, 100, 0.0),
    ],
)
def test_corrected_intervals_hold(
    protocol: str, K: int, n: int, A: float, s: float, t: float, gold: int, silent: float
) -> None:
    covered, values = [], []
    for seed in range(100):
        rng = np.random.default_rng(seed)
        e = ask(rng, s, t, gold, study(rng, protocol, K, n, A, silent=silent))
        assert e.holds
        covered.append(e.low <= A * (1 - silent) <= e.high)
        values.append(e.value)
    assert np.mean(covered) >= 0.95 - 2.6 * np.sqrt(0.05 * 0.95 / 100)
    assert np.mean(values) == pytest.approx(A * (1 - silent), abs=0.005 + 4 * np.std(values) / np.sqrt(150))


def test_several_questions_an_item_have_a_normal_interval_that_says_so() -> None:
    rng = np.random.default_rng(0)
    e = ask(rng, 0.9, 0.95, 100, study(rng, "partitioned", 4, 100, 0.8, questions=2))
    assert not e.holds
    assert "rare large outcomes" in e.why
