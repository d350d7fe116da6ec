"""The verbs of ``oversight label`` that read from, or write to, a Label Studio server."""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from oversight.harness import BadInput
from oversight.harness.analysis import read_quality
from oversight.harness.cli import emit
from oversight.harness.config import Study
from oversight.harness.output import counted, plain_table, pool_text, say
from oversight.harness.report import quality_table, quality_to_json
from oversight.harness.store import Store
from oversight.protocols.collect import measure_progress, share_queues

if TYPE_CHECKING:
    from rich.table import Table

    from oversight.protocols.collect import Campaign, Difference, Look, QueueProgress

_SHORTEST_HOURS = 0.05
_EVERY = 15.0
"""Seconds between two pulls of ``label watch``."""
_SUMMED = ("asked", "answered", "open", "foreign")


@contextlib.contextmanager
def open_campaign(study: Study) -> Iterator[Campaign]:
    """Open a study's database and campaign for a ``with`` block, and yield the campaign."""
    from oversight.protocols.collect import Campaign

    with Store(study.store_url) as store, Campaign(study, store) as campaign:
        yield campaign


def push(args: argparse.Namespace, study: Study) -> None:
    """Send the questions that have no task on the server yet."""
    with open_campaign(study) as campaign:
        done = campaign.push()
    lines = [
        f"{expert}: {p.sent} sent, {p.adopted} found on the server"
        + (f", {p.removed} duplicates removed" if p.removed else "")
        + (", page restored" if p.restored else "")
        + (f", settings restored: {', '.join(p.settings)}" if p.settings else "")
        + (f", {counted(p.foreign, 'foreign task')} removed" if p.foreign else "")
        + f"; {p.url}"
        for expert, p in done.items()
    ]
    payload = {"sent": sum(p.sent for p in done.values()), "experts": {e: asdict(p) for e, p in done.items()}}
    emit(args, payload, "\n".join([*lines, "next: oversight experts invite, then oversight label watch"]))


def pull(args: argparse.Namespace, study: Study) -> None:
    """Fetch changed answers; in the sequential protocol, also send the next questions."""
    with open_campaign(study) as campaign:
        found = campaign.pull(full=args.full, requeue=not args.no_requeue)
        follow = campaign.push_next()
        closed = campaign.is_closed
    told = "the campaign is closed: answers given on the server since then do not count"
    payload = {**asdict(found), "next_questions": follow, "closed": closed}
    emit(args, payload, told if closed else _told(found, follow))


def close(args: argparse.Namespace, study: Study) -> None:
    """Pull a last time and end the campaign."""
    with open_campaign(study) as campaign:
        found, left = campaign.close(delete=args.delete)
    text = _told(found, 0) + "\nclosed: answers given on the server from now on do not count"
    if left:
        each = ", ".join(f"{expert} {n}" for expert, n in left.items())
        text += f"; {counted(sum(left.values()), 'question')} stayed open and count as missing: {each}"
    emit(args, {**asdict(found), "open": left}, text)


def requeue(args: argparse.Namespace, study: Study) -> None:
    """Ask questions again if their answers do not count."""
    with open_campaign(study) as campaign:
        number = campaign.requeue()
    emit(args, {"requeued": number}, f"{counted(number, 'question')} served again")


def watch(args: argparse.Namespace, study: Study) -> None:
    """Pull and show the state until all intervals are narrow, no question is open, or Ctrl-C is pressed."""
    from oversight.protocols.collect import watch_campaign

    _check_watch(args, study)
    with open_campaign(study) as campaign:
        looks = watch_campaign(campaign, every=_EVERY, until_width=args.until_width)
        with contextlib.closing(looks):
            for look in looks:
                if args.once or look.is_last:
                    emit(args, _payload(look), _lines(look))
                    break
                say(_lines(look))


def _check_watch(args: argparse.Namespace, study: Study) -> None:
    if args.until_width is not None and not 0 < args.until_width <= 1:
        raise BadInput("--until-width must be in (0, 1]")
    if study.experts.is_panel and args.until_width is not None:
        raise BadInput("--until-width is for yes/no questions; a panel study has no accuracy interval")


def show_status(args: argparse.Namespace, study: Study) -> None:
    """Show each expert's progress and results on control questions, and annotations that do not count."""
    from rich.text import Text

    with Store(study.store_url) as store:
        now, quarantine = measure_progress(study, store), store.labelling.read_quarantine()
        quality, pool = read_quality(study, store), store.pool.count_pool()
        mark = store.marks.read_mark()
        away = {name: found.until for name, found in store.people.read_absences().items()}
        passed = {} if study.experts.is_panel else share_queues(store).passed
    totals = {key: sum(getattr(p, key) for p in now.values()) for key in _SUMMED}
    lines = [f"due {study.experts.deadline}"] if study.experts.deadline else []
    lines += [pool_text(*pool)] if pool else []
    if mark is not None:
        lines.append(f"this database is {mark}; to collect answers in it, run: oversight store adopt")
    if quarantine:
        lines.append(
            f"{counted(len(quarantine), 'annotation')} not counted; see oversight label status --json"
        )
    if passed:
        lines.append(
            f"{counted(sum(map(len, passed.values())), 'question')} passed over, although later ones are "
            f"answered: {_name_passed(passed)}. They are missing data: have them answered, or marked unsure"
        )
    if totals["open"]:
        lines.append("Next: remind them (oversight label remind), or open the page (oversight label serve).")
    experts = {expert: asdict(p) for expert, p in now.items()}
    due = study.experts.deadline and study.experts.deadline.isoformat()
    payload: dict[str, object] = {"experts": experts, **totals, "deadline": due, "away": away}
    if pool is not None:
        # Import this here, because `harness.report` imports all modules of estimators, which is slow.
        from oversight.harness.report import pool_to_json

        payload |= pool_to_json(pool)
    payload["passed"] = {expert: list(questions) for expert, questions in passed.items()}
    payload["quarantine"] = [asdict(q) for q in quarantine]
    if mark is not None:
        payload["mark"] = asdict(mark)
    if quality:
        payload["quality"] = quality_to_json(quality)
    head = f"{totals['answered']} of {totals['asked']} questions answered{_share_text(totals)}\n"
    table = _experts_table(now, away, is_panel=study.experts.is_panel)
    tail = [Text("\n" + "\n".join(lines))] if lines else []
    emit(args, payload, [Text(head), table, *([quality_table(quality)] if quality else []), *tail])


