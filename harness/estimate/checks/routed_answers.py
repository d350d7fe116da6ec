"""Check of how often experts say yes where the questions followed predictions."""

from __future__ import annotations

import numpy as np
from scipy.special import bdtr

from oversight.harness.columns import LabelColumns
from oversight.harness.estimate.checks.check import Check
from oversight.harness.estimate.checks.model_votes import ModelVotes
from oversight.harness.estimate.core import binomial_at_least


def routed_yes_rate(votes: ModelVotes, alpha: float) -> Check:
    """Yes is neither rarer than if models guessed, nor more frequent than the draw allows.

    Exactly one option of an item is true. So the chance of a yes is at most the greatest propensity of the
    item's options, whatever the models predict. Where questions are about predicted options, it is at least
    1/K unless models are worse than guesses. The number of yes is a sum of independent outcomes, whose tails
    are at most those of the binomial with the mean chance (Hoeffding 1956); twice the smaller one.

    Experts who say yes to everything look like those of perfect models where every question was certain to
    be asked: with one model, or where items are asked about until they are resolved.
    """
    name, rows, labels = "yes_rate", votes.usable, votes.labels
    n = rows.size
    if not n:
        return Check.not_made(name, "no item has a single answer and predictions of all models")
    yes = int(np.count_nonzero(votes.is_yes(rows)))
    least = float((1 / labels.questions.n_options[rows]).mean())
    most = _greatest_propensity(labels.take(rows))
    p_low = float(bdtr(yes, n, least)) if yes <= n * least - 1 else 1.0
    p_high = binomial_at_least(yes, n, most) if yes >= n * most + 1 else 1.0
    p = min(1.0, 2 * min(p_low, p_high))
    text = f"{yes} yes among {n} answers, expected {n * least:.1f} if models guess, at most {n * most:.1f}"
    if p < alpha:
        text += (
            "; experts miss the truth, or every model is worse than guesses"
            if yes < n * least
            else "; experts say yes to false options"
        )
    return Check(name=name, passed=p >= alpha, statistic=yes / n, p_value=p, message=text)


def _greatest_propensity(labels: LabelColumns) -> float:
    """Mean over labels of the greatest propensity of the item's options; 1 where it is not recorded."""
    offered = labels.questions.offered
    if labels.is_resolved or not (offered.number > 0).all():
        return 1.0
    return float(np.minimum(1.0, np.maximum.reduceat(offered.values, offered.start[:-1])).mean())
