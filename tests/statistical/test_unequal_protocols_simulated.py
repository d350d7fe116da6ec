"""Items drawn with unequal chances: estimates of every protocol, differences, votes, and looks hold."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import oversight as ov
from oversight.harness.arrays import FloatArray, IntArray
from oversight.harness.columns import share_of_draw
from oversight.harness.estimate import chances_by_deviation, draw_with_chances
from oversight.harness.estimate.anytime import DrawnAnswers, draw_betting_sequence, draw_wealth
from oversight.harness.types import Answer, Item, Labels, Prediction, PredictionStatus
from oversight.protocols.collect import SimulatedExperts
from oversight.protocols.routing import Partitioned, Sequential, Targeted, one_expert_per_class

pytestmark = [pytest.mark.statistical, pytest.mark.slow]
DRAWS = 25
LEAST = 0.86
PLANS: dict[str, Callable[..., Any]] = {
    "partitioned": lambda roster, options, seed: Partitioned(roster, seed),
    "targeted": Targeted,
    "sequential": Sequential,
}


def collect(plan: Any, items: list[Item], truth: dict[str, int]) -> Labels:
    experts, answers = SimulatedExperts(truth), list[Answer]()
    waiting = plan.route(items)
    drawn = list(waiting)
    while waiting:
        answers += experts.answer(waiting)
        waiting = plan.next_questions(items, answers) if plan.statement.asks_on else []
        drawn += waiting
    return ov.decode(answers, drawn)


def draw_study(
    protocol: str, K: int, accuracies: tuple[float, ...], size: int, number: int, sign: int, seed: int
) -> tuple[Labels, list[IntArray], IntArray, IntArray]:
    """Labels, every model's options, the truth and the items drawn, those that seem hard (or easy) most."""
    rng = np.random.default_rng([seed, K, size])
    truth, hard = rng.integers(K, size=size), rng.random(size)
    options = []
    for accuracy in accuracies:
        p = np.clip(accuracy + (hard - 0.5) * 2 * min(accuracy, 1 - accuracy), 0, 1)
        wrong = (truth + rng.integers(1, K, size=size)) % K
        options.append(np.where(rng.random(size) < p, truth, wrong))
    options[0][rng.random(size) < 0.03] = -1
    right: FloatArray = np.clip(hard if sign > 0 else 1 - hard, 0.02, 0.98)
    chances = chances_by_deviation(np.sqrt(right * (1 - right)), number)
    places = draw_with_chances(chances, right, rng)
    classes = tuple(f"class {k}" for k in range(K))
    items = [Item(f"i{j}", "t", classes, tuple(range(K))) for j in places.tolist()]
    named = {
        f"m{m}": {f"i{j}": None if k < 0 else int(k) for j, k in enumerate(each.tolist())}
        for m, each in enumerate(options)
    }
    plan = PLANS[protocol](one_expert_per_class(classes), named, seed)
    labels = collect(plan, items, {f"i{j}": int(k) for j, k in enumerate(truth.tolist())})
    weights = dict(zip([item.id for item in items], (1 / chances[places]).tolist(), strict=True))
    return (
        labels.drawn_from(dict.fromkeys(weights, "all"), pool_size=size, weights=weights),
        options,
        truth,
        places,
    )


