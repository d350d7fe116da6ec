"""Sequential resolution, wave by wave, against simulated experts."""

from __future__ import annotations

import numpy as np
import pytest

from oversight.harness import BadInput, EstimateError
from oversight.harness.estimate.paired import mcnemar
from oversight.harness.estimate.routed_means import resolved_accuracy
from oversight.harness.types import Answer, Item, Question, Verdict
from oversight.protocols.collect import SimulatedExperts
from oversight.protocols.routing import RoutingProtocol, Sequential, one_expert_per_class

CLASSES = ("heart", "brain", "skin", "lung")
ROSTER = one_expert_per_class(CLASSES)
N = 200


def make_items(n: int = N) -> list[Item]:
    return [Item(f"i{j}", "text", CLASSES, (0, 1, 2, 3)) for j in range(n)]


def population(seed: int) -> tuple[dict[str, int], dict[str, dict[str, int | None]]]:
    rng = np.random.default_rng(seed)
    truth = rng.integers(4, size=N)
    predictions: dict[str, dict[str, int | None]] = {}
    for model, skill in (("a", 0.8), ("b", 0.6), ("c", 0.5)):
        guess = np.where(rng.random(N) < skill, truth, rng.integers(4, size=N))
        predictions[model] = {f"i{j}": None if j % 50 == 7 else int(guess[j]) for j in range(N)}
    return {f"i{j}": int(truth[j]) for j in range(N)}, predictions


def run_waves(protocol: Sequential, experts: SimulatedExperts) -> tuple[list[Answer], int]:
    answers: list[Answer] = []
    waves = 0
    while questions := protocol.next_questions(make_items(), answers):
        answers += experts.answer(questions)
        waves += 1
    return answers, waves


def test_waves_end_in_the_exact_accuracy_of_every_model() -> None:
    truth, predictions = population(0)
    protocol = Sequential(ROSTER, predictions, seed=3)
    answers, waves = run_waves(protocol, SimulatedExperts(truth))
    assert waves == 3
    assert len({a.question.id for a in answers}) == len(answers)
    assert N < len(answers) < 2.2 * N
    correct = protocol.correctness(make_items(), answers)
    for model, by_item in predictions.items():
        expected = [int(by_item[f"i{j}"] == truth[f"i{j}"]) for j in range(N)]
        assert correct[model].tolist() == expected
        assert resolved_accuracy(correct[model]).value == pytest.approx(np.mean(expected))
    assert mcnemar(correct["a"], correct["c"], questions=len(answers)).verdict == "a"


def test_first_wave_asks_the_majority_and_asking_again_changes_nothing() -> None:
    items = make_items(1)
    predictions: dict[str, dict[str, int | None]] = {"a": {"i0": 2}, "b": {"i0": 1}, "c": {"i0": 1}}
    protocol: RoutingProtocol = Sequential(ROSTER, predictions)
    (question,) = protocol.route(items)
    assert (question.option, question.expert, question.propensity) == (1, "brain", 1.0)
    assert protocol.route(items) == [question]


def test_an_abstention_moves_on_and_is_left_unknown() -> None:
    items = make_items(1)
    protocol = Sequential(ROSTER, {"a": {"i0": 1}, "b": {"i0": 2}})
    first = protocol.route(items)[0]
    unsure = Answer(first, first.expert, Verdict.UNSURE, "test")
    second = protocol.next_questions(items, [unsure])[0]
    assert second.option != first.option
    no = Answer(second, second.expert, Verdict.NO, "test")
    assert protocol.next_questions(items, [unsure, no]) == []
    correct = protocol.correctness(items, [unsure, no])
    assert sorted(int(c[0]) for c in correct.values()) == [-1, 0]


def test_answers_from_other_protocols_count() -> None:
    items = make_items(1)
    protocol = Sequential(ROSTER, {"a": {"i0": 1}})
    question = Question("q", "i0", 3, "lung", 4, "partitioned", 0.25, 0)
    yes = Answer(question, "lung", Verdict.YES, "test")
    assert protocol.next_questions(items, [yes]) == []
    assert protocol.correctness(items, [yes])["a"].tolist() == [0]


def test_contradictions_and_strangers_are_refused() -> None:
    items = make_items(1)
    protocol = Sequential(ROSTER, {"a": {"i0": 1}})
    stranger = Question("q", "other", 3, "lung", 4, "partitioned", 0.25, 0)
    with pytest.raises(BadInput, match="unknown item 'other'"):
        protocol.next_questions(items, [Answer(stranger, "lung", Verdict.YES, "test")])
    one, two = (Question(f"q{k}", "i0", k, CLASSES[k], 4, "partitioned", 0.25, 0) for k in (0, 1))
    both = [Answer(q, q.expert, Verdict.YES, "test") for q in (one, two)]
    with pytest.raises(EstimateError, match="item 'i0': exactly one option is true"):
        protocol.next_questions(items, both)
    flip = [Answer(one, "heart", Verdict.YES, "test"), Answer(one, "heart", Verdict.NO, "test")]
    with pytest.raises(BadInput, match="both confirmed and refuted"):
        protocol.next_questions(items, flip)
