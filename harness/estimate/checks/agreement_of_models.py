"""Checks of answers and of the draw against the models' agreement with each other."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy.special import ndtr

from oversight.harness.arrays import FloatArray, IntArray
from oversight.harness.columns import ABSTAINED, YES, LabelColumns, PredictionColumns
from oversight.harness.estimate.checks.check import Check
from oversight.harness.estimate.checks.drawn_options import DrawnOptions
from oversight.harness.estimate.checks.model_votes import ModelVotes
from oversight.harness.estimate.core import z_of_sum
from oversight.harness.estimate.routed import vote_posterior

LEAST_SLOPE = 0.1
"""Part of the association of answers with votes that independent models would show, which must be seen."""
_NEAR, _EVEN = 1e-9, 1e-6


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
    """Σ P(yes) (v − mean) for independent models that agree as often as these; 0 for one model."""
    if votes.kappa <= 0:
        return 0.0
    asked, item = votes.labels.questions.take(rows), votes.labels.item[rows]
    K = asked.n_options
    accuracy = float((1 / K + (1 - 1 / K) * math.sqrt(votes.kappa)).mean())
    predicted = np.stack([model.option[item] for model in votes.models], axis=1).astype(np.int64)
    guesses = [accuracy] * predicted.shape[1]
    posterior = vote_posterior(np.maximum(predicted, -1), K, int(K.max()), accuracy=guesses, temper=1.0)
    return float(v @ posterior[np.arange(rows.size), asked.option])


def seen_answers(
    drawn: DrawnOptions, labels: LabelColumns, others: Sequence[PredictionColumns], alpha: float
) -> Check:
    """A uniform draw is unrelated to how far other models support a model's predictions.

    The draw knows neither predictions nor truth, so asking about ŷ and hearing yes have probability 1/K each,
    whatever the models predict. A model that has seen answers follows confirmed options, which others predict
    as well, and leaves refuted ones, which fewer predict. One-sided z-test of
    Σ g (1{asked = ŷ} + 1{yes} − 2/K), g the number of other models that predict ŷ less that of their
    favourite, centred.

    With one model nothing shows it. With several it shows in large studies only.
    """
    name = "seen_answers"
    if not others:
        return Check.not_made(
            name, "no other model to compare with; assumes that the model has seen none of the answers"
        )
    ran = np.logical_and.reduce([model.ran[drawn.item] for model in others])
    even = np.abs(drawn.propensity * drawn.n_options - 1) < _EVEN
    one = drawn.take(np.flatnonzero(ran & even & (drawn.predicted >= 0)))
    if not one.item.size:
        return Check.not_made(name, "no item with one uniformly drawn question has predictions of all models")
    pi, hit = 1 / one.n_options, one.option == one.predicted
    support = _support(one, others)
    g = support - support.mean()
    score = hit - pi + _excess_of_yes(one, labels)
    variance = float((g**2) @ score**2)
    if variance < _NEAR:
        return Check.not_made(name, "as many other models share every prediction")
    z = z_of_sum(float(g @ score), 0.0, variance)
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


def _support(drawn: DrawnOptions, others: Sequence[PredictionColumns]) -> FloatArray:
    """How many other models predict ŷ, less how many predict their favourite; shape (n,)."""
    n = drawn.item.size
    width = int(drawn.n_options.max(initial=2))
    votes = np.zeros((n, width + 1), np.int64)
    for model in others:
        votes[np.arange(n), np.clip(model.option[drawn.item], -1, width - 1)] += 1
    own = votes[np.arange(n), drawn.predicted]
    found: FloatArray = (own - votes[:, :width].max(axis=1, initial=0)).astype(np.float64)
    return found


def _excess_of_yes(drawn: DrawnOptions, labels: LabelColumns) -> FloatArray:
    """1{yes} − 1/K of items that were answered, else 0; shape (n,)."""
    said = np.full(labels.index.size, ABSTAINED)
    said[labels.item] = labels.kind
    kind = said[drawn.item]
    found: FloatArray = np.where(kind == ABSTAINED, 0.0, (kind == YES) - 1 / drawn.n_options)
    return found
