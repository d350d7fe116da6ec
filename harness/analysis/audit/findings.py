"""What an audit finds: each finding a sentence that names the place, the first of them kept."""

from __future__ import annotations

from dataclasses import dataclass, field

MOST_SHOWN = 20
"""Findings that are kept to be shown; all are counted."""


@dataclass(slots=True)
class AuditFindings:
    """What does not hold; `number` counts all, `shown` has the first."""

    shown: list[str] = field(default_factory=list)
    number: int = 0

    def add(self, text: str) -> None:
        """Add a finding."""
        self.number += 1
        if self.number <= MOST_SHOWN:
            self.shown.append(text)

    def lines(self) -> list[str]:
        """The findings for people, and how many more there are."""
        more = self.number - len(self.shown)
        return [*self.shown, *([f"and {more:,} more"] if more else [])]
