"""A study's items, questions, answers and predictions as arrays.

Records become arrays over one index of items (`ItemIndex`). `LabelColumns` holds the questions, the answers
and the design by which they were collected. `PredictionColumns` holds the predictions of one model.

Items drawn from a pool: `ItemPool` holds the stratum and weight of every drawn item. `weigh_draws` computes
the weights if items were drawn from a pool of N items in several draws. Draw b takes n_b of the N_b
remaining items, with probabilities ρ_i that may depend on all earlier answers. After draw b, an unbiased
estimate of the sum over the pool gives items of earlier draws the weight 1, and items of draw b the weight
1/ρ_i. A mean of these estimates is also unbiased if its weights λ_b do not depend on answers. λ_b is chosen
so that uniform draws give every item the weight N/n (as in Farquhar, Gal & Rainforth 2021, ICLR, for one
item at a time).

Nonresponse: `answering_rates` estimates the share of answered questions about each class, and tests whether
it differs between classes. If the expert for a class leaves more questions unanswered than the other experts
do, "no" answers for that class are missing, so a program that often predicts the class is refuted too seldom.
An answer about class k arrives with probability π_k r_k, where π_k is the propensity of class k and r_k its
answering rate. Weighting the answer by 1/r_k as well as by 1/π_k removes the bias. This holds for any
nonresponse that is random within known classes (Little & Rubin 2019, Statistical Analysis with Missing Data,
3.3).

Repeated texts: `count_repeated` counts items that ask the same question under different ids. Two items count
as equal if their texts are equal and they offer the same options, in any order. Texts are compared after
trimming and after replacing each run of white space by one space.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import blake2b
from itertools import pairwise
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from oversight.harness.argument_checks import check_records, is_given
from oversight.harness.arrays import (
    FAILED,
    UNREADABLE,
    AnyIntArray,
    BoolArray,
    FloatArray,
    IntArray,
    take_rows,
)
from oversight.harness.errors import EstimateError
from oversight.harness.seeding import derive_seed
from oversight.harness.types import (
    Label,
    LabelDesign,
    LabelKind,
    Prediction,
    PredictionStatus,
    ProtocolStatement,
    Question,
    deciding_statement,
    design_of,
    refuse_other_options,
)

ON_SCREEN = 3
"""Number of questions shown on an expert's screen or preloaded, which the expert may answer in any order."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Queues:
    """Progress of E experts through their queues, which contain R questions in total.

    Attributes
    ----------
    asked, reached
        Shape (E,): number of questions in every expert's queue, and number of these that the expert has
        reached, counted from the start of the queue.
    rank
        Shape (R,): position of every question in its expert's queue, from 0.
    passed
        Shape (R,): whether the question was reached but not answered.
    """

    asked: IntArray
    reached: IntArray
    rank: IntArray
    passed: BoolArray


def read_queues(expert: IntArray, place: IntArray, answered: BoolArray, experts: int) -> Queues:
    """Compute how far every expert has come, and which questions each expert passed over.

    An expert has reached all questions up to the last answered one. There is one exception: if the last
    question of the queue has no answer, an unanswered question fewer than `ON_SCREEN` positions before the
    last answer is perhaps still on the screen. The first such unanswered question and all questions after it
    count as not reached. If the place of any of an expert's questions is unknown, the expert counts as having
    reached the whole queue as soon as one question is answered.

    Parameters
    ----------
    expert, place
        Shape (R,): number of every question's expert, from 0, and the question's place in the order of the
        queue, −1 if unknown.
    answered
        Shape (R,): whether the question has an answer of any kind, including abstention.
    experts
        Number of experts, E.

    Examples
    --------
    One expert has answered the first and the last two of six questions:

    >>> place = np.arange(6)
    >>> queues = read_queues(np.zeros(6, int), place, np.isin(place, [0, 4, 5]), 1)
    >>> queues.reached.tolist(), np.flatnonzero(queues.passed).tolist()
    ([6], [1, 2, 3])
    """
    asked: IntArray = np.bincount(expert, minlength=experts)
    order = np.lexsort((place, expert))
    start = np.cumsum(asked) - asked
    rank = np.empty(len(expert), np.int64)
    rank[order] = np.arange(len(expert)) - start[expert[order]]
    last = np.full(experts, -1)
    np.maximum.at(last, expert[answered], rank[answered])
    reached = last + 1
    near = ~answered & (rank < last[expert]) & (rank > last[expert] - ON_SCREEN)
    near &= reached[expert] < asked[expert]
    np.minimum.at(reached, expert[near], rank[near])
    unknown = np.zeros(experts, np.bool_)
    unknown[expert[place < 0]] = True
    reached[unknown & (last >= 0)] = asked[unknown & (last >= 0)]
    return Queues(asked=asked, reached=reached, rank=rank, passed=~answered & (rank < reached[expert]))


