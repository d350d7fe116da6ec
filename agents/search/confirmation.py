"""Confirm the finalists on new items, name one winner, and correct its score for selection bias.

The winner of a search is partly the luckiest of many candidates: with a hundred labels, its score overstates
its accuracy by 5 to 30 points. So the finalists also answer confirmation items, which are new for all of
them. Their shrunken scores on the selection items are the prior, and the paired scores on the confirmation
items update it by Bayes' rule. The posterior is valid for every finalist, including the winner. A finalist
that has not answered all selection items answers the remaining ones first.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from oversight.agents.search.context import SearchContext, gather_all
from oversight.agents.search.fitness.board import Board, rounded
from oversight.agents.search.fitness.breakthroughs import LOW, SIDE, WINNER_LOW, WINNER_SIDE, interval_ends
from oversight.agents.search.fitness.empirical_bayes import design_effect, least_variance
from oversight.agents.search.fitness.scores import score_items
from oversight.harness import FloatArray, IntArray, TransientModelError


@dataclass(frozen=True, slots=True, kw_only=True)
class Winner:
    """The winning candidate.

    Attributes
    ----------
    naive
        Score on the selection items, which is what a search without correction would report.
    reported
        Posterior mean of the winner's accuracy, from the selection and confirmation items.
    sd, low, high
        Standard deviation of that posterior, including the uncertainty of the archive's common level, and the
        ends of an interval of about 95 %. The upper end allows for a breakthrough
        (`oversight.agents.search.fitness.breakthroughs`). The lower end counts failed answers as wrong, the
        upper end as right.
    confirmed
        Score on the confirmation items only; None without confirmation items. This score is still biased
        upwards, because the winner is the best of the finalists.
    finalists
        Posterior means of the finalists by id, best first.
    """

    id: str
    naive: float
    reported: float
    sd: float
    low: float
    high: float
    confirmed: float | None
    finalists: dict[str, float]


async def confirm_finalists(context: SearchContext) -> Winner:
    """Confirm the finalists, name the winner, and then answer the test items once.

    A winner named earlier is kept even if new labels have arrived since, because another winner would use the
    test items a second time.

    Raises
    ------
    TransientModelError
        If all answers to the confirmation items failed, so that no decision is possible.
    """
    events = context.archive.events
    noted = events.get("winner")
    # If the budget ran out during the search, no finalists were recorded.
    named = noted or events.get("finalists")
    finalists = context.find_finalists() if named is None else list(named["finalists"])
    items = context.items("confirm")
    if items:
        context.progress(f"{len(finalists)} finalists on {len(items)} confirmation items")
    # Repeat failed requests, because a failed answer counts as wrong or is left out.
    parts = (context.items("select"), items)
    await gather_all(*(context.answer(c, part) for c in finalists for part in parts))
    if items and noted is None and context.archive.table.has_failed(finalists, items).all():
        raise TransientModelError("every answer to the confirmation items failed")
    winner = decide(context, finalists, None if noted is None else str(noted["candidate"]))
    context.archive.record_decision("winner", {"candidate": winner.id, "finalists": list(winner.finalists)})
    test = context.items("test")
    if test:
        tested = list(dict.fromkeys((winner.id, context.start)))
        who = "the winner and the start"
        if context.section.parity:
            tested, who = list(context.archive.candidates), f"all {len(context.archive.candidates)} members"
        context.progress(f"{who} on {len(test)} test items")
        await gather_all(*(context.answer(c, test, 0) for c in tested))
    return winner


def decide(
    context: SearchContext, finalists: list[str], tested: str | None = None, board: Board | None = None
) -> Winner:
    """Determine the winner from the stored answers and labels of selection and confirmation items.

    If `tested` names a candidate, it is the winner even if another one leads with the current labels. `board`
    is the context's board, if the caller has computed it already. There are no side effects.
    """
    board = board or context.board()
    chosen = [board.standing(c) for c in finalists]
    mean = np.array([f.mean for f in chosen])
    variance = np.array([f.sd for f in chosen]) ** 2
    level = board.shrunk.level_se**2
    items = context.items("confirm")
    fresh = None
    if items:
        answers = context.archive.table.options(finalists, items)
        fresh = score_items(answers, context.labels["confirm"], context.estimator)
        mean, variance, level = _update(mean, variance, level, (fresh, context.labels["confirm"].cluster))
    ranking = sorted(
        range(len(chosen)), key=lambda j: (rounded(-float(mean[j])), chosen[j].tokens, finalists[j])
    )
    best = ranking[0] if tested is None else finalists.index(tested)
    sd = float(np.sqrt(variance[best] + level))
    seen = None if fresh is None else (fresh[best], context.labels["confirm"].cluster)
    far = _far(board, finalists[best], seen)
    reach = (WINNER_LOW, WINNER_SIDE) if context.by_parents else (LOW, SIDE)
    low, high = interval_ends(float(mean[best]), sd, *far, reach)
    table, answered = context.archive.table, (*context.items("select"), *items)
    replies = int(table.is_there([finalists[best]], answered).sum())
    failed = int(table.is_left_out([finalists[best]], answered).sum()) / max(1, replies)
    return Winner(
        id=finalists[best],
        naive=chosen[best].value,
        reported=float(mean[best]),
        sd=sd,
        low=(1 - failed) * low,
        high=(1 - failed) * high + failed,
        confirmed=None if fresh is None or np.isnan(fresh[best]).all() else float(np.nanmean(fresh[best])),
        finalists={finalists[j]: float(mean[j]) for j in ranking},
    )


def _far(board: Board, winner: str, fresh: tuple[FloatArray, IntArray] | None) -> tuple[float, float, float]:
    """Return the probability that the winner is a breakthrough, and its accuracy in that case (mean, sd).

    `fresh` contains the winner's scores on the confirmation items, shape (n,), and the items' clusters.
    """
    shrunk, j = board.shrunk, board.places[winner]
    found = shrunk.breakthroughs
    chance, mean = float(found.chance[j]), float(found.mean[j])
    variance = float(found.sd[j] ** 2 + shrunk.level_se**2)
    scores, cluster = (np.empty(0), np.empty(0, np.int64)) if fresh is None else fresh
    seen, cluster = scores[~np.isnan(scores)], cluster[~np.isnan(scores)]
    if len(seen) < 2 or not chance:
        return chance, mean, float(np.sqrt(variance))
    value = float(seen.mean())
    spread = float(seen.var(ddof=1)) * design_effect(seen - value, cluster)
    noise = max(least_variance(cluster), spread) / len(seen)
    crowd = float(shrunk.sd[j] ** 2 + shrunk.level_se**2 + noise)
    gap, far_gap = value - float(shrunk.mean[j]), value - mean
    odds = np.log(chance / (1 - chance)) if chance < 1 else np.inf
    odds += 0.5 * (
        gap**2 / crowd + np.log(crowd) - far_gap**2 / (variance + noise) - np.log(variance + noise)
    )
    keep = noise / (noise + variance)
    return float(expit(odds)), keep * mean + (1 - keep) * value, float(np.sqrt(keep * variance))


def _update(
    mean: FloatArray, variance: FloatArray, level: float, fresh: tuple[FloatArray, IntArray]
) -> tuple[FloatArray, FloatArray, float]:
    """Update the finalists' posterior with their scores on new items.

    `fresh` contains the scores, shape (finalists, items), and the items' clusters. The differences between
    the finalists are updated separately from the finalists' common level. A finalist without a new score
    changes only with the level. Returns means and variances of the finalists, and variance of the level.
    """
    known = ~np.isnan(fresh[0]).all(axis=1)
    if not known.all():
        if known.any():
            told = _update(mean[known], variance[known], level, (fresh[0][known], fresh[1]))
            mean, variance = mean + told[0].mean() - mean[known].mean(), variance.copy()
            mean[known], variance[known], level = told
        return mean, variance, level
    scored = ~np.isnan(fresh[0]).all(axis=0)
    seen, cluster = fresh[0][:, scored], fresh[1][scored]
    value = np.nanmean(seen, axis=1)
    item_means = np.nanmean(seen, axis=0)
    n = seen.shape[1]
    gaps = seen - item_means
    least = least_variance(cluster)
    spread = float(np.nanvar(gaps)) * len(mean) / max(1, len(mean) - 1)
    effect = design_effect(gaps - (value - value.mean())[:, None], cluster)
    noise = max(least, effect * spread) / n
    # A finalist's deviation is its score minus the mean over the finalists. The updated deviation is the
    # precision-weighted mean of the old deviation and the deviation on the new items.
    centre, fresh_centre = mean.mean(), value.mean()
    keep = noise / (noise + variance)
    gap = keep * (mean - centre) + (1 - keep) * (value - fresh_centre)
    # Common mean score: precision-weighted mean of the archive's mean and the mean on the new items.
    prior_level = level + float(variance.mean()) / len(mean)
    together = design_effect(item_means - item_means.mean(), cluster)
    fresh_level = max(least, together * float(item_means.var(ddof=1))) / n if n > 1 else np.inf
    share = prior_level / (prior_level + fresh_level)
    centre = (1 - share) * centre + share * fresh_centre
    return centre + gap, keep * variance, (1 - share) * prior_level
