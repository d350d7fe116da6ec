"""Checks of answers and of the draw against the models' agreement with each other."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy.special import ndtr

from harness.arrays import FloatArray, IntArray
from harness.columns import PredictionColumns
from harness.estimate.checks.check import Check
from harness.estimate.checks.drawn_options import DrawnOptions
from harness.estimate.checks.model_votes import ModelVotes
from harness.estimate.core import z_of_sum
from harness.estimate.routed import vote_posterior

LEAST_SLOPE = 0.1
"""Part of the association of answers with votes that independent models would show, which must be seen."""
_NEAR = 1e-9


def agreement(votes: ModelVotes, alpha: float) -> Check:
    """Experts confirm options that more models predict more often than options that fewer predict.

    One-sided score test of Σ (yes − mean) (v − mean), v the number of models that predict the option asked
    about, within each K. With one model it fails if predicted options are confirmed more rarely than others,
    beyond chance. With several it also fails if answers do not follow the votes at all, although models agree
    beyond chance: `LEAST_SLOPE` of what independent models of that agreement imply must be there.
    """
    name, rows = "agreement", votes.usable
    if not rows.size:
        return Check.not_made(name, "no item has a single answer and predictions of all models")
    if votes.is_alike:
        return Check.not_made(name, "all answers are alike")
    k, yes = votes.labels.questions.n_options[rows], votes.is_yes(rows).astype(np.float64)
    v = _centre(votes.votes[rows].astype(np.float64), k)
    if float(v @ v) < _NEAR:
        return Check.not_made(name, "as many models predict every option that was asked about")
    spread = _centre(yes, k)
    size = len(yes) - np.unique(k).size
    variance = float(v @ v) * float(spread @ spread) / max(1, size)
    seen, implied = float(v @ yes), _implied(votes, rows, v)
    z = z_of_sum(seen, LEAST_SLOPE * max(0.0, implied), variance)
    p = float(ndtr(z))
    more, fewer = (float(yes[side].mean()) if side.any() else math.nan for side in (v > 0, v <= 0))
    text = f"yes to {more:.0%} of the options with more votes of models, to {fewer:.0%} of those with fewer"
    if p < alpha:
        text += "; answers do not follow what models agree on: they may belong to other items or options"
    return Check(name=name, passed=p >= alpha, statistic=z, p_value=p, message=text)


def _centre(values: FloatArray, k: IntArray) -> FloatArray:
    """Values less the mean of those with the same number of options."""
    which = np.unique(k, return_inverse=True)[1]
    means = np.bincount(which, values) / np.bincount(which)
    found: FloatArray = values - means[which]
    return found


def _implied(votes: ModelVotes, rows: IntArray, v: FloatArray) -> float:
    """Σ P(yes) (v − mean) by the posterior of independent models whose agreement is that of these; 0 for one."""
    if votes.kappa <= 0:
        return 0.0
    asked, item = votes.labels.questions.take(rows), votes.labels.item[rows]
    K = asked.n_options
    accuracy = float((1 / K + (1 - 1 / K) * math.sqrt(votes.kappa)).mean())
    predicted = np.stack([model.option[item] for model in votes.models], axis=1).astype(np.int64)
    guesses = [accuracy] * predicted.shape[1]
    posterior = vote_posterior(np.maximum(predicted, -1), K, int(K.max()), accuracy=guesses, temper=1.0)
    return float(v @ posterior[np.arange(rows.size), asked.option])


def seen_answers(drawn: DrawnOptions, others: Sequence[PredictionColumns], alpha: float) -> Check:
    """Whether a model's option was asked about does not depend on how many other models predict it.

    The draw knows no answers, so 1{asked = ŷ} has mean π_ŷ whatever the predictions. A model that has seen
    answers follows confirmed options, which other models predict as well, and avoids refuted ones. One-sided
    z-test of Σ g (1{asked = ŷ} − π_ŷ), g the share of other models that predict ŷ, less its mean. Nothing
    shows it with one model, or where all that was asked about is predicted for certain.
    """
    name = "seen_answers"
    if not others:
        return Check.not_made(name, "there is no other model to compare with")
    chance = drawn.chance_of_own
    ran = np.logical_and.reduce([model.ran[drawn.item] for model in others])
    rows = np.flatnonzero(ran & (chance > _NEAR) & (chance < 1 - _NEAR))
    predicted, pi = drawn.predicted[rows], chance[rows]
    share = np.zeros(rows.size)
    for model in others:
        share += model.option[drawn.item[rows]] == predicted
    noise = pi * (1 - pi)
    total = float(noise.sum())
    g = share / len(others)
    g -= float(g @ noise) / total if total > 0 else 0.0
    variance = float((g**2) @ noise)
    if variance < _NEAR:
        return Check.not_made(name, "as many other models share every prediction that the draw left open")
    hit = drawn.option[rows] == predicted
    z = z_of_sum(float(g @ (hit - pi)), 0.0, variance)
    p = float(ndtr(-z))
    shared, alone = (int(np.count_nonzero(hit & side)) for side in (g > 0, g <= 0))
    expected = float(pi[g > 0].sum()), float(pi[g <= 0].sum())
    text = (
        f"predictions that more models share were asked about {shared} times, expected {expected[0]:.1f}; "
        f"those that fewer share {alone} times, expected {expected[1]:.1f}"
    )
    if p < alpha:
        text += "; this model, or one it is compared with, may have seen the experts' answers"
    return Check(name=name, passed=p >= alpha, statistic=z, p_value=p, message=text)
