"""The page of a collection: who said what, when it came, what does not count, and what to do next."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from oversight.harness.config import ModelSection, Study
from oversight.harness.llm import make_spec
from oversight.harness.registry import PAGES, load_module
from oversight.harness.store import SOURCE, Pulled, Quarantined, Queue, QueuedTask, Response, Revision, Store
from oversight.harness.types import Answer, Assignment, Choice, Item, Prediction, Question, Verdict
from oversight.protocols.collect import read_collection

START = datetime(2026, 3, 1, 9, 30, tzinfo=UTC)
ITEMS = [Item(f"i{j}", f"text {j}", ("a", "b"), (0, 1)) for j in range(20)]
QUESTIONS = [
    Question(f"q{j}", f"i{j}", j % 2, ("ana", "bo")[j % 2], 2, "partitioned", 0.5, 7) for j in range(20)
]
QUEUE = Queue("ana", "m1", "http://x", 3, "ana@example.org", 5, "2026-01-01T00:00:00+00:00")


def study_of(protocol: str = "partitioned") -> Study:
    return Study.model_validate(
        {"study": {"name": "t"}, "items": {"file": "x.csv"}, "experts": {"protocol": protocol}}
    )


def read(store: Store, protocol: str = "partitioned") -> dict[str, Any]:
    found = read_collection(study_of(protocol), store)
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    return found


def steps(found: dict[str, Any]) -> list[str]:
    return [step["command"] for step in found["next"]]


def draw(store: Store) -> None:
    store.content.add_items(ITEMS)
    store.content.add_questions(QUESTIONS)


def answer(store: Store, asked: list[Question], verdict: Verdict = Verdict.NO) -> None:
    store.content.add_answers([Answer(q, q.expert, verdict, "offline") for q in asked])


def revision(place: int, verdict: str, at: str, *, author: int = 5, number: int = 0) -> Revision:
    task = 100 + place
    told = [{"from_name": "verdict", "value": {"choices": [verdict]}}]
    version = f"{verdict}{at}"
    return Revision(
        "ana", number or task, version, task, f"q{place}", False, author, author, False, told, at, 12.0
    )


def label(store: Store, revisions: list[Revision], said: dict[int, str], quarantine: Any = ()) -> None:
    """A look at ana's project: what was seen there, the answers that count and what does not."""
    replies = tuple(Response(f"q{place}", "ana", verdict, SOURCE) for place, verdict in said.items())
    pulled = Pulled(
        task_ids=frozenset(r.task_id for r in revisions),
        question_ids=frozenset(f"q{place}" for place in said),
        replies=replies,
        quarantine=tuple(quarantine),
        revisions=tuple(revisions),
    )
    store.labelling.apply_look(QUEUE, pulled, store.content.replies)


def begin_campaign(store: Store) -> None:
    draw(store)
    store.labelling.save_queue(QUEUE)
    own = [q for q in QUESTIONS if q.expert == "ana"]
    store.labelling.add_tasks([QueuedTask(q.id, "ana", j, "d") for j, q in enumerate(own)])
    store.labelling.set_task_ids({q.id: 100 + int(q.id[1:]) for q in own})


def test_the_page_is_registered() -> None:
    module, _, name = PAGES["collection"].partition(":")
    assert getattr(load_module(module), name) is read_collection


def test_empty_collection_names_the_next_step(url: str) -> None:
    with Store(url) as store:
        found = read(store)
        assert (found["people"], found["asked"], found["campaign"]) == ([], 0, False)
        assert steps(found) == ["oversight label route"]
        assert "nobody rates" in read(store, "panel")["next"][0]["sentence"]


def test_answers_from_files_have_an_order_and_no_time(url: str) -> None:
    with Store(url) as store:
        draw(store)
        answer(store, QUESTIONS[:4], Verdict.YES)
        answer(store, QUESTIONS[4:7], Verdict.UNSURE)
        found = read(store)
        ana, _ = found["people"]
        assert (ana["name"], ana["asked"], ana["answered"], ana["open"]) == ("ana", 10, 4, 6)
        assert (ana["yes"], ana["no"], ana["unsure"], ana["skip"]) == (2, 0, 2, 0)
        assert (ana["median_seconds"], ana["seconds_left"], ana["per_hour"], ana["last"]) == (None,) * 4
        assert (found["asked"], found["answered"], found["open"]) == (20, 7, 13)
        arrivals = found["arrivals"]
        assert (arrivals["timed"], arrivals["untimed"], arrivals["unit"]) == (0, 7, "")
        assert arrivals["order"] == {"ana": [1, 0, 1, 0, 1, 0, 1], "bo": [0, 1, 0, 1, 0, 1, 0]}
        text = found["next"][0]["sentence"]
        assert text.startswith("13 of 20 questions are open; they wait for bo (7), ana (6).")
        assert steps(found) == ["oversight label export", "oversight label import questions/*.csv"]
        answer(store, QUESTIONS[7:])
        assert steps(read(store)) == ["oversight run"]
        spec = make_spec("m", ModelSection(model="m"), "$text", None)
        store.runs.add_run(spec)
        store.runs.store_predictions([(spec.id, Prediction("i0", 0))])
        assert steps(read(store)) == ["oversight estimate"]
        assert steps(read(store, "sequential")) == ["oversight label route"]


