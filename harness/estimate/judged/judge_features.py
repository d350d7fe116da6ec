"""What judges say of items, as features of the options: whom they name, how sure they are, who agrees.

A judge is a model that was asked the same items. How sure it is counts by rank among its own answers and by
its logarithmic odds, so that a scale which means nothing (all at .99, a share of five samples) does no harm;
what either is worth, experts' answers tell (`oversight.harness.estimate.judged.option_logit`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from oversight.harness.arrays import FloatArray, IntArray
from oversight.harness.columns import PredictionColumns
from oversight.harness.estimate.judged.option_logit import OptionFeatures

_NAMED = (1.0, 2.0)
"""Mean and standard deviation of the prior: a judge is right more often than not (.73)."""
_SURE = (0.5, 1.0)
_ODDS = (0.5, 1.0)
_OWN = (0.0, 2.0)
_AGREED = (0.0, 1.0)
_EDGE = 0.01
"""Probabilities that are taken from a judge end here: it may be sure, and wrong."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeOpinion:
    """What one judge says of N items.

    Attributes
    ----------
    option
        Shape (N,): the option that it names, −1 where it names none.
    rank, odds
        Shape (N,): how sure it is by rank among its answers, as a normal score, and by logarithmic odds,
        with mean 0 and variance 1; 0 where it does not say.
    """

    option: IntArray
    rank: FloatArray
    odds: FloatArray

    @classmethod
    def of(cls, judge: PredictionColumns) -> JudgeOpinion:
        """From predictions, whose confidence may be missing."""
        option = np.maximum(judge.option, -1).astype(np.int64)
        rank, odds = np.zeros(len(option)), np.zeros(len(option))
        if judge.confidence is not None:
            said = (option >= 0) & ~np.isnan(judge.confidence)
            sure = judge.confidence[said]
            rank[said] = _score_ranks(sure)
            p = np.clip(sure, _EDGE, 1 - _EDGE)
            odds[said] = _standardise(np.log(p / (1 - p)))
        return cls(option=option, rank=rank, odds=odds)

    def take(self, items: IntArray) -> JudgeOpinion:
        """The opinion on some items."""
        return JudgeOpinion(option=self.option[items], rank=self.rank[items], odds=self.odds[items])


def describe_options(
    predicted: IntArray | None, judges: Sequence[JudgeOpinion], n_options: IntArray
) -> OptionFeatures:
    """Features of N items' options: the model's own prediction, what judges name, and where both agree.

    Parameters
    ----------
    predicted
        Shape (N,): the model's prediction, −1 for unreadable; None leaves it out.
    judges
        On these items; an option that an item does not have counts as none.
    n_options
        Shape (N,).
    """
    n = len(n_options)
    none, ones = np.full(n, -1), np.ones(n)
    columns = list[tuple[IntArray, FloatArray, tuple[float, float]]]()
    heard = np.zeros(n, dtype=np.bool_)
    for judge in judges:
        option = np.where(judge.option < n_options, judge.option, -1)
        heard |= option >= 0
        columns += [(option, ones, _NAMED), (option, judge.rank, _SURE), (option, judge.odds, _ODDS)]
        if predicted is not None:
            agreed = np.where(option == predicted, option, -1)
            columns += [(agreed, ones, _AGREED)]
    if predicted is not None:
        columns += [(predicted, ones, _OWN), (np.where(heard, none, predicted), ones, _AGREED)]
    options, values, priors = zip(*columns, strict=True)
    center, spread = np.array(priors).T
    option = np.stack(options, axis=1)
    return OptionFeatures(
        option=option,
        value=np.where(option >= 0, np.stack(values, axis=1), 0.0),
        n_options=n_options,
        center=center,
        spread=spread,
    )


def judge_probabilities(
    judges: Sequence[PredictionColumns], n_options: IntArray, *, width: int | None = None
) -> FloatArray:
    """How likely judges say every option is, before an expert was asked; shape (N, K), rows sum to 1.

    Of every item the mean of the judges' distributions: what a judge gives to the option that it names, ½
    where it does not say, is cut to [.01, .99], and the rest is spread evenly. Where no judge names an
    option all are alike. For routing: no estimate rests on it.

    Parameters
    ----------
    judges
        At least one, on the same N items.
    n_options
        Shape (N,): K of every item.
    width
        Number of columns; default the largest K.
    """
    most = int(n_options.max(initial=2)) if width is None else width
    n, own = len(n_options), np.arange(most) < n_options[:, None]
    flat = own / n_options[:, None]
    total, heard = np.zeros((n, most)), np.zeros(n)
    for judge in judges:
        rows = np.flatnonzero((judge.option >= 0) & (judge.option < n_options))
        sure = np.full(n, np.nan) if judge.confidence is None else judge.confidence
        given = np.clip(np.nan_to_num(sure[rows], nan=0.5), _EDGE, 1 - _EDGE)
        others = np.maximum(n_options[rows] - 1, 1)
        spread = own[rows] * ((1 - given) / others)[:, None]
        spread[np.arange(rows.size), judge.option[rows]] = given
        total[rows] += spread
        heard[rows] += 1
    found: FloatArray = np.where(heard[:, None] > 0, total / np.maximum(heard, 1)[:, None], flat)
    return found


def _score_ranks(values: FloatArray) -> FloatArray:
    """Normal scores of ranks, equal values sharing the mean rank; 0 throughout where all are equal."""
    kinds, place, number = np.unique(values, return_inverse=True, return_counts=True)
    if kinds.size < 2:
        return np.zeros(len(values))
    middle = np.cumsum(number) - number / 2
    scores: FloatArray = ndtri(middle / len(values))[place]
    return scores


def _standardise(values: FloatArray) -> FloatArray:
    spread = values.std() if values.size else 0.0
    return (values - values.mean()) / spread if spread > 1e-9 else np.zeros(len(values))
