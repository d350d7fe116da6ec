"""A panel over a real Label Studio: the full choice, one project per annotator, ratings back."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from oversight.harness.store import Store
from tests.e2e.conftest import CLASSES, EXPERTS, Bench, kill_at, region
from tests.fakes.faulty_proxy import FaultyProxy

pytestmark = [pytest.mark.label_studio, pytest.mark.slow]


def item_of(task: dict[str, Any]) -> int:
    return int(task["data"]["text"].split()[1].strip("."))


def choose_all(bench: Bench) -> None:
    """Everybody chooses the class of the item's number; cem is one off on the first item."""
    for person in EXPERTS:
        for task in bench.tasks(person):
            option = (item_of(task) + (person == "cem" and item_of(task) == 0)) % 3
            bench.people[person].answer(task["id"], str(option))


def test_panel_is_pushed_and_pulled(panel_bench: Bench) -> None:
    bench = panel_bench
    sent = bench.call("label", "push")
    assert sent["sent"] == 24
    assert {e["sent"] for e in sent["experts"].values()} == {8}
    assert bench.call("label", "push")["sent"] == 0
    with Store(bench.url) as store:
        given = {a.id: a for a in store.panel.read_assignments()}
        queued = store.labelling.read_tasks()
    assert {a.propensity for a in given.values()} == {2 / 3}
    assert {t.question_id for t in queued} == set(given)
    met = Counter[frozenset[str]]()
    for item in {a.item_id for a in given.values()}:
        met[frozenset(a.annotator for a in given.values() if a.item_id == item)] += 1
    assert set(met.values()) == {4}  # all pairs of annotators share the same number of items
    orders = []
    for person in EXPERTS:
        tasks = bench.tasks(person)
        for task in tasks:
            assert given[task["data"]["question_id"]].annotator == person
            assert task["data"].keys() == {"question_id", "text", "question"}
            assert (task["annotations"], task["predictions"], task["meta"]) == ([], [], {})
        orders.append([item_of(task) for task in tasks])
    assert all(order != sorted(order) for order in orders)
    choose_all(bench)
    pulled = bench.call("label", "pull")
    assert (pulled["new"], pulled["quarantined"]) == (24, 0)
    assert bench.call("label", "pull", "--full")["new"] == 0
    with Store(bench.url) as store:
        ratings = store.panel.read_ratings()
    assert all(
        r.label == CLASSES[int(r.item[1:]) % 3] for r in ratings if (r.item, r.annotator) != ("i0", "cem")
    )
    status = bench.call("label", "status")
    assert {(e["rated"], e["open"], e["median_seconds"]) for e in status["experts"].values()} == {(8, 0, 4.0)}
    seen = bench.call("label", "watch", "--once")
    assert (seen["open"], seen["estimates"]) == (0, {})
    assert bench.call("panel", "agree")["ratings"] == 24
    assert bench.call("label", "close")["answers"] == 24
    shown = bench.admin.do("GET", f"/api/projects/{bench.project('ana')}")
    assert shown["title"].startswith("(closed) ")


def test_actions_on_a_panels_server_are_stored(panel_bench: Bench) -> None:
    bench = panel_bench
    bench.call("label", "push")
    ana, eve = bench.people["ana"], bench.people["eve"]
    changed, deleted, foreign, edited, skipped, wild = (task["id"] for task in bench.tasks("ana")[:6])
    first = ana.answer(changed, "0")["id"]
    second = ana.answer(deleted, "1")["id"]
    eve.answer(foreign, "2")
    eve.edit(ana.answer(edited, "0")["id"], "1")
    ana.do("POST", f"/api/tasks/{skipped}/annotations/", {"result": [], "was_cancelled": True})
    for values in (["3"], ["red"], ["0", "1"]):
        ana.do("POST", f"/api/tasks/{wild}/annotations/", {"result": [region(values)]})
    assert bench.call("label", "pull")["answers"] == 3
    status = bench.call("label", "status")
    assert Counter(q["reason"] for q in status["quarantine"]) == {
        "answered by another user": 1,
        "written or changed by another user in the expert's name": 1,
        "not one of the values offered": 3,
    }
    assert (status["experts"]["ana"]["rated"], status["experts"]["ana"]["skip"]) == (2, 1)
    ana.edit(first, "2")
    ana.delete(second)
    again = bench.call("label", "pull")
    assert (again["changed"], again["withdrawn"], again["answers"]) == (1, 1, 2)
    with Store(bench.url) as store:
        (rating,) = store.panel.read_ratings()
        revisions = [r for r in store.labelling.read_revisions() if r.annotation_id in (first, second)]
    assert (rating.annotator, rating.label) == ("ana", "blue")
    assert [r.deleted for r in revisions].count(True) == 1
    assert len(revisions) == 4


def test_a_panels_push_may_be_killed(panel_bench: Bench, proxy: FaultyProxy) -> None:
    bench = panel_bench
    kill_at(bench, "label", "push", proxy=proxy, method="POST", part="/import", forward=True)
    bench.call("label", "push")
    assert bench.call("label", "push")["sent"] == 0
    there = Counter(t["data"]["question_id"] for person in EXPERTS for t in bench.tasks(person))
    assert (len(there), set(there.values())) == (24, {1})


def test_items_may_bring_their_own_options(make_bench: Callable[..., Bench]) -> None:
    extra = 'options = "options"\n[experts]\nprotocol = "panel-random"\nannotators_per_item = 3\n'
    bench = make_bench(4, extra, dict.fromkeys(EXPERTS, "*"))
    bench.edit("study.toml", 'classes = ["red", "green", "blue"]\n', "")
    rows = [f'i{j},number {j}.,"[""${j}"", ""b{j}"", ""c{j}""]"\n' for j in range(4)]
    (bench.folder / "items.csv").write_text("id,text,options\n" + "".join(rows))
    bench.call("label", "route")
    bench.call("label", "push")
    shown = set()
    for person in EXPERTS:
        for task in bench.tasks(person):
            choices = task["data"]["choices"]
            n = item_of(task)
            assert {c["alias"]: c["value"] for c in choices} == {"0": f"${n}", "1": f"b{n}", "2": f"c{n}"}
            shown.add(tuple(c["alias"] for c in choices))
            bench.people[person].answer(task["id"], "1")
    assert len(shown) > 1
    assert bench.call("label", "pull")["answers"] == 12
    with Store(bench.url) as store:
        ratings = store.panel.read_ratings()
    assert {(r.item, r.label) for r in ratings} == {(f"i{j}", f"b{j}") for j in range(4)}


def test_an_export_of_the_server_can_be_imported(panel_bench: Bench) -> None:
    bench = panel_bench
    bench.call("label", "push")
    choose_all(bench)
    files = []
    for person in EXPERTS:
        reply = bench.admin.http.get(
            f"/api/projects/{bench.project(person)}/export", params={"exportType": "JSON"}
        )
        files.append(bench.folder / f"{person}.json")
        files[-1].write_bytes(reply.content)
    assert bench.call("label", "import", *files) == {"answers": 24, "new": 24}
    pulled = bench.call("label", "pull")  # these answers are already stored
    assert (pulled["new"], pulled["quarantined"]) == (0, 0)
    assert len(list(itertools.chain(*(bench.tasks(p) for p in EXPERTS)))) == 24


def test_a_panel_takes_no_page_of_ones_own(panel_bench: Bench) -> None:
    panel_bench.edit("study.toml", "[models.m]", '[label_studio]\npage = "p.xml"\n[models.m]')
    assert "[label_studio.page]: a custom page" in panel_bench.call("label", "push", code=2)["error"]
