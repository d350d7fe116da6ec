"""Results by class: what they are, that they agree with accuracies, and when they are withheld or refused."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import oversight as ov
from oversight.harness.errors import BadInput
from oversight.harness.types import Item, LabelKind, Prediction, PredictionStatus
from oversight.protocols.collect import SimulatedExperts
from oversight.protocols.routing import Disagreement, Partitioned, Sequential, Targeted, one_expert_per_class

CLASSES = ("[red]", "green", "blue")
K, N = 3, 600
ITEMS = [Item(f"i{j}", "t", CLASSES, tuple(range(K))) for j in range(N)]
MEANS = ("macro_precision", "macro_recall", "macro_f1")
ALL = ("precision", "recall", "f1", "prevalence", *MEANS)
ERRORS = ov.CostTable(costs=1 - np.eye(K))


def draw(
    seed: int,
    *accuracies: float,
    protocol: str = "partitioned",
    classes: int = K,
    n: int = N,
    abstain: float = 0,
    each: int = 1,
) -> tuple[dict[str, list[Prediction]], ov.Labels, np.ndarray[Any, Any]]:
    """Models, labels and truth of a study; the last class is half as frequent as each other."""
    rng = np.random.default_rng(seed)
    items = [
        replace(item, options=CLASSES[:classes], permutation=tuple(range(classes))) for item in ITEMS[:n]
    ]
    truth = rng.integers(0, 2 * classes - 1, n) // 2
    options = {}
    for place, a in enumerate(accuracies):
        wrong = (truth + 1 + rng.integers(0, classes - 1, n)) % classes
        options[f"m{place}"] = np.where(rng.random(n) < a, truth, wrong)
    votes = {m: {x.id: int(k) for x, k in zip(items, o, strict=True)} for m, o in options.items()}
    roster = one_expert_per_class(CLASSES[:classes])
    rules: dict[str, Any] = {"targeted": Targeted, "sequential": Sequential, "disagreement": Disagreement}
    plan: Any = rules[protocol](roster, votes, seed) if protocol in rules else Partitioned(roster, seed, each)
    experts = SimulatedExperts(
        {x.id: int(k) for x, k in zip(items, truth, strict=True)}, abstention=abstain, seed=seed
    )
    asked = questions = plan.route(items)
    answers = list(experts.answer(questions))
    while plan.statement.asks_on and (questions := plan.next_questions(items, answers)):
        asked = [*asked, *questions]
        answers += experts.answer(questions)
    models = {m: [Prediction(i, k) for i, k in rows.items()] for m, rows in votes.items()}
    return models, ov.decode(answers, asked), truth


def true_results(
    predictions: list[Prediction], truth: np.ndarray[Any, Any], classes: int = K
) -> dict[str, float]:
    said = np.array([-1 if p.option is None else p.option for p in predictions])
    both = np.array([np.mean((said == k) & (truth == k)) for k in range(classes)])
    of, named = (np.array([np.mean(x == k) for k in range(classes)]) for x in (truth, said))
    each = {"precision": both / named, "recall": both / of, "f1": 2 * both / (of + named), "prevalence": of}
    found = {f"{m}[{CLASSES[k]}]": float(v[k]) for m, v in each.items() for k in range(classes)}
    return found | {f"macro_{m}": float(v.mean()) for m, v in each.items() if m != "prevalence"}


@pytest.mark.parametrize("protocol", ["partitioned", "targeted"])
def test_every_result_is_near_the_truth_and_inside_its_interval(protocol: str) -> None:
    models, labels, truth = draw(1, 0.85, 0.6, protocol=protocol)
    found = ov.classification_report(models["m0"], labels, CLASSES, metrics=ALL, costs=ERRORS)
    wanted = true_results(models["m0"], truth)
    assert list(found) == [*wanted, "cost"]
    assert not found.undefined
    wanted["cost"] = 1 - np.mean([p.option == t for p, t in zip(models["m0"], truth, strict=True)])
    for name, value in wanted.items():
        assert abs(found[name].value - value) < 0.2
        assert found[name].low <= value <= found[name].high
        assert found[name].low <= found[name].value <= found[name].high
        assert found[name].holds


def test_a_cost_of_errors_is_what_the_accuracy_leaves() -> None:
    for protocol in ("partitioned", "targeted", "sequential"):
        models, labels, _ = draw(2, 0.8, 0.6, protocol=protocol)
        right = ov.accuracy(models["m0"], labels)
        cost = ov.classification_report(models["m0"], labels, CLASSES, metrics=(), costs=ERRORS)["cost"]
        assert (1 - cost.value, 1 - cost.high, 1 - cost.low) == pytest.approx(
            (right.value, right.low, right.high)
        )


def test_a_cost_has_the_unit_of_its_table_and_is_shown_as_a_number() -> None:
    models, labels, truth = draw(3, 0.8)
    table = np.array([[-5.0, 400.0, 300.0], [20.0, -5.0, 20.0], [20.0, 20.0, -5.0]])
    made = ov.classification_report(
        models["m0"], labels, CLASSES, metrics=(), costs=ov.CostTable(costs=table)
    )
    true = np.mean([table[t, p.option] for p, t in zip(models["m0"], truth, strict=True)])
    assert made["cost"].low < true < made["cost"].high
    assert made["cost"].clipped == made["cost"].value > 1
    assert "%" not in "".join(made.html_tables()[0].rows[0][:3])


def test_unreadable_answers_lower_recall_and_need_a_cost() -> None:
    models, labels, truth = draw(4, 0.9)
    rows = [
        replace(p, option=None, status=PredictionStatus.UNREADABLE) if j % 3 == 0 else p
        for j, p in enumerate(models["m0"])
    ]
    found = ov.classification_report(rows, labels, CLASSES, metrics=("precision", "recall"), costs=ERRORS)
    wanted = true_results(rows, truth)
    for name in (f"{m}[{c}]" for m in ("precision", "recall") for c in CLASSES):
        assert found[name].low < wanted[name] < found[name].high
    assert "add the column 'unreadable'" in found.undefined["cost"]
    costs = ov.CostTable(costs=1 - np.eye(K), unreadable=np.ones(K))
    made = ov.classification_report(rows, labels, CLASSES, metrics=(), costs=costs)["cost"]
    assert made.low < 1 - np.mean([p.option == t for p, t in zip(rows, truth, strict=True)]) < made.high


def test_a_class_that_few_questions_are_about_is_withheld_with_its_means() -> None:
    models, labels, _ = draw(5, 0.9, n=18)
    found = ov.classification_report(
        models["m0"], labels, CLASSES, metrics=("recall", "macro_f1", "precision")
    )
    assert "yes-answers about this class if" in found.undefined["recall[blue]"]
    assert "f1[" in found.undefined["macro_f1"]
    assert "is withheld" in found.undefined["macro_f1"]
    assert "precision[green]" in found


def test_a_class_that_is_never_predicted_has_no_precision() -> None:
    models, labels, _ = draw(6, 0.9)
    rows = [replace(p, option=max(1, p.option or 0)) for p in models["m0"]]
    found = ov.classification_report(rows, labels, CLASSES, metrics=("precision", "recall"))
    assert found.undefined["precision[[red]]"] == "no item is predicted to be of this class"
    assert "recall[[red]]" in found.undefined
    assert "recall[green]" in found


def test_questions_about_predictions_alone_tell_precision_only() -> None:
    models, labels, _ = draw(7, 0.8, protocol="targeted")
    found = ov.classification_report(
        models["m0"], labels, CLASSES, metrics=("precision", "recall", "macro_precision")
    )
    assert [n for n in found if n.startswith("precision")]
    assert "macro_precision" in found
    assert "for some items no question about this class could be drawn" in found.undefined["recall[green]"]


@pytest.mark.parametrize("protocol", ["targeted", "sequential"])
def test_a_mean_over_classes_without_errors_is_more_certain_than_one_class(protocol: str) -> None:
    models, labels, _ = draw(3, 1.0, protocol=protocol, n=90)
    found = ov.classification_report(models["m0"], labels, CLASSES, metrics=["precision", "macro_precision"])
    ends = {name: 1 - each.low for name, each in found.items()}
    mean = ends.pop("macro_precision")
    assert mean < 0.9 * np.mean(list(ends.values()))
    assert mean > np.sqrt(np.sum(np.square(list(ends.values())))) / K
    clustered = labels.clustered({item.id: str(j // 3) for j, item in enumerate(ITEMS[:90])})
    together = ov.classification_report(
        models["m0"], clustered, CLASSES, metrics=["precision", "macro_precision"]
    )
    each = [1 - together[f"precision[{name}]"].low for name in CLASSES]
    assert 1 - together["macro_precision"].low >= 0.95 * np.mean(each)


@pytest.mark.parametrize("metric", ["precision", "recall", "f1"])
def test_rounding_errors_are_no_correlations_of_classes_without_errors(metric: str) -> None:
    models, labels, _ = draw(3, 1.0, protocol="partitioned", n=90, each=K)
    found = ov.classification_report(models["m0"], labels, CLASSES, metrics=[metric, f"macro_{metric}"])
    far = np.array([1 - found[f"{metric}[{name}]"].low for name in CLASSES])
    between = np.full((K, K), 1 / (K - 1))
    np.fill_diagonal(between, 1)
    assert 1 - found[f"macro_{metric}"].low == pytest.approx(np.sqrt(far @ between @ far) / K)


def test_resolved_items_tell_precision_and_recall_where_the_truth_is_known() -> None:
    models, labels, truth = draw(8, 0.8, protocol="sequential", classes=2)
    found = ov.classification_report(models["m0"], labels, CLASSES[:2], metrics=ALL)
    wanted = true_results(models["m0"], truth, 2)
    assert {n: found[n].value for n in wanted} == pytest.approx(wanted)
    models, labels, _ = draw(8, 0.8, protocol="sequential")
    found = ov.classification_report(models["m0"], labels, CLASSES, metrics=("precision", "recall"))
    assert "precision[blue]" in found
    assert "items are of this class, because" in found.undefined["recall[blue]"]


def test_disagreements_and_silent_experts_give_no_results_by_class() -> None:
    models, labels, _ = draw(9, 0.8, 0.6, protocol="disagreement")
    found = ov.classification_report(models["m0"], labels, CLASSES)
    assert not found
    assert "only where two models differ" in found.undefined["recall[blue]"]
    models, labels, _ = draw(9, 0.8)
    one = ov.Labels([x for x in labels if x.option == 0], labels.design)
    found = ov.classification_report(models["m0"], one, CLASSES, metrics=("macro_f1",))
    assert not found
    assert "not answered yet" in found.undefined["macro_f1"]


def test_intervals_by_class_use_clusters_and_strata() -> None:
    models, labels, truth = draw(10, 0.8)
    wanted = true_results(models["m0"], truth)
    alone = ov.classification_report(models["m0"], labels, CLASSES, metrics=ALL)
    together = labels.clustered({x.id: str(j // 4) for j, x in enumerate(ITEMS)})
    found = ov.classification_report(models["m0"], together, CLASSES, metrics=ALL)
    strata = {x.id: "ab"[j % 2] for j, x in enumerate(ITEMS)}
    weighted = ov.classification_report(models["m0"], labels, CLASSES, metrics=ALL, strata=strata)
    for name, value in wanted.items():
        assert found[name].low < value < found[name].high
        assert weighted[name].low < value < weighted[name].high
    assert (
        found["recall[blue]"].high - found["recall[blue]"].low
        > alone["recall[blue]"].high - alone["recall[blue]"].low
    )
    # Only half of stratum b is labelled, but both strata keep the same weight.
    some = [x for x in labels if strata[x.item_id] == "a" or int(x.item_id[1:]) % 4 == 1]
    uneven = ov.classification_report(models["m0"], some, CLASSES, metrics=("macro_f1",))["macro_f1"]
    even = ov.classification_report(models["m0"], some, CLASSES, metrics=("macro_f1",), strata=strata)
    assert abs(even["macro_f1"].value - uneven.value) > 1e-4
    with pytest.raises(BadInput, match="strata"):
        ov.classification_report(models["m0"], together, CLASSES, strata=strata)


def test_bad_input_is_refused_by_name() -> None:
    models, labels, _ = draw(11, 0.8, 0.7)
    with pytest.raises(BadInput, match="'f2' is not"):
        ov.classification_report(models["m0"], labels, CLASSES, metrics=["f2"])
    with pytest.raises(BadInput, match="give at least one"):
        ov.classification_report(models["m0"], labels, CLASSES, metrics=[])
    with pytest.raises(BadInput, match="has 3 options"):
        ov.classification_report(models["m0"], labels, ("a", "b"))
    with pytest.raises(BadInput, match="each only once"):
        ov.classification_report(models["m0"], labels, ("a", "b", "a"))
    with pytest.raises(BadInput, match="square"):
        ov.CostTable(costs=np.ones((2, 3)))
    with pytest.raises(BadInput, match="finite"):
        ov.CostTable(costs=np.full((3, 3), np.inf))
    with pytest.raises(BadInput, match="the table has 2"):
        ov.classification_report(models["m0"], labels, CLASSES, costs=ov.CostTable(costs=np.eye(2)))
    with pytest.raises(BadInput, match="prevalence"):
        ov.compare_classes(models, labels, CLASSES, metrics=["prevalence"])
    with pytest.raises(BadInput, match="at least 2 models"):
        ov.compare_classes({"m0": models["m0"]}, labels, CLASSES)


def test_differences_hold_the_truth_and_a_cheaper_model_is_better() -> None:
    models, labels, truth = draw(12, 0.95, 0.5)
    found = ov.compare_classes(models, labels, CLASSES, metrics=(*ALL[:3], *MEANS), costs=ERRORS)
    a, b = (true_results(rows, truth) for rows in models.values())
    assert not found.undefined
    for name, pairs in found.results.items():
        if name != "cost":
            assert pairs[0].low < a[name] - b[name] < pairs[0].high
    (cost,) = found.results["cost"]
    (accuracy,) = ov.compare(models, labels).pairs
    assert cost.difference == pytest.approx(-accuracy.difference, abs=0.03)
    assert cost.high < 0
    assert cost.verdict == "m0" == found.results["macro_f1"][0].verdict


def test_models_that_never_differ_are_tied_with_an_interval_that_is_not_0() -> None:
    models, labels, _ = draw(13, 0.9)
    found = ov.compare_classes({"a": models["m0"], "b": models["m0"]}, labels, CLASSES, metrics=("macro_f1",))
    (pair,) = found.results["macro_f1"]
    assert (pair.difference, pair.verdict) == (0.0, "tie")
    assert pair.low < -0.01 < 0.01 < pair.high


def test_differences_are_marked_if_a_check_failed() -> None:
    models, labels, _ = draw(16, 0.9, 0.7)
    refused = [replace(one, kind=LabelKind.COMPLEMENTARY) for one in labels[:300]] + list(labels[300:])
    for said in (labels, refused):
        pairs = ov.compare_classes(models, said, CLASSES, metrics=("recall",), costs=ERRORS).pairs
        assert all("check 'yes_rate' failed" in pair.why for pair in pairs) == (said is refused)


def test_several_models_are_compared_at_a_joint_level() -> None:
    models, labels, _ = draw(14, 0.9, 0.7, 0.5)
    two = ov.compare_classes({n: models[n] for n in ("m0", "m1")}, labels, CLASSES, metrics=("macro_recall",))
    three = ov.compare_classes(models, labels, CLASSES, metrics=("macro_recall",)).results["macro_recall"]
    assert [(p.first, p.second) for p in three] == [("m0", "m1"), ("m0", "m2"), ("m1", "m2")]
    (one,) = two.results["macro_recall"]
    assert three[0].low < one.low
    assert three[0].high > one.high
    assert three[0].adjusted == "bonferroni"


def test_missing_data_are_refused_and_unreadable_answers_have_a_cost() -> None:
    models, labels, _ = draw(15, 0.8, 0.7, n=120)
    rows = models["m0"]
    failed = [replace(p, option=None, status=PredictionStatus.FAILED) for p in rows]
    for predictions, said in ((rows, []), ([], labels), (failed, labels)):
        with pytest.raises(ov.EstimateError, match="a yes or no about a prediction"):
            ov.classification_report(predictions, said, CLASSES)
    with pytest.raises(ov.EstimateError, match="a yes or no about a prediction"):
        ov.compare_classes({"a": rows[:60], "b": models["m1"][60:]}, labels, CLASSES)
    silent = [replace(p, option=None, status=PredictionStatus.UNREADABLE) for p in rows]
    table = ov.CostTable(costs=1 - np.eye(K), unreadable=np.ones(K))
    cost = ov.classification_report(silent, labels, CLASSES, metrics=(), costs=table)["cost"]
    assert cost.low < cost.value == cost.high == 1
