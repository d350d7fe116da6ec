"""Questions planned by a pilot buy the half-width that they were planned for, through the public calls."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.plan_by_pilot import DESIGNS, Design, come_true

pytestmark = [pytest.mark.statistical, pytest.mark.slow]
ROUGH = Design(
    "targeted", accuracies=(0.9, 0.8, 0.7), asked_for=3, options=8, pilot=250, unreadable=0.08, pool=2_000
)


@pytest.mark.parametrize("design", [*(replace(d, pool=2_000) for d in DESIGNS), ROUGH], ids=lambda d: d.name)
def test_planned_questions_buy_what_was_wished(design: Design) -> None:
    found = come_true(design, 3, first=100)
    assert {"none", "pool+judge" if design.protocol != "sequential" else "pool"} <= found.keys()
    for uses, seen in found.items():
        # planned for the half-width that 80 % of studies reach, so the mean one is smaller
        assert 0.65 * design.width < np.mean(seen.halves) < 1.03 * design.width, uses
        assert all(low < planned < high for planned, (low, high) in zip(seen.planned, seen.ends, strict=True))
    least = min(np.mean(seen.planned) for seen in found.values())
    assert least < 0.8 * np.mean(found["none"].planned)
