"""What a pilot knows about a model, and variances per item of a planned study.

Variance per item of a planned study, without and with what is known beside experts' answers.

Outcomes vary by the planned draw of options and by what the truth may be. The interval of
`oversight.harness.estimate.intervals.tilting` is made of outcomes g, whose variance depends on the draw, on
the working distribution, and on the truth, which is not known. But given item x and truth k

    f_k(x) = Σ_j π_j(x) [g(x, j, 1{j = k}) − A]²

is a number, π being the planned propensities and g taken at the tilt of mean A. So E f is one more mean of
Σ_k f_k 1{y = k}, and a pilot tells it as it tells an accuracy, by equation (G) of
`oversight.harness.estimate.routed.means`, whatever options the pilot's own draw asked about.

Variances are those of the estimates themselves: of the score interval's outcomes (`plan_outcomes`), the
larger of the model's and the observed one, with the working distribution of votes or of judges, learned from
the pilot. Items drawn in proportion within strata leave out what varies between these: the squared covariance
of being right with the strata's mean guess, over the variance of that (a lower bound, without its bias).
Where a judge's word counts on the whole pool, an item that is drawn varies around what is expected of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from oversight.harness.arrays import UNKNOWN, FloatArray, IntArray
from oversight.harness.columns import ABSTAINED, LabelColumns, PredictionColumns, keep_drawn
from oversight.harness.errors import NotIdentified
from oversight.harness.estimate.collected import collected_part
from oversight.harness.estimate.intervals import FAR_ITEMS, outcomes_at, plan_working, tilt_items, tilt_of
from oversight.harness.estimate.item_draws import guess_right, split_by_agreement
from oversight.harness.estimate.judged import JudgeOpinion, working_distribution
from oversight.harness.estimate.planning.sample_size import PARTITIONED, SEQUENTIAL, TARGETED
from oversight.harness.estimate.routed import (
    RoutedSample,
    accuracy_target,
    flat_posterior,
    propensities_for,
    pseudo_outcomes,
    questions_asked,
    resolved_correctness,
    routed_pool,
    settled_sample,
    targeted_propensities,
    vote_posterior,
    weigh_votes,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PilotAnswers:
    """One model's n answered items of a pilot, and the draw that is planned for more like them.

    Attributes
    ----------
    option
        Shape (n,): the model's prediction, −1 for unreadable.
    votes
        Shape (n, M): what all models answer, the model among them.
    judges
        What judges say of the items.
    data
        The pilot's answers.
    planned
        Shape (n, K): propensities of the options in the study that is planned; the model's own option for
        certain where items are asked about until they are resolved.
    cost
        Shape (n, K): questions an item takes if the truth is k.
    guess
        Shape (n,): mean guess, over the item's stratum of the pool, that the model is right; None where
        items are not drawn from a pool.
    """

    option: IntArray
    votes: IntArray
    judges: tuple[JudgeOpinion, ...]
    data: RoutedSample
    planned: FloatArray
    cost: FloatArray
    guess: FloatArray | None = None

    @property
    def target(self) -> FloatArray:
        """What makes a mean the model's accuracy: 1 at its prediction, else 0; shape (n, K)."""
        return accuracy_target(self.option, self.data.propensities.shape[1])

    @property
    def settles(self) -> bool:
        """Whether every planned question settles the model's prediction."""
        rows = np.flatnonzero(self.option >= 0)
        return bool((self.planned[rows, self.option[rows]] > 1 - 1e-9).all())

    def take(self, items: IntArray) -> PilotAnswers:
        """Some of the items."""
        return replace(
            self,
            option=self.option[items],
            votes=self.votes[items],
            judges=tuple(judge.take(items) for judge in self.judges),
            data=self.data.take(items),
            planned=self.planned[items],
            cost=self.cost[items],
            guess=None if self.guess is None else self.guess[items],
        )

    def each_mean(self, values: FloatArray, working: FloatArray) -> FloatArray:
        """Outcomes, shape (n,), whose mean estimates that of what values, shape (n, K), hold at the truth.

        The working distribution, of the same shape, makes it more exact, and need not be right.

        Raises
        ------
        NotIdentified
            If the pilot never asked about options that values tell apart.
        """
        return pseudo_outcomes(values, replace(self.data, posterior=working))


_MOST_DRAWN = 240
"""Items drawn from which on strata get no finer."""


