"""Open questions of one expert that another is to answer."""

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
    """What became of an expert's open questions.

    Attributes
    ----------
    moved
        Questions that the other expert has now.
    repeats
        How many of these ask what the other expert is asked already, as a colleague's second answer was to.
    kept
        Why some stayed → how many.
    """

    moved: int
    repeats: int
    kept: Mapping[str, int]


def reassign(study: Study, store: Store, giver: str, taker: str, reason: str = "") -> Reassigned:
    """Hand the open questions of one expert to another, who can judge them.

    The questions stay as they were drawn, with their propensities and in the place that they have in the
    running estimate. Whatever lies on a server is to be pulled before, and pushed behind.

    Raises
    ------
    BadInput
        If nothing was drawn yet, or nothing is open, or an expert is to take over from themselves.
    ConfigError
        If the study is a panel, or the other expert is away.
    DataError
        If there is no such expert, or the other one can judge none of the classes asked about.
    """
    if study.experts.is_panel:
        raise ConfigError(
            "a panel's annotators were drawn, and what they choose is compared: nobody can rate in another's "
            "place; what is open stays missing"
        )
    roster = read_present(study, store)
    other = roster.find(taker)
    if not is_erased(giver):
        roster.find(giver)
    if giver == taker:
        raise BadInput(f"{giver!r} cannot take over from themselves")
    if other.absent or other.away:
        raise ConfigError(f"{taker!r} is away; they are back with: oversight experts return {taker!r}")
    drawn = {q.id: q.expert for q in store.content.read_questions()}
    drawn |= store.controls.read_experts()
    asked = [q for q in read_pending(study, store) if isinstance(q, Question)]
    answered = store.replies(panel=False).find_values([q.id for q in asked if q.expert == giver])
    left = [q for q in asked if q.expert == giver and q.id not in answered]
    if not left:
        raise BadInput(
            f"no question of {giver!r} is open; that none is to be put to them from now on is noted by: "
            f"oversight experts absent {shlex.quote(giver)}"
        )
    items = store.read_shown_items()
    able = [q for q in left if other.judges(_name_class(q, items))]
    if not able:
        names = ", ".join(sorted({_name_class(q, items) for q in left}))
        told = f"expert {taker!r} judges none of the classes that {giver!r} is asked about: {names}"
        raise roster.error("classes", f"{told}; add one if they can")
    met = {(q.item_id, q.option) for q in asked if q.expert == taker}
    about = {item for item, _ in met}
    free = [q for q in able if q.item_id not in about or (q.item_id, q.option) in met]
    if free:
        store.handovers.hand_over([(q.id, drawn[q.id], taker) for q in free], reason)
    kept = {
        f"{taker} does not judge the class": len(left) - len(able),
        f"{taker} is asked about another option of the same item": len(able) - len(free),
    }
    repeats = sum((q.item_id, q.option) in met for q in free)
    return Reassigned(moved=len(free), repeats=repeats, kept={why: n for why, n in kept.items() if n})


def _name_class(question: Question, items: Mapping[str, Item]) -> str:
    item = items[question.item_id]
    return item.meta["field"] if item.is_statement else item.options[question.option]
