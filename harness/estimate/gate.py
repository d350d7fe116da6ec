"""Decide whether a model's accuracy, or a difference of two accuracies, is at least a required value (bar).

`gate_accuracy` and `gate_difference` give verdicts that hold at any time: the functions may be called after
every answer, and the probability that any of these verdicts is wrong is at most 1 − level, even if the true
value is exactly the bar. Both use the same share of every expert's questions, in the order in which the
questions were exported (`collected_part`), so that the evidence only grows. An unanswered question counts as
the answer that is worst for the verdict (`Gains`).

`gate_at_look` gives the verdict of a planned interim analysis. It uses the interval of `oversight.accuracy`
or `oversight.compare` at the level of this analysis, so that all verdicts together are wrong with probability
at most 1 − level.

**Bets.** Let x_i be independent outcomes with mean θ, none below b + l, where b is the bar and l < 0. If θ ≤
b then W(λ) = Π_i (1 + λ(x_i − b)) is a supermartingale for every λ in [0, −1/l], because each factor is at
least 0 and has a mean of at most 1. So is any mixture of W over λ that was fixed in advance. By Ville's
inequality the mixture ever reaches 1/α with probability at most α, however often it is computed and whatever
rule stops it (Ville 1939; Waudby-Smith & Ramdas 2024, JRSS B 86). W depends on the values of the outcomes and
not on their order. For uniform options and one K, the factors of the outcomes of `centre_accuracy` are the
likelihood ratios of the accuracies b + λ and b, so the bets use all information of the likelihood.

**Outcomes.** An outcome is equation (G) of `oversight.harness.estimate.routed_means`. Its working posterior
and its constant follow from the bar and the draw alone, never from answers. So the mean of an outcome is the
item's own value, and the bounds of an outcome are known before any answer.

Units (items or clusters) with many questions are complete later than units with few. A unit without a
question (unreadable predictions, or items on which two models agree) is complete from the start. If all
complete units counted at once, they would not be a random part of the pool. So all units are put in an order
by a hash of their ids, which gives each number of questions its places. Complete units fill the places of
their number of questions in the order of their completion, and count up to the first place that is not
filled. If units are independent draws, the units that count are independent draws at any moment.

**Items drawn with unequal, recorded probabilities** use the bets of `oversight.harness.estimate.anytime`: an
item's gain is multiplied by its weight, and each draw has separate bets, which follow from its probabilities.
An unanswered question counts as the answer that is worst for the side that is bet on. With clusters or errors
of experts, only one draw is possible. The bets are then those above, and each gain is multiplied by its
item's weight.

**Items asked about until they are resolved.** An unresolved item counts as wrong in the test for a pass, and
as right in the test for a failure, because items that are resolved early are not a random part of all items.
Later answers cannot change such a decision, so the test of a fixed number of items may be repeated at any
time. If items were added later, there is one test per draw, of all items up to this draw, and the error
probability is divided among these tests (`_OF_FIRST`):

* accuracy: exact binomial tail
* difference D = (n_+ − n_−)/N: the exact tail of n_+ − n_− of trinomial items, plus γ. The tail is maximised
  over the Clopper–Pearson interval at level 1 − γ of the share of items on which exactly one model is right
  (Berger & Boos 1994, JASA 89)
* clusters: bets on the clusters' sums of outcomes (`refuting_wealth`)
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
from oversight.harness.estimate.checks import explain_failed_calls, explain_failures
from oversight.harness.estimate.combinations import refuse
from oversight.harness.estimate.core import binomial_at_least, check_level, clopper_pearson, z_value
from oversight.harness.estimate.evaluation import accuracies, accuracy, see_draws, see_known_items
from oversight.harness.estimate.evidence import (
    Evidence,
    collected_part,
    find_item_draws,
    find_turns,
    find_weights,
    number_clusters,
)
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
from oversight.harness.types import Displayable, HtmlTable, level_text

_BETS = np.geomspace(0.03, 1.0, 20)
"""Bets as fractions of the largest bet. Small bets are efficient if the mean is near the bar."""
_SAFE = 0.999
"""Factor that keeps all bets below the largest possible one, so that no single outcome loses all wealth."""
_PORTION = 100_000


def refuting_wealth(gains: FloatArray, least: float) -> float:
    """Return the wealth of bets that the mean gain is above 0.

    A wealth of at least 1/α rejects the hypothesis "the mean gain is at most 0" at level α.

    Parameters
    ----------
    gains
        Shape (n,): outcomes minus the bar, in any order.
    least
        Lower bound of every gain, below 0, that was fixed before any gain was observed.
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
    """Gains (outcomes minus the bar), summed over the items of each unit (item or cluster).

    An unanswered question counts as the answer that is worst for the side that is bet on, so the bets are
    valid for any possible answer.

    Attributes
    ----------
    sums
        Shape (J,): for each unit that counts so far, the sum of its items' gains.
    low, high
        Bounds of every sum, fixed before any answer.
    answers
        Number of answers that count so far.
    value
        Mean outcome, to be compared with the bar; NaN without answers.
    """

    sums: FloatArray
    low: float
    high: float
    answers: int
    value: float


