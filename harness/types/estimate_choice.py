"""The one estimate of a model that every command and page shows first."""

from __future__ import annotations

from collections.abc import Mapping

from oversight.harness.types.estimates import Estimate

CORRECTED = ("corrected", "hui_walter", "bounded")
"""Estimates corrected for experts' errors: by gold, by second experts, by known error rates."""
PROTOCOLS_OWN = ("resolved", "routed", "ml")
"""The estimate of each protocol; a study has only one of these."""


def protocol_estimate(estimates: Mapping[str, Estimate]) -> Estimate | None:
    """Return the estimate of the study's protocol, which takes every answer as right; None without one."""
    return next((estimates[name] for name in PROTOCOLS_OWN if name in estimates), None)


def main_name(estimates: Mapping[str, Estimate]) -> str:
    """Choose the one estimate to show, by name only. Returns its name; empty if there is none.

    The estimate corrected for experts' errors comes first if the study corrects for them, then the estimate
    of the protocol. The rule is fixed before any data are seen: intervals are never compared, since the
    narrowest of several 95 % intervals covers the truth in less than 95 % of studies.

    No other estimate takes their place if neither could be made.

    Examples
    --------
    >>> from oversight.harness.estimate import estimate_counts
    >>> main_name(estimate_counts(K=4, S_o=77, n_o=120, S_c=321, n_c=360))
    'ml'
    >>> main_name({})
    ''
    """
    return next((name for name in (*CORRECTED, *PROTOCOLS_OWN) if name in estimates), "")


def main_estimate(estimates: Mapping[str, Estimate]) -> Estimate | None:
    """Return the one estimate to show, see `main_name`; None if there is none."""
    return estimates.get(main_name(estimates))
