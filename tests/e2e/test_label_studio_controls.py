"""Gold, repeats and second experts in the queues of a real Label Studio, and second questions behind them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from oversight.harness.store import ControlKind, ControlQuestion, Store
from oversight.harness.types import Prediction
from tests.e2e.conftest import CLASSES, Bench
from tests.store.test_study_store import SPEC

pytestmark = [pytest.mark.label_studio, pytest.mark.slow]

N, GOLD = 30, 12
TEAM = {"ana": "red", "bea": "green", "cem": "blue", "eve": "*"}
"""Of every class there are two, so that a question may have a second expert."""
ALL_KINDS = '[experts]\ngold = "gold.csv"\ngold_share = 0.4\nrepeat = 0.3\noverlap = 0.3\n'


@pytest.fixture
def woven(make_bench: Callable[..., Bench]) -> Bench:
    """A study with control questions of every kind, routed and pushed."""
    made = make_bench(N, ALL_KINDS, TEAM)
    rows = "".join(f"number {j}.,{CLASSES[j % 3]}\n" for j in range(100, 100 + 2 * GOLD))
    (made.folder / "gold.csv").write_text("text,answer\n" + rows)
    drawn = made.call("label", "route")
    assert min(kind["drawn"] for kind in drawn["controls"].values()) >= 3
    assert made.call("label", "push")["sent"] == drawn["questions"]
    return made


def is_true(task: dict[str, Any]) -> bool:
    """Whether the option that a task asks about is the true one of its text: of every third one in turn."""
    number = int(task["data"]["text"].split()[1].strip("."))
    return f"“{CLASSES[number % 3]}”" in task["data"]["question"]


def read_controls(bench: Bench) -> dict[str, ControlQuestion]:
    with Store(bench.url) as store:
        return {c.id: c for c in store.controls.read_controls()}


def test_nothing_on_the_server_tells_control_questions_apart(woven: Bench) -> None:
    controls, seen, places = read_controls(woven), Counter[str](), dict[str, int]()
    shapes = set[tuple[str, ...]]()
    for expert in TEAM:
        for place, task in enumerate(woven.tasks(expert)):
            text = json.dumps([task["data"], task["meta"]])
            assert not any(word in text for word in ("gold", "repeat", "overlap", "control", "original"))
            shapes.add((*sorted(task["data"]), "meta", *sorted(task["meta"] or ())))
            name = task["data"]["question_id"]
            seen[name] += 1
            places[name] = place
    assert len(shapes) == 1
    assert controls.keys() <= seen.keys()
    assert len(seen) == seen.total() == N + len(controls)
    repeats = [c for c in controls.values() if c.kind is ControlKind.REPEAT]
    assert all(places[c.original] < places[c.id] for c in repeats)


def test_control_answers_count_only_for_the_experts(woven: Bench) -> None:
    controls = read_controls(woven)
    wrong, first = set[str](), True
    for expert in TEAM:
        for task in woven.tasks(expert):
            name, said = task["data"]["question_id"], is_true(task)
            if first and name in controls and controls[name].kind is ControlKind.GOLD:
                said, first = not said, False
                wrong.add(name)
            woven.people[expert].answer(task["id"], "yes" if said else "no")
    assert woven.call("label", "pull")["new"] == N + len(controls)
    quality = {q["name"]: q for q in woven.call("experts", "quality")["quality"]}
    asked = Counter(c.expert for c in controls.values())
    assert {name: q["asked"] for name, q in quality.items() if name in TEAM} == dict(asked)
    every, kinds = quality["all experts"], Counter(c.kind for c in controls.values())
    rates = [every[name] for name in ("sensitivity", "specificity")]
    assert sum(rate["of"] for rate in rates) == kinds[ControlKind.GOLD]
    assert sum(rate["of"] - rate["successes"] for rate in rates) == len(wrong) == 1
    assert every["steadiness"]["of"] == every["steadiness"]["successes"] == kinds[ControlKind.REPEAT]
    assert every["agreement"]["of"] == every["agreement"]["successes"] == kinds[ControlKind.OVERLAP]
    with Store(woven.url) as store:
        assert len(store.content.read_answers()) == N
        store.runs.add_run(SPEC)
        store.runs.store_predictions([(SPEC.id, Prediction(f"i{j}", j % 3)) for j in range(N)])
    estimates = woven.call("estimate")["models"]["m"]["estimates"]
    assert next(iter(estimates)) == "corrected"
    assert estimates["ml"]["n"]["ordinary"] + estimates["ml"]["n"]["complementary"] == N


def test_second_questions_follow_the_first_into_the_queues(make_bench: Callable[..., Bench]) -> None:
    bench = make_bench(N)
    bench.call("label", "route")
    with Store(bench.url) as store:
        store.runs.add_run(SPEC)
        store.runs.store_predictions(
            [(SPEC.id, Prediction(f"i{j}", (j + (j % 7 == 0)) % 3)) for j in range(N)]
        )
    for more in (0, 8):
        if more:
            assert bench.call("label", "route", "--more", str(more), "--second")["new"] == more
        assert bench.call("label", "push")["sent"] == (more or N)
        for expert in ("ana", "bea", "cem"):
            for task in bench.tasks(expert):
                if not task["annotations"]:
                    bench.people[expert].answer(task["id"], "yes" if is_true(task) else "no")
        assert bench.call("label", "pull")["new"] == (more or N)
    status = bench.call("label", "status")
    assert (status["answered"], status["open"]) == (N + 8, 0)
    deepened = bench.call("estimate")["models"]["m"]["estimates"]["deepened"]
    assert "second_questions: 8 of 8 used" in deepened["flags"]
    assert bench.call("label", "watch", "--once")["used"] == N
