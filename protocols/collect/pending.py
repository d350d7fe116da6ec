"""The things a study asks: yes/no questions, or choices among all options of a panel's annotators."""

from __future__ import annotations

from collections.abc import Sequence

from harness import BadInput
from harness.config import Study
from harness.store import Store
from harness.types import Assignment, Question

Pending = Question | Assignment
"""Both have an id, an item, an expert and a seed, which is what queues and tasks need."""


def read_pending(study: Study, store: Store) -> Sequence[Pending]:
    """All that was drawn so far, of the kind that the study asks.

    Raises
    ------
    BadInput
        If nothing was.
    """
    panel = study.experts.is_panel
    found = store.panel.read_assignments() if panel else store.content.read_questions()
    if not found:
        what = "assignments" if panel else "questions"
        raise BadInput(f"no {what} yet; draw them with: oversight label route")
    return found
