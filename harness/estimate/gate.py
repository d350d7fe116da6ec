"""Does a model reach a bar? Verdicts at any time and at planned looks.

Bets on a mean against a bar, from the answers there are.

Bets that a mean lies above a bar: their wealth is the evidence, at every moment.

Let x_i be independent outcomes with mean θ, none below b + l, where b is the bar and l < 0. If θ ≤ b then
W(λ) = Π_i (1 + λ(x_i − b)) is a supermartingale for every λ in [0, −1/l], for each factor is at least 0 and
has a mean of at most 1; and so is any mixture of W over λ that was fixed beforehand. By Ville's inequality
the mixture ever reaches 1/α with probability at most α, however often it is looked at, and whoever decides
when to stop (Ville 1939; Waudby-Smith & Ramdas 2024, JRSS B 86). The wealth does not depend on the order of
the outcomes, only on their values.

For uniform options and one K the factors with the outcomes of `centre_accuracy` are the likelihood ratios of
the accuracy b + λ to b, so that nothing is lost to the likelihood (`likelihood_sequence`).

The information of every item about a mean, from the present answers: outcomes to bet on.

An outcome is equation (G) of `oversight.harness.estimate.routed_means` with a working posterior and a
constant that follow from the bar and the draw alone, never from answers, so that its mean is the item's own
value and its bounds are known before any answer.

Items that were passed over on purpose (an unreadable prediction that nobody need be asked about, an item
where two models agree) are known before any answer. If all of them counted at once, the items there would
be no random part of the pool. So all units, items or clusters of them, are laid out in an order that a hash
of their ids decides; each unit that is answered fills the next place of one that was asked about, and those
passed over count once the places before them are filled. If items are independent draws, so are the present
answers at any moment.

Verdicts on items that are asked about until they are resolved.

Items resolved early are no random part of all, so those that are not count for the other side: as wrong
where a pass is at stake, as right where a failure is. This decision stays the same for every possible rest,
and the test of a fixed number of items may be looked at any time, at no cost.

* Accuracy: exact binomial tail.
* Difference D = (n_+ − n_−)/N: exact tail of n_+ − n_− of trinomial items, its largest over the shares of
  items on which exactly one is right in their Clopper–Pearson interval at 1 − γ, plus γ (Berger & Boos 1994,
  JASA 89).
* Clusters: bets on their sums (`refuting_wealth`).

Accuracy of one model against a bar, on items drawn with unequal, recorded chances.

The bets are those of `oversight.harness.estimate.anytime`: an item's gain is weighted by v,
and each draw has its own bets, which follow from its chances alone. An unanswered question counts as the
answer that speaks most against the side bet on. Items asked about until resolved count from the start: until
they are known, as wrong for bets above the bar and as right for bets below it.

Does a model reach a bar? One call for an accuracy, one for a difference, for every protocol.

Both may be asked again after every answer: a verdict is wrong with probability at most 1 − level over all
times together, also exactly at the bar. At that time the same share of every expert's questions,
in the order in which they were handed out (`collected_part`), so that it only grows. A question that was left
unanswered counts for the other side (`Gains`).

A verdict from one look, or from one of several that were planned.

It comes from the interval that `oversight.harness.accuracy` and `oversight.harness.compare` give at the level
of the look, so that both verdicts together are wrong with probability at most 1 − level.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtr, gammaln, xlog1py, xlogy

from oversight.harness.arrays import UNKNOWN, BoolArray, FloatArray, IntArray
from oversight.harness.columns import (
    ABSTAINED,
    NO,
    YES,
    AnyLabels,
    AnyPredictions,
    LabelColumns,
    PredictionColumns,
    align_models,
    keep_predicted,
)
from oversight.harness.errors import BadInput, EstimateError, NotIdentified
from oversight.harness.estimate.anytime import DrawnAnswers, draw_wealth, obrien_fleming_level, weigh_outcomes
from oversight.harness.estimate.combinations import refuse
from oversight.harness.estimate.core import binomial_at_least, check_level, clopper_pearson, z_value
from oversight.harness.estimate.evaluation import accuracies, accuracy, see_draws, see_known_items
from oversight.harness.estimate.evidence import Evidence, collected_part, number_clusters
from oversight.harness.estimate.expert_errors import ErrorRanges, rate_ranges
from oversight.harness.estimate.model_comparison import compare
from oversight.harness.estimate.routed_sample import (
    accuracy_target,
    difference_target,
    find_asked,
    optimal_constant,
    read_item_answers,
)
from oversight.harness.estimate.sample_size import outcomes_to_settle
from oversight.harness.estimate.side_information import allow_for_errors
from oversight.harness.seeding import derive_seed
from oversight.harness.types import Displayable, Estimate, HtmlTable

_BETS = np.geomspace(0.03, 1.0, 20)
"""Shares of the largest bet. Bets far below the largest serve bars near the mean."""
_SAFE = 0.999
"""Share of the largest possible bet, so that one outcome never takes the whole wealth."""
_PORTION = 100_000


def refuting_wealth(gains: FloatArray, least: float) -> float:
    """Wealth of bets that the mean of the gains is above 0; 1/α refutes "at most 0" at level α.

    Parameters
    ----------
    gains
        Shape (n,): outcomes minus the bar, in any order.
    least
        Negative lower bound of every gain, known before any of them.
    """
    bets = _SAFE * _BETS / -least
    logs = np.zeros(len(bets))
    values, times = np.unique(np.round(gains, 12), return_counts=True)
    for start in range(0, len(values), _PORTION):
        part = slice(start, start + _PORTION)
        logs += np.log1p(bets[:, None] * np.maximum(values[part], least)) @ times[part]
    most = float(logs.max())
    return float(np.exp(min(700.0, most + np.log(np.exp(logs - most).mean()))))


@dataclass(frozen=True, kw_only=True, eq=False)
class Gains:
    """Outcomes minus the bar, summed over units.

    An unanswered question counts with the answer that contradicts the current side most, so that bets hold
    for any possible answer.

    Attributes
    ----------
    sums
        Shape (J,): sums of the units that count so far.
    low, high
        Bounds of every sum, known before any answer.
    answers
        Number of questions with an answer that entered.
    value
        Mean outcome, which is compared with the bar; NaN without any.
    """

    sums: FloatArray
    low: float
    high: float
    answers: int
    value: float


def gather_asked(labels: LabelColumns, models: Sequence[PredictionColumns]) -> tuple[Evidence, FloatArray]:
    """Collect the evidence on items that all models answered, as if every question had been answered.

    Returns
    -------
    Evidence, array
        The evidence, and the answers, shape (questions,): 1 yes, 0 no, NaN open, −1 an abstention.

    Raises
    ------
    EstimateError
        If no question is about them, or an item has no cluster.
    """
    drawn = labels.questions if labels.drawn is None else labels.drawn
    rows = np.arange(len(labels)) if labels.drawn is None else labels.answers
    mine = np.logical_and.reduce([m.ran for m in models])[drawn.item]
    as_asked = replace(labels, questions=drawn, kind=np.full(len(drawn), NO), passed=None)
    evidence = Evidence.gather(models, as_asked, error_free=False, tilted=False, few_clusters=True)
    kinds = np.append(labels.kind, YES)[rows]  # the entry of an open question is corrected below
    return evidence, np.where(rows < 0, np.nan, kinds.astype(np.float64))[mine]


@dataclass(frozen=True, slots=True, kw_only=True)
class WorstRates:
    """Error rates of experts that are least favourable to one side of a bar.

    With sensitivity s and specificity t, J = s + t − 1, an item's outcome has the mean J v + C(1 − J) +
    (1 − t)(Σ_k c_k − K C), v its value. Less that, and J times the bar, it is a gain of mean J (v − bar); it
    is linear in s and t, so its extremes over ranges are at their corners.

    Attributes
    ----------
    sensitivity, specificity
        Ranges that contain the true rates.
    side
        1 takes every item's smallest gain, for bets above the bar; −1 the largest, for bets below it.
        Questions without an answer are treated in the same way.
    likely
        The pair (s, t) for which the value is reported.
    """

    sensitivity: tuple[float, float]
    specificity: tuple[float, float]
    side: int
    likely: tuple[float, float]

    @property
    def corners(self) -> list[tuple[float, float]]:
        """Pairs (s, t)."""
        return [(s, t) for s in self.sensitivity for t in self.specificity]


NO_ERRORS = WorstRates(sensitivity=(1.0, 1.0), specificity=(1.0, 1.0), side=1, likely=(1.0, 1.0))


def accuracy_gains(
    evidence: Evidence, answer: FloatArray, bar: float, rates: WorstRates = NO_ERRORS
) -> Gains:
    """Outcomes of a model's accuracy against a bar in (0, 1), from evidence of `gather_asked`.

    Raises
    ------
    NotIdentified
        As `optimal_constant`.
    """
    options, data = evidence.option(), evidence.sample
    width = data.propensities.shape[1]
    c = accuracy_target(options, width)
    readable = options >= 0
    rest = np.where(readable, (1 - bar) / np.maximum(1, data.n_options - 1), 1 / data.n_options)
    p = np.where(c > 0, bar, rest[:, None]) * data.valid
    constant = np.zeros(len(c))
    constant[readable] = optimal_constant(
        c[readable], data.propensities[readable], p[readable], data.valid[readable]
    )
    if (readable & (constant >= 1)).any():
        raise NotIdentified("a prediction had no chance to be asked about; these answers cannot score it")
    return _gather(evidence, answer, c, p, constant, bar, (0.0, 1.0), rates)


def difference_gains(
    evidence: Evidence, answer: FloatArray, bar: float, rates: WorstRates = NO_ERRORS
) -> Gains:
    """Outcomes of the first model's accuracy minus the second's against a bar in (−1, 1).

    Raises
    ------
    NotIdentified
        If an item on which they differ could not be asked about one of the two predictions.
    """
    propensities = evidence.sample.propensities
    c = difference_target(evidence.option(0), evidence.option(1), propensities.shape[1])
    never = (c != 0) & (propensities <= 0)
    if never.any():
        raise NotIdentified(
            f"{int(never.any(axis=1).sum())} items where the two models differ had no chance to be asked "
            "about one of the two predictions; the questions were drawn for other models"
        )
    p = np.where(c != 0, 0.5, 0.0)
    return _gather(evidence, answer, c, p, np.zeros(len(c)), bar, (-1.0, 1.0), rates)


def _gather(
    evidence: Evidence,
    answer: FloatArray,
    c: FloatArray,
    p: FloatArray,
    constant: FloatArray,
    bar: float,
    span: tuple[float, float],
    rates: WorstRates,
) -> Gains:
    data, size = evidence.sample, len(c)
    can = data.valid & (data.propensities > 0)
    weight = np.where(can, (c - constant[:, None]) / np.where(can, data.propensities, 1.0), 0.0)
    base = (c * p).sum(axis=1)
    number = np.bincount(data.item, minlength=size)
    ends = np.stack([weight * (b - p) for b in (0.0, 1.0)])
    least = base + number * np.minimum(0.0, ends.min(axis=(0, 2)))
    most = base + number * np.maximum(0.0, ends.max(axis=(0, 2)))
    of_asked = weight[data.item, data.asked]
    against = (of_asked < 0) == (rates.side > 0)
    said = np.where(answer == ABSTAINED, against, np.nan_to_num(answer))
    told = of_asked * (said - p[data.item, data.asked])
    g = base + np.bincount(data.item, told, minlength=size)
    unit = np.arange(size) if evidence.cluster is None else evidence.cluster
    there = _count_units(evidence, answer, unit, number > 0)
    taken = there[unit]
    heard = taken & (np.bincount(data.item, answer == ABSTAINED, size) == 0)
    excess = c.sum(axis=1) - data.n_options * constant

    def shift(s: float, t: float) -> FloatArray:
        J = s + t - 1
        shifted: FloatArray = (constant * (1 - J) + (1 - t) * excess) * (number > 0)
        return shifted

    corners = [(shift(s, t), s + t - 1) for s, t in rates.corners]
    moved = np.array([by + J * bar for by, J in corners])
    off = moved.max(axis=0) if rates.side > 0 else moved.min(axis=0)
    sums = np.bincount(unit[taken], (g - off)[taken], minlength=len(there))[there]
    largest = int(np.bincount(unit).max(initial=1))
    likely, J = shift(*rates.likely), sum(rates.likely) - 1
    return Gains(
        sums=sums.astype(np.float64),
        low=largest * min(min(J * span[0], float((least - by).min())) - J * bar for by, J in corners),
        high=largest * max(max(J * span[1], float((most - by).max())) - J * bar for by, J in corners),
        answers=int(np.count_nonzero(heard[data.item])),
        value=float((g - likely)[heard].mean()) / J if heard.any() and J > 0 else float("nan"),
    )


def _count_units(evidence: Evidence, answer: FloatArray, unit: IntArray, put: BoolArray) -> BoolArray:
    """Which units count so far, shape (units,): see the module. A cluster counts once no question is open."""
    first = np.unique(unit, return_index=True)[1]
    is_open = np.bincount(evidence.sample.item, np.isnan(answer), len(put)) > 0
    waits = np.bincount(unit, is_open, first.size) > 0
    was_put = np.bincount(unit, put, first.size) > 0
    there: BoolArray = was_put & ~waits
    if not was_put.all():
        names = [evidence.index.ids[i] for i in evidence.items[first].tolist()]
        turn = np.array([derive_seed(0, "gate", name) for name in names], dtype=np.uint64)
        places = np.sort(turn[was_put])
        filled = int(np.count_nonzero(there))
        there |= ~was_put & ((turn < places[filled]) if filled < places.size else True)
    return there


_GAMMA = 0.001
_SHARES = 15


def resolved_ends(
    labels: LabelColumns, models: Sequence[PredictionColumns]
) -> tuple[IntArray, IntArray, IntArray]:
    """Positions of items, and smallest and largest value of each: correctness of one model, or a difference.

    Raises
    ------
    EstimateError
        If no item was asked about, or answers contradict each other.
    """
    items, predicted = find_asked(labels, models)
    if not items.size:
        raise EstimateError("labels: no item asked about has a prediction of every model; there are 0")
    correct = read_item_answers(labels).correctness(predicted, items)
    least, most = np.where(correct == UNKNOWN, 0, correct), np.where(correct == UNKNOWN, 1, correct)
    if len(models) == 1:
        return items, least[:, 0], most[:, 0]
    alike = predicted[:, 0] == predicted[:, 1]
    low, high = least[:, 0] - most[:, 1], most[:, 0] - least[:, 1]
    return items, np.where(alike, 0, low), np.where(alike, 0, high)


def worst_p_values(
    low: IntArray, high: IntArray, cluster: IntArray | None, bar: float, floor: int
) -> tuple[float, float]:
    """p-values of a mean below the bar and above it, from ends of every item's value.

    Parameters
    ----------
    floor
        The smallest possible value: 0 for correctness, −1 for a difference; the largest is 1.
    """
    if cluster is not None:
        size = int(np.bincount(cluster).max())
        up = refuting_wealth(_sums(cluster, low - bar), size * (floor - bar))
        down = refuting_wealth(_sums(cluster, bar - high), size * (bar - 1))
        return min(1.0, 1 / up), min(1.0, 1 / down)
    n = len(low)
    if floor == 0:
        right, wrong = int(low.sum()), n - int(high.sum())
        return binomial_at_least(right, n, bar), binomial_at_least(wrong, n, 1 - bar)
    known = (low == high) & (low != 0)
    least = clopper_pearson(int(known.sum()), n, 1 - _GAMMA)[0]
    most = clopper_pearson(int(((low != 0) | (high != 0)).sum()), n, 1 - _GAMMA)[1]
    shares = np.unique(np.clip(np.linspace(least, most, _SHARES), abs(bar), 1.0))
    up = max(_difference_tail(int(low.sum()), n, bar, float(d)) for d in shares)
    down = max(_difference_tail(-int(high.sum()), n, -bar, float(d)) for d in shares)
    return min(1.0, up + _GAMMA), min(1.0, down + _GAMMA)


def _sums(cluster: IntArray, gains: NDArray[np.floating[Any]]) -> FloatArray:
    return np.bincount(cluster, gains).astype(np.float64)


def _difference_tail(lead: int, n: int, mean: float, share: float) -> float:
    """P(n_+ − n_− ≥ lead) of n items, each 1 or −1 with probability `share` together, of this mean."""
    if share <= 0:
        return float(lead <= 0)
    d = np.arange(n + 1)
    least = np.ceil((d + lead) / 2)
    # number of the d decisive items on which the first is right, at least
    tail: FloatArray = np.where(least <= 0, 1.0, 0.0)
    inside = (least > 0) & (least <= d)
    tail[inside] = 1 - bdtr(least[inside] - 1, d[inside], (1 + mean / share) / 2)
    ways = gammaln(n + 1) - gammaln(d + 1) - gammaln(n - d + 1)
    chance = np.exp(ways + xlogy(d, share) + xlog1py(n - d, -share))
    return float(chance @ tail)


def _see_sides(
    model: PredictionColumns, labels: LabelColumns
) -> tuple[Sequence[DrawnAnswers], Sequence[DrawnAnswers], Sequence[DrawnAnswers]]:
    """Draws with unknown items against the model, for it, and left out."""
    if labels.is_resolved:
        items, low, high = resolved_ends(labels, [model])
        known = low == high
        above, below = (see_known_items(labels, items, right) for right in (low, high))
        return above, below, see_known_items(labels, items[known], low[known])
    heard = see_draws(model, labels)
    if not (labels.kind == ABSTAINED).any():
        return heard, heard, heard
    own = model.option[labels.item] == labels.option
    against, in_favour = (_fill(labels, np.where(own, *kinds)) for kinds in ((NO, YES), (YES, NO)))
    return see_draws(model, against), see_draws(model, in_favour), heard


def _fill(labels: LabelColumns, kind: IntArray) -> LabelColumns:
    """Labels with these answers instead of abstentions."""
    return replace(labels, kind=np.where(labels.kind == ABSTAINED, kind, labels.kind), passed=None)


PASS, FAIL, UNDECIDED = "pass", "fail", "undecided"
ANY_TIME, WORST_CASE = "any time", "worst case"
EITHER_SIDE = "the answers fit a value on either side of the bar"
_FARTHEST = 1_000_000
"""Answers beyond which a forecast says only "very many"."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class GateVerdict(Displayable):
    """On which side of a bar a model's accuracy, or a difference of two, lies.

    Attributes
    ----------
    verdict
        ``"pass"``: the quantity is at least the bar. ``"fail"``: it is not. ``"undecided"``: the answers do
        not decide, or cannot be trusted; `why` says so.
    value
        Mean of the outcomes of the bets; NaN without any. It is unbiased, but its weights depend on the bar
        (`bets`), so it differs slightly from bar to bar and from `oversight.harness.accuracy`, which gives
        the number to quote. For sequential protocols it is the mean over resolved items; at a planned
        analysis it is the estimate.
    bar
        The value to reach.
    level
        Each verdict is wrong with probability at most 1 − level, at any value of the quantity.
    p_below, p_above
        p-values against a quantity below the bar and above it; valid at all analyses if `method` says so. A
        verdict needs at most 1 − level. NaN if an interval decided.
    method
        ``"any time"``: may be evaluated after every answer. ``"worst case"``: the same, with unknown items
        counted for the other side. ``"look J of L"``: valid as that planned analysis only.
    answers, open_questions
        Number of answers that count so far, and of questions without one.
    low, high
        Interval of the planned analysis; NaN if bets or exact tails decided.
    further
        Forecast: number of answers that would decide in four of five such studies, if the quantity is as
        estimated; None if it is decided, or if a million would not do.
    why
        Why it is undecided; empty if it is decided.
    either_side
        Whether it is undecided only because the answers are compatible with both sides of the bar.

    Examples
    --------
    >>> import oversight as ov
    >>> from oversight.harness.example_data import example_study
    >>> model, _, labels = example_study()
    >>> verdict = ov.gate_accuracy(model, labels, at_least=0.4)
    >>> verdict.verdict, verdict.answers, verdict.p_below < 0.05
    ('pass', 80, True)
    """

    verdict: str = UNDECIDED
    value: float = math.nan
    bar: float
    level: float
    p_below: float = 1.0
    p_above: float = 1.0
    method: str
    answers: int = 0
    open_questions: int = 0
    low: float = math.nan
    high: float = math.nan
    further: int | None = None
    why: str = ""
    either_side: bool = False

    picture: ClassVar[str] = "gate"

    def __str__(self) -> str:
        """The verdict, then the value, the bar and the answers; why it is undecided."""
        value = "no value yet" if math.isnan(self.value) else f"value {self.value:.3f}"
        ends = "" if math.isnan(self.low) else f" [{self.low:.3f}, {self.high:.3f}]"
        return (
            f"{self.verdict}: {value}{ends}, bar {self.bar:g} · {self.method} {self.level:.0%} · "
            f"{self.answers} answers, {self.open_questions} questions open"
            + (f" · {self.why}" if self.why else "")
        )

    def records(self) -> list[dict[str, Any]]:
        """Its one row."""
        return [asdict(self)]

    def html_tables(self) -> tuple[HtmlTable, ...]:
        """HTML shown in a notebook: the evidence against either side of the bar."""
        sides = {"below the bar": self.p_below, "above the bar": self.p_above}
        rows = [(side, f"{p:.2g}") for side, p in sides.items() if not math.isnan(p)]
        notes = []
        if self.further is not None:
            notes.append(f"about {self.further:,} further answers would settle it (a forecast)")
        return (HtmlTable(columns=("evidence against a value", "p"), rows=rows, notes=notes),)

    @property
    def decided(self) -> bool:
        """Whether it is pass or fail."""
        return self.verdict != UNDECIDED

    def withheld(self, why: str) -> GateVerdict:
        """Return the same verdict, undecided for this reason."""
        return replace(self, verdict=UNDECIDED, why=why, further=None, either_side=False)


