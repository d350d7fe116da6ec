"""Find the annotation of a task that is its answer, and the reasons why other annotations do not count.

The Community edition has no roles: anybody with an account can answer anybody's tasks, and can name any user
as the author. Only the editor is set by the server itself. So an answer counts only if the asked expert is
both its author and its last editor.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from oversight.harness.store import Revision, hash_annotation
from oversight.harness.types import Item, Question, Verdict
from oversight.protocols.collect.label_studio.labelling_page import CHOICE, COMMENT, VERDICTS
from oversight.protocols.routing import Pending


class Reason(StrEnum):
    """Why an annotation does not count."""

    FOREIGN = "answered by another user"
    EDITED = "written or changed by another user in the expert's name"
    INVALID = "not one of the values offered"
    DUPLICATE = "second answer, same as the first"
    CONTRADICTION = "several answers that differ"
    UNKNOWN_TASK = "a task that was never pushed"
    ALTERED_TASK = "the task's text was changed on the server"
    ELSEWHERE = "the question has an answer from elsewhere"
    PRELABELLED = "answered while the task showed somebody's prediction"
    MOVED = "an answer to another question, moved to this one on the server"


ASKED_AGAIN = (
    Reason.EDITED,
    Reason.INVALID,
    Reason.CONTRADICTION,
    Reason.ALTERED_TASK,
    Reason.PRELABELLED,
    Reason.MOVED,
)
"""Reasons for which a question is sent again: it is still open, but its expert sees it as answered."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """The answer to a task, if there is one, and the annotations that do not count.

    Attributes
    ----------
    value
        The answer in its stored form: a verdict or a label (empty if skipped); None if no annotation counts.
    annotation
        The annotation with the answer.
    rejected
        The annotations that do not count, each with reason and detail.
    """

    value: str | None = None
    comment: str = ""
    annotation: Revision | None = None
    rejected: tuple[tuple[Revision, Reason, str], ...] = ()


def read_annotation(row: Mapping[str, Any], expert: str, task_id: int, question_id: str | None) -> Revision:
    """Read an annotation from the server or an export; `expert` is the asked person."""
    author, editor = _user(row.get("completed_by")), _user(row.get("updated_by"))
    cancelled, result = bool(row.get("was_cancelled")), list(row.get("result") or ())
    updated_at = str(row.get("updated_at") or "")
    return Revision(
        expert=expert,
        annotation_id=int(row["id"]),
        version=hash_annotation(author, editor, cancelled, result, updated_at),
        task_id=task_id,
        question_id=question_id,
        deleted=False,
        author=author,
        editor=editor,
        cancelled=cancelled,
        result=result,
        updated_at=updated_at,
        seconds=_read_seconds(row.get("lead_time")),
    )


def adjudicate(annotations: Sequence[Revision], expert: int | None, asked: Pending, item: Item) -> Judgement:
    """Judge all annotations of one task, and find its answer.

    Parameters
    ----------
    annotations
        All annotations of the task on the server.
    expert
        User id of the asked expert; None if they have no account.
    asked, item
        The question and its item, which determine the allowed answers.

    Returns
    -------
    Judgement
        A skip counts as an answer only if there is no other answer. Equal answers count once. If answers
        differ, none of them counts.
    """
    if isinstance(asked, Question):
        values = Verdict if item.is_statement else VERDICTS
        offered, skipped = {v.value: v.value for v in values}, Verdict.SKIP.value
    else:
        offered, skipped = {str(j): option for j, option in enumerate(item.options)}, ""
    rejected: list[tuple[Revision, Reason, str]] = []
    answers: list[tuple[Revision, str, str]] = []
    skips: list[Revision] = []
    for annotation in sorted(annotations, key=lambda a: a.annotation_id):
        if expert is None or annotation.author != expert:
            rejected.append((annotation, Reason.FOREIGN, f"user {annotation.author}"))
        elif annotation.editor != expert:
            rejected.append((annotation, Reason.EDITED, f"user {annotation.editor}"))
        elif annotation.cancelled:
            skips.append(annotation)
        else:
            try:
                answers.append((annotation, *read_result(annotation.result, tuple(offered))))
            except ValueError as error:
                rejected.append((annotation, Reason.INVALID, str(error)))
    if len({value for _, value, _ in answers}) > 1:
        told = " and ".join(dict.fromkeys(value for _, value, _ in answers))
        rejected += [(annotation, Reason.CONTRADICTION, told) for annotation, _, _ in answers]
        found = Judgement()
    elif answers:
        annotation, value, comment = answers[0]
        rejected += [(again, Reason.DUPLICATE, v) for again, v, _ in answers[1:]]
        found = Judgement(value=offered[value], comment=comment, annotation=annotation)
    else:
        found = Judgement(value=skipped, annotation=skips[0]) if skips else Judgement()
    return replace(found, rejected=tuple(rejected))


def read_result(result: Sequence[Any], offered: Sequence[str]) -> tuple[str, str]:
    """Return value and comment of an annotation's result, which the server does not check.

    Raises
    ------
    ValueError
        If the result is malformed.
    """
    values, comments = list[object](), list[str]()
    for region in result:
        about = region if isinstance(region, dict) else {}
        name, said = about.get("from_name"), about.get("value")
        part = said if isinstance(said, dict) else {}
        if name == CHOICE and isinstance(part.get("choices"), list):
            values += part["choices"]
        elif name == COMMENT and isinstance(part.get("text"), list | str):
            comments += [part["text"]] if isinstance(part["text"], str) else map(str, part["text"])
        else:
            raise ValueError(f"a part called {name!r}"[:80])
    if len(values) != 1:
        raise ValueError(f"{len(values)} values")
    if values[0] not in offered:
        raise ValueError(f"the value {values[0]!r}"[:80])
    return str(values[0]), "\n".join(comments)


def _user(value: object) -> int | None:
    """Return a user's id, given the id or, as in Label Studio's exports, an object that contains it."""
    if isinstance(value, Mapping):
        value = value.get("id")
    return value if isinstance(value, int) else None


def _read_seconds(told: object) -> float | None:
    """Return the time that a browser reported; None if the time is impossible."""
    seconds = math.nan if told is None else float(str(told))
    return seconds if 0 <= seconds < math.inf else None