def gather_asked(
    labels: LabelColumns, models: Sequence[PredictionColumns]
) -> tuple[Evidence, FloatArray, FloatArray]:
    """Collect the evidence on items that all models answered, including questions without an answer.

    Returns
    -------
    Evidence, array, array
        The evidence, in which every question counts as answered; the actual answers, one per question: 1 yes,
        0 no, −1 abstained, NaN open; and every question's turn (`find_turns`).

    Raises
    ------
    EstimateError
        If no question is about these items, or an item has no cluster.
    """
    drawn = labels.questions if labels.drawn is None else labels.drawn
    rows = np.arange(len(labels)) if labels.drawn is None else labels.answers
    mine = np.logical_and.reduce([m.ran for m in models])[drawn.item]
    as_asked = replace(labels, questions=drawn, kind=np.full(len(drawn), NO), passed=None)
    evidence = Evidence.gather(models, as_asked, error_free=False, tilted=False, few_clusters=True)
    kinds = np.append(labels.kind, YES)[rows]  # unanswered questions have row −1; they become NaN below
    answer = np.where(rows < 0, np.nan, kinds.astype(np.float64))
    return evidence, answer[mine], find_turns(labels, drawn)[mine]


@dataclass(frozen=True, slots=True, kw_only=True)
class WorstRates:
    """Ranges of experts' error rates; a bet uses those rates in the ranges that are worst for the bet.

    With sensitivity s, specificity t and J = s + t − 1, an item whose true value is v has an outcome with the
    mean J v + r, where r = C(1 − J) + (1 − t)(Σ_k c_k − K C) with c and C of equation (G) (see the module).
    The gain is the outcome minus (r + J·bar); its mean is J (v − bar). The gain is linear in s and t, so it
    is most extreme at an end of each range.

    Attributes
    ----------
    sensitivity, specificity
        Ranges that contain the true rates.
    side
        1 for bets that the value is above the bar, −1 for bets that it is below. Over all rates in the ranges
        and all answers to open questions, a bet with side 1 uses every item's smallest gain, and a bet with
        side −1 the largest.
    likely
        Pair (s, t) at which `Gains.value` is computed.
    """

    sensitivity: tuple[float, float]
    specificity: tuple[float, float]
    side: int
    likely: tuple[float, float]


NO_ERRORS = WorstRates(sensitivity=(1.0, 1.0), specificity=(1.0, 1.0), side=1, likely=(1.0, 1.0))


