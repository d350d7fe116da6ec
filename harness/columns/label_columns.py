"""Labels as columns, with the design they were collected by."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from oversight.harness.arrays import AnyIntArray, BoolArray, FloatArray, IntArray
from oversight.harness.columns.item_index import ItemIndex, ItemValues
from oversight.harness.columns.item_pool import ItemPool
from oversight.harness.columns.prediction_columns import PredictionColumns
from oversight.harness.columns.question_columns import QuestionColumns
from oversight.harness.types import (
    Label,
    LabelDesign,
    LabelKind,
    ProtocolStatement,
    deciding_statement,
    design_of,
)

YES, NO, ABSTAINED = 1, 0, -1
_KIND = {LabelKind.ORDINARY: YES, LabelKind.COMPLEMENTARY: NO, LabelKind.ABSTAINED: ABSTAINED}


@dataclass(frozen=True, kw_only=True, eq=False)
class LabelColumns:
    """L labels in the order of their answers, with the design they were collected by.

    Attributes
    ----------
    questions
        What the labels answer.
    kind
        1 yes, 0 no, −1 abstained; shape (L,).
    statements
        Those of every protocol that drew one of the questions.
    drawn
        All questions, answered or not; None where only answers are known.
    asked
        Whether the item has a question, shape (N,); all False where that is not known.
    cluster
        Cluster of every item; None if items are independent.
    pool
        The items that were drawn from a larger pool; None where all were meant to be asked about.
    passed
        Whether each abstention stands for an open question that its expert passed over, shape (L,); None
        if there are none.
    models
        Predictions of all models of the study, against which checks hold the answers; may be empty.
    rates
        Share of the questions about each option that was answered, shape (K,), if it is known from more
        questions than these labels are about; else None.
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
        """From labels of items of the index, with their design if they carry one."""
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
        """Place of every label's item, shape (L,)."""
        return self.questions.item

    @property
    def option(self) -> IntArray:
        """The option that every label is about, shape (L,)."""
        return self.questions.option

    @property
    def statement(self) -> ProtocolStatement:
        """The one that decides, see `oversight.harness.types.deciding_statement`; there must be one."""
        return deciding_statement(self.statements)

    @property
    def is_uniform(self) -> bool:
        """Whether the protocol drew options uniformly; labels of no stated protocol are taken for such."""
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
        """Whether the protocol tells one model's accuracy."""
        return not self.statements or "accuracy" in self.statement.answers

    @property
    def conditions(self) -> frozenset[str]:
        """Names of the design and the features that decide what the labels can be used for.

        The design is named by what the labels tell, so that every protocol has one. The table of combinations
        (`oversight.harness.estimate.RULES`) uses these names.
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
        """Whether an item has a label, an abstention too; shape (N,)."""
        return mark(self.item, self.index.size)

    @cached_property
    def answered(self) -> BoolArray:
        """Whether an item has a yes or a no, shape (N,)."""
        return mark(self.item[self.kind != ABSTAINED], self.index.size)

    @cached_property
    def places(self) -> IntArray:
        """Places of the items that have a label, in order."""
        return np.flatnonzero(self.labelled)

    @cached_property
    def rank(self) -> IntArray:
        """Which of `places` the item of every label is, shape (L,)."""
        found: IntArray = (np.cumsum(self.labelled) - 1)[self.item]
        return found

    @cached_property
    def n_options(self) -> IntArray:
        """K of the items at `places`; the first label of an item decides."""
        found = np.zeros(self.index.size, dtype=np.int64)
        found[self.item[::-1]] = self.questions.n_options[::-1]
        return found[self.places]

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
        """Items that have a question; where that is not known, those with a label."""
        return self.asked if self.asked.any() else self.labelled

    @property
    def number_answered(self) -> int:
        """Labels that are answers: questions that were passed over are none."""
        return len(self) - (0 if self.passed is None else int(np.count_nonzero(self.passed)))

    def __len__(self) -> int:
        return len(self.kind)

    def take(self, rows: AnyIntArray) -> LabelColumns:
        """Some of the labels, with the same design."""
        passed = None if self.passed is None else self.passed[rows]
        return replace(self, questions=self.questions.take(rows), kind=self.kind[rows], passed=passed)

    def pass_over(self, questions: QuestionColumns) -> LabelColumns:
        """The same labels, followed by an abstention for every question that was passed over."""
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
    places = index.find(ids)
    return mark(places[places >= 0], index.size)
