"""The answer page gets its expert's questions in order, and the server stores each answer once."""

from __future__ import annotations

import json
import secrets
from pathlib import Path
from typing import Any

import pytest

from oversight.harness import BadInput
from oversight.harness.config import read_study
from oversight.harness.store import (
    SOURCE,
    ControlKind,
    ControlQuestion,
    GoldItem,
    Response,
    Store,
)
from oversight.harness.types import Item, Question
from oversight.protocols.collect import measure_progress, read_collection
from oversight.protocols.collect.answer_page.answer_desk import AnswerDesk, Outcome
from oversight.protocols.collect.answer_page.given_answer import GivenAnswer
from oversight.protocols.collect.label_studio.labelling_page import TaskSheet
from oversight.protocols.routing import order_queue
from tests.answer_page.conftest import OPTIONS, N, draw, fill, lay_out


def given(asked_id: str, value: str = "yes", key: str = "", **others: Any) -> GivenAnswer:
    return GivenAnswer(key=key or secrets.token_hex(16), asked_id=asked_id, value=value, **others)


def open_ids(desk: AnswerDesk, person: str) -> list[str]:
    return [question["id"] for question in desk.tell_state(person)["questions"]]


def walk(desk: AnswerDesk, person: str, value: str = "no") -> list[str]:
    """Answer all that is open; the order in which it was asked."""
    asked = []
    while found := open_ids(desk, person):
        asked.append(found[0])
        assert desk.store_answer(person, given(found[0], value)) is Outcome.STORED
    return asked


@pytest.fixture
def store(tmp_path: Path) -> Any:
    study = draw(tmp_path)
    with Store(study.store_url) as opened:
        yield opened


def test_both_databases_take_answers(url: str, tmp_path: Path) -> None:
    study = lay_out(tmp_path, store=url)
    fill(study)
    with Store(url) as store:
        desk = AnswerDesk(study, store)
        asked = walk(desk, "ana")
        assert len(asked) == N // 2
        assert desk.store_answer("ana", given(asked[0], "yes", was="no")) is Outcome.STORED
        assert store.content.replies.read_replies()[asked[0]].value == "yes"
        assert measure_progress(study, store)["ana"].revised == 1


def test_everybody_has_their_own_questions_in_the_order_of_the_export(store: Store, tmp_path: Path) -> None:
    study = lay_out(tmp_path)
    desk = AnswerDesk(study, store)
    own = [q for q in store.content.read_questions() if q.expert == "bea"]
    expected = [q.id for q in order_queue(own)]
    assert walk(desk, "bea") == expected
    assert desk.tell_state("bea")["done"] == N // 2
    assert desk.tell_state("ana")["done"] == 0
    assert desk.tell_state("nobody") == {**desk.tell_state("nobody"), "of": 0, "questions": []}


def test_page_receives_only_what_an_expert_must_read(store: Store, tmp_path: Path) -> None:
    told = AnswerDesk(lay_out(tmp_path), store).tell_state("ana")
    assert [set(question) for question in told["questions"]] == [
        {"id", "mark", "text", "question", "description", "options", "choices"}
    ] * 3
    assert told["questions"][0]["question"] == "Is the answer “heart”?"
    assert told["questions"][0]["description"] == "Heart & vessels"
    text = json.dumps(told)
    assert not any(word in text for word in ("SEALED", "truth", "partitioned", "0.5", "bea", "propensity"))


def test_a_line_break_of_windows_is_one_line_break(tmp_path: Path) -> None:
    study = draw(tmp_path, text="one\r\ntwo\rthree")
    with Store(study.store_url) as opened:
        shown = {question["text"] for question in AnswerDesk(study, opened).tell_state("ana")["questions"]}
        asked, item = opened.content.read_questions()[0], opened.content.read_items()[0]
    assert shown == {"one\ntwo\nthree"} == {TaskSheet.of(study).data(asked, item)["text"]}


def test_a_key_is_stored_once_and_a_replay_changes_nothing(store: Store, tmp_path: Path) -> None:
    desk = AnswerDesk(lay_out(tmp_path), store)
    name = open_ids(desk, "ana")[0]
    first = given(name, "yes", comment="sure", seconds=3.5)
    assert [desk.store_answer("ana", first, "link") for _ in range(3)] == [Outcome.STORED] + [
        Outcome.REPEATED
    ] * 2
    assert desk.store_answer("ana", given(name, "no", was="yes")) is Outcome.STORED
    assert desk.store_answer("ana", first) is Outcome.REPEATED
    assert store.content.replies.read_replies()[name].value == "no"
    assert desk.store_answer("ana", given(name, "unsure", first.key)) is Outcome.KEY_IN_USE
    other = open_ids(desk, "bea")[0]
    assert (
        desk.store_answer("bea", given(other, "yes", first.key)) is Outcome.STORED
    )  # two browsers may draw the same key
    events = [e for e in store.audit.read_records() if e.asked_id == name]
    assert [(e.kind, e.way, e.value, e.comment, e.seconds) for e in events] == [
        ("answer", "page", "yes", "sure", 3.5),
        ("answer", "page", "no", "", None),
    ]
    assert events[0].detail == {"link": "link"}