def judge(
    known: GateVerdict,
    p_below: float,
    p_above: float,
    gains: FloatArray,
    outcomes: int | None = None,
) -> GateVerdict:
    """Make a verdict from both p-values, which may exceed 1.

    Parameters
    ----------
    known
        Further fields of the verdict.
    gains
        Outcomes minus the bar, for the forecast.
    outcomes
        Number of outcomes of these answers, by default that of `gains`.
    """
    p_below = min(1.0, p_below)
    p_above = min(1.0, p_above)
    known = replace(known, p_below=p_below, p_above=p_above)
    if p_below <= 1 - known.level:
        return replace(known, verdict=PASS)
    if p_above <= 1 - known.level:
        return replace(known, verdict=FAIL)
    per_answer = (outcomes or len(gains)) / max(1, known.answers)
    mean, square = float(gains.mean()), float((gains**2).mean())
    need = outcomes_to_settle(mean, square, level=known.level) / max(per_answer, 1e-9)
    further = further_answers(need, known.answers)
    return replace(known, further=further, why=EITHER_SIDE, either_side=True)


def further_answers(need: float, answers: int) -> int | None:
    """Number of answers that are missing to a required number, at least 1; None if it exceeds a million."""
    return None if not need <= _FARTHEST else max(1, math.ceil(need - answers))


