"""How far every expert is, from what is stored here."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from statistics import median

from harness.config import Study
from harness.store import PAGE, Store
from harness.types import Verdict
from protocols.routing import check_drawn


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueProgress:
    """One expert's questions and answers.

    Attributes
    ----------
    asked, answered, open
        Questions; `answered` counts unsure and skipped ones, too.
    yes, no, unsure, skip, rated
        What was answered: verdicts, or a panel's labels.
    foreign
        Annotations in quarantine, and answers of the page to what was answered elsewhere: they count for
        nothing.
    revised
        Questions whose answer was changed or taken back at least once.
    queued
        Questions that lie on the server.
    median_seconds
        Typical time for one answer; None before the first.
    seconds_left
        `open` times that.
    """

    asked: int
    answered: int
    open: int
    yes: int
    no: int
    unsure: int
    skip: int
    rated: int = 0
    foreign: int = 0
    revised: int = 0
    queued: int = 0
    account: bool = False
    median_seconds: float | None = None
    seconds_left: float | None = None


def measure_progress(study: Study, store: Store) -> dict[str, QueueProgress]:
    """Expert → progress, in order of their first question.

    Raises
    ------
    BadInput
        If nothing was drawn yet.
    """
    check_drawn(study, store)
    campaign, panel = store.labelling, study.experts.is_panel
    asked, said = store.count_asked(panel=panel), Counter[tuple[str, str]]()
    for (expert, value), n in store.replies(panel=panel).count_replies().items():
        # A panel's labels are whatever the classes are called, "yes" and "skip" among them.
        said[expert, ("rated" if value else "skip") if panel else value] += n
    foreign = Counter(row.expert for row in campaign.read_quarantine())
    queued = Counter(task.expert for task in campaign.read_tasks() if task.task_id is not None)
    queues = campaign.read_queues()
    seconds: dict[str, dict[int, float]] = defaultdict(dict)
    states: dict[str, Counter[str]] = defaultdict(Counter)
    for revision in campaign.read_revisions():
        queue = queues[revision.expert]
        if revision.question_id is None or revision.author != queue.user_id or queue.user_id is None:
            continue
        states[revision.expert][revision.question_id] += 1
        if revision.seconds is not None and not revision.deleted:
            seconds[revision.expert][revision.annotation_id] = revision.seconds
    revised = Counter({name: sum(count > 1 for count in own.values()) for name, own in states.items()})
    refused = store.trail.count_refused()
    looks = {expert: list(found.values()) for expert, found in seconds.items()}
    for history in store.trail.read_histories(PAGE):
        revised[history.person] += history.values > 1
        if history.seconds is not None:
            looks.setdefault(history.person, []).append(history.seconds)
    found = {}
    for expert, n in asked.items():
        kinds = {kind: said[expert, kind] for kind in (*(v.value for v in Verdict), "rated")}
        answered = sum(kinds.values())
        typical = median(looks[expert]) if looks.get(expert) else None
        found[expert] = QueueProgress(
            asked=n,
            answered=answered,
            open=n - answered,
            **kinds,
            foreign=foreign[expert] + refused.get(expert, 0),
            revised=revised[expert],
            queued=queued[expert],
            account=expert in queues and queues[expert].user_id is not None,
            median_seconds=typical,
            seconds_left=None if typical is None else typical * (n - answered),
        )
    return found
