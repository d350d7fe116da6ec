"""The evidence about models: the answers that count, as arrays, and the effect of missing ones.

`Evidence` holds the answers about the items of one or several models, together with the design of these
items: clusters, strata of a draw, and weights. Estimates, comparisons, gates, results by class and plans use
it. `Evidence.accuracy` estimates an accuracy, with side information if its argument `working` is given.

**Interim subset** (`collected_part`). While questions are open, the answers so far are not a random part of
the questions, for two reasons. Experts answer at different speeds: while only the cardiologist has answered,
every answer is about cardiology. And an expert who leaves a question blank and continues has chosen which
questions to answer.

An expert's questions are presented in an order that was drawn before any answer (`Question.place`). So the
first questions are a random part, whatever the expert does later. The estimate uses the same share of every
expert's queue, from its start to the place that the slowest expert has reached. Items added to a study later
have separate queues, because they are asked about last. If a question within that share is still open, its
expert has passed it over. It is missing data and counts as if the expert had been unsure. If the order is
unknown, every open question of an expert who has answered any question counts as passed over.

**Unequal answering rates** (`find_unequal`). Experts may leave more questions about some options unanswered
than about others. If options are drawn uniformly and the answering rate r_k of an option does not depend on
the truth, the answered items are a random part of all items, and option k was asked about with probability
r_k/Σ_j r_j among them. So the estimators for recorded propensities apply, with these probabilities in place
of 1/K. This requires one question per item and one number of options; other designs get a reason why their
intervals may not hold.

**Missing answers** (`bound_missing`). Estimates assume that a missing answer is unrelated to the truth, which
no data can test. So two extreme estimates are made as well: one with all missing answers in favour of the
model, and one with all of them against it (`_fill`). The estimate from complete answers lies between these
two.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NoReturn

import numpy as np

from oversight.harness.arrays import AnyIntArray, BoolArray, FloatArray, IntArray
from oversight.harness.columns import (
    ABSTAINED,
    NO,
    YES,
    ItemIndex,
    ItemValues,
    LabelColumns,
    PredictionColumns,
    QuestionColumns,
    Queues,
    answering_rates,
    read_questions,
    read_queues,
)
from oversight.harness.errors import EstimateError, NotIdentified
from oversight.harness.estimate.combinations import refuse
from oversight.harness.estimate.core import blaker, check_clusters, count_effective, mover_sum, z_value
from oversight.harness.estimate.decoding import UNIFORM_ASSUMPTIONS
from oversight.harness.estimate.expert_errors import (
    GoldCounts,
    allows_gold_score,
    corrected_accuracy,
    gold_accuracy,
)
from oversight.harness.estimate.intervals import DrawnStrata, scale_by_share
from oversight.harness.estimate.routed_means import resolved_accuracy, routed_accuracy
from oversight.harness.estimate.routed_sample import (
    FEW_OPEN,
    RoutedSample,
    resolved_correctness,
    routed_pool,
)
from oversight.harness.estimate.tallies import is_proportional, with_unreadable
from oversight.harness.seeding import derive_seed
from oversight.harness.types import PLACES, WORST_CASE, Counts, Estimate, Interval, Note, NoteKind

PARTIAL_KINDS = (NoteKind.PARTIAL, NoteKind.PARTIAL_WITH_ADDED)
"""Kinds of notes on an estimate from an unfinished collection."""


def collected_part(labels: LabelColumns, items: BoolArray) -> tuple[LabelColumns, tuple[Note, ...]]:
    """Select the labels in the share of the queues that every expert has reached; return labels and notes.

    The share is the same for every expert, and is counted from the start of the expert's queue.

    Passed-over questions in that share are added as abstentions (`LabelColumns.passed`). Further answers only
    add labels to the subset, so a later verdict uses all labels of the earlier verdicts.

    Parameters
    ----------
    labels
        If it is unknown which questions were drawn, or the protocol is sequential, all labels are returned.
        Estimates for sequential protocols count open items as right or as wrong, whichever is worse.
    items
        Shape (N,): whether an item has a prediction.

    Raises
    ------
    NotIdentified
        If an item with a prediction was added after the draw and has no question, or an expert has answered
        none of their questions, or none of their questions about items added later.

    Examples
    --------
    >>> from oversight.harness.columns import align
    >>> from oversight.harness.example_data import example_study
    >>> model, _, labels = example_study()
    >>> predicted, said = align(model, labels)
    >>> part, notes = collected_part(said, predicted.is_there)
    >>> len(part), notes
    (80, ())
    """
    if labels.outside is not None and (labels.is_uniform or labels.pool is not None):
        _refuse_added(labels, items, labels.outside)
    if labels.drawn is None or labels.statement.asks_on:
        return labels, ()
    mine = np.flatnonzero(items[labels.drawn.item])
    drawn = labels.drawn if len(mine) == len(labels.drawn) else labels.drawn.take(mine)
    label = labels.answers[mine]
    answered = label >= 0
    if answered.all():
        return labels, ()
    draw = np.zeros(len(drawn), np.int64) if labels.pool is not None else _find_draws(drawn)
    queues = _read_draws(drawn, draw, answered)
    share = _common_share(queues)
    if share == 0:
        _refuse_silent(labels, drawn, queues, answered)
    ends = queues.asked if share == 1 else _round_share(share, queues, drawn)
    inside = queues.rank < ends[draw * len(drawn.experts) + drawn.expert]
    kept = np.zeros(len(labels), np.bool_)
    kept[label[inside & answered]] = True
    missing = drawn.take(np.flatnonzero(inside & ~answered))
    part = labels.take(np.flatnonzero(kept | ~items[labels.item])).pass_over(missing)
    notes = []
    if share < 1:
        slow = int(np.argmin(queues.reached / np.maximum(queues.asked, 1)))
        told = {
            "used": np.count_nonzero(kept),
            "answered": np.count_nonzero(answered),
            "share": share,
            "slowest": labels.holders.get(slowest := drawn.experts[slow % len(drawn.experts)], slowest),
        }
        notes.append(Note(NoteKind.PARTIAL_WITH_ADDED if draw.any() else NoteKind.PARTIAL, told))
    if len(missing):
        passed = {"passed": len(missing), "of": np.count_nonzero(inside)}
        notes.append(Note(NoteKind.PASSED_OVER, passed))
    return part, tuple(notes)


def _refuse_added(labels: LabelColumns, items: BoolArray, outside: BoolArray) -> None:
    """Raise NotIdentified if one of `items` is in `outside`, because it was added after the draw.

    Without a pool, call this only for uniform draws, because other draws do not ask about every item.
    """
    new = np.flatnonzero(items & outside)
    if not new.size:
        return
    one = labels.index.ids[new[0]]
    do = "ask about them (oversight label route)" if labels.pool is None else "start a new study"
    raise NotIdentified(
        f"{new.size} of the predicted items, for example {one!r}, were added after the draw and have no "
        f"question: the items asked about are not a random part of all items; {do}, or import predictions "
        "without them"
    )


def _find_draws(drawn: QuestionColumns) -> IntArray:
    """Return, for each question, which draw first asked about its item, counted from 0; shape (R,).

    Items that are added to a study are drawn after the earlier items and asked about last. Before the added
    items are asked about, the answered items are not a random part of all items.
    """
    first = np.full(int(drawn.item.max()) + 1, np.iinfo(np.int64).max)
    np.minimum.at(first, drawn.item, np.maximum(drawn.place, 0) // PLACES)
    draw: IntArray = np.unique(first[drawn.item], return_inverse=True)[1].astype(np.int64)
    return draw


def find_item_draws(labels: LabelColumns) -> IntArray:
    """Return, for each item, which draw first asked about it, counted from 0; shape (items,).

    Items without a question, and all items if the drawn questions are unknown, have 0.
    """
    draws = np.zeros(labels.index.size, np.int64)
    if labels.drawn is not None:
        draws[labels.drawn.item] = _find_draws(labels.drawn)
    return draws


def _read_draws(drawn: QuestionColumns, draw: IntArray, answered: BoolArray) -> Queues:
    """Return the queues of every draw (`read_queues`): all experts' queues of draw 0, then of draw 1, etc.

    An expert who has answered a question of a later draw has reached all questions of earlier draws.
    """
    experts = len(drawn.experts)
    number = (int(draw.max()) + 1) * experts
    queues = read_queues(draw * experts + drawn.expert, drawn.place, answered, number)
    asked, reached = queues.asked.reshape(-1, experts), queues.reached.reshape(-1, experts)
    later = reached[::-1].cumsum(axis=0)[::-1] > reached
    return replace(queues, reached=np.where(later, asked, reached).ravel())


def find_turns(labels: LabelColumns, drawn: QuestionColumns) -> FloatArray:
    """Return each question's turn, shape (R,): its place in its expert's queue, divided by the length."""
    draw = np.zeros(len(drawn), np.int64) if labels.pool is not None else _find_draws(drawn)
    queues = _read_draws(drawn, draw, np.zeros(len(drawn), np.bool_))
    turns: FloatArray = (queues.rank + 1) / queues.asked[draw * len(drawn.experts) + drawn.expert]
    return turns


def _refuse_silent(
    labels: LabelColumns, drawn: QuestionColumns, queues: Queues, answered: BoolArray
) -> NoReturn:
    silence = ((queues.asked > 0) & (queues.reached == 0)).reshape(-1, len(drawn.experts))
    late = not silence[0].any()
    idle = np.array(drawn.experts)[silence.any(axis=0)].tolist()
    silent = sorted({labels.holders.get(name, name) for name in idle})
    names = ", ".join(silent[:3]) + " and others" * (len(silent) > 3)
    is_one = len(silent) == 1 and " and " not in names
    what = "any question about the items added later" if late else "yet"
    part = "the items answered by the other experts are not a random part of all items"
    if late:
        part = "the answered items are not a random part of all items"
    raise NotIdentified(
        f"{names} {'has' if is_one else 'have'} not answered {what} "
        f"({np.count_nonzero(answered)} of {len(drawn)} questions answered): {part}"
    )


def _common_share(queues: Queues) -> float:
    """Return the share of the queues that all experts have reached, in [0, 1].

    It is 1 if so few questions remain that they count as missing answers.
    """
    left = queues.asked - queues.reached
    most = FEW_OPEN * queues.asked.sum()
    if left.sum() <= most and (left <= np.maximum(0.1 * queues.asked, most / 2)).all():
        return 1.0
    put = queues.asked > 0
    return float((queues.reached[put] / queues.asked[put]).min())


def _round_share(share: float, queues: Queues, drawn: QuestionColumns) -> IntArray:
    """Return the number of questions in the first `share` of every queue, as an array like `queues.asked`.

    Numbers are rounded up or down at random, so that rounding does not favour experts with few questions.
    The direction depends on the expert's name only.
    """
    chance = [derive_seed(0, "rounded", name) / 2**64 for name in drawn.experts]
    chances = np.resize(np.array(chance), len(queues.asked))
    ends: IntArray = np.floor(share * queues.asked + chances - 1e-9).astype(np.int64)
    return ends


REFUSALS = "weighted-refusals"
"""Method name of the interval of `estimate_refusals`."""
_DOUBT = 0.01
"""p-value below which answering rates count as unequal, for designs whose estimates cannot be corrected."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnequalAnswers:
    """Answering rates that differ between options.

    Attributes
    ----------
    least, most
        Smallest and largest answering rate of an option, in [0, 1].
    rates
        Shape (K,): answering rate of every option; None if the propensities cannot be corrected.
    refusal_rates
        Shape (K,): answering rate of every option if all answers are "no", for example because items were
        selected by a "no"; `rates` is then None. In every other case, `refusal_rates` is None.
    """

    least: float
    most: float
    rates: FloatArray | None
    refusal_rates: FloatArray | None = None

    @property
    def note(self) -> Note:
        """Note for an estimate that is corrected for the answering rates."""
        return Note(NoteKind.ANSWERING_RATES, {"least": self.least, "most": self.most})

    @property
    def why(self) -> str:
        """Reason why the interval of an uncorrected estimate may not hold."""
        return (
            f"experts answered {self.least:.0%} of the questions about one option and {self.most:.0%} of "
            "those about another, and this estimate is not corrected for the difference"
        )

    def tilt(self, data: RoutedSample) -> RoutedSample:
        """Return the sample with propensities corrected for `rates`; unchanged if `rates` is None."""
        if self.rates is None:
            return data
        tilted = data.propensities * self.rates
        total = tilted.sum(axis=1, keepdims=True)  # 0 if no option of the item can have an answer
        return replace(data, propensities=np.divide(tilted, total, out=tilted, where=total > 0))


