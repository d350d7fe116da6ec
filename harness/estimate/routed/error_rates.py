"""In which ranges experts' error rates lie: by gold items, and by what is known of them beforehand.

Answers come with sensitivity s and specificity t; what estimates need of them is J = s + t − 1 and the pair
(s, t) itself. Ranges beforehand are taken as certain, those by gold hold with a probability.
"""

from __future__ import annotations

import math

from oversight.harness.errors import NotIdentified
from oversight.harness.estimate.core import clopper_pearson
from oversight.harness.estimate.intervals import likelihood_sequence
from oversight.harness.estimate.routed.error_likelihood import ErrorRanges


def youden_interval(known: ErrorRanges, level: float) -> tuple[float, float, float]:
    """J = s + t − 1 with an interval, where both kinds of gold were answered.

    Clopper–Pearson limits of both rates, squared and added (Newcombe 1998, Stat. Med. 17): the rates are of
    different questions, so independent. The low end may be negative.

    Raises
    ------
    NotIdentified
        If the rates give J ≤ 0: answers no better than a coin say nothing about the truth.
    """
    (right, missed), (false_yes, true_no) = known.gold_true, known.gold_false
    s, t = right / (right + missed), true_no / (true_no + false_yes)
    (s_low, s_high), (t_low, t_high) = (
        clopper_pearson(x, n, level) for x, n in ((right, right + missed), (true_no, true_no + false_yes))
    )
    J = s + t - 1
    if J <= 0:
        raise NotIdentified(f"sensitivity + specificity must exceed 1, is {s + t:.4g}: answers carry nothing")
    return J, J - math.hypot(s - s_low, t - t_low), J + math.hypot(s_high - s, t_high - t)


def rate_ranges(
    known: ErrorRanges, level: float, *, any_time: bool = False
) -> tuple[tuple[float, float], tuple[float, float]]:
    """Ranges of s and t that hold together at `level`: what is known beforehand, narrowed by gold.

    Parameters
    ----------
    any_time
        Whether they shall hold after every answer to gold at once (`likelihood_sequence`).

    Raises
    ------
    NotIdentified
        If gold contradicts what is known beforehand.
    """
    kinds = ((known.sensitivity, known.gold_true), (known.specificity, known.gold_false[::-1]))
    asked = sum(sum(gold) > 0 for _, gold in kinds)
    each = 1 - (1 - level) / max(1, asked)
    found = list[tuple[float, float]]()
    for (low, high), (right, wrong) in kinds:
        if right + wrong:
            if any_time:
                sequence = likelihood_sequence(right, wrong, [], [], level=each)
                least, most = sequence.low, sequence.high
            else:
                least, most = clopper_pearson(right, right + wrong, each)
        else:
            least, most = 0.0, 1.0
        if max(low, least) > min(high, most):
            raise NotIdentified(
                "answers to gold contradict the range of a rate that study.toml gives (sensitivity, "
                "specificity), or are no better than a coin"
            )
        found.append((max(low, least), min(high, most)))
    return found[0], found[1]
