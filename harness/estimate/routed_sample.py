"""Questions about options drawn with known probabilities, and their answers as arrays.

`RoutedSample` is the checked input of the estimators for routed questions. The rows of its arrays are the N
items of a pool. Each answer refers to a row. Propensities, of shape (N, K), are the probabilities with which
options are asked about; they are fixed before any answer. A target, the quantity to estimate, is also given
by a matrix of shape (N, K).

Every yes/no question costs one expert answer. Predictions need no expert, so the propensities may depend on
them, in order to ask the questions that tell most about the models (`propensities_for`). Predictions have
shape (N, M), one column per model, −1 if unreadable.

**Sequential resolution** (`next_option`). An item's predicted options are asked about in the order of
decreasing posterior until one is confirmed or all are refuted. Then it is known whether each model is right
on this item. The posterior determines only the order of the questions, and so their number. Estimates need no
propensities; they use the methods for ordinary labels (binomial, McNemar). One yes shows for every model
whether it is right, because exactly one option is true. If all options but one are refuted, the last option
is true without a question.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray

from oversight.harness.arrays import (
    UNKNOWN,
    AnyIntArray,
    BoolArray,
    FloatArray,
    IntArray,
    fix_constant,
)
from oversight.harness.columns import ABSTAINED, NO, YES, LabelColumns, PredictionColumns, key_of, mark
from oversight.harness.errors import EstimateError
from oversight.harness.seeding import derive_seed
from oversight.harness.types import Counts

if TYPE_CHECKING:
    from oversight.harness.estimate.intervals import DrawnStrata


@dataclass(frozen=True, slots=True)
class RoutedSample:
    """Questions about a pool of N items, and their n answers.

    Parameters
    ----------
    item, asked, answer
        Shape (n,): row of the item in the pool; option asked about, from 0; answer, 1 for yes and 0 for no.
        Abstentions are missing data: leave out their items, and report the number.
    propensities
        Shape (N, K), in [0, 1]: π_k, the probability with which option k of the item is asked about, fixed
        before any answer. A row sums to the expected number of questions about the item: 1 for one question,
        m for m options drawn without replacement, ρ if the item was drawn with probability ρ, and 0 if the
        design asks nothing about the item.
    n_options
        Shape (N,) or a number, in 2..K: number of options; later columns are ignored. Default K.
    posterior
        Shape (N, K): working distribution over the item's options, rows sum to 1; default uniform. It must
        not depend on answers about the same item.
    sampled
        Whether items were drawn with probabilities that are part of the propensities. If False, every item
        must have exactly as many answers as its row of propensities sums to.
    error_free
        Whether experts never err. If False, an item may have two yes answers.
    cluster
        Shape (N,): cluster number of the item; None if items are independent.
    weight
        Shape (N,), positive: number of pool items that each item represents; None if all represent as many.
    strata
        Strata of the items, if they were drawn from a pool in proportion within strata.

    Raises
    ------
    EstimateError
        If a value is out of range, a question has two answers, or an item has two yes answers although
        `error_free`. The message names the row and the value.

    Examples
    --------
    >>> data = RoutedSample(
    ...     item=np.array([0, 1]),
    ...     asked=np.array([0, 2]),
    ...     answer=np.array([1.0, 0.0]),
    ...     propensities=np.full((2, 3), 1 / 3),
    ... )
    >>> data.counts.ordinary, data.counts.complementary
    (1, 1)
    """

    item: IntArray
    asked: IntArray
    answer: FloatArray
    propensities: FloatArray
    n_options: IntArray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    posterior: FloatArray = field(default_factory=lambda: np.zeros((0, 0)))
    sampled: bool = False
    error_free: bool = True
    cluster: IntArray | None = None
    weight: FloatArray | None = None
    strata: DrawnStrata | None = None

    def __post_init__(self) -> None:
        pi = np.atleast_2d(np.asarray(self.propensities, dtype=np.float64))
        n, width = pi.shape
        options = np.asarray(self.n_options, dtype=np.int64)
        options = np.full(n, width) if options.size == 0 else np.broadcast_to(options, (n,))
        posterior = np.asarray(self.posterior, dtype=np.float64)
        if posterior.size == 0:
            posterior = flat_posterior(options, width)
        values = {
            "item": np.asarray(self.item, dtype=np.int64).ravel(),
            "asked": np.asarray(self.asked, dtype=np.int64).ravel(),
            "answer": np.asarray(self.answer, dtype=np.float64).ravel(),
            "propensities": pi,
            "n_options": options,
            "posterior": posterior,
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)
        _check_pool(self)
        _check_answers(self)

    @property
    def valid(self) -> NDArray[np.bool_]:
        """Whether each column is an option of the item, shape (N, K)."""
        return np.arange(self.propensities.shape[1]) < self.n_options[:, None]

    @property
    def counts(self) -> Counts:
        """Number of "yes" answers and of "no" answers."""
        yes = int(self.answer.sum())
        return Counts(ordinary=yes, complementary=len(self.answer) - yes)

    @property
    def by_item(self) -> tuple[IntArray, FloatArray]:
        """Option asked about (−1 for none) and answer (1 yes, 0 no or none) by item, both of shape (N,).

        If an item has several answers, the last answer is given.
        """
        asked, yes = np.full(len(self.propensities), -1), np.zeros(len(self.propensities))
        asked[self.item], yes[self.item] = self.asked, self.answer
        return asked, yes

    def take(self, items: IntArray) -> RoutedSample:
        """Select `items` in the given order, with their answers; an item may occur several times."""
        number = np.bincount(self.item, minlength=len(self.propensities))
        each = number[items]
        # positions of the selected items' answers among all answers sorted by item
        first = (np.cumsum(number) - number)[items] - (np.cumsum(each) - each)
        place = np.repeat(first, each) + np.arange(each.sum())
        answers = np.argsort(self.item, kind="stable")[place]
        cluster = self.cluster
        return replace(
            self,
            item=np.repeat(np.arange(len(items)), each),
            asked=self.asked[answers],
            answer=self.answer[answers],
            propensities=self.propensities[items],
            n_options=self.n_options[items],
            posterior=self.posterior[items],
            cluster=None if cluster is None else np.unique(cluster[items], return_inverse=True)[1],
            weight=None if self.weight is None else self.weight[items],
            strata=None if self.strata is None else self.strata.take(items),
        )


def flat_posterior(n_options: ArrayLike, width: int) -> FloatArray:
    """Return the uniform distribution over each item's options, shape (N, width).

    Columns beyond the options of an item are 0.

    Examples
    --------
    >>> flat_posterior([2, 4], 4).tolist()
    [[0.5, 0.5, 0.0, 0.0], [0.25, 0.25, 0.25, 0.25]]
    """
    options = np.asarray(n_options, dtype=np.int64)
    return np.where(np.arange(width) < options[:, None], 1.0 / options[:, None], 0.0)


def accuracy_target(predicted: ArrayLike, width: int) -> FloatArray:
    """Return the target c_k = 1{k = ŷ} of an accuracy, shape (N, width).

    ``predicted`` has shape (N,). The row of an unreadable prediction (−1) is 0, because the prediction is
    wrong whatever option is true.

    Raises
    ------
    EstimateError
        If a prediction lies outside −1..width−1.

    Examples
    --------
    >>> accuracy_target([1, -1], 3).tolist()
    [[0.0, 1.0, 0.0], [0.0, 0.0, 0.0]]
    """
    predicted = np.asarray(predicted, dtype=np.int64)
    bad = np.flatnonzero((predicted < -1) | (predicted >= width))
    if bad.size:
        raise EstimateError(
            f"predicted[{bad[0]}] must lie in -1..{width - 1} (-1: unreadable), is {predicted[bad[0]]}"
        )
    target: FloatArray = (np.arange(width) == predicted[:, None]).astype(np.float64)
    return target


def settled_sample(option: IntArray, right: IntArray, n_options: IntArray) -> RoutedSample:
    """Represent N items of known correctness as if each prediction had been asked about with certainty.

    Parameters
    ----------
    option, right
        Shape (N,): predicted option, −1 for unreadable (no question is then asked); and whether the option is
        right (1) or wrong (0).
    n_options
        Shape (N,): number of options; ignored for an unreadable prediction.
    """
    asked = np.flatnonzero(option >= 0)
    width = int(max(n_options.max(initial=2), option.max(initial=-1) + 1))
    return RoutedSample(
        item=asked,
        asked=option[asked],
        answer=right[asked].astype(np.float64),
        propensities=accuracy_target(option, width),
        n_options=np.where(option < 0, width, n_options),
    )


def difference_target(first: ArrayLike, second: ArrayLike, width: int) -> FloatArray:
    """Return the target c_k = 1{k = ŷ_a} − 1{k = ŷ_b} of a difference of accuracies, shape (N, width).

    The row is 0 if both models predict the same option, and the item then needs no question.
    """
    return accuracy_target(first, width) - accuracy_target(second, width)


def check_predicted(predicted: IntArray, data: RoutedSample) -> None:
    """Check that predictions have shape (N,) and lie in −1..K−1 for the K of their item."""
    if predicted.shape != data.n_options.shape:
        raise EstimateError(f"predicted must have shape {data.n_options.shape}, has {predicted.shape}")
    for row in np.flatnonzero((predicted < -1) | (predicted >= data.n_options)):
        raise EstimateError(
            f"predicted[{row}] must lie in -1..{data.n_options[row] - 1}, is {predicted[row]}"
        )


def _check_pool(data: RoutedSample) -> None:
    pi, p, options = data.propensities, data.posterior, data.n_options
    if pi.shape[1] < 2 or pi.shape[0] == 0:
        raise EstimateError(f"propensities must have shape (N >= 1, K >= 2), has {pi.shape}")
    if p.shape != pi.shape:
        raise EstimateError(f"posterior must have shape {pi.shape}, has {p.shape}")
    for row in np.flatnonzero((options < 2) | (options > pi.shape[1])):
        raise EstimateError(f"n_options[{row}] must lie in 2..{pi.shape[1]}, is {options[row]}")
    for row, k in np.argwhere(~((pi >= 0) & (pi <= 1 + 1e-9)) | (~data.valid & (pi != 0))):
        _refuse_value(f"propensities[{row}, {k}]", float(pi[row, k]), k, int(options[row]))
    for row, k in np.argwhere(~((p >= 0) & (p <= 1 + 1e-9)) | (~data.valid & (p != 0))):
        _refuse_value(f"posterior[{row}, {k}]", float(p[row, k]), k, int(options[row]))
    for row in np.flatnonzero(np.abs(p.sum(axis=1) - 1) > 1e-6):
        raise EstimateError(f"posterior[{row}] must sum to 1, sums to {p[row].sum()}")


def _refuse_value(name: str, value: float, option: int, n_options: int) -> NoReturn:
    if option >= n_options:
        raise EstimateError(f"{name} must be 0, is {value}: the item has only {n_options} options")
    raise EstimateError(f"{name} must lie in [0, 1], is {value}")


def _check_answers(data: RoutedSample) -> None:
    item, asked, answer = data.item, data.asked, data.answer
    n, width = data.propensities.shape
    if not item.shape == asked.shape == answer.shape:
        raise EstimateError(
            f"`item`, `asked` and `answer` differ in length: {len(item)}, {len(asked)}, {len(answer)}"
        )
    for j in np.flatnonzero((item < 0) | (item >= n)):
        raise EstimateError(f"item[{j}] must lie in 0..{n - 1}, is {item[j]}")
    for j in np.flatnonzero((asked < 0) | (asked >= data.n_options[item])):
        raise EstimateError(f"asked[{j}] must lie in 0..{data.n_options[item[j]] - 1}, is {asked[j]}")
    for j in np.flatnonzero((answer != 0) & (answer != 1)):
        raise EstimateError(f"answer[{j}] must be 0 or 1, is {answer[j]}")
    for j in np.flatnonzero(data.propensities[item, asked] <= 0):
        raise EstimateError(
            f"answer {j}: an expert was asked about option {asked[j]} of item {item[j]}, whose propensity "
            "is 0"
        )
    times = np.bincount(item * width + asked, minlength=n * width)
    for cell in np.flatnonzero(times > 1):
        raise EstimateError(f"item {cell // width} has {times[cell]} answers about option {cell % width}")
    for row in np.flatnonzero((np.bincount(item, answer, minlength=n) > 1) & data.error_free):
        raise EstimateError(f"item {row} has two yes-answers; exactly one option is true")
    expected, got = data.propensities.sum(axis=1), np.bincount(item, minlength=n)
    for row in np.flatnonzero((np.abs(expected - got) > 1e-6) & (not data.sampled)):
        raise EstimateError(
            f"propensities[{row}] must sum to the item's number of answers, {got[row]}, but sum to "
            f"{expected[row]:.6g}; leave out items whose expert abstained, or give sampled=True if items "
            "were drawn"
        )


_NOT_ASKED = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemAnswers:
    """Answers by item and option.

    Attributes
    ----------
    truth
        Shape (N,): the true option, if it was confirmed or is the only one not refuted; −1 if unknown.
    keys, kinds
        Key (`key_of`) of every pair of item and asked option, ascending, and the last answer about each pair.
    """

    truth: IntArray
    keys: IntArray
    kinds: IntArray

    def correctness(self, predicted: IntArray, items: IntArray) -> IntArray:
        """Return whether predictions are right: 1 right, 0 wrong, `UNKNOWN`; shape (n, models).

        A prediction is wrong if its option was refuted, another option was confirmed, or it is unreadable.

        Parameters
        ----------
        predicted
            Shape (n, models): predicted options, −1 for unreadable.
        items
            Shape (n,): positions of the items.
        """
        truth = self.truth[items][:, None]
        unknown = np.where((predicted < 0) | (self._said(predicted, items) == NO), 0, UNKNOWN)
        return np.where(truth >= 0, predicted == truth, unknown)

    def was_heard(self, predicted: IntArray, items: IntArray, correct: IntArray) -> IntArray:
        """Return whether the question about each prediction was answered, shape (n, models).

        The value is 1 if the question was answered, `UNKNOWN` if the expert abstained. If the question was
        not asked, the value is `UNKNOWN` if `correct` is `UNKNOWN`, otherwise 0.
        """
        said = self._said(predicted, items)
        return np.select([said == _NOT_ASKED, said == ABSTAINED], [np.minimum(correct, 0), UNKNOWN], 1)

    def _said(self, predicted: IntArray, items: IntArray) -> IntArray:
        if not self.keys.size:
            return np.full(predicted.shape, _NOT_ASKED)
        wanted = key_of(items[:, None], predicted)
        place = np.minimum(np.searchsorted(self.keys, wanted), self.keys.size - 1)
        hit = (self.keys[place] == wanted) & (predicted >= 0)
        return np.where(hit, self.kinds[place], _NOT_ASKED)


def read_item_answers(labels: LabelColumns) -> ItemAnswers:
    """Collect the answers by item.

    Raises
    ------
    EstimateError
        If two options of an item were confirmed or all were refuted, which implies an expert's error.

    Examples
    --------
    >>> from oversight.harness.columns import align
    >>> from oversight.harness.example_data import example_study
    >>> model, _, labels = example_study()
    >>> predicted, said = align(model, labels)
    >>> read_item_answers(said).truth[:4].tolist()
    [0, -1, -1, -1]
    """
    keys, last = np.unique(labels.questions.key[::-1], return_index=True)
    rows = len(labels) - 1 - last
    item, option, kind = labels.item[rows], labels.option[rows], labels.kind[rows]
    size, n_options = labels.index.size, labels.item_options
    yes, no = item[kind == YES], item[kind == NO]
    confirmed, refuted = np.bincount(yes, minlength=size), np.bincount(no, minlength=size)
    for place in np.flatnonzero(confirmed > 1):
        names = option[(item == place) & (kind == YES)].tolist()
        told = (
            f"exactly one option is true, but experts confirmed the options {sorted(names)} (numbered from 0)"
        )
        raise EstimateError(f"item {labels.index.ids[place]!r}: {told}; correct the wrong answer")
    for place in np.flatnonzero((refuted == n_options) & (confirmed == 0)):
        told = f"exactly one option is true, but experts refuted all {n_options[place]} options"
        raise EstimateError(f"item {labels.index.ids[place]!r}: {told}; correct the wrong answer")
    truth = np.full(size, -1)
    left = np.flatnonzero((refuted == n_options - 1) & (confirmed == 0))
    total = np.bincount(no, weights=option[kind == NO], minlength=size)[left]
    truth[left] = n_options[left] * (n_options[left] - 1) // 2 - np.rint(total).astype(np.int64)
    truth[yes] = option[kind == YES]
    return ItemAnswers(truth=truth, keys=keys, kinds=kind)


FEW_OPEN = 0.02
"""Largest accepted share of items that wait for an answer; such items are treated like abstentions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolution:
    """State of a sequential study of N items and M models.

    Attributes
    ----------
    correct
        Shape (N, M): 1 right, 0 wrong, `UNKNOWN` if an expert abstained or has not answered yet.
    own
        Shape (N, M): 1 if the question about the model's own prediction was answered, `UNKNOWN` if it was
        not answered, 0 if it did not have to be asked.
    items
        Shape (N,): positions of the items.
    waiting
        Number of items that wait for an answer.
    """

    correct: IntArray
    own: IntArray
    items: IntArray
    waiting: int


