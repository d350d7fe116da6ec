"""Variance per item of a planned study, without and with what is known beside experts' answers.

Outcomes vary by the planned draw of options and by what the truth may be. The interval of
`oversight.harness.estimate.intervals.tilting` is made of outcomes g, whose variance depends on the draw, on
the working distribution, and on the truth, which is not known. But given item x and truth k

    f_k(x) = Σ_j π_j(x) [g(x, j, 1{j = k}) − A]²

is a number, π being the planned propensities and g taken at the tilt of mean A. So E f is one more mean of
Σ_k f_k 1{y = k}, and a pilot tells it as it tells an accuracy, by equation (G) of
`oversight.harness.estimate.routed.doubly_robust`, whatever options the pilot's own draw asked about.

Variances are those of the estimates themselves: of the score interval's outcomes (`plan_outcomes`), the
larger of the model's and the observed one, with the working distribution of votes or of judges, learned from
the pilot. Items drawn in proportion within strata leave out what varies between these: the squared covariance
of being right with the strata's mean guess, over the variance of that (a lower bound, without its bias).
Where a judge's word counts on the whole pool, an item that is drawn varies around what is expected of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from oversight.harness.arrays import FloatArray, IntArray
from oversight.harness.errors import NotIdentified
from oversight.harness.estimate.intervals import FAR_ITEMS, outcomes_at, plan_working, tilt_items, tilt_of
from oversight.harness.estimate.judged import working_distribution
from oversight.harness.estimate.planning.pilot_answers import PilotAnswers
from oversight.harness.estimate.routed import weigh_votes

_PORTION = 2_000
"""Items at a time: there is a row for every option that may be asked about, and either answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedOutcomes:
    """Second moments of the outcomes of N items of at most K options.

    Attributes
    ----------
    around_mean, around_guess
        Shape (N, K): E[(g − A)² | the truth is k], and the same around what is expected of the item.
    guess
        Shape (N,): what the tilted working distribution expects of the item, E c.
    """

    around_mean: FloatArray
    around_guess: FloatArray
    guess: FloatArray


def plan_outcomes(
    c: FloatArray,
    propensities: FloatArray,
    n_options: IntArray,
    working: FloatArray | None,
    mean: float,
) -> PlannedOutcomes:
    """Outcomes of N items of equal weight, one question each; parameters as of `tilt_items`, and A.

    Raises
    ------
    NotIdentified
        If such a draw cannot tell this target.
    """
    working = plan_working(c, propensities, n_options) if working is None else working
    nobody, none = np.full(len(c), -1), np.zeros(len(c))
    tilt = tilt_of(tilt_items(c, propensities, n_options, nobody, none, working=working), mean)
    parts = [slice(start, start + _PORTION) for start in range(0, len(c), _PORTION)]
    found = [_plan_part(c[p], propensities[p], n_options[p], working[p], mean, tilt) for p in parts]
    around_mean, around_guess, guess = (np.concatenate(x) for x in zip(*found, strict=True))
    return PlannedOutcomes(around_mean=around_mean, around_guess=around_guess, guess=guess)


def model_variances(
    c: FloatArray, propensities: FloatArray, n_options: IntArray, working: FloatArray | None, mean: float
) -> tuple[float, float]:
    """Means of both moments over the items if the tilted working distribution is right."""
    nobody, none = np.full(len(c), -1), np.zeros(len(c))
    rows = tilt_items(c, propensities, n_options, nobody, none, working=working)
    guess, variance, _ = outcomes_at(rows, tilt_of(rows, mean))
    return float((variance + (guess - mean) ** 2).mean()), float(variance.mean())


