"""The verdict of a certification, and which ceilings may pronounce it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from oversight.harness.panel.superhuman.assumptions import AssumptionCheck
from oversight.harness.panel.superhuman.certificate import Certainty
from oversight.harness.panel.superhuman.condition import Condition
from oversight.harness.panel.superhuman.direct_comparison import DirectPlan
from oversight.harness.types import HtmlTable, Note, Noted, NoteKind, Shown

CEILING_NAMES = {
    "U_e": "U(e), pairs of annotators, as published",
    "U_t": "U(t), all pairs, as published",
    "U_star": "U*, annotators from a pool",
    "U_panel": "U(p), these annotators, nothing assumed",
}
"""As tables name the upper bounds of the average annotator's accuracy."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Superhuman(Noted, Shown):
    """Bounds, scores and the decision.

    Attributes
    ----------
    L
        Lower bound of the model's accuracy: its agreement with the aggregate; `L_low` the lower confidence
        bound of that, one-sided at `level`.
    U_e, U_t, U_star, U_panel
        Upper bounds of the average annotator's (`ceiling`).
    hms, oms, oms_exact
        Published scores against U_e, and the second's optimum; None where L ≤ U_e.
    confidence
        Rigorous confidence that the model beats U_e.
    against
        The same for every ceiling.
    fixed
        Whether these very annotators are meant, and no pool.
    valid
        Ceilings that may certify (`list_valid_ceilings`), in the order in which they are asked.
    certified
        Those that are valid and are beaten with confidence ≥ `level`, up to the first that is not: a
        fixed order lets all of them be looked at while the level holds for all together.
    items_needed
        Items at which the first would be beaten by the split test, if L and agreement stayed; None if
        none would.
    direct
        What the direct route would cost, by the model's share of wins, where nothing is certified or only on
        a condition.
    conditions
        What the certificate rests on and no oracle label has shown, the one that decides it first; empty
        where nothing is certified.
    clusters
        Clusters that the N items come in, the independent units of bounds and confidences; None if items are
        independent.
    undefined
        What is withheld of items in clusters → why.
    """

    L: float
    L_low: float
    U_e: float
    U_t: float
    U_star: float
    U_panel: float
    N: int
    annotators: int
    classes: int
    level: float
    hms: float | None
    oms: float | None
    oms_exact: float | None
    confidence: float
    against: Mapping[str, Certainty]
    fixed: bool
    valid: tuple[str, ...]
    certified: tuple[str, ...]
    items_needed: int | None
    disagreement: float | None
    direct: tuple[DirectPlan, ...]
    check: AssumptionCheck | None
    assumptions: tuple[str, ...]
    conditions: tuple[Condition, ...] = ()
    notes: tuple[Note, ...] = ()
    clusters: int | None = None
    undefined: Mapping[str, str] = field(default_factory=dict)

    def records(self) -> list[dict[str, Any]]:
        """A row a ceiling."""
        return [
            {
                "ceiling": name,
                "bound": c.bound,
                "high": c.high,
                "confidence": c.confidence,
                "valid": name in self.valid,
                "certified": name in self.certified,
                "L": self.L,
                "L_low": self.L_low,
            }
            for name, c in self.against.items()
        ]

    def html_tables(self) -> tuple[HtmlTable, ...]:
        """What a notebook shows."""
        head = f"model = aggregate on {self.L:.4f} of {self.N:,} items, at least {self.L_low:.4f}"
        marks = dict.fromkeys(self.certified, "certified") | {
            name: "does not hold here" for name in self.against if name not in self.valid
        }
        rows = [
            (
                CEILING_NAMES[name],
                f"{c.bound:.4f}",
                f"{c.high:.4f}",
                f"{c.confidence:.5f}",
                marks.get(name, ""),
            )
            for name, c in self.against.items()
        ]
        at_most = ("the average annotator is at most", "bound", f"at {self.level:.0%}", "confidence", "")
        notes = (head, *([self.why] if self.why else ()), *map(str, self.notes))
        return (HtmlTable(title=self.verdict, columns=at_most, rows=rows, notes=notes),)

    @property
    def holds(self) -> bool:
        """Whether the verdict stands without an assumption that nobody looked at."""
        return not self.conditions

    @property
    def why(self) -> str:
        """Why the certificate may be wrong; empty where it holds."""
        if not self.conditions:
            return ""
        named = "; and that ".join(f"{c.assumed} ({c.unseen})" for c in self.conditions)
        return f"it is conditional: it assumes that {named}"

    @property
    def verdict(self) -> str:
        """One sentence."""
        if self.certified:
            found = f"better than the average annotator at {self.level:.0%}, by {', '.join(self.certified)}"
            if self.conditions:
                found = f"CONDITIONAL: {found}, only if {' and if '.join(c.assumed for c in self.conditions)}"
            return found
        if self.items_needed is not None:
            shared = "if the model does not share the annotators' errors"
            items = f"{self.items_needed:,} items" + (" in clusters like these" if self.clusters else "")
            return f"not certified; the same margin on {items} would be, {shared}"
        if not self.valid:
            return "not certified: an assumption fails on the oracle labels, and L is no lower bound"
        return f"not certified, and on no number of items would it be: L does not exceed {self.valid[0]}"


def list_valid_ceilings(
    check: AssumptionCheck | None, *, fixed: bool
) -> tuple[tuple[str, ...], tuple[Note, ...]]:
    """Ceilings that may certify, and a note for every reason why others may not.

    Fixed annotators are no draw from a pool, and where an oracle shows that assumption 1 fails, items are
    none: U_e and U_star fall away. Where it shows that assumption 2 fails, L is no lower bound.
    """
    valid: tuple[str, ...] = ("U_star", "U_e", "U_panel", "U_t")
    notes = []
    if fixed:
        notes.append(Note(NoteKind.FIXED_PANEL))
    if check is not None and check.first_holds is False:
        notes.append(Note(NoteKind.ASSUMPTION_1_FAILS))
    if notes:
        valid = ("U_panel", "U_t")
    if check is not None and check.second_holds is False:
        valid = ()
        notes.append(Note(NoteKind.ASSUMPTION_2_FAILS))
    return valid, tuple(notes)
