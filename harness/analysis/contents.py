"""What a report shows: computed elsewhere, rendered by `table`, `plot` and `html`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from harness.types import Estimate

if TYPE_CHECKING:
    from harness.estimate import Check

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


@dataclass(frozen=True, slots=True)
class RefutedPrediction:
    """A prediction that an expert's answer contradicts."""

    item_id: str
    text: str
    predicted: str
    expert: str
    said: str


@dataclass(frozen=True, slots=True)
class ModelReport:
    """One run of one model.

    Attributes
    ----------
    estimates
        Estimator name → estimate; those undefined for the data are in `undefined` with the reason.
    curve
        (number of answers so far, estimate from them), in order of arrival.
    unreadable, failed
        Kind of reason → number of predictions.
    usd
        What the run cost; None if the price is unknown.
    usd_per_correct
        Dollars per right answer and the ends of its interval (None: no upper end); None without a cost.
    truth
        Accuracy by the sealed key, where it was opened.
    """

    name: str
    run_id: str
    spec: Mapping[str, Any]
    created: str
    predictions: int
    estimates: Mapping[str, Estimate]
    undefined: Mapping[str, str]
    curve: tuple[tuple[int, Estimate], ...]
    checks: tuple[Check, ...]
    unreadable: Mapping[str, int]
    failed: Mapping[str, int]
    refuted: tuple[RefutedPrediction, ...]
    refuted_total: int
    input_tokens: int
    output_tokens: int
    truth: float | None = None
    usd: float | None = None
    usd_per_correct: tuple[float, float, float | None] | None = None


@dataclass(frozen=True, slots=True)
class ExpertReport:
    """What one expert was asked and said."""

    name: str
    asked: int
    yes: int
    no: int
    abstained: int
    expected_yes_rate: float

    @property
    def yes_rate(self) -> float | None:
        """Share of yes among yes and no; None without either."""
        return self.yes / (self.yes + self.no) if self.yes + self.no else None


@dataclass(frozen=True, slots=True)
class StudyReport:
    """A whole study."""

    name: str
    seed: int
    protocol: str
    n_items: int
    n_questions: int
    n_answers: int
    options: Mapping[int, int]
    models: tuple[ModelReport, ...]
    experts: tuple[ExpertReport, ...]
    assumptions: tuple[str, ...]
    versions: Mapping[str, str]
    created: str
