"""Human and model in bins of certainty, as `measure_parity` found them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from oversight.harness.panel.parity.clustered_shares import Share
from oversight.harness.panel.parity.detection import Detection
from oversight.harness.types import HtmlTable, Note, Noted, Shown, percent, span


@dataclass(frozen=True, slots=True, kw_only=True)
class ParityBin(Noted):
    """One bin of certainty.

    Attributes
    ----------
    items, judgements
        Items in it, and rows (item, rater).
    clusters
        Clusters that these items come in, the independent units of every interval and test; None if items
        are independent, which are then the units.
    p_d
        Mean certainty: the accuracy to expect of an expert who draws from the same votes.
    at_least_80
        P(accuracy ≥ 80 % on so many items | p_d); None of items in clusters, which do not tell it.
    human, model
        Accuracy against the reference, on the same rows.
    delta, p_value
        Human − model, paired by unit.
    detection
        Precision, recall and F1 of the positive class, if one was named.
    notes
        ``NoteKind.FEW_ITEMS`` below 30, ``NoteKind.FEW_CLUSTERS`` likewise.
    """

    name: str
    items: int
    judgements: int
    p_d: float
    at_least_80: float | None
    human: Share
    model: Share
    delta: Share
    p_value: float
    detection: Detection | None
    notes: tuple[Note, ...]
    clusters: int | None = None

    @property
    def doubts(self) -> tuple[str, ...]:
        """Why intervals may not hold, and what is withheld and why, in words."""
        shares = (self.human, self.model, self.delta)
        found = dict.fromkeys(f"the intervals may not hold: {s.why}" for s in shares if s.why)
        return (*found, *(() if self.detection is None else self.detection.remarks))


@dataclass(frozen=True, slots=True, kw_only=True)
class Parity(Shown):
    """All bins, and the aggregate that they take apart.

    Attributes
    ----------
    stratify
        The 80 % rule: human or model accuracy over all is below .8, so the aggregate misleads.
    method
        ``"leave-one-out"``, ``"separate voters"`` or ``"circular"``.
    guessing
        Accuracy of one who draws a class uniformly.
    clusters, assumptions
        Clusters that all items come in, as in a bin, and what is then assumed.
    undefined
        What is withheld of items in clusters → why.
    """

    overall: ParityBin
    bins: tuple[ParityBin, ...]
    stratify: bool
    method: str
    level: float
    guessing: float
    humans: tuple[str, ...]
    voters: tuple[str, ...]
    clusters: int | None = None
    assumptions: tuple[str, ...] = ()
    undefined: Mapping[str, str] = field(default_factory=dict)

    def records(self) -> list[dict[str, Any]]:
        """A row a bin, the last for all items."""
        return [
            {"bin": b.name, "items": b.items, "judgements": b.judgements, "p_d": b.p_d}
            | {
                f"{who}{end}": getattr(getattr(b, who), end.removeprefix("_") or "value")
                for who in ("human", "model", "delta")
                for end in ("", "_low", "_high")
            }
            | {"p_value": b.p_value, "holds": b.delta.holds, "flags": ", ".join(b.flags)}
            for b in (*self.bins, self.overall)
        ]

    def html_tables(self) -> tuple[HtmlTable, ...]:
        """What a notebook shows."""
        rows = [
            (
                b.name,
                f"{b.items:,}",
                percent(b.p_d),
                *(f"{percent(s.value)} [{span(s.low, s.high)}]" for s in (b.human, b.model, b.delta)),
                f"{b.p_value:.2g}",
            )
            for b in (*self.bins, self.overall)
        ]
        noted = [f"{b.name}: {note}" for b in (*self.bins, self.overall) for note in (*b.notes, *b.doubts)]
        rule = "human or model is below 80 % over all: read the bins, not the aggregate"
        return (
            HtmlTable(
                title=f"Human and model against the vote ({self.method}), intervals {self.level:.0%}",
                columns=("vote", "items", "expected", "human", "model", "human − model", "p"),
                rows=rows,
                notes=(*([rule] if self.stratify else ()), *noted, *self.assumptions),
            ),
        )
