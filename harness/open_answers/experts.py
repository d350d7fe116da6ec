"""How often experts err and disagree, from control questions and repeated ones."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from oversight.harness.arrays import BoolArray
from oversight.harness.estimate import Rate, clopper_pearson
from oversight.harness.open_answers.units import NO, YES, Judgements, number_values


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpertReplies:
    """What an expert's replies tell of the expert.

    Attributes
    ----------
    expert
        Name; "" for all together.
    yes_for_yes, no_for_no
        Share of right replies to control questions whose true reply is "yes", and "no"; None without any.
    agrees
        Share of other experts' yes and no about the same units that the expert shares; None without any.
        Intervals take pairs as independent.
    """

    expert: str
    yes_for_yes: Rate | None
    no_for_no: Rate | None
    agrees: Rate | None


def measure_experts(judgements: Judgements, *, level: float = 0.95) -> tuple[ExpertReplies, ...]:
    """Measure all experts together, then each by name; rates are of replies "yes" and "no" alone.

    Examples
    --------
    >>> from oversight.harness.open_answers import OpenAnswer, Unit, cross_units, draw_questions, join_replies
    >>> table = cross_units([Unit("c", "i", "true?", field="law")], [OpenAnswer("a", "i", "m", "text")])
    >>> drawn = draw_questions(table, 1, "equal", 1, experts={"ann": "law"})
    >>> judged = join_replies(table, drawn, ["no"], gold=np.array(["yes"], dtype=object))
    >>> measure_experts(judged)[0].yes_for_yes.value
    0.0
    """
    said = np.flatnonzero((judgements.reply == YES) | (judgements.reply == NO))
    if not len(said):
        return ()
    expert, names = number_values(judgements.expert[said])
    key = judgements.question[said] * len(names) + expert
    # a reply that settles units of several answers is one reply
    kept = np.unique(key, return_index=True)[1]
    rows, expert = said[kept], expert[kept]
    yes = judgements.reply[rows] == YES
    question = np.unique(judgements.question[rows], return_inverse=True)[1]
    replies, yeses = np.bincount(question)[question], np.bincount(question, yes)[question]
    others = replies - 1
    shared = np.where(yes, yeses, replies - yeses) - 1

    def measure(name: str, mine: BoolArray) -> ExpertReplies:
        return ExpertReplies(
            expert=name,
            yes_for_yes=_rate(yes[mine & (judgements.gold[rows] == YES)], level),
            no_for_no=_rate(~yes[mine & (judgements.gold[rows] == NO)], level),
            agrees=_count(shared[mine].sum(), others[mine].sum(), level),
        )

    together = measure("", np.ones(len(rows), dtype=bool))
    order = sorted(range(len(names)), key=lambda j: str(names[j]))
    return (together, *(measure(names[j], expert == j) for j in order))


def _rate(right: BoolArray, level: float) -> Rate | None:
    return _count(right.sum(), len(right), level)


def _count(successes: float, of: float, level: float) -> Rate | None:
    """The rate with its interval, or None of nothing."""
    x, n = round(float(successes)), round(float(of))
    if n == 0:
        return None
    low, high = clopper_pearson(x, n, level)
    return Rate(successes=x, of=n, value=x / n, low=low, high=high)