def routed_pool(
    labels: LabelColumns,
    models: Sequence[PredictionColumns],
    *,
    error_free: bool = True,
) -> tuple[RoutedSample, AnyIntArray, IntArray]:
    """Make the pool of items for equation (G) of `routed_means`, with all predictions on it.

    Items with an abstention are left out. Items that the design asks nothing about are kept with propensities
    0; estimates accept them only if they need no question (an unreadable prediction, or two models that
    agree). While answers are missing, only a part of the items without a question is kept, chosen by a hash
    of their ids. The share that is kept equals the share of answered items among the items with a question.
    If an item has several questions about uniformly drawn options, only the answered ones count as drawn.

    Parameters
    ----------
    labels
        Experts' answers.
    models
        Predictions of the models; items on which any model failed are left out.
    error_free
        As in `RoutedSample`.

    Returns
    -------
    RoutedSample, array, array
        The pool of N items, predictions of shape (N, models) with −1 for unreadable, and the items'
        positions.

    Raises
    ------
    EstimateError
        If no answered item has a prediction of every model.

    Examples
    --------
    >>> from oversight.harness.columns import align
    >>> from oversight.harness.example_data import example_study
    >>> model, _, labels = example_study()
    >>> predicted, said = align(model, labels)
    >>> data, options, _ = routed_pool(said, [predicted])
    >>> options.shape, data.counts.ordinary
    ((80, 1), 20)
    """
    everywhere = np.logical_and.reduce([m.ran for m in models])
    silent = mark(labels.item[labels.kind == ABSTAINED], labels.index.size)
    rows = np.flatnonzero((everywhere & ~silent)[labels.item])
    if not rows.size:
        raise EstimateError("labels: no item with an answer has predictions of all models")
    said = labels.questions.take(rows)
    first, turn = np.unique(said.item, return_index=True)
    answered = first[np.argsort(turn)]
    items = np.concatenate([answered, _passed_over(labels, everywhere, answered.size)])
    predicted = np.asfortranarray(np.stack([m.option[items] for m in models]).astype(np.int16).T)
    place = np.empty(labels.index.size, np.int64)
    place[items] = np.arange(items.size)
    # K of an item without a question is unknown; predictions give a lower bound
    width = max(int(said.n_options.max()), 2, int(predicted[answered.size :].max(initial=0)) + 1)
    n_options = np.full(items.size, width)
    n_options[place[said.item]] = said.n_options
    propensities = np.zeros((items.size, width))
    alike = np.where(np.arange(width) < said.n_options[:, None], said.propensity[:, None], 0.0)
    is_alike = (said.offered.number == 0)[:, None]
    propensities[place[said.item]] = np.where(is_alike, alike, said.offered.spread(width))
    if labels.statements and labels.is_uniform:
        _count_answered_only(propensities, np.bincount(place[said.item], minlength=items.size))
    data = RoutedSample(
        item=place[said.item],
        asked=said.option,
        answer=(labels.kind[rows] == YES).astype(np.float64),
        propensities=propensities,
        n_options=n_options,
        error_free=error_free,
    )
    return data, predicted, items


