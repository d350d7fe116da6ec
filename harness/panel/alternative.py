"""Whether a model may take the place of annotators: the alternative annotator test.

Each annotator j is left out in turn. On each item that j rated, the others' labels say with whom they agree
more: with the model or with j. The difference is the share of items on which j agrees at least as much, less
that of the model. H₀: difference ≥ ε is tested one-sided by Student's t; ε is what the model's lower cost is
worth.
Over annotators the false discovery rate is held at q (Benjamini & Yekutieli 2001). The winning rate is the
share of annotators against whom H₀ is rejected; the test is passed from ½ on. The advantage probability is
the mean share of items on which the model agrees at least as much as the annotator.

Source: Calderon, Reichart & Dror 2025, The Alternative Annotator Test for LLM-as-a-Judge, ACL. Below 30 items
per annotator the t-test is not to be trusted, and the annotator is left out with that reason.
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
"""Items of an annotator below which the t-test is not made."""
EPSILON, FALSE_DISCOVERY = 0.2, 0.05
"""The authors' recommendation for experts (0.15 for skilled annotators, 0.1 for crowd workers), and q."""
PASSED = 0.5
"""Winning rate from which on the model may take the annotators' place."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnnotatorDuel:
    """The model against one annotator.

    Attributes
    ----------
    items
        Items that the annotator and at least one other rated.
    model, human
        Share of items on which the model, or the annotator, agrees at least as much with the others.
    p
        p-value of H₀; None if it is withheld.
    won
        Whether H₀ is rejected at the false discovery rate.
    why
        Why the test is withheld; empty if it is made.
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
        Whether the winning rate is at least ½; None if too few annotators could be tested.
    winning_rate, advantage
        ω and ρ; None like `passed`.
    winning_interval
        Clopper and Pearson's interval of ω, as if the annotators were drawn from many; None like `passed`.
    why
        Why there is no result; empty if there is one.
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
    """Test whether the model may take the annotators' place.

    Parameters
    ----------
    panel
        Items in clusters are refused: the t-test takes items as independent.
    predicted
        Shape (N,): the model's label, −1 for none; such items are left out.
    epsilon
        In [0, 1): by how much the model may fall behind and still be preferred.

    Raises
    ------
    EstimateError
        If epsilon or the rate is out of range, or items share clusters.

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
        raise EstimateError("the alternative annotator test takes items as independent; these share clusters")
    grid = panel.grid()
    duels = [_duel(name, j, grid, predicted, epsilon) for j, name in enumerate(panel.annotators)]
    tested = {duel.annotator: duel.p for duel in duels if duel.p is not None}
    if len(tested) < 2:
        why = f"{len(tested)} annotators have {LEAST_ITEMS} items that others rated, too; at least 2 must"
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
    """The model against annotator j."""
    others = np.delete(grid, j, axis=1)
    rated = others != NO_LABEL
    rows = np.flatnonzero((grid[:, j] != NO_LABEL) & rated.any(axis=1) & (predicted >= 0))
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
    """Share of the others' labels that equal this one, by item."""
    rated = others != NO_LABEL
    same = (others == label[:, None]) & rated
    found: FloatArray = same.sum(axis=1) / rated.sum(axis=1)
    return found


def _p_value(difference: FloatArray, epsilon: float) -> float:
    """P-value of H₀: mean ≥ ε against a smaller one."""
    n, spread = len(difference), float(difference.std(ddof=1))
    gap = float(difference.mean()) - epsilon
    if spread == 0:
        return 0.0 if gap < 0 else 1.0
    return float(stdtr(n - 1, gap / (spread / np.sqrt(n))))


def _discover(p: Mapping[str, float], rate: float) -> set[str]:
    """Names whose null hypothesis is rejected by the procedure of Benjamini and Yekutieli."""
    names = sorted(p, key=lambda name: p[name])
    m = len(names)
    harmonic = sum(1 / k for k in range(1, m + 1))
    each = rate / (m * harmonic)
    last = max((k for k, name in enumerate(names, 1) if p[name] <= k * each), default=0)
    return set(names[:last])
