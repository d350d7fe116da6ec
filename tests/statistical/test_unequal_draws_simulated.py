"""Items drawn by how unsure a judge is, at once or learning from answers: no judge bends an estimate."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest

import oversight as ov
from oversight.harness.arrays import FloatArray, IntArray
from oversight.harness.columns import ItemIndex, PredictionColumns, share_of_draw, weigh_draws
from oversight.harness.estimate import (
    AnswersSoFar,
    JudgeOpinion,
    chances_by_deviation,
    draw_with_chances,
    guess_by_judges,
    next_option,
    split_by_agreement,
)
from oversight.harness.estimate.side_information import JUDGED
from oversight.harness.types import Item, Labels, Prediction
from oversight.protocols.collect import SimulatedExperts
from oversight.protocols.routing import Targeted, one_expert_per_class

pytestmark = pytest.mark.statistical
Voice = tuple[IntArray, FloatArray]
DRAWS = 20


def know(truth: IntArray, predicted: IntArray, K: int, rng: np.random.Generator) -> Voice:
    signs = rng.normal(size=(len(truth), K)) + 2.0 * (np.arange(K) == truth[:, None])
    weight = np.exp(2.0 * signs)
    p = weight / weight.sum(axis=1, keepdims=True)
    return p.argmax(axis=1), p.max(axis=1)


def reverse(truth: IntArray, predicted: IntArray, K: int, rng: np.random.Generator) -> Voice:
    option, sure = know(truth, predicted, K, rng)
    return option, 1 - sure


def lie(truth: IntArray, predicted: IntArray, K: int, rng: np.random.Generator) -> Voice:
    return (truth + 1) % K, rng.random(len(truth))


def side_with_errors(truth: IntArray, predicted: IntArray, K: int, rng: np.random.Generator) -> Voice:
    """Sure of every wrong answer of the model, and of another where it is right."""
    return np.where(predicted == truth, (truth + 1) % K, predicted), 0.95 + 0.04 * rng.random(len(truth))


def say_one_thing(truth: IntArray, predicted: IntArray, K: int, rng: np.random.Generator) -> Voice:
    return np.zeros(len(truth), np.int64), np.full(len(truth), 0.9)


def collect(
    predicted: IntArray, truth: IntArray, voice: Voice, K: int, batches: Sequence[int], seed: int
) -> Labels:
    """Draws by deviation, each learned from those before it, every item drawn asked about and answered."""
    size, rng = len(truth), np.random.default_rng([seed, 7])
    judge = JudgeOpinion.of(
        PredictionColumns(
            index=ItemIndex.of([f"i{j}" for j in range(size)]), option=voice[0], confidence=voice[1]
        )
    )
    drawn: IntArray = np.zeros(0, np.int64)
    chance: FloatArray = np.zeros(0)
    batch: IntArray = np.zeros(0, np.int64)
    for number, wanted in enumerate(batches, start=1):
        yes = (predicted == truth)[drawn].astype(np.float64)
        answers = AnswersSoFar(item=drawn, asked=predicted[drawn], answer=yes) if drawn.size else None
        rest = np.setdiff1d(np.arange(size), drawn)
        right = guess_by_judges(predicted[:, None], [judge], np.full(size, K), answers)[rest, 0]
        most = share_of_draw(wanted, drawn.size, rest.size, size)
        chances = chances_by_deviation(np.sqrt(right * (1 - right)), wanted, most=most)
        places = draw_with_chances(chances, right, rng)
        drawn, chance = np.append(drawn, rest[places]), np.append(chance, chances[places])
        batch = np.append(batch, np.full(wanted, number))
    classes = tuple(f"class {k}" for k in range(K))
    items = [Item(f"i{j}", "t", classes, tuple(range(K))) for j in drawn.tolist()]
    options = {"m": {f"i{j}": int(k) for j, k in enumerate(predicted.tolist())}}
    plan = Targeted(one_expert_per_class(classes), options, seed)
    experts = SimulatedExperts({f"i{j}": int(k) for j, k in enumerate(truth.tolist())})
    labels = plan.decode(list(experts.answer(plan.route(items))))
    weights = dict(zip([i.id for i in items], weigh_draws(chance, batch, size).tolist(), strict=True))
    return labels.drawn_from(dict.fromkeys(weights, "all"), pool_size=size, weights=weights)


@pytest.mark.slow
@pytest.mark.parametrize("voice", [know, reverse, lie, side_with_errors, say_one_thing])
@pytest.mark.parametrize(
    ("K", "accuracy", "size", "batches"),
    [
        (4, 0.7, 400, (60,)),
        pytest.param(16, 0.3, 300, (25, 25), marks=pytest.mark.slow),
        pytest.param(2, 0.97, 300, (30, 30), marks=pytest.mark.slow),
        pytest.param(2, 0.5, 60, (12,), marks=pytest.mark.slow),
        pytest.param(4, 0.6, 50, (15, 15, 15), marks=pytest.mark.slow),
    ],
)
def test_draw_by_any_judge_leaves_estimates_unbiased(
    voice: Callable[..., Voice], K: int, accuracy: float, size: int, batches: Sequence[int]
) -> None:
    errors, held, widths = [], [], []
    for seed in range(DRAWS):
        rng = np.random.default_rng([seed, K, size])
        truth = rng.integers(K, size=size)
        wrong = (truth + rng.integers(1, K, size=size)) % K
        predicted = np.where(rng.random(size) < accuracy, truth, wrong)
        said = voice(truth, predicted, K, rng)
        labels = collect(predicted, truth, said, K, batches, seed)
        rows = [Prediction(f"i{j}", int(k)) for j, k in enumerate(predicted.tolist())]
        judge = [
            Prediction(f"i{j}", int(k), confidence=float(p))
            for j, (k, p) in enumerate(zip(*said, strict=True))
        ]
        found = ov.model_accuracies({"m": rows}, labels, judges={"judge": judge})["m"]
        exact = float((predicted == truth).mean())
        both = [found["routed"], found[JUDGED]]
        errors.append([e.value - exact for e in both])
        held.append([e.low - 1e-9 <= exact <= e.high + 1e-9 for e in both])
        widths.append([e.high - e.low for e in both])
    for column in range(2):
        assert np.mean(held, axis=0)[column] >= 0.95 - 2.6 * np.sqrt(0.95 * 0.05 / DRAWS)
    bias, spread = np.mean(errors, axis=0), np.std(errors, axis=0) / np.sqrt(DRAWS)
    # If errors hardly vary, allow a bias that is small compared with the width.
    assert (np.abs(bias) < 3.5 * spread + 0.1 * np.mean(widths, axis=0)).all()
    if voice is know and sum(batches) >= 45:  # with fewer answers, little is known about the value of votes
        assert np.mean(widths, axis=0)[1] < np.mean(widths, axis=0)[0]


def test_probabilities_are_as_recorded_and_joint_weights_represent_the_pool() -> None:
    rng = np.random.default_rng(5)
    deviation = np.concatenate([np.zeros(30), rng.random(60), np.full(10, 40.0)])
    truth, times, sums = rng.random(100), np.zeros(100), []
    for seed in range(3_000):
        draws = np.random.default_rng(seed)
        first = chances_by_deviation(deviation, 12, most=share_of_draw(12, 0, 100, 100))
        assert first.sum() == pytest.approx(12)
        assert 0.25 * 0.12 - 1e-9 <= first.min() <= first.max() <= 1
        drawn = draw_with_chances(first, deviation, draws)
        assert len(set(drawn.tolist())) == 12
        times[drawn] += 1
        rest = np.setdiff1d(np.arange(100), drawn)
        # the second draw depends on the first one's results
        again = np.abs(truth[rest] - truth[drawn].mean()) + 0.01
        second = chances_by_deviation(again, 20, most=share_of_draw(20, 12, 88, 100))
        places = draw_with_chances(second, again, draws)
        chance = np.concatenate([first[drawn], second[places]])
        weight = weigh_draws(chance, np.repeat([1, 2], [12, 20]), 100)
        assert weight.min() >= 1
        items = np.concatenate([drawn, rest[places]])
        sums.append([weight.sum(), weight @ truth[items]])
    assert np.abs(times / 3_000 - first).max() < 4.5 * np.sqrt(0.25 / 3_000)
    off = np.mean(sums, axis=0) - [100, truth.sum()]
    assert (np.abs(off) < 3.5 * np.std(sums, axis=0) / np.sqrt(3_000)).all()


def test_uniform_draws_weigh_items_equally() -> None:
    batch = np.repeat([1, 2, 3], [10, 25, 5])
    assert weigh_draws(np.full(40, np.nan), batch, 200) == pytest.approx(np.full(40, 5.0))
    assert weigh_draws(np.full(40, np.nan), batch, 40) == pytest.approx(np.ones(40))
    assert chances_by_deviation(np.zeros(8), 3) == pytest.approx(np.full(8, 3 / 8))
    assert chances_by_deviation(np.arange(8).astype(np.float64), 8) == pytest.approx(np.ones(8))


def test_the_last_digits_of_guesses_change_no_draw() -> None:
    """Processors differ in them."""
    rng = np.random.default_rng(2)
    right = rng.integers(1, 5, size=(400, 2)) / 7
    noisy = right * (1 + rng.uniform(-1e-14, 1e-14, size=right.shape))
    assert split_by_agreement(right, 100).tolist() == split_by_agreement(noisy, 100).tolist()
    chance = np.full(400, 0.25)
    drawn = [draw_with_chances(chance, each[:, 0], np.random.default_rng(3)) for each in (right, noisy)]
    assert drawn[0].tolist() == drawn[1].tolist()
    posterior = np.array([0.3, 0.3 * (1 + 1e-14), 0.4 - 3e-15])
    assert next_option([1, 0], posterior.tolist(), {}) == next_option([1, 0], [0.3, 0.3, 0.4], {}) == 0