def _count_answered_only(propensities: FloatArray, answers: IntArray) -> None:
    """Reduce the propensities, in place, of items with several questions of which some are still open.

    `answers` has shape (N,). If m options were drawn uniformly, and which questions are still open does not
    depend on the options, then the j answered options are a uniform draw of j options.
    """
    total = propensities.sum(axis=1)
    is_open = (answers > 0) & (answers < total - 1e-6)
    propensities[is_open] *= (answers[is_open] / total[is_open])[:, None]


def _passed_over(labels: LabelColumns, everywhere: BoolArray, answered: int) -> IntArray:
    """Select a random part of the items that have no question.

    The share that is selected equals the share of answered items among the items with a question.
    """
    passed = np.flatnonzero(everywhere & ~labels.asked_items)
    if not passed.size:
        return passed
    ids = labels.index.ids
    put = np.count_nonzero(everywhere & labels.asked_items)
    order = np.argsort([derive_seed(0, "pool", ids[i]) for i in passed.tolist()], kind="stable")
    return passed[order[: round(passed.size * answered / put)]]


def find_asked(labels: LabelColumns, models: Sequence[PredictionColumns]) -> tuple[IntArray, IntArray]:
    """Find the items of a sequential study; return their positions, (N,), and all predictions, (N, M).

    An item belongs to the study if no model failed on it and one of three conditions holds: the item has a
    question, all its predictions are unreadable, or it could have had a question: it was drawn from the pool
    or, without a pool, is one of the study's items. Such an item has no question if the models for which
    questions were drawn were unreadable, or if it was added after the last question was drawn.
    """
    options = np.stack([m.option for m in models], axis=1).astype(np.int64)
    ran = np.logical_and.reduce([m.ran for m in models])
    known = labels.asked_items | (options.max(axis=1) < 0)
    for others in (labels.outside, labels.pool and labels.pool.drawn):
        known = known if others is None else known | others
    items = np.flatnonzero(ran & known)
    return items, options[items]