def check_bar(bar: float, low: float, high: float, level: float) -> None:
    """Check that a bar lies strictly between two ends, and check the level; raises EstimateError."""
    check_level(level)
    if not low < bar < high:
        raise EstimateError(f"the bar must lie in ({low:g}, {high:g}), is {bar!r}")


UNTOLD = (
    "the answers fit a value on either side of the bar, by what is known of experts' errors; more gold tells"
)
UNANSWERED = "what the unanswered questions hide could put the value on either side of the bar"
_FOR_RATES = 0.4
"""Part of the error that is spent on the ranges of the rates where gold tells them."""


def gate_accuracy(
    predictions: AnyPredictions,
    labels: AnyLabels,
    at_least: float,
    *,
    level: float = 0.95,
    errors: ErrorRanges | None = None,
) -> GateVerdict:
    """Decide whether the probability that a prediction is right is at least a bar.

    Parameters
    ----------
    predictions, labels
        As in `oversight.harness.accuracy`. Unreadable predictions are wrong, failed ones left out.
    at_least
        The bar, in (0, 1).
    level
        In (0, 1), see `GateVerdict`.
    errors
        Knowledge of experts' errors: the verdict holds for all rates s and t that it allows at any time
        (`rate_ranges`), which takes two fifths of the error if gold is used.

    Returns
    -------
    GateVerdict
        Also undecided, with the reason, if the answers cannot decide.

    Raises
    ------
    EstimateError
        If the bar or the level is invalid, or answers contradict each other.

    Examples
    --------
    >>> from oversight.harness.example_data import example_study
    >>> model, _, labels = example_study()
    >>> gate_accuracy(model, labels, at_least=0.4).verdict
    'pass'
    """
    check_bar(at_least, 0.0, 1.0, level)
    models, said = align_models([predictions], labels)
    return _gate(models, said, at_least, level, errors)