class ItemIndex:
    """Index of a study's items by position, from 0; columns can be combined only if they share one index.

    Parameters
    ----------
    size
        Number of items, N.
    read_ids
        Returns the N item ids in order. Called only when ids are first needed, because few uses need ids.
    """

    def __init__(self, size: int, read_ids: Callable[[], Sequence[str]]) -> None:
        self.size = size
        self._read_ids = read_ids

    @classmethod
    def of(cls, ids: Sequence[str]) -> ItemIndex:
        """Make an index from a sequence of item ids."""
        return cls(len(ids), lambda: ids)

    @cached_property
    def ids(self) -> Sequence[str]:
        """Id of every item."""
        return self._read_ids()

    @cached_property
    def places(self) -> Mapping[str, int]:
        """Position of every id."""
        return {name: place for place, name in enumerate(self.ids)}

    def find_places(self, ids: Iterable[str]) -> IntArray:
        """Return the position of every given id; −1 for an unknown id."""
        places = self.places
        return np.array([places.get(name, -1) for name in ids], dtype=np.int64)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ItemValues:
    """A text value per item, for example its cluster, stored as integer codes.

    Attributes
    ----------
    code
        Shape (N,): position of the item's value in `names`, −1 for an item without a value.
    names
        The distinct values in alphabetical order.
    """

    code: IntArray
    names: Sequence[str]

    @classmethod
    def of(cls, values: Mapping[str, str], index: ItemIndex) -> ItemValues:
        """Encode values given by item id; ids that are not in the index are ignored.

        None, NaN, NaT and ``pandas.NA`` count as no value.

        Raises
        ------
        EstimateError
            If values cannot be sorted, for example texts and numbers; the message names two items.
        """
        found = [value if is_given(value := values.get(name)) else None for name in index.ids]
        try:
            names = sorted({name for name in found if name is not None})
        except TypeError:
            one = next(place for place, name in enumerate(found) if name is not None)
            kinds = {type(found[one]), type(None)}
            other = next((j for j, name in enumerate(found) if type(name) not in kinds), one)
            raise EstimateError(
                f"clusters and strata must all be texts, or all be numbers, but item {index.ids[one]!r} has "
                f"{found[one]!r} and item {index.ids[other]!r} has {found[other]!r}"
            ) from None
        places: dict[str | None, int] = {name: place for place, name in enumerate(names)}
        return cls(code=np.array([places.get(name, -1) for name in found], dtype=np.int64), names=names)

    def by_id(self, index: ItemIndex) -> dict[str, str]:
        """Return a dictionary from item id to value; items without a value are left out."""
        codes = zip(index.ids, self.code.tolist(), strict=True)
        return {name: self.names[code] for name, code in codes if code >= 0}


@dataclass(frozen=True, kw_only=True, eq=False)
class ItemPool:
    """Items drawn from a pool: uniformly, in proportion to the size of strata, or with unequal weights.

    Without weights, the mean of any quantity over the drawn items is an unbiased estimate of its mean over
    the pool. Strata reduce the variance if the quantity differs between them.

    Attributes
    ----------
    stratum
        Shape (N,): stratum number of every drawn item, −1 for an item that was not drawn.
    size
        Number of items of the pool.
    weight
        Shape (N,): number of pool items that every drawn item represents (`weigh_draws`), at least 1, and 0
        for an item that was not drawn; None if all weights are equal.
    chance
        Shape (N,): probability with which the item was drawn from the items that remained before its draw;
        NaN if that draw was uniform. None if the weights were given directly.
    batch
        Shape (N,): number of the draw that took the item, from 1; 0 for an item that was not drawn. None if
        `chance` is None.
    """

    stratum: IntArray
    size: int
    weight: FloatArray | None = None
    chance: FloatArray | None = None
    batch: IntArray | None = None

    @cached_property
    def drawn(self) -> BoolArray:
        """Whether each item was drawn, shape (N,)."""
        return np.asarray(self.stratum >= 0)

    @cached_property
    def number(self) -> int:
        """Number of drawn items."""
        return int(np.count_nonzero(self.drawn))


def share_of_draw(number: int, before: int, remaining: int, pool: int) -> float:
    """Return the weight λ of one draw in the mean over draws (see `weigh_draws`).

    Parameters
    ----------
    number, before
        Number of items taken by this draw, and by all earlier draws.
    remaining, pool
        Number of items not yet drawn before this draw, and number of items in the whole pool.
    """
    return pool * number / ((before + number) * remaining)


def weigh_draws(chance: FloatArray, batch: IntArray, pool: int) -> FloatArray:
    """Return the number of pool items that every drawn item represents, shape (n,), at least 1.

    The bound of 1 changes no weight if every draw limited its probabilities to at most `share_of_draw`.

    Parameters
    ----------
    chance, batch
        Shape (n,): probability with which the item was drawn from the items that remained before its draw,
        NaN if that draw was uniform; and number of the draw that took the item, from 1.
    pool
        Number of items of the pool, N.
    """
    weight, before = np.ones(len(chance)), 0
    for number in np.unique(batch).tolist():
        now, earlier = batch == number, batch < number
        size, remaining = int(np.count_nonzero(now)), pool - before
        share = share_of_draw(size, before, remaining, pool)
        weight[earlier] = (1 - share) * weight[earlier] + share
        each = np.where(np.isnan(chance[now]), size / remaining, chance[now])
        weight[now] = np.maximum(1.0, share / each)
        before += size
    return weight