def find_unequal(labels: LabelColumns, items: BoolArray) -> UnequalAnswers | None:
    """Test whether answering rates differ between options by more than chance.

    Parameters
    ----------
    labels
        All labels, or a part that contains the same share of the answers of every expert. If
        `LabelColumns.rates` is given, these rates are used instead of the answering rates among the labels.
    items
        Shape (N,): whether an item has a prediction.

    Returns
    -------
    UnequalAnswers or None
        None if no significant difference is found, and always for sequential protocols.

    Examples
    --------
    >>> from oversight.harness.columns import align
    >>> from oversight.harness.example_data import example_study
    >>> model, _, labels = example_study()
    >>> predicted, said = align(model, labels)
    >>> find_unequal(said, predicted.is_there) is None
    True
    """
    if labels.is_resolved or not len(labels):
        return None
    is_whole = labels.drawn is None or np.mean(labels.answers < 0) <= FEW_OPEN
    asked, answered = read_questions(labels, with_open=bool(is_whole))
    if labels.rates is None and answered.all():
        return None
    rows = np.flatnonzero(items[asked.item])
    if not rows.size:
        return None
    if rows.size < answered.size:
        asked, answered = asked.take(rows), answered[rows]
    is_simple = labels.is_even and _is_simple(asked)
    cells = asked.option if is_simple else _number_options(asked)
    size = int(asked.n_options[0] if is_simple else cells.max() + 1)
    counts = (np.bincount(cells, minlength=size), np.bincount(cells[answered], minlength=size))
    rates = answering_rates(*counts) if is_simple else answering_rates(*counts, chance=_DOUBT)
    if is_simple and labels.rates is not None and labels.rates.size == size:
        rates = labels.rates
    least, most = float(rates.min()), float(rates.max())
    if least == most:
        return None
    if is_simple and not (labels.kind[items[labels.item]] == YES).any():
        return UnequalAnswers(least=least, most=most, rates=None, refusal_rates=rates)
    return UnequalAnswers(least=least, most=most, rates=rates if is_simple else None)


