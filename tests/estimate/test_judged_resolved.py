"""Resolved items of a pool with a judge: what is predicted of the others counts, silence is refused."""

from __future__ import annotations

import numpy as np
import pytest

import oversight as ov
from oversight.harness.estimate.side_information import JUDGED
from oversight.harness.types import Answer, Item, Labels, Prediction
from oversight.protocols.collect import SimulatedExperts
from oversight.protocols.routing import Sequential, one_expert_per_class

N, K = 300, 4
CLASSES = tuple(f"class {k}" for k in range(K))
ITEMS = [Item(f"i{j}", "t", CLASSES, tuple(range(K))) for j in range(N)]


def resolve(
    seed: int, abstention: float = 0.0
) -> tuple[dict[str, list[Prediction]], Labels, list[Prediction], float]:
    """Two models on a pool, 50 items of it drawn and resolved, a judge, and the first one's accuracy."""
    rng = np.random.default_rng(seed)
    truth, hard = rng.integers(K, size=N), rng.random(N)
    wrong = (truth + 1) % K
    models = {
        name: np.where(rng.random(N) < hard * share, wrong, truth) for name, share in (("a", 0.6), ("b", 0.9))
    }
    options = {name: {f"i{j}": int(k) for j, k in enumerate(found)} for name, found in models.items()}
    drawn = [ITEMS[j] for j in rng.choice(N, 50, replace=False)]
    plan = Sequential(one_expert_per_class(CLASSES), options, seed)
    key = {f"i{j}": int(t) for j, t in enumerate(truth)}
    experts, answers = SimulatedExperts(key, abstention=abstention, seed=seed), list[Answer]()
    while new := plan.next_questions(drawn, answers):
        answers += experts.answer(new)
    labels = plan.decode(answers).drawn_from({item.id: "all" for item in drawn}, pool_size=N)
    said = np.where(rng.random(N) < 0.95, truth, wrong)
    judge = [Prediction(f"i{j}", int(k), confidence=float(1 - hard[j] / 2)) for j, k in enumerate(said)]
    rows = {name: [Prediction(i, k) for i, k in found.items()] for name, found in options.items()}
    return {"a": rows["a"]}, labels, judge, float((models["a"] == truth).mean())


def test_judge_narrows_the_estimate_for_a_pool_from_resolved_items() -> None:
    held, widths = [], []
    for seed in range(12):
        models, labels, judge, exact = resolve(seed)
        found = ov.model_accuracies(models, labels, judges={"judge": judge})["a"]
        both = [found["resolved"], found[JUDGED]]
        held.append([e.low <= exact <= e.high for e in both])
        widths.append([e.high - e.low for e in both])
    assert np.sum(held, axis=0).min() >= 10
    assert np.mean(widths, axis=0)[1] < 0.9 * np.mean(widths, axis=0)[0]


def test_where_experts_were_silent_a_judge_is_withheld() -> None:
    models, labels, judge, _ = resolve(0, abstention=0.3)
    found = ov.model_accuracies(models, labels, judges={"judge": judge})["a"]
    assert "drawn items are not resolved" in found.undefined[JUDGED]
    assert "resolved" in found


def test_resolved_items_that_are_all_there_are_need_no_judge() -> None:
    models, labels, judge, _ = resolve(1)
    whole = Labels(
        labels, type(labels.design)(statements=labels.design.statements, asked=labels.design.asked)
    )
    asked = {"a": [p for p in models["a"] if p.item_id in labels.design.asked]}
    found = ov.model_accuracies(asked, whole, judges={"judge": judge})["a"]
    assert "every item is resolved" in found.undefined[JUDGED]


@pytest.mark.parametrize("weight", [0.5, float("inf"), float("nan")])
def test_weights_below_one_are_refused(weight: float) -> None:
    _, labels, _, _ = resolve(2)
    strata = labels.design.strata
    with pytest.raises(ov.BadInput, match="must have a weight of at least 1"):
        labels.drawn_from(strata, pool_size=N, weights=dict.fromkeys(strata, weight))
    with pytest.raises(ov.BadInput, match="must be given for the same items: those drawn"):
        labels.drawn_from(strata, pool_size=N, weights={"i0": 2.0})
