"""The table of a study as arrays: items, questions, answers, and models' predictions.

Records become arrays over one index of items (`ItemIndex`). `LabelColumns` holds questions, answers and the
design they were collected by; `PredictionColumns` holds what one model predicts.

Which items of a larger pool were drawn to be asked about, and in which stratum each of them lies.

`weigh_draws` says what drawn items stand for if one draw after another took some of a pool. The b-th draw
takes n_b of the N_b items that remain, with chances ρ_i that may depend on all answers before it. Each draw
alone gives an unbiased sum over the pool (earlier draws count as they are, this draw as 1/ρ_i). A mean of
these sums is also unbiased if its weights λ_b do not depend on answers. λ_b is such that even draws give
every item the weight N/n (the weights of Farquhar, Gal & Rainforth 2021, ICLR, for one item at a time).

How often the questions about each class were answered, and whether that differs between classes.

An expert who leaves more questions unanswered than others makes "no" rare for their class. A program that
often answers with this class is then refuted too seldom. An answer about class k arrives with probability
π_k r_k, so the inverse of the answering rate r_k as its weight undoes this, as for any nonresponse that is
random within known classes (Little & Rubin 2019, Statistical Analysis with Missing Data, 3.3).

Items that ask the same thing under different ids.

Two items count as equal if their texts are equal and they offer the same options, in any order. Texts are
compared after runs of white space are replaced by one space and the ends are trimmed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import blake2b
from itertools import pairwise
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from oversight.harness.argument_checks import check_records
from oversight.harness.arrays import FAILED, UNREADABLE, AnyIntArray, BoolArray, FloatArray, IntArray
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
)

ON_SCREEN = 3
"""Questions that an expert has on the screen or loaded ahead, and may answer in any order."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Queues:
    """Progress of every expert.

    Attributes
    ----------
    asked, reached
        Shape (E,): number of questions of every expert, and of those reached from the queue's start.
    rank
        Shape (R,): position of every question in its expert's queue, from 0.
    passed
        Shape (R,): whether the question was reached and is open.
    """

    asked: IntArray
    reached: IntArray
    rank: IntArray
    passed: BoolArray


