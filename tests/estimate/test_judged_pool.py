"""Items sampled from a pool with a judge: estimates cover the whole pool for any judge probabilities."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import oversight as ov
from oversight.harness.arrays import IntArray
from oversight.harness.errors import NotIdentified
from oversight.harness.estimate import JudgeOpinion, RoutedSample, judge_probabilities, synthesise_population
from oversight.harness.estimate.side_information import (
    JUDGED,
    estimate_working,
    heard_working,
    measure_working,
)
from oversight.protocols.collect import SimulatedExperts
from oversight.protocols.routing import Partitioned, Targeted
from tests.estimate.test_judged import (
    IDS,
    ITEMS,
    ROSTER,
    K,
    N,
    Voice,
    as_columns,
    draw,
    know,
    lie,
    reverse,
    rows_of,
    say_one_thing,
)


def pool(
    seed: int, voice: Callable[..., Voice], size: int = 2000
) -> tuple[IntArray, RoutedSample, JudgeOpinion]:
    """A pool of which items were drawn by how unsure a judge is, and asked about the prediction."""
    rng = np.random.default_rng(seed)
    truth, answers = synthesise_population(size, K, [0.7], rng)
    option, sure = voice(truth, rng)
    judge = as_columns(option, sure)
    predicted = answers[:, 0].astype(np.int64)
    p = judge_probabilities([judge], np.full(size, K))[np.arange(size), predicted]
    spread = np.sqrt(p * (1 - p))
    rho = np.minimum(1, 100 * (0.7 * spread / spread.sum() + 0.3 / size))
    drawn = np.flatnonzero(rng.random(size) < rho)
    propensities = rho[:, None] * (np.arange(K) == predicted[:, None])
    right = (truth == predicted)[drawn].astype(np.float64)
    data = RoutedSample(drawn, predicted[drawn], right, propensities, sampled=True)
    return predicted, data, JudgeOpinion.of(judge)


@pytest.mark.parametrize("voice", [know, reverse, lie, say_one_thing])
def test_items_drawn_of_a_pool_by_a_judge_tell_the_whole_pool(voice: Callable[..., Voice]) -> None:
    held, errors = [], []
    for seed in range(40):
        predicted, data, judge = pool(seed, voice)
        estimate = estimate_working(predicted, data, heard_working([judge]))
        held.append(estimate.low <= 0.7 <= estimate.high)
        errors.append(estimate.value - 0.7)
    assert np.mean(held) >= 0.95 - 2.6 * np.sqrt(0.95 * 0.05 / len(held))
    assert abs(np.mean(errors)) < 3 * np.std(errors) / np.sqrt(len(errors))
    if voice is know:
        assert np.var(errors) < 0.7 * 0.3 / 100 / 1.33
    worth = measure_working(predicted, data, heard_working([judge]))
    assert worth is not None
    assert worth.low < worth.value < worth.high
    assert worth.value > 1.3 if voice in (know, reverse) else worth.low < 1.1


def test_chances_of_items_that_were_not_drawn_need_not_be_known() -> None:
    held = []
    for seed in range(40):
        predicted, data, judge = pool(seed, know)
        known = np.isin(np.arange(len(predicted)), data.item)[:, None]
        told = estimate_working(predicted, data, heard_working([judge]))
        unknown = replace(data, propensities=np.where(known, data.propensities, 0.0))
        silent = estimate_working(predicted, unknown, heard_working([judge]))
        assert silent.value == pytest.approx(told.value, abs=1e-9)
        assert silent.high - silent.low == pytest.approx(told.high - told.low, rel=0.25)
        held.append(silent.low <= 0.7 <= silent.high)
    assert np.mean(held) >= 0.95 - 2.6 * np.sqrt(0.95 * 0.05 / len(held))


def test_a_pool_with_clusters_is_refused_by_name() -> None:
    predicted, data, judge = pool(0, know)
    data = replace(data, cluster=np.arange(len(predicted)) // 5)
    with pytest.raises(NotIdentified, match="pool and are also in clusters"):
        estimate_working(predicted, data, heard_working([judge]))


@pytest.mark.parametrize("protocol", ["single", "partitioned"])
@pytest.mark.parametrize("voice", [know, pytest.param(lie, marks=pytest.mark.slow)])
def test_predictions_of_undrawn_items_count(voice: Callable[..., Voice], protocol: str) -> None:
    held, ratios = [], []
    for seed in range(25):
        rng = np.random.default_rng(seed)
        truth, answers = synthesise_population(N, K, [0.7], rng)
        options = {name: int(k) for name, k in zip(IDS, answers[:, 0], strict=True)}
        drawn = [ITEMS[j] for j in rng.choice(N, 60, replace=False)]
        plan: Any = (
            Partitioned(ROSTER, seed) if protocol == "partitioned" else Targeted(ROSTER, {"m": options}, seed)
        )
        said = SimulatedExperts(dict(zip(IDS, truth.tolist(), strict=True))).answer(plan.route(drawn))
        labels = plan.decode(list(said)).drawn_from({item.id: "all" for item in drawn}, pool_size=N)
        judges = {"judge": rows_of(*voice(truth, rng))}
        made = ov.model_accuracies({"m": rows_of(answers[:, 0])}, labels, judges=judges)["m"]
        held.append(made[JUDGED].low <= 0.7 <= made[JUDGED].high)
        main = made["ml" if protocol == "partitioned" else "routed"]
        ratios.append((main.high - main.low) / (made[JUDGED].high - made[JUDGED].low))
    assert np.mean(held) >= 0.95 - 2.6 * np.sqrt(0.95 * 0.05 / len(held))
    assert np.mean(ratios) > (1.05 if voice is know else 0.8)


def test_a_pool_of_which_not_all_items_are_predicted_is_named() -> None:
    models, labels, judge = draw(7, know)
    part = labels.drawn_from(dict.fromkeys(IDS, "all"), pool_size=N + 50)
    made = ov.model_accuracies(models, part, judges={"j": judge})["m0"]
    assert f"{N} of the pool's {N + 50} items have a prediction" in made.undefined[JUDGED]