ABSENT = -3
"""Code in `PredictionColumns.option` for an item that the model was not asked about."""


@dataclass(frozen=True, kw_only=True, eq=False)
class PredictionColumns:
    """A model's predictions for every item.

    Attributes
    ----------
    index
        The items.
    option
        Shape (N,): the predicted option, from 0; −1 if the model's answer was unreadable, −2 if every call
        failed, −3 if the model was not asked.
    confidence
        Shape (N,), in [0, 1]: the model's probability of the option that it predicts, NaN if unknown; None if
        it is unknown for all items.
    has_fewer
        Shape (N,): whether the item has fewer answers of the model than some other item, because a run with
        several samples per item is unfinished; None if no item has fewer answers.
    """

    index: ItemIndex
    option: AnyIntArray
    confidence: FloatArray | None = None
    has_fewer: BoolArray | None = None

    @classmethod
    def of(cls, predictions: Sequence[Prediction], index: ItemIndex) -> PredictionColumns:
        """Make columns from records about items of the index.

        Raises
        ------
        EstimateError
            If an item is predicted twice, or an option is missing or negative; the message names row and
            value.
        """
        place = index.find_places(p.item_id for p in predictions)
        _refuse_double(predictions, place, index.size)
        option = np.full(index.size, ABSENT, dtype=np.int64)
        option[place] = [_code(p, row) for row, p in enumerate(predictions)]
        confidence = None
        if any(p.confidence is not None for p in predictions):
            confidence = np.full(index.size, np.nan)
            confidence[place] = [np.nan if p.confidence is None else p.confidence for p in predictions]
        return cls(index=index, option=option, confidence=confidence)

    @cached_property
    def is_there(self) -> BoolArray:
        """Whether the model was asked about each item, shape (N,)."""
        return np.asarray(self.option != ABSENT)

    @property
    def is_complete(self) -> BoolArray:
        """Whether the model was asked about each item, and as often as about any other item; shape (N,)."""
        return self.is_there if self.has_fewer is None else self.is_there & ~self.has_fewer

    @cached_property
    def ran(self) -> BoolArray:
        """Whether the model returned an answer on each item, readable or not; shape (N,)."""
        return np.asarray(self.option >= UNREADABLE)

    @property
    def has_failed(self) -> BoolArray:
        """Whether all calls to the model about an item failed, for each item; shape (N,)."""
        return np.asarray(self.option == FAILED)

    @property
    def is_unreadable(self) -> BoolArray:
        """Whether the model's answer on each item names no option, shape (N,)."""
        return np.asarray(self.option == UNREADABLE)

    def on(self, items: BoolArray) -> PredictionColumns:
        """Keep the predictions where `items`, shape (N,), is true; mark all other items as not asked."""
        if not (self.is_there & ~items).any():
            return self
        return replace(self, option=np.where(items, self.option, ABSENT))

    def __len__(self) -> int:
        """Number of items that the model was asked about."""
        return int(np.count_nonzero(self.is_there))


def _code(p: Prediction, row: int) -> int:
    if p.status is PredictionStatus.FAILED:
        return FAILED
    if p.status.no_option:
        return UNREADABLE
    if p.option is None or p.option < 0:
        raise EstimateError(f"predictions[{row}]: option must be ≥ 0 for item {p.item_id!r}, is {p.option}")
    return p.option


def _refuse_double(predictions: Sequence[Prediction], place: AnyIntArray, size: int) -> None:
    if place.size == 0 or np.bincount(place, minlength=size).max() < 2:
        return
    first: dict[str, int] = {}
    for row, p in enumerate(predictions):
        if first.setdefault(p.item_id, row) != row:
            raise EstimateError(
                f"predictions[{row}]: item {p.item_id!r} must have one prediction, but also has "
                f"predictions[{first[p.item_id]}]; pass one sample at a time"
            )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class OfferedOptions:
    """Propensities of all options of R questions; a question may have no recorded propensities.

    Attributes
    ----------
    start
        Shape (R + 1,): the propensities of question r are ``values[start[r] : start[r + 1]]``.
    values
        Propensities of all questions, one question after another; in [0, 1].
    """

    start: IntArray
    values: FloatArray

    @classmethod
    def of(cls, rows: Sequence[Sequence[float]]) -> OfferedOptions:
        """Make columns from one sequence of propensities per question, empty if none are recorded."""
        start = np.concatenate([[0], np.cumsum([len(row) for row in rows], dtype=np.int64)])
        return cls(start=start, values=np.array([pi for row in rows for pi in row], dtype=np.float64))

    @property
    def number(self) -> IntArray:
        """Number of recorded propensities of every question, shape (R,): K, or 0 if none are recorded."""
        return np.diff(self.start)

    @property
    def least(self) -> FloatArray:
        """Smallest propensity of every question, shape (R,); every question must have propensities."""
        return np.minimum.reduceat(self.values, self.start[:-1])

    @property
    def greatest(self) -> FloatArray:
        """Largest propensity of every question, shape (R,); every question must have propensities."""
        return np.maximum.reduceat(self.values, self.start[:-1])

    def take(self, rows: AnyIntArray) -> OfferedOptions:
        """Select the questions at `rows`."""
        number = self.number[rows]
        start = np.concatenate([[0], np.cumsum(number, dtype=np.int64)])
        inside = np.arange(start[-1]) - np.repeat(start[:-1], number)
        return OfferedOptions(start=start, values=self.values[np.repeat(self.start[rows], number) + inside])

    def spread(self, width: int) -> FloatArray:
        """Return the propensities as a matrix of shape (R, width), 0 for options without a recorded one."""
        found, number = np.zeros((len(self.start) - 1, width)), self.number
        column = np.arange(self.values.size) - np.repeat(self.start[:-1], number)
        row, inside = np.repeat(np.arange(len(found)), number), column < width
        found[row[inside], column[inside]] = self.values[inside]
        return found

    def join(self, other: OfferedOptions) -> OfferedOptions:
        """Append the propensities of other questions."""
        start = np.concatenate([self.start, self.start[-1] + other.start[1:]])
        return OfferedOptions(start=start, values=np.concatenate([self.values, other.values]))

    def of_option(self, option: AnyIntArray) -> FloatArray:
        """Propensity of one option per question, shape (R,); every question must have propensities."""
        found: FloatArray = self.values[self.start[:-1] + option]
        return found