def read_queues(expert: IntArray, place: IntArray, answered: BoolArray, experts: int) -> Queues:
    """Compute how far every expert has come, and which questions were passed over.

    An expert has reached everything up to the last answered question. An open question shortly after the
    last answer may still be on the screen (`ON_SCREEN`), unless the queue has ended; then it does not count
    as reached.

    Parameters
    ----------
    expert, place
        Of all questions, shape (R,): number of the expert, from 0, and the place by which the question is
        handed out, −1 if it is not known.
    answered
        Whether each question has an answer of any kind, shape (R,).
    experts
        Number E of experts.

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
    """Items by position, from 0; columns over the same index belong together.

    Parameters
    ----------
    size
        Number of items, N.
    read_ids
        Returns their N ids in order; called when the first is needed, because most work needs none.
    """

    def __init__(self, size: int, read_ids: Callable[[], Sequence[str]]) -> None:
        self.size = size
        self._read_ids = read_ids

    @classmethod
    def of(cls, ids: Sequence[str]) -> ItemIndex:
        """Make the index of known ids."""
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
        """Positions of ids; −1 for an unknown one."""
        places = self.places
        return np.array([places.get(name, -1) for name in ids], dtype=np.int64)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ItemValues:
    """Text values of items, as codes.

    Attributes
    ----------
    code
        Shape (N,): position of the item's value in `names`, −1 for an item without one.
    names
        The values in alphabetical order.
    """

    code: IntArray
    names: Sequence[str]

    @classmethod
    def of(cls, values: Mapping[str, str], index: ItemIndex) -> ItemValues:
        """Encode values given by id; those of other items are left out."""
        found = [values.get(name) for name in index.ids]
        names = sorted({name for name in found if name is not None})
        places: dict[str | None, int] = {name: place for place, name in enumerate(names)}
        return cls(code=np.array([places.get(name, -1) for name in found], dtype=np.int64), names=names)

    def by_id(self, index: ItemIndex) -> dict[str, str]:
        """Values by id, for items that have one."""
        codes = zip(index.ids, self.code.tolist(), strict=True)
        return {name: self.names[code] for name, code in codes if code >= 0}


@dataclass(frozen=True, kw_only=True, eq=False)
class ItemPool:
    """Items drawn from a pool: with equal probabilities, in proportion within strata, or with weights.

    Without weights the mean of anything over the drawn items is an unbiased estimate of its mean over the
    pool; strata that tell it apart make it more exact than as many items drawn at random.

    Attributes
    ----------
    stratum
        Shape (N,): number of the stratum of every drawn item, −1 for an item that was not drawn.
    size
        Number of items of the pool.
    weight
        Shape (N,): number of pool items that every drawn item represents, at least 1, and 0 for an item
        that was not drawn; None if all are equal (`weigh_draws`).
    chance, batch
        Shape (N,): probability with which a drawn item was drawn of what remained, NaN where all were equal,
        and number of its draw, 0 for an item that was not drawn; None of weights that came without draws.
    """

    stratum: IntArray
    size: int
    weight: FloatArray | None = None
    chance: FloatArray | None = None
    batch: IntArray | None = None

    @cached_property
    def drawn(self) -> BoolArray:
        """Items that were drawn, shape (N,)."""
        return np.asarray(self.stratum >= 0)

    @cached_property
    def number(self) -> int:
        """Number of drawn items."""
        return int(np.count_nonzero(self.drawn))


def share_of_draw(number: int, before: int, remaining: int, pool: int) -> float:
    """λ of a draw of `number` of the `remaining` items; `before` items were drawn earlier."""
    return pool * number / ((before + number) * remaining)


def weigh_draws(chance: FloatArray, batch: IntArray, pool: int) -> FloatArray:
    """Number of pool items that every drawn one represents, shape (n,).

    At least 1 if every draw limited its probabilities to `share_of_draw`.

    Parameters
    ----------
    chance, batch
        Shape (n,): probability with which the item was drawn of what remained, NaN where all were equal, and
        number of the draw, from 1.
    pool
        Items of the pool.
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
"""In place of a predicted option: the model was not asked about the item."""


