"""Every command and page shows the same one estimate of a model, chosen by name only."""

from __future__ import annotations

import pytest

from oversight.harness.types import CORRECTED, ESTIMATOR_NAMES, Estimate, main_estimate, main_name


def make(name: str, half_width: float = 0.1) -> Estimate:
    return Estimate(
        value=0.5,
        low=0.5 - half_width,
        high=0.5 + half_width,
        se=None,
        level=0.95,
        estimator=name,
        method="exact",
    )


@pytest.mark.parametrize("protocol", ["resolved", "routed", "ml"])
def test_protocols_own_estimate_is_shown_even_if_all_others_are_narrower(protocol: str) -> None:
    others = set(ESTIMATOR_NAMES) - {*CORRECTED, "resolved", "routed", "ml"}
    estimates = {name: make(name, 0.01) for name in others} | {protocol: make(protocol, 0.3)}
    assert main_estimate(estimates) is estimates[protocol]


@pytest.mark.parametrize("corrected", CORRECTED)
def test_estimate_corrected_for_experts_errors_is_shown_before_the_protocols_own(corrected: str) -> None:
    estimates = {"ml": make("ml", 0.01), corrected: make(corrected, 0.3)}
    assert main_name(estimates) == corrected


def test_missing_main_estimate_is_not_replaced() -> None:
    assert main_estimate({"ord": make("ord"), "ivw": make("ivw")}) is None