def accuracy_gains(
    evidence: Evidence, answer: FloatArray, turn: FloatArray, bar: float, rates: WorstRates = NO_ERRORS
) -> Gains:
    """Compute the gains of bets on whether a model's accuracy is above a bar in (0, 1).

    `evidence`, `answer` and `turn` are the results of `gather_asked`.

    Raises
    ------
    NotIdentified
        If the prediction of an item, or two of its other options, had no chance to be asked about.
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
        raise NotIdentified(
            "no question about some predictions could be drawn, so the answers cannot tell whether these "
            "predictions are right"
        )
    return _gather(evidence, answer, turn, c, p, constant, bar, (0.0, 1.0), rates)


def difference_gains(
    evidence: Evidence, answer: FloatArray, turn: FloatArray, bar: float, rates: WorstRates = NO_ERRORS
) -> Gains:
    """Compute the gains of bets on whether the first accuracy minus the second is above a bar in (−1, 1).

    Raises
    ------
    NotIdentified
        If the models differ on an item, and one of the two predictions had no chance to be asked about.
    """
    propensities = evidence.sample.propensities
    c = difference_target(evidence.option(0), evidence.option(1), propensities.shape[1])
    never = (c != 0) & (propensities <= 0)
    if never.any():
        raise NotIdentified(
            f"for {int(never.any(axis=1).sum())} items where the two models differ, a question about one "
            "of the two predictions could not be drawn, because questions were drawn for other models"
        )
    p = np.where(c != 0, 0.5, 0.0)
    return _gather(evidence, answer, turn, c, p, np.zeros(len(c)), bar, (-1.0, 1.0), rates)


def _gather(
    evidence: Evidence,
    answer: FloatArray,
    turn: FloatArray,
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
    unit = np.arange(size) if data.cluster is None else data.cluster
    there = _count_units(evidence, answer, unit, turn)
    taken = there[unit]
    heard = taken & (np.bincount(data.item, answer == ABSTAINED, size) == 0)
    excess = c.sum(axis=1) - data.n_options * constant

    def shift(s: float, t: float) -> FloatArray:
        J = s + t - 1
        shifted: FloatArray = (constant * (1 - J) + (1 - t) * excess) * (number > 0)
        return shifted

    corners = [(shift(s, t), s + t - 1) for s in rates.sensitivity for t in rates.specificity]
    moved = np.array([by + J * bar for by, J in corners])
    off = moved.max(axis=0) if rates.side > 0 else moved.min(axis=0)
    scale = _scale_weights(data.weight, size)
    sums = np.bincount(unit[taken], (scale * (g - off))[taken], minlength=len(there))[there]
    largest = float(np.bincount(unit).max(initial=1) * scale.max(initial=1.0))
    likely, J = shift(*rates.likely), sum(rates.likely) - 1
    return Gains(
        sums=sums.astype(np.float64),
        low=largest * min(min(J * span[0], float((least - by).min())) - J * bar for by, J in corners),
        high=largest * max(max(J * span[1], float((most - by).max())) - J * bar for by, J in corners),
        answers=int(np.count_nonzero(heard[data.item])),
        value=float(np.average((g - likely)[heard], weights=scale[heard])) / J
        if heard.any() and J > 0
        else float("nan"),
    )


def _count_units(evidence: Evidence, answer: FloatArray, unit: IntArray, turn: FloatArray) -> BoolArray:
    """Return which units count so far, shape (units,), by the order explained in the module docstring.

    A unit is complete once none of its questions is open. `turn` is the turn of each question (`find_turns`).
    """
    of_question = unit[evidence.sample.item]
    first = np.unique(unit, return_index=True)[1]
    waits = np.bincount(of_question, np.isnan(answer), first.size) > 0
    questions = np.bincount(of_question, minlength=first.size)
    if not waits.any() or questions.min() == questions.max():
        return ~waits
    complete = np.zeros(first.size)
    np.maximum.at(complete, of_question, turn)
    names = [evidence.index.ids[i] for i in evidence.items[first].tolist()]
    place = np.array([derive_seed(0, "gate", name) for name in names], dtype=np.uint64)
    by_place, by_time = np.lexsort((place, questions)), np.lexsort((place, complete, waits, questions))
    # item by_time[j] gets the place of item by_place[j], which has the same number of questions
    end = place[by_place[waits[by_time]]].min()
    there = np.zeros(first.size, np.bool_)
    there[by_time[place[by_place] < end]] = True
    return there


_GAMMA = 0.001
_SHARES = 15
_OF_FIRST = 0.8
"""Part of the error probability for the test of the first draw's items. Each later draw gets this part of the
rest, so that all tests together have the gate's error probability, however often items are added."""


