"""Experts who answer fewer questions about one option: estimates are corrected, or say that they are not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from oversight.harness import IntArray, NotIdentified
from oversight.harness.columns import align, answering_rates
from oversight.harness.estimate import accuracies, accuracy, compare, growing_accuracy, model_accuracies
from oversight.harness.estimate.evidence import estimate_refusals
from oversight.harness.types import Label, LabelKind, Prediction

K, N, STUDIES = 4, 300, 16


def ask(truth: IntArray, rates: list[float], rng: np.random.Generator) -> list[Label]:
    """One question per item about a uniform option; option k is answered about with probability rates[k]."""
    asked = rng.integers(K, size=len(truth))
    said = rng.random(len(truth)) < np.array(rates)[asked]
    found = []
    for i, (k, t, has) in enumerate(zip(asked.tolist(), truth.tolist(), said.tolist(), strict=True)):
        kind = LabelKind.ORDINARY if k == t else LabelKind.COMPLEMENTARY
        found.append(Label(f"i{i}", k, kind if has else LabelKind.ABSTAINED, K, 1 / K, f"expert {k}"))
    return found


def predict(options: IntArray) -> list[Prediction]:
    return [Prediction(f"i{i}", option) for i, option in enumerate(options.tolist())]


def draw(seed: int, n: int = N) -> tuple[IntArray, dict[str, IntArray]]:
    """Truth, and a model that always answers 0, one that leans to it, and one better at some classes."""
    rng = np.random.default_rng([seed, 11])
    truth = rng.integers(K, size=n)
    other = (truth + 1 + rng.integers(K - 1, size=n)) % K
    uneven = np.where(rng.random(n) < np.array([0.9, 0.6, 0.5, 0.4])[truth], truth, other)
    leaning = np.where(rng.random(n) < 0.6, truth, 0)
    return truth, {"constant": np.zeros(n, np.int64), "leaning": leaning, "uneven": uneven}


TRUE = {"constant": 0.25, "leaning": 0.7, "uneven": 0.6}


@pytest.mark.slow
@pytest.mark.parametrize("rate", [0.2, 0.9])
def test_intervals_hold_where_one_option_is_seldom_answered_about(rate: float) -> None:
    held: dict[str, list[bool]] = {"ml": [], "assisted": [], "compare": []}
    gaps: dict[str, list[float]] = {name: [] for name in TRUE}
    for seed in range(STUDIES):
        truth, models = draw(seed)
        labels = ask(truth, [rate, 1, 1, 1], np.random.default_rng([seed, 12]))
        predictions = {name: predict(options) for name, options in models.items()}
        for name, found in model_accuracies(predictions, labels).items():
            for estimator in ("ml", "assisted"):
                e = found[estimator]
                assert "about one option" not in e.why
                assert any(flag.startswith("answering_rates") for flag in e.flags)
                held[estimator].append(e.low <= TRUE[name] <= e.high)
            gaps[name].append(found["ml"].value - TRUE[name])
        for pair in compare(predictions, labels).pairs:
            difference = TRUE[pair.first] - TRUE[pair.second]
            held["compare"].append(pair.low <= difference <= pair.high)
    for outcomes in held.values():
        assert np.mean(outcomes) > 0.95 - 3 * np.sqrt(0.05 * 0.95 / STUDIES)
    for name in TRUE:
        assert abs(np.mean(gaps[name])) < 4 * np.std(gaps[name]) / np.sqrt(STUDIES)


def test_estimates_that_are_not_corrected_say_so() -> None:
    truth, models = draw(1)
    labels = ask(truth, [0.2, 1, 1, 1], np.random.default_rng(2))
    predictions = predict(models["leaning"])
    found = accuracies(predictions, labels, anytime=0.95)
    assert "have no yes or no" in found["ml"].why
    assert "about one option" not in found["ml"].why
    assert found["worst_case"].holds
    for name in ("ord", "comp", "ivw", "ivw_half", "anytime"):
        assert "of the questions about one option" in found[name].why
    assert not accuracy(predictions, labels, interval="score").holds
    assert "about one option" in accuracy(predictions, labels, estimator="comp").why
    models_ = {name: predict(options) for name, options in models.items()}
    assert all("about one option" in p.why for p in compare(models_, labels, test="sign").pairs)


@pytest.mark.parametrize("rate", [0.6, 1.0])
def test_equal_rates_change_nothing(rate: float) -> None:
    changed = 0
    for seed in range(60):
        truth, models = draw(seed, 120)
        labels = ask(truth, [rate] * K, np.random.default_rng([seed, 13]))
        found = accuracy(predict(models["leaning"]), labels, checks=False)
        assert "about one option" not in found.why
        assert found.holds is (rate == 1)
        changed += found.interval != "exact"
        answered = [label for label in labels if label.kind is not LabelKind.ABSTAINED]
        if found.interval == "exact":
            plain = accuracy(predict(models["leaning"]), answered, checks=False)
            assert (plain.value, plain.low, plain.high) == (found.value, found.low, found.high)
    assert changed <= (0 if rate == 1 else 9)


def test_questions_that_are_several_per_item_are_not_corrected() -> None:
    truth, models = draw(3, 400)
    labels = ask(truth, [0.2, 1, 1, 1], np.random.default_rng(3))
    twice = [replace(label, propensity=0.5) for label in labels]
    twice += [
        Label(x.item_id, k, LabelKind.ORDINARY if k == t else LabelKind.COMPLEMENTARY, K, 0.5, f"expert {k}")
        for x, t in zip(labels, truth.tolist(), strict=True)
        for k in ((x.option + 1) % K,)
        if k
    ]
    assert "about one option" in accuracy(predict(models["uneven"]), twice).why


def test_an_accuracy_is_withheld_if_several_options_have_no_answer() -> None:
    truth, models = draw(4)
    labels = ask(truth, [0.0, 0.0, 1, 1], np.random.default_rng(4))
    with pytest.raises(NotIdentified):
        accuracy(predict(models["uneven"]), labels)
    assert "ml" in accuracies(predict(models["uneven"]), labels).undefined


def test_items_that_all_have_an_answer_take_the_rates_of_the_study() -> None:
    truth, models = draw(6, 900)
    labels = ask(truth, [0.2, 1, 1, 1], np.random.default_rng(6))
    said = [label for label in labels if label.kind is not LabelKind.ABSTAINED]
    known = {label.item_id for label in said}
    predictions, columns = align([p for p in predict(models["constant"]) if p.item_id in known], said)
    answered = replace(columns, rates=answering_rates([225] * 4, [45, 225, 225, 225]))
    found = accuracy(predictions, answered, estimator="ml")
    assert found.low <= 0.25 <= found.high
    assert found.holds
    assert found.flags == ("answering_rates: 20% and 100%",)
    assert "about one option" in accuracy(predictions, answered, estimator="comp").why


@pytest.mark.parametrize("rate", [0.2, 0.7])
def test_items_with_only_a_no_are_weighted_by_the_rates_of_the_study(rate: float) -> None:
    held, gaps = [], []
    for seed in range(60):
        truth, models = draw(seed, 400)
        labels = ask(truth, [rate, 1, 1, 1], np.random.default_rng([seed, 14]))
        asked = np.bincount([x.option for x in labels], minlength=K)
        answered = np.bincount([x.option for x in labels if x.kind is not LabelKind.ABSTAINED], minlength=K)
        said = [x for x in labels if x.kind is LabelKind.COMPLEMENTARY]
        known = {x.item_id for x in said}
        for name in ("constant", "leaning"):
            part = [p for p in predict(models[name]) if p.item_id in known]
            predictions, columns = align(part, said)
            found = accuracy(predictions, replace(columns, rates=answering_rates(asked, answered)))
            assert found.holds
            assert found.interval.startswith("weighted-refusals")
            held.append(found.low <= TRUE[name] <= found.high)
            gaps.append(found.value - TRUE[name])
    assert np.mean(held) > 0.95 - 3 * np.sqrt(0.05 * 0.95 / len(held))
    assert abs(np.mean(gaps)) < 4 * np.std(gaps) / np.sqrt(len(gaps))


def test_refusals_of_each_option_are_needed() -> None:
    predicted = np.array([0, 1, -1, 2, 3] * 4)
    refused = np.array([1, 0, 2, 3, 2] * 4)
    found = estimate_refusals(predicted, refused, np.array([1.0, 0.5, 1.0, 1.0]), 0.95)
    assert 0 <= found.low <= found.clipped <= found.high <= 1
    assert found.interval == "weighted-refusals+share"
    with pytest.raises(NotIdentified, match="no item has a no about option 3"):
        estimate_refusals(predicted, refused % 3, np.ones(K), 0.95)


def test_learning_curve_ends_at_the_estimate() -> None:
    truth, models = draw(7)
    predictions, labels = align(
        predict(models["leaning"]), ask(truth, [0.2, 1, 1, 1], np.random.default_rng(7))
    )
    *_, (number, last) = growing_accuracy(predictions, labels, 4)
    assert number == len(labels)
    assert last.value == pytest.approx(accuracy(predictions, labels).value)


def test_rates_that_differ_by_chance_are_replaced_by_the_common_rate() -> None:
    assert answering_rates([40, 40, 3], [38, 39, 0]).tolist() == [77 / 83] * 3
    assert answering_rates([40, 40], [40, 40]).tolist() == [1.0, 1.0]
    assert answering_rates([], []).tolist() == []
    assert answering_rates([100, 100, 3], [100, 50, 0]).tolist() == [1.0, 0.5, 150 / 203]
