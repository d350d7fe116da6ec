"""The routing protocol that a study names, made ready with what it looks at."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.errors import BadInput, ConfigError
from harness.types import PredictionStatus
from protocols.partitioned import Partitioned
from protocols.sequential import Sequential
from protocols.targeted import Targeted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from harness.config import Study
    from harness.store.repository import Repository
    from harness.types import Answer, Item, Question
    from protocols.experts import Roster

    Plan = Partitioned | Sequential | Targeted


def plan_of(study: Study, store: Repository, roster: Roster) -> Plan:
    """Make the protocol; targeted and sequential look at the newest run of every model.

    Raises
    ------
    BadInput
        If the protocol looks at predictions and there are none.
    """
    section, seed = study.experts, study.study.seed
    if section.protocol == "partitioned":
        return Partitioned(roster, seed, section.options_per_item)
    newest = {run["name"]: run["id"] for run in store.runs()}
    if not newest:
        raise BadInput(f"the {section.protocol} protocol asks about predictions; first: oversight run")
    predictions = {
        name: {p.item_id: p.option for p in store.predictions(run) if p.status is not PredictionStatus.FAILED}
        for name, run in newest.items()
    }
    return (
        Targeted(roster, predictions, seed)
        if section.protocol == "targeted"
        else Sequential(roster, predictions, seed)
    )


def refuse_other_rule(stored: Sequence[Question], plan: Plan, items: Sequence[Item]) -> None:
    """Refuse a second draw over the first: propensities would be wrong, and looks could be chosen.

    Raises
    ------
    ConfigError
        If questions were routed with another protocol, seed or propensity.
    """
    if not stored:
        return
    expected = {q.id: q.propensity for q in plan.route(items)} if isinstance(plan, Targeted) else {}
    ids = {item.id for item in items}
    for question in stored:
        propensity = 1.0
        if isinstance(plan, Partitioned):
            propensity = min(plan.options_per_item, question.n_options) / question.n_options
        elif isinstance(plan, Targeted):
            # A question that would not be drawn again rests on other predictions.
            propensity = expected.get(question.id, 0.0) if question.item_id in ids else question.propensity
        same = (question.seed, question.protocol) == (plan.seed, plan.name)
        if not same or abs(question.propensity - propensity) > 1e-12:
            raise ConfigError(
                f"questions were routed by the rule {question.protocol!r} with seed {question.seed} and "
                f"propensity {question.propensity:.3g}; protocol, seed, options_per_item and the predictions "
                "looked at cannot change once questions are drawn: start a new study"
            )


def next_questions(plan: Plan, items: Sequence[Item], answers: Sequence[Answer]) -> list[Question]:
    """Give the questions of a plan; the sequential protocol's follow from the answers so far."""
    return plan.next_questions(items, answers) if isinstance(plan, Sequential) else plan.route(items)
