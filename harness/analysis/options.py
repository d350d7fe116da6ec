"""How a study is estimated, and what its estimators are called."""

from __future__ import annotations

from dataclasses import dataclass

from harness.estimate import GoldCounts, obrien_fleming_level

ESTIMATOR_NAMES = {
    "resolved": "Resolved items",
    "routed": "Routed (G)",
    "ml": "ML",
    "ivw": "IVW",
    "ivw_half": "IVW, w = ½",
    "ord": "Ord (yes only)",
    "comp": "Comp (no only)",
    "anytime": "ML, any time",
    "corrected": "Corrected (gold)",
}
"""As tables and plots name the estimators, in the order they are shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EstimateOptions:
    """How to estimate.

    Attributes
    ----------
    interval, level, published
        As in `harness.accuracy`.
    look, looks
        The look at the data this is, of how many planned ones (O'Brien–Fleming); 0 for one look.
    anytime
        Whether to add the interval that may be watched at all times.
    gold
        Experts' answers to items of known truth, to correct for their errors.
    """

    interval: str | None = None
    level: float = 0.95
    published: bool = False
    look: int = 0
    looks: int = 0
    anytime: bool = False
    gold: GoldCounts | None = None

    @property
    def level_now(self) -> float:
        """Level of the interval at this look."""
        return obrien_fleming_level(self.look, self.looks, self.level) if self.looks else self.level
