"""How often the questions about each class were answered, and whether that differs between classes.

An expert who leaves more questions unanswered than others makes "no" rare for their class. A program that
often answers with this class is then refuted too seldom. An answer about class k arrives with probability
π_k r_k, so the inverse of the answering rate r_k as its weight undoes this, as for any nonresponse that is
random within known classes (Little & Rubin 2019, Statistical Analysis with Missing Data, 3.3).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.special import chdtrc

from oversight.harness.arrays import AnyIntArray, BoolArray, FloatArray
from oversight.harness.columns.label_columns import ABSTAINED, LabelColumns, QuestionColumns

LEAST = 5
"""With fewer questions than this a class has the common rate: its own tells nothing."""
CHANCE = 0.05
"""The χ² test of equal answering rates takes a smaller p-value as proof that they differ."""


def answering_rates(
    asked: Sequence[int] | AnyIntArray, answered: Sequence[int] | AnyIntArray, *, chance: float = CHANCE
) -> FloatArray:
    """Share of the questions about each class that was answered, in [0, 1]; the same for all without proof.

    Parameters
    ----------
    asked, answered
        Shape (C,): questions about each class, and those of them with a yes or a no.
    chance
        p-value of the test below which the rates differ.

    Returns
    -------
    array
        Shape (C,). The common rate if a χ² test finds no difference; a class with fewer than five questions
        always has the common rate.

    Examples
    --------
    >>> answering_rates([100, 100], [95, 94]).tolist()
    [0.945, 0.945]
    >>> answering_rates([100, 100], [100, 20]).tolist()
    [1.0, 0.2]
    """
    n, said = (np.asarray(x, dtype=np.float64) for x in (asked, answered))
    known = n >= LEAST
    common = float(said.sum() / max(1.0, n.sum()))
    rates = np.full(n.size, common)
    of_tested = float(said[known].sum() / max(1.0, n[known].sum()))
    if known.sum() < 2 or not 0 < of_tested < 1:
        return rates
    gaps = (said[known] - n[known] * of_tested) ** 2 / (n[known] * of_tested * (1 - of_tested))
    statistic = float(gaps.sum())
    if chdtrc(int(known.sum()) - 1, statistic) < chance:
        rates[known] = said[known] / n[known]
    return rates


def read_questions(labels: LabelColumns, *, with_open: bool = True) -> tuple[QuestionColumns, BoolArray]:
    """All questions, and which have a yes or a no; with those that have no answer yet, if they are known."""
    if labels.drawn is None or not with_open:
        return labels.questions, np.asarray(labels.kind != ABSTAINED)
    row = labels.answers
    return labels.drawn, (row >= 0) & (np.append(labels.kind, ABSTAINED)[row] != ABSTAINED)