def estimate_refusals(predicted: IntArray, refused: IntArray, rates: FloatArray, level: float) -> Estimate:
    """Estimate an accuracy if all answers are "no", weighting each option by 1/(its answering rate).

    A = 1 − (K − 1) Σ_k s_k q_k, where q_k is the share of predictions of option k among the items on which
    option k was refused. The weights s_k sum to 1 and are proportional to n_k/r_k: the number of "no" answers
    about option k, divided by its answering rate. The interval combines intervals of the q_k (`mover_sum`).

    Parameters
    ----------
    predicted, refused
        Shape (N,): the predicted option, −1 for unreadable, and the refused option of each item.
    rates
        Shape (K,): answering rate of every option, in (0, 1].

    Raises
    ------
    NotIdentified
        If an option was never refused on an item with a readable prediction.
    """
    K, readable = rates.size, predicted >= 0
    n = np.bincount(refused[readable], minlength=K)
    hits = np.bincount(refused[readable & (predicted == refused)], minlength=K)
    if not n.all():
        raise NotIdentified(
            f"no item has a no about option {int(np.argmin(n))}, so predictions of this option cannot be "
            "scored"
        )
    weight = 1 / rates[refused]
    share, q = (n / rates) / (n / rates).sum(), hits / n
    centre, z = float(share @ q), z_value(level)
    between = float(share @ (q - centre) ** 2) / count_effective(weight[readable])
    lows, highs = zip(*(blaker(int(v), int(m), level) for v, m in zip(hits, n, strict=True)), strict=True)
    least, most = mover_sum(q, lows, highs, share, between=z**2 * between)
    low, high = (min(1.0, max(0.0, 1 - (K - 1) * end)) for end in (most, least))
    se = (K - 1) * float(np.sqrt((share**2 * q * (1 - q) / n).sum() + between))
    value = 1 - (K - 1) * centre
    notes = () if 0 <= value <= 1 else (Note(NoteKind.OUT_OF_RANGE),)
    made = Interval(low=low, high=high, level=level, method=REFUSALS, notes=notes)
    rho, size = float(weight[readable].sum() / weight.sum()), count_effective(weight)
    whole = with_unreadable(value, se, made, rho, size, len(predicted))
    return Estimate.from_interval(
        value=whole.value,
        se=whole.se,
        interval=whole.interval,
        estimator="ml",
        n=Counts(complementary=len(predicted)),
        assumptions=UNIFORM_ASSUMPTIONS,
    )


