"""Answers as a table, and scores that are kept: the same as those of all answers at once."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from oversight.agents.search.fitness.answer_table import AnswerTable
from oversight.agents.search.fitness.board import ScoredRows
from oversight.agents.search.fitness.power import Kind
from oversight.agents.search.fitness.scores import ESTIMATORS, score_items
from oversight.harness import FAILED, UNREADABLE
from oversight.harness.types import Item, Prediction, PredictionStatus
from tests.agents.simulated_search import World

ITEMS = tuple(Item(f"i{j}", "", ("a", "b", "c"), (0, 1, 2)) for j in range(5))
IDS = [item.id for item in ITEMS]
SAID = [
    Prediction("i1", 2, input_tokens=3, output_tokens=4),
    Prediction("i3", None, PredictionStatus.TRUNCATED, "cut", output_tokens=9),
    Prediction("i4", None, PredictionStatus.FAILED, "down"),
]


def test_the_table_holds_exactly_the_answers() -> None:
    table = AnswerTable(IDS)
    table.put_answers("p", 0, SAID)
    table.put_answers("p", 1, SAID[:1])
    assert table.options(["p", "q"], ITEMS).tolist() == [
        [FAILED, 2, FAILED, UNREADABLE, UNREADABLE],
        [FAILED] * 5,
    ]
    assert table.is_there(["p"], ITEMS).tolist() == [[False, True, False, True, True]]
    assert table.options(["p"], ITEMS, 1).tolist() == [[FAILED, 2, FAILED, FAILED, FAILED]]
    counts = table.count(["q", "p"], ITEMS)
    assert (counts.answers.tolist(), counts.failed.tolist()) == ([0, 3], [0, 0])
    assert (counts.no_option.tolist(), counts.tokens.tolist()) == ([0, 2], [0, 16])
    read = [(p.item_id, p.option, p.status) for p in table.predictions("p", ITEMS)]
    assert read[:2] == [(p.item_id, p.option, p.status) for p in SAID[:2]]
    assert read[2:] == [("i4", None, PredictionStatus.UNREADABLE)]
    assert table.sum_tokens(ITEMS) == 23


def at(second: int) -> dict[str, str]:
    return {"i4": f"2026-01-01T00:{second // 60:02}:{second % 60:02}+00:00"}


@pytest.mark.parametrize(("second", "excused"), [(0, True), (60, True), (61, False)])
def test_failures_of_two_programs_within_a_minute_are_left_out(second: int, *, excused: bool) -> None:
    table = AnswerTable(IDS)
    for name in "pq":
        table.put_answers(name, 0, SAID)
    table.add_failures(("p", 0), at(100))
    table.add_failures(("p", 1), at(100))  # another replicate of the same program
    assert table.options(["p"], ITEMS)[0, 4] == UNREADABLE
    before = table.changes["p", 0]
    table.add_failures(("q", 0), at(100 + second))
    assert table.changes["p", 0] > before  # so cached scores of p are outdated
    assert table.is_left_out(["p", "q"], ITEMS)[:, 4].tolist() == [excused, excused]
    assert (table.options(["p"], ITEMS)[0, 4] == FAILED) == excused
    assert [p.status for p in table.predictions("p", ITEMS[4:])] == [
        PredictionStatus.FAILED if excused else PredictionStatus.UNREADABLE
    ]
    table.failures.families = {"p": frozenset("p"), "q": frozenset("pq")}
    assert not table.is_left_out(["p", "q"], ITEMS).any()


def test_a_later_answer_stands() -> None:
    table = AnswerTable(IDS)
    table.put_answers("p", 0, SAID)
    table.put_answers("p", 0, [Prediction("i4", 1)])
    assert table.options(["p"], ITEMS[3:]).tolist() == [[UNREADABLE, 1]]
    assert table.changes == {("p", 0): 2}


@pytest.mark.parametrize(
    ("kind", "estimator"), [*(("natural", name) for name in ESTIMATORS), ("routed", "ml")]
)
def test_scores_that_were_kept_are_those_of_all_at_once(kind: Kind, estimator: str) -> None:
    world, kept = World(kind=kind), ScoredRows()
    items, labels = world.state.items("select"), world.state.labels["select"]
    table = AnswerTable(item.id for item in items)
    ids = [program.id for program in world.library]
    for j, program in enumerate(world.library):  # add one program at a time, as the slots of a search do
        answers = world.task.answers(program)
        table.put_answers(
            program.id, 0, [Prediction(i.id, int(answers[int(i.id)])) for i in items[: 120 - 9 * (j % 3)]]
        )
        found = kept.score(table, ids[: j + 1], items, labels, estimator=estimator, replicate=0)
    expected = score_items(table.options(ids, items), labels, estimator)
    assert np.array_equal(found, expected, equal_nan=True)
    settled = replace(labels, truth=np.where(labels.refused.any(axis=1), labels.truth, 0))
    again = kept.score(table, ids, items, settled, estimator=estimator, replicate=0)
    assert np.array_equal(again, score_items(table.options(ids, items), settled, estimator), equal_nan=True)