def resolved_ends(
    labels: LabelColumns, models: Sequence[PredictionColumns]
) -> tuple[IntArray, IntArray, IntArray]:
    """Return the positions of the items, and the smallest and largest possible value of each item.

    The value is the correctness of one model, or the difference in correctness of two models.

    Raises
    ------
    EstimateError
        If no item was asked about, or answers contradict each other.
    """
    items, predicted = find_asked(labels, models)
    if not items.size:
        raise EstimateError("labels: no item with a question has predictions of all models")
    correct = read_item_answers(labels).correctness(predicted, items)
    least, most = np.where(correct == UNKNOWN, 0, correct), np.where(correct == UNKNOWN, 1, correct)
    if len(models) == 1:
        return items, least[:, 0], most[:, 0]
    alike = predicted[:, 0] == predicted[:, 1]
    low, high = least[:, 0] - most[:, 1], most[:, 0] - least[:, 1]
    return items, np.where(alike, 0, low), np.where(alike, 0, high)


def worst_p_values(
    low: IntArray,
    high: IntArray,
    cluster: IntArray | None,
    bar: float,
    floor: int,
    weight: FloatArray | None = None,
) -> tuple[float, float]:
    """Return two p-values: of "the mean value is below the bar", and of "the mean value is above the bar".

    Parameters
    ----------
    low, high
        Shape (N,): smallest and largest possible value of every item.
    cluster
        Shape (N,): cluster number of every item; None if items are independent.
    floor
        Smallest value that occurs: 0 for correctness, −1 for a difference; the largest is 1.
    weight
        Shape (N,): weight of every item; None if all are equal. Used only with clusters.
    """
    if cluster is not None:
        scale = _scale_weights(weight, len(low))
        size = float(np.bincount(cluster).max() * scale.max())
        up = refuting_wealth(_sums(cluster, scale * (low - bar)), size * (floor - bar))
        down = refuting_wealth(_sums(cluster, scale * (bar - high)), size * (bar - 1))
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


def _scale_weights(weight: FloatArray | None, size: int) -> FloatArray:
    """Return the weights divided by their mean, shape (size,); ones if all items have equal weights."""
    return np.ones(size) if weight is None else weight / weight.mean()


def _sums(cluster: IntArray, gains: NDArray[np.floating[Any]]) -> FloatArray:
    return np.bincount(cluster, gains).astype(np.float64)


def _difference_tail(lead: int, n: int, mean: float, share: float) -> float:
    """Return P(n_+ − n_− ≥ lead) for n items, where n_+ items have the value 1 and n_− the value −1.

    An item has a value other than 0 with probability `share`, and its expected value is `mean`.
    """
    if share <= 0:
        return float(lead <= 0)
    d = np.arange(n + 1)
    # smallest n_+ for which n_+ − n_− ≥ lead, if d of the items have a value other than 0
    least = np.ceil((d + lead) / 2)
    tail: FloatArray = np.where(least <= 0, 1.0, 0.0)
    inside = (least > 0) & (least <= d)
    tail[inside] = 1 - bdtr(least[inside] - 1, d[inside], (1 + mean / share) / 2)
    ways = gammaln(n + 1) - gammaln(d + 1) - gammaln(n - d + 1)
    chance = np.exp(ways + xlogy(d, share) + xlog1py(n - d, -share))
    return float(chance @ tail)


