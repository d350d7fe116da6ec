"""The gate, parent selection, races and the winner's report."""

from __future__ import annotations

import asyncio

import numpy as np
import pytest

from oversight.agents.search import (
    ExpertLabels,
    Kind,
    confirm_finalists,
    score_items,
    search,
    shrink_scores,
    simulated_labels,
)
from oversight.agents.search.fitness.empirical_bayes import compare_paired, minimum_detectable
from oversight.agents.search.fitness.power import measure_power
from oversight.agents.search.loop import race
from oversight.agents.search.policies.proposal import published_probabilities
from oversight.agents.search.setup import check_settings
from oversight.harness import ConfigError
from oversight.harness.config import SearchSection
from oversight.harness.estimate import synthesise_population
from oversight.harness.estimate.sample_size import difference_variances
from oversight.harness.types import Candidate
from tests.agents.simulated_search import FreshDraws, Steps, World

pytestmark = pytest.mark.slow


@pytest.mark.statistical
@pytest.mark.parametrize("K", [4, 16])
@pytest.mark.parametrize("kind", ["complementary", "natural", "routed", "ordinary"])
def test_a_program_is_rarely_better_than_itself(K: int, kind: Kind) -> None:
    verdicts = []
    for seed in range(400):
        # A model at a high temperature: most of what decides an answer is random.
        rng = np.random.default_rng([K, seed])
        truth, predicted = synthesise_population(120, K, [0.6] * 2, rng, correlation=0.7)
        scores = score_items(predicted.T, simulated_labels(truth, predicted.T, K, kind, rng))
        verdicts.append(compare_paired(scores[0], scores[1], 0.08).verdict)
    assert verdicts.count("better") / 400 <= 0.05


def test_identical_answers_are_undecided() -> None:
    same = np.array([0.2, 0.9, np.nan, 1.0])
    found = compare_paired(same, same, 0.1)
    assert (found.difference, found.p_better, found.verdict, found.n) == (0.0, 0.5, "undecided", 3)


@pytest.mark.parametrize(("wins", "verdict"), [(3, "undecided"), (4, "undecided"), (6, "better")])
def test_few_lucky_items_are_no_proof(wins: int, verdict: str) -> None:
    child, parent = np.zeros(120), np.zeros(120)
    child[:wins] = 1
    assert compare_paired(child, parent, 10.0).verdict == verdict
    assert compare_paired(parent, child, 10.0).verdict == "worse"


def test_the_published_selection_is_reproduced() -> None:
    p = published_probabilities(np.array([0.698, 0.124]))
    assert p.round(2).tolist() == [0.85, 0.15]


@pytest.mark.parametrize("seed", range(4))
def test_raw_and_transform_choose_alike_by_default(seed: int) -> None:
    """Same parents, same winner: the default rule does not see the scale."""
    chains = []
    for estimator in ("raw", "transformed"):
        world = World(
            seed,
            kind="complementary",
            search_seed=seed,
            section=SearchSection(candidates=8, fitness=estimator),
        )
        asyncio.run(search(world.state, Steps(world.task)))
        winner = asyncio.run(confirm_finalists(world.state))
        archive = world.state.archive
        chains.append(([(c.id, c.parents) for c in archive.candidates.values()], winner.id))
    assert chains[0] == chains[1]


def test_parity_selects_by_the_published_formula_on_either_scale() -> None:
    """Then the scale does matter: the transform is K - 1 times as steep."""
    parents = []
    for parity in ("raw", "transformed"):
        section = SearchSection(candidates=16, parity=parity, rungs=[120], keep=[])
        world = World(3, K=16, kind="complementary", section=section)
        asyncio.run(search(world.state, Steps(world.task)))
        parents.append([c.parents for c in world.state.archive.candidates.values()])
    assert parents[0] != parents[1]