def gate_difference(
    first: AnyPredictions,
    second: AnyPredictions,
    labels: AnyLabels,
    at_least: float,
    *,
    level: float = 0.95,
    errors: ErrorRanges | None = None,
) -> GateVerdict:
    """Decide whether the first model's accuracy minus the second's is at least a bar in (−1, 1).

    The difference refers to items that both answered; for the rest see `gate_accuracy`.

    Examples
    --------
    >>> from oversight.harness.example_data import example_study
    >>> a, b, labels = example_study()
    >>> gate_difference(a, b, labels, at_least=-0.5).verdict
    'pass'
    """
    check_bar(at_least, -1.0, 1.0, level)
    models, said = align_models([first, second], labels)
    return _gate(models, said, at_least, level, errors)


def _gate(
    models: Sequence[PredictionColumns],
    labels: LabelColumns,
    bar: float,
    level: float,
    errors: ErrorRanges | None,
) -> GateVerdict:
    waiting = 0 if labels.drawn is None else int(np.count_nonzero(labels.answers < 0))
    nothing = GateVerdict(bar=bar, level=level, method=ANY_TIME, open_questions=waiting)
    there = np.logical_and.reduce([m.is_there for m in models])
    missing = int(np.count_nonzero(labels.asked_items & ~there))
    if missing:
        return nothing.withheld(
            f"the run is not finished: {missing} items asked about have no answer of "
            f"{'the model' if len(models) == 1 else 'both models'}, and those run first may be no random part"
        )
    use = "gate" if len(models) == 1 else "gate difference"
    try:
        refuse(use, labels.conditions, gold=errors is not None)
        part = collected_part(labels, there)[0]
        if labels.is_unequal or labels.is_resolved:
            gate = _gate_drawn if labels.is_unequal else _gate_resolved
            return gate(models, part, nothing)
        above, below, spent = _bet(models, part, bar, level, errors)
    except (BadInput, NotIdentified) as error:
        return nothing.withheld(str(error))
    if not above.answers and not np.isfinite(above.value):
        return nothing.withheld("there are no answers about the model's predictions yet")
    up, down = refuting_wealth(above.sums, above.low), refuting_wealth(-below.sums, -below.high)
    ahead = above if above.sums.mean() > 0 or above is below else below
    is_open = above is not below and ahead is below and below.sums.mean() >= 0
    found = judge(
        replace(nothing, value=above.value, answers=above.answers),
        1 / up + spent,
        1 / down + spent,
        ahead.sums,
    )
    # more answers alone decide on neither side
    untold = UNTOLD if errors is not None else UNANSWERED
    return found.withheld(untold) if is_open and not found.decided else found