_OPTION_BITS = 20


def _join_names(
    first: tuple[IntArray, Sequence[str]], second: tuple[IntArray, Sequence[str]]
) -> tuple[IntArray, list[str]]:
    """Join two arrays of positions in lists of names. Returns the positions and the joint list."""
    names = list(dict.fromkeys([*first[1], *second[1]]))
    code = np.array([names.index(name) for name in second[1]], dtype=np.int64)
    return np.concatenate([first[0], code[second[0]]]), names


@dataclass(frozen=True, kw_only=True, eq=False)
class QuestionColumns:
    """R questions as arrays of shape (R,), one entry per question.

    Attributes
    ----------
    index
        The items.
    item, option
        Position of the item in the index, and the option asked about.
    n_options
        Number of options of the item, K.
    propensity
        Probability with which the option was drawn, in (0, 1].
    expert
        Position of the question's expert in `experts`.
    experts
        Names of the experts.
    offered
        Propensities of all options of every question.
    place
        Place of the question in its expert's queue; −1 if unknown.
    person
        Position in `people` of the person who answered the question or, if it is open, who has it now; None
        if no question was reassigned.
    people
        Names of these persons.
    """

    index: ItemIndex
    item: IntArray
    option: IntArray
    n_options: IntArray
    propensity: FloatArray
    expert: IntArray
    experts: Sequence[str]
    offered: OfferedOptions
    place: IntArray
    person: IntArray | None = None
    people: Sequence[str] = ()

    @classmethod
    def of(cls, rows: Sequence[Question | Label], index: ItemIndex) -> QuestionColumns:
        """Make columns from records about items of the index."""
        experts = list(dict.fromkeys(row.expert for row in rows))
        places = {name: place for place, name in enumerate(experts)}
        return cls(
            index=index,
            item=index.find_places(row.item_id for row in rows),
            option=np.array([row.option for row in rows], dtype=np.int64),
            n_options=np.array([row.n_options for row in rows], dtype=np.int64),
            propensity=np.array([row.propensity for row in rows], dtype=np.float64),
            expert=np.array([places[row.expert] for row in rows], dtype=np.int64),
            experts=experts,
            offered=OfferedOptions.of([row.propensities for row in rows]),
            place=np.array([_place_of(row) for row in rows], dtype=np.int64),
        )

    def __len__(self) -> int:
        return len(self.item)

    def take(self, rows: AnyIntArray) -> QuestionColumns:
        """Select the questions at `rows`."""
        found = replace(take_rows(self, rows), offered=self.offered.take(rows))
        # Sort keys are expensive to compute, so copy the cached ones into the selection.
        vars(found).update(
            {name: vars(self)[name][rows] for name in ("order", "item_order") if name in vars(self)}
        )
        return found

    def join(self, other: QuestionColumns) -> QuestionColumns:
        """Append other questions about items of the same index."""
        names = ("item", "option", "n_options", "propensity", "place")
        joined = {name: np.concatenate([getattr(self, name), getattr(other, name)]) for name in names}
        expert, experts = _join_names((self.expert, self.experts), (other.expert, other.experts))
        person, people = _join_names(self.answering, other.answering)
        offered = self.offered.join(other.offered)
        found = replace(self, **joined, expert=expert, experts=experts, offered=offered)
        return found if self.person is other.person is None else replace(found, person=person, people=people)

    @property
    def answering(self) -> tuple[IntArray, Sequence[str]]:
        """The people who answered or have the questions: their positions, shape (R,), and their names."""
        return (self.expert, self.experts) if self.person is None else (self.person, self.people)

    @cached_property
    def key(self) -> IntArray:
        """Number that identifies the pair of item and option of every question.

        Equal pairs have equal numbers in all columns over one index.
        """
        return key_of(self.item, self.option)

    @cached_property
    def order(self) -> NDArray[np.uint64]:
        """Pseudo-random sort key of every question, shape (R,); depends only on item id and option."""
        ids, pairs = self.index.ids, zip(self.item.tolist(), self.option.tolist(), strict=True)
        return np.array([derive_seed(0, "drawn", ids[i], str(k)) for i, k in pairs], dtype=np.uint64)

    @cached_property
    def item_order(self) -> NDArray[np.uint64]:
        """Pseudo-random sort key, shape (R,); questions about the same item have the same key."""
        ids = self.index.ids
        items, which = np.unique(self.item, return_inverse=True)
        order = [derive_seed(0, "drawn", ids[i]) for i in items.tolist()]
        return np.array(order, dtype=np.uint64)[which]


