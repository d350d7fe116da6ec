"""The same calls for every protocol: nobody has to know which estimator its labels need."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import oversight as ov
from oversight.harness import BadInput, EstimateError, NotIdentified
from oversight.harness.estimate import ErrorRanges
from oversight.harness.estimate.side_information import MODEL_ASSISTED
from oversight.harness.types import Answer, Item, Prediction
from oversight.protocols.collect import SimulatedExperts
from oversight.protocols.routing import Disagreement, Partitioned, Sequential, Targeted, one_expert_per_class

CLASSES = ("red", "green", "blue", "black")
ROSTER = one_expert_per_class(CLASSES)
ITEMS = [Item(f"i{j}", "t", CLASSES, (0, 1, 2, 3)) for j in range(240)]
RNG = np.random.default_rng(5)
TRUTH = {item.id: int(RNG.integers(4)) for item in ITEMS}
MODELS = {
    name: {i: t if RNG.random() < rate else (t + 1 + int(RNG.integers(3))) % 4 for i, t in TRUTH.items()}
    for name, rate in (("good", 0.85), ("poor", 0.45))
}
PREDICTIONS = {name: [Prediction(i, option) for i, option in rows.items()] for name, rows in MODELS.items()}
TRUE = {name: float(np.mean([rows[i] == t for i, t in TRUTH.items()])) for name, rows in MODELS.items()}
PROTOCOLS: dict[str, Any] = {
    "partitioned": Partitioned(ROSTER, seed=2),
    "targeted": Targeted(ROSTER, MODELS, seed=2),
    "sequential": Sequential(ROSTER, MODELS, seed=2),
    "disagreement": Disagreement(ROSTER, MODELS, seed=2),
}


def labels_of(name: str) -> ov.Labels:
    """All questions of a protocol asked and answered without error."""
    plan, experts = PROTOCOLS[name], SimulatedExperts(TRUTH)
    answers: list[Answer] = []
    questions = plan.route(ITEMS)
    while questions:
        answers += experts.answer(questions)
        asked = {a.question.id for a in answers}
        more = plan.next_questions(ITEMS, answers) if plan.statement.asks_on else []
        questions = [q for q in more if q.id not in asked]
    labels: ov.Labels = plan.decode(answers)
    return labels


@pytest.mark.parametrize("name", ["partitioned", "targeted", "sequential"])
def test_accuracy_takes_any_labels(name: str) -> None:
    labels = labels_of(name)
    found = ov.model_accuracies(PREDICTIONS, labels)
    for model, rows in PREDICTIONS.items():
        one = ov.accuracy(rows, labels)
        assert one.low <= TRUE[model] <= one.high
        assert one in found[model].values()
        assert {n: e for n, e in found[model].items() if n != MODEL_ASSISTED} == ov.accuracies(rows, labels)
        assert set(PROTOCOLS[name].statement.assumptions) == set(one.assumptions)


@pytest.mark.parametrize("name", PROTOCOLS)
def test_compare_takes_any_labels(name: str) -> None:
    found = ov.compare(PREDICTIONS, labels_of(name))
    (pair,) = found.pairs
    assert found.ranking is None
    assert pair.verdict == "good"
    assert pair.low <= TRUE["good"] - TRUE["poor"] <= pair.high
    assert (pair.method == "mcnemar") == (name == "sequential")


def test_labels_of_disagreements_give_no_accuracy() -> None:
    labels = labels_of("disagreement")
    with pytest.raises(NotIdentified, match="only where two models differ"):
        ov.accuracy(PREDICTIONS["good"], labels)
    assert ov.accuracies(PREDICTIONS["good"], labels) == {}
    assert "oversight compare" in ov.accuracies(PREDICTIONS["good"], labels).undefined["accuracy"]


def test_models_that_cannot_be_compared_are_refused() -> None:
    labels = labels_of("targeted")
    with pytest.raises(BadInput, match="at least 2 models, there are 1"):
        ov.compare({"good": PREDICTIONS["good"]}, labels)
    with pytest.raises(BadInput, match="needs uniformly drawn options"):
        ov.compare(PREDICTIONS, labels, test="sign")
    with pytest.raises(BadInput, match="test must be one of auto, paired, sign, mcnemar, is 'best'"):
        ov.compare(PREDICTIONS, labels, test="best")


def test_three_models_are_ranked() -> None:
    third = {**PREDICTIONS, "same": PREDICTIONS["good"]}
    found = ov.compare(third, labels_of("partitioned"))
    assert found.ranking is not None
    assert set(found.ranking.names[:2]) == {"good", "same"}
    assert found.pairs == found.ranking.comparisons


@pytest.mark.parametrize(
    "how", [{"test": "sign"}, {"errors": ErrorRanges(gold_true=(95, 5), gold_false=(15, 285))}]
)
def test_pairs_without_a_ranking_have_joint_intervals(how: dict[str, Any]) -> None:
    labels = labels_of("partitioned")
    three = {**PREDICTIONS, "other": [Prediction(p.item_id, p.option) for p in PREDICTIONS["good"][:120]]}
    three["other"] += PREDICTIONS["poor"][120:]
    found = ov.compare(three, labels, **how)
    assert found.ranking is None
    assert len(found.pairs) == 3
    for pair in found.pairs:
        two = {name: three[name] for name in (pair.first, pair.second)}
        alone = ov.compare(two, labels, level=1 - 0.05 / 3, **how).pairs[0]
        assert (pair.low, pair.high) == pytest.approx((alone.low, alone.high))
        assert pair.p_value == pytest.approx(min(1.0, 3 * alone.p_value))
        assert (pair.level, pair.adjusted) == (0.95, "bonferroni")
        assert (pair.verdict == "tie") == (pair.low <= 0 <= pair.high)
    with pytest.raises(EstimateError, match="max-z, bonferroni"):
        ov.compare(three, labels, adjustment="holm", **how)


def test_anytime_interval_is_refused_for_targeted_questions() -> None:
    with pytest.raises(NotIdentified, match="the questions depended on predictions"):
        ov.accuracy(PREDICTIONS["good"], labels_of("targeted"), interval="anytime")
    found = ov.accuracy(PREDICTIONS["good"], labels_of("partitioned"), interval="anytime")
    assert (found.interval, found.low <= TRUE["good"] <= found.high) == ("anytime", True)
    assert any("predictions of all items were given" in words for words in found.assumptions)


def test_parts_of_labels_keep_their_design() -> None:
    labels = labels_of("targeted")
    some = labels[:10]
    assert isinstance(some, ov.Labels)
    assert some.design is labels.design
    assert list(some) == list(labels)[:10]
    assert some == list(some)
    assert {x.item_id for x in labels.on({"i3"})} == {"i3"}