def _bet(
    models: Sequence[PredictionColumns],
    labels: LabelColumns,
    bar: float,
    level: float,
    errors: ErrorRanges | None,
) -> tuple[Gains, Gains, float]:
    """Gains for bets above the bar and below it, and the share of the error used for the rates."""
    if errors is None:
        above = _gains(models, labels, bar, NO_ERRORS)
        is_whole = not (labels.kind == ABSTAINED).any()
        return above, above if is_whole else _gains(models, labels, bar, replace(NO_ERRORS, side=-1)), 0.0
    has_gold = bool(sum(errors.gold_true) + sum(errors.gold_false))
    spent = _FOR_RATES * (1 - level) if has_gold else 0.0
    s, t = rate_ranges(errors, 1 - spent if has_gold else level, any_time=True)
    likely = _likely(s, errors.gold_true), _likely(t, errors.gold_false[::-1])
    above, below = (
        _gains(models, labels, bar, WorstRates(sensitivity=s, specificity=t, side=side, likely=likely))
        for side in (1, -1)
    )
    return above, below, spent


def _likely(ends: tuple[float, float], gold: tuple[int, ...]) -> float:
    """The rate estimated from gold, within its range; without gold the middle of the range."""
    right, wrong = gold
    return min(ends[1], max(ends[0], right / (right + wrong))) if right + wrong else sum(ends) / 2


