"""The table shows what was estimated, and nothing that is not there."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from oversight.harness import BadInput
from oversight.harness.analysis import StudyReport, report_study, true_accuracy
from oversight.harness.config import ModelSection, Study
from oversight.harness.llm import make_spec
from oversight.harness.report import estimates_table, study_to_json
from oversight.harness.store import Store
from oversight.harness.types import Item, Prediction, PredictionStatus
from oversight.protocols.collect import SimulatedExperts
from oversight.protocols.routing import Partitioned, one_expert_per_class

CLASSES = ("red", "green", "blue", "black")


@pytest.fixture
def study() -> Study:
    return Study.model_validate({"study": {"name": "Ünïts & <tags>"}, "items": {"file": "x.csv"}})


@pytest.fixture
def report(tmp_path: Path, study: Study) -> StudyReport:
    items = [Item(f"i{j}", f"text <b>{j}</b> & more", CLASSES, (0, 1, 2, 3)) for j in range(120)]
    truth = {item.id: j % 4 for j, item in enumerate(items)}
    plan = Partitioned(one_expert_per_class(CLASSES), seed=1)
    with Store(f"sqlite:///{tmp_path / 's.db'}") as store:
        store.content.add_items(items)
        store.content.add_questions(plan.route(items))
        store.content.add_answers(
            SimulatedExperts(truth, abstention=0.1).answer(store.content.read_questions())
        )
        for name, wrong in (("good", 10), ("bad", 3)):
            spec = make_spec(name, ModelSection(model=name), "$text", None)
            store.runs.add_run(spec)
            store.runs.store_predictions(
                [(spec.id, prediction(j, truth[i.id], wrong)) for j, i in enumerate(items)]
            )
        return report_study(store, study, truth=truth)


def prediction(j: int, right: int, wrong: int) -> Prediction:
    if j % 20 == 7:
        return Prediction(f"i{j}", None, PredictionStatus.UNREADABLE, "several")
    if j % 40 == 9:
        return Prediction(f"i{j}", None, PredictionStatus.FAILED, "HTTP 500: oops")
    return Prediction(f"i{j}", (right + (j % wrong == 0)) % 4)


def test_the_summary_counts_what_is_there(report: StudyReport) -> None:
    good, bad = report.models
    assert (good.name, bad.name) == ("good", "bad")
    assert (good.unreadable, good.failed) == ({"several": 6}, {"HTTP 500": 3})
    assert good.estimates["ml"].n.unreadable <= 6
    assert bad.truth is not None
    assert good.truth is not None
    assert good.truth > bad.truth
    assert list(good.estimates) == ["ml", "ivw", "ivw_half", "ord", "comp", "assisted", "worst_case"]
    assert report.n_answers == 120
    assert sum(x.asked for x in report.experts) == 120


def test_unreadable_predictions_are_never_right_and_failed_ones_are_left_out() -> None:
    predictions = [
        Prediction("a", 1),
        Prediction("b", None, PredictionStatus.UNREADABLE),
        Prediction("c", None, PredictionStatus.FAILED),
    ]
    assert true_accuracy(predictions, {"a": 1, "b": 0, "c": 0}) == 0.5


def test_the_table_shows_every_estimate(report: StudyReport) -> None:
    console = Console(width=120, record=True, file=None, quiet=False, force_terminal=False)
    with console.capture() as captured:
        console.print(estimates_table(report))
    text = captured.get()
    for model in report.models:
        for e in model.estimates.values():
            assert f"{100 * e.low:.1f} % – {100 * e.high:.1f} %" in text
    assert "unreadable" in text


def test_json_names_the_one_number_that_python_gives(report: StudyReport) -> None:
    shown = study_to_json(report)["models"]
    for model in report.models:
        assert model.accuracy is model.estimates["ml"]
        one = shown[model.name]["accuracy"]
        assert set(one) == {"estimate", "low", "high", "level", "estimator", "method", "holds", "why"}
        chosen = shown[model.name]["estimates"][one["estimator"]]
        assert (one["estimate"], one["low"], one["why"]) == (
            chosen["estimate"],
            chosen["low"],
            chosen["why"],
        )


def test_notebook_shows_one_number_per_model_first(report: StudyReport) -> None:
    first = report.html_tables()[0]
    assert list(first.columns) == ["model", "accuracy", "interval"]
    assert [row[0] for row in first.rows] == ["good", "bad"]
    ml = report.models[0].estimates["ml"]
    assert first.rows[0][1] == f"{100 * ml.value:.1f} %"


def test_report_without_answers_is_refused(tmp_path: Path, study: Study) -> None:
    with (
        Store(f"sqlite:///{tmp_path / 's.db'}") as store,
        pytest.raises(BadInput, match="no answers yet"),
    ):
        report_study(store, study)


def test_the_verbs_need_a_study(oversight: Callable[..., Any], tmp_path: Path) -> None:
    for verb in ("estimate", "report"):
        assert "no such study file" in oversight(verb, "--study", tmp_path / "no.toml", code=2)["error"]