def resolved_correctness(
    labels: LabelColumns,
    models: Sequence[PredictionColumns],
    *,
    on_differences: bool = False,
) -> Resolution:
    """Compute the exact correctness of every model on every item of a sequential study (`find_asked`).

    Parameters
    ----------
    labels, models
        The study's labels, and the predictions of its models.
    on_differences
        Whether unresolved items on which all models predict the same option count as known (as wrong for all
        models). Comparisons use only differences, which are 0 on these items.

    Raises
    ------
    EstimateError
        If a larger share than `FEW_OPEN` of the items waits for an answer, because the items that are
        resolved first are not a random sample.

    Examples
    --------
    >>> import oversight as ov
    >>> from oversight.harness.columns import align
    >>> labels = [ov.Label(f"i{j}", 0, ov.LabelKind.ORDINARY, 4, 1.0) for j in range(3)]
    >>> model, said = align([ov.Prediction(f"i{j}", int(j == 2)) for j in range(3)], labels)
    >>> resolved_correctness(said, [model]).correct.tolist()
    [[1], [1], [0]]
    """
    items, predicted = find_asked(labels, models)
    answers = read_item_answers(labels)
    correct = answers.correctness(predicted, items)
    if on_differences:
        agreed = (predicted == predicted[:, :1]).all(axis=1) & (correct == UNKNOWN).any(axis=1)
        correct[agreed] = 0
    silent = mark(labels.item[labels.kind == ABSTAINED], labels.index.size)
    waiting = items[(correct == UNKNOWN).any(axis=1) & ~silent[items]]
    if waiting.size > FEW_OPEN * items.size or not items.size:
        example = f", such as {labels.index.ids[waiting[0]]!r}," if waiting.size else ""
        raise EstimateError(
            f"{waiting.size} of {items.size} items{example} are not resolved yet: ask their next question "
            "(oversight label route) before estimating"
            + (
                ""
                if labels.asked[waiting].all()
                else ", or leave out predictions for items without a question"
            )
        )
    own = answers.was_heard(predicted, items, correct)
    return Resolution(correct=correct, own=own, items=items, waiting=int(waiting.size))


