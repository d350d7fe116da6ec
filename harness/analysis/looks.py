"""Planned looks at a study: a look counts as planned only where the answers in agree with the plan.

The level of look J of L supposes that about J/L of the answers are in, that L was fixed beforehand, and
that no look is taken twice with other answers.
"""

from __future__ import annotations

from dataclasses import asdict

from oversight.harness.config import Study
from oversight.harness.errors import BadInput
from oversight.harness.store import AuditEvent, PlannedLook, Store

FARTHEST = 0.1
"""How far the share of questions answered may be from J/L."""


def check_look(study: Study, store: Store, look: PlannedLook) -> None:
    """Refuse a look that is not the next one of the plan.

    Raises
    ------
    BadInput
        If the study plans another number, the share of the drawn questions answered does not fit, or looks
        taken before contradict it.
    """
    name = f"--look {look.look}/{look.looks}"
    if study.estimate.looks not in (None, look.looks):
        raise BadInput(f"{name}: study.toml plans {study.estimate.looks} looks, in [estimate]")
    share, planned = look.answered / look.drawn if look.drawn else 0.0, look.look / look.looks
    if abs(share - planned) > FARTHEST + 1e-9:
        raise BadInput(
            f"{name}: {look.answered} of {look.drawn} drawn questions ({share:.0%}) are answered, and this "
            f"look is planned at {planned:.0%}; they may differ by {100 * FARTHEST:.0f} points at most"
        )
    before = store.looks.read_looks()
    for taken in before:
        if taken.looks != look.looks:
            raise BadInput(
                f"{name}: look {taken.look} was taken as one of {taken.looks} planned ones; their number "
                "cannot change once one was taken"
            )
    if before and before[-1].look > look.look:
        raise BadInput(f"{name}: look {before[-1].look} of {look.looks} was taken already; looks go forward")
    if before and before[-1].look == look.look and before[-1].answered != look.answered:
        more = look.look < look.looks
        raise BadInput(
            f"{name}: this look was taken with {before[-1].answered} answers, {look.answered} are in now; "
            f"{f'the next one is {look.look + 1}/{look.looks}' if more else 'it was the last'}"
        )


def note_look(store: Store, look: PlannedLook) -> None:
    """Note that a look was taken, in the audit trail, too; again it is the same look."""
    store.looks.add_look(look)
    detail = asdict(look)
    store.audit.append([AuditEvent(kind="look", way="command", key=f"look {look.look}", detail=detail)])