def _gains(models: Sequence[PredictionColumns], labels: LabelColumns, bar: float, rates: WorstRates) -> Gains:
    if len(models) == 1:
        return accuracy_gains(*gather_asked(labels, models), bar, rates)
    both = models[0].ran & models[1].ran
    differ = both & (models[0].option != models[1].option)
    if not differ.any() and labels.cluster is None:
        n = int(np.count_nonzero(both))
        return Gains(sums=np.full(n, -bar), low=-1 - bar, high=1 - bar, answers=0, value=0.0)
    return difference_gains(*gather_asked(labels, models), bar, rates)


def _gate_drawn(
    models: Sequence[PredictionColumns], labels: LabelColumns, nothing: GateVerdict
) -> GateVerdict:
    """Verdict on items drawn with unequal chances."""
    above, below, heard = _see_sides(models[0], labels)
    bar = nothing.bar
    gains = weigh_outcomes(heard, bar)
    if not gains.size:
        return nothing.withheld("no item is resolved yet")
    least, most = (float(weigh_outcomes(draws, bar).mean()) for draws in (above, below))
    known = replace(
        nothing,
        value=bar + float(gains.mean()),
        answers=int(np.count_nonzero(labels.kind != ABSTAINED)),
        method=WORST_CASE if labels.is_resolved else ANY_TIME,
    )
    up, down = draw_wealth(above, bar)[0], draw_wealth(below, bar)[1]
    found = judge(known, 1 / up, 1 / down, gains)
    hides = least < 0 <= most and above is not below
    return found.withheld(UNANSWERED) if hides and not found.decided else found


