"""Simulated judges, questions about their pool, and coverage of measures of their quality."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from benchmarks._coverage_kinds import NEAR, Outcome
from benchmarks._real_predictions import Pool
from benchmarks._simulation import LETTERS, area_under_roc, judge_signals
from oversight.harness import FloatArray, IntArray
from oversight.harness.columns import PredictionColumns
from oversight.harness.estimate import draw_options
from oversight.harness.estimate.routed_sample import predicted_counts, shared_propensities
from oversight.harness.judges import (
    OPTIONS,
    PREDICTIONS,
    JudgedQuestions,
    JudgeProbabilities,
    error_dependence,
    judge_quality,
)

K = len(LETTERS)
JUDGES = ("calibrated", "overconfident", "reversed", "copying", "one field")
BAD = ("copying", "one field")
"""Judges whose probabilities are almost independent of whether the model is right."""
FIELDS = ("math", "physics")
STRENGTH = 1.8
DESIGNS = ("partitioned", "targeted", "targeted for three", "sequential")


def as_judge(pool: Pool, p: FloatArray) -> JudgeProbabilities:
    """Return a judge with these probabilities, shape (N, K)."""
    return JudgeProbabilities(p=p, n_options=pool.n_options)


def as_voter(pool: Pool, option: IntArray) -> JudgeProbabilities:
    """Return a judge that chooses these options, shape (N,)."""
    columns = PredictionColumns(index=pool.index, option=option)
    return JudgeProbabilities.of_predictions(columns, pool.n_options)


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
    return judge_signals(truth, np.full(len(truth), K), STRENGTH, rng)


def ask(
    pool: Pool, design: str, predicted: list[IntArray], drawn: IntArray, rng: np.random.Generator
) -> tuple[JudgedQuestions, JudgedQuestions]:
    """Draw questions about the drawn items by a design.

    Returns the answered questions, and the pool's questions from which they are a sample.
    """
    voters = np.stack(predicted[:1] if design == "targeted" else predicted, axis=1)
    named = predicted_counts(voters, K) > 0
    if design == "partitioned":
        even: FloatArray = np.full((len(drawn), K), 1 / K)
        return _draw(pool, drawn, even, rng, OPTIONS), _questions(pool, np.ones_like(named), OPTIONS)
    every = _questions(pool, named, PREDICTIONS)
    if design == "sequential":
        inside = np.zeros_like(named)
        inside[drawn] = named[drawn]
        return _questions(pool, inside, PREDICTIONS), every
    items = drawn[named[drawn].any(axis=1)] if design == "targeted" else drawn
    chance = shared_propensities(voters[items], K, K, epsilon=0.0 if design == "targeted" else 0.1)
    asked = _draw(pool, items, chance, rng, PREDICTIONS)
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
    rows, option = np.arange(len(items)), draw_options(chance, rng)
    return JudgedQuestions(
        item=items,
        option=option,
        answer=(pool.truth[items] == option).astype(np.float64),
        weight=1 / chance[rows, option],
        cluster=rows,
        scope=scope,
    )


def see_quality(pool: Pool, design: str, kind: str, items: int, draws: int) -> Iterator[tuple[str, Outcome]]:
    """Check intervals for a simulated judge's quality, and for its dependence on a second judge."""
    names = list(pool.models)
    for seed in range(draws):
        rng = np.random.default_rng([21, seed, DESIGNS.index(design)])
        predicted = [pool.models[name] for name in rng.choice(names, 3, replace=False)]
        p = simulate(pool, kind, predicted[0], rng)
        judge, second = as_judge(pool, p), as_judge(pool, _signs(pool.truth, rng))
        drawn = rng.choice(pool.size, items, replace=False)
        asked, every = ask(pool, design, predicted, drawn, rng)
        found = judge_quality("judge", judge, asked)
        machines = {"judge": judge, "second": second, "model": as_voter(pool, predicted[0])}
        together = error_dependence(
            {name: machines[name] for name in ("judge", "second")}, {"model": machines["model"]}, asked
        )
        stated, true = p[every.item, every.option], every.answer
        is_first = judge.named[every.item] == every.option
        sure, right = stated[is_first], true[is_first]
        errors = {
            name: ((one.named[every.item] == every.option) != true)[one.speaks[every.item]]
            for name, one in machines.items()
        }
        speaks = machines["model"].speaks[every.item]
        rho = float(np.corrcoef(errors["judge"], errors["second"])[0, 1])
        with_model = float(np.corrcoef(errors["judge"][speaks], errors["model"])[0, 1])
        exact = [
            ("bias", found.bias, float((sure - right).mean())),
            ("agreement", found.agreement, 1 - float(errors["judge"].mean())),
            ("area", found.area, area_under_roc(stated, true)),
            ("judges' errors", together.between[0].correlation, rho),
            ("model's errors", together.with_models[0].correlation, with_model),
        ]
        if together.worth is not None:
            exact.append(("worth", together.worth, 2 / (1 + max(0.0, rho))))
        error, last = 0.0, len(found.curve) - 1
        for j, one in enumerate(found.curve):
            inside = (sure >= one.start) & ((sure < one.end) | (j == last))
            error += abs(float((right - sure)[inside].sum())) / len(right)
            exact.append(("curve", one.yes, float(right[inside].mean())))
        exact.append(("calibration error", found.error, error))
        for name, measure, value in exact:
            covered = None
            if measure.low is not None and measure.high is not None:
                covered = measure.low - NEAR <= value <= measure.high + NEAR
            yield name, Outcome(covered)
