"""Page through a study's items by position, forward and backward; every page is as fast as the first.

A page is requested by the position of an item, not by a page number. So consecutive pages contain every item
once, even if items are added in the meantime.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Self

import numpy as np

from oversight.harness.arrays import FAILED, UNREADABLE, AnyIntArray, BoolArray, IntArray
from oversight.harness.columns import (
    ABSENT,
    ABSTAINED,
    NO,
    YES,
    ItemValues,
    QuestionColumns,
    mark,
)
from oversight.harness.errors import BadInput
from oversight.harness.output import did_you_mean
from oversight.harness.store import Store

MOST_ITEMS = 500
"""Maximum number of items on one page."""
_OPEN = -2
"""Code in `ItemColumns.said` for a question without an answer."""


class ItemVerdict(StrEnum):
    """Outcome of a question about an item."""

    CONFIRMED = "confirmed"
    """The expert said yes."""
    REFUTED = "refuted"
    """The expert said no."""
    ABSTAINED = "abstained"
    """The expert did not decide: unsure, or skipped."""
    OPEN = "open"
    """There is no answer yet."""


class ModelOutcome(StrEnum):
    """Outcome of a model's prediction about an item."""

    CONFIRMED = "confirmed"
    """An expert said yes to the predicted option."""
    REFUTED = "refuted"
    """An expert said no to the predicted option, or yes to another one."""
    UNREADABLE = "unreadable"
    """The model answered, but named no option."""
    FAILED = "failed"
    """Every call failed, so there is no answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemFilter:
    """Conditions on items, all of which must hold; without conditions, all items match.

    Attributes
    ----------
    words
        Words that all occur in the item's id, text or options; see `Store.words`. Empty means no condition.
    stratum
        A metadata column of the items, and the item's value in it.
    expert, asked, verdict
        The item has a question that was put to this expert, was about this class, and had this outcome.
    model, outcome
        The item has a prediction with this outcome, by this model or, without `model`, by any model.
    disagreed
        Two or more models that do not all predict the same option for the item; empty means no condition.
    """

    words: str = ""
    stratum: tuple[str, str] | None = None
    expert: str | None = None
    asked: str | None = None
    verdict: ItemVerdict | None = None
    model: str | None = None
    outcome: ModelOutcome | None = None
    disagreed: tuple[str, ...] = ()


_SAID = {
    ItemVerdict.CONFIRMED: YES,
    ItemVerdict.REFUTED: NO,
    ItemVerdict.ABSTAINED: ABSTAINED,
    ItemVerdict.OPEN: _OPEN,
}
_CODE = {ModelOutcome.UNREADABLE: UNREADABLE, ModelOutcome.FAILED: FAILED}
_SHOWN = 20


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ItemColumns:
    """Columns of the R questions about N items (13 bytes per question), and the models' predictions.

    Attributes
    ----------
    item, option
        Position of the item, and the asked option; shape (R,).
    expert
        Position in `experts` of the person who answered the question or has it now; shape (R,).
    said
        1 yes, 0 no, −1 abstained, −2 not answered yet; shape (R,).
    predictions
        Name of the model → shape (N,): the option, from 0; −1 unreadable, −2 failed, −3 not asked.
    classes
        The options of all items; empty if items have different options.
    """

    size: int
    item: AnyIntArray
    option: AnyIntArray
    expert: AnyIntArray
    said: AnyIntArray
    experts: Sequence[str]
    predictions: Mapping[str, AnyIntArray]
    classes: Sequence[str]

    @classmethod
    def read(cls, store: Store) -> Self:
        """Read questions, answers, and the newest run of every model."""
        index = store.columns.read_index()
        labels = store.columns.read_labels(index)
        drawn = labels.drawn or labels.questions
        said = np.full(len(drawn), _OPEN, np.int8)
        keys = _number(drawn)
        order = np.argsort(keys)
        said[order[np.searchsorted(keys[order], _number(labels.questions))]] = labels.kind
        newest = {run["name"]: run["id"] for run in store.runs.read_runs()}
        return cls(
            size=index.size,
            item=drawn.item.astype(np.int32),
            option=drawn.option.astype(np.int32),
            expert=drawn.answering[0].astype(np.int32),
            said=said,
            experts=drawn.answering[1],
            predictions={
                name: store.run_columns.read_run(run, index).predictions.option.astype(np.int16)
                for name, run in newest.items()
            },
            classes=store.columns.read_classes(),
        )


def _number(questions: QuestionColumns) -> AnyIntArray:
    """Return a unique number per question, computed from its item, option and expert."""
    return questions.key * len(questions.experts) + questions.expert


def _find_name(name: str, names: Sequence[str], what: str) -> int:
    """Return the position of a name in `names`; `what` describes it in the message.

    Raises
    ------
    BadInput
        If `name` is not in `names`.
    """
    if name in names:
        return names.index(name)
    shown = ", ".join(map(repr, names[:_SHOWN])) or "none"
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    raise BadInput(f"there is no {what} {name!r}; there are: {shown}{more}{did_you_mean(name, names)}")


def _match_questions(wanted: ItemFilter, columns: ItemColumns) -> Iterator[BoolArray]:
    conditions = list[BoolArray]()
    if wanted.expert is not None:
        conditions.append(columns.expert == _find_name(wanted.expert, columns.experts, "expert"))
    if wanted.asked is not None:
        if not columns.classes:
            raise BadInput(f"there is no class {wanted.asked!r}, because every item has its own options")
        conditions.append(columns.option == _find_name(wanted.asked, columns.classes, "class"))
    if wanted.verdict is not None:
        _find_name(wanted.verdict, [*map(str, ItemVerdict)], "verdict")
        conditions.append(columns.said == _SAID[wanted.verdict])
    if conditions:
        yield mark(columns.item[np.logical_and.reduce(conditions)], columns.size)


def _match_predictions(wanted: ItemFilter, columns: ItemColumns) -> Iterator[BoolArray]:
    models = list(columns.predictions.values())
    if wanted.model is not None:
        models = [models[_find_name(wanted.model, list(columns.predictions), "model")]]
        yield models[0] != ABSENT
    if wanted.outcome is not None:
        _find_name(wanted.outcome, [*map(str, ModelOutcome)], "outcome")
        found = np.zeros(columns.size, np.bool_)
        for option in models:
            found |= _became(wanted.outcome, option, columns)
        yield found
    if wanted.disagreed:
        names = list(columns.predictions)
        rivals = {_find_name(name, names, "model") for name in wanted.disagreed}
        if len(rivals) == 1:
            raise BadInput(f"only {wanted.disagreed[0]!r} is named; name a second model")
        yield _disagree([columns.predictions[names[place]] for place in rivals])


def _became(outcome: ModelOutcome, option: AnyIntArray, columns: ItemColumns) -> BoolArray:
    if outcome in _CODE:
        return np.asarray(option == _CODE[outcome])
    predicted = option[columns.item]
    hit = predicted == columns.option
    said = hit & (columns.said == YES)
    if outcome == ModelOutcome.REFUTED:
        said = (predicted >= 0) & (columns.said == np.where(hit, NO, YES))
    return mark(columns.item[said], len(option))


def _disagree(models: Sequence[AnyIntArray]) -> BoolArray:
    """Return for each item whether any two models predict different options."""
    lowest = np.full(len(models[0]), np.iinfo(np.int16).max, np.int16)
    highest = np.full(len(models[0]), -1, np.int16)
    for option in models:
        np.minimum(lowest, option, out=lowest, where=option >= 0)
        np.maximum(highest, option, out=highest, where=option >= 0)
    return np.asarray(lowest < highest)


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemPage:
    """One page of the items that a filter finds, in source order.

    Attributes
    ----------
    items
        Position of each item in the study's source → its id.
    matches, of
        Number of items that the filter finds, and number of all items, both counted when the columns were
        read.
    before
        Value of the argument `before` with which `StudyItems.read_page` returns the previous page; None on
        the first page.
    after
        Value of the argument `after` with which that method returns the next page; None on the last page.
    """

    items: Mapping[int, str]
    matches: int
    of: int
    before: int | None
    after: int | None


class StudyItems:
    """The items of a study, and columns to filter them by; each column is read once.

    The columns take 13 bytes per question and 2 bytes per prediction. Reading them temporarily takes more. A
    metadata column is read when first used, then cached; it takes 8 bytes per item plus its distinct values.

    Parameters
    ----------
    store
        The study's database, used to search for words and to look up ids.
    columns
        Questions and predictions.
    strata
        Metadata columns read before, by name.

    Examples
    --------
    >>> from oversight.harness.config import read_study
    >>> from oversight.harness.analysis import ItemFilter
    >>> from oversight.harness.store import Store
    >>> with Store(read_study("study.toml").store_url) as store:
    ...     items = StudyItems.read(store)
    ...     print(len(items.find_items(ItemFilter())))
    ...
    54
    """

    def __init__(
        self, store: Store, columns: ItemColumns, strata: dict[str, ItemValues] | None = None
    ) -> None:
        self._store, self._columns = store, columns
        self._strata = dict[str, ItemValues]() if strata is None else strata

    @classmethod
    def read(cls, store: Store) -> Self:
        """Read questions, answers, and the newest run of every model."""
        return cls(store, ItemColumns.read(store))

    def read_again(self) -> Self:
        """Read questions and predictions again; keep cached metadata columns if no items were added."""
        columns = ItemColumns.read(self._store)
        return type(self)(self._store, columns, self._strata if columns.size == self._columns.size else None)

    def find_items(self, wanted: ItemFilter) -> IntArray:
        """Return the positions of all items that a filter finds, in ascending order.

        Raises
        ------
        BadInput
            If the filter names an expert, a class, a model or a stratum that does not exist; the message
            names the existing ones.
        """
        found = np.ones(self._columns.size, np.bool_)
        for condition in (
            *_match_questions(wanted, self._columns),
            *_match_predictions(wanted, self._columns),
        ):
            found &= condition
        if wanted.stratum is not None:
            found &= self._match_stratum(*wanted.stratum)
        if wanted.words.strip():
            places = self._store.words.find_items(wanted.words)
            found &= mark(places[places < self._columns.size], self._columns.size)
        return np.flatnonzero(found)

    def read_page(
        self, wanted: ItemFilter, *, after: int | None = None, before: int | None = None, limit: int = 50
    ) -> ItemPage:
        """Return one page of the items that a filter finds: the items after a position, or before a position.

        Parameters
        ----------
        after, before
            Position of an item; at most one of the two is given. If neither is given, the first page is
            returned.
        limit
            Maximum number of items, 1 to 500.

        Raises
        ------
        BadInput
            As `find_items`; also if both positions are given, or the limit is out of bounds.
        """
        if after is not None and before is not None:
            raise BadInput("give after or before, not both")
        if not 1 <= limit <= MOST_ITEMS:
            raise BadInput(f"limit must be 1 to {MOST_ITEMS}, is {limit}")
        found = self.find_items(wanted)
        if before is not None:
            end = int(np.searchsorted(found, before))
            start = max(end - limit, 0)
        else:
            start = 0 if after is None else int(np.searchsorted(found, after, side="right"))
            end = min(start + limit, len(found))
        return ItemPage(
            items=self._store.columns.read_ids(found[start:end].tolist()),
            matches=len(found),
            of=self._columns.size,
            before=int(found[start - 1]) + 1 if start else None,
            after=int(found[end]) - 1 if end < len(found) else None,
        )

    def read_column(self, column: str) -> ItemValues:
        """Return a metadata column, which is then cached.

        Raises
        ------
        BadInput
            If no item has the column; the message names the existing columns.
        """
        values = self._strata.get(column)
        if values is None:
            values = self._store.columns.read_meta(column)
            if not values.names:
                _find_name(column, self._store.columns.read_meta_names(), "column of the items")
            self._strata[column] = values
        return values

    def _match_stratum(self, column: str, value: str) -> BoolArray:
        values = self.read_column(column)
        place = _find_name(value, values.names, f"stratum of {column!r}")
        return np.asarray(values.code[: self._columns.size] == place)
