"""Seal the ids of questions with the study's secret key, and derive places in the queue from the sealed ids.

A question's plain id can be computed from the study's seed, which others may know. The sealed id is a hash of
the plain id with the secret key in the study's database. Experts see only the sealed id and the place in the
queue, so nobody who knows only the seed can compute which questions are control questions. Panels have no
control questions, so the ids of their assignments are not sealed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from oversight.harness.store import ControlKind
from oversight.harness.types import Question, control_id, draw_place, question_id, seal_ids
from oversight.protocols.routing.routing_protocol import QuestionFields

_CONTROLS = frozenset(kind.value for kind in ControlKind)


def seal_fields(key: bytes, drawn: Sequence[QuestionFields]) -> Sequence[QuestionFields]:
    """Seal the ids of questions, given as tuples of fields, and derive their places in the queue."""
    if not key:
        return drawn
    ids = seal_ids(key, [fields[0] for fields in drawn])
    return [(name, *fields[1:-1], draw_place(name)) for name, fields in zip(ids, drawn, strict=True)]


def seal_questions(key: bytes, drawn: Sequence[Question]) -> list[Question]:
    """Seal the ids of questions as `seal_fields` does."""
    ids = seal_ids(key, [question.id for question in drawn])
    if not key:
        return list(drawn)
    return [replace(q, id=name, place=draw_place(name)) for name, q in zip(ids, drawn, strict=True)]


def plain_id(question: Question) -> str:
    """Return the id that a question had before sealing; draws that depend only on the seed use it."""
    if question.protocol in _CONTROLS:
        return control_id(
            question.protocol, question.seed, question.item_id, question.option, question.expert
        )
    return question_id(question.protocol, question.seed, question.item_id, question.option)
