"""Control questions and their answers, on SQLite and PostgreSQL: beside the study's, never among them."""

from __future__ import annotations

from oversight.harness.store import ControlKind, ControlQuestion, GoldItem, Response, Store
from oversight.harness.types import Item
from tests.store.test_study_store import questions


def test_control_questions_are_read_back_and_their_answers_are_stored(url: str, items: list[Item]) -> None:
    gold = GoldItem(Item("gold:1", "é?", ("a", "b"), (1, 0)), 1)
    asked = questions(items)
    controls = [
        ControlQuestion("c1", ControlKind.GOLD, "gold:1", 1, "ana", 2, 7),
        ControlQuestion(
            "c2", ControlKind.REPEAT, asked[0].item_id, asked[0].option, "zoe", 2, 7, asked[0].id
        ),
    ]
    with Store(url) as store:
        store.content.add_items(items)
        store.content.add_questions(asked)
        assert (store.controls.add_gold_items([gold]), store.controls.add_gold_items([gold])) == (1, 0)
        assert (store.controls.add_controls(controls), store.controls.add_controls(controls)) == (2, 0)
        assert store.controls.read_gold_items() == {"gold:1": gold}
        assert store.controls.read_controls() == controls
        every = store.replies(panel=False)
        said = [Response(asked[0].id, asked[0].expert, "no", "t"), Response("c1", "ana", "yes", "t")]
        assert (every.add_replies(said), every.add_replies(said)) == (2, 0)
        assert store.content.replies.read_replies().keys() == {asked[0].id}
        assert store.controls.replies.read_replies().keys() == {"c1"}
        assert every.find_values(["c1", asked[0].id]) == {"c1": "yes", asked[0].id: "no"}
        assert sum(every.count_replies().values()) == 2
        assert store.count_asked(panel=False)["zoe"] == 1
        assert sum(store.count_asked(panel=False).values()) == len(asked) + 2
        assert store.find_asked_items(["c1", "c2"], panel=False) == {"c2": asked[0].item_id}
