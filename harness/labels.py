"""Answers become labels."""

from __future__ import annotations

from collections.abc import Iterable

from harness.errors import BadInput
from harness.types import Answer, Label, LabelKind, Verdict

_KIND = {
    Verdict.YES: LabelKind.ORDINARY,
    Verdict.NO: LabelKind.COMPLEMENTARY,
    Verdict.UNSURE: LabelKind.ABSTAINED,
    Verdict.SKIP: LabelKind.ABSTAINED,
}


def decode(answers: Iterable[Answer]) -> list[Label]:
    """Turn answers into labels: yes → ordinary, no → complementary, unsure or skip → abstained.

    Raises
    ------
    BadInput
        If somebody answered another expert's question, or a question has two answers.
    """
    labels: dict[str, Label] = {}
    for answer in answers:
        question = answer.question
        if answer.expert != question.expert:
            raise BadInput(
                f"question {question.id!r} was put to {question.expert!r}, but {answer.expert!r} answered"
            )
        if question.id in labels:
            raise BadInput(f"question {question.id!r} has two answers")
        labels[question.id] = Label(
            item_id=question.item_id,
            option=question.option,
            kind=_KIND[answer.verdict],
            n_options=question.n_options,
            propensity=question.propensity,
            expert=question.expert,
            propensities=question.propensities,
        )
    return list(labels.values())
