"""Experts who leave more questions about some options unanswered than about others.

Where options are drawn uniformly and the answering rate r_k of an option does not depend on the truth, the
answered items are a random part of all items, and among them option k was asked about with probability
r_k/Σ_j r_j. So the estimators for recorded propensities apply with these in place of 1/K. That needs one
question per item and one number of options; other designs get a reason why their intervals may not hold.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from oversight.harness.arrays import BoolArray, FloatArray, IntArray
from oversight.harness.columns import YES, LabelColumns, QuestionColumns, answering_rates, read_questions
from oversight.harness.errors import NotIdentified
from oversight.harness.estimate.core import blaker, count_effective, z_value
from oversight.harness.estimate.data.combine import mover_sum, with_unreadable
from oversight.harness.estimate.data.uniform_assumptions import UNIFORM_ASSUMPTIONS
from oversight.harness.estimate.routed import FEW_OPEN, RoutedSample
from oversight.harness.types import Counts, Estimate, Interval, Note, NoteKind

REFUSALS = "weighted-refusals"
"""Name of the interval of `estimate_refusals`."""
_DOUBT = 0.01
"""p-value below which rates count as unequal if estimates cannot be corrected for them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnequalAnswers:
    """Answering rates that differ between options.

    Attributes
    ----------
    least, most
        The smallest and the largest rate.
    rates
        Rate of every option, shape (K,); None if estimates of this design cannot be corrected.
    refusal_rates
        The same if every answer is a "no", as for items that were chosen by their "no"; else None.
    """

    least: float
    most: float
    rates: FloatArray | None
    refusal_rates: FloatArray | None = None

    @property
    def note(self) -> Note:
        """What a reader of a corrected number must know."""
        return Note(NoteKind.ANSWERING_RATES, {"least": self.least, "most": self.most})

    @property
    def why(self) -> str:
        """Why the interval of an estimate that is not corrected may not hold."""
        return (
            f"experts answered {self.least:.0%} of the questions about one option and {self.most:.0%} of "
            "those about another, and this estimate is not corrected for it"
        )

    def tilt(self, data: RoutedSample) -> RoutedSample:
        """The sample with the propensities that the answered questions have; unchanged without `rates`."""
        if self.rates is None:
            return data
        tilted = data.propensities * self.rates
        total = tilted.sum(axis=1, keepdims=True)  # 0 for an item that was passed over
        return replace(data, propensities=np.divide(tilted, total, out=tilted, where=total > 0))


def find_unequal(labels: LabelColumns, items: BoolArray) -> UnequalAnswers | None:
    """Find out whether answering rates differ between options by more than chance.

    Parameters
    ----------
    labels
        A part of them, too, if it is the same share of every expert's answers. `LabelColumns.rates` take
        the place of the rates among these labels.
    items
        Items that matter, shape (N,): those with a prediction.

    Returns
    -------
    UnequalAnswers or None
        None if no test shows that rates differ, and for items that are asked about until resolved.
    """
    if labels.is_resolved or not len(labels):
        return None
    is_whole = labels.drawn is None or np.mean(labels.answers < 0) <= FEW_OPEN
    asked, answered = read_questions(labels, with_open=bool(is_whole))
    if labels.rates is None and answered.all():
        return None
    rows = np.flatnonzero(items[asked.item])
    if not rows.size:
        return None
    mine, answered = asked.take(rows), answered[rows]
    is_simple = labels.is_even and _is_simple(mine)
    cells = mine.option if is_simple else _number_options(mine)
    size = int(mine.n_options[0] if is_simple else cells.max() + 1)
    counts = (np.bincount(cells, minlength=size), np.bincount(cells[answered], minlength=size))
    rates = answering_rates(*counts) if is_simple else answering_rates(*counts, chance=_DOUBT)
    if is_simple and labels.rates is not None and labels.rates.size == size:
        rates = labels.rates
    least, most = float(rates.min()), float(rates.max())
    if least == most:
        return None
    if is_simple and not (labels.kind[items[labels.item]] == YES).any():
        return UnequalAnswers(least=least, most=most, rates=None, refusal_rates=rates)
    return UnequalAnswers(least=least, most=most, rates=rates if is_simple else None)


def estimate_refusals(predicted: IntArray, refused: IntArray, rates: FloatArray, level: float) -> Estimate:
    """Estimate the accuracy from items with a "no" alone, each option's by the inverse of its answering rate.

    With q_k the share of the refusals of option k that hit the prediction and s_k ∝ n_k/r_k the share of
    option k, A = 1 − (K − 1) Σ_k s_k q_k. Its interval is made of those of the q_k (`mover_sum`).

    Parameters
    ----------
    predicted, refused
        Shape (N,): the predicted option, −1 for unreadable, and the one with a "no".
    rates
        Shape (K,), in [0, 1].

    Raises
    ------
    NotIdentified
        If an option was never refused on an item with a readable prediction.
    """
    K, readable = rates.size, predicted >= 0
    n = np.bincount(refused[readable], minlength=K)
    hits = np.bincount(refused[readable & (predicted == refused)], minlength=K)
    if not n.all():
        raise NotIdentified(f"option {int(np.argmin(n))} has no answer, so nothing refutes predictions of it")
    weight = 1 / rates[refused]
    share, q = (n / rates) / (n / rates).sum(), hits / n
    centre, z = float(share @ q), z_value(level)
    between = float(share @ (q - centre) ** 2) / count_effective(weight[readable])
    lows, highs = zip(*(blaker(int(v), int(m), level) for v, m in zip(hits, n, strict=True)), strict=True)
    least, most = mover_sum(q.tolist(), lows, highs, share.tolist(), z**2 * between)
    low, high = (min(1.0, max(0.0, 1 - (K - 1) * end)) for end in (most, least))
    se = (K - 1) * float(np.sqrt((share**2 * q * (1 - q) / n).sum() + between))
    value = 1 - (K - 1) * centre
    notes = () if 0 <= value <= 1 else (Note(NoteKind.OUT_OF_RANGE),)
    made = Interval(low=low, high=high, level=level, method=REFUSALS, notes=notes)
    rho, size = float(weight[readable].sum() / weight.sum()), count_effective(weight)
    whole = with_unreadable(value, se, made, rho, size, len(predicted))
    return Estimate.from_interval(
        value=whole.value,
        se=whole.se,
        interval=whole.interval,
        estimator="ml",
        n=Counts(complementary=len(predicted)),
        assumptions=UNIFORM_ASSUMPTIONS,
    )


def _is_simple(asked: QuestionColumns) -> bool:
    """Whether each item has one question about one of K options, drawn uniformly, K the same for all."""
    K = asked.n_options
    is_uniform = not asked.offered.values.size and bool((np.abs(asked.propensity * K - 1) < 1e-6).all())
    return is_uniform and int(np.ptp(K)) == 0 and int(np.bincount(asked.item).max()) == 1


def _number_options(asked: QuestionColumns) -> IntArray:
    """Number of the option of every question, those of other K apart."""
    key = asked.n_options * (int(asked.n_options.max()) + 1) + asked.option
    number: IntArray = np.unique(key, return_inverse=True)[1].astype(np.int64)
    return number