def _is_simple(asked: QuestionColumns) -> bool:
    """Whether each item has one question, its option was drawn uniformly, and all items have the same K."""
    K = asked.n_options
    is_uniform = not asked.offered.values.size and bool((np.abs(asked.propensity * K - 1) < 1e-6).all())
    return is_uniform and int(np.ptp(K)) == 0 and int(np.bincount(asked.item).max()) == 1


def _number_options(asked: QuestionColumns) -> IntArray:
    """Return a number for each question's pair of K and option asked about, shape (R,), from 0."""
    key = asked.n_options * (int(asked.n_options.max()) + 1) + asked.option
    number: IntArray = np.unique(key, return_inverse=True)[1].astype(np.int64)
    return number


@dataclass(frozen=True, kw_only=True, eq=False)
class Evidence:
    """Answers to drawn options about N items with predictions of M models.

    Attributes
    ----------
    sample
        Questions with propensities, answers, clusters, weights and drawn strata. If answering rates differ
        between options, the propensities are corrected to the propensities of answered questions.
    predicted
        Shape (N, M): the predicted options, −1 if unreadable.
    index, items
        All items of the study; and positions of the N items among them, shape (N,).

    Examples
    --------
    >>> from oversight.harness.columns import align
    >>> from oversight.harness.example_data import example_study
    >>> model, _, labels = example_study()
    >>> predicted, said = align(model, labels)
    >>> evidence = Evidence.of(predicted, said)
    >>> print(evidence.accuracy(0.95))
    0.800 [0.637, 0.932] ROUTED, tilted-score 95% · 20 ordinary + 60 complementary
    """

    sample: RoutedSample
    predicted: AnyIntArray
    index: ItemIndex
    items: IntArray

    @classmethod
    def of(
        cls,
        predictions: PredictionColumns,
        labels: LabelColumns,
        *,
        strata: ItemValues | None = None,
        error_free: bool = True,
    ) -> Evidence:
        """Collect the evidence about one model.

        Parameters
        ----------
        predictions, labels
            Columns over the same items; labels of an unfinished collection must be the interim subset
            (`collected_part`).
        strata
            Stratum of every item. If given, strata are weighted by their share of the predictions.
        error_free
            Whether experts are assumed not to err.

        Raises
        ------
        BadInput
            If strata have no effect on these labels, for example because items are in clusters.
        NotIdentified
            If `combinations` refuses an estimate, or there are too few clusters.
        EstimateError
            If no answered item has a prediction, an item has no cluster, or a stratum has no answer.
        """
        refuse("estimate", labels.conditions, gold=not error_free, strata=strata is not None)
        # A uniform draw does not depend on predictions, so items without a question carry no information.
        asked = predictions.on(labels.asked_items) if labels.is_uniform else predictions
        found = cls.gather([asked], labels, error_free=error_free, tilted=error_free)
        if strata is None:
            return found
        weight = _weigh_strata(found.items, predictions, strata)
        return replace(found, sample=replace(found.sample, weight=weight))

    @classmethod
    def gather(
        cls,
        models: Sequence[PredictionColumns],
        labels: LabelColumns,
        *,
        error_free: bool = True,
        tilted: bool = True,
        few_clusters: bool = False,
    ) -> Evidence:
        """Collect the evidence about several models, on items that all of them answered.

        Parameters
        ----------
        tilted
            Whether propensities are corrected for unequal answering rates (`find_unequal`).
        few_clusters
            Whether to accept fewer clusters than an interval needs.

        Raises
        ------
        NotIdentified, EstimateError
            As in `of`.
        """
        sample, predicted, items = routed_pool(labels, models, error_free=error_free)
        if tilted:
            there = np.logical_and.reduce([model.is_there for model in models])
            unequal = find_unequal(labels, there)
            sample = sample if unequal is None else unequal.tilt(sample)
        weight, index, strata = find_weights(items, labels), labels.index, find_drawn_strata(items, labels)
        if few_clusters:
            cluster = number_clusters(items, index, labels.cluster)
        else:
            cluster = enough_clusters(items, index, labels.cluster, weight)
        sample = replace(sample, cluster=cluster, weight=weight, strata=strata)
        return cls(sample=sample, predicted=predicted, index=index, items=items)

    def option(self, model: int = 0) -> IntArray:
        """Return the options predicted by the model at position `model`, shape (N,)."""
        return self.predicted[:, model].astype(np.int64)

    @property
    def most_questions(self) -> int:
        """Largest number of questions about one item."""
        return int(np.bincount(self.sample.item).max())

    @property
    def is_settled(self) -> bool:
        """Whether every readable prediction of the first model was asked about with certainty."""
        option = self.option()
        rows = np.flatnonzero(option >= 0)
        return bool((self.sample.propensities[rows, option[rows]] > 1 - 1e-9).all())

    def accuracy(self, level: float, working: FloatArray | None = None) -> Estimate:
        """Estimate the accuracy of the first model.

        Parameters
        ----------
        working
            Shape (N, K): probability of each option from side information that does not depend on the item's
            own answer; None if none exists. Wrong probabilities make the interval wider, but not invalid.
        """
        return routed_accuracy(self.option(), self.sample, level=level, working=working)


