"""The walk of CONTRIBUTING that needs a real server: an answer from Label Studio to a printed interval."""

from __future__ import annotations

import pytest

import oversight as ov
from oversight.harness.store import Store
from oversight.harness.types import Prediction
from oversight.protocols.collect import LabelStudio
from oversight.protocols.routing import Partitioned
from tests.e2e.conftest import EXPERTS, Bench, region
from tests.house.walks import assert_short, follow
from tests.store.test_study_store import SPEC

pytestmark = pytest.mark.label_studio

DYE = "so writes expert 7f3a"


def test_answer_in_label_studio_reaches_a_printed_interval(bench: Bench) -> None:
    bench.call("label", "push")
    said = {"from_name": "comment", "to_name": "item", "type": "textarea", "value": {"text": [DYE]}}
    for expert in EXPERTS:
        for j, task in enumerate(bench.tasks(expert)):
            regions = [region(["yes"])] + ([said] if (expert, j) == ("bea", 1) else [])
            body = {"result": regions, "lead_time": 4.0}
            bench.people[expert].do("POST", f"/api/tasks/{task['id']}/annotations/", body)
    with Store(bench.url) as store:
        store.runs.add_run(SPEC)
        store.runs.store_predictions([(SPEC.id, Prediction(f"i{j}", j % 3)) for j in range(30)])
        predictions = store.runs.read_predictions(SPEC.id)
    plan = Partitioned.from_roster("experts.toml", seed=3)
    printed: list[str] = []

    def walk_back() -> None:
        with LabelStudio.from_env(study=bench.folder) as studio:
            labels = plan.decode(studio.pull())
        printed.append(str(ov.accuracy(predictions, labels, checks=False)))

    walk = follow(DYE, walk_back)
    assert printed[0].endswith("30 ordinary + 0 complementary")
    assert_short("an answer from Label Studio to a printed interval", walk, files=18, returns=1)
