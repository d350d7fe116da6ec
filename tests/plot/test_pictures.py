"""Pictures for Python: their texts and lines show the data, and they draw into the given axes."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib import pyplot
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

import oversight as ov
from oversight.harness.analysis import (
    EstimateOptions,
    EstimatesOverTime,
    GateCheck,
    GateReport,
    StudyReport,
    report_study,
)
from oversight.harness.config import ModelSection, Study
from oversight.harness.estimate import GateVerdict
from oversight.harness.llm import make_spec
from oversight.harness.panel import (
    AgreementReport,
    GrowthPoint,
    Parity,
    Superhuman,
    assess_superhuman,
    compute_bounds_by_size,
    measure_agreement,
    measure_parity,
)
from oversight.harness.panel.ratings import make_panel_from_grid
from oversight.harness.plot import draw_svg
from oversight.harness.store import Store
from oversight.harness.types import Item, Prediction
from oversight.protocols.collect import SimulatedExperts
from oversight.protocols.routing import Partitioned, one_expert_per_class

CLASSES = ("red", "green", "blue")


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    yield
    pyplot.close("all")


@pytest.fixture
def report(tmp_path: Path) -> StudyReport:
    study = Study.model_validate({"study": {"name": "t"}, "items": {"file": "x.csv"}})
    items = [Item(f"i{j}", f"text {j}", CLASSES, (0, 1, 2)) for j in range(60)]
    truth = {item.id: j % 3 for j, item in enumerate(items)}
    with Store(f"sqlite:///{tmp_path / 's.db'}") as store:
        store.content.add_items(items)
        store.content.add_questions(Partitioned(one_expert_per_class(CLASSES), seed=1).route(items))
        store.content.add_answers(SimulatedExperts(truth).answer(store.content.read_questions()))
        for name, wrong in (("good", 10), ("bad", 3)):
            spec = make_spec(name, ModelSection(model=name), "$text", None)
            store.runs.add_run(spec)
            said = [(truth[i.id] + (j % wrong == 0)) % 3 for j, i in enumerate(items)]
            store.runs.store_predictions(
                [(spec.id, Prediction(i.id, option)) for i, option in zip(items, said, strict=True)]
            )
        options = EstimateOptions(interval="wald", level=0.9)
        return report_study(store, study, truth=truth, options=options)


@pytest.fixture(scope="module")
def panel() -> tuple[AgreementReport, Superhuman, tuple[GrowthPoint, ...], Parity]:
    rng = np.random.default_rng(0)
    truth = rng.integers(3, size=80)
    grid = np.where(rng.random((80, 4)) < 0.8, truth[:, None], rng.integers(3, size=(80, 4)))
    made, predicted = make_panel_from_grid(grid, [*CLASSES, "unused"]), truth.astype(np.int64)
    return (
        measure_agreement(made, bootstrap=50),
        assess_superhuman(made, predicted, pool=True),
        compute_bounds_by_size(made, predicted, shuffles=2),
        measure_parity(made, predicted),
    )


def texts_of(axes: Axes) -> str:
    legend = axes.get_legend()
    named = [] if legend is None else [text.get_text() for text in legend.get_texts()]
    ticks = [label.get_text() for label in (*axes.get_xticklabels(), *axes.get_yticklabels())]
    title = axes.get_title() or axes.get_title(loc="left")
    return "\n".join((title, axes.get_xlabel(), axes.get_ylabel(), *ticks, *named))


def ends_of(axes: Axes) -> set[tuple[float, ...]]:
    """Coordinates of every line along both axes."""
    found = set()
    for line in axes.get_lines():
        for data in (line.get_xdata(), line.get_ydata()):
            found.add(tuple(np.asarray(data, dtype=float).tolist()))
    return found


def test_estimates_have_every_interval_a_title_and_units(report: StudyReport) -> None:
    axes = ov.plot.estimates(report)
    texts = texts_of(axes)
    assert "Accuracy from 60 answers, with 90% intervals" in texts
    assert "by the opened key" in texts
    assert {"good: ML", "bad: ML"} <= set(texts.replace(" (!)", "").splitlines())
    for model in report.models:
        for estimate in model.estimates.values():
            assert (estimate.low, estimate.high) in ends_of(axes)
    assert axes.xaxis.get_major_formatter()(1.0) == "100%"


def closings_of(report: StudyReport) -> dict[str, EstimatesOverTime]:
    """Two points of every model's first estimate."""
    points = {m.name: tuple((n, m.estimates["ml"]) for n in (20, 40)) for m in report.models}
    return {name: EstimatesOverTime(points=found, watchable=False, why="") for name, found in points.items()}


