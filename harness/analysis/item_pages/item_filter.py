"""What a person asks of the items."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class ItemVerdict(StrEnum):
    """What became of a question about an item."""

    CONFIRMED = "confirmed"
    """The expert said yes."""
    REFUTED = "refuted"
    """The expert said no."""
    ABSTAINED = "abstained"
    """The expert did not say: unsure, or skipped."""
    OPEN = "open"
    """There is no answer yet."""


class ModelOutcome(StrEnum):
    """What became of a model's prediction about an item."""

    CONFIRMED = "confirmed"
    """An expert said yes to the option it names."""
    REFUTED = "refuted"
    """An expert said no to the option it names, or yes to another."""
    UNREADABLE = "unreadable"
    """The model answered, but named no option."""
    FAILED = "failed"
    """No answer came."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemFilter:
    """Conditions that all hold of every item that is found; without any, all items are.

    Attributes
    ----------
    words
        Each is a word of the item's id, text or options; see `Store.words`. Blank asks for nothing.
    stratum
        A further column of the items' source, and the item's value there.
    expert, asked, verdict
        One and the same question was put to this expert, about this class, and this became of it.
    model, outcome
        This model was asked about the item, and this became of its prediction; without a model, that of any.
    disagreed
        Of these models, at least two, some name different options; empty asks for nothing.
    """

    words: str = ""
    stratum: tuple[str, str] | None = None
    expert: str | None = None
    asked: str | None = None
    verdict: ItemVerdict | None = None
    model: str | None = None
    outcome: ModelOutcome | None = None
    disagreed: tuple[str, ...] = ()