def estimate_by_design(
    predictions: PredictionColumns, labels: LabelColumns, *, level: float, gold: GoldCounts | None
) -> Estimate:
    """Estimate an accuracy from resolved items or from propensities, as the labels' design requires.

    Parameters
    ----------
    gold
        Experts' answers about gold items, to correct for experts' errors; None assumes that no expert errs.

    Raises
    ------
    NotIdentified, EstimateError
        As in `Evidence.of`, and if the answers do not identify the accuracy.
    """
    if labels.is_resolved and labels.tells_accuracy:
        return resolved_estimate(predictions, labels, level, bounds=False)
    evidence = Evidence.of(predictions, labels, error_free=gold is None)
    if gold is None:
        return evidence.accuracy(level)
    option, sample = evidence.option(), evidence.sample
    fits = sample.weight is None and allows_gold_score(option, sample)
    return (gold_accuracy if fits else corrected_accuracy)(option, sample, gold, level=level)


def resolved_estimate(
    predictions: PredictionColumns, labels: LabelColumns, level: float, *, bounds: bool
) -> Estimate:
    """Estimate the accuracy for a sequential protocol.

    With `bounds` the interval covers all possible answers to unanswered questions.
    """
    found = resolved_correctness(labels, [predictions])
    weight = find_weights(found.items, labels)
    cluster = enough_clusters(found.items, labels.index, labels.cluster, weight)
    # Accuracy on unanswered questions may differ from that on answered ones, which are not a random subset.
    own = None if bounds or found.waiting else found.own[:, 0]
    estimate = resolved_accuracy(
        found.correct[:, 0],
        own=own,
        level=level,
        cluster=cluster,
        strata=find_drawn_strata(found.items, labels),
        weight=weight,
    )
    if not found.waiting:
        return estimate
    note = Note(NoteKind.OPEN_ITEMS, {"open": found.waiting, "of": len(found.items)})
    return replace(estimate, notes=(*estimate.notes, note))


