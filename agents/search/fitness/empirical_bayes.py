"""Empirical-Bayes shrinkage of paired scores, which corrects the candidates' scores for luck.

A search reports the largest of many noisy estimates, which is biased upwards. Candidates are treated as draws
from one population, A_j ~ N(μ, τ²), and their estimates Â_j as A_j plus noise of variance v/n_j, where n_j is
the number of scored items. Given τ, the posterior mean is μ + B(Â_j − μ), B = τ²/(τ² + v/n_j). On average, it
is unbiased for any selected candidate, including the best one (Robbins 1956; Efron & Morris 1973, JASA 68). A
few dozen candidates determine τ badly, and a plug-in τ̂ shrinks the luckiest searches least. So the posterior
mean is averaged over the posterior of τ under a half-normal prior (Gelman 2006, Bayesian Anal. 1).

All scores are paired on the same items, so the difficulty of items cancels. v is pooled over the candidates,
because with few refutations a candidate's own variance is small exactly if the candidate was lucky. The only
assumption is that candidates are exchangeable. Families of candidates violate it: two families far apart bias
the winner's score by a few points. If the parents of candidates are known, the prior uses them (`relate`). A
single candidate far above all others is shrunken by up to twenty points; the upper ends of intervals allow
for this (`oversight.agents.search.fitness.breakthroughs`).

`compare_paired` compares a child with its parent. It averages the differences over the items that both
answered. The standard error includes two imaginary items, one won by each program, as in
`oversight.harness.estimate.paired` for proportions (Bonett & Price 2012). Without them, three lucky items in
a row would count as proof, although this happens by chance one time in eight, and programs that have not
differed yet would count as equal. The difference is then shrunk according to the spread of the candidates.
The verdict ``better`` requires a probability of 95 %, so a program compared with itself gets this verdict at
most one time in twenty. ``worse`` requires only 80 %, because this verdict merely discourages trying the same
change again. Any other result is ``undecided``.

With known parents, the prior says that a child is about as good as its parents: A_j = A_parent + N(0, τ²),
with the mean of the parents if there are two. A candidate without parents is a draw around the archive's
mean, A_j = μ + N(0, τ²). So the scores of a parent and of its other children inform about a child; with a
hundred labels, these scores say more about the child than its own answers. This is the animal model of
breeding (Henderson 1975, Biometrics 31: best linear unbiased prediction by relationship), without the
correction for inbreeding. It is valid if edits are small and about as often good as bad. A large improvement
is shrunken towards the parent; the upper ends of intervals allow for this.

Items that are not independent, for example images of one patient, are handled by a design effect
(`design_effect`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.special import ndtr, ndtri, softmax

from oversight.agents.search.fitness.breakthroughs import Breakthroughs, find_breakthroughs
from oversight.harness import EstimateError, FloatArray, IntArray
from oversight.harness.estimate import effective_clusters

_NEAR = 1e-9


def design_effect(residuals: FloatArray, cluster: IntArray) -> float:
    """Return the variance of a mean over clustered items, relative to independent items; at least 1.

    The observed variance is corrected for few clusters by C/(C − 1), where C is the effective number of
    clusters.

    Parameters
    ----------
    residuals
        Residuals of one mean, shape (n,), or of M means that are pooled, shape (M, n); NaN if missing.
    cluster
        Cluster number of each item, shape (n,).
    """
    n, groups = len(cluster), _effective(cluster)
    if groups >= n - _NEAR:
        return 1.0
    rest = np.nan_to_num(np.atleast_2d(residuals))
    alone = float((rest**2).sum())
    few = groups / max(1.0, groups - 1) * (n - 1) / n
    return max(1.0, few * float((add_up(rest, cluster) ** 2).sum()) / alone) if alone > 0 else n / groups


def add_up(values: FloatArray, cluster: IntArray) -> FloatArray:
    """Sum values of shape (M, n) over the items of each cluster. Returns shape (M, number of clusters)."""
    _, number = np.unique(cluster, return_inverse=True)
    return np.array([np.bincount(number, row) for row in values])


def _effective(cluster: IntArray) -> float:
    return effective_clusters(np.unique(cluster, return_inverse=True)[1])


def least_variance(cluster: IntArray) -> float:
    """Return a lower bound for the variance of a score: p(1 − p) at p = 1/(C + 2), scaled by n/C.

    C is the effective number of clusters, n the number of items. The bound is needed because equal scores in
    C clusters do not prove that the variance is zero.
    """
    groups = _effective(cluster)
    return (groups + 1) / (groups + 2) ** 2 * len(cluster) / groups


def relate(ids: Sequence[str], parents: Mapping[str, Sequence[str]]) -> FloatArray | None:
    """Return prior covariances of the candidates' accuracies in units of τ², shape (M, M).

    The unit τ² is the prior variance of a candidate without parents. Returns None if no candidate has a
    parent among `ids`.

    Parameters
    ----------
    ids
        Ids of the candidates, parents before their children.
    parents
        Parents of each candidate by id; parents that are not among `ids` are ignored.
    """
    row = {name: j for j, name in enumerate(ids)}
    known = [[row[p] for p in parents.get(name, ()) if p in row] for name in ids]
    if not any(known):
        return None
    found: FloatArray = np.eye(len(ids))
    for j, above in enumerate(known):
        if above:
            shared = found[above, :j].mean(axis=0)
            found[j, :j], found[:j, j] = shared, shared
            found[j, j] = 1 + found[np.ix_(above, above)].mean()
    return found


PRIOR_SPREAD = 0.1
"""Scale of the half-normal prior of τ; programs for one task rarely differ by more than 20 points."""
_GRID = np.linspace(0.0, 4.0, 81)

PairedVerdict = Literal["better", "worse", "undecided"]
BETTER, WORSE = 0.95, 0.2
POWER = 0.8


@dataclass(frozen=True, slots=True, kw_only=True)
class ShrunkScores:
    """The archive's posterior, one entry per candidate; NaN for a candidate without a score.

    Attributes
    ----------
    value
        Â_j: the archive's level, plus the candidate's mean difference from the reference over the items that
        the candidate answered. The reference is each item's mean score over the candidates that answered at
        least 90 % of the items; the archive's level is the mean of the reference. Â_j equals the mean score
        if the candidate answered all items.
    se_relative
        Standard error of Â_j given the archive's level, from paired differences.
    mean, sd
        Posterior mean and standard deviation of the candidate's true accuracy, given the archive's level.
    level_se
        Standard error of the archive's level; the error of the level is the same in all values.
    spread
        Posterior mean of τ, the standard deviation of the candidates' true accuracies.
    breakthroughs
        Breakthrough component of each candidate's posterior.
    """

    value: FloatArray
    se_relative: FloatArray
    mean: FloatArray
    sd: FloatArray
    level_se: float
    spread: float
    breakthroughs: Breakthroughs


def shrink_scores(
    scores: FloatArray,
    unit: float = 1.0,
    cluster: IntArray | None = None,
    related: FloatArray | None = None,
) -> ShrunkScores:
    """Shrink the candidates' scores towards their common mean.

    Parameters
    ----------
    scores
        Scores of `oversight.agents.search.fitness.scores.score_items`, shape (M, n); NaN if missing.
        Candidates may have answered different items. Their scores are compared with the mean score of those
        candidates that answered at least 90 % of the scored items.
    unit
        Factor that converts a difference of accuracies to the scale of the scores: 1 if scores are
        accuracies; 1/(K − 1) if scores are q, the share of items on which the candidate does not choose the
        option that has a no.
    cluster
        Cluster number of each item, shape (n,); by default, every item is independent.
    related
        Prior covariances in units of τ², shape (M, M) (`relate`); by default, candidates are independent.

    Raises
    ------
    EstimateError
        If there is no score, or no candidate answered 90 % of the scored items.
    """
    scored = ~np.isnan(scores)
    used = scored.any(axis=0)
    if not used.any():
        raise EstimateError("fitness: no candidate has an answer to a labelled item")
    cluster = (np.arange(scores.shape[1]) if cluster is None else cluster)[used]
    scores, scored = scores[:, used], scored[:, used]
    counts = scored.sum(axis=1)
    # A reference candidate needs scores on at least 90 % of the items.
    complete = counts >= 0.9 * used.sum()
    if not complete.any():
        raise EstimateError("fitness: no candidate answered all items; there is nothing to compare with")
    # An item's mean score over reference candidates, or over all candidates if no reference has a score.
    chosen = np.where(complete[:, None], scores, np.nan)
    empty = np.isnan(chosen).all(axis=0)
    chosen[:, empty] = scores[:, empty]
    reference = np.nanmean(chosen, axis=0)
    gaps = np.where(scored, scores - reference, 0.0)
    level = float(np.nanmean(reference))
    has = counts > 0
    each = np.where(has, counts, np.nan)
    value = level + gaps.sum(axis=1) / each
    centred = np.where(scored, gaps - (value - level)[:, None], 0.0)
    n = int(used.sum())
    least = least_variance(cluster)
    effect = design_effect(centred, cluster)
    v = max(least, effect * float((centred**2).sum()) / max(1, int(counts.sum()) - int(has.sum())))
    se = np.sqrt(v / each)
    mean, sd = np.full((2, len(scores)), np.nan)
    among = np.eye(len(scores)) if related is None else related
    mean[has], sd[has], spread = _posterior(
        value[has], se[has] ** 2, PRIOR_SPREAD * unit, among[np.ix_(has, has)]
    )
    own = effect * (centred**2).sum(axis=1) / np.maximum(1, counts - 1) / each
    together = design_effect(reference - level, cluster)
    level_se = float(np.sqrt(max(least, together * float(np.nanvar(reference))) / n))
    return ShrunkScores(
        value=value,
        se_relative=se,
        mean=mean,
        sd=sd,
        level_se=level_se,
        spread=spread,
        breakthroughs=find_breakthroughs(value, np.fmax(se**2, own), unit),
    )


def _posterior(
    value: FloatArray, variance: FloatArray, scale: float, related: FloatArray
) -> tuple[FloatArray, FloatArray, float]:
    """Return posterior mean and standard deviation of every candidate's accuracy, and posterior mean of τ.

    The prior covariance of the accuracies is τ² times `related`, and τ is integrated over a grid. If every
    value is divided by its standard error, one eigenbasis makes this covariance diagonal for every τ.
    """
    noise = np.sqrt(np.maximum(variance, 1e-18))
    roots, basis = np.linalg.eigh(related / np.outer(noise, noise))
    tau2 = (scale * _GRID[:, None]) ** 2
    weight = 1 / (1 + tau2 * np.maximum(roots, 0.0))
    ones, seen = basis.T @ (1 / noise), basis.T @ (value / noise)
    total = (weight * ones**2).sum(axis=1)
    mu = (weight * ones * seen).sum(axis=1) / total
    left = seen - mu[:, None] * ones
    log = 0.5 * np.log(weight).sum(axis=1) - 0.5 * np.log(total) - 0.5 * _GRID**2
    log -= 0.5 * (weight * left**2).sum(axis=1)
    p = softmax(log)
    # `rest` is the posterior mean of the noise, so `value - rest` is the posterior mean of A_j
    rest = noise * ((weight * left) @ basis.T)
    means = value - rest
    mean = p @ means
    drag = noise * ((weight * ones) @ basis.T)
    within = noise**2 * ((1 - weight) @ (basis**2).T) + drag**2 / total[:, None]
    sd = np.sqrt(p @ (within + (means - mean) ** 2))
    return mean, sd, float(p @ (scale * _GRID))


@dataclass(frozen=True, slots=True, kw_only=True)
class Paired:
    """Comparison of a child with another program on the same items.

    Attributes
    ----------
    difference, se
        Mean of the per-item differences, child minus other program, and the standard error of this mean if
        the true difference is zero.
    n
        Number of items on which both programs have a score.
    p_better
        Posterior probability that the child is better.
    """

    difference: float
    se: float
    n: int
    p_better: float

    @property
    def verdict(self) -> PairedVerdict:
        """Verdict: ``"better"``, ``"worse"`` or ``"undecided"``, from `p_better`."""
        if self.p_better >= BETTER:
            return "better"
        return "worse" if self.p_better <= WORSE else "undecided"


def compare_paired(
    child: FloatArray, other: FloatArray, spread: float, cluster: IntArray | None = None
) -> Paired:
    """Compare two programs' per-item scores, shape (n,) each.

    Parameters
    ----------
    child, other
        Rows of `oversight.agents.search.fitness.scores.score_items`; NaN if missing.
    spread
        τ of the archive (`ShrunkScores.spread`); the prior of a difference is N(0, 2τ²).
    cluster
        Cluster number of each item, shape (n,); by default, every item is independent.
    """
    both = ~(np.isnan(child) | np.isnan(other))
    gaps = child[both] - other[both]
    n = len(gaps)
    if not n:
        return Paired(difference=0.0, se=math.inf, n=0, p_better=0.5)
    sums = gaps if cluster is None else add_up(gaps[None], cluster[both])
    square = float((sums**2).sum())
    differ = int((np.abs(sums) > 1e-12).sum())
    mean = float(gaps.mean())
    se = math.sqrt(square + 2 * (square / differ if differ else 1.0)) / n
    prior = 2 * spread**2
    shrunken = mean * math.sqrt(prior) / (se * math.sqrt(prior + se**2))
    return Paired(difference=mean, se=se, n=n, p_better=float(ndtr(shrunken)))


def minimum_detectable(se: float) -> float:
    """Return the smallest difference that the comparison detects with power 80 %: (z_.95 + z_.8)·se."""
    return float(ndtri(BETTER) + ndtri(POWER)) * se


def items_for(per_item_sd: float, difference: float) -> int:
    """Return the number of items needed to detect a difference: n = ((z_.95 + z_.8)·sd/difference)²."""
    return math.ceil((minimum_detectable(per_item_sd) / difference) ** 2)
