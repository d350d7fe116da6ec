"""Decode answers into labels, and state the assumptions of uniformly drawn options."""

from __future__ import annotations

from collections.abc import Iterable

from oversight.harness.argument_checks import check_records
from oversight.harness.errors import BadInput
from oversight.harness.output import did_you_mean
from oversight.harness.registry import PROTOCOLS, state_protocols
from oversight.harness.types import Answer, Label, LabelDesign, LabelKind, Labels, Question, Verdict

UNIFORM_ASSUMPTIONS = (
    "the asked option was drawn uniformly, without a look at the predictions",
    "experts answer without error",
    "labelled items are a random sample of the items meant; missing answers are unrelated to the truth",
    "no model has seen the experts' answers",
)
UNIFORM_CHECKS = (
    "asked_predicted",
    "yes_rate",
    "hausman",
    "asked_options",
    "yes_rate_by_expert",
    "agreement",
    "seen_answers",
    "abstention",
    "readability",
    "small_strata",
)
"""Names of the checks that apply to uniformly drawn options."""


_KIND = {
    Verdict.YES: LabelKind.ORDINARY,
    Verdict.NO: LabelKind.COMPLEMENTARY,
    Verdict.UNSURE: LabelKind.ABSTAINED,
    Verdict.SKIP: LabelKind.ABSTAINED,
}


def decode(answers: Iterable[Answer], questions: Iterable[Question] | None = None) -> Labels:
    """Decode answers into labels: yes → ordinary, no → complementary, unsure or skip → abstained.

    Parameters
    ----------
    answers
        Experts' answers, at most one per question.
    questions
        All questions of the study, answered or not; by default the answered ones. While answers are missing,
        estimates from non-uniformly drawn options need all questions.

    Raises
    ------
    BadInput
        If an expert answered another expert's question, a question has two answers, or a protocol, verdict or
        propensity is invalid; the message names the question.

    Examples
    --------
    >>> import oversight as ov
    >>> question = ov.Question("00ab", "q1", 0, "ann", 4, "partitioned", 0.25, seed=7)
    >>> labels = decode([ov.Answer(question, "ann", ov.Verdict.NO, "test")])
    >>> print(f"q1 is {labels[0].kind}: not option {labels[0].option}")
    q1 is complementary: not option 0
    """
    check_records("answers", answers := list(answers), Answer)
    labels: dict[str, Label] = {}
    answered = []
    for answer in answers:
        question = answer.question
        _check_answer(answer)
        if answer.expert != question.expert:
            raise BadInput(
                f"question {question.id!r} was put to {question.expert!r}, but {answer.expert!r} answered"
            )
        if question.id in labels:
            raise BadInput(f"question {question.id!r} has two answers")
        answered.append(question)
        labels[question.id] = Label(
            item_id=question.item_id,
            option=question.option,
            kind=_KIND[answer.verdict],
            n_options=question.n_options,
            propensity=question.propensity,
            expert=question.expert,
            propensities=question.propensities,
        )
    return Labels(labels.values(), make_design(answered if questions is None else questions))


def _check_answer(answer: Answer) -> None:
    """Refuse an unknown protocol or verdict, and a propensity outside (0, 1]."""
    question, told = answer.question, ""
    if question.protocol not in PROTOCOLS:
        told = f"unknown protocol {question.protocol!r}{did_you_mean(question.protocol, PROTOCOLS)}"
    elif answer.verdict not in _KIND:
        told = f"the verdict must be a Verdict, is {answer.verdict!r}"
    elif not 0 < question.propensity <= 1 + 1e-9:
        told = f"propensity must lie in (0, 1], is {question.propensity}"
    elif question.propensities and len(question.propensities) != question.n_options:
        told = f"there are {len(question.propensities)} propensities for {question.n_options} options"
    if told:
        raise BadInput(f"question {question.id!r}: {told}")


def make_design(questions: Iterable[Question]) -> LabelDesign:
    """Make the labels' design: the statements of the questions' protocols, and the items asked about.

    Questions of an unregistered protocol have no statement, so their labels are treated as a plain list.
    """
    drawn = list(questions)
    return LabelDesign(
        statements=state_protocols(q.protocol for q in drawn),
        asked=frozenset(q.item_id for q in drawn),
        drawn=tuple(drawn),
    )
