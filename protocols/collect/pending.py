"""What a study asks: yes/no questions, or choices among all options of a panel's annotators."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from harness.errors import BadInput
from harness.store.ratings import PanelRatings
from harness.types.panel import Assignment
from harness.types.records import Question

if TYPE_CHECKING:
    from collections.abc import Sequence

    from harness.config.study import Study
    from harness.store.repository import Repository

T = TypeVar("T", Question, Assignment)
Asked = Question | Assignment
"""Both have an id, an item, an expert and a seed, which is what queues and tasks need."""


def asked_in(study: Study, store: Repository) -> Sequence[Asked]:
    """All that was drawn so far, of the kind that the study asks.

    Raises
    ------
    BadInput
        If nothing was.
    """
    return assignments_in(store) if study.experts.is_panel else questions_in(store)


def questions_in(store: Repository) -> list[Question]:
    """All questions; `BadInput` if there are none."""
    return _drawn(store.questions(), "questions")


def assignments_in(store: Repository) -> list[Assignment]:
    """All assignments; `BadInput` if there are none."""
    return _drawn(PanelRatings(store).assignments(), "assignments")


def _drawn(found: list[T], what: str) -> list[T]:
    if not found:
        raise BadInput(f"no {what} yet; draw them with: oversight label route")
    return found
