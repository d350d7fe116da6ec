"""Measure savings and coverage with simulated judges of known quality and real predictions.

A judge receives a noisy signal for every option, with a larger mean for the true option, and computes its
probabilities from the signals. The strength of signals is chosen such that the mean area under the ROC curve
(AUC) for "this model's answer is right" has a given value. Other judges reverse their probabilities, lie, or
give every item the same probabilities.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

import oversight as ov
from benchmarks._real_predictions import ROSTER, Pool, Seen, collect, predictions
from oversight.harness.columns import ItemIndex, PredictionColumns, share_of_draw, weigh_draws
from oversight.harness.estimate import (
    AnswersSoFar,
    JudgeOpinion,
    RoutedSample,
    chances_by_deviation,
    draw_with_chances,
    guess_by_judges,
)
from oversight.harness.estimate.side_information import estimate_working, heard_working
from oversight.harness.types import Prediction
from oversight.protocols.routing import Partitioned

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
DRAWS = {"pool": (), "deviation": (1.0,), "learned": (1 / 3, 2 / 3)}
"""Shares of the questions in successive draws by the judge's uncertainty; () is one uniform draw."""
JUDGES = {"auc .80": 0.8, "auc .93": 0.93, "reversed": 0.93, "lying": 0.93, "constant": 0.5}


def listen(pool: Pool, kind: str, seed: int) -> tuple[IntArray, FloatArray]:
    """Return a judge's most probable option of each item, and its probability, shape (N,) each."""
    rng = np.random.default_rng([11, seed])
    option, sure = _judge(pool.truth, pool.n_options, _strength(JUDGES[kind], pool), rng)
    if kind == "reversed":
        return option, 1 - sure
    if kind == "lying":
        return np.where(option == pool.truth, (option + 1) % pool.n_options, option), sure
    if kind == "constant":
        return np.zeros_like(option), np.full_like(sure, 0.9)
    return option, sure