def test_intervals_close_in_the_order_of_the_draw(report: StudyReport) -> None:
    closings = closings_of(report)
    axes = ov.plot.closing(closings)
    assert "answers, in the order of the draw" in texts_of(axes)
    assert {"good", "bad"} <= set(texts_of(axes).replace(" (!)", "").splitlines())
    lines = {str(line.get_label()).removesuffix(" (!)"): line for line in axes.get_lines()}
    assert lines["good"].get_linestyle() != lines["bad"].get_linestyle()
    assert tuple(e.clipped for _, e in closings["good"].points) in ends_of(axes)
    assert len(axes.collections) == 2


def test_models_with_doubtful_intervals_are_marked(report: StudyReport) -> None:
    points = closings_of(report)["good"].points
    for why, mark in (("", ""), ("experts err", " (!)")):
        doubted = tuple((n, replace(found, why=why)) for n, found in points)
        axes = ov.plot.closing({"good": EstimatesOverTime(points=doubted, watchable=True, why="")})
        assert axes.get_lines()[0].get_label() == f"good{mark}"
        assert ("(!): the interval may not hold" in texts_of(axes)) == bool(mark)


def test_picture_without_points_gives_the_reason() -> None:
    bare = {"good": EstimatesOverTime(points=(), watchable=False, why="too few answers")}
    assert "No model has an estimate" in texts_of(ov.plot.closing(bare))


def test_agreement_shows_the_interval_and_names_the_undefined(panel: Any) -> None:
    report = panel[0]
    axes = ov.plot.agreement(report)
    texts = texts_of(axes)
    assert "Agreement of 4 annotators on 80 items" in texts
    assert "all classes, 95% interval" in texts
    assert "undefined: unused" in texts
    assert (report.alpha.low, report.alpha.high) in ends_of(axes)


def test_a_certificate_has_a_title_its_bounds_and_what_it_is_conditional_on(panel: Any) -> None:
    _, found, growth, _ = panel
    axes = ov.plot.certificate(found, growth)
    texts = texts_of(axes)
    assert found.certified
    assert "Is the model better than the average annotator? certified, at 95%" in texts
    assert "only if it does not share the annotators' errors" in texts
    assert "annotators per item" in texts
    assert "all 80 items,\nwith 95% bound" in texts
    for name in ("model, at least", "annotators ≤ U*", "annotators ≤ U(p)"):
        assert name in texts
    ends = ends_of(axes)
    assert (found.L, found.L_low) in ends
    assert {(c.bound, c.high) for c in found.against.values()} <= ends
    assert tuple(p.L for p in growth) in ends
    assert "certified" in texts_of(ov.plot.certificate(found))


def test_parity_has_both_with_intervals_in_every_bin(panel: Any) -> None:
    found = panel[3]
    axes = ov.plot.parity(found)
    texts = texts_of(axes)
    assert "Human and model against the vote, with 95% intervals" in texts
    for b in (*found.bins, found.overall):
        assert f"{b.items} items" in texts
        assert {(b.human.low, b.human.high), (b.model.low, b.model.high), (b.p_d, b.p_d)} <= ends_of(axes)


def test_they_draw_on_the_axes_that_they_are_given(report: StudyReport, panel: Any) -> None:
    agreement, found, growth, parity = panel
    pictures: tuple[Callable[[Axes], Axes], ...] = (
        lambda axes: ov.plot.estimates(report, axes),
        lambda axes: ov.plot.closing(closings_of(report), axes),
        lambda axes: ov.plot.agreement(agreement, axes),
        lambda axes: ov.plot.certificate(found, growth, axes),
        lambda axes: ov.plot.parity(parity, axes),
    )
    for draw in pictures:
        _, mine = pyplot.subplots()
        assert draw(mine) is mine
        assert mine.get_lines()
        svg = draw_svg(draw)
        assert svg.startswith("<svg")
        assert "currentColor" in svg
        assert svg == draw_svg(draw)