@dataclass(frozen=True, kw_only=True, eq=False)
class PilotStudy:
    """A study with its answers so far, as a pilot of another.

    Attributes
    ----------
    models, judges
        Predictions by name over one index.
    labels
        Of the pilot, over the same.
    voters
        All models that vote.
    asked_for
        Names of the models whose predictions the planned study looks at.
    protocol
        Of the planned study.
    epsilon
        Uniform share of targeted propensities for several models.
    n_options
        Shape (N,): K of every item; None if labels are all that is known.
    """

    models: Mapping[str, PredictionColumns]
    judges: Mapping[str, PredictionColumns]
    labels: LabelColumns
    voters: Mapping[str, PredictionColumns]
    asked_for: Sequence[str]
    protocol: str
    epsilon: float = 0.1
    n_options: IntArray | None = None
    _strata: dict[tuple[bytes, int], tuple[FloatArray, IntArray]] = field(default_factory=dict)

    def gather(self, name: str) -> tuple[PilotAnswers, IntArray, float]:
        """What the pilot knows of a model, places of its items, and the share of questions answered.

        Raises
        ------
        EstimateError
            If there are no answers about the model's items.
        NotIdentified
            If items have several questions, or the planned study does not ask about this model.
        """
        if self.protocol == SEQUENTIAL and name not in self.asked_for:
            raise NotIdentified(f"{SEQUENTIAL} questions are about the predictions of other models")
        predictions = _keep_pilot(self.models[name], self.labels)
        if self.labels.is_resolved:
            data, option, items, cost = self._read_resolved(predictions)
            share = 1.0
        else:
            data, option, items, share = self._read_routed(predictions)
            cost = None
        seen = np.stack([np.maximum(p.option[items], -1) for p in self.voters.values()], axis=1)
        looked_at = _columns([self.voters[n] for n in self.asked_for], items)
        planned, price = self._draw(option, looked_at, data.n_options, data.propensities.shape[1])
        pilot = PilotAnswers(
            option=option,
            votes=seen.astype(np.int64),
            judges=tuple(JudgeOpinion.of(judge).take(items) for judge in self.judges.values()),
            data=data,
            planned=planned,
            cost=price if cost is None else cost[:, None] * np.ones_like(price),
        )
        return pilot, items, share

    def _read_routed(self, predictions: PredictionColumns) -> tuple[RoutedSample, IntArray, IntArray, float]:
        part, _ = collected_part(self.labels, predictions.is_there)
        data, predicted, items = routed_pool(part, [predictions])
        if np.bincount(data.item).max() > 1:
            raise NotIdentified("items have several questions, and a plan takes one an item")
        kinds = part.kind[predictions.ran[part.item]]
        return data, predicted[:, 0].astype(np.int64), items, float((kinds != ABSTAINED).mean())

    def _read_resolved(
        self, predictions: PredictionColumns
    ) -> tuple[RoutedSample, IntArray, IntArray, FloatArray]:
        """Items known right or wrong, as if their prediction had been asked about; and questions of each."""
        found = resolved_correctness(self.labels, [predictions])
        known = np.flatnonzero(found.correct[:, 0] != UNKNOWN)
        items, right = found.items[known], found.correct[known, 0]
        option = predictions.option[items].astype(np.int64)
        n_options = np.zeros(self.labels.index.size, np.int64)
        n_options[self.labels.places] = self.labels.n_options
        width = max(int(n_options.max()), 2)
        data = settled_sample(option, right, np.where(n_options[items] > 0, n_options[items], width))
        cost = np.bincount(self.labels.item, minlength=self.labels.index.size)[items]
        return data, option, items, cost.astype(np.float64)

    def _draw(
        self, option: IntArray, looked_at: IntArray, n_options: IntArray, width: int
    ) -> tuple[FloatArray, FloatArray]:
        """Planned propensities, and what an item costs by its truth; shape (n, K) each."""
        if self.protocol == PARTITIONED:
            return flat_posterior(n_options, width), np.ones((len(option), width))
        if self.protocol == TARGETED:
            drawn = propensities_for(looked_at, n_options, width, epsilon=self.epsilon)
            return drawn, np.tile(drawn.sum(axis=1, keepdims=True), width)
        guesses = np.full(looked_at.shape[1], 0.5)
        votes = vote_posterior(looked_at, n_options, width, accuracy=guesses)
        price = [questions_asked(looked_at, votes, np.full(len(option), k), n_options) for k in range(width)]
        return targeted_propensities(option, width), np.stack(price, axis=1).astype(np.float64)

    @property
    def is_silent(self) -> bool:
        """Whether experts did not say of some questions."""
        return bool((self.labels.kind == ABSTAINED).any())

    def pool_size(self, name: str) -> int:
        """Number of items that more could be drawn from: those that the model was asked about."""
        return len(self.models[name])

    def add_strata(self, pilot: PilotAnswers, name: str, items: IntArray, drawn: int) -> PilotAnswers:
        """The pilot's items with the mean guess of the strata that so many items would be drawn from.

        Raises
        ------
        NotIdentified
            If how many options other items have is not known.
        """
        there, names = self.models[name].is_there, list(self.voters)
        key = (there.tobytes(), min(drawn, _MOST_DRAWN))
        places = np.flatnonzero(there)
        if key not in self._strata:
            votes = _columns(list(self.voters.values()), places)
            right = guess_right(votes, self._know_options()[places])
            looked_at = [names.index(n) for n in self.asked_for]
            self._strata[key] = right, split_by_agreement(right[:, looked_at], key[1])
        right, number = self._strata[key]
        own = np.bincount(number, right[:, names.index(name)]) / np.maximum(np.bincount(number), 1)
        guess = np.full(self.labels.index.size, np.nan)
        guess[places] = own[number]
        return replace(pilot, guess=guess[items])

    def _know_options(self) -> IntArray:
        if self.n_options is not None:
            return self.n_options
        said = self.labels.n_options
        if not said.size or np.ptp(said) > 0:
            raise NotIdentified("how many options items without a question have is not known")
        return np.full(self.labels.index.size, int(said[0]))


def _keep_pilot(predictions: PredictionColumns, labels: LabelColumns) -> PredictionColumns:
    """Predictions on the pilot's items: those drawn from a pool, else those asked about.

    Of items that need no question, their prediction being unreadable, as large a part as of the others.
    """
    if labels.pool is not None:
        return keep_drawn(predictions, labels)
    asked, none = labels.asked_items, predictions.is_unreadable
    settled = np.flatnonzero(none & ~asked)
    put, others = np.count_nonzero(asked), np.count_nonzero(predictions.ran & ~(none & ~asked))
    kept = asked.copy()
    kept[settled[: round(settled.size * put / max(1, others))]] = True
    return predictions.on(kept)


def _columns(models: Sequence[PredictionColumns], items: IntArray) -> IntArray:
    """Options of models, shape (n, M), −1 where a model names none."""
    votes: IntArray = np.stack([np.maximum(m.option[items], -1) for m in models], axis=1).astype(np.int64)
    return votes


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