def _gate_resolved(
    models: Sequence[PredictionColumns], labels: LabelColumns, nothing: GateVerdict
) -> GateVerdict:
    items, low, high = resolved_ends(labels, models)
    cluster = number_clusters(items, labels.index, labels.cluster)
    p_below, p_above = worst_p_values(low, high, cluster, nothing.bar, 0 if len(models) == 1 else -1)
    known = low == high
    if not known.any():
        return nothing.withheld("no item is resolved yet")
    value = float(low[known].mean())
    verdict = replace(nothing, value=value, answers=len(labels), method=WORST_CASE)
    return judge(verdict, p_below, p_above, low[known] - nothing.bar, known.size)


def gate_at_look(
    models: Mapping[str, PredictionColumns],
    labels: LabelColumns,
    at_least: float,
    *,
    look: tuple[int, int],
    level: float = 0.95,
    errors: ErrorRanges | None = None,
) -> GateVerdict:
    """`gate_accuracy` of one model, or `gate_difference` of two, valid at planned analysis J of L only.

    Parameters
    ----------
    models
        Name → predictions.
    look
        J and L; (1, 1) is a single analysis.
    errors
        What is known of experts' errors: the interval is that of the corrected accuracy or difference.

    Examples
    --------
    >>> from oversight.harness.columns import align
    >>> from oversight.harness.example_data import example_study
    >>> model, _, labels = example_study()
    >>> predicted, said = align(model, labels)
    >>> gate_at_look({"model": predicted}, said, 0.4, look=(1, 2)).verdict
    'pass'
    """
    now = obrien_fleming_level(*look, level)
    is_open = 0 if labels.drawn is None else int(np.count_nonzero(labels.answers < 0))
    known = GateVerdict(
        bar=at_least,
        level=level,
        method=f"look {look[0]} of {look[1]}",
        answers=len(labels),
        open_questions=is_open,
    )
    try:
        value, low, high, why = _interval(models, labels, now, errors)
        known = replace(known, value=value, low=low, high=high, why=why)
    except EstimateError as error:
        known = known.withheld(str(error))
    return judge_interval(known, now)