def predict(item: int, option: int) -> Prediction:
    if option < 0:
        return Prediction(f"i{item}", None, PredictionStatus.UNREADABLE)
    return Prediction(f"i{item}", option)


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize(
    ("K", "accuracies", "size", "number"),
    [
        (4, (0.7, 0.6), 1000, 150),
        (2, (0.97, 0.9), 600, 60),
        (10, (0.3, 0.35), 800, 150),
        (3, (0.99, 0.97), 600, 80),
    ],
)
@pytest.mark.parametrize("protocol", PLANS)
def test_weighted_estimates_hold(
    protocol: str, K: int, accuracies: tuple[float, ...], size: int, number: int, sign: int
) -> None:
    held: dict[str, list[bool]] = {}
    for seed in range(DRAWS):
        labels, options, truth, places = draw_study(protocol, K, accuracies, size, number, sign, seed)
        rows = {
            f"m{m}": [predict(j, k) for j, k in enumerate(each.tolist())] for m, each in enumerate(options)
        }
        drawn = {f"i{j}" for j in places.tolist()}
        exact = [float((each == truth).mean()) for each in options]
        found = ov.model_accuracies(rows, labels)["m0"]
        for name in ("resolved", "routed", "assisted"):
            if name in found:
                held.setdefault(name, []).append(
                    found[name].low - 1e-9 <= exact[0] <= found[name].high + 1e-9
                )
        if protocol != "sequential":
            inside = {name: [p for p in each if p.item_id in drawn] for name, each in rows.items()}
            pair = ov.compare(inside, labels).pairs[0]
            difference = exact[0] - exact[1]
            held.setdefault("pair", []).append(pair.low - 1e-9 <= difference <= pair.high + 1e-9)
    assert held
    for name, each in held.items():
        assert np.mean(each) >= LEAST, name


@pytest.mark.parametrize(
    ("K", "accuracy", "size", "batches", "certain"),
    [
        (4, 0.7, 300, (50, 50), False),
        (2, 0.95, 200, (30, 30, 30), True),
        (3, 0.02, 200, (40, 40), True),
    ],
)
def test_all_interim_intervals_cover_together_if_later_draws_use_answers(
    K: int, accuracy: float, size: int, batches: tuple[int, ...], *, certain: bool
) -> None:
    held = [look(K, accuracy, size, batches, seed, certain=certain) for seed in range(DRAWS)]
    assert np.mean(held) >= LEAST


def look(K: int, accuracy: float, size: int, batches: tuple[int, ...], seed: int, *, certain: bool) -> bool:
    """Whether every one of several looks holds, later draws going where the model seems wrong."""
    rng = np.random.default_rng([seed, K, size])
    hard = rng.random(size)
    truth = rng.random(size) < np.clip(accuracy + (hard - 0.5) * 1.4 * min(accuracy, 1 - accuracy), 0, 1)
    rest, past, right, wrong, said, held = np.arange(size), list[DrawnAnswers](), 0, 0, list[bool](), True
    for number in batches:
        guess = np.where(hard > np.mean(said), 0.5, 0.97) if said else np.clip(hard, 0.05, 0.95)
        most = share_of_draw(number, size - len(rest), len(rest), size)
        chances = chances_by_deviation(np.sqrt(guess * (1 - guess))[rest], number, most=most)
        places = rng.permutation(draw_with_chances(chances, guess[rest], rng))
        items, scale = rest[places], number / (len(rest) * chances[places])
        own = np.ones(number, np.bool_) if certain else rng.integers(K, size=number) == 0
        yes = np.where(own, truth[items], ~truth[items] & (rng.random(number) < 1 / max(1, K - 1)))
        for seen in np.linspace(number // 5, number, 4).astype(int).tolist():
            now = DrawnAnswers(
                n_options=np.full(seen, 1 if certain else K),
                readable=np.ones(seen, np.bool_),
                own=own[:seen],
                yes=yes[:seen],
                scale=scale[:seen],
                largest={1 if certain else K: float(scale.max())},
                remaining=len(rest),
                known_right=right,
                known_wrong=wrong,
            )
            found = draw_betting_sequence([*past, now])
            held &= found.low - 1e-9 <= truth.mean() <= found.high + 1e-9
            # Each of the two bets may use half of the error, so its wealth must stay below 40.
            held &= max(draw_wealth([*past, now], float(truth.mean()))) < 40
        past.append(now)
        right, wrong = right + int((own & yes).sum()), wrong + int((own != yes).sum())
        said += yes.tolist()
        rest = np.setdiff1d(rest, items)
    return held
