"""Checks of the answers on clustered items and on classes of unequal frequency: sound studies pass them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import oversight as ov
from oversight.harness import FloatArray, IntArray
from oversight.harness.estimate import Check, run_checks
from oversight.protocols.routing import Partitioned, Targeted, one_expert_per_class

CLASSES = tuple("abcdefgh")


def study(
    truth: IntArray,
    predicted: IntArray,
    K: int,
    protocol: str,
    cluster: IntArray | None = None,
    says: Callable[[ov.Question], bool | None] = lambda _: None,
) -> tuple[list[ov.Prediction], ov.Labels]:
    """Ask one expert per class about every item; experts never err, except if `says` gives an answer."""
    names, roster = CLASSES[:K], one_expert_per_class(CLASSES[:K])
    items = [ov.Item(f"i{j}", "text", names, tuple(range(K))) for j in range(len(truth))]
    votes = {"m": {i.id: int(k) for i, k in zip(items, predicted, strict=True)}}
    plan = Partitioned(roster, 1) if protocol == "partitioned" else Targeted(roster, votes, seed=1)
    questions = plan.route(items)
    answers = []
    for q in questions:
        told = says(q)
        yes = bool(truth[int(q.item_id[1:])] == q.option) if told is None else told
        answers.append(ov.Answer(q, q.expert, ov.Verdict.YES if yes else ov.Verdict.NO, source="test"))
    labels = ov.decode(answers, questions)
    if cluster is not None:
        labels = labels.clustered({i.id: str(c) for i, c in zip(items, cluster, strict=True)})
    return [ov.Prediction(i.id, int(k)) for i, k in zip(items, predicted, strict=True)], labels


def named(name: str, found: tuple[list[ov.Prediction], ov.Labels]) -> Check:
    return next(check for check in run_checks(*found) if check.name == name)


def draw(
    rng: np.random.Generator, prevalence: FloatArray, number: int, size: int
) -> tuple[IntArray, IntArray, IntArray]:
    """Truth that all items of a cluster share, predictions that are right on 85 %, and cluster numbers."""
    K, cluster = len(prevalence), np.arange(number) // size
    truth = rng.choice(K, size=cluster[-1] + 1, p=prevalence / prevalence.sum())[cluster]
    wrong = (truth + rng.integers(1, K, number)) % K
    return truth, np.where(rng.random(number) < 0.85, truth, wrong), cluster


@pytest.mark.parametrize("protocol", ["partitioned", "targeted"])
def test_sound_clustered_studies_hold(protocol: str) -> None:
    """Patients with one disease each; before the correction, a sixth to a third of these studies failed."""
    rng, marked = np.random.default_rng(3), 0
    for _ in range(25):
        truth, predicted, patient = draw(rng, 1 / np.arange(1.0, 4) ** 2, 300, 10)
        model, labels = study(truth, predicted, 3, protocol, patient)
        marked += not ov.accuracy(model, labels).holds
    assert marked <= 2


@pytest.mark.parametrize("protocol", ["partitioned", "targeted"])
@pytest.mark.parametrize("prevalence", [np.array([0.95, 0.05]), 1 / np.arange(1.0, 9) ** 2])
def test_classes_of_unequal_frequency_pass(protocol: str, prevalence: FloatArray) -> None:
    """If one class is much more frequent, its expert says yes much more often than others."""
    truth, predicted, _ = draw(np.random.default_rng(1), prevalence, 1500, 1)
    check = named("yes_rate_by_expert", study(truth, predicted, len(prevalence), protocol))
    assert check.state == "passed"


@pytest.mark.parametrize(("protocol", "says"), [("partitioned", True), ("targeted", False)])
def test_expert_with_one_answer_fails_in_a_clustered_study(protocol: str, says: bool) -> None:  # noqa: FBT001
    truth, predicted, cluster = draw(np.random.default_rng(2), np.ones(4), 600, 4)
    found = study(truth, predicted, 4, protocol, cluster, lambda q: says if q.option == 2 else None)
    check = named("yes_rate_by_expert", found)
    assert check.state == "failed"
    assert "furthest off: c," in check.message


def test_clusters_count_once_in_the_rate_of_yes() -> None:
    """A model that is right on 2 of 20 clusters may still guess; one right on 40 of 400 items may not."""
    cluster = np.arange(400) // 20
    truth = np.random.default_rng(4).integers(0, 4, 400)
    predicted = np.where(cluster % 10 == 0, truth, (truth + 1) % 4)
    assert named("yes_rate", study(truth, predicted, 4, "targeted")).state == "failed"
    assert named("yes_rate", study(truth, predicted, 4, "targeted", cluster)).state == "passed"


def test_clusters_count_once_in_the_agreement() -> None:
    """The model predicts the same option everywhere, which is true in 6 of 20 clusters."""
    cluster = np.arange(400) // 20
    truth, predicted = (cluster % 10 >= 3).astype(np.int64), np.zeros(400, np.int64)
    assert named("agreement", study(truth, predicted, 2, "partitioned")).state == "failed"
    assert named("agreement", study(truth, predicted, 2, "partitioned", cluster)).state == "passed"


def test_too_few_clusters_are_not_tested() -> None:
    truth, predicted, cluster = draw(np.random.default_rng(5), np.ones(4), 300, 100)
    check = named("yes_rate_by_expert", study(truth, predicted, 4, "partitioned", cluster))
    assert check.state == "not made"
    assert "clusters of equal size" in check.message


def test_a_check_that_needs_more_clusters_leaves_the_others_their_own_outcome() -> None:
    cluster = np.arange(400) // 200
    truth, predicted = (np.arange(400) // 20 % 10 >= 3).astype(np.int64), np.zeros(400, np.int64)
    found = study(truth, predicted, 2, "partitioned", cluster)
    assert "label items of more clusters" in named("agreement", found).message
    assert "needs 10 answers of one expert" in named("yes_rate_by_expert", found).message