def _place_of(row: Question | Label) -> int:
    place = row.place if isinstance(row, Question) else None
    return -1 if place is None else place


def key_of(item: IntArray, option: IntArray) -> IntArray:
    """Return a number that identifies each pair of item and option; the arrays are broadcast together."""
    return item << _OPTION_BITS | option


YES, NO, ABSTAINED = 1, 0, -1
_KIND = {LabelKind.ORDINARY: YES, LabelKind.COMPLEMENTARY: NO, LabelKind.ABSTAINED: ABSTAINED}


@dataclass(frozen=True, kw_only=True, eq=False)
class LabelColumns:
    """L labels in the order of their answers, with the design by which they were collected.

    Attributes
    ----------
    questions
        The answered questions.
    kind
        Shape (L,): 1 for yes, 0 for no, −1 for an abstention.
    statements
        One statement per protocol that drew questions; it says how this protocol's labels can be used.
    drawn
        All questions, answered or not; None if only the answered questions are known.
    asked
        Shape (N,): whether the item has a question; all False if unknown.
    cluster
        Cluster of every item; None if items are independent.
    pool
        Description of the draw of items from a larger pool; None if the items were not drawn from a pool.
    passed
        Shape (L,): whether the label is an abstention added for a question that its expert passed over; None
        if no such abstentions were added.
    models
        Predictions of all models of the study, for checks that compare predictions with answers. Can be
        empty.
    rates
        Shape (K,): share of answered questions about each option, in [0, 1], if it was computed from more
        questions than these labels contain; otherwise None.
    outside
        Shape (N,): whether the item is not in the pool or, without a pool, has no question. Items that are
        added to the study after the draw are outside. None if no item is, or if this is unknown.
    holders
        Expert → text with the names of those who have the expert's open questions, if any was reassigned.
    """

    questions: QuestionColumns
    kind: IntArray
    statements: tuple[ProtocolStatement, ...]
    drawn: QuestionColumns | None
    asked: BoolArray
    cluster: ItemValues | None = None
    pool: ItemPool | None = None
    passed: BoolArray | None = None
    models: tuple[PredictionColumns, ...] = ()
    rates: FloatArray | None = None
    outside: BoolArray | None = None
    holders: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, labels: Sequence[Label], index: ItemIndex) -> LabelColumns:
        """Make columns from labels, and from their design if they are `Labels`; `index` has their items."""
        design = design_of(labels)
        asked, statements = _mask(design.asked, index), design.statements
        is_resolved = bool(statements) and deciding_statement(statements).estimator == "resolved"
        return cls(
            questions=QuestionColumns.of(labels, index),
            kind=np.array([_KIND[x.kind] for x in labels], dtype=np.int64),
            statements=statements,
            drawn=QuestionColumns.of(design.drawn, index) if design.drawn else None,
            asked=asked,
            cluster=ItemValues.of(design.clusters, index) if design.clusters else None,
            pool=_pool_of(design, index),
            # in other protocols, propensities show which items without a question could not be asked about
            outside=~asked if is_resolved and not design.strata else None,
        )

    @property
    def index(self) -> ItemIndex:
        """The items."""
        return self.questions.index

    @property
    def item(self) -> IntArray:
        """Position of every label's item, shape (L,)."""
        return self.questions.item

    @property
    def option(self) -> IntArray:
        """The option that every label is about, shape (L,)."""
        return self.questions.option

    @property
    def statement(self) -> ProtocolStatement:
        """The most restrictive of `statements`, which must not be empty.

        See `oversight.harness.types.deciding_statement`.
        """
        return deciding_statement(self.statements)

    @property
    def is_uniform(self) -> bool:
        """Whether the protocol drew options uniformly; True for labels without a protocol statement."""
        return not self.statements or self.statement.estimator == "likelihood"

    @property
    def inside(self) -> BoolArray:
        """Whether each item could be drawn, shape (N,): the items that are not in `outside`."""
        return np.ones(self.index.size, np.bool_) if self.outside is None else ~self.outside

    @property
    def is_unequal(self) -> bool:
        """Whether items were drawn from a pool with unequal probabilities."""
        return self.pool is not None and self.pool.weight is not None

    @property
    def is_even(self) -> bool:
        """Whether items and their options were drawn with equal probabilities."""
        return self.is_uniform and not self.is_unequal

    @property
    def is_resolved(self) -> bool:
        """Whether the protocol asked about every item until it was resolved."""
        return bool(self.statements) and self.statement.estimator == "resolved"

    @property
    def tells_accuracy(self) -> bool:
        """Whether the labels identify the accuracy of a single model, not only differences between models."""
        return not self.statements or "accuracy" in self.statement.answers

    @property
    def conditions(self) -> frozenset[str]:
        """Names of the design and the features that decide what the labels can be used for.

        One name is the design: "differences", "resolved", "uniform" or "weighted". The names "clusters",
        "pool" and "weights" are included if the labels have these features. The table of combinations
        (`oversight.harness.estimate.combinations.RULES`) uses these names.
        """
        if not self.tells_accuracy:
            design = "differences"
        elif self.is_resolved:
            design = "resolved"
        else:
            design = "uniform" if self.is_uniform else "weighted"
        shown = {
            "clusters": self.cluster is not None,
            "pool": self.pool is not None,
            "weights": self.is_unequal,
        }
        return frozenset({design, *(name for name, is_given in shown.items() if is_given)})

    @cached_property
    def labelled(self) -> BoolArray:
        """Whether each item has a label, including abstentions; shape (N,)."""
        return mark(self.item, self.index.size)

    @cached_property
    def answered(self) -> BoolArray:
        """Whether each item has a yes or a no, shape (N,)."""
        return mark(self.item[self.kind != ABSTAINED], self.index.size)

    @cached_property
    def places(self) -> IntArray:
        """Positions of the items with a label, in order."""
        return np.flatnonzero(self.labelled)

    @cached_property
    def rank(self) -> IntArray:
        """Index in `places` of every label's item, shape (L,)."""
        return (np.cumsum(self.labelled) - 1)[self.item]

    @cached_property
    def item_options(self) -> IntArray:
        """Number of options of every item, from its first label, shape (N,); 2 for items without a label."""
        found = np.full(self.index.size, 2)
        found[self.item[::-1]] = self.questions.n_options[::-1]
        return found

    @cached_property
    def n_options(self) -> IntArray:
        """Number of options of every item with a label, in the order of `places`."""
        return self.item_options[self.places]

    @cached_property
    def answers(self) -> IntArray:
        """Row of the last label of every question in `drawn`, −1 if it has none; empty if `drawn` is None."""
        if self.drawn is None:
            return np.zeros(0, np.int64)
        order = np.argsort(self.questions.key, kind="stable")
        keys, asked = self.questions.key[order], self.drawn.key
        if not keys.size:
            return np.full(asked.size, -1)
        place = np.searchsorted(keys, asked, side="right") - 1
        return np.where((place >= 0) & (keys[place] == asked), order[place], -1)

    @property
    def asked_items(self) -> BoolArray:
        """Whether each item has a question, shape (N,); if that is unknown, whether it has a label."""
        return self.asked if self.asked.any() else self.labelled

    @property
    def number_answered(self) -> int:
        """Number of labels, not counting the abstentions that `pass_over` added."""
        return len(self) - (0 if self.passed is None else int(np.count_nonzero(self.passed)))

    def __len__(self) -> int:
        return len(self.kind)

    def take(self, rows: AnyIntArray) -> LabelColumns:
        """Select the labels at `rows` and keep the design."""
        passed = None if self.passed is None else self.passed[rows]
        return replace(self, questions=self.questions.take(rows), kind=self.kind[rows], passed=passed)

    def leave_out_passed(self) -> LabelColumns:
        """Select the labels that experts gave, without the abstentions that `pass_over` added."""
        return self if self.passed is None else self.take(np.flatnonzero(~self.passed))

    def pass_over(self, questions: QuestionColumns) -> LabelColumns:
        """Append an abstention for each of these questions, which experts reached but did not answer."""
        if not len(questions):
            return self
        kind = np.concatenate([self.kind, np.full(len(questions), ABSTAINED)])
        passed = np.arange(len(kind)) >= len(self)
        return replace(self, questions=self.questions.join(questions), kind=kind, passed=passed)