def find_drawn_strata(items: IntArray, labels: LabelColumns) -> DrawnStrata | None:
    """Return the strata from which the items at these positions were drawn.

    Return None if there are fewer than two strata. Return None also if items are clustered, because
    dependence within clusters matters more than strata.
    """
    if labels.pool is None or labels.cluster is not None:
        return None
    number = labels.pool.stratum[items]
    if not number.size or number.min() == number.max():
        return None
    return DrawnStrata(number=number, share=len(items) / labels.pool.number)


def find_weights(items: IntArray, labels: LabelColumns) -> FloatArray | None:
    """Return, for the item at each position in `items`, the number of pool items that it represents.

    None if all items count equally.

    Examples
    --------
    >>> from oversight.harness.columns import align
    >>> from oversight.harness.example_data import example_study
    >>> model, _, labels = example_study()
    >>> predicted, said = align(model, labels)
    >>> find_weights(np.arange(80), said) is None
    True
    """
    weight = None if labels.pool is None else labels.pool.weight
    return None if weight is None else weight[items]


def _weigh_strata(items: IntArray, predictions: PredictionColumns, strata: ItemValues) -> FloatArray | None:
    """Return each item's weight: the number of predictions per answered item in its stratum.

    Returns None if the same share of every stratum was sampled.
    """
    names = strata.names
    pool = np.bincount(strata.code[predictions.ran], minlength=len(names))
    asked = np.bincount(strata.code[items], minlength=len(names))
    for stratum in np.flatnonzero((pool > 0) & (asked == 0)):
        raise EstimateError(f"strata: the stratum {names[stratum]!r} has predictions but no answer")
    there = np.flatnonzero(asked)
    sizes = ({names[j]: int(number[j]) for j in there} for number in (asked, pool))
    if is_proportional(*sizes):
        return None
    weight: FloatArray = (pool / np.maximum(asked, 1))[strata.code[items]]
    return weight


