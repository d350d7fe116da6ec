"""Assignments to the annotators of a panel, and what they say: frozen values, no I/O."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Assignment:
    """One annotator of a panel is to choose among all options of one item.

    Attributes
    ----------
    id
        Stable name.
    item_id, annotator
        What, and who.
    propensity
        Probability with which the rule gives the item to this annotator; fixed before any rating.
    protocol, seed
        The rule and its seed.
    """

    id: str
    item_id: str
    annotator: str
    propensity: float
    protocol: str
    seed: int

    @property
    def expert(self) -> str:
        """The annotator, as rosters and queues call people."""
        return self.annotator


@dataclass(frozen=True, slots=True)
class Choice:
    """What an annotator said to an assignment; `label` is an option of the item, empty if skipped."""

    assignment: Assignment
    label: str
    source: str
    comment: str = ""


@dataclass(frozen=True, slots=True)
class Rating:
    """What one annotator of a panel chose for one item, among all classes; a missing one is no row."""

    item: str
    annotator: str
    label: str