def mark(items: AnyIntArray, size: int) -> BoolArray:
    """Return a mask of shape (size,) that is True at the positions `items`."""
    found = np.zeros(size, dtype=np.bool_)
    found[items] = True
    return found


def _pool_of(design: LabelDesign, index: ItemIndex) -> ItemPool | None:
    if not design.strata:
        return None
    stratum, weight = ItemValues.of(design.strata, index).code, None
    if design.weights:
        weight = np.array([design.weights.get(name, 0.0) for name in index.ids])
    return ItemPool(stratum=stratum, size=design.pool_size, weight=weight)


def _mask(ids: Collection[str], index: ItemIndex) -> BoolArray:
    places = index.find_places(ids)
    return mark(places[places >= 0], index.size)


AnyLabels: TypeAlias = Sequence[Label] | LabelColumns
"""Labels as records or as columns."""

AnyPredictions: TypeAlias = Sequence[Prediction] | PredictionColumns
"""One model's predictions as records, one per item, or as columns."""


def align(predictions: AnyPredictions, labels: AnyLabels) -> tuple[PredictionColumns, LabelColumns]:
    """Return one model's predictions and the labels as columns over one index (see `align_models`)."""
    (one,), columns = align_models([predictions], labels)
    return one, columns


def align_models(
    models: Sequence[AnyPredictions], labels: AnyLabels
) -> tuple[list[PredictionColumns], LabelColumns]:
    """Return several models' predictions, and the labels, as columns over one index (see `align_pool`).

    Predictions for items that were not drawn from the pool are left out.
    """
    columns, said = align_pool(models, labels)
    return [keep_drawn(rows, said) for rows in columns], said


