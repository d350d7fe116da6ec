"""Labels made into one: ties, weights, and the latent classes that Dawid and Skene print."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from oversight.harness import ConfigError, EstimateError
from oversight.harness.panel.ratings import (
    agreement_with,
    fit_dawid_skene,
    make_panel_from_grid,
    plurality,
    weighted_votes,
)
from tests.panel.anaesthetists import ratings


def test_ties_are_shared_not_given_to_the_lowest() -> None:
    votes = np.array([[2, 2, 1], [0, 3, 1], [1, 1, 1]])
    winners = plurality(votes)
    assert winners.tolist() == [[True, True, False], [False, True, False], [True, True, True]]
    assert agreement_with(winners, np.array([1, 1, 2])) == pytest.approx([0.5, 1.0, 1 / 3])
    assert agreement_with(winners, np.array([0, 0, -1])).tolist() == [0.5, 0.0, 0.0]


def test_an_item_without_votes_agrees_with_nothing_known() -> None:
    assert np.isnan(agreement_with(plurality(np.array([[0, 0]])), np.array([0])))[0]


def test_weights_turn_a_vote_and_tenths_tie() -> None:
    panel = make_panel_from_grid(np.array([[0, 1, 1], [0, 0, 1]]), ["x", "y"], ["a", "b", "c"])
    heavy = weighted_votes(panel, {"a": 3, "b": 1, "c": 1})
    assert heavy.tolist() == [[3, 2], [4, 1]]
    tenths = weighted_votes(panel, {"a": 0.3, "b": 0.1, "c": 0.2})
    assert plurality(tenths).tolist() == [[True, True], [True, False]]
    assert plurality(1e-12 * heavy).tolist() == [[True, False], [True, False]]
    with pytest.raises(EstimateError, match="all annotators of item 'i0' have weight 0"):
        weighted_votes(panel, {"a": 0, "b": 0, "c": 0})
    with pytest.raises(EstimateError, match="annotator 'c' needs a number of at least 0, has None"):
        weighted_votes(panel, {"a": 1, "b": 1})
    with pytest.raises(EstimateError, match="annotator 'a' needs a number of at least 0, has -1"):
        weighted_votes(panel, {"a": -1, "b": 1, "c": 1})


def test_dawid_and_skene_give_what_they_print() -> None:
    found = fit_dawid_skene(*ratings(), K=4)
    # the source's marginal probabilities
    assert found.mean(axis=0).round(2).tolist() == [0.40, 0.42, 0.11, 0.07]
    # All observers give the first patient class 1 in all seven labels.
    assert found[0].argmax() == 0
    assert found[0, 0] > 0.999
    assert found.sum(axis=1) == pytest.approx(np.ones(45))


def test_a_class_that_nobody_named_has_no_share() -> None:
    item, annotator, label = ratings()
    wider = fit_dawid_skene(item, annotator, label + (label > 1), K=6)
    assert wider[:, [2, 5]].max() == 0
    assert wider[:, [0, 1, 3, 4]] == pytest.approx(fit_dawid_skene(item, annotator, label, K=4))


def test_without_its_library_dawid_skene_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "crowdkit.aggregation", None)
    with pytest.raises(ConfigError, match=r"pip install 'oversight-eval\[crowd\]'"):
        fit_dawid_skene(*ratings(), K=4)


@pytest.mark.statistical
def test_dawid_skene_beats_the_vote_where_few_are_reliable() -> None:
    rng = np.random.default_rng(3)
    truth = rng.integers(3, size=600)
    skill = np.array([0.95, 0.9, 0.4, 0.4, 0.4, 0.4, 0.4])
    right = rng.random((600, 7)) < skill
    grid = np.where(right, truth[:, None], (truth[:, None] + rng.integers(1, 3, size=(600, 7))) % 3)
    panel = make_panel_from_grid(grid, ["a", "b", "c"])
    found = fit_dawid_skene(panel.item, panel.annotator, panel.label, panel.K)
    learned = (found.argmax(axis=1) == truth).mean()
    voted = agreement_with(plurality(panel.votes()), truth).mean()
    assert learned > voted + 0.05