def predicted_counts(predicted: ArrayLike, width: int) -> FloatArray:
    """Count, for each option of each item, the models that predict the option; shape (N, width).

    Examples
    --------
    >>> predicted_counts([[0, 0, 2]], 3).tolist()
    [[2.0, 0.0, 1.0]]
    """
    columns = np.asarray(predicted, dtype=np.int64)
    if columns.ndim != 2 or columns.shape[1] == 0:
        raise EstimateError(f"predicted must have shape (N, M >= 1), has {columns.shape}")
    counts: FloatArray = np.sum([accuracy_target(column, width) for column in columns.T], axis=0)
    return counts


def shared_propensities(
    predicted: ArrayLike,
    n_options: ArrayLike,
    width: int,
    *,
    posterior: FloatArray | None = None,
    epsilon: float = 0.1,
) -> FloatArray:
    """Compute propensities for one question per item that serves several models; shape (N, width).

    π_k = (1 − ε) √(n_k s_k)/Σ_j √(n_j s_j) + ε/K, where n_k models predict option k and s_k = p_k(1 − p_k).
    Derivation: with C = 0 in equation (G) of `routed_means`, the sum of the models' variances is
    Σ_k n_k s_k/π_k, which is smallest at π_k ∝ √(n_k s_k) (Cauchy–Schwarz). The share ε is spread uniformly
    over the item's K options. It bounds 1/π by K/ε, and makes the answers useful for models that are added
    later. Items without a readable prediction get uniform propensities that sum to 1, or 0 if ε = 0.

    Parameters
    ----------
    predicted
        Shape (N, M): predicted options, −1 for unreadable.
    n_options
        Shape (N,) or a number: number of options of each item, K.
    posterior
        Shape (N, width): p; uniform if None, which gives π_k ∝ √n_k.
    epsilon
        Uniform share ε, in [0, 1]. At 0, options that no model predicts are never asked about.

    Raises
    ------
    EstimateError
        If epsilon is out of range.
    """
    if not 0 <= epsilon <= 1:
        raise EstimateError(f"epsilon must lie in [0, 1], is {epsilon}")
    counts = predicted_counts(predicted, width)
    flat = flat_posterior(np.broadcast_to(np.asarray(n_options, dtype=np.int64), len(counts)), width)
    p = flat if posterior is None else posterior
    # if p is 0 or 1, s would be 0, and a predicted option would get the propensity 0
    s = np.maximum(p * (1 - p), 1e-4)
    weight = np.sqrt(counts * s)
    total = weight.sum(axis=1, keepdims=True)
    rest = flat if epsilon > 0 else np.zeros_like(flat)
    shares = np.divide(weight, total, out=rest.copy(), where=total > 0)
    pi: FloatArray = (1 - epsilon) * shares + epsilon * flat
    return pi


