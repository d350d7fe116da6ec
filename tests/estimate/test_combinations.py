"""The table of combinations says what every call does: a number, or a refusal with the table's reason."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import oversight as ov
from oversight.agents.search import ExpertLabels, prepare_search, score_items
from oversight.agents.search.item_splits import refuse_unscorable
from oversight.harness.analysis import (
    Bars,
    compare_study,
    compare_study_classes,
    gate_study,
    plan_study,
    report_study,
)
from oversight.harness.columns import LabelColumns, PredictionColumns, align_pool
from oversight.harness.config import SearchSection, read_study
from oversight.harness.errors import BadInput, EstimateError, OversightError
from oversight.harness.estimate import (
    ErrorRanges,
    GoldCounts,
    SecondQuestions,
    estimate_models,
    find_reason,
    gate_accuracy,
    gate_difference,
    plan_from_pilot,
    synthesise_population,
)
from oversight.harness.estimate.combinations import DESIGNS, FEATURES, NO_EFFECT, RULES, USES, find_rule
from oversight.harness.estimate.second import TWO_PHASE
from oversight.harness.estimate.side_information import JUDGED
from oversight.harness.store import Store
from oversight.harness.types import Answer, Item, Prediction
from oversight.protocols.collect import SimulatedExperts
from oversight.protocols.routing import Disagreement, Partitioned, Sequential, Targeted, one_expert_per_class

CLASSES = ("red", "green", "blue")
K, N, POOL = 3, 120, 300
ITEMS = [Item(f"i{j}", "t", CLASSES, tuple(range(K))) for j in range(N)]
ROSTER = one_expert_per_class(CLASSES)
GOLD = GoldCounts(95, 100, 95, 100)
RANGES = ErrorRanges(gold_true=(95, 5), gold_false=(5, 95))


@dataclass(frozen=True)
class Study:
    """A small study: predictions by model, those of a judge, and answers with what they carry."""

    models: dict[str, list[Prediction]]
    judge: list[Prediction]
    labels: ov.Labels
    features: frozenset[str]


def make_study(design: str, features: frozenset[str]) -> Study:
    rng = np.random.default_rng(3)
    size = POOL if "weights" in features else N
    truth, options = synthesise_population(size, K, [0.8, 0.6, 0.7], rng)
    named = {f"m{m}": {f"i{j}": int(k) for j, k in enumerate(options[:, m])} for m in (0, 1)}
    rules: dict[str, Callable[[], Any]] = {
        "uniform": lambda: Partitioned(ROSTER, 1),
        "weighted": lambda: Targeted(ROSTER, named, 1),
        "resolved": lambda: Sequential(ROSTER, named, 1),
        "differences": lambda: Disagreement(ROSTER, named, 1),
    }
    plan = rules[design]()
    experts, answers = SimulatedExperts({f"i{j}": int(k) for j, k in enumerate(truth)}), list[Answer]()
    waiting = drawn = plan.route(ITEMS)
    while waiting:
        answers += experts.answer(waiting)
        waiting = plan.next_questions(ITEMS, answers) if plan.statement.asks_on else []
        drawn = [*drawn, *waiting]
    labels = ov.decode(answers, drawn)
    if "clusters" in features:
        labels = labels.clustered({item.id: str(j // 3) for j, item in enumerate(ITEMS)})
    if "weights" in features:
        weights = {item.id: 1.5 + 2 * (j % 2) for j, item in enumerate(ITEMS)}
        labels = labels.drawn_from(dict.fromkeys(weights, "all"), pool_size=POOL, weights=weights)
    judge = [Prediction(f"i{j}", int(k), confidence=0.8) for j, k in enumerate(options[:, 2])]
    rows = {name: [Prediction(i, k) for i, k in each.items()] for name, each in named.items()}
    return Study(rows, judge, labels, features)


def ask_again(study: Study) -> tuple[dict[str, PredictionColumns], LabelColumns, LabelColumns]:
    """Give predictions and labels as columns, and answers to second questions about some items."""
    truth = synthesise_population(N, K, [0.8, 0.6, 0.7], np.random.default_rng(3))[0]
    asked = []
    for label, question in zip(study.labels, study.labels.design.drawn, strict=True):
        if label.kind != ov.LabelKind.COMPLEMENTARY or int(label.item_id[1:]) % 2:
            continue
        shares = tuple(0.25 * (k != label.option) for k in range(K))
        option = next(k for k in range(K) if shares[k])
        asked.append(replace(question, option=option, propensity=0.25, propensities=shares))
    experts = SimulatedExperts({f"i{j}": int(k) for j, k in enumerate(truth.tolist())})
    second = ov.decode(experts.answer(asked), asked)
    columns, said = align_pool(list(study.models.values()), study.labels)
    return dict(zip(study.models, columns, strict=True)), said, LabelColumns.of(second, said.index)


def estimate(study: Study) -> float:
    """The estimate that uses all features of the study."""
    given, strata = study.features, {item.id: str(j % 2) for j, item in enumerate(ITEMS)}
    options: dict[str, Any] = {"strata": strata} if "strata" in given else {}
    if "gold" in given:
        return ov.accuracy(study.models["m0"], study.labels, gold=GOLD, **options).value
    if "second questions" in given:
        models, labels, second = ask_again(study)
        found = estimate_models(models, labels, [SecondQuestions(models, second)], **options)["m0"]
    else:
        judges = {"judge": study.judge} if "judges" in given else None
        found = ov.model_accuracies(study.models, study.labels, judges=judges, **options)["m0"]
    wanted = {"second questions": TWO_PHASE, "judges": JUDGED, "votes": "assisted"}
    named = next((name for feature, name in wanted.items() if feature in given), "")
    if not named:
        return ov.accuracy(study.models["m0"], study.labels, **options).value
    if named not in found:
        raise EstimateError(found.undefined.get(named, "; ".join(found.undefined.values())))
    return found[named].value


def compare(study: Study) -> float:
    errors = RANGES if "gold" in study.features else None
    return ov.compare(study.models, study.labels, errors=errors).pairs[0].difference


def gate(study: Study) -> float:
    errors = RANGES if "gold" in study.features else None
    found = gate_accuracy(study.models["m0"], study.labels, 0.5, errors=errors)
    return _value(found.value, found.why)


def gate_both(study: Study) -> float:
    errors = RANGES if "gold" in study.features else None
    first, second = study.models.values()
    found = gate_difference(first, second, study.labels, -0.1, errors=errors)
    return _value(found.value, found.why)


def _value(value: float, why: str) -> float:
    if np.isnan(value):
        raise EstimateError(why)
    return value


def metrics(study: Study) -> float:
    strata = {item.id: str(j % 2) for j, item in enumerate(ITEMS)} if "strata" in study.features else None
    model: Any = study.models["m0"]
    labels: Any = study.labels
    second = None
    if "second questions" in study.features:
        models, labels, second = ask_again(study)
        model = models["m0"]
    found = ov.classification_report(
        model, labels, CLASSES, metrics=["precision"], strata=strata, second=second
    )
    if not found:
        raise EstimateError("; ".join(found.undefined.values()))
    return found["precision[red]"].value


def search(study: Study) -> float:
    clusters = dict(study.labels.design.clusters)
    labelled = ExpertLabels.of_items(ITEMS, study.labels, clusters or None)
    refuse_unscorable(labelled)
    return float(np.nanmean(score_items(np.zeros((1, N), np.int64), labelled)))


def plan(study: Study) -> float:
    judges = {"judge": study.judge} if "judges" in study.features else None
    return float(len(plan_from_pilot(study.models, study.labels, judges=judges, questions=100).rows))


CALLS: dict[str, Callable[[Study], float]] = {
    "estimate": estimate,
    "compare": compare,
    "gate": gate,
    "gate difference": gate_both,
    "metrics": metrics,
    "search": search,
    "plan": plan,
}
TAKES = {
    "estimate": set(FEATURES),
    "compare": {"clusters", "weights", "gold"},
    "gate": {"clusters", "weights", "gold"},
    "gate difference": {"clusters", "weights", "gold"},
    "metrics": {"second questions", "strata", "clusters", "weights"},
    "search": {"clusters", "weights"},
    "plan": {"votes", "judges", "clusters", "weights"},
}
"""Arguments of each call; for the rest there is no argument."""
CASES = [
    (use, design, frozenset(features))
    for use in USES
    for design in DESIGNS
    if design != "ratings"
    for number in ((0, 1) if use == "plan" else (0, 1, 2))
    for features in combinations(FEATURES, number)
]


def is_told_apart(use: str, features: frozenset[str]) -> bool:
    """Whether one call can be given both features: what narrows an estimate gives an estimate of its own."""
    own = {"votes", "judges", "second questions", "gold"}
    return features <= TAKES[use] and (use != "estimate" or len(features & own) < 2)


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("design", [name for name in DESIGNS if name != "ratings"])
def test_every_cell_does_what_the_table_says(use: str, design: str) -> None:
    for _, _, features in [case for case in CASES if case[:2] == (use, design)]:
        conditions = {design, *features} | ({"pool"} if "weights" in features else set())
        rule = find_rule(use, conditions)
        if not is_told_apart(use, features):
            if len(features) == 1:
                assert rule is not None, (use, design, features)
            continue
        study = make_study(design, features)
        if rule is None:
            assert np.isfinite(CALLS[use](study)), (use, design, features)
            continue
        with pytest.raises(OversightError) as error:
            CALLS[use](study)
        # an estimate may silently ignore a feature that has no effect
        is_silent = rule.kind == NO_EFFECT and not str(error.value)
        assert rule.reason in str(error.value) or is_silent, (features, str(error.value))


@pytest.mark.parametrize("use", USES)
def test_a_panel_is_refused_by_every_use(use: str, tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(
        '[study]\nname = "p"\n[items]\nfile = "items.csv"\nclasses = ["a", "b"]\n'
        '[experts]\nprotocol = "panel"\nannotators_per_item = 2\n'
    )
    study = read_study(tmp_path / "study.toml")
    bars = {"gate": Bars(at_least=0.5), "gate difference": Bars(baseline="m", margin=0.1)}
    with Store(study.store_url) as store:
        calls: dict[str, Callable[[], object]] = {
            "estimate": lambda: report_study(store, study),
            "compare": lambda: compare_study(study),
            "gate": lambda: gate_study(study, bars["gate"]),
            "gate difference": lambda: gate_study(study, bars["gate difference"]),
            "metrics": lambda: compare_study_classes(study),
            "search": lambda: prepare_search(study, store, 1, SearchSection()),
            "plan": lambda: plan_study(store, study),
        }
        with pytest.raises(BadInput) as error:
            calls[use]()
    assert str(error.value) == find_reason(use, {"ratings"})


def test_rules_name_only_what_there_is() -> None:
    known = {*DESIGNS, *FEATURES, "pool"}
    for rule in RULES:
        assert rule.uses <= set(USES)
        assert rule.all_of | rule.any_of | rule.unless <= known
        assert rule.reason


def test_second_questions_of_other_items_are_refused() -> None:
    study = make_study("uniform", frozenset())
    second = ask_again(study)[2]
    with pytest.raises(TypeError, match="with the same index"):
        ov.classification_report(study.models["m0"], study.labels, CLASSES, second=second)
