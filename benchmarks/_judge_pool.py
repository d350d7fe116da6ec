"""Public answers of twenty models to 4,000 questions, simulated judges, and coverage of judge measures."""

from __future__ import annotations

import csv
import gzip
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from oversight.harness.columns import ItemIndex, PredictionColumns
from oversight.harness.judges import (
    OPTIONS,
    PREDICTIONS,
    JudgedQuestions,
    JudgeProbabilities,
    error_dependence,
    judge_quality,
)

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
FILE = Path(__file__).parent / "data" / "mmlu_pro_answers.csv.gz"
LETTERS = "ABCDEFGHIJ"
K = len(LETTERS)
JUDGES = ("calibrated", "overconfident", "reversed", "copying", "one field")
BAD = ("copying", "one field")
"""Judges whose probabilities are almost independent of whether the model is right."""
FIELDS = ("math", "physics")
STRENGTH = 1.8
DESIGNS = ("partitioned", "targeted", "targeted for three", "sequential")


@dataclass(frozen=True)
class Pool:
    """True option and subject of each question, and each model's option (−1: unreadable), shape (N,) each."""

    truth: IntArray
    subject: NDArray[np.str_]
    models: dict[str, IntArray]

    @property
    def size(self) -> int:
        return len(self.truth)

    @property
    def n_options(self) -> IntArray:
        return np.full(self.size, K)

    def probabilities(self, p: FloatArray) -> JudgeProbabilities:
        return JudgeProbabilities(p=p, n_options=self.n_options)

    def vote(self, option: IntArray) -> JudgeProbabilities:
        index = ItemIndex.of([str(j) for j in range(self.size)])
        return JudgeProbabilities.of_predictions(
            PredictionColumns(index=index, option=option), self.n_options
        )


def load_pool() -> Pool:
    """Read the bundled answers; all questions have ten options."""
    with gzip.open(FILE, "rt") as file:
        head, *rows = csv.reader(file)
    models = {
        name: np.array([LETTERS.index(row[j]) if row[j] else -1 for row in rows])
        for j, name in enumerate(head)
        if j > 1
    }
    truth = np.array([LETTERS.index(row[1]) for row in rows])
    return Pool(truth, np.array([row[0] for row in rows]), models)


def simulate(pool: Pool, kind: str, predicted: IntArray, rng: np.random.Generator) -> FloatArray:
    """Return the probabilities that a judge of this kind gives to all options, shape (N, K)."""
    if kind == "copying":
        copied = np.full((pool.size, K), 0.1 / (K - 1))
        copied[np.arange(pool.size), np.maximum(predicted, 0)] = 0.9
        return copied
    p: FloatArray = _signs(pool.truth, rng)
    if kind == "overconfident":
        p = p**3
    elif kind == "reversed":
        p = 1 - p
    elif kind == "one field":
        noise = _signs(rng.integers(0, K, pool.size), rng)
        p = np.where(np.isin(pool.subject, FIELDS)[:, None], p, noise)
    found: FloatArray = p / p.sum(axis=1, keepdims=True)
    return found


def _signs(truth: IntArray, rng: np.random.Generator) -> FloatArray:
    """Return calibrated probabilities, computed from one normal signal per option.

    The signal of the true option has a larger mean.
    """
    signs = rng.normal(size=(len(truth), K)) + STRENGTH * (np.arange(K) == truth[:, None])
    weight = np.exp(STRENGTH * (signs - signs.max(axis=1, keepdims=True)))
    found: FloatArray = weight / weight.sum(axis=1, keepdims=True)
    return found


def ask(
    pool: Pool, design: str, predicted: list[IntArray], drawn: IntArray, rng: np.random.Generator
) -> tuple[JudgedQuestions, JudgedQuestions]:
    """Draw questions about the drawn items by a design.

    Returns the answered questions, and the pool's questions from which they are a sample.
    """
    n = len(drawn)
    votes = np.zeros((pool.size, K))
    for option in predicted[:1] if design == "targeted" else predicted:
        readable = np.flatnonzero(option >= 0)
        votes[readable, option[readable]] += 1
    named = votes > 0
    everything = _questions(pool, np.ones((pool.size, K), dtype=np.bool_), OPTIONS)
    if design == "partitioned":
        chance = np.full((n, K), 1 / K)
        return _draw(pool, drawn, chance, rng, OPTIONS), everything
    every = _questions(pool, named, PREDICTIONS)
    if design == "sequential":
        inside = np.zeros((pool.size, K), dtype=np.bool_)
        inside[drawn] = named[drawn]
        return _questions(pool, inside, PREDICTIONS), every
    here = drawn[named[drawn].any(axis=1)] if design == "targeted" else drawn
    share = np.sqrt(votes[here])
    total = share.sum(axis=1, keepdims=True)
    epsilon = 0.0 if design == "targeted" else 0.1
    share = np.divide(share, total, out=np.full_like(share, 1 / K), where=total > 0)
    asked = _draw(pool, here, (1 - epsilon) * share + epsilon / K, rng, PREDICTIONS)
    return asked.take(named[asked.item, asked.option]), every