def propensities_for(
    predicted: ArrayLike,
    n_options: ArrayLike,
    width: int,
    *,
    epsilon: float = 0.1,
    posterior: FloatArray | None = None,
) -> FloatArray:
    """Compute propensities of targeted questions for one model, or shared by several; shape (N, width).

    Parameters are those of `shared_propensities`; the posterior is by default that of the models' votes.

    For one model, π_ŷ = 1 is best. Derivation: let s_j = p_j(1 − p_j), and let V* be the smallest variance
    with π_ŷ = t. Then 1/V* = t/s_ŷ + (1 − t)/(Σ_{j≠ŷ} √s_j)² is linear in t, and s_ŷ = Var(Σ_{j≠ŷ} 1{y=j}) ≤
    (Σ_{j≠ŷ} √s_j)², so t = 1 is best (with equality only at K = 2). If the prediction is unreadable, the row
    is 0, because the prediction is wrong whatever option is true.

    Examples
    --------
    >>> propensities_for([[0, 2]], 3, 3, epsilon=0.3).round(2).tolist()
    [[0.45, 0.1, 0.45]]
    """
    columns = np.asarray(predicted, dtype=np.int64)
    if columns.shape[1] == 1:
        return accuracy_target(columns[:, 0], width)
    if posterior is None:
        posterior = vote_posterior(columns, n_options, width)
    return shared_propensities(columns, n_options, width, posterior=posterior, epsilon=epsilon)


def vote_posterior(
    predicted: ArrayLike,
    n_options: ArrayLike,
    width: int,
    *,
    accuracy: ArrayLike | None = None,
    temper: float | None = None,
) -> FloatArray:
    """Compute a posterior of the true option from models' votes, shape (N, width).

    p_k ∝ [Π_m (A_m (K−1)/(1−A_m))^{1{ŷ_m = k}}]^τ, by Bayes' rule with a flat prior for models that err
    independently and uniformly. The power τ ≤ 1 is needed because real models err on the same items. The
    result serves as a working distribution and orders the options, so it need not be right.

    Parameters
    ----------
    predicted
        Shape (N, M): predicted options; −1 (unreadable) is ignored.
    n_options
        Shape (N,) or a number: number of options of each item, K.
    accuracy
        Shape (M,): assumed accuracies, clipped to [.01, .99]; default ½ each (a little more for K = 2). A
        vote of a model with an accuracy below 1/K makes its option less likely.
    temper
        τ in (0, 1]; default 1/√M.

    Examples
    --------
    >>> vote_posterior([[0, 0, 1]], 3, 3).round(2).tolist()
    [[0.47, 0.32, 0.21]]
    """
    columns = np.asarray(predicted, dtype=np.int64)
    models = columns.shape[1]
    tau = 1 / np.sqrt(models) if temper is None else temper
    if not 0 < tau <= 1:
        raise EstimateError(f"temper must lie in (0, 1], is {tau}")
    k = np.broadcast_to(np.asarray(n_options, dtype=np.int64), len(columns))
    guesses = np.full(models, 0.5) if accuracy is None else np.asarray(accuracy, dtype=np.float64)
    log_odds = np.zeros((len(columns), width))
    for model in range(models):
        least = 0.01 if accuracy is not None else 1 / k + 0.01
        guess = np.clip(guesses[model], least, 0.99)
        gain = np.log(guess * (k - 1) / (1 - guess))
        log_odds += accuracy_target(columns[:, model], width) * gain[:, None]
    valid = np.arange(width) < k[:, None]
    weight = np.where(valid, np.exp(tau * (log_odds - log_odds.max(axis=1, keepdims=True))), 0.0)
    posterior: FloatArray = weight / weight.sum(axis=1, keepdims=True)
    return posterior


