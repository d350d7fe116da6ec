"""Reassign open questions of one expert to another."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass

from oversight.harness import BadInput, ConfigError
from oversight.harness.config import Study
from oversight.harness.store import Store
from oversight.harness.types import Item, Question, is_erased
from oversight.protocols.routing import read_pending, read_present


@dataclass(frozen=True, slots=True, kw_only=True)
class Reassigned:
    """Result of reassigning an expert's open questions.

    Attributes
    ----------
    moved
        Number of questions given to the new expert.
    repeats
        Number of these questions whose item and option the new expert was already asked about, for example as
        the second expert.
    kept
        Reason → number of questions that were not reassigned for this reason.
    """

    moved: int
    repeats: int
    kept: Mapping[str, int]


def reassign(study: Study, store: Store, giver: str, taker: str, reason: str = "") -> Reassigned:
    """Reassign the open questions of one expert to another who can judge them.

    The questions keep their propensities and their place in the running estimate. If they are on a Label
    Studio server, the caller must pull before this call and push after it.

    Raises
    ------
    BadInput
        If `giver` has no open question, or `giver` and `taker` are the same expert.
    ConfigError
        If the study is a panel, or `taker` is away.
    DataError
        If an expert does not exist, or `taker` can judge none of the classes asked about.
    """
    if study.experts.is_panel:
        raise ConfigError(
            "a panel's annotators were drawn and are compared with each other, so nobody can rate for "
            "another annotator; open ratings stay missing"
        )
    roster = read_present(study, store)
    other = roster.find_expert(taker)
    if not is_erased(giver):
        roster.find_expert(giver)
    if giver == taker:
        raise BadInput(f"{giver!r} cannot take over their own questions")
    if other.absent or other.away:
        raise ConfigError(f"{taker!r} is away; end the absence with: oversight experts return {taker!r}")
    drawn = {q.id: q.expert for q in store.content.read_questions()}
    drawn |= store.controls.read_experts()
    asked = [q for q in read_pending(study, store) if isinstance(q, Question)]
    answered = store.replies(panel=False).find_values([q.id for q in asked if q.expert == giver])
    left = [q for q in asked if q.expert == giver and q.id not in answered]
    if not left:
        raise BadInput(
            f"no question of {giver!r} is open; to ask this expert no further questions, use: "
            f"oversight experts absent {shlex.quote(giver)}"
        )
    items = store.read_shown_items()
    able = [q for q in left if other.judges(_name_class(q, items))]
    if not able:
        names = ", ".join(sorted({_name_class(q, items) for q in left}))
        told = f"expert {taker!r} judges none of the classes that {giver!r} is asked about: {names}"
        raise roster.error("classes", f"{told}; add a class to the roster if they can judge it")
    met = {(q.item_id, q.option) for q in asked if q.expert == taker}
    about = {item for item, _ in met}
    free = [q for q in able if q.item_id not in about or (q.item_id, q.option) in met]
    if free:
        store.people.hand_over([(q.id, drawn[q.id], taker) for q in free], reason)
    kept = {
        f"{taker} does not judge the class": len(left) - len(able),
        f"{taker} is asked about another option of the same item": len(able) - len(free),
    }
    repeats = sum((q.item_id, q.option) in met for q in free)
    return Reassigned(moved=len(free), repeats=repeats, kept={why: n for why, n in kept.items() if n})


def _name_class(question: Question, items: Mapping[str, Item]) -> str:
    item = items[question.item_id]
    return item.meta["field"] if item.is_statement else item.options[question.option]
