"""Coverage of collections under way, of clustered items, of joint intervals and of strata that differ."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import oversight as ov
from oversight.harness.estimate import BinomialSample, decode
from oversight.harness.estimate.tallies import Tallies, Tally, estimate_tallies
from oversight.harness.types import Item, Prediction
from oversight.protocols.collect import SimulatedExperts
from oversight.protocols.routing import Partitioned, Targeted, one_expert_per_class

pytestmark = [pytest.mark.statistical, pytest.mark.slow]
CLASSES = ("red", "green", "blue", "black")
ROSTER = one_expert_per_class(CLASSES)
ITEMS = [Item(f"i{j}", "t", CLASSES, (0, 1, 2, 3)) for j in range(160)]


@pytest.mark.parametrize("protocol", ["partitioned", "targeted"])
def test_experts_of_other_speed_do_not_bend_an_estimate(protocol: str) -> None:
    """The model is right on three of four classes; who judges the fourth has answered three tenths."""
    rng = np.random.default_rng(1)
    values, naive, covered = [], [], []
    for seed in range(80):
        classes = rng.integers(4, size=len(ITEMS))
        truth = {i.id: int(k) for i, k in zip(ITEMS, classes, strict=True)}
        guess = {
            i: k if rng.random() < (0.95 if k else 0.3) else (k + int(rng.integers(1, 4))) % 4
            for i, k in truth.items()
        }
        plan = (
            Partitioned(ROSTER, seed=seed)
            if protocol == "partitioned"
            else Targeted(ROSTER, {"m": guess}, seed=seed)
        )
        questions = plan.route(ITEMS)
        slow = next(q.expert for q in questions if q.option == 0)
        his = [q.id for q in questions if q.expert == slow]
        open_ = set(rng.permutation(his)[: len(his) * 7 // 10].tolist())
        done = [q for q in questions if q.id not in open_]
        labels = decode(SimulatedExperts(truth).answer(done), questions)
        rows = [Prediction(i, k) for i, k in guess.items()]
        found = ov.accuracy(rows, labels)
        everything = ov.Labels(labels, replace(labels.design, drawn=()))
        values.append(found.value)
        naive.append(ov.accuracy(rows, everything).value)
        covered.append(found.low <= 0.7875 <= found.high)
    assert np.mean(covered) >= 0.904
    assert np.mean(values) == pytest.approx(0.7875, abs=2.9 * np.std(values) / np.sqrt(80))
    if protocol == "partitioned":  # slow experts say yes if the model is wrong
        assert float(np.mean(naive)) > 0.7875 + 0.01


@pytest.mark.parametrize("protocol", ["partitioned", "targeted"])
def test_clusters_restore_the_coverage_that_items_alone_lose(protocol: str) -> None:
    """Forty patients of four images, right or wrong together."""
    rng = np.random.default_rng(2)
    clusters = {item.id: str(j // 4) for j, item in enumerate(ITEMS)}
    alone: list[bool] = []
    together: list[bool] = []
    for seed in range(80):
        truth = {i.id: int(k) for i, k in zip(ITEMS, rng.integers(4, size=len(ITEMS)), strict=True)}
        right = np.repeat(rng.random(len(ITEMS) // 4) < 0.8, 4)
        guess = {
            i: k if ok else (k + int(rng.integers(1, 4))) % 4
            for (i, k), ok in zip(truth.items(), right, strict=True)
        }
        plan = (
            Partitioned(ROSTER, seed=seed)
            if protocol == "partitioned"
            else Targeted(ROSTER, {"m": guess}, seed=seed)
        )
        labels = plan.decode(SimulatedExperts(truth).answer(plan.route(ITEMS)))
        rows = [Prediction(i, k) for i, k in guess.items()]
        for seen, x in ((alone, labels), (together, labels.clustered(clusters))):
            e = ov.accuracy(rows, x)
            seen.append(e.low <= 0.8 <= e.high)
    assert np.mean(together) >= 0.904
    if protocol == "targeted":
        assert np.mean(alone) < 0.85


def test_joint_intervals_hold_together() -> None:
    rng = np.random.default_rng(3)
    accuracies, covered = (0.5, 0.7, 0.8, 0.9, 0.95), []
    for seed in range(60):
        truth = {i.id: int(k) for i, k in zip(ITEMS[:80], rng.integers(4, size=80), strict=True)}
        models = {
            f"m{A}": [
                Prediction(i, k if rng.random() < A else (k + int(rng.integers(1, 4))) % 4)
                for i, k in truth.items()
            ]
            for A in accuracies
        }
        plan = Partitioned(ROSTER, seed=seed)
        labels = plan.decode(SimulatedExperts(truth).answer(plan.route(ITEMS[:80])))
        found = ov.model_accuracies(models, labels, joint=True)
        covered.append(all(found[f"m{A}"]["ml"].low <= A <= found[f"m{A}"]["ml"].high for A in accuracies))
    assert np.mean(covered) >= 0.9


@pytest.mark.parametrize("K", [2, 4])
@pytest.mark.parametrize("readable", [0.7, 0.95])
def test_a_stratum_of_few_labels_and_much_weight_keeps_the_readable_share_uncertain(
    K: int, readable: float
) -> None:
    """Nine tenths of the items have twenty labels, and all the unreadable predictions."""
    rng, covered = np.random.default_rng(4), []
    truth = 0.1 * 0.9 + 0.9 * 0.9 * readable
    for _ in range(400):
        strata = tuple(
            one_stratum(name, K, n, 0.9, share, rng)
            for name, n, share in (("easy", 500, 1.0), ("hard", 20, readable))
        )
        e = estimate_tallies(Tallies(strata=strata, pool={"easy": 1000, "hard": 9000}))
        covered.append(e.low <= truth <= e.high)
    assert np.mean(covered) >= 0.95 - 2.6 * np.sqrt(0.05 * 0.95 / 400)


def one_stratum(name: str, K: int, n: int, A: float, readable: float, rng: np.random.Generator) -> Tally:
    """Counts of one uniformly drawn question an item."""
    carried = int(rng.binomial(n, readable))
    chance = (A / K, (1 - A) / K, (1 - A) / K)
    yes_hit, no_hit, yes_other, no_other = rng.multinomial(carried, [*chance, 1 - sum(chance)]).tolist()
    refused = no_hit + no_other
    return Tally(
        K=K,
        stratum=name,
        hits=BinomialSample(2, yes_hit + yes_other, yes_hit),
        misses=(BinomialSample(K, refused, no_other),) if refused else (),
        n_yes=yes_hit + yes_other,
        n_no=refused,
        n_unreadable=n - carried,
    )
