"""Create the routing rule that a study names, and read the questions that the rule has drawn.

A rule draws yes/no questions or, in a panel, questions in which annotators choose among all options.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields, replace
from itertools import chain
from operator import attrgetter
from typing import Any

from oversight.harness import BadInput, ConfigError, derive_seed, load_protocol
from oversight.harness.config import Study
from oversight.harness.store import Store, split_into_batches
from oversight.harness.types import SECOND_QUESTIONS, Assignment, Item, PredictionStatus, Question
from oversight.protocols.routing.draw_information import read_judge_probabilities
from oversight.protocols.routing.item_draw import keep_drawn_items
from oversight.protocols.routing.panel_draw import RandomPanel
from oversight.protocols.routing.partitioned import FreeExperts, Partitioned
from oversight.protocols.routing.roster import Roster, read_roster
from oversight.protocols.routing.routing_protocol import (
    Predictions,
    QuestionFields,
)
from oversight.protocols.routing.sealed_ids import plain_id, seal_fields


def order_queue(asked: Iterable[Pending]) -> list[Pending]:
    """Sort a person's questions into the order of asking.

    Questions are sorted by their stored places. Entries without a place, such as a panel's assignments, come
    first, sorted by a hash.
    """
    return sorted(asked, key=_turn)


def _turn(asked: Pending) -> tuple[int, int, str]:
    place = asked.place if isinstance(asked, Question) else None
    if place is None:
        return 0, derive_seed(asked.seed, "order", asked.expert, asked.id), asked.id
    return 1, place, asked.id


Pending = Question | Assignment
"""A question or an assignment; both have an id, item, expert and seed, which queues and tasks need."""
_fields_of = attrgetter(*(field.name for field in fields(Question)))


def routing_rule_of(study: Study, store: Store, roster: Roster) -> Any:
    """Create the protocol that a study names, with the predictions that the protocol uses.

    Raises
    ------
    BadInput
        If the protocol uses predictions, but there are none.
    """
    predictions: Predictions = {}
    if "predictions" in study.experts.statement.needs:
        # Import this here, because the module loads all estimates.
        from oversight.harness.analysis import find_newest_runs

        chosen = find_newest_runs(store, study.experts.models or None, study.judges)
        if chosen.left_out:
            raise BadInput(
                f"{chosen.left_out[0]}; run it, or name only the other models: models = [...] under [experts]"
            )
        predictions = {
            run["name"]: {
                p.item_id: p.option
                for p in store.runs.read_predictions(run["id"])
                if p.status is not PredictionStatus.FAILED
            }
            for run in chosen.runs
        }
    rule = load_protocol(study.experts.protocol).from_study(study, roster, predictions)
    known = read_judge_probabilities(study, store) if hasattr(rule, "judge_probabilities") else {}
    return replace(rule, judge_probabilities=known) if known else rule


def next_questions(study: Study, store: Store, roster: Roster, items: Sequence[Item]) -> list[Question]:
    """Return a study's questions; in a sequential protocol, they depend on the answers so far.

    Raises the errors of `draw_questions`.
    """
    drawn = draw_questions(study, store, roster, split_into_batches(items))
    return [Question(*fields) for portion in drawn for fields in portion]


def draw_questions(
    study: Study, store: Store, roster: Roster, items: Iterable[list[Item]]
) -> Iterator[Sequence[QuestionFields]]:
    """Draw the questions about all items, given in portions.

    The rule "partitioned" draws one portion at a time; other rules need all items at once.

    If the study draws items from a pool, items that were not drawn are skipped. Ids are sealed with the
    study's key, which is created before the first draw.

    Raises
    ------
    BadInput
        If the protocol uses predictions and there are none, or nobody can be asked.
    ConfigError
        If another rule drew questions before.
    """
    plan = routing_rule_of(study, store, roster)
    items, key = keep_drawn_items(store, items), store.controls.ensure_key()
    if plan.statement.asks_on:
        asked = plan.next_questions(list(chain.from_iterable(items)), store.content.read_answers())
        yield seal_fields(key, list(map(_fields_of, asked)))
        return
    # A second draw would invalidate the propensities, and allow choosing between draws.
    other, is_first = store.content.find_other_rule(plan.name), not store.content.has_questions()
    if not isinstance(plan, Partitioned):
        drawn = seal_fields(key, list(map(_fields_of, plan.route(list(chain.from_iterable(items))))))
        _refuse_other_draw(plan.name, drawn, store.content.read_questions(second=False))
        yield drawn
        return
    free = FreeExperts(roster)
    for portion in items:
        drawn = seal_fields(key, plan.route_portion(portion, free))
        if other or not is_first:
            stored = [other] if other else store.content.read_questions_about(portion)
            _refuse_other_draw(plan.name, drawn, stored)
        yield drawn


def _refuse_other_draw(protocol: str, drawn: Sequence[QuestionFields], stored: Sequence[Question]) -> None:
    redrawn = {item for _, item, *_ in drawn}
    same = {(name, propensity, each) for name, *_, propensity, _, each, _ in drawn}
    for question in stored:
        if question.protocol == SECOND_QUESTIONS:
            continue
        if question.protocol != protocol or (
            question.item_id in redrawn
            and (question.id, question.propensity, question.propensities) not in same
        ):
            raise ConfigError(
                f"questions were drawn before by {question.protocol!r} with seed {question.seed} and "
                f"propensity {question.propensity:.3g}; protocol, seed, options_per_item, models, "
                "judges and items asked about cannot change once questions are drawn: start a new study"
            )


def panel_rule_of(study: Study, roster: Roster) -> RandomPanel:
    """Create the rule that assigns items to annotators.

    Raises
    ------
    DataError
        If too few experts with ``classes = ["*"]`` are present.
    """
    rule: type[RandomPanel] = load_protocol(study.experts.protocol)
    try:
        return rule.from_roster(roster, study.experts.annotators_per_item, seed=study.study.seed)
    except BadInput as error:
        annotators = 'annotators are those present with classes = ["*"]'
        raise roster.error("classes", f"{error}; {annotators}") from None


def next_assignments(
    plan: RandomPanel, items: Sequence[Item], stored: Sequence[Assignment], roster: Roster
) -> list[Assignment]:
    """Draw all assignments of a panel, and check that they include the stored ones.

    Raises
    ------
    DataError
        If an annotator would get more items than their capacity. No other annotator is drawn instead, because
        that would change the propensities.
    ConfigError
        If the annotators, the seed or the rule changed since the stored assignments were drawn. Balanced
        blocks are all drawn at once, so changed items raise this error too.
    """
    drawn = plan.route(items)
    same = {(a.id, a.propensity) for a in drawn}
    for old in stored:
        if (old.id, old.propensity) not in same:
            raise ConfigError(
                f"the item {old.item_id!r} was assigned to {old.annotator!r} before, by {old.protocol!r} "
                f"with seed {old.seed}; protocol, seed, annotators and annotators_per_item cannot change "
                'once items are assigned, and only the protocol "panel-random" can add items: start a new '
                "study"
            )
    loads = Counter(a.annotator for a in drawn)
    for expert in roster.experts:
        if expert.capacity is not None and loads[expert.name] > expert.capacity:
            load = f"{loads[expert.name]} items, but the capacity is {expert.capacity}"
            mend = "raise it, add annotators or rate fewer items"
            raise roster.error("capacity", f"expert {expert.name!r} would rate {load}; {mend}")
    return drawn


def check_drawn(study: Study, store: Store) -> None:
    """Raise BadInput if no question of the study's kind was drawn yet."""
    panel = study.experts.is_panel
    if not (store.panel.has_assignments() if panel else store.content.has_questions()):
        what = "assignments" if panel else "questions"
        raise BadInput(f"no {what} yet; draw them with: oversight label route")


def read_present(study: Study, store: Store) -> Roster:
    """Return a study's roster, in which the experts who are away today are marked."""
    away = store.people.read_absences()
    roster = read_roster(study.path(study.experts.roster))
    return roster.without({name: found.is_for_good for name, found in away.items()})


def read_pending(study: Study, store: Store) -> Sequence[Pending]:
    """Return all questions or assignments drawn so far, including control questions.

    A reassigned question belongs to its new expert.

    Raises
    ------
    BadInput
        If nothing was drawn.
    """
    check_drawn(study, store)
    if study.experts.is_panel:
        return store.panel.read_assignments()
    # Sort by the unsealed id, so that the order does not depend on the study's key.
    controls = sorted((c.question for c in store.controls.read_controls()), key=plain_id)
    asked = [*store.content.read_questions(), *controls]
    handed = store.people.read_handovers()
    return (
        [replace(q, expert=handed[q.id].taker) if q.id in handed else q for q in asked] if handed else asked
    )
