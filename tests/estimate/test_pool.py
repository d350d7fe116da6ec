"""From stored labels to pools: what is missing, passed over or unresolved must not bend an estimate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest

from oversight.harness import EstimateError, IntArray, NotIdentified
from oversight.harness.estimate import RoutedSample, accuracies, accuracy, decode
from oversight.harness.estimate.routed_means import routed_accuracy
from oversight.harness.types import Answer, Item, Label, LabelKind, Labels, Prediction, PredictionStatus
from oversight.protocols.collect import SimulatedExperts
from oversight.protocols.routing import Sequential, Targeted, one_expert_per_class
from tests.records import resolved_correctness, routed_pool

CLASSES = ("red", "green", "blue", "black")
ROSTER = one_expert_per_class(CLASSES)


def study(
    seed: int, n: int, *rates: float, unreadable: float = 0.0
) -> tuple[list[Item], dict[str, int], dict[str, dict[str, int | None]]]:
    """Items, their truth, and models of given accuracy on the readable part."""
    rng = np.random.default_rng(seed)
    items = [Item(f"i{j}", "t", CLASSES, (0, 1, 2, 3)) for j in range(n)]
    truth = {item.id: int(rng.integers(4)) for item in items}
    models: dict[str, dict[str, int | None]] = {}
    for m, rate in enumerate(rates):
        right = rng.random(n) < rate
        none = rng.random(n) < unreadable
        models[f"m{m}"] = {
            i.id: None if none[j] else (truth[i.id] + (0 if right[j] else int(rng.integers(1, 4)))) % 4
            for j, i in enumerate(items)
        }
    return items, truth, models


def predictions(options: Mapping[str, int | None]) -> list[Prediction]:
    return [
        Prediction(item, k) if k is not None else Prediction(item, None, PredictionStatus.UNREADABLE, "none")
        for item, k in options.items()
    ]


def _pool(labels: Labels, answered: list[Prediction], asked: set[str]) -> tuple[IntArray, RoutedSample]:
    data, predicted, _ = routed_pool(labels, [answered], asked)
    return predicted[:, 0], data


def targeted(seed: int, n: int, share: float) -> tuple[list[Prediction], Labels, set[str]]:
    """A targeted study of which only a share of the questions has been answered yet."""
    items, truth, models = study(seed, n, 0.8, unreadable=0.25)
    questions = Targeted(ROSTER, models, seed=seed).route(items)
    answers = SimulatedExperts(truth).answer(questions)
    keep = np.random.default_rng([seed, 1]).random(len(answers)) < share
    labels = decode(a for a, here in zip(answers, keep, strict=True) if here)
    return predictions(models["m0"]), labels, {q.item_id for q in questions}


def sequential(seed: int, abstention: float) -> tuple[np.ndarray[tuple[int, ...], np.dtype[np.int64]], float]:
    items, truth, models = study(seed, 200, 0.7, 0.6)
    plan = Sequential(ROSTER, models, seed=seed)
    experts = SimulatedExperts(truth, abstention=abstention, seed=seed)
    answers: list[Answer] = []
    while new := [
        q for q in plan.next_questions(items, answers) if q.id not in {a.question.id for a in answers}
    ]:
        answers += experts.answer(new)
    rows = [predictions(options) for options in models.values()]
    found = resolved_correctness(decode(answers), rows, {a.question.item_id for a in answers})
    assert found.items.tolist() == list(range(len(items)))
    return found.correct, float(np.mean([models["m0"][i.id] == truth[i.id] for i in items]))


def test_without_abstention_correctness_is_exact() -> None:
    known, right = sequential(3, abstention=0.0)
    assert known[:, 0].mean() == right


def test_plain_list_of_weighted_labels_is_refused() -> None:
    items, truth, models = study(1, 60, 0.8, 0.6)
    questions = Targeted(ROSTER, models).route(items)
    labels = decode(SimulatedExperts(truth).answer(questions))
    answered = predictions(models["m0"])
    for call in (accuracy, accuracies):
        with pytest.raises(
            NotIdentified, match="use routed_pool, then routed_accuracy, which weight answers"
        ):
            call(answered, list(labels))
    data, predicted, rows = routed_pool(labels, [answered], {q.item_id for q in questions})
    assert [models["m0"][item] for item in rows] == predicted[:, 0].tolist()
    by_hand = routed_accuracy(predicted[:, 0], data)
    found = accuracy(answered, labels)
    assert (found.value, found.low, found.high) == (by_hand.value, by_hand.low, by_hand.high)
    assert accuracies(answered, labels) == {"routed": found}
    assert found.assumptions == Targeted.statement.assumptions


def test_a_plain_list_may_not_leave_unreadable_predictions_out_but_a_design_counts_them() -> None:
    answered, labels, asked = targeted(1, 60, 1.0)
    with pytest.raises(NotIdentified, match="no question was about them"):
        accuracy(answered, list(labels))
    whole = Labels(labels, replace(labels.design, asked=frozenset(asked)))
    assert accuracy(answered, whole).value == routed_accuracy(*_pool(labels, answered, asked)).value
    readable = [p for p in answered if p.option is not None]
    assert accuracy(readable, list(labels)).interval == "blaker"
    # If all predictions are readable by chance, known truths need no pool.
    known = [
        Label(p.item_id, (p.option or 0) if j else 3, LabelKind.ORDINARY, 4, 1.0)
        for j, p in enumerate(readable)
    ]
    assert accuracy(answered, known).value < 1


def test_items_that_are_not_resolved_are_named() -> None:
    rows = [[Prediction("a", 0)], [Prediction("a", 1)]]
    label = Label("a", 0, LabelKind.COMPLEMENTARY, 4, 1.0)
    with pytest.raises(EstimateError, match=r"1 of 1 items, such as 'a', are not resolved yet"):
        resolved_correctness([label], rows, {"a"})
