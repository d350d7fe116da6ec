"""Progress of every expert, measured from the stored answers.

The order of a queue is drawn before any answer. So the questions in the first x % of every queue are a random
sample of all questions. An expert who answers a question has reached all questions before it. If one of these
earlier questions is still open, the expert has passed it over, and its answer counts as missing.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import median

import numpy as np

from oversight.harness.columns import read_queues
from oversight.harness.config import Study
from oversight.harness.store import PAGE, Store
from oversight.harness.types import Verdict
from oversight.protocols.routing import check_drawn


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueShare:
    """Progress of all experts in their queues.

    Attributes
    ----------
    share
        Share of their own queue that the slowest expert has reached; every other expert has reached at least
        this share of theirs.
    passed
        Expert → ids of this expert's open questions that precede an answered one, in queue order.
    slowest
        Name of the expert whose next question limits the share; empty if all questions are answered.
    waiting
        Id of the slowest expert's next question; empty if all are answered.
    """

    share: float = 0.0
    passed: Mapping[str, tuple[str, ...]]
    slowest: str = ""
    waiting: str = ""


def share_queues(store: Store) -> QueueShare:
    """Compute the share of the queue that the slowest expert has reached.

    A reassigned question counts in the queue of the expert for whom it was drawn, but the result lists it
    under the expert who has it now. Control questions and second questions are ignored.
    """
    order = store.columns.read_order()
    if not order.experts:
        return QueueShare(passed={})
    is_open = np.array([name is not None for name in order.open_ids])
    queues = read_queues(order.expert, order.place, ~is_open, len(order.experts))
    takers = {name: handed.taker for name, handed in store.people.read_handovers().items()}
    passed = defaultdict[str, list[tuple[int, str]]](list)
    for row in np.flatnonzero(queues.passed).tolist():
        name = order.open_ids[row] or ""
        holder = takers.get(name, order.experts[order.expert[row]])
        passed[holder].append((int(queues.rank[row]), name))
    share = queues.reached / queues.asked
    slowest = int(np.argmin(share))
    next_one = np.flatnonzero((order.expert == slowest) & (queues.rank == queues.reached[slowest]))
    waiting = (order.open_ids[next_one[0]] or "") if next_one.size else ""
    return QueueShare(
        share=float(share[slowest]),
        passed={name: tuple(name for _, name in sorted(rows)) for name, rows in sorted(passed.items())},
        slowest=takers.get(waiting, order.experts[slowest]) if is_open.any() else "",
        waiting=waiting,
    )


_LONGEST = 10
"""Maximum time counted for one answer, as a multiple of the median; a page that was left open is not work."""
_LONGEST_SECONDS = 3600.0
"""Maximum time counted for one answer in seconds, which applies if nearly all answers are long."""
_SHORTEST = 0.5
_CHARACTERS = 200
"""Reading speed in characters per second (about forty words) above which an answer was not read."""
_HOUR = 3600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerTimes:
    """Times of one person's answers.

    Attributes
    ----------
    timed
        Number of answers with a known time.
    median_seconds
        Median time; None if no time is known.
    hours
        Sum of the known times, each counted as at most ten times the median and at most one hour. None if no
        time is known.
    fast
        Number of answers given in less than half a second, or in less time than reading the text takes at 200
        characters per second. They count as answers; whoever runs the study must judge whether they are
        honest.
    """

    timed: int = 0
    median_seconds: float | None = None
    hours: float | None = None
    fast: int = 0


def sum_up_times(looks: Sequence[tuple[float, int]]) -> AnswerTimes:
    """Summarise answer times from pairs (seconds for the answer, characters in the question's text).

    Examples
    --------
    >>> sum_up_times([(9.0, 400), (11.0, 400), (10.0, 400), (0.3, 400), (28_800.0, 400)])
    AnswerTimes(timed=5, median_seconds=10.0, hours=0.0361..., fast=1)
    >>> sum_up_times([(86_400.0, 400)]).hours
    1.0
    """
    if not looks:
        return AnswerTimes()
    typical = median(seconds for seconds, _ in looks)
    return AnswerTimes(
        timed=len(looks),
        median_seconds=typical,
        hours=sum(min(seconds, _LONGEST * typical, _LONGEST_SECONDS) for seconds, _ in looks) / _HOUR,
        fast=sum(seconds < max(_SHORTEST, length / _CHARACTERS) for seconds, length in looks),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueProgress:
    """Numbers of one expert's questions and answers.

    Attributes
    ----------
    asked, answered, open
        Numbers of questions; questions answered unsure or skipped count as `answered`.
    passed
        Number of open questions that precede an answered question in the expert's queue; 0 for a panel.
    yes, no, unsure, skip, rated
        Numbers of answers with each verdict; `rated` is the number of a panel's labels.
    foreign
        Number of answers that do not count: quarantined annotations, and page answers to questions that were
        answered on another channel.
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
            **asdict(times),
            seconds_left=None if times.median_seconds is None else times.median_seconds * (n - answered),
        )
    return found