def test_another_s_question_and_an_unknown_one_are_the_same(store: Store, tmp_path: Path) -> None:
    desk = AnswerDesk(lay_out(tmp_path), store)
    for name in (open_ids(desk, "bea")[0], "q999", "' OR 1=1 --"):
        assert desk.store_answer("ana", given(name)) is Outcome.NOT_HELD
    assert store.content.replies.read_replies() == {}


@pytest.mark.parametrize("value", ["0", "2", "heart", "YES"])
def test_only_what_was_offered_is_an_answer(store: Store, tmp_path: Path, value: str) -> None:
    desk = AnswerDesk(lay_out(tmp_path), store)
    with pytest.raises(BadInput, match="not one of the offered choices"):
        desk.store_answer("ana", given(open_ids(desk, "ana")[0], value))
    assert store.content.replies.read_replies() == {}


@pytest.mark.parametrize("source", ["offline", SOURCE])
def test_a_question_answered_elsewhere_is_not_asked_or_overwritten(
    store: Store, tmp_path: Path, source: str
) -> None:
    study = lay_out(tmp_path)
    desk = AnswerDesk(study, store)
    name = open_ids(desk, "ana")[0]
    store.content.replies.add_replies([Response(name, "ana", "no", source)])
    assert [desk.store_answer("ana", given(name)) for _ in range(3)] == [Outcome.ELSEWHERE] * 3
    assert store.content.replies.read_replies()[name] == Response(name, "ana", "no", source)
    state = desk.tell_state("ana")
    assert (state["done"], state["elsewhere"]) == (1, 1)
    assert name not in open_ids(desk, "ana")
    assert [e.value for e in store.audit.read_records() if e.kind == "refused"] == ["yes"]  # counted once
    assert measure_progress(study, store)["ana"].foreign == 1
    assert desk.tell_previous("ana") is None


def test_a_window_that_is_behind_changes_no_answer(store: Store, tmp_path: Path) -> None:
    desk = AnswerDesk(lay_out(tmp_path), store)
    name = open_ids(desk, "ana")[0]
    assert desk.store_answer("ana", given(name, "yes", comment="why")) is Outcome.STORED
    assert desk.store_answer("ana", given(name, "no")) is Outcome.CHANGED
    assert desk.store_answer("ana", given(name, "no", was="unsure")) is Outcome.CHANGED
    assert desk.store_answer("ana", given(name, "yes")) is Outcome.STORED
    assert store.content.replies.read_replies()[name].comment == "why"


def test_a_window_that_is_behind_takes_no_comment_away(store: Store, tmp_path: Path) -> None:
    desk = AnswerDesk(read_study(tmp_path / "study.toml"), store)
    asked = open_ids(desk, "ana")[0]
    first = given(asked, "yes", comment="A")
    assert desk.store_answer("ana", first) is Outcome.STORED
    assert desk.store_answer("ana", given(asked, "yes", comment="B")) is Outcome.CHANGED
    # without a comment of its own, the answer keeps the earlier comment
    assert desk.store_answer("ana", given(asked, "yes")) is Outcome.STORED
    assert desk.store_answer("ana", given(asked, "yes", key=first.key, comment="B")) is Outcome.KEY_IN_USE
    assert desk.store_answer("ana", first) is Outcome.REPEATED
    assert store.content.read_answers()[0].comment == "A"
    assert desk.store_answer("ana", given(asked, "yes", was="yes", comment="B")) is Outcome.STORED
    assert store.content.read_answers()[0].comment == "B"


def test_expert_goes_back_one_answer_at_a_time(store: Store, tmp_path: Path) -> None:
    desk = AnswerDesk(lay_out(tmp_path), store)
    asked = walk(desk, "ana")
    before, met = "", []
    while (found := desk.tell_previous("ana", before)) is not None:
        before = found["question"]["id"]
        met.append(before)
        assert (found["value"], found["comment"]) == ("no", "")
    assert met == asked[::-1]
    assert desk.tell_previous("bea", asked[2]) is None
    assert desk.store_answer("ana", given(asked[1], "skip", was="no")) is Outcome.STORED
    last = desk.tell_previous("ana")
    assert last is not None
    assert (last["question"]["id"], last["value"]) == (asked[1], "skip")


def test_new_questions_appear_and_a_second_server_sees_the_first_one_s_answers(
    store: Store, tmp_path: Path
) -> None:
    study = lay_out(tmp_path)
    desk, other = AnswerDesk(study, store), AnswerDesk(study, store)
    asked = walk(desk, "ana")
    assert other.tell_state("ana")["done"] == len(asked)
    store.content.add_questions([Question("q900", "i1", 0, "ana", 3, "partitioned", 0.5, 3)])
    assert open_ids(other, "ana") == ["q900"]
    assert other.tell_state("ana")["of"] == len(asked) + 1


