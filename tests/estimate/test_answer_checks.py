"""Checks of what experts answered, in every protocol, and of what models and gold tell of the answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest

from benchmarks._coverage_designs import Design, draw
from benchmarks._coverage_grid import check_design
from benchmarks._coverage_kinds import measure_cell
from oversight.harness import EstimateError
from oversight.harness.estimate import Check, GoldAnswer, accuracy, decode, gold_errors, run_checks
from oversight.harness.types import Answer, Item, Label, LabelKind, Labels, Prediction, Question, Verdict
from oversight.protocols.routing import Disagreement, Partitioned, Sequential, Targeted, one_expert_per_class

CLASSES = ("a", "b", "c", "d")
N = 364
ITEMS = [Item(f"i{j}", "text", CLASSES, (0, 1, 2, 3)) for j in range(N)]
TRUTH = np.random.default_rng(5).integers(4, size=N)
ROSTER = one_expert_per_class(CLASSES)


def model(seed: int, rate: float) -> list[Prediction]:
    rng = np.random.default_rng(seed)
    wrong = (TRUTH + rng.integers(1, 4, N)) % 4
    option = np.where(rng.random(N) < rate, TRUTH, wrong)
    return [Prediction(f"i{j}", int(k)) for j, k in enumerate(option)]


ONE, TWO = model(1, 0.75), model(2, 0.6)


def answer(questions: Sequence[Question], says: Callable[[Question], bool | None]) -> list[Answer]:
    """True answers, but where `says` gives another."""
    answers = []
    for q in questions:
        told = says(q)
        yes = bool(TRUTH[int(q.item_id[1:])] == q.option) if told is None else told
        answers.append(Answer(q, q.expert, Verdict.YES if yes else Verdict.NO, "test"))
    return answers


def collect(
    protocol: str, models: Sequence[list[Prediction]], says: Callable[[Question], bool | None]
) -> Labels:
    rules = {"targeted": Targeted, "sequential": Sequential, "disagreement": Disagreement}
    by_name = {f"m{j}": {p.item_id: p.option for p in m} for j, m in enumerate(models)}
    plan = Partitioned(ROSTER, 1) if protocol == "partitioned" else rules[protocol](ROSTER, by_name, seed=1)
    questions = plan.route(ITEMS)
    return decode(answer(questions, says), questions)


def named(name: str, models: Sequence[list[Prediction]], labels: Labels) -> Check:
    return next(c for c in run_checks(models[0], labels, others=models[1:]) if c.name == name)


@pytest.mark.parametrize("protocol", ["targeted", "sequential"])
def test_one_of_four_experts_who_always_says_no_is_named(protocol: str) -> None:
    labels = collect(protocol, [ONE], lambda q: False if q.option == 2 else None)
    check = named("yes_rate_by_expert", [ONE], labels)
    assert check.state == "failed"
    assert "furthest off: c, 0 yes of" in check.message
    assert named("yes_rate_by_expert", [ONE], collect(protocol, [ONE], lambda _: None)).passed


@pytest.mark.parametrize("protocol", ["partitioned", "targeted", "sequential", "disagreement"])
def test_experts_who_all_say_no_fail_the_rate_of_yes(protocol: str) -> None:
    check = named("yes_rate", [ONE, TWO], collect(protocol, [ONE, TWO], lambda _: False))
    assert check.state == "failed"
    assert named("yes_rate", [ONE, TWO], collect(protocol, [ONE, TWO], lambda _: None)).passed


@pytest.mark.parametrize("protocol", ["partitioned", "targeted", "disagreement"])
def test_experts_who_all_say_yes_fail_the_rate_of_yes(protocol: str) -> None:
    """At most one of two predicted options is true, so a coin between them meets it half of the time."""
    models = [ONE, TWO, model(3, 0.5)] if protocol == "targeted" else [ONE, TWO]
    assert named("yes_rate", models, collect(protocol, models, lambda _: True)).state == "failed"


def test_experts_who_confirm_everything_look_like_those_of_a_perfect_model() -> None:
    labels = collect("targeted", [ONE], lambda _: True)
    assert accuracy(ONE, labels).value == 1
    assert named("yes_rate", [ONE], labels).passed


def test_answers_that_belong_to_other_items_fail_against_the_votes() -> None:
    models = [model(seed, 0.8) for seed in range(5)]
    other = np.random.default_rng(3).permutation(N)
    labels = collect("partitioned", models, lambda q: bool(TRUTH[other[int(q.item_id[1:])]] == q.option))
    check = named("agreement", models, labels)
    assert check.state == "failed"
    assert "answers are unrelated to the models' agreement" in check.message
    assert named("agreement", models, collect("partitioned", models, lambda _: None)).passed


def test_predicted_options_that_are_refuted_more_than_others_fail() -> None:
    """One model whose options were mixed up: hits are confirmed more rarely than misses."""
    labels = collect("partitioned", [ONE], lambda _: None)
    turned = [Prediction(f"i{j}", int(k + 1) % 4) for j, k in enumerate(TRUTH)]
    assert named("agreement", [turned], labels).state == "failed"


def test_the_order_of_models_changes_no_check_of_the_study() -> None:
    models = [model(seed, 0.6) for seed in range(3)]
    labels = collect("partitioned", models, lambda _: None)
    for name in ("yes_rate", "yes_rate_by_expert", "agreement"):
        first, last = named(name, models, labels), named(name, models[::-1], labels)
        assert first.p_value == pytest.approx(last.p_value)


def test_model_that_knows_the_answers_is_detected_in_a_large_study() -> None:
    rng = np.random.default_rng(1)
    drawn = draw(check_design("partitioned", 5, 2, 4, 6000), rng)
    models = list(drawn.models.values())
    models[2] = follow(models[2], drawn.labels, rng)
    assert find_failed(models, drawn.labels) == {"seen_answers"}


def follow(
    predictions: Sequence[Prediction], labels: Sequence[Label], rng: np.random.Generator
) -> list[Prediction]:
    """Return predictions that use half of the answers: confirmed options, and no refuted ones."""
    option = {p.item_id: p.option for p in predictions}
    for label in labels:
        if rng.random() < 0.5:
            if label.kind is LabelKind.ORDINARY:
                option[label.item_id] = label.option
            elif option[label.item_id] == label.option:
                option[label.item_id] = (label.option + int(rng.integers(1, 4))) % 4
    return [Prediction(item, k) for item, k in option.items()]


def find_failed(models: Sequence[list[Prediction]], labels: Sequence[Label]) -> set[str]:
    others = [[*models[:j], *models[j + 1 :]] for j in range(len(models))]
    checks = [run_checks(model, labels, others=rest) for model, rest in zip(models, others, strict=True)]
    return {c.name for found in checks for c in found if c.state == "failed"}


def test_seen_answers_cannot_be_checked_with_one_model() -> None:
    check = named("seen_answers", [ONE], collect("partitioned", [ONE], lambda _: None))
    assert check.state == "not made"
    assert "assumes that the model has seen none of the answers" in check.message


def gold(fooled: int, blind: int, n: int = 60) -> list[GoldAnswer]:
    """Answers about false options: numbers of wrong ones among n predicted options, and among n others."""
    return [
        GoldAnswer(about_truth=False, is_right=j >= wrong, is_predicted=own)
        for own, wrong in ((True, fooled), (False, blind))
        for j in range(n)
    ]


def test_errors_on_gold_that_follow_the_model_fail() -> None:
    assert gold_errors(gold(15, 0)).state == "failed"
    assert gold_errors(gold(6, 5)).passed
    nothing = gold_errors([GoldAnswer(about_truth=True, is_right=True, is_predicted=True)])
    assert nothing.state == "not made"
    assert "whatever the model predicts" in nothing.message


def test_errors_on_gold_count_once_per_cluster() -> None:
    """All 15 errors are about one patient of 12."""
    answers = [replace(a, cluster=j // 15 if a.is_predicted else j // 10) for j, a in enumerate(gold(15, 0))]
    assert gold_errors(answers).passed
    with pytest.raises(EstimateError, match="clusters of equal size"):
        gold_errors([replace(a, cluster=j % 3) for j, a in enumerate(answers)])


def test_gold_errors_fail_in_few_studies_where_errors_are_even() -> None:
    rng = np.random.default_rng(2)
    failed = sum(not gold_errors(gold(*rng.binomial(60, 0.15, 2).tolist())).passed for _ in range(500))
    assert failed <= 8


@pytest.mark.slow
@pytest.mark.parametrize(
    "design",
    [
        check_design("partitioned", 20, 2, 4, 100),
        check_design("partitioned", 20, 20, 10, 100),
        check_design("targeted", 20, 2, 4, 100),
        check_design("sequential", 20, 20, 4, 100),
        check_design("disagreement", 2, 20, 4, 300),
        check_design("partitioned", 1, 2, 4, 300),
    ],
    ids=str,
)
def test_checks_of_all_models_together_fail_in_few_sound_studies(design: Design) -> None:
    assert measure_cell(design, 25, seed=1).coverage >= 0.88


@pytest.mark.parametrize(("protocol", "rate"), [("partitioned", 0.02), ("targeted", 0.3)])
def test_a_model_worse_than_chance_or_than_others_voids_no_interval(protocol: str, rate: float) -> None:
    """Options that it does not predict are then confirmed more often than those that it predicts."""
    bad = model(4, rate)
    labels = collect(protocol, [bad, model(5, 0.9)], lambda _: None)
    found = accuracy(bad, labels)
    assert found.holds, found.why
    assert found.low <= rate <= found.high
