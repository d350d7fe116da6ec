"""Draw the units of answers that experts are asked about, with recorded inclusion probabilities.

The schemes "equal" and "judge" draw *cells*. A cell is either a criterion of an item or a claim. Questions
about a criterion are asked for every distinct answer to the item, so that models are compared on the same
criteria. A claim is asked about once for all answers that make it. All questions of a cell are drawn
together, with one probability π. A cell has a size z in each answer, and π is proportional to the largest of
these sizes, where

    z = ⅔ u/Σu + ⅓/U       within an answer of U units

and u = |points| with "equal", or |points| √(p(1 − p)) with "judge", where p is the judge's probability. With
"judge", the first term of z is also proportional to Σu divided by the item's positive points. Here, π =
min(1, c z), and c is chosen so that n questions are expected. One systematic pass over all cells (items in
random order, units of an item in random order) draws each cell with exactly its probability. The number of
cells that the pass draws from an item is the sum of the probabilities of the item's cells, rounded down or up
(Madow 1949, Ann. Math. Stat. 20). The term ⅓/U bounds the inverse-probability weights of estimates that
weight all units equally.

The scheme "first no" draws whole items, with all their answers. The units of an answer are in random order
(the same for all answers to the item) or, with a judge, sorted by the probability of an error, the largest
first. An *error* is a unit with positive points that is not met, or one with negative points that is met.
Units are asked about in this order until an error is found. A unit's recorded probability is the probability
that its item is drawn and the unit is the first in this order.

A unit of unknown field has a queue of T experts from different fields, in random order. An expert who says
"not my field" passes the unit on. If exactly one of the F fields accepts it, an expert of this field is in
the queue with probability T/F, whatever the other experts say, so the recorded probability is π T/F.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oversight.harness.arrays import BoolArray, FloatArray, IntArray
from oversight.harness.errors import EstimateError
from oversight.harness.open_answers.units import (
    Judgements,
    ObjectArray,
    UnitTable,
    check_points,
    number_values,
    object_column,
)

EQUAL, JUDGE, FIRST_NO = "equal", "judge", "first no"
SCHEMES = (EQUAL, JUDGE, FIRST_NO)
_FLAT = 1 / 3
"""Share of an answer's questions that is spread evenly over its units."""
_CERTAIN = 1 - 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class Draw:
    """Questions to ask; one row per question and expert in the question's queue. Columns have shape (Q,).

    With the scheme "first no", a question that belongs to several answers has rows for each answer; with the
    other schemes, it has rows for only one answer.

    Attributes
    ----------
    question
        Index of the question, as in `UnitTable`.
    row
        Row of the unit table that contains the shown answer and unit.
    answer, unit
        Ids of the shown answer and unit.
    propensity, order
        As in `Judgements`.
    expert
        Expert to ask.
    attempt
        Place of the expert in the question's queue, counted from 1. An expert is asked if all earlier experts
        in the queue said "not my field".
    """

    question: IntArray
    row: IntArray
    answer: ObjectArray
    unit: ObjectArray
    propensity: FloatArray
    order: IntArray
    expert: ObjectArray
    attempt: IntArray

    def __len__(self) -> int:
        return len(self.question)


def draw_questions(
    table: UnitTable,
    n: int,
    scheme: str,
    seed: int,
    *,
    experts: Mapping[str, str],
    judge: FloatArray | None = None,
    attempts: int | None = None,
) -> Draw:
    """Draw about `n` questions from the units of all answers.

    Parameters
    ----------
    table
        Every unit of every answer.
    n
        Expected number of questions. For "first no", an upper limit; fewer questions are asked if errors are
        found.
    scheme
        "equal": about equally many questions per answer. "judge": more questions about units of which the
        judge is unsure. "first no": whole answers, each asked about until its first error.
    seed
        Seed of all draws.
    experts
        Expert → field.
    judge
        Shape (R,): a judge's probability that the reply is "yes". The scheme "judge" needs it. The scheme
        "first no" uses it to ask about likely errors first; without it, the order is random.
    attempts
        Number of experts in the queue of a unit whose field is unknown, each from a different field; None for
        one expert from every field.

    Raises
    ------
    EstimateError
        If n < 1, the scheme is unknown, a probability is missing, an item has no positive points, or a field
        has no expert.

    Examples
    --------
    >>> from oversight.harness.example_data import example_units
    >>> drawn = draw_questions(example_units(), 6, "equal", 1, experts={"ann": "law"})
    >>> len(set(drawn.answer.tolist())), set(drawn.propensity.tolist())
    (6, {0.5})
    """
    _check(n, scheme, judge)
    check_points(table)
    rng = np.random.default_rng(seed)
    if scheme == FIRST_NO:
        row, propensity, order = _draw_items(table, n, judge, rng)
    else:
        row, propensity = _draw_cells(table, n, judge if scheme == JUDGE else None, rng)
        order = np.zeros(len(row), dtype=np.int64)
    return _assign(table, row, propensity, order, experts, attempts, rng)


