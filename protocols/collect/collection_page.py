"""Data of the collection page: questions by person, arrivals, invalid answers, next steps."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from itertools import chain
from typing import Any

import numpy as np

from oversight.harness import BadInput
from oversight.harness.config import Study
from oversight.harness.output import pool_text
from oversight.harness.store import PAGE, SOURCE, ReplyRepository, Response, Store
from oversight.protocols.collect.progress.queue_progress import QueueProgress, measure_progress

_NAMED = 3
"""Largest number of people with open questions whose names are listed."""


@dataclass(frozen=True, slots=True)
class NextStep:
    """A sentence about the next step, and its command."""

    sentence: str
    command: str


def find_next_steps(
    study: Study, store: Store, progress: Mapping[str, QueueProgress], quarantined: int
) -> list[NextStep]:
    """List the next steps, the most urgent first.

    Parameters
    ----------
    progress
        Person → progress; empty if no question was drawn yet.
    quarantined
        Number of annotations that do not count.
    """
    panel = study.experts.is_panel
    if not progress:
        whom = "nobody rates anything" if panel else "nobody is asked anything"
        return [NextStep(f"Nothing was drawn yet, so {whom}.", "oversight label route")]
    steps = []
    if quarantined:
        text = "1 annotation is" if quarantined == 1 else f"{quarantined:,} annotations are"
        text += " not counted; look at the reason, so that no answer is lost."
        steps.append(NextStep(text, "oversight label status --json"))
    if left := sum(p.open for p in progress.values()):
        return [*steps, *_collect(store, progress, left, "rating" if panel else "question")]
    return [*steps, _finish(study, store)]


def _collect(store: Store, progress: Mapping[str, QueueProgress], left: int, what: str) -> list[NextStep]:
    """Return the steps to collect answers: from Label Studio during a campaign, otherwise by files."""
    asked = sum(p.asked for p in progress.values())
    waiting = sorted((p for p in progress.items() if p[1].open), key=lambda pair: -pair[1].open)
    named = ", ".join(f"{name} ({p.open:,})" for name, p in waiting[:_NAMED])
    more = f" and {len(waiting) - _NAMED} more" if len(waiting) > _NAMED else ""
    text = f"{left:,} of {asked:,} {what}s are open; they wait for {named}{more}."
    queues = store.labelling.read_queues()
    if all(queue.closed for queue in queues.values()):
        other = (
            "Then import the filled-in files. Instead of files, you can use a page (oversight label serve) "
            "or Label Studio (oversight label push). Import with:"
        )
        return [
            NextStep(f"{text} Write them to files to fill in:", "oversight label export"),
            NextStep(other, "oversight label import questions/*.csv"),
        ]
    steps = [NextStep(f"{text} Fetch their answers:", "oversight label watch")]
    unsent = any(task.task_id is None for task in store.labelling.read_tasks())
    if unsent or not all(p.queued for _, p in waiting):
        steps.append(NextStep("Some questions are not on the server yet; send them.", "oversight label push"))
    return steps


def _finish(study: Study, store: Store) -> NextStep:
    if study.experts.is_panel:
        return NextStep("All ratings are in; compute the agreement.", "oversight panel agree")
    done = "Every question is answered"
    if study.experts.statement.asks_on:
        return NextStep(f"{done}; more may follow from the answers.", "oversight label route")
    if not store.runs.read_runs():
        return NextStep(f"{done}, but no model was run yet.", "oversight run")
    return NextStep(f"{done}.", "oversight estimate")


PORTIONS = 60
"""Largest number of equal portions into which the order of arrival is divided."""
_WIDTHS = {"hour": timedelta(hours=1), "day": timedelta(days=1), "week": timedelta(weeks=1)}
_MOST_BINS = 100


def _count_arrivals(replies: ReplyRepository, times: Mapping[str, list[datetime]]) -> dict[str, Any]:
    """Count answers in the order of arrival and, if they have a time, by time.

    Returns
    -------
    dict
        ``timed, untimed``: numbers of answers with a time (from Label Studio or the page) and without one
        (from files or elsewhere). ``unit``: length of the bins, ``"hour"``, ``"day"`` or ``"week"``; empty if
        no answer has a time. ``starts``: start of every bin in ISO 8601 and UTC, including bins without
        answers. ``bins``: person → number of answers per bin. ``order``: person → number of answers in each
        portion; all answers, including those without a time, are sorted by arrival and split into portions
        of equal size.
    """
    portions = replies.count_arrivals(PORTIONS)
    people, timed = dict.fromkeys(chain.from_iterable(portions)), sum(map(len, times.values()))
    unit, starts, bins = _count_bins(times) if times else ("", [], {})
    return {
        "timed": timed,
        "untimed": sum(sum(portion.values()) for portion in portions) - timed,
        "unit": unit,
        "starts": starts,
        "bins": bins,
        "order": {name: [portion.get(name, 0) for portion in portions] for name in people},
    }


def _find_times(store: Store, replies: Mapping[str, Response]) -> dict[str, list[datetime]]:
    """Return the times at which each person's valid answers were first given, in order.

    Only answers on the page, and annotations that were made with the person's own account, have a time.
    """
    queues, first = store.labelling.read_queues(), dict[tuple[str, str], datetime]()
    given = [(h.person, h.asked_id, h.first, PAGE) for h in store.audit.read_histories(PAGE)]
    given += [
        (r.expert, r.question_id or "", r.updated_at, SOURCE)
        for r in store.labelling.read_revisions()
        if not r.deleted and r.author == queues[r.expert].user_id
    ]
    for person, asked, told, source in given:
        if asked in replies and replies[asked].source == source and (at := _read(told)) is not None:
            first[person, asked] = min(first.get((person, asked), at), at)
    found = defaultdict[str, list[datetime]](list)
    for (person, _), at in sorted(first.items(), key=lambda pair: pair[1]):
        found[person].append(at)
    return found


def _count_bins(times: Mapping[str, list[datetime]]) -> tuple[str, list[str], dict[str, list[int]]]:
    """Return the length of the bins, the start of each bin, and each person's number of answers per bin."""
    begin, end = min(t[0] for t in times.values()), max(t[-1] for t in times.values())
    unit = next((u for u, width in _WIDTHS.items() if (end - begin) / width < _MOST_BINS), "week")
    width = _WIDTHS[unit]
    start = begin.replace(minute=0, second=0, microsecond=0)
    if unit != "hour":
        start = start.replace(hour=0)
    number = int((end - start) / width) + 1
    bins = {
        name: np.bincount([int((at - start) / width) for at in own], minlength=number).tolist()
        for name, own in times.items()
    }
    return unit, [_write(start + place * width) for place in range(number)], bins