def align_pool(
    models: Sequence[AnyPredictions], labels: AnyLabels
) -> tuple[list[PredictionColumns], LabelColumns]:
    """Return the predictions of several models, and the labels, as columns over one index.

    Arguments that are columns already are returned unchanged. Records get a new index: first the predicted
    items in the order of their predictions, then other items that have a label or a question.

    Raises
    ------
    EstimateError
        If a model predicts an item twice, or an option is missing. The message names the row.
    WrongType
        If an argument is not a list of predictions or labels.
    TypeError
        If some arguments are records and others columns, or if columns have different indexes.
    """
    for rows in models:
        if not isinstance(rows, PredictionColumns):
            check_records("predictions", rows, Prediction)
    if not isinstance(labels, LabelColumns):
        check_records("labels", labels, Label)
    refuse_other_options([*models, labels])
    columns = [rows for rows in models if isinstance(rows, PredictionColumns)]
    records = [rows for rows in models if not isinstance(rows, PredictionColumns)]
    if isinstance(labels, LabelColumns):
        if records or any(rows.index is not labels.index for rows in columns):
            raise TypeError(
                "labels given as LabelColumns need predictions given as PredictionColumns with the same index"
            )
        return columns, labels
    if columns:
        raise TypeError(
            "predictions given as PredictionColumns need labels given as LabelColumns with the same index"
        )
    design = design_of(labels)
    ids = dict[str, None]()
    for rows in records:
        ids.update(dict.fromkeys([p.item_id for p in rows]))
    ids.update(dict.fromkeys([x.item_id for x in labels]))
    ids.update(dict.fromkeys([q.item_id for q in design.drawn]))
    ids.update(dict.fromkeys(sorted(design.asked)))
    index = ItemIndex.of(list(ids))
    said = LabelColumns.of(labels, index)
    return [PredictionColumns.of(rows, index) for rows in records], said


def keep_drawn(predictions: PredictionColumns, labels: LabelColumns) -> PredictionColumns:
    """Leave out predictions for pool items that were not drawn, because the drawn items represent them.

    The drawn items do not represent items outside the pool. Predictions for those items are kept, so that
    `collected_part` raises an error.
    """
    if labels.pool is None:
        return predictions
    drawn = labels.pool.drawn
    return predictions.on(drawn if labels.outside is None else drawn | labels.outside)


def keep_predicted(labels: LabelColumns, predictions: PredictionColumns) -> LabelColumns:
    """Keep only labels of items that the model was asked about; an unfinished run lacks some items."""
    kept = predictions.is_there[labels.item]
    return labels if kept.all() else labels.take(np.flatnonzero(kept))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ItemGroup:
    """A group of items as a separate study.

    Attributes
    ----------
    name
        Name of the group, for example of a stratum.
    places
        Positions of the group's items in the whole study's index.
    index
        Index of only the group's items, in the same order.
    labels
        Questions and answers about the group's items, over the group's index.
    """

    name: str
    places: IntArray
    index: ItemIndex
    labels: LabelColumns

    def take(self, predictions: PredictionColumns) -> PredictionColumns:
        """Select a model's predictions for the group."""
        return replace(take_rows(predictions, self.places), index=self.index)


def split_items(groups: ItemValues, labels: LabelColumns) -> Iterator[ItemGroup]:
    """Yield every group of items as a separate study; items without a group are left out.

    Rows are sorted by group once, so the time hardly grows with the number of groups.
    """
    size = len(groups.names)
    items = _find_rows(groups.code, size)
    inside = np.zeros(labels.index.size, dtype=np.int64)
    said = _find_rows(groups.code[labels.item], size)
    drawn, cluster = labels.drawn, labels.cluster
    asked = [] if drawn is None else _find_rows(groups.code[drawn.item], size)
    for group, (name, places) in enumerate(zip(groups.names, items, strict=True)):
        index = _index_of(labels.index, places)
        inside[places] = np.arange(places.size)
        found = replace(
            labels,
            questions=_move(labels.questions.take(said[group]), index, inside),
            kind=labels.kind[said[group]],
            drawn=None if drawn is None else _move(drawn.take(asked[group]), index, inside),
            asked=labels.asked[places],
            cluster=None if cluster is None else replace(cluster, code=cluster.code[places]),
            pool=_move_pool(labels.pool, places),
            outside=None if labels.outside is None else labels.outside[places],
        )
        yield ItemGroup(name=name, places=places, index=index, labels=found)


def _move_pool(pool: ItemPool | None, places: IntArray) -> ItemPool | None:
    """Return the pool for one group of items; its drawn items form one stratum.

    Strata are merged because the draw did not fix how many of the group's items each stratum contributes.
    """
    if pool is None:
        return None
    weight = None if pool.weight is None else pool.weight[places]
    return ItemPool(stratum=np.where(pool.drawn[places], 0, -1), size=places.size, weight=weight)