def _see_sides(
    model: PredictionColumns, labels: LabelColumns
) -> tuple[Sequence[DrawnAnswers], Sequence[DrawnAnswers], Sequence[DrawnAnswers]]:
    """Return the answers of every draw three times, with unknown answers counted in three ways.

    Unknown answers count against the model in the first result, in its favour in the second, and not at all
    in the third.
    """
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
    """Return the labels with every abstention replaced by the answer in `kind`, shape (L,)."""
    return replace(labels, kind=np.where(labels.kind == ABSTAINED, kind, labels.kind), passed=None)


PASS, FAIL, UNDECIDED = "pass", "fail", "undecided"
ANY_TIME, WORST_CASE = "any time", "worst case"
EITHER_SIDE = "the answers fit a value on either side of the bar"
_FARTHEST = 1_000_000
"""Largest number of answers that is forecast; a larger forecast is None."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class GateVerdict(Displayable):
    """Verdict on which side of a bar a model's accuracy, or the difference of two accuracies, lies.

    Attributes
    ----------
    verdict
        ``"pass"``: the quantity is at least the bar. ``"fail"``: it is below the bar. ``"undecided"``: the
        answers do not decide, or cannot be trusted; see `why`.
    value
        Mean outcome of the bets; NaN without answers. It is unbiased, but depends slightly on the bar, so
        report the estimate of `oversight.accuracy` instead. For sequential protocols, `value` is the mean
        over resolved items. At a planned interim analysis, it is the estimate.
    bar
        Value to reach.
    level
        A pass or fail is wrong with probability at most 1 − level, whatever the true value is.
    p_below, p_above
        p-values of the hypotheses that the quantity is below the bar, and that it is above. A verdict needs a
        p-value of at most 1 − level. NaN at a planned interim analysis.
    method
        ``"any time"``: valid after every answer. ``"worst case"``: also valid after every answer; unknown
        items count as wrong in the test for a pass and as right in the test for a failure. ``"look J of L"``:
        valid as planned interim analysis J of L only.
    answers, open_questions
        Number of answers (yes or no) that count so far, and number of open questions.
    low, high
        Interval of a planned interim analysis; NaN for other methods.
    further
        Forecast of the number of further answers after which the verdict is decided with probability 0.8, if
        the quantity is as estimated; None if the verdict is decided, or if more than a million answers are
        needed.
    why
        Reason why the verdict is undecided; empty for a pass or fail.
    either_side
        Whether the only reason for an undecided verdict is that the answers fit both sides of the bar.

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
        """Return a line with the verdict, the value, the bar, the answers, and the reason if undecided."""
        value = "no value yet" if math.isnan(self.value) else f"value {self.value:.3f}"
        ends = "" if math.isnan(self.low) else f" [{self.low:.3f}, {self.high:.3f}]"
        return (
            f"{self.verdict}: {value}{ends}, bar {self.bar:g} · {self.method} {level_text(self.level)} · "
            f"{self.answers} answers, {self.open_questions} questions open"
            + (f" · {self.why}" if self.why else "")
        )

    def records(self) -> list[dict[str, Any]]:
        """Return the fields as a single row."""
        return [asdict(self)]

    def html_tables(self) -> tuple[HtmlTable, ...]:
        """Return the table that a notebook shows: the p-values for both sides of the bar."""
        sides = {"below the bar": self.p_below, "above the bar": self.p_above}
        rows = [(side, f"{p:.2g}") for side, p in sides.items() if not math.isnan(p)]
        notes = []
        if self.further is not None:
            notes.append(f"about {self.further:,} further answers would decide it (a forecast)")
        return (HtmlTable(columns=("evidence against a value", "p"), rows=rows, notes=notes),)

    @property
    def decided(self) -> bool:
        """Whether the verdict is pass or fail."""
        return self.verdict != UNDECIDED

    def withheld(self, why: str) -> GateVerdict:
        """Return a copy that is undecided for the reason `why`."""
        return replace(self, verdict=UNDECIDED, why=why, further=None, either_side=False)