@dataclass(frozen=True, kw_only=True, eq=False)
class PredictionColumns:
    """A model's predictions for every item.

    Attributes
    ----------
    index
        The items.
    option
        Shape (N,): the option, from 0; −1 unreadable, −2 failed, −3 not asked.
    confidence
        Shape (N,), in [0, 1]: the model's probability of its own option, NaN if unknown; None if there is
        none at all.
    """

    index: ItemIndex
    option: AnyIntArray
    confidence: FloatArray | None = None

    @classmethod
    def of(cls, predictions: Sequence[Prediction], index: ItemIndex) -> PredictionColumns:
        """Make columns from records about items of the index.

        Raises
        ------
        EstimateError
            If an item is predicted twice, or an option is missing or negative; names row and value.
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
        """Items that the model was asked about, shape (N,)."""
        return np.asarray(self.option != ABSENT)

    @cached_property
    def ran(self) -> BoolArray:
        """Items with an answer, readable or not, shape (N,)."""
        return np.asarray(self.option >= UNREADABLE)

    @property
    def has_failed(self) -> BoolArray:
        """Items on which every call failed, shape (N,)."""
        return np.asarray(self.option == FAILED)

    @property
    def is_unreadable(self) -> BoolArray:
        """Items whose answer names no option, shape (N,)."""
        return np.asarray(self.option == UNREADABLE)

    def on(self, items: BoolArray) -> PredictionColumns:
        """Predictions of these items only, shape (N,), as if the model was not asked about the others."""
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
                f"predictions[{row}]: item {p.item_id!r} must be predicted once, is already in "
                f"predictions[{first[p.item_id]}]; pass one sample at a time"
            )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class OfferedOptions:
    """Propensities of all options of R questions; a question may have none recorded.

    Attributes
    ----------
    start
        Shape (R + 1,): those of question r are ``values[start[r] : start[r + 1]]``.
    values
        In [0, 1].
    """

    start: IntArray
    values: FloatArray

    @classmethod
    def of(cls, rows: Sequence[Sequence[float]]) -> OfferedOptions:
        """Make them from one sequence per question, empty if none is recorded."""
        start = np.concatenate([[0], np.cumsum([len(row) for row in rows], dtype=np.int64)])
        return cls(start=start, values=np.array([pi for row in rows for pi in row], dtype=np.float64))

    @property
    def number(self) -> IntArray:
        """Number of options of every question, 0 if none is recorded; shape (R,)."""
        return np.diff(self.start)

    @property
    def least(self) -> FloatArray:
        """Smallest propensity of every question, all of which must be recorded; shape (R,)."""
        found: FloatArray = np.minimum.reduceat(self.values, self.start[:-1])
        return found

    @property
    def greatest(self) -> FloatArray:
        """Largest propensity of every question, all of which must be recorded; shape (R,)."""
        found: FloatArray = np.maximum.reduceat(self.values, self.start[:-1])
        return found

    def take(self, rows: AnyIntArray) -> OfferedOptions:
        """Select some questions."""
        number = self.number[rows]
        start = np.concatenate([[0], np.cumsum(number, dtype=np.int64)])
        inside = np.arange(start[-1]) - np.repeat(start[:-1], number)
        return OfferedOptions(start=start, values=self.values[np.repeat(self.start[rows], number) + inside])

    def join(self, other: OfferedOptions) -> OfferedOptions:
        """Append the propensities of other questions."""
        start = np.concatenate([self.start, self.start[-1] + other.start[1:]])
        return OfferedOptions(start=start, values=np.concatenate([self.values, other.values]))

    def of_option(self, option: AnyIntArray) -> FloatArray:
        """Propensity of one option of every question, all of which must be recorded; shape (R,)."""
        found: FloatArray = self.values[self.start[:-1] + option]
        return found


_OPTION_BITS = 20


@dataclass(frozen=True, kw_only=True, eq=False)
class QuestionColumns:
    """R questions, one per entry.

    Attributes
    ----------
    index
        The items.
    item, option
        Position of the item, and the option asked about.
    n_options
        K of the item.
    propensity
        Propensity of the option, in (0, 1].
    expert
        Position of the person in `experts`.
    offered
        Propensities of all options.
    place
        Place of the question in its expert's queue; −1 if the order is unknown.
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
        """Select some questions."""
        found = replace(
            self,
            item=self.item[rows],
            option=self.option[rows],
            n_options=self.n_options[rows],
            propensity=self.propensity[rows],
            expert=self.expert[rows],
            offered=self.offered.take(rows),
            place=self.place[rows],
        )
        # expensive to compute, so it is cached per question
        vars(found).update(
            {name: vars(self)[name][rows] for name in ("order", "item_order") if name in vars(self)}
        )
        return found

    def join(self, other: QuestionColumns) -> QuestionColumns:
        """Append other questions about items of the same index."""
        names = ("item", "option", "n_options", "propensity", "place")
        joined = {name: np.concatenate([getattr(self, name), getattr(other, name)]) for name in names}
        experts = list(dict.fromkeys([*self.experts, *other.experts]))
        code = np.array([experts.index(name) for name in other.experts], dtype=np.int64)
        expert = np.concatenate([self.expert, code[other.expert]])
        offered = self.offered.join(other.offered)
        return replace(self, **joined, expert=expert, experts=experts, offered=offered)

    @cached_property
    def key(self) -> IntArray:
        """A number for every pair of item and option, the same in all columns over the index."""
        return key_of(self.item, self.option)

    @cached_property
    def order(self) -> NDArray[np.uint64]:
        """Positions of the questions in an order independent of items and experts, shape (R,)."""
        ids, pairs = self.index.ids, zip(self.item.tolist(), self.option.tolist(), strict=True)
        return np.array([derive_seed(0, "drawn", ids[i], str(k)) for i, k in pairs], dtype=np.uint64)

    @cached_property
    def item_order(self) -> NDArray[np.uint64]:
        """Positions of the questions in such an order that keeps an item's questions together."""
        ids = self.index.ids
        items, which = np.unique(self.item, return_inverse=True)
        order = [derive_seed(0, "drawn", ids[i]) for i in items.tolist()]
        return np.array(order, dtype=np.uint64)[which]