def neyman_rates(deviation: FloatArray, number: int, *, floor: float = 0.02) -> FloatArray:
    """Compute inclusion probabilities ρ ∝ `deviation`, within [floor, 1], with Σ ρ = number; shape (N,).

    Derivation: the variance of a mean over sampled items is Σ d_i²/ρ_i /N² up to a constant, where d_i is the
    item's `deviation`. Lagrange's condition under Σ ρ_i = number gives the proportionality (Neyman 1934, JRSS
    97). The floor is needed for unbiasedness, because every item must have a positive probability.
    """
    from oversight.harness.estimate.core import find_root  # imported here, because it loads scipy (slow)

    score = np.maximum(deviation, 1e-12)
    if number >= len(score):
        return np.ones(len(score))
    most = 1 / float(score.min())

    def left(scale: float) -> float:
        return number - float(np.clip(scale * score, floor, 1).sum())

    scale = find_root(left, 0.0, most)
    return np.clip(scale * score, floor, 1)


def draw_options(propensities: FloatArray, rng: np.random.Generator) -> IntArray:
    """Draw at most one option per item by its propensities, shape (N,); −1 if no option was drawn.

    Raises `EstimateError` if a row of propensities sums to more than 1.

    Examples
    --------
    >>> draw_options(np.array([[0.0, 1.0], [0.0, 0.0]]), np.random.default_rng(1)).tolist()
    [1, -1]
    """
    cumulative = np.cumsum(propensities, axis=1)
    for row in np.flatnonzero(cumulative[:, -1] > 1 + 1e-9):
        raise EstimateError(f"propensities[{row}] must sum to at most 1, sum to {cumulative[row, -1]}")
    total = np.where(np.abs(cumulative[:, -1] - 1) < 1e-9, np.inf, cumulative[:, -1])
    u = rng.random(len(propensities))
    option = (u[:, None] >= cumulative).sum(axis=1)
    last = propensities.shape[1] - 1 - np.argmax(propensities[:, ::-1] > 0, axis=1)
    return np.where(u < total, np.minimum(option, last), -1)


def disagreement(predicted: ArrayLike) -> NDArray[np.bool_]:
    """Return whether the models' predictions differ on each item, shape (N,).

    Two unreadable predictions count as equal, because both are wrong.

    Examples
    --------
    >>> disagreement([[0, 0], [0, 1], [-1, -1]]).tolist()
    [False, True, False]
    """
    columns = np.asarray(predicted, dtype=np.int64)
    differ: NDArray[np.bool_] = (columns != columns[:, :1]).any(axis=1)
    return differ


RESOLUTION_ASSUMPTIONS = (
    "each item's predicted options were asked about until one was confirmed or all refuted",
    "experts answer without error",
    "no model has seen the experts' answers",
)


def next_option(
    predicted: Sequence[int],
    posterior: Sequence[float] | FloatArray,
    answers: Mapping[int, bool],
    abstained: Collection[int] = (),
) -> int | None:
    """Return the next option to ask about for one item, or None if the item needs no further question.

    Parameters
    ----------
    predicted
        Option that each model predicts, −1 for unreadable.
    posterior
        Length K: the predicted option with the largest value is asked about first; among equal values, the
        one that most models predict, then the one with the smallest index.
    answers
        Answers so far: option → yes (True) or no (False).
    abstained
        Options whose expert abstained; they are not asked about again.

    Raises
    ------
    EstimateError
        If an option lies outside 0..K−1, two options were confirmed, or all were refuted.

    Examples
    --------
    >>> next_option([0, 2], [0.5, 0.1, 0.4], {0: False})
    2
    """
    K = len(posterior)
    for option in (*answers, *(p for p in predicted if p != -1)):
        if not 0 <= option < K:
            raise EstimateError(f"option must lie in 0..{K - 1}, is {option}")
    if true_option(answers, K) is not None:
        return None
    open_options = {p for p in predicted if p != -1} - set(answers) - set(abstained)
    # rounded, because the last digits differ between CPU types and must not affect the questions
    likely = [round(float(p), 9) for p in posterior]
    return min(open_options, key=lambda k: (-likely[k], -predicted.count(k), k), default=None)


def true_option(answers: Mapping[int, bool], K: int) -> int | None:
    """Return the true option if it was confirmed or is the only one not refuted; None if it is unknown.

    Raises
    ------
    EstimateError
        If two options were confirmed or all K were refuted, which implies an expert's error.
    """
    confirmed = [k for k, yes in answers.items() if yes]
    if len(confirmed) > 1:
        raise EstimateError(f"exactly one option is true, but {sorted(confirmed)} were all confirmed")
    if confirmed:
        return confirmed[0]
    left = set(range(K)) - set(answers)
    if not left:
        raise EstimateError(f"exactly one option is true, but all {K} were refuted")
    return left.pop() if len(left) == 1 else None


