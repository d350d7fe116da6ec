"""Which annotation is the answer: every case by itself, and any mixture."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oversight.harness.store import Revision
from oversight.harness.types import Item, Question
from oversight.protocols.collect.label_studio.adjudication import (
    Reason,
    adjudicate,
    read_annotation,
    read_result,
)

ANA, EVE = 5, 9
OFFERED = ("yes", "no", "unsure")
ITEM = Item("i", "text", ("a", "b"), (0, 1))
QUESTION = Question("q", "i", 0, "ana", 2, "partitioned", 0.5, 1)


def said(
    verdict: object, number: int = 1, author: int | None = ANA, editor: int | None = ANA, **more: Any
) -> Revision:
    result = [{"from_name": "verdict", "value": {"choices": [verdict]}}]
    row = {
        "id": number,
        "completed_by": author,
        "updated_by": editor,
        "was_cancelled": more.get("cancelled", False),
        "result": more.get("result", result),
    }
    return read_annotation(row, "ana", 7, "q")


@pytest.mark.parametrize(
    ("annotations", "value", "reasons"),
    [
        ([], None, []),
        ([said("yes")], "yes", []),
        ([said("unsure")], "unsure", []),
        ([said("", cancelled=True, result=[])], "skip", []),
        ([said("", cancelled=True, result=[]), said("no", 2)], "no", []),
        ([said("yes", author=EVE, editor=EVE)], None, [Reason.FOREIGN]),
        ([said("yes", editor=EVE)], None, [Reason.EDITED]),
        ([said("yes", editor=None)], None, [Reason.EDITED]),
        ([said("yes", author=None, editor=None)], None, [Reason.FOREIGN]),
        ([said("maybe")], None, [Reason.INVALID]),
        ([said("skip")], None, [Reason.INVALID]),
        ([said({"yes": 1})], None, [Reason.INVALID]),
        ([said(None)], None, [Reason.INVALID]),
        ([said("yes", result=["yes"])], None, [Reason.INVALID]),
        ([said("yes", 2), said("yes", 1)], "yes", [Reason.DUPLICATE]),
        ([said("yes", 2), said("no", 1)], None, [Reason.CONTRADICTION] * 2),
        ([said("yes", 2, EVE, EVE), said("no", 1)], "no", [Reason.FOREIGN]),
    ],
)
def test_annotations_are_accepted_or_rejected_with_a_reason(
    annotations: list[Revision], value: str | None, reasons: list[Reason]
) -> None:
    judged = adjudicate(annotations, ANA, QUESTION, ITEM)
    assert judged.value == value
    assert [reason for _, reason, _ in judged.rejected] == reasons


@given(
    st.lists(
        st.builds(
            said,
            st.sampled_from(["yes", "no", "unsure", "maybe", "", None]),
            st.integers(1, 99),
            st.sampled_from([ANA, EVE, None]),
            st.sampled_from([ANA, EVE, None]),
            cancelled=st.booleans(),
        ),
        max_size=6,
        unique_by=lambda a: a.annotation_id,
    ),
    st.sampled_from([ANA, None]),
)
def test_only_the_experts_own_annotation_counts(annotations: list[Revision], expert: int | None) -> None:
    judged = adjudicate(annotations, expert, QUESTION, ITEM)
    rejected = [annotation.annotation_id for annotation, _, _ in judged.rejected]
    assert len(set(rejected)) == len(rejected)
    if judged.annotation is not None:
        assert (judged.annotation.author, judged.annotation.editor) == (expert, expert)
        assert judged.annotation.annotation_id not in rejected
    assert (judged.value is None) == (judged.annotation is None)
    assert {a.annotation_id for a in annotations if a.author != expert or a.editor != expert} <= set(rejected)


def test_comments_are_joined() -> None:
    verdict = {"from_name": "verdict", "value": {"choices": ["no"]}}
    note = {"from_name": "comment", "value": {"text": ["one", "two"]}}
    assert read_result([note, verdict], OFFERED) == ("no", "one\ntwo")
    plain = {"from_name": "comment", "value": {"text": "one"}}
    assert read_result([verdict, plain], OFFERED) == ("no", "one")


def test_users_are_read_in_both_forms() -> None:
    row = {"id": 1, "task": 2, "completed_by": {"id": ANA, "email": "a@b.c"}, "updated_by": ANA}
    read = read_annotation(row, "ana", 2, None)
    assert (read.author, read.editor) == (ANA, ANA)


def test_not_my_field_is_an_answer_about_open_answers() -> None:
    item = Item("i", "text", ("Is this true?",), (0,))
    assert adjudicate([said("skip")], ANA, QUESTION, item).value == "skip"
    assert adjudicate([said("unsure")], ANA, QUESTION, item).value == "unsure"
    assert adjudicate([said("maybe")], ANA, QUESTION, item).value is None
