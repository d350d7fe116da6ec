"""A whole campaign against a real Label Studio server, answered through its API."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from oversight.harness import ConfigError
from oversight.harness.estimate import decode
from oversight.harness.store import Store
from oversight.harness.types import LabelKind, Prediction
from oversight.protocols.collect.label_studio.server.own_server import LabelStudioServer
from oversight.protocols.routing import RandomPanel
from tests.e2e.conftest import CLASSES, EXPERTS, Bench, region
from tests.store.test_study_store import SPEC

pytestmark = pytest.mark.label_studio


def test_pushed_questions_are_pulled_and_estimated(bench: Bench) -> None:
    sent = bench.call("label", "push")
    assert sent["sent"] == 30
    assert bench.call("label", "push")["sent"] == 0
    truth = {f"i{j}": ("red", "green", "blue")[j % 3] for j in range(30)}
    ids = {f"number {j}.": f"i{j}" for j in range(30)}
    for expert, option in EXPERTS.items():
        for task in bench.tasks(expert):
            right = truth[ids[task["data"]["text"]]] == option
            bench.people[expert].answer(task["id"], "yes" if right else "no")
    assert bench.call("label", "pull") == {
        "new": 30,
        "changed": 0,
        "withdrawn": 0,
        "answers": 30,
        "quarantined": 0,
        "requeued": 0,
        "settings": {},
        "predictions": {},
        "foreign": {},
        "next_questions": 0,
        "closed": False,
    }
    assert bench.call("label", "pull", "--full")["new"] == 0
    with Store(bench.url) as store:
        labels = decode(store.content.read_answers())
        wanted = {
            q.item_id: truth[q.item_id] == ("red", "green", "blue")[q.option]
            for q in store.content.read_questions()
        }
        store.runs.add_run(SPEC)
        store.runs.store_predictions(
            [(SPEC.id, Prediction(i, ("red", "green", "blue").index(t))) for i, t in truth.items()]
        )
    assert {label.item_id: label.kind is LabelKind.ORDINARY for label in labels} == wanted
    status = bench.call("label", "status")
    assert (status["answered"], status["open"], status["foreign"]) == (30, 0, 0)
    assert all(e["median_seconds"] == 4.0 and e["seconds_left"] == 0 for e in status["experts"].values())
    assert bench.call("estimate")["models"]["m"]["estimates"]["ml"]["estimate"] == 1.0
    seen = bench.call("label", "watch", "--once")
    assert (seen["share"], seen["used"], seen["open"]) == (1.0, 30, 0)
    running = seen["estimates"]["m"]
    assert running["estimate"] == pytest.approx(1.0, abs=1e-3)
    fixed = bench.call("estimate")["models"]["m"]["estimates"]["ml"]
    assert running["low"] <= fixed["low"]  # an interval valid at all times is never narrower


def test_tasks_hold_nothing_but_what_must_be_read(bench: Bench) -> None:
    bench.edit("study.toml", "[models.m]", '[label_studio]\ndescriptions = {red = "Like roses."}\n[models.m]')
    bench.call("label", "push")
    orders = []
    with Store(bench.url) as store:
        asked = {q.id: q for q in store.content.read_questions()}
        texts = {item.id: item.text for item in store.content.read_items()}
    for expert, option in EXPERTS.items():
        tasks = bench.tasks(expert)
        for task in tasks:
            question = asked[task["data"]["question_id"]]
            assert task["data"] == {
                "question_id": question.id,
                "text": texts[question.item_id],
                "question": f"Is the answer “{option}”?",
                "description": "Like roses." if option == "red" else " ",
            }
            assert question.expert == expert
            assert (task["annotations"], task["predictions"], task["meta"]) == ([], [], {})
        places = [int(task["data"]["text"].split()[1].strip(".")) for task in tasks]
        orders.append(places)
    # one short queue can be in item order by chance, but not all queues
    assert any(places != sorted(places) for places in orders)
    project = bench.admin.do("GET", f"/api/projects/{bench.project('ana')}")
    for shown in ("show_collab_predictions", "show_skip_button", "enable_empty_annotation"):
        assert project[shown] is False
    assert "red" not in project["title"] + project["description"]


def test_answers_of_every_kind_are_pulled(bench: Bench) -> None:
    bench.call("label", "push")
    ana = bench.people["ana"]
    yes, no, unsure, skip = (task["id"] for task in bench.tasks("ana")[:4])
    ana.answer(yes, "yes")
    ana.answer(no, "no")
    comment = {"from_name": "comment", "to_name": "item", "type": "textarea", "value": {"text": ["both fit"]}}
    regions = [comment, region(["unsure"])]
    ana.do("POST", f"/api/tasks/{unsure}/annotations/", {"result": regions})
    ana.do("POST", f"/api/tasks/{skip}/annotations/", {"result": [], "was_cancelled": True})
    assert bench.call("label", "pull")["new"] == 4
    row = bench.call("label", "status")["experts"]["ana"]
    assert [row[v] for v in ("yes", "no", "unsure", "skip")] == [1, 1, 1, 1]
    with Store(bench.url) as store:
        kinds = Counter(label.kind for label in decode(store.content.read_answers()))
        assert [a.comment for a in store.content.read_answers() if a.comment] == ["both fit"]
    assert kinds == {LabelKind.ORDINARY: 1, LabelKind.COMPLEMENTARY: 1, LabelKind.ABSTAINED: 2}


def test_accounts_can_log_in(bench: Bench, label_studio: LabelStudioServer) -> None:
    import httpx

    name = f"dan-{bench.folder.name[-8:]}"
    with (bench.folder / "experts.toml").open("a") as roster:
        roster.write(f'[[expert]]\nname = "{name}"\nclasses = ["red"]\n')
    before = {a["expert"]: a for a in bench.call("experts", "list")["accounts"]}
    assert before["ana"]["exists"]
    assert not before[name]["exists"]
    made = {a["expert"]: a for a in bench.call("experts", "invite")["accounts"]}
    assert made["ana"]["password"] == ""
    assert made[name]["classes"] == ["red"]
    with httpx.Client(base_url=label_studio.url, trust_env=False) as browser:
        page = browser.get("/user/login/").text
        token = page.split('name="csrfmiddlewaretoken" value="')[1].split('"')[0]
        fields = {"email": made[name]["email"], "password": made[name]["password"]}
        reply = browser.post(
            "/user/login/",
            data={**fields, "csrfmiddlewaretoken": token},
            headers={"Referer": f"{label_studio.url}/user/login/"},
        )
    assert reply.status_code == 302
    again = {a["expert"]: a for a in bench.call("experts", "invite")["accounts"]}
    assert again[name]["exists"]
    assert again[name]["password"] == ""


def test_the_token_is_nowhere(bench: Bench, label_studio: LabelStudioServer) -> None:
    bench.call("label", "push")
    bench.people["ana"].answer(bench.tasks("ana")[0]["id"])
    bench.call("label", "pull")
    for path in bench.folder.rglob("*"):
        if path.is_file():
            assert label_studio.token.encode() not in path.read_bytes(), path
    for expert in EXPERTS:
        assert label_studio.token not in json.dumps(bench.tasks(expert))
    assert label_studio.token not in repr(label_studio)
    log = Path(label_studio.folder, "server.log").read_text()
    assert label_studio.token not in log
    assert oct(Path(label_studio.folder, "server.json").stat().st_mode & 0o777) == "0o600"


def test_close_ends_the_campaign(bench: Bench) -> None:
    """Nothing keeps an expert from answering; the project says that it is over, and nothing of it counts."""
    bench.edit("study.toml", "[models.m]", '[label_studio]\ninstructions = "Look twice."\n[models.m]')
    bench.call("label", "push")
    first, late, edited = (task["id"] for task in bench.tasks("ana")[:3])
    ana, project = bench.people["ana"], bench.project("ana")
    ana.answer(first, "yes")
    number = ana.answer(edited, "yes")["id"]
    assert bench.call("label", "close")["answers"] == 2
    shown = ana.do("GET", f"/api/projects/{project}/")
    assert shown["title"].startswith("(closed) ")
    assert shown["description"].startswith("This project is finished. Answers given from now on are not")
    assert (shown["show_instruction"], shown["is_published"]) == (True, False)
    assert "are not counted" in shown["expert_instruction"]
    assert ana.do("GET", f"/api/projects/{project}/next")["id"] == late  # the server still offers the task
    ana.answer(late, "no")
    ana.edit(number, "no")
    for words in (("pull",), ("pull", "--full"), ("close",)):
        after = bench.call("label", *words)
        assert (after["new"], after["changed"], after["answers"]) == (0, 0, 2)
    assert bench.call("label", "pull")["closed"]
    assert bench.call("label", "status")["answered"] == 2
    assert bench.call("label", "push")["experts"] == {}


def test_close_may_delete_the_projects(bench: Bench) -> None:
    bench.call("label", "push")
    bench.people["ana"].answer(bench.tasks("ana")[0]["id"])
    project = bench.project("ana")
    assert bench.call("label", "close", "--delete")["answers"] == 1
    assert bench.admin.http.get(f"/api/projects/{project}").status_code == 404
    assert bench.call("label", "pull")["answers"] == 1
    assert bench.call("label", "status")["answered"] == 1


def test_four_python_calls_run_a_campaign(make_bench: Callable[..., Bench]) -> None:
    """The same campaign from a program: draw, push, pull, decode."""
    import oversight as ov
    from oversight.protocols.collect import LabelStudio
    from oversight.protocols.routing import Partitioned

    bench = make_bench(9)
    items = ov.read_items("items.csv", classes=CLASSES)
    plan = Partitioned.from_roster("experts.toml", seed=3)
    with LabelStudio.from_env(study=bench.folder) as desk:
        assert sum(p.sent for p in desk.push(plan.route(items)).values()) == 9
        assert sum(p.sent for p in desk.push(plan.route(items)).values()) == 0
        for expert in EXPERTS:
            for task in bench.tasks(expert):
                bench.people[expert].answer(task["id"], "no")
        labels = plan.decode(desk.pull())
        assert {label.kind for label in labels} == {LabelKind.COMPLEMENTARY}
        assert len(labels) == 9
        assert sum(p.no for p in desk.status().values()) == 9
        assert desk.close().answers == 9
        with pytest.raises(ConfigError, match="not drawn by the study's protocol, 'partitioned'"):
            desk.push(RandomPanel(tuple(EXPERTS), 2).route(items))


def test_export_of_the_server_can_be_imported(bench: Bench) -> None:
    bench.call("label", "push")
    files = []
    for expert in EXPERTS:
        for task in bench.tasks(expert)[:5]:
            bench.people[expert].answer(task["id"], "no")
        reply = bench.admin.http.get(
            f"/api/projects/{bench.project(expert)}/export", params={"exportType": "JSON"}
        )
        path = bench.folder / f"{expert}.json"
        path.write_bytes(reply.content)
        files.append(path)
    assert bench.call("label", "import", *files) == {"answers": 15, "new": 15}
    assert bench.call("label", "import", *files) == {"answers": 15, "new": 0}
    pulled = bench.call("label", "pull")  # these answers are already stored
    assert (pulled["new"], pulled["quarantined"]) == (0, 0)
    with Store(bench.url) as store:
        assert {a.source for a in store.content.read_answers()} == {"label_studio_export"}