def correctness(predicted: Sequence[int], answers: Mapping[int, bool], K: int) -> IntArray:
    """Return whether each model is right on one item: 1 (right), 0 (wrong) or `UNKNOWN`; shape (M,).

    A model is wrong if its option was refuted, another option was confirmed, or its prediction is unreadable.

    Examples
    --------
    >>> correctness([0, 2], {0: False}, K=3).tolist()
    [0, -1]
    """
    truth = true_option(answers, K)
    if truth is not None:
        return np.array([int(p == truth) for p in predicted], dtype=np.int64)
    known = [0 if p == -1 or p in answers else UNKNOWN for p in predicted]
    return np.array(known, dtype=np.int64)


def asking_order(
    predicted: ArrayLike, posterior: FloatArray, n_options: ArrayLike | None = None
) -> tuple[IntArray, BoolArray]:
    """Return each item's options in the order of asking, and whether each is asked about; shape (N, K) each.

    Only options that a model predicts are asked about, and at most K − 1 per item, because the answer about
    the last option follows by elimination.
    """
    width = posterior.shape[1]
    counts = predicted_counts(predicted, width)
    order = np.lexsort((-counts, -np.where(counts > 0, posterior, -1.0)), axis=1)
    k = np.broadcast_to(np.asarray(width if n_options is None else n_options), len(order))
    asked = (np.take_along_axis(counts, order, axis=1) > 0) & (np.arange(width) < k[:, None] - 1)
    return order, asked


def expected_questions(
    predicted: ArrayLike, posterior: FloatArray, n_options: ArrayLike | None = None
) -> FloatArray:
    """Compute the expected number of questions to resolve each item if the posterior p is right; shape (N,).

    The number is Σ_j (1 − Σ_{i<j} p_(i)), where p_(i) is the posterior of the i-th predicted option in the
    order of asking. The j-th option is asked about unless an earlier one was confirmed.

    Examples
    --------
    >>> expected_questions([[0, 2]], np.array([[0.5, 0.1, 0.4]])).tolist()
    [1.5]
    """
    order, asked = asking_order(predicted, posterior, n_options)
    p = np.take_along_axis(posterior, order, axis=1)
    cost: FloatArray = np.where(asked, np.clip(1 - np.cumsum(p, axis=1) + p, 0, 1), 0.0).sum(axis=1)
    return cost


def questions_asked(
    predicted: ArrayLike, posterior: FloatArray, truth: ArrayLike, n_options: ArrayLike | None = None
) -> IntArray:
    """Count the questions needed to resolve each item of known truth, shape (N,); for simulations."""
    order, asked = asking_order(predicted, posterior, n_options)
    hit = order == np.asarray(truth, dtype=np.int64)[:, None]
    number: IntArray = (asked & (np.cumsum(hit, axis=1) - hit == 0)).sum(axis=1)
    return number


def optimal_constant(
    c: FloatArray, propensities: FloatArray, posterior: FloatArray, valid: NDArray[np.bool_]
) -> FloatArray:
    """Compute C*, the C that gives equation (G) of `routed_means` the smallest variance; shape (N,).

    C* = Σ_k (c_k s_k/π_k) / Σ_k (s_k/π_k), s_k = p_k(1 − p_k). All arguments have shape (N, K); ``valid``
    marks the options of each item. Derivation: with one question, Var(g | x) = Σ_k (c_k − C)² s_k/π_k, a
    weighted sum of squares around C. If an option is never asked about (π_k = 0), C must be its c_k.

    Raises
    ------
    NotIdentified
        If an item has several options that are never asked about, and their coefficients c differ. Then θ
        cannot be estimated.
    """
    fixed = fix_constant(c, valid & (propensities <= 0))
    pi = np.where(propensities > 0, propensities, np.inf)
    s = posterior * (1 - posterior)
    # If the posterior is 0 or 1 for all options, all weights would be 0, so use 1/π: any C is unbiased.
    s = np.where((s / pi).sum(axis=1, keepdims=True) > 0, s, 1.0) * valid
    weight = s / pi
    total = weight.sum(axis=1)
    free: FloatArray = np.divide((c * weight).sum(axis=1), total, out=np.zeros(len(c)), where=total > 0)
    return np.where(np.isnan(fixed), free, fixed)


def item_variance(c: FloatArray, propensities: FloatArray, posterior: FloatArray) -> FloatArray:
    """Compute the variance of the outcome g of each item with one question, shape (N,); for planning.

    It is Σ_k (c_k − C*)² s_k/π_k with s_k = p_k(1 − p_k). For an accuracy, this is
    [π_ŷ/s_ŷ + 1/Σ_{j≠ŷ}(s_j/π_j)]⁻¹. Raises `NotIdentified` like `optimal_constant`.

    Examples
    --------
    >>> c, even = np.array([[1.0, 0.0]]), np.array([[0.5, 0.5]])
    >>> item_variance(c, even, even).tolist()
    [0.25]
    """
    constant = optimal_constant(c, propensities, posterior, np.ones(c.shape, dtype=np.bool_))
    pi = np.where(propensities > 0, propensities, np.inf)
    variance: FloatArray = ((c - constant[:, None]) ** 2 * posterior * (1 - posterior) / pi).sum(axis=1)
    return variance
