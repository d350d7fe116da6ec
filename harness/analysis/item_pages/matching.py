"""Which items meet a filter, by their columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from oversight.harness.analysis.item_pages.item_columns import OPEN, AskedQuestions, ItemColumns
from oversight.harness.analysis.item_pages.item_filter import ItemFilter, ItemVerdict, ModelOutcome
from oversight.harness.arrays import FAILED, UNREADABLE, AnyIntArray, BoolArray
from oversight.harness.columns import ABSENT, ABSTAINED, NO, YES, mark
from oversight.harness.errors import BadInput
from oversight.harness.output import did_you_mean

_SAID = {
    ItemVerdict.CONFIRMED: YES,
    ItemVerdict.REFUTED: NO,
    ItemVerdict.ABSTAINED: ABSTAINED,
    ItemVerdict.OPEN: OPEN,
}
_CODE = {ModelOutcome.UNREADABLE: UNREADABLE, ModelOutcome.FAILED: FAILED}
_SHOWN = 20


def match_columns(wanted: ItemFilter, columns: ItemColumns) -> BoolArray:
    """Shape (N,): the items that meet all that a filter asks of questions and predictions.

    Raises
    ------
    BadInput
        If an expert, a class, a verdict, a model or an outcome is unknown; names those that there are.
    """
    found = np.ones(columns.size, np.bool_)
    for condition in (*_match_questions(wanted, columns), *_match_predictions(wanted, columns)):
        found &= condition
    return found


def find_name(name: str, names: Sequence[str], what: str) -> int:
    """Place of a name among those that there are; `what` it is a name of.

    Raises
    ------
    BadInput
        If it is none of them.
    """
    if name in names:
        return names.index(name)
    shown = ", ".join(map(repr, names[:_SHOWN])) or "none"
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    raise BadInput(f"there is no {what} {name!r}; there are: {shown}{more}{did_you_mean(name, names)}")


def _match_questions(wanted: ItemFilter, columns: ItemColumns) -> Iterator[BoolArray]:
    questions, conditions = columns.questions, list[BoolArray]()
    if wanted.expert is not None:
        conditions.append(questions.expert == find_name(wanted.expert, questions.experts, "expert"))
    if wanted.asked is not None:
        if not columns.classes:
            raise BadInput(f"there is no class {wanted.asked!r}: the items have options of their own")
        conditions.append(questions.option == find_name(wanted.asked, columns.classes, "class"))
    if wanted.verdict is not None:
        find_name(wanted.verdict, [*map(str, ItemVerdict)], "verdict")
        conditions.append(questions.said == _SAID[wanted.verdict])
    if conditions:
        yield mark(questions.item[np.logical_and.reduce(conditions)], columns.size)


def _match_predictions(wanted: ItemFilter, columns: ItemColumns) -> Iterator[BoolArray]:
    models = list(columns.predictions.values())
    if wanted.model is not None:
        models = [models[find_name(wanted.model, list(columns.predictions), "model")]]
        yield models[0] != ABSENT
    if wanted.outcome is not None:
        find_name(wanted.outcome, [*map(str, ModelOutcome)], "outcome")
        found = np.zeros(columns.size, np.bool_)
        for option in models:
            found |= _became(wanted.outcome, option, columns.questions)
        yield found
    if wanted.disagreed:
        names = list(columns.predictions)
        rivals = {find_name(name, names, "model") for name in wanted.disagreed}
        if len(rivals) == 1:
            raise BadInput(f"models disagree with each other, and {wanted.disagreed[0]!r} stands alone")
        yield _disagree([columns.predictions[names[place]] for place in rivals])


def _became(outcome: ModelOutcome, option: AnyIntArray, questions: AskedQuestions) -> BoolArray:
    if outcome in _CODE:
        return np.asarray(option == _CODE[outcome])
    predicted = option[questions.item]
    hit = predicted == questions.option
    said = hit & (questions.said == YES)
    if outcome == ModelOutcome.REFUTED:
        said = (predicted >= 0) & (questions.said == np.where(hit, NO, YES))
    return mark(questions.item[said], len(option))


def _disagree(models: Sequence[AnyIntArray]) -> BoolArray:
    """Whether two models name different options; who names none disagrees with nobody."""
    lowest = np.full(len(models[0]), np.iinfo(np.int16).max, np.int16)
    highest = np.full(len(models[0]), -1, np.int16)
    for option in models:
        np.minimum(lowest, option, out=lowest, where=option >= 0)
        np.maximum(highest, option, out=highest, where=option >= 0)
    return np.asarray(lowest < highest)