def _share_text(totals: Mapping[str, int]) -> str:
    """Return a text as in `` (75 %), 60 open``: the share of answered questions, and the number of open ones.

    The share is left out if nothing was asked.
    """
    share = f" ({100 * totals['answered'] / totals['asked']:.0f} %)" if totals["asked"] else ""
    return f"{share}, {totals['open']} open"


def _experts_table(now: Mapping[str, QueueProgress], away: Mapping[str, str], *, is_panel: bool) -> Table:
    """Return a table with a row per expert. Columns of rare counts are left out if all entries are 0."""
    table = plain_table()
    table.add_column("expert", overflow="fold")
    columns = {"answered": [f"{p.answered} / {p.asked}" for p in now.values()]}
    for name in () if is_panel else ("yes", "no", "unsure"):
        columns[name] = [str(getattr(p, name)) for p in now.values()]
    columns["open"] = [str(p.open) for p in now.values()]
    columns |= _rare_columns([*now.values()])
    for title in columns:
        table.add_column(title, justify="right", no_wrap=True)
    for row, expert in enumerate(now):
        until = f" until {away[expert]}" if away.get(expert) else ""
        told = f" (away{until})" if expert in away else ""
        table.add_row(expert + told, *(cells[row] for cells in columns.values()))
    return table


def _rare_columns(rows: Sequence[QueueProgress]) -> dict[str, list[str]]:
    found = {
        "skip": [p.skip for p in rows],
        "not counted": [p.foreign for p in rows],
        "passed over": [p.passed for p in rows],
    }
    shown = {title: list(map(str, numbers)) for title, numbers in found.items() if any(numbers)}
    if any(p.median_seconds is not None for p in rows):
        shown["s / answer"] = ["" if p.median_seconds is None else f"{p.median_seconds:.0f}" for p in rows]
    if any(p.seconds_left is not None for p in rows):
        shown["left"] = ["" if p.seconds_left is None else _span(p.seconds_left) for p in rows]
    if any(p.fast for p in rows):
        shown["too fast"] = [str(p.fast) if p.timed else "" for p in rows]
    if any(p.hours and p.hours >= _SHORTEST_HOURS for p in rows):
        shown["hours"] = ["" if p.hours is None else f"{p.hours:.1f}" for p in rows]
    return shown


def _name_passed(passed: Mapping[str, Sequence[str]]) -> str:
    """Return a text with the ids of at most three questions per expert that the expert passed over."""
    return "; ".join(
        f"{expert}: {', '.join(ids[:3])}" + (f" and {len(ids) - 3} more" if len(ids) > 3 else "")
        for expert, ids in passed.items()
    )


def _told(found: Difference, follow: int) -> str:
    text = f"{found.new} new answers, {found.changed} changed, {found.withdrawn} withdrawn"
    text += f"; {found.answers} in all"
    if found.quarantined:
        text += f"; {found.quarantined} annotations do not count, see oversight label status --json"
    if found.requeued:
        text += f"; {counted(found.requeued, 'question')} served again"
    for expert, names in found.settings.items():
        text += f"\nsomebody changed settings of {expert}'s project; restored: {', '.join(names)}"
    for expert, number in found.predictions.items():
        told = "removed; answers given while they were shown do not count"
        text += f"\nsomebody put {counted(number, 'prediction')} on {expert}'s tasks: {told}"
    for expert, number in found.foreign.items():
        told = "that oversight did not send; oversight label push removes them"
        text += f"\n{counted(number, 'task')} in {expert}'s project {told}"
    return text + (f"; {follow} questions follow from them and were sent" if follow else "")


def _payload(seen: Look) -> dict[str, object]:
    from oversight.harness.report import estimate_to_json

    same = ("share", "slowest", "waiting", "passed", "used", "undefined", "reached", "open")
    return {
        **asdict(seen.difference),
        "next_questions": seen.follow,
        "experts": seen.progress,
        "estimates": {name: estimate_to_json(e) for name, e in seen.estimates.items()},
        **{name: getattr(seen, name) for name in same},
    }


def _lines(seen: Look) -> str:
    wide, lines = max(map(len, seen.progress)), []
    for expert, p in seen.progress.items():
        bar = "█" * round(20 * p.answered / p.asked)
        left = "" if p.seconds_left is None else f", about {_span(p.seconds_left)} left"
        lines.append(f"{expert:<{wide}} {bar:<20} {p.answered}/{p.asked}{left}")
    lines += [f"{name}: {estimate}" for name, estimate in seen.estimates.items()]
    lines += [f"{name}: no estimate yet ({why})" for name, why in seen.undefined.items()]
    if seen.slowest:
        share = f"all experts have answered the first {seen.share:.0%} of their questions"
        lines.append(f"{share}; the slowest is {seen.slowest} (next question: {seen.waiting})")
    lines += [
        f"{expert} passed over {counted(len(questions), 'question')}, which count as missing data"
        for expert, questions in seen.passed.items()
    ]
    return "\n".join(lines)


def _span(seconds: float) -> str:
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