def _check(n: int, scheme: str, judge: FloatArray | None) -> None:
    if n < 1:
        raise EstimateError(f"n, the number of questions, must be at least 1, is {n}")
    if scheme not in SCHEMES:
        raise EstimateError(f"scheme must be one of {', '.join(SCHEMES)}, is {scheme!r}")
    if judge is None and scheme == JUDGE:
        raise EstimateError('scheme "judge" needs a probability of every unit')
    if judge is not None:
        good = (judge >= 0) & (judge <= 1)
        for row in np.flatnonzero(~good)[:1]:
            raise EstimateError(f"judge[{row}] must lie in [0, 1], is {judge[row]}")


def find_chances(table: UnitTable, n: int, judge: FloatArray | None = None) -> FloatArray:
    """Return the probability π that each unit of the table is drawn, shape (R,).

    For units of unknown field, the recorded probability is π T/F (explained in the module's docstring).
    """
    cell = _find_cells(table)
    return _cell_chances(table, cell, n, judge)[cell]


def _find_cells(table: UnitTable) -> IntArray:
    """Return the index of each row's cell: a criterion of an item, or a question about a claim."""
    item, unit = number_values(table.item)[0], number_values(table.unit)[0]
    pair = item * (unit.max(initial=0) + 1) + unit
    _, code, count = np.unique(pair, return_inverse=True, return_counts=True)
    shared = count[code] > 1
    key = np.where(shared, code, len(count) + table.question)
    cells: IntArray = np.unique(key, return_inverse=True)[1].astype(np.int64)
    return cells


def _cell_chances(table: UnitTable, cell: IntArray, n: int, judge: FloatArray | None) -> FloatArray:
    answer = number_values(table.answer)[0]
    size = np.abs(table.points)
    if judge is not None:
        size = size * np.sqrt(judge * (1 - judge))
    units, whole = np.bincount(answer), np.bincount(answer, size)
    positive = np.bincount(answer, np.maximum(table.points, 0.0))
    flat = 1 / units[answer]
    of_answer = np.where(whole[answer] > 0, size / np.maximum(whole[answer], 1e-300), flat)
    share: FloatArray = np.ones(len(answer))
    if judge is not None:
        unsure = whole / np.maximum(positive, 1e-300)
        mean = unsure[positive > 0].mean() if (positive > 0).any() else 0.0
        share = (unsure / mean if mean > 0 else np.ones(len(units)))[answer]
    wanted = (1 - _FLAT) * share * of_answer + _FLAT * flat
    cells = int(cell.max()) + 1
    largest = np.zeros(cells)
    np.maximum.at(largest, cell, wanted)
    pairs = np.unique(np.column_stack([cell, table.question]), axis=0)
    cost = np.bincount(pairs[:, 0], minlength=cells)
    return _fill(largest, cost, n)


def _fill(size: FloatArray, cost: IntArray, n: int) -> FloatArray:
    """Return probabilities π = min(1, c·size), with c such that Σ cost·π = n. All are 1 if n ≥ Σ cost."""
    if n >= cost.sum():
        return np.ones(len(size))
    certain = np.zeros(len(size), dtype=bool)
    while True:
        left = n - float(cost[certain].sum())
        scale = left / float((cost * size)[~certain].sum())
        over = ~certain & (scale * size >= 1)
        if not over.any():
            chances: FloatArray = np.where(certain, 1.0, scale * size)
            return chances
        certain |= over


