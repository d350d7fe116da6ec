"""Plans from a pilot with several numbers of options, missing answers or unreadable predictions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import oversight as ov

OF = {True: ov.LabelKind.ORDINARY, False: ov.LabelKind.COMPLEMENTARY}


def ask(n: int, seed: int, accuracy: float = 0.6) -> tuple[list[ov.Prediction], list[ov.Label]]:
    """Simulate a model that is equally accurate on items with 2 and with 20 options, and a random draw."""
    rng = np.random.default_rng(seed)
    K = rng.choice([2, 20], size=n)
    truth, asked, slip = ((rng.random(n) * k).astype(int) for k in (K, K, K - 1))
    said = np.where(rng.random(n) < accuracy, truth, (truth + 1 + slip) % K)
    rows = zip(*(x.tolist() for x in (K, truth, asked)), strict=True)
    labels = [
        ov.Label(f"i{j}", option, OF[option == right], n_options=k, propensity=1 / k)
        for j, (k, right, option) in enumerate(rows)
    ]
    return [ov.Prediction(f"i{j}", int(k)) for j, k in enumerate(said)], labels


def test_planned_width_is_reached_by_items_with_different_numbers_of_options() -> None:
    found = [ov.accuracy(*ask(500, 100 + seed), checks=False) for seed in range(25)]
    half = np.array([(one.high - one.low) / 2 for one in found])
    plans = [
        ov.plan_from_pilot({"m": model}, labels, questions=500).rows[0]
        for model, labels in (ask(400, seed) for seed in range(1, 5))
    ]
    assert np.mean([half <= row.half_width for row in plans]) >= 0.8
    expected = float(np.mean([row.half_width_expected or 0 for row in plans]))
    assert expected == pytest.approx(half.mean(), rel=0.05)


def test_plan_names_missing_answers() -> None:
    model, labels = ask(200, 2)
    silent = [replace(label, kind=ov.LabelKind.ABSTAINED) for label in labels[:6]]
    made = ov.plan_from_pilot({"m": model}, [*silent, *labels[6:]], half_width=0.2)
    assert "6 of 200 questions have no yes or no" in str(made)
    assert "no yes or no" not in str(ov.plan_from_pilot({"m": model}, labels, half_width=0.2))


def test_plan_for_unreadable_predictions_gives_the_reason() -> None:
    _, labels = ask(200, 2)
    model = [ov.Prediction(label.item_id, None, ov.PredictionStatus.UNREADABLE) for label in labels]
    assert "all 200 predictions for answered items are unreadable" in str(
        ov.plan_from_pilot({"m": model}, labels, half_width=0.2)
    )
