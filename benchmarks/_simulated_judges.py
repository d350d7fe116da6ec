"""Simulated judges of known worth beside real predictions: what they save, and whether intervals hold.

A judge has a noisy sign of every option, stronger for the true one; its probabilities are those that the
signs give. How strong they are is set so that the area under the curve of "this model's answer is right" is,
over all models, what is wanted. An adversarial judge turns its probabilities round, another lies, a constant
one says the same of every item.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

import harness as h
from benchmarks.real_protocols import ROSTER, Options, collect, predictions
from harness.columns import ItemIndex, PredictionColumns
from harness.estimate import JudgeOpinion, RoutedSample, judge_probabilities, judged_accuracy
from harness.types import Item, Prediction
from protocols.routing import Partitioned

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
EVEN = {"pool": 1.0, "chosen": 0.2}
"""Share of the questions that goes to items of the pool evenly, the others to where the judge is unsure."""
JUDGES = {"auc .80": 0.8, "auc .93": 0.93, "reversed": 0.93, "lying": 0.93, "constant": 0.5}


@dataclass(frozen=True)
class Pool:
    """All items: numbers of options and truth, shape (N,), and every model's options, −1 for unreadable."""

    items: list[Item]
    n_options: IntArray
    truth: IntArray
    models: dict[str, IntArray]

    @classmethod
    def of(cls, items: list[Item], truth: dict[str, int], models: dict[str, Options]) -> Pool:
        found = {
            name: np.array([-1 if (k := options[item.id]) is None else k for item in items])
            for name, options in models.items()
        }
        n_options = np.array([len(item.options) for item in items])
        return cls(items, n_options, np.array([truth[item.id] for item in items]), found)


@dataclass
class Judged:
    """What was seen: squared errors, plain (by theory or seen) and judged, and whether intervals held."""

    plain: list[float] = field(default_factory=list)
    judged: list[float] = field(default_factory=list)
    held: list[bool] = field(default_factory=list)
    widths: list[float] = field(default_factory=list)
    aucs: list[float] = field(default_factory=list)

    @property
    def ratio(self) -> float:
        """Questions that would be needed without a judge, over those asked."""
        return float(np.mean(self.plain) / np.mean(self.judged))


def listen(pool: Pool, kind: str, seed: int) -> tuple[IntArray, FloatArray]:
    """What a judge names of every item, and how sure it is; shape (N,) each."""
    rng = np.random.default_rng([11, seed])
    option, sure = _judge(pool.truth, pool.n_options, _strength(JUDGES[kind], pool), rng)
    if kind == "reversed":
        return option, 1 - sure
    if kind == "lying":
        return np.where(option == pool.truth, (option + 1) % pool.n_options, option), sure
    if kind == "constant":
        return np.zeros_like(option), np.full_like(sure, 0.9)
    return option, sure


def judge_pool(pool: Pool, kind: str, questions: int, draws: int, *, even: float) -> Judged:
    """About so many items of a pool, a share evenly, others by how unsure a judge is, asked about one model.

    The plain estimate takes items with equal chances: the same where all are, else by its variance.
    """
    seen, index = Judged(), ItemIndex.of([item.id for item in pool.items])
    for seed, (name, predicted) in enumerate(list(pool.models.items()) * -(-draws // len(pool.models))):
        if seed == draws:
            break
        option, sure = listen(pool, kind, seed)
        columns = PredictionColumns(index=index, option=option, confidence=sure)
        data = _draw(pool, predicted, columns, even, questions, np.random.default_rng([12, seed]))
        estimate = judged_accuracy(predicted, data, [JudgeOpinion.of(columns)])
        exact, readable = float((predicted == pool.truth).mean()), float((predicted >= 0).mean())
        share, variance = data.answer.mean() * readable, exact * (1 - exact) * readable / questions
        seen.plain.append((share - exact) ** 2 / variance if even == 1 else 1.0)
        seen.judged.append((estimate.value - exact) ** 2 / variance)
        seen.held.append(estimate.low - 1e-9 <= exact <= estimate.high + 1e-9)
        seen.widths.append(estimate.high - estimate.low)
        seen.aucs.append(_area(pool, name, option, sure))
    return seen


def judge_uniform(pool: Pool, kind: str, items: int, draws: int) -> Judged:
    """A random option of so many items, all of them asked about, by the public calls."""
    seen, names = Judged(), list(pool.models)
    key = {item.id: int(t) for item, t in zip(pool.items, pool.truth, strict=True)}
    for seed in range(draws):
        rng = np.random.default_rng([13, seed])
        places = rng.choice(len(pool.items), items, replace=False)
        option, sure = listen(pool, kind, seed)
        chosen = [pool.items[j] for j in places]
        labels = collect(Partitioned(ROSTER, seed), chosen, key)
        rows = zip(chosen, option[places].tolist(), sure[places].tolist(), strict=True)
        judge = [Prediction(item.id, k, confidence=p) for item, k, p in rows]
        name = names[seed % len(names)]
        options: Options = {
            item.id: None if k < 0 else k
            for item, k in zip(chosen, pool.models[name][places].tolist(), strict=True)
        }
        made = h.model_accuracies({name: predictions(chosen, options)}, labels, judges={"judge": judge})[name]
        exact = float((pool.models[name] == pool.truth).mean())
        seen.plain.append((made["ml"].value - exact) ** 2)
        seen.judged.append((made["judged"].value - exact) ** 2)
        seen.held.append(made["judged"].low - 1e-9 <= exact <= made["judged"].high + 1e-9)
        seen.widths.append(made["judged"].high - made["judged"].low)
        seen.aucs.append(_area(pool, name, option, sure))
    return seen


def _draw(
    pool: Pool,
    predicted: IntArray,
    judge: PredictionColumns,
    share: float,
    questions: int,
    rng: np.random.Generator,
) -> RoutedSample:
    """Items by chances ∝ the standard deviation that the judge gives a prediction, and questions about it."""
    rows, width = np.arange(len(predicted)), int(pool.n_options.max())
    p = judge_probabilities([judge], pool.n_options, width=width)[rows, predicted]
    readable = predicted >= 0
    spread = np.sqrt(p * (1 - p)) * readable
    even = readable / readable.sum()
    rho = np.minimum(1, questions * ((1 - share) * spread / spread.sum() + share * even))
    drawn = np.flatnonzero(rng.random(len(rows)) < rho)
    chances = np.where(np.arange(width) == predicted[:, None], rho[:, None], 0.0)
    right = (predicted == pool.truth)[drawn].astype(np.float64)
    return RoutedSample(drawn, predicted[drawn], right, chances, pool.n_options, sampled=True)


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
    """How strong signs must be for this mean area under the curve."""
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
    """Area under the curve of the judge's probability that a model's readable answer is right."""
    predicted = pool.models[name]
    p = np.where(option == predicted, sure, (1 - sure) / (pool.n_options - 1))[predicted >= 0]
    right = (predicted == pool.truth)[predicted >= 0]
    _, place, number = np.unique(p, return_inverse=True, return_counts=True)
    rank = (np.cumsum(number) - (number - 1) / 2)[place]
    ones = int(right.sum())
    return float((rank[right].sum() - ones * (ones + 1) / 2) / (ones * (len(p) - ones)))
