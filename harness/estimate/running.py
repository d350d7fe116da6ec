"""A model's accuracy while answers still come in: an interval that may be looked at any time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.errors import EstimateError
from harness.estimate._validate import check_level
from harness.estimate.anytime import likelihood_sequence
from harness.estimate.tally import Tally, tally
from harness.types import Counts, Estimate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from harness.types import Label, Prediction


def running_accuracy(
    predictions: Sequence[Prediction], labels: Sequence[Label], *, level: float = 0.95
) -> Estimate:
    """Accuracy with a confidence sequence (`anytime.likelihood_sequence`), valid at all looks at once.

    Parameters
    ----------
    predictions
        One per item.
    labels
        So many of each expert's as make options equally likely to have been asked; a fast expert's
        surplus must be left out (see `protocols.label_studio.watch`).

    Returns
    -------
    Estimate
        Over the labelled items.

    Notes
    -----
    The sequence is about readable predictions; the ends are multiplied by the readable share, as
    unreadable ones are wrong for certain. With H groups of items (of different K) each gets the level
    1 − (1 − level)/H, and ends are averaged by the groups' shares: by the union bound all groups'
    sequences hold jointly.

    Raises
    ------
    EstimateError
        If no label is on a predicted item, or labels contradict each other.
    """
    check_level(level)
    groups = [t for t in tally(predictions, labels).strata if t.n_labelled]
    if not groups:
        raise EstimateError("a running estimate needs at least 1 answer on a predicted item, there are 0")
    total = sum(t.n_labelled for t in groups)
    each = 1 - (1 - level) / len(groups)
    value = low = high = 0.0
    for t in groups:
        share = t.n_labelled / total
        readable = t.n_readable / t.n_labelled
        if not t.n_readable:
            continue
        part = _sequence(t, each)
        value += share * readable * part.value
        low += share * readable * part.low
        high += share * readable * part.high
    counts = Counts(
        ordinary=sum(t.n_yes for t in groups),
        complementary=sum(t.n_no for t in groups),
        abstained=sum(t.n_abstained for t in groups),
        unreadable=sum(t.n_unreadable for t in groups),
        failed=sum(t.n_failed for t in groups),
    )
    assumed = (
        "options were asked about without a look at the truth",
        "experts answer without error",
        "how fast an expert answers does not depend on the truth",
    )
    return Estimate(value, low, high, None, level, "ml", "anytime", counts, assumed)


def _sequence(t: Tally, level: float) -> Estimate:
    errors = t.hits.n - t.hits.S + sum(m.n - m.S for m in t.misses)
    return likelihood_sequence(
        t.hits.S, errors, [m.S for m in t.misses], [m.K for m in t.misses], level=level
    )
