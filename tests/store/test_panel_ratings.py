"""Stored data of a panel, on SQLite and PostgreSQL, and studies older than panels."""

from __future__ import annotations

import pytest
import sqlalchemy as sa

from oversight.harness import StoreError
from oversight.harness.store import SOURCE, Pulled, Queue, Store
from oversight.harness.types import Answer, Assignment, Choice, Item, Rating, Verdict
from tests.store.test_study_store import questions


def given(items: list[Item]) -> list[Assignment]:
    return [Assignment(f"{who}-{i.id}", i.id, who, 0.5, "panel", 7) for i in items for who in ("ana", "bo")]


def test_panel_is_read_back_and_repeated_writes_change_nothing(url: str, items: list[Item]) -> None:
    with Store(url) as store:
        store.content.add_items(items)
        panel = store.panel
        assert panel.add_assignments(given(items)) == 12
        assert panel.add_assignments(given(items)) == 0
        assert panel.read_assignments() == given(items)
        said = [
            Choice(given(items)[3], "blue", "offline", "é"),
            Choice(given(items)[0], "red", "offline"),
            Choice(given(items)[1], "", "label_studio"),
        ]
        assert panel.add_choices(said) == 3
        assert panel.add_choices(said[:2]) == 0
        assert panel.read_choices() == said
        assert panel.read_ratings() == [Rating("i0", "ana", "red"), Rating("i1", "bo", "blue")]
        with pytest.raises(StoreError, match="already has the answer 'red', so the answer 'green'"):
            panel.add_choices(
                [Choice(given(items)[5], "red", "offline"), Choice(given(items)[0], "green", "x")]
            )
        assert len(panel.read_choices()) == 3
        twice = Assignment("other", "i0", "ana", 0.5, "panel", 7)
        with pytest.raises(StoreError, match="nothing was written"):
            panel.add_assignments([twice])
        with pytest.raises(StoreError, match="nothing was written"):
            panel.add_assignments([Assignment("z", "nowhere", "ana", 0.5, "panel", 7)])


def test_the_order_of_arrival_survives_withdrawn_answers(url: str, items: list[Item]) -> None:
    with Store(url) as store:
        store.content.add_items(items)
        store.content.add_questions(questions(items))
        asked = questions(items)
        queue = Queue("ana", "m1")
        store.labelling.save_queue(queue)
        store.content.add_answers([Answer(q, "ana", Verdict.NO, SOURCE) for q in asked[:3]])
        gone = Pulled(frozenset(), frozenset({asked[0].id}), (), (), ())
        store.labelling.apply_look(queue, gone, store.content.replies)
        store.content.add_answers([Answer(asked[4], "ana", Verdict.YES, "offline")])
        with store.transaction() as connection:
            rows = connection.execute(sa.text("SELECT question_id, position FROM answer")).all()
        assert sorted(map(tuple, rows), key=lambda r: r[1]) == [("qi1", 1), ("qi2", 2), ("qi4", 3)]
