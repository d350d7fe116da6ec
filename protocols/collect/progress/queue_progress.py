"""Progress of every expert, measured from the stored answers."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, fields

from oversight.harness.config import Study
from oversight.harness.store import PAGE, Store
from oversight.harness.types import Verdict
from oversight.protocols.collect.progress.answer_times import AnswerTimes, sum_up_times
from oversight.protocols.collect.progress.queue_share import share_queues
from oversight.protocols.routing import check_drawn


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueProgress:
    """Numbers of one expert's questions and answers.

    Attributes
    ----------
    asked, answered, open
        Numbers of questions; `answered` includes unsure and skipped ones.
    passed
        Number of open questions with a later answered one in the queue; None for a panel.
    yes, no, unsure, skip, rated
        Numbers of answers by verdict, or of a panel's labels.
    foreign
        Number of answers that do not count: quarantined annotations, and page answers to questions answered
        elsewhere.
    revised
        Number of questions whose answer was changed or withdrawn at least once.
    queued
        Number of questions on the server.
    timed, median_seconds, hours, fast
        As in `AnswerTimes`; answers from files have no time.
    seconds_left
        `open` times `median_seconds`.
    """

    asked: int
    answered: int
    open: int
    passed: int = 0
    yes: int
    no: int
    unsure: int
    skip: int
    rated: int = 0
    foreign: int = 0
    revised: int = 0
    queued: int = 0
    account: bool = False
    timed: int = 0
    median_seconds: float | None = None
    hours: float | None = None
    fast: int = 0
    seconds_left: float | None = None


def measure_progress(study: Study, store: Store) -> dict[str, QueueProgress]:
    """Return the progress of every expert, in the order of their first question.

    Raises
    ------
    BadInput
        If no question was drawn yet.
    """
    check_drawn(study, store)
    campaign, panel = store.labelling, study.experts.is_panel
    asked, said = store.count_asked(panel=panel), Counter[tuple[str, str]]()
    for (expert, value), n in store.replies(panel=panel).count_replies().items():
        # A panel's labels may have any names, including "yes" and "skip".
        said[expert, ("rated" if value else "skip") if panel else value] += n
    foreign = Counter(row.expert for row in campaign.read_quarantine())
    queued = Counter(task.expert for task in campaign.read_tasks() if task.task_id is not None)
    queues = campaign.read_queues()
    looks: dict[str, dict[int | str, tuple[float, str]]] = defaultdict(dict)
    states: dict[str, Counter[str]] = defaultdict(Counter)
    for revision in campaign.read_revisions():
        queue = queues[revision.expert]
        if revision.question_id is None or revision.author != queue.user_id or queue.user_id is None:
            continue
        states[revision.expert][revision.question_id] += 1
        if revision.seconds is not None and not revision.deleted:
            looks[revision.expert][revision.annotation_id] = (revision.seconds, revision.question_id)
    revised = Counter({name: sum(count > 1 for count in own.values()) for name, own in states.items()})
    refused = store.audit.count_refused()
    for history in store.audit.read_histories(PAGE):
        revised[history.person] += history.values > 1
        if history.seconds is not None:
            looks[history.person][history.asked_id] = (history.seconds, history.asked_id)
    lengths = store.measure_asked_texts(panel=panel) if looks else {}
    passed = {} if panel else share_queues(store).passed
    found = {}
    for expert, n in asked.items():
        kinds = {kind: said[expert, kind] for kind in (*(v.value for v in Verdict), "rated")}
        answered = sum(kinds.values())
        read = [(seconds, lengths.get(name, 0)) for seconds, name in looks[expert].values()]
        times = sum_up_times(read)
        found[expert] = QueueProgress(
            asked=n,
            answered=answered,
            open=n - answered,
            passed=len(passed.get(expert, ())),
            **kinds,
            foreign=foreign[expert] + refused.get(expert, 0),
            revised=revised[expert],
            queued=queued[expert],
            account=expert in queues and queues[expert].user_id is not None,
            **{field.name: getattr(times, field.name) for field in fields(AnswerTimes)},
            seconds_left=None if times.median_seconds is None else times.median_seconds * (n - answered),
        )
    return found
