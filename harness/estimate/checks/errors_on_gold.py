"""Check that experts' errors on gold do not depend on what a model predicts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from oversight.harness.estimate.checks.check import Check
from oversight.harness.estimate.checks.expert_answers import odds_p_value
from oversight.harness.estimate.checks.family_levels import GOLD_ALPHA

_SUPPOSED = "; the correction supposes that experts err equally often whatever the model predicts"


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldAnswer:
    """An answer to a question about a gold item.

    Attributes
    ----------
    about_truth
        Whether the question is about the true option.
    is_right
        Whether the answer is.
    is_predicted
        Whether the question is about the option that the model predicts.
    """

    about_truth: bool
    is_right: bool
    is_predicted: bool


def gold_errors(answers: Sequence[GoldAnswer], n_models: int = 1) -> Check:
    """Experts err as often about options that the model predicts as about others, given the truth.

    Fisher's exact test, doubled to both sides, for questions about true and about false options; the smaller
    p-value times two. A correction by gold is biased if they do not: by 7 points where experts take a quarter
    of the model's wrong options for true.

    Parameters
    ----------
    answers
        Those to gold items that the model predicts.
    n_models
        Number of models whose checks are read together.

    Examples
    --------
    >>> fooled = [GoldAnswer(about_truth=False, is_right=j > 5, is_predicted=j < 12) for j in range(40)]
    >>> gold_errors(fooled).passed
    False
    """
    name, tests = "gold_errors", []
    for truth, what in ((True, "true"), (False, "false")):
        (wrong, n), (wrong_other, n_other) = (
            (sum(not a.is_right for a in side), len(side))
            for own in (True, False)
            for side in [[a for a in answers if a.about_truth is truth and a.is_predicted is own]]
        )
        if n and n_other:
            p = odds_p_value(np.array([[wrong, n, wrong_other, n_other]]), tolerated=1.0)
            own, other = f"{wrong} of {n}", f"{wrong_other} of {n_other}"
            tests.append((p, f"wrong answers about {what} options: {own} if predicted, {other} if not"))
    if not tests:
        text = "no gold answers about options that the model predicts, beside others"
        return Check.not_made(name, text + _SUPPOSED)
    p = min(1.0, 2 * min(p for p, _ in tests))
    text, failed = "; ".join(told for _, told in tests), p < GOLD_ALPHA / n_models
    return Check(
        name=name, passed=not failed, statistic=None, p_value=p, message=text + (_SUPPOSED if failed else "")
    )