def judge(
    known: GateVerdict,
    p_below: float,
    p_above: float,
    gains: FloatArray,
    outcomes: int | None = None,
) -> GateVerdict:
    """Make a verdict from both p-values.

    Parameters
    ----------
    known
        Verdict whose other fields are kept.
    p_below, p_above
        As in `GateVerdict`; values above 1 count as 1.
    gains
        Outcomes minus the bar, for the forecast of further answers.
    outcomes
        Number of outcomes that came from the `known.answers` answers; by default the number of `gains`.
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
    if need <= known.answers:
        # The answers so far are weaker evidence than expected. Assume that further answers add evidence at
        # the expected rate.
        p = min(1.0, p_below if mean > 0 else p_above)
        need = known.answers + need * (1 - math.log(p) / math.log(1 - known.level))
    further = further_answers(need, known.answers)
    return replace(known, further=further, why=EITHER_SIDE, either_side=True)


def further_answers(need: float, answers: int) -> int | None:
    """Return `need` minus the present number of answers, at least 1; None if `need` exceeds a million."""
    return None if not need <= _FARTHEST else max(1, math.ceil(need - answers))


def check_bar(bar: float | str | None, low: float, high: float, level: float) -> None:
    """Refuse a bar that is not strictly between `low` and `high`, or an invalid level (`EstimateError`)."""
    check_level(level)
    if isinstance(bar, str | None) or not low < bar < high:
        raise EstimateError(f"the bar must lie in ({low:g}, {high:g}), is {bar!r}")


UNTOLD = (
    "given what is known about experts' errors, the answers fit a value on either side of the bar; "
    "more gold items narrow this"
)
UNANSWERED = "answers to the open questions could put the value on either side of the bar"
_FOR_RATES = 0.4
"""Part of the error probability 1 − level that is used for ranges of error rates estimated from gold."""


def gate_accuracy(
    predictions: AnyPredictions,
    labels: AnyLabels,
    at_least: float,
    *,
    level: float = 0.95,
    errors: ErrorRanges | None = None,
    checks: bool = True,
) -> GateVerdict:
    """Decide whether the probability that a prediction is right is at least a bar.

    Parameters
    ----------
    predictions, labels
        As in `oversight.accuracy`. Unreadable predictions count as wrong; failed ones are left out.
    at_least
        The bar, in (0, 1).
    level
        Confidence level of the verdict, in (0, 1).
    errors
        Ranges of experts' error rates; None assumes that experts never err. The verdict is valid for all
        sensitivities and specificities in the ranges (`rate_ranges`). If the ranges are computed from gold
        items, two fifths of the error probability 1 − level are used for the ranges.
    checks
        Whether to check the assumptions (`run_checks`). If a check fails and this makes every verdict
        invalid, the verdict is undecided, and `GateVerdict.why` names the check.

    Returns
    -------
    GateVerdict
        Undecided, with the reason, if the answers do not decide or the design allows no verdict.

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
    return _gate([predictions], labels, at_least, level, errors, checks=checks)


def gate_difference(
    first: AnyPredictions,
    second: AnyPredictions,
    labels: AnyLabels,
    at_least: float,
    *,
    level: float = 0.95,
    errors: ErrorRanges | None = None,
    checks: bool = True,
) -> GateVerdict:
    """Decide whether the first model's accuracy minus the second's is at least a bar in (−1, 1).

    The difference refers to items that both models answered. Other parameters are as in `gate_accuracy`.

    Examples
    --------
    >>> from oversight.harness.example_data import example_study
    >>> a, b, labels = example_study()
    >>> gate_difference(a, b, labels, at_least=-0.5).verdict
    'pass'
    """
    check_bar(at_least, -1.0, 1.0, level)
    return _gate([first, second], labels, at_least, level, errors, checks=checks)


