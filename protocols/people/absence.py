"""Record temporary and permanent absences of experts."""

from __future__ import annotations

from datetime import UTC, date, datetime

from oversight.harness import BadInput
from oversight.harness.config import Study
from oversight.harness.store import Absence, Store
from oversight.protocols.routing import read_roster


def note_absence(study: Study, store: Store, expert: str, until: str = "", reason: str = "") -> Absence:
    """Record that an expert is absent from today on.

    Parameters
    ----------
    until
        Last day of the absence in ISO 8601; empty if no return is expected.

    Raises
    ------
    BadInput
        If the day is malformed or in the past.
    DataError
        If the expert does not exist.
    """
    read_roster(study.path(study.experts.roster)).find_expert(expert)
    today = datetime.now(UTC).date()
    if until:
        try:
            last = date.fromisoformat(until)
        except ValueError:
            raise BadInput(f"--until must be a day such as 2026-12-24, is {until!r}") from None
        if last < today:
            raise BadInput(f"--until {until} is in the past; today is {today}")
    absence = Absence(expert, today.isoformat(), until, reason)
    store.people.add_absence(absence)
    return absence


def end_absence(study: Study, store: Store, expert: str) -> bool:
    """Record that an expert is back. Returns whether they had been absent.

    Raises
    ------
    DataError
        If the expert does not exist, or the roster itself says that they are absent.
    """
    roster = read_roster(study.path(study.experts.roster))
    if roster.find_expert(expert).absent:
        raise roster.error("absent", f"expert {expert!r} is absent in the roster itself; change it there")
    return store.people.end_absence(expert)
