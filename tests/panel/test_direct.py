"""The direct route: few expert questions where agreement-based bounds cannot fire."""

from __future__ import annotations

import numpy as np
import pytest

from oversight.harness import EstimateError, IntArray
from oversight.harness.estimate import binomial_at_least
from oversight.harness.panel import assess_superhuman, differing, direct_result, draw_annotators
from oversight.harness.panel.direct_comparison import critical_wins, direct_plan, disagreement_rate
from oversight.harness.panel.ratings import make_panel_from_grid


def test_plan_of_the_published_setting_is_reproduced() -> None:
    # Oracle accuracies .956 and .909, 38 disagreements in 322 items: (.118 + .047)/(2·.118) = .70 wins.
    plan = direct_plan(38 / 322, 0.7)
    assert plan.questions == 37
    assert plan.screened == pytest.approx(322, abs=12)


def test_plan_is_the_fewest_that_reach_the_power() -> None:
    plan = direct_plan(0.2, 0.8)
    for n in range(1, plan.decisive + 1):
        reached = binomial_at_least(critical_wins(n), n, 0.8) >= 0.8
        assert reached == (n == plan.decisive)


@pytest.mark.parametrize("n", [1, 4, 5, 17, 100])
def test_critical_wins_is_the_edge(n: int) -> None:
    c = critical_wins(n)
    assert c > n or binomial_at_least(c, n, 0.5) <= 0.05
    assert binomial_at_least(c - 1, n, 0.5) > 0.05


def setting(
    rng: np.random.Generator, n: int, human: float, model: float
) -> tuple[IntArray, IntArray, IntArray]:
    """Truth, three annotators' labels and a model's, hard items hard for people: binary."""
    truth = rng.integers(2, size=n)
    skill = rng.beta(human * 4, (1 - human) * 4, size=n)
    grid = np.where(rng.random((n, 3)) < skill[:, None], truth[:, None], 1 - truth[:, None])
    return truth, grid, np.where(rng.random(n) < model, truth, 1 - truth)


@pytest.mark.statistical
def test_direct_route_fires_where_certificates_do_not() -> None:
    rng = np.random.default_rng(9)
    certified = fired = 0
    disagreement = 0.909 * 0.044 + 0.091 * 0.956
    plan = direct_plan(disagreement, (disagreement + 0.047) / (2 * disagreement))
    assert plan.questions < 50
    for seed in range(60):
        truth, grid, model = setting(rng, 1821, 0.909, 0.956)
        panel = make_panel_from_grid(grid, ["0", "1"])
        certified += bool(assess_superhuman(panel, model).certified)
        drawn = draw_annotators(panel, seed)
        asked = differing(drawn, model)[: plan.questions]
        wins = int((model[asked] == truth[asked]).sum())
        fired += direct_result(wins, len(asked) - wins, screened=int(asked[-1]) + 1).superhuman
    assert certified == 0
    assert fired / 60 > 0.65


@pytest.mark.statistical
def test_direct_route_has_its_size_and_coverage() -> None:
    rng = np.random.default_rng(10)
    alarms = held = 0
    for seed in range(400):
        truth, grid, model = setting(rng, 400, 0.9, 0.9)
        panel = make_panel_from_grid(grid, ["0", "1"])
        asked = differing(draw_annotators(panel, seed), model)
        wins = int((model[asked] == truth[asked]).sum())
        result = direct_result(wins, len(asked) - wins, screened=400)
        alarms += result.superhuman
        held += result.low <= 0 <= result.high
    assert alarms / 400 <= 0.06
    assert held / 400 >= 0.93


def test_one_annotator_is_drawn_from_those_of_the_item() -> None:
    grid = np.array([[0, -1, -1], [1, 1, -1], [-1, 2, 0]])
    panel = make_panel_from_grid(grid, ["a", "b", "c"])
    seen = {tuple(draw_annotators(panel, seed).tolist()) for seed in range(60)}
    assert seen == {(0, 1, 2), (0, 1, 0)}
    assert draw_annotators(panel, 3).tolist() == draw_annotators(panel, 3).tolist()


def test_rate_of_disagreement_is_over_all_annotators() -> None:
    assert disagreement_rate(np.array([[3, 1], [0, 2]]), np.array([0, -1])) == (0.25 + 1) / 2


def test_result_without_decisive_answers_is_uninformative() -> None:
    result = direct_result(0, 0, neither=3, screened=50)
    assert (result.p_value, result.superhuman, result.difference) == (1.0, False, 0.0)
    assert result.low < 0 < result.high


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"disagreement": 1.5, "win_share": 0.7}, r"disagreement must lie in \[0, 1\], is 1\.5"),
        ({"disagreement": 0.2, "win_share": 0.5001}, "too near 1/2"),
    ],
)
def test_impossible_plans_are_refused(values: dict[str, float], message: str) -> None:
    with pytest.raises(EstimateError, match=message):
        direct_plan(**values)


def test_impossible_answers_are_refused() -> None:
    with pytest.raises(
        EstimateError, match="wins 3, losses 3, neither 0, unsettled 0: each must be at least 0"
    ):
        direct_result(3, 3, screened=5)


def test_unsettled_items_are_taken_at_their_worst() -> None:
    sure, open_ = direct_result(20, 5, screened=200), direct_result(20, 5, unsettled=6, screened=200)
    assert open_.p_value == direct_result(20, 11, screened=200).p_value > sure.p_value
    assert open_.low < sure.low < sure.high < open_.high
    assert open_.difference == sure.difference