def _gate(
    predictions: Sequence[AnyPredictions],
    said: AnyLabels,
    bar: float,
    level: float,
    errors: ErrorRanges | None,
    *,
    checks: bool,
) -> GateVerdict:
    """Return the verdict; undecided if a check of the assumptions fails for one of the models."""
    models, labels = align_models(predictions, said)
    found = _decide(models, labels, bar, level, errors)
    if not checks or not len(labels):
        return found
    whys = dict[str, None]({explain_failed_calls(*models): None})
    for model in models:
        try:
            part = collected_part(labels, model.is_there)[0]
        except EstimateError:
            continue
        whys[explain_failures(model, part, corrected=errors is not None)] = None
    failures = "; ".join(filter(None, whys))
    return found.withheld(failures) if failures else found


def _decide(
    models: Sequence[PredictionColumns],
    labels: LabelColumns,
    bar: float,
    level: float,
    errors: ErrorRanges | None,
) -> GateVerdict:
    waiting = 0 if labels.drawn is None else int(np.count_nonzero(labels.answers < 0))
    nothing = GateVerdict(bar=bar, level=level, method=ANY_TIME, open_questions=waiting)
    there = np.logical_and.reduce([m.is_there for m in models])
    complete = np.logical_and.reduce([m.is_complete for m in models])
    missing = int(np.count_nonzero(labels.asked_items & ~complete))
    if missing:
        lack = "have fewer samples than others" if there[labels.asked_items].all() else "have no answer"
        return nothing.withheld(
            f"the run is not finished: {missing} items asked about {lack} of "
            f"{'the model' if len(models) == 1 else 'both models'}, and the items run first may not be a "
            "random sample"
        )
    use = "gate" if len(models) == 1 else "gate difference"
    try:
        refuse(use, labels.conditions, gold=errors is not None)
        part = collected_part(labels, there)[0]
        is_joint = labels.cluster is not None or errors is not None
        if is_joint and labels.is_unequal:
            _refuse_later_draws(labels)
        if labels.is_resolved and (is_joint or not labels.is_unequal):
            return _gate_resolved(models, part, nothing)
        if labels.is_unequal and not is_joint:
            return _gate_drawn(models, part, nothing)
        above, below, spent = _bet(models, part, bar, level, errors)
    except (BadInput, NotIdentified) as error:
        return nothing.withheld(str(error))
    if not above.answers and not np.isfinite(above.value):
        return nothing.withheld(
            "there are no answers about the model's predictions yet, or not to all questions about a cluster"
            if labels.cluster is not None
            else "there are no answers about the model's predictions yet"
        )
    up, down = refuting_wealth(above.sums, above.low), refuting_wealth(-below.sums, -below.high)
    ahead = expected = _choose_ahead(above, below)
    if part.passed is not None:
        # The forecast assumes that questions an expert passed over will be answered like the others.
        heard = part.leave_out_passed()
        expected = _choose_ahead(*_bet(models, heard, bar, level, errors)[:2])
    is_open = above is not below and ahead is below and below.sums.mean() >= 0
    found = judge(
        replace(nothing, value=above.value, answers=above.answers),
        1 / up + spent,
        1 / down + spent,
        expected.sums if expected.sums.size else ahead.sums,
        ahead.sums.size,
    )
    # More answers may not lead to a decision, because the unknown error rates or the unanswered questions
    # decide whether the value is above the bar.
    untold = UNTOLD if errors is not None else UNANSWERED
    return found.withheld(untold) if is_open and not found.decided else found


def _refuse_later_draws(labels: LabelColumns) -> None:
    """Refuse unequal probabilities of several draws, because later draws may depend on earlier answers."""
    pool = labels.pool
    if pool is not None and pool.batch is not None and pool.batch.max() > 1:
        raise NotIdentified(
            "items were drawn several times with unequal probabilities; a gate cannot allow for this "
            "together with clusters or experts' errors"
        )


