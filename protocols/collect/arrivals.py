"""When answers came in: by the clock where Label Studio or the page told it, else in their order alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from oversight.harness.store import PAGE, SOURCE, Queue, ReplyRepository, Revision, Store

PORTIONS = 60
"""Most portions that the order of arrival is told in."""
_WIDTHS = {"hour": timedelta(hours=1), "day": timedelta(days=1), "week": timedelta(weeks=1)}
_MOST_BINS = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrivals:
    """When answers came in.

    Attributes
    ----------
    timed, untimed
        Answers whose time Label Studio or the page told, and those from files or elsewhere, which have none.
    unit
        How long one of `bins` is: ``"hour"``, ``"day"``, ``"week"``; empty if no answer has a time.
    starts
        When every bin begins, in ISO 8601 and UTC; hours and days in which nothing came are there, too.
    bins
        Person → how many of their timed answers came in each bin.
    order
        Person → how many of all their answers came in each of equal portions of the order of arrival.
    per_hour
        Person → timed answers an hour, from their first to their last; of fewer than two there is none.
    last
        Person → when their last timed answer came, as `starts`.
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
    """Read when the answers of a study, or the ratings of a panel, came in."""
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
    """Person → when each of their answers that count was first given on the page, in order."""
    histories = store.trail.read_histories(PAGE)
    counting = {name for name, reply in replies.read_replies().items() if reply.source == PAGE}
    found: dict[str, list[datetime]] = {}
    for history in sorted(histories, key=lambda h: h.first):
        if history.asked_id in counting and (at := _read(history.first)) is not None:
            found.setdefault(history.person, []).append(at)
    return found


def find_times(
    revisions: Iterable[Revision], queues: Mapping[str, Queue], counting: set[str]
) -> dict[str, list[datetime]]:
    """Person → when each of their answers that count was first given, in order.

    Parameters
    ----------
    revisions
        Every state of every annotation.
    queues
        Whose user every person is; what another user wrote is no answer.
    counting
        Questions or assignments whose answer came through Label Studio.
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
    """How long a bin is, when each begins, and person → how many of their times lie in each."""
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
    """A server's time in UTC; None if it is none. One that names no zone is taken as UTC."""
    try:
        at = datetime.fromisoformat(told)
    except ValueError:
        return None
    return at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)


def _write(at: datetime) -> str:
    return at.isoformat(timespec="seconds")
