"""Reminder texts for experts with open questions, based on their own progress."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from oversight.harness import BadInput
from oversight.harness.config import Study
from oversight.harness.output import counted
from oversight.harness.store import Queue, Store
from oversight.protocols.collect import measure_progress
from oversight.protocols.routing import read_roster

_MINUTE = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Reminder:
    """A reminder for one expert.

    Attributes
    ----------
    email
        E-mail address from the roster; empty if the roster has none.
    minutes
        Expected minutes for the open questions, at the expert's own pace; None before the first answer.
    days
        Days until the deadline, negative after it; None without a deadline.
    away
        Last day of the expert's absence, ``"for good"``, or empty if present. Absent experts need no
        reminder.
    url
        Address of the questions on Label Studio; empty if they are not on a server.
    text
        Text of the reminder.
    """

    expert: str
    email: str
    answered: int
    asked: int
    open: int
    minutes: float | None
    days: int | None
    away: str
    url: str
    text: str = ""


def write_reminders(study: Study, store: Store, experts: Collection[str] = ()) -> list[Reminder]:
    """Return reminders for the named experts, or for all with open questions; absent experts come last.

    Raises
    ------
    BadInput
        If no question was drawn yet.
    DataError
        If an expert does not exist.
    """
    roster = read_roster(study.path(study.experts.roster))
    emails = {expert.name: expert.email for expert in roster.experts}
    for name in experts:
        roster.find_expert(name)
    absences, queues = store.people.read_absences(), store.labelling.read_queues()
    deadline, found = study.experts.deadline, list[Reminder]()
    days = None if deadline is None else (deadline - datetime.now(UTC).date()).days
    for name, progress in measure_progress(study, store).items():
        if not progress.open or (experts and name not in experts):
            continue
        minutes = None if progress.seconds_left is None else max(1.0, progress.seconds_left / _MINUTE)
        absence = absences.get(name)
        reminder = Reminder(
            expert=name,
            email=emails.get(name, ""),
            answered=progress.answered,
            asked=progress.asked,
            open=progress.open,
            minutes=minutes,
            days=days,
            away="" if absence is None else absence.until or "for good",
            url=_find_url(queues.get(name)),
        )
        found.append(replace(reminder, text=_write(study, reminder)))
    if experts and not found:
        raise BadInput(f"nothing is open for {', '.join(experts)}")
    return sorted(found, key=lambda reminder: bool(reminder.away))


def _find_url(queue: Queue | None) -> str:
    if queue is None or queue.closed or queue.project_id is None:
        return ""
    return f"{queue.server}/projects/{queue.project_id}/data?labeling=1"


def _write(study: Study, told: Reminder) -> str:
    done, days = f"{told.answered} of {counted(told.asked, 'question')}", told.days
    text = f"{told.expert}: you have answered {done} of “{study.study.name}”. {told.open} "
    text += "is left" if told.open == 1 else "are left"
    text += "." if told.minutes is None else f", about {counted(round(told.minutes), 'minute')}."
    if days is not None:
        when = "today" if days == 0 else f"in {counted(days, 'day')}" if days > 0 else ""
        deadline = study.experts.deadline
        text += f" Please answer by {deadline} ({when})." if when else ""
        text += "" if when else f" They were due on {deadline}, {counted(-days, 'day')} ago."
    return text + (f" They are here: {told.url}" if told.url else "")