def _choose_ahead(above: Gains, below: Gains) -> Gains:
    """Return the gains of the side that the answers favour."""
    return above if above is below or above.sums.sum() > 0 else below


def _bet(
    models: Sequence[PredictionColumns],
    labels: LabelColumns,
    bar: float,
    level: float,
    errors: ErrorRanges | None,
) -> tuple[Gains, Gains, float]:
    """Return the gains of bets on a value above the bar, and the gains of bets on a value below the bar.

    The third result is the part of the error probability that is spent on the ranges of experts' error rates.
    """
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
    """Return the share of right `gold` answers, clipped to `ends`; without gold, the middle of `ends`."""
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
    """Make a verdict from items drawn with unequal probabilities."""
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
    floor, weight = 0 if len(models) == 1 else -1, find_weights(items, labels)
    if cluster is not None:
        p_below, p_above = worst_p_values(low, high, cluster, nothing.bar, floor, weight)
    else:
        draw = find_item_draws(labels)[items]
        tests = [
            np.divide(worst_p_values(low[part], high[part], None, nothing.bar, floor), spent)
            for part, spent in ((draw <= d, _OF_FIRST * (1 - _OF_FIRST) ** d) for d in range(draw.max() + 1))
        ]
        p_below, p_above = np.min(tests, axis=0).tolist()
    known = low == high
    if not known.any():
        return nothing.withheld("no item is resolved yet")
    scale = _scale_weights(weight, low.size)[known]
    value = float(np.average(low[known], weights=scale))
    answers = int(np.count_nonzero(labels.kind != ABSTAINED))
    verdict = replace(nothing, value=value, answers=answers, method=WORST_CASE)
    return judge(verdict, p_below, p_above, scale * (low[known] - nothing.bar), known.size)


def gate_at_look(
    models: Mapping[str, PredictionColumns],
    labels: LabelColumns,
    at_least: float,
    *,
    look: tuple[int, int],
    level: float = 0.95,
    errors: ErrorRanges | None = None,
) -> GateVerdict:
    """Decide whether an accuracy or a difference is at least a bar, at planned interim analysis J of L.

    Parameters
    ----------
    models
        Name → predictions, of one model or two.
    at_least
        The bar.
    look
        J and L; (1, 1) is a single analysis.
    level
        Joint confidence level of all L analyses, in (0, 1).
    errors
        Ranges of experts' error rates, for which the accuracy or difference is corrected. None assumes that
        experts never err.

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
        answers=int(np.count_nonzero(labels.kind != ABSTAINED)),
        open_questions=is_open,
    )
    try:
        value, low, high, why = _interval(models, labels, now, errors)
        known = replace(known, value=value, low=low, high=high, why=why)
    except EstimateError as error:
        known = known.withheld(str(error))
    return judge_interval(known, now)


def judge_interval(known: GateVerdict, now: float) -> GateVerdict:
    """Make a verdict from an interval: pass if it is above the bar, fail if it is below.

    Parameters
    ----------
    known
        Verdict with interval and number of answers. If it has a `why`, the result is undecided.
    now
        Confidence level of the interval, used for the forecast of further answers.

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
    """Return the accuracy or difference, its interval's ends, and a reason to doubt the interval (or "")."""
    if len(models) == 2:
        (pair,) = compare(models, labels, level=level, errors=errors).pairs
        return pair.difference, pair.low, pair.high, pair.why
    (model,) = models.values()
    labels = keep_predicted(labels, model)
    if errors is None:
        made = accuracies(model, labels, level=level)
        found = made.get("worst_case") or accuracy(model, labels, level=level)
    elif errors.gold is None:
        found = allow_for_errors(model, labels, np.full(labels.index.size, -1), errors, level=level)
    else:
        found = accuracy(model, labels, level=level, gold=errors.gold)
    return found.value, found.low, found.high, found.why
