"""What a study asks: yes/no questions, or choices among all options of a panel's annotators."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.errors import BadInput
from harness.store.ratings import PanelRatings
from harness.types import Assignment, Question

if TYPE_CHECKING:
    from collections.abc import Sequence

    from harness.config import Study
    from harness.store.repository import Repository

Asked = Question | Assignment
"""Both have an id, an item, an expert and a seed, which is what queues and tasks need."""


def asked_in(study: Study, store: Repository) -> Sequence[Asked]:
    """All that was drawn so far.

    Raises
    ------
    BadInput
        If nothing was.
    """
    asked: Sequence[Asked] = (
        PanelRatings(store).assignments() if study.experts.is_panel else store.questions()
    )
    if not asked:
        what = "assignments" if study.experts.is_panel else "questions"
        raise BadInput(f"no {what} yet; draw them with: oversight label route")
    return asked
