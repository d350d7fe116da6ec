"""Checks of routing by predictions, of resolved items, and the three things that can become of a check."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from oversight.harness.estimate import decode, run_checks
from oversight.harness.types import Answer, Item, Labels, Prediction, PredictionStatus, Question, Verdict
from oversight.protocols.routing import Disagreement, Sequential, Targeted, one_expert_per_class

CLASSES = ("a", "b", "c", "d")
N = 400
ITEMS = [Item(f"i{j}", "text", CLASSES, (0, 1, 2, 3)) for j in range(N)]
TRUTH = np.random.default_rng(5).integers(4, size=N)
ROSTER = one_expert_per_class(CLASSES)


def said(seed: int, rate: float) -> dict[str, int | None]:
    rng = np.random.default_rng(seed)
    wrong = (TRUTH + rng.integers(1, 4, N)) % 4
    right = rng.random(N) < rate
    return {f"i{j}": int(TRUTH[j] if right[j] else wrong[j]) for j in range(N)}


MODELS = {"one": said(1, 0.8), "two": said(2, 0.6)}
LATER = said(3, 0.4)


def predictions(by_item: dict[str, int | None]) -> list[Prediction]:
    said = {False: PredictionStatus.OK, True: PredictionStatus.UNREADABLE}
    return [Prediction(item, option, said[option is None]) for item, option in by_item.items()]


def answered(questions: Sequence[Question], mute: int = 0) -> list[Answer]:
    """True answers; the first `mute` of them are "unsure"."""
    truth = {f"i{j}": int(t) for j, t in enumerate(TRUTH)}
    return [
        Answer(
            q,
            q.expert,
            Verdict.UNSURE if n < mute else Verdict.YES if truth[q.item_id] == q.option else Verdict.NO,
            "test",
        )
        for n, q in enumerate(questions)
    ]


def found(by_item: dict[str, int | None], labels: Labels) -> dict[str, bool | None]:
    return {c.name: c.passed for c in run_checks(predictions(by_item), labels)}


def found_beside(by_item: dict[str, int | None], labels: Labels) -> dict[str, bool | None]:
    """Predictions with the other models that questions were drawn for."""
    others = [predictions(other) for other in MODELS.values() if other is not by_item]
    return {c.name: c.passed for c in run_checks(predictions(by_item), labels, others=others)}


def test_targeted_questions_agree_with_their_propensities() -> None:
    questions = Targeted(ROSTER, MODELS, seed=1).route(ITEMS)
    labels = decode(answered(questions), questions)
    for by_item in MODELS.values():
        assert found_beside(by_item, labels) == {
            "yes_rate": True,
            "yes_rate_by_expert": True,
            "agreement": True,
            "propensities": True,
            "routed_for": True,
            "abstention": True,
        }


def test_model_whose_predictions_were_not_used_fails_a_check() -> None:
    questions = Targeted(ROSTER, MODELS, seed=1).route(ITEMS)
    labels = decode(answered(questions), questions)
    checks = {c.name: c for c in run_checks(predictions(LATER), labels)}
    assert checks["propensities"].passed
    assert checks["routed_for"].state == "failed"
    assert "drawn for other models" in checks["routed_for"].message
    alone = Targeted(ROSTER, {"one": MODELS["one"]}, seed=1).route(ITEMS)
    labels = decode(answered(alone), alone)
    assert found(MODELS["one"], labels)["routed_for"] is True
    assert found(MODELS["two"], labels)["routed_for"] is False


def test_wrong_propensities_are_seen() -> None:
    """The questions were drawn evenly, and recorded as if by the rule."""
    rng = np.random.default_rng(2)
    questions = Targeted(ROSTER, MODELS, seed=1).route(ITEMS)
    even = [
        replace(q, option=k, propensity=q.propensities[k])
        for q, k in zip(questions, rng.integers(4, size=N).tolist(), strict=True)
    ]
    assert found(MODELS["one"], decode(answered(even), even))["propensities"] is False


@pytest.mark.parametrize("seed", range(20))
def test_the_check_of_propensities_is_quiet_under_the_rule(seed: int) -> None:
    questions = Targeted(ROSTER, MODELS, seed=seed).route(ITEMS[:100])
    few = {item: option for item, option in LATER.items() if item in {i.id for i in ITEMS[:100]}}
    assert found(few, decode(answered(questions), questions))["propensities"]


def test_questions_count_whether_answered_or_not() -> None:
    questions = Targeted(ROSTER, MODELS, seed=1).route(ITEMS)
    whole, half = (decode(answered(part), questions) for part in (questions, questions[: N // 2]))
    (one, two) = (
        next(c for c in run_checks(predictions(MODELS["one"]), labels) if c.name == "propensities")
        for labels in (whole, half)
    )
    assert one == two


def test_coin_check_fails_if_one_model_is_always_asked_about() -> None:
    questions = Disagreement(ROSTER, MODELS, seed=1).route(ITEMS)
    answers = {"yes_rate": True, "yes_rate_by_expert": True}
    assert found_beside(MODELS["one"], decode(answered(questions), questions)) == answers | {"coin": True}
    first = [q for q in questions if q.option == MODELS["one"][q.item_id]]
    assert found(MODELS["one"], decode(answered(first), first))["coin"] is False
    assert found(dict.fromkeys(MODELS["one"]), decode(answered(first), first))["coin"] is None


def test_resolution_check_fails_if_a_question_is_open() -> None:
    plan = Sequential(ROSTER, MODELS, seed=1)
    answers: list[Answer] = []
    asked: list[Question] = []
    while questions := plan.next_questions(ITEMS, answers):
        asked += questions
        if not answers:
            first = decode(answered(questions), questions)
            waves = {c.name: c for c in run_checks(predictions(MODELS["two"]), first)}
            assert waves["resolution"].state == "failed"
            assert "the next question is open" in waves["resolution"].message
        answers += answered(questions)
    for by_item in MODELS.values():
        assert set(found_beside(by_item, decode(answers, asked)).values()) == {True}


@pytest.mark.parametrize(("mute", "passed"), [(8, True), (30, False)])
@pytest.mark.parametrize("rule", [Targeted, Sequential])
def test_abstention_check_fails_with_many_abstentions(
    rule: type[Targeted] | type[Sequential], mute: int, *, passed: bool
) -> None:
    questions = rule(ROSTER, {"one": MODELS["one"]}, seed=1).route(ITEMS)
    check = next(
        c
        for c in run_checks(predictions(MODELS["one"]), decode(answered(questions, mute), questions))
        if c.name == "abstention"
    )
    assert check.passed is passed
    assert f"{mute} " in check.message


@pytest.mark.parametrize("answers", [0, 1, 2, 40])
@pytest.mark.parametrize("rule", [Targeted, Disagreement, Sequential])
def test_partial_data_do_not_break_a_check(
    rule: type[Targeted] | type[Disagreement] | type[Sequential], answers: int
) -> None:
    questions = rule(ROSTER, MODELS, seed=1).route(ITEMS)
    labels = decode(answered(questions[:answers]), questions)
    for by_item in (MODELS["one"], LATER, dict(list(LATER.items())[:3]), dict.fromkeys(LATER)):
        for check in run_checks(predictions(by_item), labels):
            assert check.message
            assert check.state in ("passed", "failed", "not made")