def _draw_cells(
    table: UnitTable, n: int, judge: FloatArray | None, rng: np.random.Generator
) -> tuple[IntArray, FloatArray]:
    """Draw cells, which the module's docstring defines.

    Returns, for each question of the drawn cells, one row of the table and the probability of the cell.
    """
    cell = _find_cells(table)
    chance = _cell_chances(table, cell, n, judge)
    first = np.unique(cell, return_index=True)[1]
    item = number_values(table.item)[0][first]
    place = rng.permutation(int(item.max()) + 1)[item]
    order = np.lexsort([rng.random(len(first)), place])
    taken = np.zeros(len(first), dtype=bool)
    taken[order] = systematic(chance[order], float(rng.random()))
    rows = np.flatnonzero(taken[cell])
    rows = rows[np.unique(table.question[rows], return_index=True)[1]]
    return rows.astype(np.int64), chance[cell[rows]]


def systematic(chance: FloatArray, start: float) -> BoolArray:
    """Return which units a systematic sample draws.

    Each unit is drawn with the probability in `chance` if `start` is uniform on [0, 1).
    """
    certain = chance >= _CERTAIN
    reached = np.floor(np.cumsum(np.where(certain, 0.0, chance)) + start + 1e-12)
    drawn: BoolArray = certain | (np.diff(reached, prepend=np.floor(start)) > 0)
    return drawn


def _draw_items(
    table: UnitTable, n: int, judge: FloatArray | None, rng: np.random.Generator
) -> tuple[IntArray, FloatArray, IntArray]:
    """Draw the largest number of items that never needs more than `n` questions.

    Returns the drawn items' rows, a probability per row, and a place per row. The probability is that of two
    things together: the row's item is drawn, and the row's unit is first in its answer's order. The place is
    the unit's position in this order, counted from 1.
    """
    item, names = number_values(table.item)
    pairs = np.unique(np.column_stack([item, table.question]), axis=0)
    cost = np.bincount(pairs[:, 0], minlength=len(names))
    reached = int(np.searchsorted(np.sort(cost)[::-1].cumsum(), n, side="right"))
    if reached == 0:
        raise EstimateError(f"{n} questions are too few: one item alone needs {cost.max()}")
    taken = rng.permutation(len(names))[:reached]
    rows = np.flatnonzero(np.isin(item, taken))
    unit, unit_names = number_values(table.unit)
    by_chance = rng.random(len(unit_names))[unit[rows]]
    good: FloatArray = np.zeros(len(rows))
    if judge is not None:
        good = np.where(table.points[rows] < 0, 1 - judge[rows], judge[rows])
    answer = number_values(table.answer[rows])[0]
    sorted_rows = np.lexsort([by_chance, good, answer])
    size = np.bincount(answer)
    start = np.repeat(np.cumsum(size) - size, size)
    order = np.empty(len(rows), dtype=np.int64)
    order[sorted_rows] = np.arange(len(rows)) - start + 1
    drawn = reached / len(names)
    first = drawn / size[answer] if judge is None else np.where(order == 1, drawn, 0.0)
    return rows.astype(np.int64), first, order


