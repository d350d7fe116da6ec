"""Bets that a mean lies above a bar: their wealth is the evidence, at every moment.

Let x_i be independent outcomes with mean θ, none below b + l, where b is the bar and l < 0. If θ ≤ b then
W(λ) = Π_i (1 + λ(x_i − b)) is a supermartingale for every λ in [0, −1/l], for each factor is at least 0 and
has a mean of at most 1; and so is any mixture of W over λ that was fixed beforehand. By Ville's inequality
the mixture ever reaches 1/α with probability at most α, however often it is looked at, and whoever decides
when to stop (Ville 1939; Waudby-Smith & Ramdas 2024, JRSS B 86). The wealth does not depend on the order of
the outcomes, only on which are there.

For uniform options and one K the factors with the outcomes of `centre_accuracy` are the likelihood ratios of
the accuracy b + λ to b, so that nothing is lost to the likelihood (`likelihood_sequence`).
"""

from __future__ import annotations

import numpy as np

from oversight.harness.arrays import FloatArray

_BETS = np.geomspace(0.03, 1.0, 20)
"""Shares of the largest bet. Those far below it are for bars that the mean is near to."""
_SAFE = 0.999
"""Of the largest bet, so that one outcome ruins nobody."""
_PORTION = 100_000


def refuting_wealth(gains: FloatArray, least: float) -> float:
    """Wealth of bets that the mean of the gains is above 0; 1/α of it refutes that it is not, at level α.

    Parameters
    ----------
    gains
        Shape (n,): outcomes minus the bar, in any order.
    least
        A number below 0 that no gain can fall below, known before any of them.
    """
    bets = _SAFE * _BETS / -least
    logs = np.zeros(len(bets))
    values, times = np.unique(np.round(gains, 12), return_counts=True)
    for start in range(0, len(values), _PORTION):
        part = slice(start, start + _PORTION)
        logs += np.log1p(bets[:, None] * np.maximum(values[part], least)) @ times[part]
    most = float(logs.max())
    return float(np.exp(min(700.0, most + np.log(np.exp(logs - most).mean()))))
