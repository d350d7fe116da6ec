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
    modelled, modelled_around_guess
        Their means over the items if the tilted working distribution is right.
    guess
        Shape (N,): what it expects of the item, E c.
    """

    around_mean: FloatArray
    around_guess: FloatArray
    modelled: float
    modelled_around_guess: float
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
    around_mean, around_guess, variance, guess = (np.concatenate(x) for x in zip(*found, strict=True))
    return PlannedOutcomes(
        around_mean=around_mean,
        around_guess=around_guess,
        modelled=float((variance + (guess - mean) ** 2).mean()),
        modelled_around_guess=float(variance.mean()),
        guess=guess,
    )


def model_variances(
    c: FloatArray, propensities: FloatArray, n_options: IntArray, working: FloatArray | None, mean: float
) -> tuple[float, float]:
    """`modelled` and `modelled_around_guess` at this mean."""
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
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Both moments, and Var(g) and E c of every item by the tilted working distribution."""
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
    guess, variance, g = (x.reshape(n, width, 2) for x in outcomes_at(rows, tilt))
    first, own = guess[:, 0, 0], np.arange(width) < n_options[:, None]
    moments = []
    for centre in (mean, first[:, None, None]):
        no, is_true = np.moveaxis((g - centre) ** 2, 2, 0)
        refuted = (propensities * no).sum(axis=1, keepdims=True)
        moments.append(np.where(own, refuted + propensities * (is_true - no), 0.0))
    return moments[0], moments[1], variance[:, 0, 0], first


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
            of |= _see(pilot, mean, working, best, curved=curved).name_all(side, pilot, mean, pool)
        except NotIdentified as error:
            if side == NONE:
                raise
            undefined[side] = f"not known from these answers: {error}"
    cost = float(pilot.each_mean(pilot.cost, best).mean())
    return SideVariances(of=of, undefined=undefined, cost=max(cost, 1e-9))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Seen:
    """Variances per item with one working distribution: the model's and the observed one.

    Attributes
    ----------
    whole, around_guess
        Around the mean, and around what is expected of the item.
    between
        Their parts between the strata of the pool.
    share, rest
        Readable share of the predictions, and what is added as it varies, too.
    means, curves
        As of `ItemVariance`.
    """

    whole: tuple[float, float]
    around_guess: tuple[float, float]
    between: tuple[float, float]
    share: float
    rest: float
    means: FloatArray | None
    curves: FloatArray | None

    def name_all(
        self, side: str, pilot: PilotAnswers, mean: float, pool: int | None
    ) -> dict[str, ItemVariance]:
        """Variances of what this working distribution is used for."""
        one = ItemVariance(
            whole=self.share * max(self.whole) + self.rest, means=self.means, curves=self.curves
        )
        found = {side: one}
        if side == JUDGE:
            if pilot.settles:
                del found[side]
            if pool:
                found[POOL_JUDGE] = replace(one, near=self.share * max(self.around_guess), pool=pool)
        elif pilot.guess is not None and pilot.settles:
            far = FAR_ITEMS * max(mean, 1 - mean) ** 2
            found[POOL] = replace(one, between=min(self.between[1], one.whole), far=far)
        elif pilot.guess is not None:
            left = [v - self.share * b for v, b in zip(self.whole, self.between, strict=True)]
            within = self.share * max(*left, 0.0) + self.rest
            found[POOL if side == NONE else POOL_VOTES] = replace(one, whole=within)
        return found


def accuracy_variance(pilot: PilotAnswers, mean: float) -> float:
    """Variance per item without side information if wrong predictions are wrong at random."""
    readable = np.flatnonzero(pilot.option >= 0)
    share = len(readable) / len(pilot.option)
    inner = min(1 - 1e-9, mean / share)
    part = pilot.take(readable)
    whole, _ = model_variances(part.target, part.planned, part.data.n_options, None, inner)
    return share * whole + share * (1 - share) * inner**2


def _see(
    pilot: PilotAnswers, mean: float, working: FloatArray | None, best: FloatArray, *, curved: bool
) -> _Seen:
    """What varies of the outcomes of readable predictions; A = ρ A_r, of which the share ρ varies, too."""
    readable = np.flatnonzero(pilot.option >= 0)
    share = len(readable) / len(pilot.option)
    inner, part = min(1 - 1e-9, mean / share), pilot.take(readable)
    own = None if working is None else working[readable]
    planned = plan_outcomes(part.target, part.planned, part.data.n_options, own, inner)
    between = (_project(planned.guess, part.guess)[0], _between_strata(pilot, best))
    whole, near = planned.modelled, planned.modelled_around_guess
    seen = (0.0, 0.0)  # the likelihood's interval of uniformly drawn options does not look at squares
    if working is not None or not _is_uniform(part):
        moments = (planned.around_mean, planned.around_guess)
        first, second = (float(part.each_mean(values, best[readable]).mean()) for values in moments)
        seen = (first, second)
    means: FloatArray | None = None
    curves: FloatArray | None = None
    if curved and not (pilot.settles and working is None):
        ends = max(_EDGE, inner - _REACH), min(1 - _EDGE, inner + _REACH)
        means = np.linspace(*ends, _GRID, dtype=np.float64)
        modelled = [model_variances(part.target, part.planned, part.data.n_options, own, m) for m in means]
        curves = np.array(modelled).T / np.maximum(np.array([[whole], [near]]), 1e-12)
    return _Seen(
        whole=(whole, seen[0]),
        around_guess=(near, seen[1]),
        between=between,
        share=share,
        rest=share * (1 - share) * inner**2,
        means=None if means is None else share * means,
        curves=curves,
    )


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