def _find_rows(code: AnyIntArray, size: int) -> list[IntArray]:
    """Return, for every code from 0 to size − 1, the rows that have this code, in ascending order."""
    order = np.argsort(code, kind="stable")
    ends = np.searchsorted(code[order], np.arange(size + 1))
    return [order[start:end] for start, end in pairwise(ends.tolist())]


def _index_of(index: ItemIndex, places: IntArray) -> ItemIndex:
    return ItemIndex(places.size, lambda: [index.ids[place] for place in places.tolist()])


def _move(questions: QuestionColumns, index: ItemIndex, place: IntArray) -> QuestionColumns:
    return replace(questions, index=index, item=place[questions.item])


LEAST = 5
"""Number of questions below which a class gets the common rate, because its own rate is too uncertain."""
CHANCE = 0.05
"""Significance level of the χ² test of equal answering rates."""


def answering_rates(
    asked: Sequence[int] | AnyIntArray, answered: Sequence[int] | AnyIntArray, *, chance: float = CHANCE
) -> FloatArray:
    """Return the answering rate of each class; all rates are equal if a test finds no difference.

    Parameters
    ----------
    asked, answered
        Shape (C,): number of questions about each class, and number of these with a yes or a no.
    chance
        Significance level of the test: the rates count as different if its p-value is smaller.

    Returns
    -------
    array
        Shape (C,), in [0, 1]: share of answered questions. All equal to the common rate if a χ² test finds no
        difference. A class with fewer than five questions always has the common rate.

    Examples
    --------
    >>> answering_rates([100, 100], [95, 94]).tolist()
    [0.945, 0.945]
    >>> answering_rates([100, 100], [100, 20]).tolist()
    [1.0, 0.2]
    """
    n, said = (np.asarray(x, dtype=np.float64) for x in (asked, answered))
    known = n >= LEAST
    common = float(said.sum() / max(1.0, n.sum()))
    rates = np.full(n.size, common)
    of_tested = float(said[known].sum() / max(1.0, n[known].sum()))
    if known.sum() < 2 or not 0 < of_tested < 1:
        return rates
    gaps = (said[known] - n[known] * of_tested) ** 2 / (n[known] * of_tested * (1 - of_tested))
    statistic = float(gaps.sum())
    from scipy.special import chdtrc

    if chdtrc(int(known.sum()) - 1, statistic) < chance:
        rates[known] = said[known] / n[known]
    return rates


def read_questions(labels: LabelColumns, *, with_open: bool = True) -> tuple[QuestionColumns, BoolArray]:
    """Return the questions, and whether each has a yes or a no, shape (R,).

    Unanswered questions are included if they are known and `with_open` is true.
    """
    if labels.drawn is None or not with_open:
        return labels.questions, np.asarray(labels.kind != ABSTAINED)
    row = labels.answers
    return labels.drawn, (row >= 0) & (np.append(labels.kind, ABSTAINED)[row] != ABSTAINED)


TEXT_CLUSTER = "@text"
"""Value of ``[items] cluster`` that puts all items with the same text into one cluster."""
RELEVANT_EXCESS = 0.05
"""Relative increase of the variance by repeated texts above which an interval is no longer valid."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RepeatedTexts:
    """Counts of items that share their text with other items.

    Attributes
    ----------
    texts
        Number of texts that occur in several items.
    items
        Number of items with such a text.
    excess
        Relative increase in the variance of a mean over n items if items with the same text have the same
        outcome: Σ m²/n − 1, where the sum is over texts and m is the number of items with the text.
    """

    texts: int
    items: int
    excess: float


def digest_text(text: str, options: Sequence[str]) -> int:
    """Return a number below 2⁶³ that is the same for items with equal text and equal options.

    Examples
    --------
    >>> digest_text("Is it red? ", ("yes", "no")) == digest_text("Is it  red?", ("no", "yes"))
    True
    """
    content = "\x1f".join([" ".join(text.split()), *sorted(options)])
    return int.from_bytes(blake2b(content.encode(errors="surrogatepass"), digest_size=8).digest()) >> 1


def count_repeated(digest: IntArray, cluster: IntArray | None = None) -> RepeatedTexts:
    """Count items whose text occurs more than once.

    Parameters
    ----------
    digest
        Shape (n,): number that identifies the text and options of every item (from `digest_text`).
    cluster
        Shape (n,): the cluster of every item. Items of one cluster already count as dependent, so only
        pairs of items from different clusters add to `excess`. None if items are independent.

    Examples
    --------
    >>> count_repeated(np.array([7, 7, 8, 9]))
    RepeatedTexts(texts=1, items=2, excess=0.5)
    """
    sizes = np.unique(digest, return_counts=True)[1]
    joined = digest.size
    if cluster is not None:
        joined = int((np.unique(np.stack([digest, cluster]), axis=1, return_counts=True)[1] ** 2).sum())
    several = sizes[sizes > 1]
    excess = (int((sizes**2).sum()) - joined) / max(1, digest.size)
    return RepeatedTexts(texts=several.size, items=int(several.sum()), excess=excess)
