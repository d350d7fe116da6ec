"""Small studies of open answers for tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from oversight.harness.open_answers import Frame, Judgements, UnitTable, draw_questions, join_replies
from oversight.harness.store import StoredAnswer, StoredUnit

EXPERTS = {"ann": "law", "bob": "physics", "cy": "biology"}


def rubric_table(
    points: Sequence[Sequence[float]], models: Sequence[str] = ("m",), field: str | None = "law"
) -> UnitTable:
    """A table of items with a rubric each; no two answers read the same."""
    units = [
        StoredUnit(f"i{i}c{j}", f"i{i}", "", j, f"criterion {j}", p, field, "rubric")
        for i, rubric in enumerate(points)
        for j, p in enumerate(rubric)
    ]
    answers = [
        StoredAnswer(f"i{i}", model, f"{model}{i}", f"{model} says {i}")
        for i in range(len(points))
        for model in models
    ]
    return Frame(answers=answers, units=units).table


def judge_all(table: UnitTable, replies: Mapping[tuple[str, str], str | None]) -> Judgements:
    """Judgements of every unit by (answer, unit) → reply; "yes" for what is not named."""
    drawn = draw_questions(table, 10**6, "equal", 1, experts=EXPERTS, attempts=1)
    said: list[Any] = [
        replies.get(pair, "yes") for pair in zip(drawn.answer.tolist(), drawn.unit.tolist(), strict=True)
    ]
    return join_replies(table, drawn, said)


def objects(*values: Any) -> Any:
    """A column of any values."""
    column = np.empty(len(values), dtype=object)
    column[:] = values
    return column