def _assign(
    table: UnitTable,
    row: IntArray,
    propensity: FloatArray,
    order: IntArray,
    experts: Mapping[str, str],
    attempts: int | None,
    rng: np.random.Generator,
) -> Draw:
    """Assign experts to every question, at random within each field.

    A question without a field can get several experts, of different fields, who are asked one after the
    other.
    """
    fields = sorted(set(experts.values()))
    people = [sorted(name for name, of in experts.items() if of == field) for field in fields]
    number = {field: j for j, field in enumerate(fields)}
    in_line = len(fields) if attempts is None else min(attempts, len(fields))
    if in_line < 1:
        raise EstimateError(f"attempts and experts must be at least 1, are {attempts} and {len(experts)}")
    questions, asked = np.unique(table.question[row], return_inverse=True)
    of_question = np.empty(len(questions), dtype=object)
    of_question[asked] = table.field[row]
    try:
        known = np.array([-1 if field is None else number[field] for field in of_question], dtype=np.int64)
    except KeyError as error:
        raise EstimateError(f"no expert judges the field {error.args[0]!r}") from None
    line = rng.random((len(questions), len(fields))).argsort(axis=1)[:, :in_line]
    line[:, 0] = np.where(known >= 0, known, line[:, 0])
    person = np.empty((len(questions), in_line), dtype=object)
    for j, names in enumerate(people):
        here = line == j
        person[here] = object_column(names)[rng.integers(len(names), size=int(here.sum()))]
    length = np.where(known >= 0, 1, in_line)[asked]
    where = np.repeat(np.arange(len(row)), length)
    attempt = np.arange(len(where)) - np.repeat(np.cumsum(length) - length, length)
    reached = np.where(known >= 0, 1.0, in_line / len(fields))[asked]
    return Draw(
        question=table.question[row][where],
        row=row[where],
        answer=table.answer[row][where],
        unit=table.unit[row][where],
        propensity=(propensity * reached)[where],
        order=order[where],
        expert=person[asked[where], attempt],
        attempt=attempt + 1,
    )


def join_replies(
    table: UnitTable,
    drawn: Draw,
    replies: Mapping[tuple[int, str], str | None] | Sequence[str | None] | NDArray[Any],
    *,
    gold: ObjectArray | None = None,
) -> Judgements:
    """Join experts' replies to the unit table; a reply counts for every row with the same question.

    Parameters
    ----------
    table
        Every unit of every answer.
    drawn
        Drawn questions with their queues of experts.
    replies
        Mapping (question, expert) → reply, for questions that were asked; the reply is None if it is
        outstanding. Alternatively, shape (Q,): the reply for each row of `drawn`, "" if the expert was not
        asked.
    gold
        Shape (R,): true replies of the units of the table, None if unknown.

    Examples
    --------
    >>> from oversight.harness.example_data import example_units
    >>> drawn = draw_questions(table := example_units(), 12, "equal", 1, experts={"ann": "law"})
    >>> join_replies(table, drawn, {(0, "ann"): "no"}).reply.tolist()[:2]
    ['no', None]
    """
    pairs = list(zip(drawn.question.tolist(), drawn.expert.tolist(), strict=True))
    if not isinstance(replies, Mapping):
        replies = {pair: reply for pair, reply in zip(pairs, replies, strict=True) if reply != ""}
    told = object_column([replies.get(pair, "") for pair in pairs])
    where, source = _match_rows(table, drawn)
    is_drawn = source >= 0
    reply = np.where(is_drawn, told[source], "")
    asked = reply != ""
    nobody = object_column([None])
    return Judgements(
        **{name: getattr(table, name)[where] for name in UnitTable.__slots__},
        asked=asked,
        propensity=np.where(is_drawn, drawn.propensity[source], np.nan),
        order=np.where(is_drawn, drawn.order[source], 0),
        expert=np.where(is_drawn, drawn.expert[source], nobody),
        reply=np.where(asked, reply, nobody),
        gold=nobody.repeat(len(where)) if gold is None else gold[where],
    )


def _match_rows(table: UnitTable, drawn: Draw) -> tuple[IntArray, IntArray]:
    """Repeat each row of the table for every expert in its unit's queue; match the results with `drawn`.

    Returns positions in the table and in the draw; the position in the draw is −1 if the unit was not drawn.
    """
    # The scheme "first no" draws rows of the table. Other schemes draw questions, which rows can share.
    is_ordered = bool((drawn.order > 0).any())
    key, mine = (np.arange(len(table)), drawn.row) if is_ordered else (table.question, drawn.question)
    order = np.lexsort([drawn.attempt, mine])
    begin = np.searchsorted(mine[order], key, side="left")
    found = np.searchsorted(mine[order], key, side="right") - begin
    length = np.maximum(found, 1)
    where = np.repeat(np.arange(len(table)), length)
    step = np.arange(len(where)) - np.repeat(np.cumsum(length) - length, length)
    place = np.minimum(begin[where] + step, len(order) - 1)
    return where, np.where(found[where] > 0, order[place], -1)