def test_many_answers_come_in_few_portions(url: str) -> None:
    with Store(url) as store:
        draw(store)
        answer(store, QUESTIONS)
        portions = store.content.replies.count_arrivals(3)
        assert portions == [{"ana": 4, "bo": 3}, {"ana": 3, "bo": 4}, {"ana": 3, "bo": 3}]


def test_a_campaign_tells_times_and_pace(url: str) -> None:
    times = [(START + timedelta(minutes=m)).isoformat().replace("+00:00", "Z") for m in (0, 30, 150)]
    with Store(url) as store:
        begin_campaign(store)
        own = [revision(2 * j, "yes", at) for j, at in enumerate(times)]
        changed = revision(0, "no", (START + timedelta(hours=9)).isoformat())
        foreign = revision(6, "no", times[0], author=9)
        unread = revision(8, "no", "yesterday")
        rejected = [Quarantined("ana", 106, 106, "q6", "answered by another user", "user <9>")]
        label(store, [*own, changed, foreign, unread], {0: "no", 2: "yes", 4: "yes", 8: "no"}, rejected)
        answer(store, [QUESTIONS[1]])
        found = read(store)
        ana, bo = found["people"]
        assert (ana["answered"], ana["foreign"], ana["revised"], ana["median_seconds"]) == (4, 1, 1, 12.0)
        assert (ana["timed"], ana["fast"], bo["timed"], bo["hours"]) == (4, 0, 0, None)
        assert ana["hours"] == pytest.approx(4 * 12 / 3600)
        assert ana["per_hour"] == pytest.approx(2 / 2.5)
        assert ana["last"] == "2026-03-01T12:00:00+00:00"
        assert (bo["per_hour"], bo["last"]) == (None, None)
        arrivals = found["arrivals"]
        assert (arrivals["timed"], arrivals["untimed"], arrivals["unit"]) == (3, 2, "hour")
        assert arrivals["starts"][0] == "2026-03-01T09:00:00+00:00"
        assert arrivals["bins"] == {"ana": [1, 1, 0, 1]}
        assert found["quarantine"]["reasons"] == {"answered by another user": 1}
        (row,) = found["quarantine"]["rows"]
        assert (row["expert"], row["item"], row["detail"]) == ("ana", "i6", "user <9>")
        assert steps(found) == [
            "oversight label status --json", "oversight label watch", "oversight label push",
        ]  # fmt: skip


def test_long_campaigns_are_counted_by_day_or_week(url: str) -> None:
    for place, (days, unit) in enumerate([(10, "day"), (400, "week")], 1):
        with Store(url) as store:
            if place == 1:
                begin_campaign(store)
            end = (START + timedelta(days=days)).isoformat()
            label(store, [revision(0, "yes", START.isoformat()), revision(2 * place, "yes", end)],
                  {0: "yes", 2 * place: "yes"})  # fmt: skip
            arrivals = read(store)["arrivals"]
        assert arrivals["unit"] == unit
        assert len(arrivals["starts"]) == len(arrivals["bins"]["ana"]) < 100
        assert sum(arrivals["bins"]["ana"]) == arrivals["timed"]


def test_a_panels_ratings_are_counted_as_such(url: str) -> None:
    given = [Assignment(f"s{j}", f"i{j}", "ana", 0.5, "panel", 7) for j in range(3)]
    with Store(url) as store:
        store.content.add_items(ITEMS)
        store.panel.add_assignments(given)
        store.panel.add_choices([Choice(given[0], "a", "offline"), Choice(given[1], "", "offline")])
        found = read(store, "panel")
        (ana,) = found["people"]
        assert found["is_panel"]
        assert (ana["asked"], ana["rated"], ana["skip"], ana["open"]) == (3, 1, 1, 1)
        assert "1 of 3 ratings are open" in found["next"][0]["sentence"]
        store.panel.add_choices([Choice(given[2], "b", "offline")])
        assert steps(read(store, "panel")) == ["oversight panel agree"]