def _place_of(row: Question | Label) -> int:
    place = row.place if isinstance(row, Question) else None
    return -1 if place is None else place


def key_of(item: IntArray, option: IntArray) -> IntArray:
    """A number for every pair of item and option; arrays that can be broadcast together."""
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
        1 yes, 0 no, −1 abstained; shape (L,).
    statements
        Statements of every protocol that drew one of the questions.
    drawn
        All questions, answered or not; None if only answers are known.
    asked
        Whether the item has a question, shape (N,); all False if unknown.
    cluster
        Cluster of every item; None if items are independent.
    pool
        The items drawn from a larger pool; None if all were meant to be asked about.
    passed
        Whether each abstention represents a question that its expert passed over, shape (L,); None if there
        are none.
    models
        Predictions of all models of the study, which checks compare with the answers; may be empty.
    rates
        Share of the questions about each option that was answered, shape (K,), if known from more questions
        than these labels are about; otherwise None.
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

    @classmethod
    def of(cls, labels: Sequence[Label], index: ItemIndex) -> LabelColumns:
        """Make columns from labels of items of the index, with their design if they have one."""
        design = design_of(labels)
        return cls(
            questions=QuestionColumns.of(labels, index),
            kind=np.array([_KIND[x.kind] for x in labels], dtype=np.int64),
            statements=design.statements,
            drawn=QuestionColumns.of(design.drawn, index) if design.drawn else None,
            asked=_mask(design.asked, index),
            cluster=ItemValues.of(design.clusters, index) if design.clusters else None,
            pool=_pool_of(design, index),
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
        """The deciding statement, see `oversight.harness.types.deciding_statement`; there must be one."""
        return deciding_statement(self.statements)

    @property
    def is_uniform(self) -> bool:
        """Whether the protocol drew options uniformly; assumed for labels without a stated protocol."""
        return not self.statements or self.statement.estimator == "likelihood"

    @property
    def is_unequal(self) -> bool:
        """Whether items were drawn from a pool with unequal chances."""
        return self.pool is not None and self.pool.weight is not None

    @property
    def is_even(self) -> bool:
        """Whether items and their options were drawn with equal chances."""
        return self.is_uniform and not self.is_unequal

    @property
    def is_resolved(self) -> bool:
        """Whether the protocol asked about every item until it was resolved."""
        return bool(self.statements) and self.statement.estimator == "resolved"

    @property
    def tells_accuracy(self) -> bool:
        """Whether the protocol identifies one model's accuracy."""
        return not self.statements or "accuracy" in self.statement.answers

    @property
    def conditions(self) -> frozenset[str]:
        """Names of the design and the features that decide what the labels can be used for.

        The design is named by what the labels tell, so that every protocol has one. The table of combinations
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
        """Whether an item has a label, including abstentions; shape (N,)."""
        return mark(self.item, self.index.size)

    @cached_property
    def answered(self) -> BoolArray:
        """Whether an item has a yes or a no, shape (N,)."""
        return mark(self.item[self.kind != ABSTAINED], self.index.size)

    @cached_property
    def places(self) -> IntArray:
        """Positions of the items with a label, in order."""
        return np.flatnonzero(self.labelled)

    @cached_property
    def rank(self) -> IntArray:
        """Index in `places` of every label's item, shape (L,)."""
        found: IntArray = (np.cumsum(self.labelled) - 1)[self.item]
        return found

    @cached_property
    def item_options(self) -> IntArray:
        """K of every item, shape (N,), 2 without a label; its first label decides."""
        found = np.full(self.index.size, 2)
        found[self.item[::-1]] = self.questions.n_options[::-1]
        return found

    @cached_property
    def n_options(self) -> IntArray:
        """K of the items at `places`."""
        return self.item_options[self.places]

    @cached_property
    def answers(self) -> IntArray:
        """Row of the label that answers each question of `drawn`, the later of two; −1 for an open one."""
        if self.drawn is None:
            return np.zeros(0, np.int64)
        order = np.argsort(self.questions.key, kind="stable")
        keys, asked = self.questions.key[order], self.drawn.key
        if not keys.size:
            return np.full(asked.size, -1)
        place = np.searchsorted(keys, asked, side="right") - 1
        rows: IntArray = np.where((place >= 0) & (keys[place] == asked), order[place], -1)
        return rows

    @property
    def asked_items(self) -> BoolArray:
        """Items with a question; if unknown, items with a label."""
        return self.asked if self.asked.any() else self.labelled

    @property
    def number_answered(self) -> int:
        """Number of labels that are answers; passed-over questions are not."""
        return len(self) - (0 if self.passed is None else int(np.count_nonzero(self.passed)))

    def __len__(self) -> int:
        return len(self.kind)

    def take(self, rows: AnyIntArray) -> LabelColumns:
        """Select labels and keep the design."""
        passed = None if self.passed is None else self.passed[rows]
        return replace(self, questions=self.questions.take(rows), kind=self.kind[rows], passed=passed)

    def pass_over(self, questions: QuestionColumns) -> LabelColumns:
        """Append an abstention for every passed-over question."""
        if not len(questions):
            return self
        kind = np.concatenate([self.kind, np.full(len(questions), ABSTAINED)])
        passed = np.arange(len(kind)) >= len(self)
        return replace(self, questions=self.questions.join(questions), kind=kind, passed=passed)


def mark(items: AnyIntArray, size: int) -> BoolArray:
    """Shape (size,): True for these items."""
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
"""One model's predictions as records, one an item, or as columns."""


def align(predictions: AnyPredictions, labels: AnyLabels) -> tuple[PredictionColumns, LabelColumns]:
    """One model's predictions and labels as columns over one index, see `align_models`."""
    (one,), columns = align_models([predictions], labels)
    return one, columns


def align_models(
    models: Sequence[AnyPredictions], labels: AnyLabels
) -> tuple[list[PredictionColumns], LabelColumns]:
    """As `align_pool`, without predictions of items that were not drawn from a pool."""
    columns, said = align_pool(models, labels)
    return [keep_drawn(rows, said) for rows in columns], said


def align_pool(
    models: Sequence[AnyPredictions], labels: AnyLabels
) -> tuple[list[PredictionColumns], LabelColumns]:
    """Predictions of several models and labels as columns over one index.

    Columns stay as they are. The items of records are those predicted, in their order, then others that
    have a label or a question.

    Raises
    ------
    EstimateError
        If an item is predicted twice, or an option is missing; names the row.
    WrongType
        If one is not a list of predictions or labels.
    TypeError
        If records meet columns, or columns are of several indexes.
    """
    for rows in models:
        if not isinstance(rows, PredictionColumns):
            check_records("predictions", rows, Prediction)
    if not isinstance(labels, LabelColumns):
        check_records("labels", labels, Label)
    columns = [rows for rows in models if isinstance(rows, PredictionColumns)]
    records = [rows for rows in models if not isinstance(rows, PredictionColumns)]
    if isinstance(labels, LabelColumns):
        if records or any(rows.index is not labels.index for rows in columns):
            raise TypeError("labels as columns need predictions as columns over the same items")
        return columns, labels
    if columns:
        raise TypeError("predictions as columns need labels as columns over the same items")
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
    """Predictions of the items drawn from a pool; all predictions without such a draw.

    A prediction for an item that will not be asked about is neither wrong nor waiting.
    """
    return predictions if labels.pool is None else predictions.on(labels.pool.drawn)


def keep_predicted(labels: LabelColumns, predictions: PredictionColumns) -> LabelColumns:
    """Labels of items with a prediction, with their design: a run under way has fewer items."""
    kept = predictions.is_there[labels.item]
    return labels if kept.all() else labels.take(np.flatnonzero(kept))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ItemGroup:
    """A group of items as a separate study.

    Attributes
    ----------
    name
        Name, for example of their stratum.
    places
        Their positions among all items.
    index
        A separate index in the same order.
    labels
        Their questions and answers, as if there were no others.
    """

    name: str
    places: IntArray
    index: ItemIndex
    labels: LabelColumns

    def take(self, predictions: PredictionColumns) -> PredictionColumns:
        """Select a model's predictions for the group."""
        confidence = predictions.confidence
        return PredictionColumns(
            index=self.index,
            option=predictions.option[self.places],
            confidence=None if confidence is None else confidence[self.places],
        )


def split_items(groups: ItemValues, labels: LabelColumns) -> Iterator[ItemGroup]:
    """Return every group of items, in little more time than for the whole.

    Items without a group are in none.
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
        )
        yield ItemGroup(name=name, places=places, index=index, labels=found)


def _move_pool(pool: ItemPool | None, places: IntArray) -> ItemPool | None:
    """Return the drawn items of a group as one stratum, because their number was random."""
    if pool is None:
        return None
    weight = None if pool.weight is None else pool.weight[places]
    return ItemPool(stratum=np.where(pool.drawn[places], 0, -1), size=places.size, weight=weight)


def _find_rows(code: AnyIntArray, size: int) -> list[IntArray]:
    """Rows of every code from 0, in order."""
    order = np.argsort(code, kind="stable")
    ends = np.searchsorted(code[order], np.arange(size + 1))
    return [order[start:end] for start, end in pairwise(ends.tolist())]


def _index_of(index: ItemIndex, places: IntArray) -> ItemIndex:
    return ItemIndex(places.size, lambda: [index.ids[place] for place in places.tolist()])


def _move(questions: QuestionColumns, index: ItemIndex, place: IntArray) -> QuestionColumns:
    return replace(questions, index=index, item=place[questions.item])


LEAST = 5
"""With fewer questions than this a class has the common rate: its own tells nothing."""
CHANCE = 0.05
"""The χ² test of equal answering rates takes a smaller p-value as proof that they differ."""


def answering_rates(
    asked: Sequence[int] | AnyIntArray, answered: Sequence[int] | AnyIntArray, *, chance: float = CHANCE
) -> FloatArray:
    """Share of answered questions about each class, in [0, 1]; equal unless a test shows a difference.

    Parameters
    ----------
    asked, answered
        Shape (C,): questions about each class, and those of them with a yes or a no.
    chance
        p-value of the test below which the rates differ.

    Returns
    -------
    array
        Shape (C,). The common rate if a χ² test finds no difference; a class with fewer than five questions
        always has the common rate.

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
    """All questions, and whether they have a yes or a no; includes open ones if they are known."""
    if labels.drawn is None or not with_open:
        return labels.questions, np.asarray(labels.kind != ABSTAINED)
    row = labels.answers
    return labels.drawn, (row >= 0) & (np.append(labels.kind, ABSTAINED)[row] != ABSTAINED)


TEXT_CLUSTER = "@text"
"""The value of ``[items] cluster`` that makes items with the same text one cluster."""
RELEVANT_EXCESS = 0.05
"""Share by which repeated texts may enlarge a variance before an interval no longer holds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RepeatedTexts:
    """Numbers of items that repeat another item's text.

    Attributes
    ----------
    texts
        Number of texts that several items have.
    items
        Number of items that have them.
    excess
        Share by which the variance of a mean over the items grows if items with the same text have the same
        outcome: Σ m²/n − 1 for texts that m of n items have.
    """

    texts: int
    items: int
    excess: float


def digest_text(text: str, options: Sequence[str]) -> int:
    """Return a number below 2⁶³ that items with equal text and equal options share.

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
        Shape (n,): a number for the text of every item.
    cluster
        Shape (n,): the cluster of every item. Items of one cluster already count as dependent, so that only
        pairs of different clusters add to `excess`. None if items are independent.

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
