"""The finalists on fresh items, one winner, and what it is worth once luck is taken off.

The winner of a search is the luckiest of many: its score overstates it by 5 to 30 points at a hundred
labels. The finalists' shrunken values are what is believed before the confirmation items; those are
fresh for all finalists and enter with their own precision, difference by difference, so the choice
among the finalists is Bayes' rule with two samples and stays right for whichever comes out on top.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from agents.search.context import SearchContext, gather_all
from agents.search.fitness import least_variance, rounded, score_items
from harness import FloatArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Winner:
    """The candidate to use.

    Attributes
    ----------
    naive
        Its estimate on the selection items: what a search without correction would report.
    reported
        Posterior mean of its accuracy, selection and confirmation together.
    sd
        Standard deviation of that posterior, the archive's common level included.
    confirmed
        Its estimate on the confirmation items alone, still the best of the finalists'; None without.
    finalists
        Who was confirmed, best first, with their posterior means.
    """

    id: str
    naive: float
    reported: float
    sd: float
    confirmed: float | None
    finalists: dict[str, float]


async def confirm_finalists(context: SearchContext) -> Winner:
    """Confirm the finalists and name the winner; then answer the test items, once.

    A winner that was named stays, whatever labels came since: another would be a second look at the test.
    """
    noted = context.archive.events.get("winner")
    if noted is None:
        ranked = context.board().ranked()
        finalists = [c for c in ranked if context.complete(c)][: context.section.finalists]
    else:
        finalists = list(noted["finalists"])
    items = context.items("confirm")
    if items:
        context.progress(f"{len(finalists)} finalists on {len(items)} confirmation items")
        await gather_all(*(context.answer(c, items) for c in finalists))
    winner = decide(context, finalists, None if noted is None else str(noted["candidate"]))
    context.archive.note("winner", {"candidate": winner.id, "finalists": list(winner.finalists)})
    test = context.items("test")
    if test:
        context.progress(f"the winner and the start on {len(test)} test items")
        pair = dict.fromkeys((winner.id, context.start))
        await gather_all(*(context.answer(c, test, 0) for c in pair))
    return winner


def decide(context: SearchContext, finalists: list[str], tested: str | None = None) -> Winner:
    """Weigh selection and confirmation; pure in the stored answers and the labels.

    With `tested`, the winner is the one that was tested, whoever is ahead by the labels of now.
    """
    board = context.board()
    chosen = [board.fitness[c] for c in finalists]
    mean = np.array([f.mean for f in chosen])
    variance = np.array([f.sd for f in chosen]) ** 2
    level = board.shrunk.level_se**2
    items = context.items("confirm")
    fresh = None
    if items:
        answers = context.archive.matrix(finalists, items)
        fresh = score_items(answers, context.labels["confirm"], context.estimator)
        mean, variance, level = _update(mean, variance, level, fresh)
    ranking = sorted(
        range(len(chosen)), key=lambda j: (rounded(-float(mean[j])), chosen[j].tokens, finalists[j])
    )
    best = ranking[0] if tested is None else finalists.index(tested)
    return Winner(
        id=finalists[best],
        naive=chosen[best].value,
        reported=float(mean[best]),
        sd=float(np.sqrt(variance[best] + level)),
        confirmed=None if fresh is None else float(np.nanmean(fresh[best])),
        finalists={finalists[j]: float(mean[j]) for j in ranking},
    )


def _update(
    mean: FloatArray, variance: FloatArray, level: float, fresh: FloatArray
) -> tuple[FloatArray, FloatArray, float]:
    """Posterior after fresh scores (finalists, items): differences and common level apart."""
    seen = fresh[:, ~np.isnan(fresh).all(axis=0)]
    value = np.nanmean(seen, axis=1)
    item_means = np.nanmean(seen, axis=0)
    n = seen.shape[1]
    gaps = seen - item_means
    least = least_variance(n)
    noise = max(least, float(np.nanvar(gaps)) * len(mean) / max(1, len(mean) - 1)) / n
    # Differences among the finalists: precision-weighted around their common means.
    centre, fresh_centre = mean.mean(), value.mean()
    keep = noise / (noise + variance)
    gap = keep * (mean - centre) + (1 - keep) * (value - fresh_centre)
    # Their common level: the archive's, and that of the fresh items.
    prior_level = level + float(variance.mean()) / len(mean)
    fresh_level = max(least, float(item_means.var(ddof=1))) / n if n > 1 else np.inf
    share = prior_level / (prior_level + fresh_level)
    centre = (1 - share) * centre + share * fresh_centre
    return centre + gap, keep * variance, (1 - share) * prior_level
