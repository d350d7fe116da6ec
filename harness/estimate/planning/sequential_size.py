"""How many answers settle on which side of a bar a mean lies: a forecast from the answers so far.

With outcomes x_i of mean b + m, m ≠ 0, and second moment q around the bar b, the best bet λ = m/q lets the
log of the wealth of `oversight.harness.estimate.gate` grow by m²/(2q) an outcome, with standard deviation
|m|/√q. It must reach log(1/α) + c, c what the mixture over bets costs. With power β

    √n |m|/√q = z_β + √(z_β² + 2 (log(1/α) + c)),

and with an interval of fixed size z_{(1 + level)/2} + z_β. Where b + m is but an estimate, the forecast is as
uncertain as the estimate is, most of all near the bar.
"""

from __future__ import annotations

import math

from scipy.special import ndtri

from oversight.harness.estimate.core import check_level, z_value

_MIXTURE = 1.6
"""What bets that are spread over two decades lose to the best one, in logs."""


def outcomes_to_settle(
    mean: float, square: float, *, level: float = 0.95, power: float = 0.8, looks: bool = True
) -> float:
    """Number of outcomes after which such a mean is on its side of the bar with this power; inf if on it.

    Parameters
    ----------
    mean, square
        Of the outcomes minus the bar.
    looks
        Whether at bets that may be looked at any time; else at one interval of fixed size.
    """
    check_level(level)
    if mean == 0 or not square > 0:
        return math.inf
    z = float(ndtri(power))
    need = z + (math.sqrt(z * z + 2 * (_MIXTURE - math.log1p(-level))) if looks else z_value(level))
    return need**2 * square / mean**2