@pytest.mark.statistical
def test_rungs_cost_less_than_two_thirds_and_choose_as_well() -> None:
    regret: dict[tuple[int, ...], list[float]] = {(30, 60, 120): [], (120,): []}
    calls = dict.fromkeys(regret, 0)
    for seed in range(60):
        for rungs, found in regret.items():
            section = SearchSection(rungs=list(rungs), candidates=0)
            world = World(seed, K=4, kind="complementary", section=section)
            rng = np.random.default_rng(seed)
            group = [world.task.program(f"p{j}", a) for j, a in enumerate(rng.normal(0.6, 0.08, 30))]
            archive = world.state.archive
            for j, program in enumerate(group):
                archive.add_candidate(Candidate(program, j, "fresh"))
            for slot, name in enumerate(list(archive.candidates)):
                asyncio.run(race(world.state, slot, name, world.state.ended_before(slot)))
            full = [
                c
                for c in archive.candidates
                if len(archive.table.predictions(c, world.task.items)) == len(world.task.items)
            ]
            pick = next(c for c in world.state.board().ranked() if c in full)
            found.append(max(world.task.accuracy.values()) - world.task.accuracy[pick])
            calls[rungs] += world.task.calls
    assert calls[30, 60, 120] <= 0.63 * calls[120,]
    assert np.mean(regret[30, 60, 120]) <= np.mean(regret[120,]) + 0.005


@pytest.mark.statistical
@pytest.mark.parametrize("K", [4, 5, 10, 16])
def test_the_winners_report_is_right_on_average(K: int) -> None:
    gaps, naive = [], []
    for seed in range(500):
        rng = np.random.default_rng([K, seed])
        true = np.clip(rng.normal(0.6, 0.08, 30), 0.05, 0.95)
        truth, predicted = synthesise_population(120, K, true.tolist(), rng, correlation=0.5, temptation=0.5)
        labelled = simulated_labels(truth, predicted.T, K, "natural", rng)
        found = shrink_scores(score_items(predicted.T, labelled))
        best = int(found.mean.argmax())
        gaps.append(found.mean[best] - true[best])
        naive.append(found.value[best] - true[best])
    assert abs(np.mean(gaps)) <= 0.02
    assert np.mean(naive) > 0.05


@pytest.mark.statistical
def test_confirmation_on_fresh_items_finds_better_winners_and_reports_them_right() -> None:
    plain: list[float] = []
    confirmed: list[float] = []
    gaps: list[float] = []
    for seed in range(20):
        for confirm, found in ((0, plain), (120, confirmed)):
            world = World(seed, confirm=confirm, section=SearchSection(candidates=16))
            asyncio.run(search(world.state, FreshDraws(world.task)))
            winner = asyncio.run(confirm_finalists(world.state))
            found.append(world.task.accuracy[winner.id])
            if confirm:
                gaps.append(winner.reported - world.task.accuracy[winner.id])
    assert np.mean(confirmed) > np.mean(plain)
    assert abs(np.mean(gaps)) < 0.02 + 2 * np.std(gaps) / np.sqrt(20)


@pytest.mark.parametrize("K", [4, 5, 10, 16])
def test_the_power_of_complementary_labels_is_printed_before_the_search(K: int) -> None:
    found = measure_power(World(K=K, kind="complementary").state.labels["select"])
    per_no = difference_variances(K, 0.6)["uniform, sign test"] * (K - 1) / K
    assert found.detectable == pytest.approx(minimum_detectable((per_no / 120) ** 0.5), rel=0.1)
    assert found.alternatives["checked answers"] == pytest.approx(0.11, abs=0.02)
    assert f"with 120 questions about select items at K = {K}" in found.lines()[0]
    assert minimum_detectable(0.1) == pytest.approx(0.2487, abs=1e-3)


def test_mixed_numbers_of_options_are_told() -> None:
    four, ten = (World(K=k).state.labels["select"] for k in (4, 10))
    both = ExpertLabels(
        tuple(f"{j}" for j in range(240)),
        np.concatenate([four.n_options, ten.n_options]),
        np.concatenate([four.truth, ten.truth]),
        np.concatenate([np.pad(four.refused, ((0, 0), (0, 6))), ten.refused]),
        np.zeros((240, 10)),
        np.zeros(240, np.bool_),
        np.arange(240),
    )
    assert "K = 4/10" in measure_power(both).lines()[0]


@pytest.mark.parametrize("wrong", [{"rungs": (60, 30)}, {"rungs": ()}, {"keep": (0.5,)}, {"keep": (0, 1)}])
def test_settings_that_make_no_sense_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ConfigError, match="search: "):
        check_settings(SearchSection().model_copy(update=wrong))
