"""Alternative annotator test: whether a model may replace annotators.

Each annotator j is left out in turn. On each item that j rated, the model and j are compared by the share of
the other annotators' labels that each matches. The test statistic is the share of items on which j matches at
least as many labels as the model, minus the share on which the model matches at least as many as j. H₀:
statistic ≥ ε is tested one-sided by Student's t; ε is the disadvantage that is accepted because the model
costs less. The false discovery rate over annotators is at most q (Benjamini & Yekutieli 2001).

The winning rate is the share of annotators against whom H₀ is rejected; the model passes if it is at least ½.
The advantage probability is the mean share of items on which the model agrees with the other annotators at
least as much as annotator j does.

Source: Calderon, Reichart & Dror 2025, The Alternative Annotator Test for LLM-as-a-Judge, ACL. With fewer
than 30 items the t-test is unreliable, so annotators with fewer items are not tested, and their
`AnnotatorDuel.why` says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import stdtr

from oversight.harness.arrays import NO_LABEL, FloatArray, IntArray
from oversight.harness.errors import EstimateError
from oversight.harness.estimate import clopper_pearson
from oversight.harness.panel.ratings import Panel

LEAST_ITEMS = 30
"""Smallest number of an annotator's items for which the t-test is made."""
EPSILON, FALSE_DISCOVERY = 0.2, 0.05
"""Default ε and q. The authors recommend ε = 0.2 for experts, 0.15 for skilled annotators, 0.1 for crowds."""
PASSED = 0.5
"""Smallest winning rate at which the model may replace the annotators."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnnotatorDuel:
    """Comparison of the model with one annotator.

    Attributes
    ----------
    items
        Number of items that the annotator and at least one other annotator labelled.
    model
        Share of these items on which the model agrees with the other annotators at least as much as this
        annotator agrees with them; None without items.
    human
        Share of these items on which this annotator agrees with the other annotators at least as much as the
        model does; None without items.
    p
        p-value of the test that the model may replace this annotator; None if the test is not made.
    won
        Whether the model wins, which means that the test is significant at the false discovery rate.
    why
        Reason why the test is not made; empty if it is made.
    """

    annotator: str
    items: int
    model: float | None
    human: float | None
    p: float | None
    won: bool = False
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Alternative:
    """Result of the alternative annotator test.

    Attributes
    ----------
    passed
        Whether the winning rate is at least ½, so that the model may replace the annotators; None if too few
        annotators could be tested.
    winning_rate, advantage
        Share of the annotators against whom the model wins; and mean over the tested annotators of
        `AnnotatorDuel.model`, the share of items on which the model agrees with the other annotators at least
        as much as this annotator does. None if `passed` is None.
    winning_interval
        95 % Clopper–Pearson interval of the winning rate, which treats the annotators as a random sample;
        None if `passed` is None.
    epsilon, false_discovery
        Accepted disadvantage ε of the model, and false discovery rate q, as given to `assess_alternative`.
    annotators
        One entry per annotator of the panel, also for those who could not be tested.
    why
        Reason why there is no result; empty if there is one.
    """

    passed: bool | None = None
    winning_rate: float | None = None
    advantage: float | None = None
    winning_interval: tuple[float, float] | None = None
    epsilon: float
    false_discovery: float
    annotators: tuple[AnnotatorDuel, ...]
    why: str = ""


def assess_alternative(
    panel: Panel, predicted: IntArray, *, epsilon: float = EPSILON, false_discovery: float = FALSE_DISCOVERY
) -> Alternative:
    """Test whether the model may replace the annotators.

    Parameters
    ----------
    panel
        Panel with independent items; items in clusters are refused, because the t-test assumes independence.
    predicted
        Shape (N,): the model's label; −1 for an unreadable answer, which counts as different from every
        annotator's label.
    epsilon
        ε in [0, 1): how much worse than an annotator the model may be, because it costs less.
    false_discovery
        q in (0, 1): largest expected share of false wins among the annotators against whom the model wins.

    Raises
    ------
    EstimateError
        If epsilon or the false discovery rate is out of range, or items are in clusters.

    Examples
    --------
    >>> from oversight.harness.example_data import example_panel
    >>> panel = example_panel()
    >>> found = assess_alternative(panel, np.array([0, 1, 0, 1, 0, 1]))
    >>> found.passed, found.annotators[0].why
    (None, '6 items, at least 30 are needed')
    """
    if not 0 <= epsilon < 1:
        raise EstimateError(f"epsilon must lie in [0, 1), is {epsilon}")
    if not 0 < false_discovery < 1:
        raise EstimateError(f"the false discovery rate must lie in (0, 1), is {false_discovery}")
    if panel.clusters is not None:
        raise EstimateError(
            "the alternative annotator test needs independent items, but these items are in clusters"
        )
    grid = panel.grid()
    duels = [_duel(name, j, grid, predicted, epsilon) for j, name in enumerate(panel.annotators)]
    tested = {duel.annotator: duel.p for duel in duels if duel.p is not None}
    if len(tested) < 2:
        why = (
            f"{len(tested)} annotators have {LEAST_ITEMS} items that others also rated; at least 2 are needed"
        )
        return Alternative(
            epsilon=epsilon,
            false_discovery=false_discovery,
            annotators=tuple(duels),
            why=why,
        )
    won = _discover(tested, false_discovery)
    final = tuple(replace(duel, won=duel.annotator in won) for duel in duels)
    rate = len(won) / len(tested)
    return Alternative(
        passed=rate >= PASSED,
        winning_rate=rate,
        advantage=float(np.mean([d.model for d in final if d.model is not None and d.p is not None])),
        winning_interval=clopper_pearson(len(won), len(tested), 0.95),
        epsilon=epsilon,
        false_discovery=false_discovery,
        annotators=final,
    )


def _duel(name: str, j: int, grid: IntArray, predicted: IntArray, epsilon: float) -> AnnotatorDuel:
    """Compare the model with annotator j."""
    others = np.delete(grid, j, axis=1)
    rated = others != NO_LABEL
    rows = np.flatnonzero((grid[:, j] != NO_LABEL) & rated.any(axis=1))
    model = _agreement(predicted[rows], others[rows])
    human = _agreement(grid[rows, j], others[rows])
    wins, losses = (model >= human).astype(float), (human >= model).astype(float)
    few = rows.size < LEAST_ITEMS
    return AnnotatorDuel(
        annotator=name,
        items=rows.size,
        model=float(wins.mean()) if rows.size else None,
        human=float(losses.mean()) if rows.size else None,
        p=None if few else _p_value(losses - wins, epsilon),
        why=f"{rows.size} items, at least {LEAST_ITEMS} are needed" if few else "",
    )


def _agreement(label: IntArray, others: IntArray) -> FloatArray:
    """Return, per item, the share of the other annotators' labels that equal `label`, which may be −1."""
    rated = others != NO_LABEL
    same = (others == label[:, None]) & rated
    found: FloatArray = same.sum(axis=1) / rated.sum(axis=1)
    return found


def _p_value(difference: FloatArray, epsilon: float) -> float:
    """Return the p-value of H₀: mean ≥ ε against the alternative mean < ε."""
    n, spread = len(difference), float(difference.std(ddof=1))
    gap = float(difference.mean()) - epsilon
    if spread == 0:
        return 0.0 if gap < 0 else 1.0
    return float(stdtr(n - 1, gap / (spread / np.sqrt(n))))


def _discover(p: Mapping[str, float], rate: float) -> set[str]:
    """Return the names whose null hypothesis the procedure of Benjamini and Yekutieli rejects."""
    names = sorted(p, key=lambda name: p[name])
    m = len(names)
    harmonic = sum(1 / k for k in range(1, m + 1))
    each = rate / (m * harmonic)
    last = max((k for k, name in enumerate(names, 1) if p[name] <= k * each), default=0)
    return set(names[:last])
