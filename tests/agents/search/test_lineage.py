"""Lineage estimates from relatives' scores, the draw of parents, and the prompts made from a parent."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from oversight.agents.search import shrink_scores
from oversight.agents.search.context import SearchContext
from oversight.agents.search.fitness.empirical_bayes import PRIOR_SPREAD, relate
from oversight.agents.search.loop import TWICE, seed
from oversight.agents.search.policies.proposal import DOUBT, JudgedAnswer, PolicyView, draw_leader
from oversight.harness import FloatArray
from oversight.harness.config import SearchSection
from oversight.harness.types import Item, Prediction, Program
from tests.agents.simulated_search import World


def test_covariance_of_relatives_is_that_of_shared_ancestors() -> None:
    assert relate(["a", "b"], {"b": ["gone"]}) is None
    found = relate(["a", "b", "c", "d", "e"], {"c": ["a"], "d": ["a", "b"], "e": ["c"]})
    assert found is not None
    expected = [
        [1, 0, 1, 0.5, 1],
        [0, 1, 0, 0.5, 0],
        [1, 0, 2, 0.5, 2],
        [0.5, 0.5, 0.5, 1.5, 0.5],
        [1, 0, 2, 0.5, 3],
    ]
    np.testing.assert_allclose(found, expected)
    assert np.linalg.eigvalsh(found).min() > 0


def scores_of(true: FloatArray, n: int, rng: np.random.Generator) -> FloatArray:
    return (rng.random((len(true), n)) < true[:, None]).astype(float)


def test_unrelated_candidates_are_one_population() -> None:
    rng = np.random.default_rng(3)
    scores = scores_of(rng.normal(0.6, 0.1, 9), 80, rng)
    scores[4, 30:] = np.nan
    plain, same = shrink_scores(scores), shrink_scores(scores, related=np.eye(9))
    np.testing.assert_allclose(plain.mean, same.mean)
    np.testing.assert_allclose(plain.sd, same.sd)
    assert plain.spread == pytest.approx(same.spread)


def test_the_posterior_is_that_of_the_covariances_written_out() -> None:
    rng = np.random.default_rng(5)
    scores = scores_of(rng.normal(0.6, 0.1, 6), 60, rng)
    scores[5, 20:] = np.nan
    related = relate(list("abcdef"), {"c": ["a"], "d": ["c"], "e": ["a", "b"], "f": ["d"]})
    assert related is not None
    found = shrink_scores(scores, related=related)
    logs, means, squares = [], [], []
    one, noise = np.ones(6), np.diag(found.se_relative**2)
    grid = np.linspace(0.0, 4.0, 81)
    for step in grid:
        prior = (PRIOR_SPREAD * step) ** 2 * related
        inverse = np.linalg.inv(prior + noise)
        total = one @ inverse @ one
        mu = one @ inverse @ found.value / total
        gap, drag = found.value - mu, one - prior @ inverse @ one
        fit = np.linalg.slogdet(prior + noise)[1] + np.log(total) + gap @ inverse @ gap
        logs.append(-0.5 * (fit + step**2))
        means.append(mu + prior @ inverse @ gap)
        variance = np.diag(prior - prior @ inverse @ prior) + drag**2 / total
        squares.append(variance + means[-1] ** 2)
    p = np.exp(np.array(logs) - max(logs))
    p /= p.sum()
    mean = p @ np.array(means)
    np.testing.assert_allclose(found.mean, mean)
    np.testing.assert_allclose(found.sd, np.sqrt(p @ np.array(squares) - mean**2))
    assert found.spread == pytest.approx(float(p @ (PRIOR_SPREAD * grid)))


def test_lineage_reduces_the_error_of_posterior_means() -> None:
    """Random families: the squared error of what is believed of them falls by a tenth at least."""
    errors: FloatArray = np.zeros(2)
    for draw in range(60):
        rng = np.random.default_rng(draw)
        parents = {str(j): [str(int(rng.integers(j)))] for j in range(1, 20)}
        true = np.full(20, 0.5)
        for child, (parent,) in parents.items():
            true[int(child)] = np.clip(true[int(parent)] + 0.05 * rng.standard_normal(), 0.05, 0.95)
        scores = scores_of(true, 40, rng)
        related = relate([str(j) for j in range(20)], parents)
        for j, prior in enumerate((None, related)):
            mean = shrink_scores(scores, related=prior).mean
            errors[j] += float(((mean - mean.mean() - true + true.mean()) ** 2).mean())
    assert errors[1] < 0.9 * errors[0]


def started(world: World) -> SearchContext:
    asyncio.run(seed(world.state))
    return world.state


def test_parents_are_mostly_those_believed_best() -> None:
    state = started(World(kind="ordinary", section=SearchSection(candidates=0)))
    board = state.board()
    drawn = Counter(draw_leader(state.view(board, slot)).id for slot in range(2000))
    mean, sd, rng = board.shrunk.mean, DOUBT * board.shrunk.sd, np.random.default_rng(0)
    best = (mean + sd * rng.standard_normal((20_000, len(mean)))).argmax(axis=1)
    for name, share in zip(board.ids, np.bincount(best, minlength=len(mean)) / 20_000, strict=True):
        assert abs(drawn[name] / 2000 - share) < 5 * np.sqrt(max(share, 0.01) / 2000)
    assert drawn.most_common(1)[0][0] == board.ranked()[0]
    assert len(drawn) > 1


def test_the_start_runs_again_beside_the_library() -> None:
    world, under_way = World(section=SearchSection(candidates=0)), [0, 0]

    async def evaluate(program: Program, items: Sequence[Item], run: int) -> list[Prediction]:
        under_way[0] += 1
        under_way[1] = max(under_way)
        await asyncio.sleep(0)
        under_way[0] -= 1
        return await world.task.evaluate(program, items, run)

    world.state = replace(world.state, evaluate=evaluate)
    started(world)
    assert under_way[1] == len(world.library) + 1  # all programs of the library, plus the start program
    assert (world.state.start, TWICE) in world.state.archive.table.rows


def fed(world: World, size: int) -> SearchContext:
    """The same search with its first `size` selection items also used as feedback items."""
    state, archive = world.state, world.state.archive
    part = archive.splits["select"][:size]
    archive.splits = {**archive.splits, "feedback": part}
    labels = world.task.labelled(slice(0, size), "ordinary")
    return replace(state, labels={**state.labels, "feedback": labels})


def judged(view: PolicyView, wanted: int) -> list[JudgedAnswer]:
    async def judge() -> list[JudgedAnswer]:
        return await view.judge(view.start, wanted)

    return asyncio.run(judge())


def judged_by(view: PolicyView, wanted: int) -> list[str]:
    return [case.item.id for case in judged(view, wanted)]


def test_feedback_is_asked_until_enough_of_it_is_refuted() -> None:
    world = World(kind="ordinary", section=SearchSection(candidates=0))
    started(world)
    state = fed(world, 100)
    view = state.view(state.board(), 4)
    cases = judged(view, 3)
    assert sum(case.refuted for case in cases) >= 3
    assert len(cases) < 60
    assert [case.item.id for case in cases] == judged_by(state.view(state.board(), 4), 3)
    assert set(judged_by(state.view(state.board(), 5), 3)) != {case.item.id for case in cases}
    assert len(judged_by(view, 1000)) == 100