def number_clusters(items: IntArray, index: ItemIndex, cluster: ItemValues | None) -> IntArray | None:
    """Return the cluster number, from 0, of each item at these positions; None without clusters.

    Raises
    ------
    EstimateError
        If an item has no cluster, or all items share one.

    Examples
    --------
    >>> from oversight.harness.columns import ItemIndex, ItemValues
    >>> index = ItemIndex.of(["a", "b", "c"])
    >>> patients = ItemValues.of({"a": "p1", "b": "p2", "c": "p1"}, index)
    >>> number_clusters(np.arange(3), index, patients).tolist()
    [0, 1, 0]
    """
    if cluster is None:
        return None
    code = cluster.code[items]
    for place in items[code < 0]:
        raise EstimateError(f"clusters: item {index.ids[place]!r} has no cluster")
    known, number = np.unique(code, return_inverse=True)
    if known.size < 2:
        name = str(cluster.names[known[0]])
        raise EstimateError(f"clusters: there must be at least 2, but all items are in {name!r}")
    return number.astype(np.int64)


def enough_clusters(
    items: IntArray, index: ItemIndex, cluster: ItemValues | None, weight: FloatArray | None = None
) -> IntArray | None:
    """Return the cluster number of each of `items`; None if no two of them share a cluster.

    Raises
    ------
    EstimateError
        If an item has no cluster, or all items share one.
    NotIdentified
        If there are too few effective clusters for an interval (`check_clusters`).

    Examples
    --------
    >>> from oversight.harness.columns import ItemIndex, ItemValues
    >>> index = ItemIndex.of(["a", "b", "c"])
    >>> patients = ItemValues.of({"a": "p1", "b": "p2", "c": "p1"}, index)
    >>> enough_clusters(np.arange(3), index, patients)
    Traceback (most recent call last):
        ...
    oversight.harness.errors.NotIdentified: 2 clusters, the largest with 67% of the items, ...
    """
    number = number_clusters(items, index, cluster)
    if number is None or number.max() + 1 == len(items):
        return None
    check_clusters(number, weight)
    return number


WIDEST = 1.25
"""Largest factor by which an interval is widened to cover all possible answers to unanswered questions."""