def _read(told: str) -> datetime | None:
    """Return a server's time in UTC; None if it is malformed. A time without a zone is taken as UTC."""
    try:
        at = datetime.fromisoformat(told)
    except ValueError:
        return None
    return at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)


def _write(at: datetime) -> str:
    return at.isoformat(timespec="seconds")


MOST_SHOWN = 1000
"""Largest number of quarantined annotations that the page lists; all are counted."""


def read_collection(study: Study, store: Store) -> dict[str, Any]:
    """Read the progress of a collection, with or without a Label Studio campaign.

    Returns
    -------
    dict
        ``is_panel``: whether people choose among all options instead of answering yes or no. ``people``: list
        with each person's ``name``, the fields of `QueueProgress`, ``per_hour``, the rate of answers with a
        time from the first to the last of them, and ``last``, the time of the last (both None if unknown).
        ``asked, answered, open, foreign``: sums over all people. ``arrivals``: see `_count_arrivals`.
        ``quarantine`` describes the annotations that do not count: ``of`` is their number, ``reasons`` maps
        each reason to a number, and ``rows`` has at most `MOST_SHOWN` of them. ``next``: next steps, each a
        sentence and a command. ``campaign``: whether questions are on a Label Studio server. ``deadline``:
        last day of the collection in ISO 8601, or None. ``items_drawn``: None if all items are asked about;
        otherwise ``drawn``, the number of items drawn from a pool, ``of``, the size of the pool, and
        ``text``, a sentence with both numbers.
    """
    panel = study.experts.is_panel
    try:
        progress = measure_progress(study, store)
    except BadInput:  # no question was drawn yet
        progress = {}
    replies, rows, people = store.replies(panel=panel), store.labelling.read_quarantine(), []
    times = _find_times(store, replies.read_replies())
    for name, p in progress.items():
        own = times.get(name)
        hours = (own[-1] - own[0]) / timedelta(hours=1) if own else 0
        per_hour = (len(own) - 1) / hours if own and hours else None
        last = _write(own[-1]) if own else None
        people.append({"name": name, **asdict(p), "per_hour": per_hour, "last": last})
    shown, pool = rows[:MOST_SHOWN], store.pool.count_pool()
    items = store.find_asked_items([r.question_id for r in shown if r.question_id], panel=panel)
    return {
        "is_panel": panel,
        "people": people,
        **{key: sum(p[key] for p in people) for key in ("asked", "answered", "open", "foreign")},
        "arrivals": _count_arrivals(replies, times),
        "quarantine": {
            "of": len(rows),
            "reasons": dict(Counter(r.reason for r in rows).most_common()),
            "rows": [
                {
                    "expert": row.expert,
                    "annotation": row.annotation_id,
                    "task": row.task_id,
                    "question": row.question_id,
                    "item": items.get(row.question_id or ""),
                    "why": row.reason,
                    "detail": row.detail,
                }
                for row in shown
            ],
        },
        "next": [asdict(step) for step in find_next_steps(study, store, progress, len(rows))],
        "campaign": bool(store.labelling.read_queues()),
        "deadline": study.experts.deadline and study.experts.deadline.isoformat(),
        "items_drawn": pool and {"drawn": pool[0], "of": pool[1], "text": pool_text(*pool)},
    }
