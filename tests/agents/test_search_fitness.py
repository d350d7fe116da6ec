"""Per-item scores: their mean is the estimator's, unreadable is 0, failed is left out."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import numpy as np
import pytest

from oversight.agents.search import Archive, ExpertLabels, score_candidates, score_items, shrink_scores
from oversight.agents.search.fitness.empirical_bayes import compare_paired
from oversight.agents.search.fitness.scores import ESTIMATORS
from oversight.harness import FAILED, UNREADABLE, EstimateError
from oversight.harness.estimate import accuracy
from oversight.harness.estimate.estimators import complementary_accuracy
from oversight.harness.types import Candidate, Item, Label, LabelKind, Prediction, PredictionStatus, Program
from tests.agents.simulated_search import World

K = 5


def items(n: int, k: int = K, name: str = "i") -> list[Item]:
    return [Item(f"{name}{j}", "", tuple("abcdefghijklmnop"[:k]), tuple(range(k))) for j in range(n)]


def labels_of(pool: list[Item], truth: np.ndarray, rng: np.random.Generator, m: int = 1) -> list[Label]:  # type: ignore[type-arg]
    """m uniform options of every item, answered without error."""
    found = []
    for item, t in zip(pool, truth, strict=True):
        k = len(item.options)
        for option in rng.choice(k, m, replace=False).tolist():
            kind = LabelKind.ORDINARY if option == t else LabelKind.COMPLEMENTARY
            found.append(Label(item.id, option, kind, k, m / k))
    return found


def predictions(pool: list[Item], y: np.ndarray) -> list[Prediction]:  # type: ignore[type-arg]
    status = {UNREADABLE: PredictionStatus.UNREADABLE, FAILED: PredictionStatus.FAILED}
    return [
        Prediction(item.id, int(v) if v >= 0 else None, status.get(int(v), PredictionStatus.OK))
        for item, v in zip(pool, y, strict=True)
    ]


@pytest.mark.parametrize("m", [1, 2])
def test_the_mean_score_is_the_estimators_value_on_mixed_items(m: int) -> None:
    rng = np.random.default_rng(m)
    pool = items(90) + items(70, 10, "j")
    options = np.array([len(item.options) for item in pool])
    truth = rng.integers(options)
    labels = labels_of(pool, truth, rng, m)
    for rate in (0.0, 0.2):
        y = np.where(rng.random(160) < 0.6, truth, rng.integers(options))
        y = np.where(rng.random(160) < rate, UNREADABLE, y)
        y[:3] = FAILED
        scores = score_items(y[None], ExpertLabels.of_items(pool, labels), "ml")[0]
        assert np.isnan(scores).sum() == 3
        known = accuracy(predictions(pool, y), labels, interval="wald")
        assert np.nanmean(scores) == pytest.approx(known.value, abs=1e-12)


def test_complementary_labels_give_the_published_transform() -> None:
    rng = np.random.default_rng(0)
    pool, n = items(120), 120
    truth, y = rng.integers(K, size=n), rng.integers(K, size=n)
    refused = (truth + 1 + rng.integers(K - 1, size=n)) % K
    labels = [
        Label(i.id, int(k), LabelKind.COMPLEMENTARY, K, 1 / K) for i, k in zip(pool, refused, strict=True)
    ]
    labelled = ExpertLabels.of_items(pool, labels)
    expected = complementary_accuracy(K, int((y != refused).sum()), n)
    assert score_items(y[None], labelled, "transformed").mean() == pytest.approx(expected)
    assert score_items(y[None], labelled, "raw").mean() == pytest.approx((y != refused).mean())


@pytest.mark.parametrize("kind", ["complementary", "natural", "routed", "ordinary"])
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_an_unreadable_agent_scores_nothing(kind: str, estimator: str) -> None:
    world = World(kind=kind)  # type: ignore[arg-type]  # one of its kinds
    if estimator == "raw" and kind in ("routed", "ordinary"):
        return  # without complementary labels there is no score q
    y = np.array([np.full(120, UNREADABLE), *(world.task.answers(p)[:120] for p in world.library)])
    scores = score_items(y, world.state.labels["select"], estimator)
    nothing = (world.K - 2) / (world.K - 1) if estimator == "raw" else 0.0
    # An unreadable candidate gets the score that stands for accuracy 0.
    assert np.nanmean(scores[0]) == pytest.approx(nothing, abs=0.35 if kind == "routed" else 1e-9)
    assert np.nanmean(scores[0]) < np.nanmean(scores[1:])


def test_with_two_options_q_is_the_accuracy() -> None:
    pool = items(6, 2)
    truth = np.array([0, 1, 0, 1, 0, 1])
    labels = [
        Label(i.id, 1 - int(t), LabelKind.COMPLEMENTARY, 2, 0.5) for i, t in zip(pool, truth, strict=True)
    ]
    y = np.array([[0, 1, 0, 0, UNREADABLE, FAILED]])
    for estimator in ("raw", "transformed"):
        scores = score_items(y, ExpertLabels.of_items(pool, labels), estimator)
        assert scores[0, :5].tolist() == [1, 1, 1, 0, 0]
        assert np.isnan(scores[0, 5])


@pytest.mark.statistical
@pytest.mark.parametrize("kind", ["complementary", "natural", "routed"])
def test_a_constant_agent_scores_the_prevalence_of_its_class(kind: str) -> None:
    found = []
    for seed in range(150):
        world = World(seed=seed, kind=kind)  # type: ignore[arg-type]  # one of its kinds
        constant = np.full((1, 120), 2)
        others = [world.task.answers(p)[:120] for p in world.library]
        scores = score_items(np.concatenate([constant, others]), world.state.labels["select"], "ml")
        found.append(scores[0].mean() - (world.task.truth[:120] == 2).mean())
    assert abs(np.mean(found)) < 3 * np.std(found) / np.sqrt(len(found)) + 0.005


def test_a_candidate_without_a_hit_is_not_known_without_error() -> None:
    pool = items(20, 8)
    labels = [
        Label(item.id, 0, LabelKind.ORDINARY if j < 2 else LabelKind.COMPLEMENTARY, 8, 1 / 8)
        for j, item in enumerate(pool)
    ]
    y = np.array([1] * 2 + [0] * 3 + [1] * 15)
    scores = score_items(y[None], ExpertLabels.of_items(pool, labels), "ml")[0]
    assert scores.std() / np.sqrt(20) > 0.08  # the exact interval reaches 47 %


def test_items_that_are_all_alike_do_not_prove_that_all_are() -> None:
    found = shrink_scores(np.zeros((2, 10)))
    assert found.mean.tolist() == [0, 0]
    assert (found.sd > 0.04).all()
    assert 1.96 * np.hypot(found.sd[0], found.level_se) > 0.15  # the exact interval of 0 of 10 ends at 31 %
    alike = compare_paired(np.zeros(10), np.zeros(10), 0.1)
    assert (alike.difference, alike.p_better, alike.verdict) == (0, 0.5, "undecided")
    assert alike.se == pytest.approx(np.sqrt(2) / 10)


@pytest.mark.parametrize("estimator", ["ml", "transformed"])
def test_there_is_no_nan_without_ordinary_labels(estimator: str) -> None:
    world = World(kind="complementary", K=16)
    y = np.array([world.task.answers(p)[:120] for p in world.library])
    scores = score_items(y, world.state.labels["select"], estimator)
    assert np.isfinite(scores).all()
    assert np.isfinite(shrink_scores(scores).mean).all()


def archive_of(world: World) -> Archive:
    archive = world.state.archive
    for j, program in enumerate(world.library):
        archive.add_candidate(Candidate(program, j - 7, "library"))
        asyncio.run(world.state.answer(program.id, world.task.items))
    return archive


def test_more_labels_score_an_archive_again_without_a_call() -> None:
    world = World(K=4)
    archive = archive_of(world)
    pool, rng = world.task.items, np.random.default_rng(1)
    one = labels_of(list(pool), world.task.truth, rng, 1)
    two = labels_of(list(pool), world.task.truth, np.random.default_rng(1), 2)
    asked = len(world.asked)
    before = score_candidates(archive, pool, ExpertLabels.of_items(pool, one))
    after = score_candidates(archive, pool, ExpertLabels.of_items(pool, two))
    assert len(world.asked) == asked
    se = [np.mean(board.shrunk.se_relative) for board in (before, after)]
    assert se[1] < 0.9 * se[0]


def test_answers_that_failed_with_those_of_another_program_are_left_out_and_counted() -> None:
    world = World()
    archive = archive_of(world)
    name = world.library[1].id
    found = archive.table.predictions(name, world.task.items[:6])
    before = score_candidates(archive, world.task.items, world.state.labels["select"]).standing(name)
    failed = [replace(p, option=None, status=PredictionStatus.FAILED) for p in found]
    archive.record(name, 0, failed)
    alone = score_candidates(archive, world.task.items, world.state.labels["select"]).standing(name)
    assert (alone.n_items, alone.error_rate) == (120, 0)
    assert alone.invalid_rate == pytest.approx(0.05)
    archive.record(world.library[2].id, 0, failed[:1])
    after = score_candidates(archive, world.task.items, world.state.labels["select"]).standing(name)
    assert (before.n_items, after.n_items) == (120, 114)
    assert after.error_rate == pytest.approx(0.05)
    assert after.invalid_rate == 0


def test_candidate_without_a_readable_answer_has_accuracy_zero() -> None:
    world = World()
    archive = archive_of(world)
    name = world.library[1].id
    found = archive.table.predictions(name, world.task.items)
    lost = [replace(p, option=None, status=PredictionStatus.UNREADABLE) for p in found]
    archive.record(name, 0, lost)
    standing = score_candidates(archive, world.task.items, world.state.labels["select"]).standing(name)
    assert standing.invalid_rate == 1
    assert standing.mean == 0
    assert standing.low <= 0
    assert standing.high == pytest.approx(1 - 0.025 ** (1 / len(found)))


def test_contradictory_labels_and_impossible_answers_are_refused() -> None:
    pool = items(2)
    yes = [Label("i0", option, LabelKind.ORDINARY, K, 1 / K) for option in (1, 2)]
    with pytest.raises(EstimateError, match="one true option"):
        ExpertLabels.of_items(pool, yes)
    with pytest.raises(EstimateError, match=r"two answers about option 1"):
        ExpertLabels.of_items(pool, [yes[0], yes[0]])
    with pytest.raises(EstimateError, match="a no for all its 5 options"):
        ExpertLabels.of_items(pool, [Label("i0", k, LabelKind.COMPLEMENTARY, K, 1 / K) for k in range(K)])
    with pytest.raises(EstimateError, match=r"must lie in 0\.\.4 for item 'i1', is 5"):
        score_items(np.array([[0, 5]]), ExpertLabels.of_items(pool, yes[:1]))
    with pytest.raises(EstimateError, match="fitness must be one of ml"):
        score_items(np.array([[0, 1]]), ExpertLabels.of_items(pool, yes[:1]), "q")
    with pytest.raises(EstimateError, match="no candidate has an answer"):
        shrink_scores(np.full((2, 3), np.nan))


def test_a_program_is_what_its_source_is() -> None:
    archive = Archive({"select": ()})
    archive.add_candidate(Candidate(Program("a", "x = 1\n"), 0, "library"))
    archive.add_candidate(Candidate(Program("b", "x = 1\n"), 1, "mutate"))
    assert len(archive.candidates) == 1