def _plan_part(
    c: FloatArray,
    propensities: FloatArray,
    n_options: IntArray,
    working: FloatArray,
    mean: float,
    tilt: float,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Both moments, and E c of every item by the tilted working distribution."""
    n, width = c.shape
    each = np.repeat(np.arange(n), 2 * width)
    option, yes = (x.ravel() for x in np.indices((n, width, 2))[1:])
    asked = np.where(propensities[each, option] > 0, option, -1)
    rows = tilt_items(
        c[each],
        propensities[each],
        n_options[each],
        asked,
        yes.astype(np.float64),
        working=working[each],
    )
    guess, _, g = (x.reshape(n, width, 2) for x in outcomes_at(rows, tilt))
    first, own = guess[:, 0, 0], np.arange(width) < n_options[:, None]
    moments = []
    for centre in (mean, first[:, None, None]):
        no, is_true = np.moveaxis((g - centre) ** 2, 2, 0)
        refuted = (propensities * no).sum(axis=1, keepdims=True)
        moments.append(np.where(own, refuted + propensities * (is_true - no), 0.0))
    return moments[0], moments[1], first


NONE, VOTES, JUDGE, POOL = "none", "votes", "judge", "pool"
POOL_VOTES, POOL_JUDGE = "pool+votes", "pool+judge"
PARTS: Mapping[str, tuple[str, ...]] = {
    NONE: (),
    VOTES: (VOTES,),
    JUDGE: (JUDGE,),
    POOL: (POOL,),
    POOL_VOTES: (POOL, VOTES),
    POOL_JUDGE: (POOL, JUDGE),
}
"""What a study may make use of → the parts that it is made of."""
_EDGE, _REACH, _GRID = 1e-3, 0.3, 13
"""Means at which variances are looked at: their least distance from 0 and 1, how far they reach, how many."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemVariance:
    """Variance per item of an estimate.

    Attributes
    ----------
    whole
        Around the mean.
    near, pool
        Around what is expected of the item, where a judge's word on the items of a pool of this size counts:
        of n of N items (1 − n/N) of this and n/N of the other is left.
    between, far
        What strata leave out of a binomial share, and items far from it (see `design_effect`).
    means, curves
        Shapes (G,) and (2, G): how many times as large `whole` and `near` are, by the model, at other means
        than the estimated one. None where the interval is not the score's.
    """

    whole: float
    near: float = 0.0
    pool: int = 0
    between: float = 0.0
    far: float = 0.0
    means: FloatArray | None = None
    curves: FloatArray | None = None

    def at(self, items: float, mean: float | None = None) -> float:
        """Per item, of so many items, as tested at this mean."""
        whole, near = self.whole, self.near
        if mean is not None and self.means is not None and self.curves is not None:
            whole *= float(np.interp(mean, self.means, self.curves[0]))
            near *= float(np.interp(mean, self.means, self.curves[1]))
        if self.pool:
            drawn = min(1.0, items / self.pool)
            return (1 - drawn) * near + drawn * whole
        if self.far:
            return whole * (items * (whole - self.between) + self.far) / (items * whole + self.far)
        return whole


@dataclass(frozen=True, slots=True, kw_only=True)
class SideVariances:
    """Variances per item by what is made use of, the reason where one is not known, and questions an item."""

    of: Mapping[str, ItemVariance]
    undefined: Mapping[str, str]
    cost: float


def side_variances(
    pilot: PilotAnswers, mean: float, *, pool: int | None = None, curved: bool = False
) -> SideVariances:
    """Variances of one model's accuracy, `mean`.

    Parameters
    ----------
    pool
        Items of the pool, if items are to be drawn from one.
    curved
        Whether variances at other means are wanted, too.

    Raises
    ------
    NotIdentified
        If the planned draw, or the pilot, cannot tell this model's accuracy or its price.
    """
    votes = pilot.votes if pilot.votes.shape[1] > 1 else pilot.option[:, None]
    best = weigh_votes(votes, pilot.data)
    of, undefined = dict[str, ItemVariance](), dict[str, str]()
    workings: dict[str, FloatArray | None] = {NONE: None}
    if pilot.votes.shape[1] > 1 and not pilot.settles:
        workings[VOTES] = best
    if pilot.judges:
        workings[JUDGE] = working_distribution(pilot.option, pilot.data, pilot.judges)
    for side, working in workings.items():
        try:
            of |= _vary(pilot, mean, side, working, best, pool=pool, curved=curved)
        except NotIdentified as error:
            if side == NONE:
                raise
            undefined[side] = f"not known from these answers: {error}"
    cost = float(pilot.each_mean(pilot.cost, best).mean())
    return SideVariances(of=of, undefined=undefined, cost=max(cost, 1e-9))


def accuracy_variance(pilot: PilotAnswers, mean: float) -> float:
    """Variance per item without side information if wrong predictions are wrong at random."""
    readable = np.flatnonzero(pilot.option >= 0)
    share = len(readable) / len(pilot.option)
    inner = min(1 - 1e-9, mean / share)
    part = pilot.take(readable)
    whole, _ = model_variances(part.target, part.planned, part.data.n_options, None, inner)
    return share * whole + share * (1 - share) * inner**2


def _vary(
    pilot: PilotAnswers,
    mean: float,
    side: str,
    working: FloatArray | None,
    best: FloatArray,
    *,
    pool: int | None,
    curved: bool,
) -> dict[str, ItemVariance]:
    """Variances by the uses of one working distribution: the larger of the model's and the observed one.

    What varies are the outcomes of readable predictions; A = ρ A_r, of which the share ρ varies, too.
    """
    readable = np.flatnonzero(pilot.option >= 0)
    share = len(readable) / len(pilot.option)
    inner, part = min(1 - 1e-9, mean / share), pilot.take(readable)
    own = None if working is None else working[readable]
    planned = plan_outcomes(part.target, part.planned, part.data.n_options, own, inner)
    between = (_project(planned.guess, part.guess)[0], _between_strata(pilot, best))
    modelled = model_variances(part.target, part.planned, part.data.n_options, own, inner)
    seen = (0.0, 0.0)  # the likelihood's interval of uniformly drawn options does not look at squares
    if working is not None or not _is_uniform(part):
        moments = (planned.around_mean, planned.around_guess)
        first, second = (float(part.each_mean(values, best[readable]).mean()) for values in moments)
        seen = (first, second)
    rest = share * (1 - share) * inner**2
    one = ItemVariance(whole=share * max(modelled[0], seen[0]) + rest)
    if curved and not (pilot.settles and working is None):
        ends = max(_EDGE, inner - _REACH), min(1 - _EDGE, inner + _REACH)
        means = np.linspace(*ends, _GRID, dtype=np.float64)
        each = [model_variances(part.target, part.planned, part.data.n_options, own, m) for m in means]
        curves = np.array(each).T / np.maximum(np.array(modelled)[:, None], 1e-12)
        one = replace(one, means=share * means, curves=curves)
    found = {side: one}
    if side == JUDGE:
        if pilot.settles:
            del found[side]
        if pool:
            found[POOL_JUDGE] = replace(one, near=share * max(modelled[1], seen[1]), pool=pool)
    elif pilot.guess is not None and pilot.settles:
        far = FAR_ITEMS * max(mean, 1 - mean) ** 2
        found[POOL] = replace(one, between=min(between[1], one.whole), far=far)
    elif pilot.guess is not None:
        left = max(modelled[0] - share * between[0], seen[0] - share * between[1], 0.0)
        found[POOL if side == NONE else POOL_VOTES] = replace(one, whole=share * left + rest)
    return found


def _is_uniform(pilot: PilotAnswers) -> bool:
    """Whether planned options are drawn uniformly."""
    own = pilot.data.valid
    return bool(np.allclose(pilot.planned[own], (own / pilot.data.n_options[:, None])[own]))


def _between_strata(pilot: PilotAnswers, best: FloatArray) -> float:
    """Variance of being right between the strata of the pool; at least 0.

    The draw fixes no number of readable predictions: where the interval is theirs, so are the strata.
    """
    kept = np.arange(len(pilot.option)) if pilot.settles else np.flatnonzero(pilot.option >= 0)
    part = pilot.take(kept)
    between, noise = _project(part.each_mean(part.target, best[kept]), part.guess)
    return max(0.0, between - noise)


def _project(values: FloatArray, guess: FloatArray | None) -> tuple[float, float]:
    """Part of the variance of values that goes linearly with the strata's guesses, and its upward bias."""
    if guess is None or not float(np.ptp(guess)) > 0:
        return 0.0, 0.0
    product, spread = (values - values.mean()) * (guess - guess.mean()), float(guess.var())
    return float(product.mean()) ** 2 / spread, float(product.var(ddof=1)) / len(product) / spread