def _questions(pool: Pool, inside: NDArray[np.bool_], scope: str) -> JudgedQuestions:
    item, option = np.nonzero(inside)
    answer = (pool.truth[item] == option).astype(np.float64)
    return JudgedQuestions(
        item=item, option=option, answer=answer, weight=np.ones(len(item)), cluster=item, scope=scope
    )


def _draw(
    pool: Pool, items: IntArray, chance: FloatArray, rng: np.random.Generator, scope: str
) -> JudgedQuestions:
    """Draw one question per item, whose option is drawn with the probabilities `chance`, shape (n, K)."""
    rows = np.arange(len(items))
    option = np.minimum((chance.cumsum(axis=1) <= rng.random((len(items), 1))).sum(axis=1), K - 1)
    return JudgedQuestions(
        item=items,
        option=option,
        answer=(pool.truth[items] == option).astype(np.float64),
        weight=1 / chance[rows, option],
        cluster=rows,
        scope=scope,
    )


Held = dict[str, list[bool | None]]
"""Name of a measure → whether its interval covers in each draw; None if the interval was withheld."""


def see_quality(pool: Pool, design: str, kind: str, items: int, draws: int) -> Held:
    """Check intervals for a simulated judge's quality, and for its dependence on a second judge."""
    held: Held = {}
    names = list(pool.models)
    for seed in range(draws):
        rng = np.random.default_rng([21, seed, DESIGNS.index(design)])
        predicted = [pool.models[name] for name in rng.choice(names, 3, replace=False)]
        p = simulate(pool, kind, predicted[0], rng)
        judge, second = pool.probabilities(p), pool.probabilities(_signs(pool.truth, rng))
        drawn = rng.choice(pool.size, items, replace=False)
        asked, every = ask(pool, design, predicted, drawn, rng)
        found = judge_quality("judge", judge, asked)
        machines = {"judge": judge, "second": second, "model": pool.vote(predicted[0])}
        together = error_dependence(
            {name: machines[name] for name in ("judge", "second")}, {"model": machines["model"]}, asked
        )
        stated, true = p[every.item, every.option], every.answer
        errors = {
            name: ((one.named[every.item] == every.option) != true)[one.speaks[every.item]]
            for name, one in machines.items()
        }
        speaks = machines["model"].speaks[every.item]
        rho = _correlate(errors["judge"], errors["second"])
        exact = [
            ("bias", found.bias, float((stated - true).mean())),
            ("agreement", found.agreement, 1 - float(errors["judge"].mean())),
            ("area", found.area, _area(stated, true)),
            ("judges' errors", together.between[0].correlation, rho),
            (
                "model's errors",
                together.with_models[0].correlation,
                _correlate(errors["judge"][speaks], errors["model"]),
            ),
        ]
        if together.worth is not None:
            exact.append(("worth", together.worth, 2 / (1 + max(0.0, rho))))
        error, last = 0.0, len(found.curve) - 1
        for j, one in enumerate(found.curve):
            inside = (stated >= one.start) & ((stated < one.end) | (j == last))
            error += abs(float((true - stated)[inside].sum())) / len(true)
            exact.append(("curve", one.yes, float(true[inside].mean())))
        exact.append(("calibration error", found.error, error))
        for name, measure, value in exact:
            told = None
            if measure.low is not None and measure.high is not None:
                told = measure.low - 1e-9 <= value <= measure.high + 1e-9
            held.setdefault(name, []).append(told)
    return held


def _correlate(first: NDArray[np.bool_], second: NDArray[np.bool_]) -> float:
    return float(np.corrcoef(first, second)[0, 1])


def _area(p: FloatArray, yes: FloatArray) -> float:
    _, place, number = np.unique(p, return_inverse=True, return_counts=True)
    rank, ones = (np.cumsum(number) - (number - 1) / 2)[place], int(yes.sum())
    return float((rank[yes > 0].sum() - ones * (ones + 1) / 2) / (ones * (len(p) - ones)))