def test_matplotlib_is_imported_where_it_is_used_and_missed_in_words() -> None:
    program = (
        "import sys, oversight as ov\n"
        "draw = ov.plot.estimates\n"
        "assert 'matplotlib' not in sys.modules\n"
        "sys.modules['matplotlib'] = None\n"
        "for attempt in (lambda: ov.plot.drawing.new_axes(None), lambda: ov.plot.draw_svg(print)):\n"
        "    try:\n"
        "        attempt()\n"
        "    except ov.ConfigError as error:\n"
        "        print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.count("pictures need: pip install 'oversight-eval[report]'") == 2


def a_study(answers: int = 60) -> tuple[dict[str, list[Prediction]], ov.Labels]:
    """Predictions of two models and labels from experts who never err."""
    plan = Partitioned(one_expert_per_class(CLASSES), seed=1)
    items = [Item(f"i{j}", "text", CLASSES, (0, 1, 2)) for j in range(answers)]
    experts = SimulatedExperts({item.id: j % 3 for j, item in enumerate(items)})
    models = {
        name: [Prediction(item.id, (j + (j % wrong == 0)) % 3) for j, item in enumerate(items)]
        for name, wrong in (("a", 4), ("b", 7))
    }
    return models, plan.decode(experts.answer(plan.route(items)))


def test_a_difference_is_drawn_against_0() -> None:
    models, labels = a_study()
    found = ov.compare(models, labels)
    axes = found.plot()
    pair = found.pairs[0]
    assert (100 * pair.low, 100 * pair.high) in ends_of(axes)
    assert (0.0, 0.0) in ends_of(axes)
    assert "a − b" in texts_of(axes)
    assert ends_of(pair.plot()) == ends_of(axes)


def test_a_gate_is_drawn_with_its_bar() -> None:
    models, labels = a_study(120)
    passed = ov.gate_accuracy(models["b"], labels, 0.5)
    axes = passed.plot()
    assert (0.5, 0.5) in ends_of(axes)
    assert axes.get_title() == "Gate: pass, at 95%"
    assert (passed.value,) in ends_of(axes)
    unknown = GateVerdict(bar=-0.02, level=0.95, method="any time").withheld("there are no answers yet")
    checks = [
        GateCheck(model="b", baseline="", verdict=passed),
        GateCheck(model="b", baseline="a", verdict=unknown),
    ]
    report = GateReport(study="s", level=0.95, checks=checks, questions={"drawn": 120, "answered": 120})
    assert repr(report).splitlines()[0] == "undecided"
    assert report.to_frame()["verdict"].tolist() == ["pass", "undecided"]
    assert "there are no answers yet" in report._repr_html_()
    axes = report.plot()
    assert (-0.02, -0.02) in ends_of(axes)
    assert "b − a: undecided" in texts_of(axes)


@pytest.mark.parametrize(
    ("given", "shown", "scale"),
    [({"questions": 400}, "half_width", 100), ({"half_width": 0.05}, "questions", 1)],
)
def test_a_plan_is_drawn_by_what_differs(given: dict[str, Any], shown: str, scale: float) -> None:
    plan = ov.plan(4, 0.7, **given)
    axes = plan.plot()
    lengths = [scale * row[shown] for row in plan.records()]
    assert [bar.get_width() for bar in axes.patches if isinstance(bar, Rectangle)] == pytest.approx(
        lengths[::-1]
    )
    assert "accuracy: targeted" in texts_of(axes)


def test_every_kind_of_result_draws_itself(report: StudyReport, panel: Any) -> None:
    models, labels = a_study()
    agreement, certificate, _, parity = panel
    results = [report, agreement, certificate, parity, ov.accuracy(models["a"], labels)]
    results += [ov.accuracies(models["a"], labels), ov.model_accuracies(models, labels)]
    results += [ov.classification_report(models["a"], labels, CLASSES)]
    results += [ov.compare_classes(models, labels, CLASSES), ov.plan_from_pilot(models, labels)]
    for result in results:
        assert result.plot().get_title()
        assert result.plot(axes := pyplot.figure().add_subplot()) is axes
        pyplot.close("all")


def test_estimates_in_memory_are_drawn() -> None:
    models, labels = a_study()
    one = ov.accuracies(models["a"], labels)
    for results in (ov.accuracy(models["a"], labels), one, ov.model_accuracies(models, labels)):
        axes = ov.plot.estimates(results)
        assert axes.get_title() == "Accuracy with 95% intervals"
    assert [text.get_text()[:3] for text in axes.get_yticklabels()][-1] == "a: "
    for draw in (ov.plot.estimates, ov.plot.closing):
        with pytest.raises(ov.BadInput, match="list"):
            draw([one])  # type: ignore[arg-type]
