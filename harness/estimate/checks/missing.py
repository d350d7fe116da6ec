"""Checks of what is missing: unanswered questions, and labels that follow readability."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from harness.arrays import AnyIntArray, BoolArray
from harness.columns import ABSTAINED, LabelColumns, PredictionColumns
from harness.estimate.checks.check import Check, is_negligible
from harness.estimate.core import two_sided, z_of_sum
from harness.estimate.data import LabelledArrays, Tallies, estimate_tallies, fill_answers, tally_arrays


def abstention(a: LabelledArrays, tallies: Tallies) -> Check:
    """Bounds of A_ML over all answers the unanswered questions might have had.

    The estimates suppose that a missing answer is unrelated to the truth; nothing in the data can
    test that. Passes if even the worst answers would hardly move the estimate (`is_negligible`).

    Parameters
    ----------
    tallies
        Of the same labels.
    """
    name = "abstention"
    missing = int(np.count_nonzero(a.kind == ABSTAINED))
    if missing == 0:
        return Check(
            name=name, passed=True, statistic=0.0, p_value=None, message="every question was answered"
        )
    low, high = (
        estimate_tallies(_refill(a, tallies, favourable=f), interval="score").value for f in (False, True)
    )
    share = missing / a.kind.size
    text = f"{missing} of {a.kind.size} questions unanswered: ml anywhere from {low:.3f} to {high:.3f}"
    if (a.kind == ABSTAINED).all():
        return Check(name=name, passed=False, statistic=share, p_value=None, message=text)
    now = estimate_tallies(tallies, interval="exact")
    passed = is_negligible(low, now.value, high, now.high - now.low)
    return Check(name=name, passed=passed, statistic=share, p_value=None, message=text)


def _refill(a: LabelledArrays, tallies: Tallies, *, favourable: bool) -> Tallies:
    """The tallies with the missing answers put in; only items that lack one are tallied anew."""
    splits = {t.split for t in tallies.strata}
    lacking = np.bincount(a.item[a.kind == ABSTAINED], minlength=a.n_options.size) > 0
    rows = lacking[a.item]
    if rows.all() or len(splits) > 1:
        return tally_arrays(replace(a, kind=_filled(a, favourable=favourable)))[0]
    (split,) = splits
    part = _part(a, lacking)
    (now,), (filled,) = (
        tally_arrays(replace(part, kind=kind), split)
        for kind in (part.kind, _filled(part, favourable=favourable))
    )
    changes = {(t.stratum, t.K): (t, f) for t, f in zip(now.strata, filled.strata, strict=True)}
    strata = []
    for t in tallies.strata:
        old, new = changes.get((t.stratum, t.K), (None, None))
        strata.append(t if old is None or new is None else t.exchange(old, new))
    return Tallies(strata=tuple(strata))


def _part(a: LabelledArrays, items: BoolArray) -> LabelledArrays:
    """The labels of some items."""
    rows, rank = items[a.item], np.cumsum(items) - 1
    return replace(
        a,
        y_hat=a.y_hat[items],
        option=a.option[rows],
        kind=a.kind[rows],
        n_options=a.n_options[items],
        item=rank[a.item[rows]],
        propensity=None if a.propensity is None else a.propensity[rows],
        stratum=None if a.stratum is None else a.stratum[items],
        names=None,
    )


def _filled(a: LabelledArrays, *, favourable: bool) -> AnyIntArray:
    return fill_answers(a.kind, a.option, a.item, a.y_hat, a.n_options, favourable=favourable)


def readability(predictions: PredictionColumns, labels: LabelColumns, alpha: float) -> Check:
    """Unreadable predictions are as common among labelled items as among the others.

    If questions were put only where the model had named an option, unreadable predictions (which
    are wrong) are missing from the labelled items, and the accuracy is that of the readable ones.
    """
    name = "readability"
    inside = labels.labelled
    n, bad = (
        [int(np.count_nonzero(x & side)) for side in (~inside, inside)]
        for x in (predictions.ran, predictions.is_unreadable)
    )
    if not sum(bad) or not all(n):
        return Check.not_made(name, "no unreadable predictions, or no items without labels")
    share = sum(bad) / sum(n)
    z = z_of_sum(bad[1] / n[1] - bad[0] / n[0], 0.0, share * (1 - share) * (1 / n[0] + 1 / n[1]))
    p_value = two_sided(z)
    text = f"unreadable: {bad[1]} of {n[1]} predictions with labels, {bad[0]} of {n[0]} without"
    return Check(name=name, passed=p_value >= alpha, statistic=z, p_value=p_value, message=text)
