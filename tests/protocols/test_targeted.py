"""Targeted routing: who is asked, with what propensity, and that estimates follow."""

from __future__ import annotations

import numpy as np
import pytest

from oversight.harness import BadInput, NotIdentified
from oversight.harness.estimate import RoutedSample
from oversight.harness.estimate.routed_means import routed_accuracy
from oversight.harness.types import Item, LabelKind
from oversight.protocols.collect import SimulatedExperts
from oversight.protocols.routing import (
    Disagreement,
    Expert,
    Roster,
    RoutingProtocol,
    Targeted,
    one_expert_per_class,
)

CLASSES = ("heart", "brain", "skin", "lung")
ROSTER = one_expert_per_class(CLASSES)


def make_items(n: int, classes: tuple[str, ...] = CLASSES) -> list[Item]:
    return [Item(f"i{j}", "text", classes, tuple(range(len(classes)))) for j in range(n)]


def test_one_model_is_asked_about_its_own_prediction() -> None:
    items = make_items(6)
    predictions = {"m": {f"i{j}": [0, 1, 2, 3, None, 0][j] for j in range(6)}}
    protocol: RoutingProtocol = Targeted(ROSTER, predictions)
    questions = protocol.route(items)
    assert [(q.item_id, q.option, q.expert, q.propensity) for q in questions] == [
        ("i0", 0, "heart", 1.0),
        ("i1", 1, "brain", 1.0),
        ("i2", 2, "skin", 1.0),
        ("i3", 3, "lung", 1.0),
        ("i5", 0, "heart", 1.0),
    ]


def test_draws_repeat_and_do_not_depend_on_other_items() -> None:
    predictions = {m: {f"i{j}": (j * s) % 4 for j in range(40)} for m, s in (("a", 1), ("b", 3), ("c", 2))}
    protocol = Targeted(ROSTER, predictions, seed=5)
    all_questions = protocol.route(make_items(40))
    assert protocol.route(make_items(40)) == all_questions
    assert protocol.route(make_items(40)[10:20]) == all_questions[10:20]
    assert Targeted(ROSTER, predictions, seed=6).route(make_items(40)) != all_questions
    pi = protocol.propensities(make_items(40))
    assert [q.propensity for q in all_questions] == [pi[j, q.option] for j, q in enumerate(all_questions)]
    assert pi.sum(axis=1) == pytest.approx(1)
    assert pi.min() >= 0.1 / 4 - 1e-12


def test_only_disagreements_are_asked_about() -> None:
    predictions: dict[str, dict[str, int | None]] = {
        "a": {"i0": 0, "i1": 1, "i2": None, "i3": 2},
        "b": {"i0": 0, "i1": 2, "i2": 3, "i3": 2},
    }
    protocol = Disagreement(ROSTER, predictions)
    assert protocol.propensities(make_items(4)).tolist() == [
        [0, 0, 0, 0],
        [0, 0.5, 0.5, 0],
        [0, 0, 0, 1],
        [0, 0, 0, 0],
    ]
    assert {q.item_id for q in protocol.route(make_items(4))} == {"i1", "i2"}


def test_answers_estimate_every_model_and_refuse_a_later_one_without_exploration() -> None:
    rng = np.random.default_rng(0)
    items, n = make_items(400), 400
    truth = rng.integers(4, size=n)
    guess = {m: np.where(rng.random(n) < 0.7, truth, rng.integers(4, size=n)) for m in "abc"}
    predictions = {m: {f"i{j}": int(guess[m][j]) for j in range(n)} for m in "ab"}
    experts = SimulatedExperts({f"i{j}": int(truth[j]) for j in range(n)})
    for epsilon in (0.1, 0.0):
        protocol = Targeted(ROSTER, predictions, seed=1, epsilon=epsilon)
        labels = protocol.decode(experts.answer(protocol.route(items)))
        data = RoutedSample(
            np.array([int(label.item_id[1:]) for label in labels]),
            np.array([label.option for label in labels]),
            np.array([float(label.kind is LabelKind.ORDINARY) for label in labels]),
            protocol.propensities(items),
            posterior=protocol.posterior(items),
        )
        estimate = routed_accuracy(guess["a"], data)
        assert abs(estimate.value - (guess["a"] == truth).mean()) < 4 * (estimate.se or 0)
        if epsilon:
            later = routed_accuracy(guess["c"], data)
            assert abs(later.value - (guess["c"] == truth).mean()) < 4 * (later.se or 0)
        else:
            with pytest.raises(NotIdentified, match="propensity 0"):
                routed_accuracy(guess["c"], data)


def test_bad_predictions_are_named() -> None:
    items = make_items(2)
    with pytest.raises(BadInput, match="model 'm' has no prediction for the item 'i1'"):
        Targeted(ROSTER, {"m": {"i0": 0}}).route(items)
    with pytest.raises(BadInput, match="prediction 9 is not one of its 4 options"):
        Targeted(ROSTER, {"m": {"i0": 0, "i1": 9}}).route(items)
    with pytest.raises(BadInput, match="at least one model"):
        Targeted(ROSTER, {}).route(items)
    with pytest.raises(BadInput, match="unique"):
        Targeted(ROSTER, {"m": {"i0": 0}}).route([items[0], items[0]])
    with pytest.raises(BadInput, match="epsilon"):
        Targeted(ROSTER, {"m": {}}, epsilon=2)
    with pytest.raises(BadInput, match="2 models"):
        Disagreement(ROSTER, {"m": {}})
    with pytest.raises(BadInput, match="no expert judges the option 'brain'"):
        Targeted(Roster((Expert("h", ("heart",)),)), {"m": {"i0": 0, "i1": 1}}).route(items)
    assert Targeted(ROSTER, {"m": {}}).route([]) == []