Estimator = Callable[[LabelColumns], Estimate]
"""Function that makes an estimate of a model from labels."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HiddenRange:
    """Range of an estimate over all possible missing answers.

    Attributes
    ----------
    missing, of
        Number of unanswered questions, and of all questions.
    worst, best
        Estimates with every missing answer filled in against the model, and in its favour. Together their
        intervals cover all possible missing answers.
    """

    missing: int
    of: int
    worst: Estimate
    best: Estimate

    def widen(self, estimate: Estimate) -> Estimate:
        """Widen the interval of an estimate to cover all possible missing answers."""
        return replace(
            estimate,
            low=min(self.worst.low, self.best.low),
            high=max(self.worst.high, self.best.high),
            steps=_mark_worst(estimate.steps),
        )

    def allow_for(self, estimate: Estimate) -> Estimate | None:
        """Return the estimate with the interval of `widen`.

        Return None if that interval is more than `WIDEST` times as wide as the estimate's own.
        """
        wide = self.widen(estimate)
        if wide.high - wide.low > WIDEST * (estimate.high - estimate.low):
            return None
        return replace(wide, notes=(*wide.notes, Note(NoteKind.ALLOWS_FOR_MISSING)))

    def __str__(self) -> str:
        """Return a sentence with the number of unanswered questions and the range of the estimate."""
        low, high = sorted((self.worst.clipped, self.best.clipped))
        return (
            f"{self.missing} of {self.of} questions without a yes or no: the estimate could be anywhere from "
            f"{100 * low:.1f} % to {100 * high:.1f} %"
        )


def _mark_worst(steps: tuple[str, ...]) -> tuple[str, ...]:
    return steps if WORST_CASE in steps else (*steps, WORST_CASE)


def find_hidden(
    estimate: Estimate, make: Estimator, predictions: PredictionColumns, labels: LabelColumns
) -> HiddenRange | None:
    """Compute the range of the estimate over all possible missing answers; None if none is missing.

    Parameters
    ----------
    make
        Computes the estimate from labels. Not called for sequential protocols, where an unresolved item
        counts as wrong for the worst case and as right for the best.
    labels
        Labels of the estimate, in which passed-over questions are abstentions (see `collected_part`).

    Raises
    ------
    EstimateError
        As raised by `make`.
    """
    if not (labels.kind == ABSTAINED).any():
        return None
    if labels.is_resolved:
        bounds = resolved_estimate(predictions, labels, estimate.level, bounds=True)
        right, unknown = bounds.n.ordinary, bounds.n.abstained
        of = right + bounds.n.complementary + unknown
        worst, best = (replace(bounds, value=value / of) for value in (right, right + unknown))
        return HiddenRange(missing=unknown, of=of, worst=worst, best=best) if unknown else None
    missing = int(np.count_nonzero(predictions.ran[labels.item] & (labels.kind == ABSTAINED)))
    of = int(np.count_nonzero(predictions.ran[labels.item]))
    if not missing:
        return None
    worst = make(_fill(labels, predictions, favourable=False))
    best = make(_fill(labels, predictions, favourable=True))
    return HiddenRange(missing=missing, of=of, worst=worst, best=best)


@lru_cache(maxsize=2)  # cached, because all estimators of a model fill in the same missing answers
def _fill(labels: LabelColumns, predictions: PredictionColumns, *, favourable: bool) -> LabelColumns:
    """Fill in missing answers, all in favour of the model or all against it.

    In favour: yes about the prediction, no about other options. Against: no about the
    prediction, and yes about one other option. An item never gets a second yes, because it has
    one true option. An answer stays missing if it would be a no and all other options are refused.
    """
    said, item, n_options = labels.kind, labels.item, labels.item_options
    on_prediction = labels.option == predictions.option[item]
    alone = np.bincount(item, minlength=n_options.size)[item] == 1
    kind = np.where(alone & (said == ABSTAINED), np.where(on_prediction == favourable, YES, NO), said)
    has_yes = np.bincount(item[kind == YES], minlength=n_options.size) > 0
    refused = np.bincount(item[kind == NO], minlength=n_options.size)
    for row in np.flatnonzero(kind == ABSTAINED).tolist():
        i = int(item[row])
        if not has_yes[i] and on_prediction[row] == favourable:
            kind[row] = YES
            has_yes[i] = True
        elif refused[i] < n_options[i] - 1:
            kind[row] = NO
            refused[i] += 1
    return replace(labels, kind=kind, passed=None)


def bound_missing(
    estimate: Estimate, make: Estimator, predictions: PredictionColumns, labels: LabelColumns
) -> Estimate | None:
    """Widen an interval to cover failed model calls and unanswered questions.

    If a share ρ of the calls succeeded, the accuracy on all items lies between ρ·A_ran and 1 − ρ·(1 − A_ran),
    where A_ran is the accuracy on items whose call succeeded. Each end includes the uncertainty of ρ and
    A_ran (`scale_by_share`).

    Returns
    -------
    Estimate or None
        Estimate with the estimator name ``worst_case``; None if nothing is missing, or if no estimate can be
        computed with the missing answers filled in.
    """
    failed, ran = (int(np.count_nonzero(x)) for x in (predictions.has_failed, predictions.ran))
    bounds, missing = estimate, failed
    try:
        hidden = find_hidden(estimate, make, predictions, labels)
    except EstimateError:
        return None
    if hidden is not None:
        bounds, missing = hidden.widen(estimate), failed + hidden.missing
    if not missing:
        return None
    inner = min(bounds.high, max(bounds.low, bounds.value))
    low, wrong = bounds.low, 1 - bounds.high
    if failed:
        share, n = ran / (ran + failed), int(np.count_nonzero(labels.labelled)) * (ran + failed) / ran
        _, low, _ = scale_by_share(share, n, inner, bounds.low, bounds.high, bounds.level)
        _, wrong, _ = scale_by_share(share, n, 1 - inner, 1 - bounds.high, 1 - bounds.low, bounds.level)
    of = int(np.count_nonzero(labels.labelled & (predictions.ran | predictions.has_failed)))
    return replace(
        bounds,
        value=inner,
        low=max(0.0, low),
        high=min(1.0, 1 - wrong),
        se=None,
        n=estimate.n,
        estimator="worst_case",
        steps=_mark_worst(bounds.steps),
        why=bounds.why or estimate.why,
        notes=(*estimate.notes, Note(NoteKind.MISSING, {"missing": missing, "of": of})),
    )
