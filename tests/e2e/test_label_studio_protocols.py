"""Protocols that look at predictions, and the running estimate, over a real Label Studio."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from oversight.harness.analysis import study_items
from oversight.harness.llm import make_spec
from oversight.harness.store import Store
from oversight.harness.types import Prediction
from oversight.protocols.routing import Sequential, read_roster
from oversight.protocols.routing.study_protocol import routing_rule_of
from tests.e2e.conftest import CLASSES, EXPERTS, Bench

pytestmark = pytest.mark.label_studio

N = 24
TRUTH = {f"i{j}": j % 3 for j in range(N)}
MODELS = {"large": {f"i{j}": j % 3 for j in range(N)}, "tiny": {f"i{j}": (j // 2) % 3 for j in range(N)}}


@pytest.fixture
def predicted(make_bench: Callable[..., Bench]) -> Bench:
    """A study with the predictions of two models, nothing routed."""
    bench = make_bench(N)
    with Store(bench.url) as store:
        store.content.add_items(study_items(bench.study))
        for name, options in MODELS.items():
            spec = make_spec(name, bench.study.model("m"), "$text", None)
            store.runs.add_run(spec)
            store.runs.store_predictions([(spec.id, Prediction(i, k)) for i, k in options.items()])
    return bench


def answer_open(bench: Bench) -> int:
    """Every expert answers truly what is open in their project."""
    done = 0
    for expert, option in EXPERTS.items():
        for task in bench.tasks(expert):
            if not task["annotations"]:
                item = "i" + task["data"]["text"].split()[1].strip(".")
                right = CLASSES[TRUTH[item]] == option
                bench.people[expert].answer(task["id"], "yes" if right else "no")
                done += 1
    return done


@pytest.mark.slow
def test_sequential_asks_on_until_every_model_is_known(predicted: Bench) -> None:
    predicted.edit("study.toml", "[models.m]", '[experts]\nprotocol = "sequential"\n[models.m]')
    assert predicted.call("label", "route")["questions"] == N
    predicted.call("label", "push")
    waves, answered = 0, 0
    follow = 1
    while follow:
        answered += answer_open(predicted)
        follow = predicted.call("label", "pull")["next_questions"]
        waves += 1
    assert waves >= 2
    with Store(predicted.url) as store:
        answers, items = store.content.read_answers(), store.content.read_items()
        assert len(answers) == answered == len(store.content.read_questions())
        plan = routing_rule_of(predicted.study, store, read_roster("experts.toml"))
    assert isinstance(plan, Sequential)
    correct = plan.correctness(items, answers)
    for model, options in MODELS.items():
        assert correct[model].tolist() == [int(options[i.id] == TRUTH[i.id]) for i in items]
    looked = predicted.call("label", "watch", "--once")
    assert looked["estimates"] == {}
    assert all("depended on predictions" in why for why in looked["undefined"].values())
    for expert in EXPERTS:
        sent = json.dumps([task["data"] for task in predicted.tasks(expert)])
        assert not any(word in sent for word in ("large", "tiny", "sequential", "propensity"))


def test_sequential_refuses_an_expert_of_two_classes(predicted: Bench) -> None:
    predicted.edit("study.toml", "[models.m]", '[experts]\nprotocol = "sequential"\n[models.m]')
    predicted.edit("experts.toml", 'classes = ["red"]', 'classes = ["red", "green"]')
    predicted.call("label", "route")
    failed = predicted.call("label", "push", code=2)["error"]
    assert "experts.toml [classes]: expert 'ana' judges red, green" in failed


def test_one_expert_is_never_asked_about_an_item_twice(predicted: Bench) -> None:
    predicted.edit("study.toml", "[models.m]", "[experts]\noptions_per_item = 3\n[models.m]")
    predicted.edit("experts.toml", 'classes = ["green"]', 'classes = ["green", "red"]')
    predicted.call("label", "route")
    failed = predicted.call("label", "push", code=2)["error"]
    assert "expert 'bea' would be asked about the item" in failed


@pytest.mark.slow
def test_targeted_questions_carry_their_propensities(predicted: Bench) -> None:
    predicted.edit("study.toml", "[models.m]", '[experts]\nprotocol = "targeted"\n[models.m]')
    predicted.call("label", "route")
    assert predicted.call("label", "route")["new"] == 0
    predicted.call("label", "push")
    assert answer_open(predicted) == N
    assert predicted.call("label", "pull")["new"] == N
    looked = predicted.call("label", "watch", "--once")
    assert "depended on predictions" in looked["undefined"]["large"]
    with Store(predicted.url) as store:
        assert len({round(q.propensity, 6) for q in store.content.read_questions()}) > 1
        spec = make_spec("late", predicted.study.model("m"), "$text", None)
        store.runs.add_run(spec)
        store.runs.store_predictions([(spec.id, Prediction(i, 2)) for i in TRUTH])
    assert "start a new study" in predicted.call("label", "route", code=2)["error"]


@pytest.mark.slow
def test_one_model_alone_may_be_watched_while_targeted(predicted: Bench) -> None:
    predicted.edit(
        "study.toml", "[models.m]", '[experts]\nprotocol = "targeted"\nmodels = ["tiny"]\n[models.m]'
    )
    predicted.call("label", "route")
    predicted.call("label", "push")
    answer_open(predicted)
    looked = predicted.call("label", "watch", "--once")
    right = sum(option == TRUTH[item] for item, option in MODELS["tiny"].items()) / N
    assert looked["estimates"]["tiny"]["estimate"] == pytest.approx(right, abs=1e-3)
    assert list(looked["undefined"]) == ["large"]


@pytest.mark.slow
def test_watch_stops_at_the_width_and_never_runs_ahead_of_the_slowest(predicted: Bench) -> None:
    predicted.call("label", "route")
    predicted.call("label", "push")
    truth = {expert: predicted.tasks(expert) for expert in EXPERTS}
    for task in truth["ana"]:
        predicted.people["ana"].answer(task["id"], "no")
    seen = predicted.call("label", "watch", "--once")
    assert (seen["share"], seen["used"], seen["estimates"]) == (0.0, 0, {})
    assert seen["slowest"] in ("bea", "cem")
    assert "have not answered yet" in seen["undefined"]["large"]
    answer_open(predicted)
    wide = predicted.call("label", "watch", "--until-width", "0.9")
    assert wide["reached"]
    assert wide["used"] == N
    for width in ("1.5", "0"):
        assert "--until-width" in predicted.call("label", "watch", "--until-width", width, code=2)["error"]
