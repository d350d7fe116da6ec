"""Which units of which answers experts are asked about, with recorded chances."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from oversight.harness.arrays import FloatArray, IntArray
from oversight.harness.open_answers.units import Judgements, ObjectArray, UnitTable

SCHEMES = ("equal", "judge", "first no")


@dataclass(frozen=True, slots=True, kw_only=True)
class Draw:
    """Questions to ask; one row per question and expert in line for it. Columns have shape (Q,).

    Attributes
    ----------
    question
        Number of the question, as in `UnitTable`.
    row
        Row of the unit table whose answer and unit are shown.
    answer, unit
        Ids of these.
    propensity, order
        As in `Judgements`.
    expert
        Whom to ask.
    attempt
        1 for who is asked first. Who has a higher number is asked if all before said "not my field".
    """

    question: IntArray
    row: IntArray
    answer: ObjectArray
    unit: ObjectArray
    propensity: FloatArray
    order: IntArray
    expert: ObjectArray
    attempt: IntArray

    def __len__(self) -> int:
        return len(self.question)


def draw_questions(
    table: UnitTable,
    n: int,
    scheme: str,
    seed: int,
    *,
    experts: Mapping[str, str],
    uncertainty: FloatArray | None = None,
    attempts: int | None = None,
    judge: FloatArray | None = None,
) -> Draw:
    """Draw about n questions.

    Parameters
    ----------
    table
        Every unit of every answer.
    n
        Number of questions. For "first no": most questions, if no unit is refused.
    scheme
        "equal": as many questions per answer; "judge": more where the judge is unsure; "first no": whole
        answers, each until its first "no".
    experts
        Expert → field.
    judge
        Shape (R,): a judge's probability that the reply is "yes". "judge" needs it; "first no" puts the
        units most likely to be errors first if it is given, else in random order.
    attempts
        How many experts, each of another field, are in line for a unit of unknown field; default all.
    """
    raise NotImplementedError


def join_replies(
    table: UnitTable,
    drawn: Draw,
    replies: Mapping[tuple[int, str], str | None] | Sequence[str | None],
    *,
    gold: ObjectArray | None = None,
) -> Judgements:
    """Put replies beside the units of every answer that they settle.

    Parameters
    ----------
    replies
        (question, expert) → reply, for the questions that were put; or shape (Q,): replies by row of `drawn`
        with "" for what was not put to the expert.
    """
    raise NotImplementedError
