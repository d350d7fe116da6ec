"""A gate asked again and again at its bar: each verdict comes in at most 5 % of the studies."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks._coverage_designs import Design
from benchmarks.gate import GateCell, boundary_cells, hard_cells, look_on
from oversight.harness.estimate.sample_size import outcomes_to_settle, targeted_design_variance

pytestmark = pytest.mark.statistical


def check_errors(cell: GateCell, studies: int, most: float) -> None:
    """Check that each verdict occurs in at most a share `most` of `studies` simulated studies at the bar."""
    seen = [look_on(cell, 7_000_000 + j) for j in range(studies)]
    assert sum(s.passed for s in seen) / studies <= most
    assert sum(s.failed for s in seen) / studies <= most


@pytest.mark.parametrize(
    "cell",
    [
        GateCell(kind="accuracy", design=Design(n=160, accuracies=(0.8,))),
        GateCell(kind="accuracy", design=Design(n=160, accuracies=(0.8,), K=(2,), protocol="targeted")),
        GateCell(
            kind="difference", design=Design(n=160, accuracies=(0.78, 0.8), K=(10,), protocol="disagreement")
        ),
    ],
    ids=str,
)
def test_each_verdict_is_rarely_wrong_at_the_bar(cell: GateCell) -> None:
    check_errors(cell, 60, 0.1)


@pytest.mark.slow
@pytest.mark.parametrize("cell", [*boundary_cells(200), *hard_cells(200)], ids=str)
def test_each_verdict_is_rarely_wrong_in_every_design(cell: GateCell) -> None:
    check_errors(cell, 50, 0.1)


@pytest.mark.slow
def test_forecast_agrees_with_simulated_studies() -> None:
    """Four of five studies of a model .06 above the bar pass within about as many answers as forecast."""
    design: dict[str, Any] = {"accuracies": (0.86,), "protocol": "targeted", "n": 1000}
    cell = GateCell(kind="accuracy", design=Design(**design), above=0.06)
    answers = sorted(s.answers or 10_000 for s in (look_on(cell, 9_000_000 + j) for j in range(40)))
    forecast = outcomes_to_settle(0.06, targeted_design_variance(0.86) + 0.06**2)
    assert 0.6 <= answers[32] / forecast <= 1.6
