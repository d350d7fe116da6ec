"""Assign places in experts' queues to questions; places are stored before anything is sent."""

from __future__ import annotations

import secrets
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from oversight.harness import ConfigError
from oversight.harness.store import Queue, QueuedTask
from oversight.harness.types import Question
from oversight.protocols.collect.label_studio.accounts import make_account_email
from oversight.protocols.collect.label_studio.task_payload import hash_task
from oversight.protocols.routing import Pending, Roster, order_queue


def plan_queues(
    roster: Roster, questions: Sequence[Pending], known: Mapping[str, Queue], mark: str
) -> list[Queue]:
    """Return missing queues, and queues whose expert's address changed; `mark` is the study's mark.

    Raises
    ------
    DataError
        If two experts share an account, or a question belongs to somebody who is not on the roster.
    """
    emails: dict[str, str] = {}
    for expert in roster.experts:
        email = make_account_email(expert, mark, known[expert.name].email if expert.name in known else "")
        if email in emails.values():
            told = f"the address {email} of another expert, so answers could not be distinguished"
            raise roster.error("email", f"expert {expert.name!r} has {told}")
        emails[expert.name] = email
    changed = []
    for name in dict.fromkeys(question.expert for question in questions):
        if name not in emails:
            told = f"{name!r}, who is not in the roster; add them again"
            raise roster.error("name", f"questions were put to {told}")
        old = known.get(name)
        if old is None:
            changed.append(Queue(name, marker=secrets.token_hex(8), email=emails[name]))
        elif old.email != emails[name]:
            # Read everything again, because another account changes which answers count.
            changed.append(replace(old, email=emails[name], user_id=None, cursor=""))
    return changed


def plan_tasks(
    questions: Sequence[Pending], data: Mapping[str, Mapping[str, object]], queued: Sequence[QueuedTask]
) -> list[QueuedTask]:
    """Append questions without a place to the end of the queue, in the order of asking.

    Parameters
    ----------
    data
        Question id → data to send.
    """
    there, lengths = {task.question_id for task in queued}, Counter[str]()
    for task in queued:
        lengths[task.expert] = max(lengths[task.expert], task.place + 1)
    by_expert: dict[str, list[Pending]] = defaultdict(list)
    for question in questions:
        if question.id not in there:
            by_expert[question.expert].append(question)
    fresh = []
    for expert, asked in by_expert.items():
        first = lengths[expert]
        fresh += [
            QueuedTask(one.id, expert, first + place, hash_task(data[one.id]))
            for place, one in enumerate(order_queue(asked))
        ]
    return fresh


def check_experts(asked: Iterable[Pending], roster: Roster, *, asks_on: bool) -> None:
    """Raise an error if an expert would judge several options of one item.

    Parameters
    ----------
    asks_on
        Whether items are asked about repeatedly, so that no expert may judge several classes.

    Raises
    ------
    DataError
        If an expert would; names the roster, the expert and the item.
    """
    for expert in roster.experts:
        if asks_on and (len(expert.classes) > 1 or "*" in expert.classes):
            raise roster.error(
                "classes",
                f"expert {expert.name!r} judges {', '.join(expert.classes)}: asked again about an item, the "
                "expert learns what others answered; the sequential protocol allows one class per expert",
            )
    options: dict[tuple[str, str], int] = {}
    for question in asked:
        if not isinstance(question, Question):
            continue
        other = options.setdefault((question.expert, question.item_id), question.option)
        if other != question.option:
            raise roster.error(
                "classes",
                f"expert {question.expert!r} would be asked about the item {question.item_id!r} twice, for "
                f"the options {other} and {question.option}: this protocol allows one class per expert",
            )


def check_open(queues: Mapping[str, Queue], tasks: Sequence[QueuedTask]) -> None:
    """Raise an error if the project of any expert is closed.

    Raises
    ------
    ConfigError
        If a project is closed; names the expert.
    """
    if closed := next((task.expert for task in tasks if queues[task.expert].closed), None):
        raise ConfigError(f"the project of {closed!r} was closed: start a new study for new questions")