def judge_pool(pool: Pool, kind: str, questions: int, draws: int, *, shares: Sequence[float]) -> Seen:
    """Simulate studies of one model on items drawn from a pool, as ``label route`` draws them.

    The plain estimate uses a simple random sample of the same size, whose variance is known exactly.
    """
    seen, index = Seen(), ItemIndex.of([item.id for item in pool.items])
    for seed, (name, predicted) in enumerate(list(pool.models.items()) * -(-draws // len(pool.models))):
        if seed == draws:
            break
        option, sure = listen(pool, kind, seed)
        columns = PredictionColumns(index=index, option=option, confidence=sure)
        judge, rng = JudgeOpinion.of(columns), np.random.default_rng([12, seed])
        sizes = [round(questions * share) for share in shares]
        data = _draw(pool, predicted, judge, sizes, rng) if sizes else _take(pool, predicted, questions, rng)
        estimate = estimate_working(predicted, data, heard_working([judge]))
        exact = pool.exact[name]
        unit = exact * (1 - exact) / questions
        seen.add(unit**0.5, estimate, exact, _area(pool, name, option, sure), unit)
    return seen


def judge_uniform(pool: Pool, kind: str, items: int, draws: int) -> Seen:
    """Simulate studies that ask about one random option per item, and estimate with the public functions."""
    seen, names = Seen(), list(pool.models)
    for seed in range(draws):
        rng = np.random.default_rng([13, seed])
        places = rng.choice(len(pool.items), items, replace=False)
        option, sure = listen(pool, kind, seed)
        chosen = [pool.items[j] for j in places]
        labels = collect(Partitioned(ROSTER, seed), chosen, pool.key)
        rows = zip(chosen, option[places].tolist(), sure[places].tolist(), strict=True)
        judge = [Prediction(item.id, k, confidence=p) for item, k, p in rows]
        name = names[seed % len(names)]
        known = {name: predictions(chosen, pool.options[name])}
        made = ov.model_accuracies(known, labels, judges={"judge": judge})[name]
        exact = pool.exact[name]
        seen.add(made["ml"].value - exact, made["judged"], exact, _area(pool, name, option, sure))
    return seen


def _draw(
    pool: Pool, predicted: IntArray, judge: JudgeOpinion, sizes: Sequence[int], rng: np.random.Generator
) -> RoutedSample:
    """Draw items by the judge's uncertainty about the prediction; each draw uses earlier draws' answers."""
    size = len(predicted)
    drawn: IntArray = np.zeros(0, np.int64)
    chance: FloatArray = np.zeros(0)
    batch: IntArray = np.zeros(0, np.int64)
    for number, wanted in enumerate(sizes, start=1):
        said = drawn[predicted[drawn] >= 0]
        yes = (predicted == pool.truth)[said].astype(np.float64)
        answers = AnswersSoFar(item=said, asked=predicted[said], answer=yes) if len(drawn) else None
        rest = np.setdiff1d(np.arange(size), drawn)
        right = guess_by_judges(predicted[:, None], [judge], pool.n_options, answers)[rest, 0]
        most = share_of_draw(wanted, len(drawn), len(rest), size)
        chances = chances_by_deviation(np.sqrt(right * (1 - right)), wanted, most=most)
        places = draw_with_chances(chances, right, rng)
        drawn, chance = np.append(drawn, rest[places]), np.append(chance, chances[places])
        batch = np.append(batch, np.full(wanted, number))
    return _ask(pool, predicted, drawn, 1 / weigh_draws(chance, batch, size))


def _take(pool: Pool, predicted: IntArray, questions: int, rng: np.random.Generator) -> RoutedSample:
    drawn = rng.choice(len(predicted), questions, replace=False)
    return _ask(pool, predicted, drawn, np.full(questions, questions / len(predicted)))


def _ask(pool: Pool, predicted: IntArray, drawn: IntArray, rho: FloatArray) -> RoutedSample:
    """Ask about the readable predictions of drawn items; all other options have propensity 0."""
    chances = np.zeros((len(predicted), int(pool.n_options.max())))
    asked = predicted[drawn] >= 0
    items = drawn[asked]
    chances[items, predicted[items]] = rho[asked]
    right = (predicted == pool.truth)[items].astype(np.float64)
    return RoutedSample(items, predicted[items], right, chances, pool.n_options, sampled=True)


def _judge(
    truth: IntArray, n_options: IntArray, strength: float, rng: np.random.Generator
) -> tuple[IntArray, FloatArray]:
    width = int(n_options.max())
    signs = rng.normal(size=(len(truth), width)) + strength * (np.arange(width) == truth[:, None])
    weight = np.where(np.arange(width) < n_options[:, None], np.exp(strength * signs), 0.0)
    p = weight / weight.sum(axis=1, keepdims=True)
    return p.argmax(axis=1), p.max(axis=1)


_found: dict[float, float] = {}


def _strength(wanted: float, pool: Pool) -> float:
    """Return the strength of the judge's signals at which their mean AUC is `wanted`."""
    if wanted <= 0.5:
        return 0.0
    if wanted not in _found:
        low, high = 0.0, 5.0
        for _ in range(12):
            middle = (low + high) / 2
            voice = _judge(pool.truth, pool.n_options, middle, np.random.default_rng(0))
            area = np.mean([_area(pool, name, *voice) for name in pool.models])
            low, high = (middle, high) if area < wanted else (low, middle)
        _found[wanted] = high
    return _found[wanted]


def _area(pool: Pool, name: str, option: IntArray, sure: FloatArray) -> float:
    """Return the AUC of the judge's probability that a readable answer of a model is right."""
    predicted = pool.models[name]
    p = np.where(option == predicted, sure, (1 - sure) / (pool.n_options - 1))[predicted >= 0]
    right = (predicted == pool.truth)[predicted >= 0]
    _, place, number = np.unique(p, return_inverse=True, return_counts=True)
    rank = (np.cumsum(number) - (number - 1) / 2)[place]
    ones = int(right.sum())
    return float((rank[right].sum() - ones * (ones + 1) / 2) / (ones * (len(p) - ones)))