def judge_interval(known: GateVerdict, now: float) -> GateVerdict:
    """Make a verdict from an interval.

    Parameters
    ----------
    known
        Verdict with its interval and number of answers; undecided if it has a `why`.
    now
        Level of the interval, from which the number of further answers is forecast.

    Examples
    --------
    >>> known = GateVerdict(bar=0.8, level=0.95, method="look 1 of 1")
    >>> judge_interval(replace(known, value=0.9, low=0.85, high=0.94, answers=200), 0.95).verdict
    'pass'
    """
    bar, low, high, why = known.bar, known.low, known.high, known.why
    verdict = UNDECIDED if why else PASS if low >= bar else FAIL if high < bar else UNDECIDED
    further, either_side = None, verdict == UNDECIDED and not why
    if either_side:
        why = EITHER_SIDE
        square = known.answers * ((high - low) / 2 / z_value(now)) ** 2
        need = outcomes_to_settle(known.value - bar, square, level=known.level, looks=False)
        further = further_answers(need, known.answers)
    return replace(
        known,
        verdict=verdict,
        p_below=math.nan,
        p_above=math.nan,
        further=further,
        why=why,
        either_side=either_side,
    )


def _interval(
    models: Mapping[str, PredictionColumns], labels: LabelColumns, level: float, errors: ErrorRanges | None
) -> tuple[float, float, float, str]:
    """Value and ends, and why they may not hold."""
    if len(models) == 1:
        (one,) = models.values()
        found = _accuracy(one, keep_predicted(labels, one), level, errors)
        return found.value, found.low, found.high, found.why
    (pair,) = compare(models, labels, level=level, errors=errors).pairs
    return pair.difference, pair.low, pair.high, pair.why


def _accuracy(
    model: PredictionColumns, labels: LabelColumns, level: float, errors: ErrorRanges | None
) -> Estimate:
    if errors is None:
        found = accuracies(model, labels, level=level)
        return found.get("worst_case") or accuracy(model, labels, level=level)
    if errors.gold is None:
        return allow_for_errors(model, labels, np.full(labels.index.size, -1), errors, level=level)
    return accuracy(model, labels, level=level, gold=errors.gold)
