"""Parts of a collection in the order of the draw, whatever the order in which answers came."""

from __future__ import annotations

import numpy as np
import pytest

from oversight.harness.estimate import accuracy, decode
from oversight.harness.types import Answer, Item, Prediction, Question
from oversight.protocols.collect import SimulatedExperts
from oversight.protocols.routing import Partitioned, Sequential, one_expert_per_class
from tests.records import draw_order, growing_parts

CLASSES = ("a", "b", "c", "d")
ITEMS = [Item(f"i{j}", "text", CLASSES, (0, 1, 2, 3)) for j in range(240)]
TRUTH = {
    item.id: int(t) for item, t in zip(ITEMS, np.random.default_rng(3).integers(4, size=240), strict=True)
}
ROSTER = one_expert_per_class(CLASSES)
PREDICTIONS = [
    Prediction(i, (t + (int(i[1:]) % 4 == 0)) % 4 if t else (0 if int(i[1:]) % 2 else 1))
    for i, t in TRUTH.items()
]


def test_the_order_of_arrival_does_not_matter() -> None:
    questions = Partitioned(ROSTER, seed=1).route(ITEMS)
    answers = list(SimulatedExperts(TRUTH).answer(questions))
    expert_by_expert = sorted(answers, key=lambda a: a.expert)
    one, other = (
        [(len(part), accuracy(PREDICTIONS, part).value) for part in growing_parts(decode(said, questions), 8)]
        for said in (answers, expert_by_expert)
    )
    assert one == other
    assert [n for n, _ in one] == [30 * j for j in range(1, 9)]
    assert one[-1][1] == accuracy(PREDICTIONS, decode(answers, questions)).value


def test_part_contains_the_first_drawn_labels_and_their_questions() -> None:
    questions = Partitioned(ROSTER, seed=1).route(ITEMS)
    labels = decode(list(SimulatedExperts(TRUTH).answer(questions))[:200], questions)
    first, *_ = growing_parts(labels, 4)
    last = max(map(draw_order, first))
    assert len(first) == 50
    assert all(draw_order(x) > last for x in labels if x not in list(first))
    assert {q.id for q in first.design.drawn} == {q.id for q in questions if draw_order(q) <= last}
    assert first.design.asked == {q.item_id for q in first.design.drawn}


def test_items_that_are_resolved_stay_whole() -> None:
    plan = Sequential(ROSTER, {"m": {p.item_id: p.option for p in PREDICTIONS}, "n": dict.fromkeys(TRUTH, 2)})
    answers: list[Answer] = []
    asked: list[Question] = []
    while questions := plan.next_questions(ITEMS, answers):
        asked += questions
        answers += SimulatedExperts(TRUTH).answer(questions)
    labels = decode(answers, asked)
    parts = list(growing_parts(labels, 5))
    for part in parts:
        items = {x.item_id for x in part}
        assert [x for x in labels if x.item_id in items] == sorted(part, key=list(labels).index)
        assert part.design.asked == items
    assert accuracy(PREDICTIONS, parts[-1]).value == pytest.approx(accuracy(PREDICTIONS, labels).value)
    assert len(parts) == 5