def test_a_question_that_is_handed_over_is_the_taker_s_alone(store: Store, tmp_path: Path) -> None:
    desk = AnswerDesk(lay_out(tmp_path), store)
    name = open_ids(desk, "ana")[0]
    store.people.hand_over([(name, "ana", "bea")], "away")
    assert desk.store_answer("ana", given(name)) is Outcome.NOT_HELD
    assert name not in open_ids(desk, "ana")
    assert desk.tell_state("bea")["of"] == N // 2 + 1
    assert desk.store_answer("bea", given(name)) is Outcome.STORED
    assert store.content.replies.read_replies()[name].source == "page"


def test_control_questions_look_like_all_others_and_count_for_no_estimate(
    store: Store, tmp_path: Path
) -> None:
    gold = Item("g1", "a gold note", OPTIONS, (0, 1, 2))
    store.controls.add_gold_items([GoldItem(gold, 1)])
    store.controls.add_controls([ControlQuestion("q777", ControlKind.GOLD, "g1", 0, "ana", 3, 3)])
    desk = AnswerDesk(lay_out(tmp_path), store)
    shown: dict[str, Any] = {}
    while found := desk.tell_state("ana")["questions"]:
        shown |= {question["id"]: question for question in found}
        assert desk.store_answer("ana", given(found[0]["id"], "no")) is Outcome.STORED
    assert len(shown) == N // 2 + 1
    assert {tuple(question) for question in shown.values()} == {tuple(shown["q777"])}
    assert store.controls.replies.read_replies()["q777"].value == "no"
    assert "q777" not in store.content.replies.read_replies()
    walked = list(shown)
    assert desk.store_answer("ana", given("q777", "yes", was="no")) is Outcome.STORED
    last = desk.tell_previous("ana")
    assert last is not None
    assert last["question"]["id"] == "q777" in walked


def test_a_panel_chooses_among_the_options(tmp_path: Path) -> None:
    study = draw(tmp_path / "panel", panel=True)
    with Store(study.store_url) as store:
        desk = AnswerDesk(study, store)
        question = desk.tell_state("bea")["questions"][0]
        assert [choice["label"] for choice in question["choices"]] == list(OPTIONS)
        assert desk.store_answer("bea", given(question["id"], "1")) is Outcome.STORED
        second = desk.tell_state("bea")["questions"][0]
        assert desk.store_answer("bea", given(second["id"], "skip")) is Outcome.STORED
        said = store.panel.replies.read_replies()
        assert [said[q["id"]].value for q in (question, second)] == ["brain", ""]
        for value in ("3", "-1", "01", "1_0", "²", "yes", "brain"):
            with pytest.raises(BadInput):
                desk.store_answer("bea", given(desk.tell_state("bea")["questions"][0]["id"], value))
        last = desk.tell_previous("bea")
        assert last is not None
        assert last["value"] == "skip"
        earlier = desk.tell_previous("bea", second["id"])
        assert earlier is not None
        assert earlier["value"] == "1"


def test_options_of_items_are_known_by_their_places_on_the_page_alone(tmp_path: Path) -> None:
    study = draw(tmp_path, panel=True)
    settings = (tmp_path / "study.toml").read_text(encoding="utf-8")
    own = settings.replace('classes = ["heart", "brain", "skin"]\n', "")
    (tmp_path / "study.toml").write_text(own, encoding="utf-8")
    study = read_study(tmp_path / "study.toml")
    with Store(study.store_url) as store:
        desk = AnswerDesk(study, store)
        question = desk.tell_state("ana")["questions"][0]
        assert [choice["label"] for choice in question["choices"]] == ["skin", "heart", "brain"]
        assert desk.store_answer("ana", given(question["id"], "0")) is Outcome.STORED
        assert store.panel.replies.read_replies()[question["id"]].value == "skin"


def test_a_collection_shows_answers_of_the_page_with_their_times(store: Store, tmp_path: Path) -> None:
    study = lay_out(tmp_path)
    desk = AnswerDesk(study, store)
    for seconds in (4.0, 8.0, 6.0):
        desk.store_answer("ana", given(open_ids(desk, "ana")[0], seconds=seconds))
    found = read_collection(study, store)
    ana = next(person for person in found["people"] if person["name"] == "ana")
    assert (ana["answered"], ana["yes"], ana["median_seconds"]) == (3, 3, 6.0)
    assert (found["arrivals"]["timed"], found["arrivals"]["untimed"]) == (3, 0)
    assert ana["last"]


def test_without_questions_it_says_what_to_do(tmp_path: Path) -> None:
    study = lay_out(tmp_path)
    with Store(study.store_url) as store, pytest.raises(BadInput, match="oversight label route"):
        AnswerDesk(study, store)


@pytest.mark.parametrize(("text", "excerpt"), [("x" * 80, "x" * 80), ("y" * 81, "y" * 79 + "…")])
def test_a_cut_text_of_an_earlier_answer_ends_with_an_ellipsis(
    tmp_path: Path, text: str, excerpt: str
) -> None:
    study = draw(tmp_path / "long", text=text)
    with Store(study.store_url) as store:
        desk = AnswerDesk(study, store)
        assert desk.store_answer("ana", given(open_ids(desk, "ana")[0])) is Outcome.STORED
        (told,) = desk.tell_given("ana")
    assert told["excerpt"] == excerpt
