"""How likely models are right on each item by what judges say, before an expert is asked about it.

A guess for draws: whatever it is worth, chances are recorded and estimates weigh by them. Answers about other
items that are there already teach what judges are worth; until there are enough, it is what the prior says.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from oversight.harness.arrays import AnyIntArray, FloatArray, IntArray
from oversight.harness.estimate.judged.judge_features import JudgeOpinion, describe_options
from oversight.harness.estimate.judged.option_logit import option_probabilities
from oversight.harness.estimate.judged.working import FLAT, learn_parameters
from oversight.harness.estimate.routed import flat_posterior


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswersSoFar:
    """n answers of experts about items of a pool.

    Attributes
    ----------
    item, asked
        Shape (n,): place of the item, and the option asked about.
    answer
        Shape (n,): 1 for yes, 0 for no.
    """

    item: IntArray
    asked: IntArray
    answer: FloatArray


def guess_by_judges(
    predicted: AnyIntArray,
    judges: Sequence[JudgeOpinion],
    n_options: IntArray,
    answers: AnswersSoFar | None = None,
) -> FloatArray:
    """Probability that each model is right on each item, shape (N, M), 0 where it names no option.

    Parameters
    ----------
    predicted
        Shape (N, M): options, −1 for none.
    judges
        At least one, on the same items.
    n_options
        Shape (N,): K.
    answers
        From which is learned what judges are worth; they decide nothing about the items that they are about.
    """
    options, width = np.asarray(predicted, dtype=np.int64), int(n_options.max(initial=2))
    found, rows = np.zeros(options.shape), np.arange(len(options))
    flat = flat_posterior(n_options, width)
    for column, option in enumerate(options.T):
        features = describe_options(option, judges, n_options)
        parameters = features.center
        if answers is not None:
            parameters = learn_parameters(features, answers.item, answers.asked, answers.answer, width)
        p = (1 - FLAT) * option_probabilities(features, parameters, width) + FLAT * flat
        found[:, column] = np.where(option >= 0, p[rows, np.maximum(option, 0)], 0.0)
    return found
