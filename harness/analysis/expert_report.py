"""What every expert was asked and answered."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from oversight.harness.columns import ABSTAINED, NO, YES, LabelColumns


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpertReport:
    """One expert's questions and answers."""

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


def report_experts(labels: LabelColumns) -> tuple[ExpertReport, ...]:
    """The report of every expert who was asked anything, by name."""
    drawn = labels.drawn or labels.questions
    number = len(drawn.experts)
    asked, expected = (np.bincount(drawn.expert, w, number) for w in (None, 1 / drawn.n_options))
    yes, no, abstained = (
        np.bincount(labels.questions.expert[labels.kind == kind], minlength=number).tolist()
        for kind in (YES, NO, ABSTAINED)
    )
    return tuple(
        ExpertReport(
            name=name,
            asked=int(asked[e]),
            yes=yes[e],
            no=no[e],
            abstained=abstained[e],
            expected_yes_rate=float(expected[e] / asked[e]),
        )
        for name, e in sorted((name, e) for e, name in enumerate(drawn.experts) if asked[e])
    )
