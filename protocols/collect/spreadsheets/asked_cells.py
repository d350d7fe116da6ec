"""Interface to the asked questions, against which returned files are checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from oversight.harness.store import Response
from oversight.harness.types import Item, Question
from oversight.protocols.collect.spreadsheets.cells import mark_cells, write_cells


class Asked(Protocol):
    """Interface to the asked questions, by question id."""

    @property
    def key(self) -> int | None:
        """Key that binds the checks in files to the texts of these questions; None if texts are compared."""
        ...

    def find_experts(self, ids: Sequence[str]) -> Sequence[str | None]:
        """Return the expert of each question; None if the question was never asked."""
        ...

    def find_marks(self, ids: Sequence[str]) -> Sequence[int | None]:
        """Return `mark_cells` of each question; None if the question was never asked."""
        ...

    def find_cells(self, ids: Sequence[str]) -> Mapping[str, Mapping[str, str]]:
        """Return the shown text by question and column, for questions that were asked."""
        ...

    def find_said(self, ids: Sequence[str]) -> Mapping[str, Response]:
        """Return the stored answer by question, for questions that have one."""
        ...


@dataclass(frozen=True, slots=True)
class ListedQuestions:
    """Questions in memory, with their items if these are known, and the words that they were asked in."""

    questions: Mapping[str, Question]
    items: Mapping[str, Item]
    question_text: str | None = None

    @property
    def key(self) -> None:
        """See `Asked`."""
        return

    def find_experts(self, ids: Sequence[str]) -> list[str | None]:
        """See `Asked`."""
        return [self.questions[i].expert if i in self.questions else None for i in ids]

    def find_marks(self, ids: Sequence[str]) -> list[int | None]:
        """See `Asked`."""
        cells = self.find_cells(ids)
        return [mark_cells(cells[i]) if cells.get(i) else None for i in ids]

    def find_cells(self, ids: Sequence[str]) -> dict[str, Mapping[str, str]]:
        """See `Asked`."""
        asked = [self.questions[i] for i in ids if i in self.questions]
        return {
            q.id: write_cells(self.items[q.item_id], q.option, self.question_text)
            for q in asked
            if q.item_id in self.items
        }

    def find_said(self, ids: Sequence[str]) -> dict[str, Response]:  # noqa: ARG002  nothing is stored
        """See `Asked`."""
        return {}
