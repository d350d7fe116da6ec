"""What a study asks: yes/no questions, or choices among all options of a panel's annotators."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from harness import BadInput
from harness.config import Study
from harness.store import Store
from harness.types import Assignment, Question

T = TypeVar("T", Question, Assignment)
Pending = Question | Assignment
"""Both have an id, an item, an expert and a seed, which is what queues and tasks need."""


def read_pending(study: Study, store: Store) -> Sequence[Pending]:
    """All that was drawn so far, of the kind that the study asks.

    Raises
    ------
    BadInput
        If nothing was.
    """
    return read_pending_assignments(store) if study.experts.is_panel else read_pending_questions(store)


def read_pending_questions(store: Store) -> list[Question]:
    """All questions; `BadInput` if there are none."""
    return _drawn(store.content.read_questions(), "questions")


def read_pending_assignments(store: Store) -> list[Assignment]:
    """All assignments; `BadInput` if there are none."""
    return _drawn(store.panel.read_assignments(), "assignments")


def _drawn(found: list[T], what: str) -> list[T]:
    if not found:
        raise BadInput(f"no {what} yet; draw them with: oversight label route")
    return found
