"""Arrival of answers: times from Label Studio or the page, otherwise only the order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from oversight.harness.store import PAGE, SOURCE, Queue, ReplyRepository, Revision, Store

PORTIONS = 60
"""Largest number of portions in the order of arrival."""
_WIDTHS = {"hour": timedelta(hours=1), "day": timedelta(days=1), "week": timedelta(weeks=1)}
_MOST_BINS = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrivals:
    """Arrival times of answers.

    Attributes
    ----------
    timed, untimed
        Number of answers with a time from Label Studio or the page, and of those without, from files or
        elsewhere.
    unit
        Length of the `bins`: ``"hour"``, ``"day"``, ``"week"``; empty if no answer has a time.
    starts
        Start of every bin in ISO 8601 and UTC, including bins without answers.
    bins
        Person → number of their timed answers in each bin.
    order
        Person → number of all their answers in each of equal portions of the order of arrival.
    per_hour
        Person → timed answers per hour from their first to their last; missing for fewer than two.
    last
        Person → time of their last timed answer, in the format of `starts`.
    """

    timed: int
    untimed: int
    unit: str
    starts: list[str]
    bins: dict[str, list[int]]
    order: dict[str, list[int]]
    per_hour: dict[str, float]
    last: dict[str, str]


def read_arrivals(store: Store, *, panel: bool) -> Arrivals:
    """Read the arrival times of a study's answers, or of a panel's ratings."""
    replies = store.replies(panel=panel)
    portions = replies.count_arrivals(PORTIONS)
    people = list(dict.fromkeys(name for portion in portions for name in portion))
    times = _find_page_times(store, replies)
    if revisions := store.labelling.read_revisions():
        counting = {name for name, reply in replies.read_replies().items() if reply.source == SOURCE}
        for name, own in find_times(revisions, store.labelling.read_queues(), counting).items():
            times[name] = sorted(times.get(name, []) + own)
    timed = sum(map(len, times.values()))
    unit, starts, bins = count_bins(times)
    hours = {name: (t[-1] - t[0]) / timedelta(hours=1) for name, t in times.items()}
    return Arrivals(
        timed=timed,
        untimed=sum(sum(portion.values()) for portion in portions) - timed,
        unit=unit,
        starts=starts,
        bins=bins,
        order={name: [portion.get(name, 0) for portion in portions] for name in people},
        per_hour={name: (len(times[name]) - 1) / span for name, span in hours.items() if span > 0},
        last={name: _write(t[-1]) for name, t in times.items()},
    )


def _find_page_times(store: Store, replies: ReplyRepository) -> dict[str, list[datetime]]:
    """Return the times at which each person's valid answers were first given on the page, in order."""
    histories = store.audit.read_histories(PAGE)
    counting = {name for name, reply in replies.read_replies().items() if reply.source == PAGE}
    found: dict[str, list[datetime]] = {}
    for history in sorted(histories, key=lambda h: h.first):
        if history.asked_id in counting and (at := _read(history.first)) is not None:
            found.setdefault(history.person, []).append(at)
    return found


def find_times(
    revisions: Iterable[Revision], queues: Mapping[str, Queue], counting: set[str]
) -> dict[str, list[datetime]]:
    """Return the times at which each person's valid answers were first given, in order.

    Parameters
    ----------
    revisions
        Every state of every annotation.
    queues
        Queue of every person, which names their Label Studio user; annotations by other users are ignored.
    counting
        Questions or assignments that were answered in Label Studio.
    """
    first: dict[tuple[str, str], datetime] = {}
    for revision in revisions:
        user = queues[revision.expert].user_id
        asked = revision.question_id
        if asked is None or asked not in counting or revision.deleted or revision.author != user:
            continue
        if (at := _read(revision.updated_at)) is not None:
            key = (revision.expert, asked)
            first[key] = min(first.get(key, at), at)
    found: dict[str, list[datetime]] = {}
    for (expert, _), at in sorted(first.items(), key=lambda pair: pair[1]):
        found.setdefault(expert, []).append(at)
    return found


def count_bins(times: Mapping[str, list[datetime]]) -> tuple[str, list[str], dict[str, list[int]]]:
    """Return the length of a bin, the start of each, and each person's number of times per bin."""
    if not times:
        return "", [], {}
    begin, end = min(t[0] for t in times.values()), max(t[-1] for t in times.values())
    unit = next((u for u, width in _WIDTHS.items() if (end - begin) / width < _MOST_BINS), "week")
    width = _WIDTHS[unit]
    start = begin.replace(minute=0, second=0, microsecond=0)
    if unit != "hour":
        start = start.replace(hour=0)
    number = int((end - start) / width) + 1
    bins = {}
    for name, own in times.items():
        inside = Counter(int((at - start) / width) for at in own)
        bins[name] = [inside[place] for place in range(number)]
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
