"""Measure experts' errors on control questions, and disagreement of experts who got the same question."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from oversight.harness.arrays import BoolArray
from oversight.harness.estimate import Rate, clopper_pearson, is_negligible, likelihood_sequence
from oversight.harness.open_answers.units import NO, YES, Judgements, number_values

_LEAST_YOUDEN = 0.2
"""Youden's index (sum of both rates − 1) above which estimates are corrected."""
_UNMEASURED = (0.5, 1.0, 1.0)
"""Range, with the value in the middle, of a rate that gold does not measure: no worse than guessing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpertReplies:
    """Accuracy of an expert on control questions, and agreement with other experts.

    Attributes
    ----------
    expert
        Name of the expert; "" for all experts together.
    yes_for_yes, no_for_no
        Share of right replies to control questions whose true reply is "yes" (`yes_for_yes`) or "no"
        (`no_for_no`); None without such questions.
    agrees
        Among other experts' yes or no replies to questions that this expert answered, the share that equals
        this expert's reply. For all experts together: among all pairs of replies to the same question, the
        share of equal pairs. None if no question has two replies. The interval assumes that pairs of replies
        are independent.
    """

    expert: str
    yes_for_yes: Rate | None
    no_for_no: Rate | None
    agrees: Rate | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorRates:
    """Experts' accuracy, estimated from gold units or from pairs of replies to the same unit.

    s is the probability of the reply "yes" if the truth is yes, and t that of "no" if the truth is no. Two
    experts who err independently with probability e on every unit give different replies with probability d =
    2 e (1 − e). So without gold, s = t = 1 − e = (1 + √(1 − 2 d))/2.

    From an observed share v of "yes", the true share is estimated as (v − (1 − t))/(s + t − 1) (Rogan &
    Gladen 1978, Am. J. Epidemiol. 107). A unit with positive points is bad if it is not met; a unit with
    negative points is bad if it is met. So an observed loss ℓ is corrected to

        (ℓ − (1 − s) − (1 − t) n)/(s + t − 1),   n = mean over items of |negative points| / positive points,

    and an observed score 1 − ℓ to (1 − ℓ − (1 − t)(1 − n))/(s + t − 1). The correction assumes the same rates
    for all units and experts, and independent replies. If no control reply was wrong, the correction changes
    no value, but its interval allows for the error rates that the control replies do not exclude.

    Attributes
    ----------
    yes_for_yes, no_for_no
        Three numbers each, for s and for t: lower end of the interval, value, and upper end. If no gold unit
        measures a rate, its value is 1 and its interval is [½, 1].
    wrong, of
        Number of wrong replies to units of known truth, and number of all replies to these units. Without
        gold: number of pairs of replies that differ, and number of all pairs.
    is_gold
        Whether the rates are from units of known truth.
    """

    yes_for_yes: tuple[float, float, float]
    no_for_no: tuple[float, float, float]
    wrong: int
    of: int
    is_gold: bool = True

    @property
    def doubt(self) -> str:
        """Text with the number of wrong replies to gold or, without gold, of pairs of replies that differ."""
        if not self.wrong:
            kind = "control questions without a wrong reply" if self.is_gold else "pairs of equal replies"
            return f"{self.of} {kind} do not exclude that experts err"
        if self.is_gold:
            return f"experts gave {self.wrong} of {self.of} control questions a wrong reply"
        return f"two experts replied differently to {self.wrong} of {self.of} questions"

    @property
    def is_useful(self) -> bool:
        """Whether a correction is possible: s + t exceeds 1 even at the lower ends of both intervals."""
        return self.yes_for_yes[0] + self.no_for_no[0] - 1 > _LEAST_YOUDEN

    def correct(self, value: float, negatives: Sequence[float]) -> tuple[float, float, float]:
        """Correct an observed value for experts' errors.

        Return three corrected values: the smallest, the estimated and the largest one. The estimated value
        uses the estimated error rates; the smallest and largest use any rates within the rates' intervals.

        Parameters
        ----------
        negatives
            The mean n that the class's docstring defines: one value for a model, two for a difference of
            models. It is 0 for a share of met units.
        """
        (s_low, s, s_high), (t_low, t, t_high) = self.yes_for_yes, self.no_for_no
        n = 1 - negatives[0] if len(negatives) == 1 else negatives[1] - negatives[0]
        found = [
            (value - (1 - no) * n) / (yes + no - 1)
            for yes, no in [(s, t), *product((s_low, s_high), (t_low, t_high))]
        ]
        return min(found), found[0], max(found)

    def moves(self, value: float, negatives: Sequence[float], width: float) -> bool:
        """Whether a correction is impossible, or moves an observed value by more than a negligible amount.

        Parameters
        ----------
        negatives
            As in `correct`.
        width
            Width of the interval of `value`.
        """
        if not self.is_useful:
            return True
        corrected = self.correct(value, negatives)[1]
        return not is_negligible(corrected, value, corrected, width)


def find_rates(experts: Sequence[ExpertReplies]) -> tuple[ErrorRates, ...]:
    """Return the error rates of all experts together, computed from gold units and from pairs of replies.

    Estimates are corrected by the first rates. Rates from gold units come first, unless no reply to gold was
    wrong, the gold units are too few for a correction, and the pairs have differing replies or suffice for a
    correction.
    """
    both = next((found for found in experts if found.expert == ""), None)
    if both is None:
        return ()
    found = list[ErrorRates]()
    gold = [rate for rate in (both.yes_for_yes, both.no_for_no) if rate is not None]
    if gold:
        yes, no = (
            _UNMEASURED if rate is None else (rate.low, rate.value, rate.high)
            for rate in (both.yes_for_yes, both.no_for_no)
        )
        of = sum(rate.of for rate in gold)
        wrong = of - sum(rate.successes for rate in gold)
        found.append(ErrorRates(yes_for_yes=yes, no_for_no=no, wrong=wrong, of=of))
    if both.agrees is not None:
        found.append(_rates_of_pairs(both.agrees))
    return tuple(sorted(found, key=lambda rates: not (rates.wrong or rates.is_useful)))


def _rates_of_pairs(agrees: Rate) -> ErrorRates:
    low, right, high = (
        (1 + math.sqrt(max(0.0, 2 * share - 1))) / 2 for share in (agrees.low, agrees.value, agrees.high)
    )
    rates = (low, right, high)
    different = agrees.of - agrees.successes
    return ErrorRates(yes_for_yes=rates, no_for_no=rates, wrong=different, of=agrees.of, is_gold=False)


def measure_experts(
    judgements: Judgements, *, level: float = 0.95, anytime: bool = False
) -> tuple[ExpertReplies, ...]:
    """Measure all experts together, then each expert; only replies "yes" and "no" count.

    With `anytime`, the intervals of rates stay valid if the results are inspected repeatedly.

    Examples
    --------
    >>> from dataclasses import replace
    >>> from oversight.harness.example_data import example_judgements
    >>> judged = example_judgements()
    >>> gold = np.array(["yes"] * 12, dtype=object)
    >>> measure_experts(replace(judged, gold=gold))[0].yes_for_yes.value
    0.75
    """
    said = np.flatnonzero((judgements.reply == YES) | (judgements.reply == NO))
    if not len(said):
        return ()
    expert, names = number_values(judgements.expert[said])
    key = judgements.question[said] * len(names) + expert
    # A reply counts once, even if several answers share its question.
    kept = np.unique(key, return_index=True)[1]
    rows, expert = said[kept], expert[kept]
    yes = judgements.reply[rows] == YES
    question = np.unique(judgements.question[rows], return_inverse=True)[1]
    replies, yeses = np.bincount(question)[question], np.bincount(question, yes)[question]
    others = replies - 1
    shared = np.where(yes, yeses, replies - yeses) - 1

    def rate(right: BoolArray) -> Rate | None:
        return _count(right.sum(), len(right), level, anytime=anytime)

    def measure(name: str, mine: BoolArray, *, each: int) -> ExpertReplies:
        return ExpertReplies(
            expert=name,
            yes_for_yes=rate(yes[mine & (judgements.gold[rows] == YES)]),
            no_for_no=rate(~yes[mine & (judgements.gold[rows] == NO)]),
            agrees=_count(shared[mine].sum() / each, others[mine].sum() / each, level, anytime=anytime),
        )

    together = measure("", np.ones(len(rows), dtype=bool), each=2)
    order = sorted(range(len(names)), key=lambda j: str(names[j]))
    return (together, *(measure(names[j], expert == j, each=1) for j in order))


def _count(successes: float, of: float, level: float, *, anytime: bool) -> Rate | None:
    """Return `successes` / `of` with its interval (Clopper-Pearson unless `anytime`); None if `of` is 0."""
    x, n = round(float(successes)), round(float(of))
    if n == 0:
        return None
    if anytime:
        sequence = likelihood_sequence(x, n - x, [], [], level=level)
        return Rate(successes=x, of=n, value=x / n, low=sequence.low, high=sequence.high)
    low, high = clopper_pearson(x, n, level)
    return Rate(successes=x, of=n, value=x / n, low=low, high=high)
