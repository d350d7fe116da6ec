"""Measure whether studies of the planned size reach the promised half-width or power.

Every cell plans the number of questions for a half-width or a difference, as `oversight plan` does. Then
studies with this number of questions on average are simulated: the protocol draws questions about items of
a synthetic population, experts answer without error, and the public call estimates or compares.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import product

import numpy as np

import oversight as ov
from benchmarks._coverage_designs import ROSTER, falls_short, item_of
from benchmarks._simulation import collect_labels, make_rule
from oversight.harness.estimate import disagreement, plan, synthesise_population, vote_posterior
from oversight.harness.estimate.routed_sample import questions_asked
from oversight.harness.types import Prediction

PROMISED = 0.8
_LARGE = 100_000
_ROWS = {
    ("width", "partitioned", 1): "uniform",
    ("width", "complementary", 1): "uniform, complementary only",
    ("width", "targeted", 1): "targeted",
    ("width", "targeted", 5): "shared",
    ("width", "sequential", 5): "sequential",
    ("power", "partitioned", 2): "uniform, paired",
    ("power", "sign", 2): "uniform, sign test",
    ("power", "disagreement", 2): "disagreements, targeted",
    ("power", "sequential", 2): "disagreements, sequential",
}


@dataclass(frozen=True, kw_only=True)
class Promise:
    """A promise of the planner: 80 % of studies reach a half-width, or detect a difference.

    Attributes
    ----------
    kind
        ``"width"`` or ``"power"``.
    accuracy
        Accuracy that the plan assumes.
    size
        The half-width, or the difference of the two models' accuracies.
    models
        Number of models.
    centred
        Whether the assumed accuracy is the mean of the two compared models. If false, it is that of the
        better model.
    """

    kind: str
    protocol: str
    K: int
    accuracy: float
    size: float
    models: int = 1
    centred: bool = False

    @property
    def accuracies(self) -> tuple[float, ...]:
        """True accuracies of the models."""
        if self.kind == "width":
            return (self.accuracy,) * self.models
        first = self.accuracy + (self.size / 2 if self.centred else 0)
        return first, first - self.size

    def __str__(self) -> str:
        """Return the name of this cell in the table."""
        row = _ROWS[self.kind, self.protocol, self.models]
        centred = ", centred" if self.centred else ""
        return f"{self.kind}: {row}, K={self.K}, A={self.accuracy:g}, {self.size:g}{centred}"


@lru_cache(maxsize=64)
def _questions_per_item(promise: Promise) -> float:
    truth, predicted = synthesise_population(_LARGE, promise.K, promise.accuracies, np.random.default_rng(5))
    share = 1.0
    if promise.kind == "power" and promise.protocol in ("disagreement", "sequential"):
        differ = disagreement(predicted)
        share, truth, predicted = float(differ.mean()), truth[differ], predicted[differ]
    if promise.protocol != "sequential":
        return share
    accuracy = np.full(predicted.shape[1], promise.accuracy)
    votes = vote_posterior(predicted, promise.K, promise.K, accuracy=accuracy)
    return share * float(questions_asked(predicted, votes, truth).mean())


def planned_items(promise: Promise) -> tuple[int, int]:
    """Return the planned number of questions, and the number of items that need this many on average."""
    made = plan(promise.K, promise.accuracy, models=promise.models, half_width=promise.size)
    rows = made.accuracy if promise.kind == "width" else made.difference
    name = _ROWS[promise.kind, promise.protocol, promise.models]
    questions = next(row.questions for row in rows if row.protocol == name)
    return questions, math.ceil(questions / _questions_per_item(promise))


def kept(promise: Promise, items: int, seed: int) -> bool:
    """Return whether one simulated study with this number of items keeps the promise."""
    rng = np.random.default_rng([seed, items])
    truth, options = synthesise_population(items, promise.K, promise.accuracies, rng)
    asked = [item_of(j, promise.K) for j in range(items)]
    models = {
        f"m{m}": [Prediction(item.id, int(k)) for item, k in zip(asked, column, strict=True)]
        for m, column in enumerate(options.T)
    }
    known = {name: {p.item_id: p.option for p in rows} for name, rows in models.items()}
    rule = make_rule(promise.protocol, ROSTER, known, seed)
    labels = collect_labels(rule, asked, {item.id: int(t) for item, t in zip(asked, truth, strict=True)})
    if promise.kind == "power":
        test = "sign" if promise.protocol == "sign" else "auto"
        (pair,) = ov.compare(models, labels, test=test).pairs
        return pair.verdict == "m0"
    estimator = "comp" if promise.protocol == "complementary" else "ml"
    found = ov.accuracy(models["m0"], labels, estimator=estimator)
    return (found.high - found.low) / 2 <= promise.size + 1e-9


def full_promises() -> Iterator[Promise]:
    """Yield promises for every protocol of the planner, K of 4 and 10, and accuracies from .6 to .95."""
    for (kind, protocol, models), K, accuracy in product(_ROWS, (4, 10), (0.6, 0.8, 0.95)):
        wide = protocol in ("sign", "complementary") or (protocol == "partitioned" and K == 10)
        size = (0.1 if wide else 0.06) if kind == "width" else (0.15 if wide else 0.08)
        yield Promise(kind=kind, protocol=protocol, K=K, accuracy=accuracy, size=size, models=models)
    for protocol, accuracy in product(("disagreement", "sequential", "partitioned"), (0.7, 0.85)):
        size = 0.15 if protocol == "partitioned" else 0.08
        two = Promise(kind="power", protocol=protocol, K=4, accuracy=accuracy, size=size, models=2)
        yield replace(two, centred=True)


def measure_promises(draws: int, *, quick: bool) -> int:
    """Print the share of studies that keep each promise. Returns how many shares are far below 80 %."""
    below = 0
    for promise in [*full_promises()][:: 14 if quick else 1]:
        questions, items = planned_items(promise)
        share = float(np.mean([kept(promise, items, seed) for seed in range(draws)]))
        below += falls_short(share, draws, PROMISED)
        print(f"{share:8.3f} {questions:7,} questions  planner {promise}", flush=True)
    return below
