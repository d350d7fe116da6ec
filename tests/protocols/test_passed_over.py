"""Estimates from collections in which experts passed questions over because of their answers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

import numpy as np
import pytest

import oversight as ov
from oversight.harness.estimate import gate_accuracy
from oversight.harness.types import Answer, Item, Prediction, Question, Verdict
from oversight.protocols.routing import Partitioned, Targeted, one_expert_per_class, order_queue

CLASSES = ("a", "b", "c", "d")
ROSTER = one_expert_per_class(CLASSES)
N, RUNS = 300, 40
HARD = 0.4


class Study:
    """A drawn study, a model that is right on 40 % of the hard items and 90 % of the others."""

    def __init__(self, name: str, seed: int) -> None:
        rng = np.random.default_rng(seed)
        self.items = [Item(f"s{seed}-{j}", f"text {j}", CLASSES, (0, 1, 2, 3)) for j in range(N)]
        self.truth = {item.id: int(k) for item, k in zip(self.items, rng.integers(4, size=N), strict=True)}
        self.hard = {item.id for item, u in zip(self.items, rng.random(N), strict=True) if u < HARD}
        said = {}
        for item in self.items:
            right = rng.random() < (0.4 if item.id in self.hard else 0.9)
            said[item.id] = (self.truth[item.id] + (0 if right else int(rng.integers(1, 4)))) % 4
        self.predictions = [Prediction(name_, option) for name_, option in said.items()]
        self.accuracy = HARD * 0.4 + (1 - HARD) * 0.9
        rule = Targeted(ROSTER, {"m": said}, seed) if name == "targeted" else Partitioned(ROSTER, seed)
        self.questions = rule.route(self.items)

    @property
    def queues(self) -> Mapping[str, Sequence[Question]]:
        found = defaultdict[str, list[Question]](list)
        for question in self.questions:
            found[question.expert].append(question)
        return {
            expert: [q for q in order_queue(own) if isinstance(q, Question)] for expert, own in found.items()
        }

    def answer(self, open_: set[str], unsure: set[str] = set()) -> ov.Labels:  # noqa: B006  never changed
        def verdict(q: Question) -> Verdict:
            if q.id in unsure:
                return Verdict.UNSURE
            return Verdict.YES if self.truth[q.item_id] == q.option else Verdict.NO

        answers = [
            Answer(q, q.expert, verdict(q), "test")
            for queue in self.queues.values()
            for q in queue
            if q.id not in open_
        ]
        labels: ov.Labels = ov.decode(answers, self.questions)
        return labels

    def find_hard(self, share: float) -> set[str]:
        """The first hard questions of every queue, a share of the queue, but never its last question."""
        return {
            q.id
            for queue in self.queues.values()
            for q in [q for q in queue[:-1] if q.item_id in self.hard][: round(share * len(queue))]
        }


def covers(study: Study, estimate: ov.Estimate) -> bool:
    return estimate.low <= study.accuracy <= estimate.high


@pytest.mark.slow
@pytest.mark.statistical
@pytest.mark.parametrize("name", ["partitioned", "targeted"])
@pytest.mark.parametrize("share", [0.04, 0.15, 0.3])
def test_interval_with_hard_blanks_covers_or_is_marked(name: str, share: float) -> None:
    silent, worst = 0, 0
    for seed in range(RUNS):
        study = Study(name, seed)
        found = ov.accuracies(study.predictions, study.answer(study.find_hard(share)))
        main = found["ml" if name == "partitioned" else "routed"]
        silent += main.holds and not covers(study, main)
        worst += covers(study, found["worst_case"])
    assert silent <= 0.05 * RUNS + 3
    assert worst >= 0.95 * RUNS


def test_blank_and_unsure_give_the_same_numbers() -> None:
    study = Study("targeted", 1)
    hard = study.find_hard(0.2)
    blank = ov.accuracies(study.predictions, study.answer(hard))
    unsure = ov.accuracies(study.predictions, study.answer(set(), hard))
    for name in ("routed", "worst_case"):
        assert (blank[name].low, blank[name].high) == (unsure[name].low, unsure[name].high)
        assert blank[name].holds == unsure[name].holds
    assert not blank["routed"].holds
    assert "have no yes or no" in blank["routed"].why


@pytest.mark.slow
@pytest.mark.statistical
def test_a_gate_at_the_bar_passes_and_fails_rarely_whatever_is_blank() -> None:
    decided = 0
    for seed in range(RUNS):
        study = Study("targeted", seed)
        verdict = gate_accuracy(study.predictions, study.answer(study.find_hard(0.15)), study.accuracy)
        decided += verdict.decided
    assert decided <= 0.05 * RUNS + 3


def test_gate_decides_if_blanks_cannot_change_the_verdict() -> None:
    study = Study("targeted", 1)
    labels = study.answer(study.find_hard(0.04))
    assert gate_accuracy(study.predictions, labels, 0.5).verdict == "pass"
    assert gate_accuracy(study.predictions, labels, 0.95).verdict == "fail"


@pytest.mark.slow
@pytest.mark.statistical
def test_a_comparison_over_hard_blanks_does_not_hold_in_silence() -> None:
    silent = 0
    for seed in range(RUNS):
        study = Study("partitioned", seed)
        rng = np.random.default_rng(seed)
        other = [
            Prediction(p.item_id, study.truth[p.item_id] if rng.random() < study.accuracy else 0)
            for p in study.predictions
        ]
        truth = np.mean([p.option == study.truth[p.item_id] for p in study.predictions]) - np.mean(
            [p.option == study.truth[p.item_id] for p in other]
        )
        (pair,) = ov.compare({"m": study.predictions, "o": other}, study.answer(study.find_hard(0.3))).pairs
        silent += pair.holds and not pair.low <= truth <= pair.high
    assert silent <= 0.05 * RUNS + 3


def find_telling(study: Study, share: float) -> set[str]:
    """The first questions of every queue whose answers speak against the model, a share of the queue."""
    predicted = {p.item_id: p.option for p in study.predictions}

    def speaks_against(q: Question) -> bool:
        return (q.option == predicted[q.item_id]) != (study.truth[q.item_id] == q.option)

    return {
        q.id
        for queue in study.queues.values()
        for q in [q for q in queue[:-1] if speaks_against(q)][: round(share * len(queue))]
    }


@pytest.mark.slow
@pytest.mark.statistical
@pytest.mark.parametrize("share", [0.02, 0.1])
@pytest.mark.parametrize(
    ("name", "interval"), [("partitioned", None), ("partitioned", "anytime"), ("targeted", None)]
)
def test_intervals_hold_whatever_was_passed_over_or_say_that_they_may_not(
    name: str, share: float, interval: str | None
) -> None:
    """Experts leave blank what speaks against the model, which is the worst that they can do."""
    silent, worst = 0, 0
    for seed in range(RUNS):
        study = Study(name, seed)
        labels = study.answer(find_telling(study, share))
        found = ov.accuracy(study.predictions, labels, interval=interval)
        silent += found.holds and not covers(study, found)
        worst += covers(study, ov.accuracies(study.predictions, labels)["worst_case"])
    assert silent <= 0.05 * RUNS + 2
    assert interval is not None or worst >= 0.93 * RUNS


def test_one_answer_left_open_counts_by_its_propensity_in_a_comparison() -> None:
    """One of four options was asked about, so its answer moves a mean of outcomes by up to 4/N."""
    study = Study("partitioned", 2)
    other = [Prediction(p.item_id, (p.option + 1) % 4) for p in study.predictions if p.option is not None]
    predicted = {p.item_id: p.option for p in study.predictions}
    left = next(q for queue in study.queues.values() for q in queue[:-4] if q.option == predicted[q.item_id])
    (pair,) = ov.compare({"m": study.predictions, "o": other}, study.answer({left.id})).pairs
    low, high = (float(word) for word in pair.why.split() if word[0] in "+-")
    assert high - low == pytest.approx(100 * 2 * 4 / N, abs=0.2)
    assert not pair.holds
