"""What was asked, by question, for files that come back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from oversight.harness.store import Response
from oversight.harness.types import Item, Question
from oversight.protocols.collect.spreadsheets.cells import mark_cells, write_cells


class Asked(Protocol):
    """What was asked, by question."""

    @property
    def key(self) -> int | None:
        """What binds the checks of files to the texts of these questions; None where texts are compared."""
        ...

    def find_experts(self, ids: Sequence[str]) -> Sequence[str | None]:
        """Whom each question was put to, None of one that was never asked."""
        ...

    def find_marks(self, ids: Sequence[str]) -> Sequence[int | None]:
        """`mark_cells` of each question, None of one that was never asked."""
        ...

    def find_cells(self, ids: Sequence[str]) -> Mapping[str, Mapping[str, str]]:
        """Question → column → what is shown there, of those that were asked."""
        ...

    def find_said(self, ids: Sequence[str]) -> Mapping[str, Response]:
        """Question → its stored answer, of those that have one."""
        ...


@dataclass(frozen=True, slots=True)
class ListedQuestions:
    """Questions that are in memory, with their items where these are known."""

    questions: Mapping[str, Question]
    items: Mapping[str, Item]

    @property
    def key(self) -> None:
        """As of `Asked`."""
        return

    def find_experts(self, ids: Sequence[str]) -> list[str | None]:
        """As of `Asked`."""
        return [self.questions[i].expert if i in self.questions else None for i in ids]

    def find_marks(self, ids: Sequence[str]) -> list[int | None]:
        """As of `Asked`."""
        cells = self.find_cells(ids)
        return [mark_cells(cells[i]) if cells.get(i) else None for i in ids]

    def find_cells(self, ids: Sequence[str]) -> dict[str, Mapping[str, str]]:
        """As of `Asked`."""
        asked = [self.questions[i] for i in ids if i in self.questions]
        return {q.id: write_cells(self.items[q.item_id], q.option) for q in asked if q.item_id in self.items}

    def find_said(self, ids: Sequence[str]) -> dict[str, Response]:  # noqa: ARG002  nothing is stored
        """As of `Asked`."""
        return {}
