"""The verbs of ``oversight label`` that look at, or talk to, a labelling desk."""

from __future__ import annotations

import argparse
import contextlib
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any

from harness import BadInput
from harness.cli import emit, note
from harness.config import Study
from harness.store import Store
from protocols.collect import Campaign, Difference, Look, QueueProgress, measure_progress

_SHOWN = ("asked", "answered", "yes", "no", "unsure", "skip", "foreign", "open")
_GAP = 1.0
_SHOWN_OF_PANEL = ("asked", "rated", "skip", "foreign", "open")


def add_arguments(verb: Mapping[str, argparse.ArgumentParser]) -> None:
    """Add the options of these verbs."""
    verb["pull"].add_argument(
        "--full", action="store_true", help="read every task again, not only changed ones"
    )
    verb["close"].add_argument(
        "--delete", action="store_true", help="delete the projects on the server afterwards"
    )
    watch = verb["watch"]
    watch.add_argument("--every", type=float, default=15.0, help="seconds between pulls, default 15")
    watch.add_argument("--until-width", type=float, help="stop when every model's interval is this narrow")
    watch.add_argument("--model", action="append", help="name of a model that was run; may be repeated")
    watch.add_argument(
        "--webhook", type=int, metavar="PORT", help="have a server on this machine wake the next pull early"
    )
    watch.add_argument("--once", action="store_true", help="look once and stop")


def push(args: argparse.Namespace, study: Study) -> int:
    """Send what has no task yet."""
    from protocols.collect import Campaign

    with Store(study.store_url) as store, Campaign(study, store) as desk:
        done = desk.push()
    lines = [
        f"{expert}: {p.sent} sent, {p.adopted} found there"
        + (f", {p.removed} doubles removed" if p.removed else "")
        + (", page put back" if p.restored else "")
        + f"; {p.url}"
        for expert, p in done.items()
    ]
    payload = {"sent": sum(p.sent for p in done.values()), "experts": {e: asdict(p) for e, p in done.items()}}
    emit(args, payload, "\n".join([*lines, "next: oversight experts invite, then oversight label watch"]))
    return 0


def pull(args: argparse.Namespace, study: Study) -> int:
    """Bring home what changed; for the sequential protocol send what follows."""
    from protocols.collect import Campaign

    with Store(study.store_url) as store, Campaign(study, store) as desk:
        found = desk.pull(full=args.full)
        follow = _follow(desk)
    emit(args, {**asdict(found), "next_questions": follow}, _told(found, follow))
    return 0


def close(args: argparse.Namespace, study: Study) -> int:
    """Pull a last time and end the campaign."""
    from protocols.collect import Campaign

    with Store(study.store_url) as store, Campaign(study, store) as desk:
        found = desk.close(delete=args.delete)
    emit(args, asdict(found), _told(found, 0) + "; closed: later answers are not counted")
    return 0


def watch(args: argparse.Namespace, study: Study) -> int:
    """Pull, show, wait; until the width is reached, all is answered, or Ctrl-C."""
    from protocols.collect import Bell, Campaign, listen_for_webhooks, take_look

    _check_watch(args, study)
    with (
        Store(study.store_url) as store,
        Campaign(study, store) as desk,
        contextlib.ExitStack() as stack,
    ):
        for name in args.model or ():
            if name not in {run["name"] for run in store.runs.read_runs()}:
                raise BadInput(f"the model {name!r} was not run; see: oversight run --help")
        bell = Bell()
        if args.webhook is not None:
            stack.enter_context(listen_for_webhooks(desk.projects(), args.webhook, bell))
        while True:
            found, follow = desk.pull(), _follow(desk)
            now, at = measure_progress(study, store), take_look(study, store, models=args.model)
            left = sum(p.open for p in now.values())
            narrow = args.until_width is not None and at.width() <= args.until_width
            if args.once or narrow or left == 0:
                payload = _payload(found, follow, now, at) | {"reached": narrow, "open": left}
                emit(args, payload, _lines(now, at))
                return 0
            note(_lines(now, at))
            if bell.wait(args.every):
                time.sleep(min(_GAP, args.every))  # who answers fast must not be pulled at every click


def _check_watch(args: argparse.Namespace, study: Study) -> None:
    if args.every <= 0 or (args.until_width is not None and not 0 < args.until_width <= 1):
        raise BadInput("--every must be above 0 and --until-width in (0, 1]")
    if args.webhook is not None and not 0 <= args.webhook <= 65535:
        raise BadInput(f"--webhook must be a port, from 0 (any free one) to 65535, is {args.webhook}")
    if study.experts.is_panel and (args.until_width is not None or args.model):
        raise BadInput("--until-width and --model are for yes/no questions; a panel estimates no accuracy")


def status(args: argparse.Namespace, study: Study) -> int:
    """Show who was asked what, what came back, and what does not count."""
    from rich.table import Table

    with Store(study.store_url) as store:
        now, quarantine = measure_progress(study, store), store.labelling.read_quarantine()
    shown = _SHOWN_OF_PANEL if study.experts.is_panel else _SHOWN
    table = Table("expert", *shown, "s/answer", "left", title="Answers")
    for expert, p in now.items():
        typical = "" if p.median_seconds is None else f"{p.median_seconds:.0f}"
        left = "" if p.seconds_left is None else _span(p.seconds_left)
        table.add_row(expert, *(str(getattr(p, name)) for name in shown), typical, left)
    totals = {
        key: sum(getattr(p, key) for p in now.values()) for key in ("asked", "answered", "open", "foreign")
    }
    table.caption = f"{totals['asked']} asked, {totals['answered']} answered, {totals['open']} open"
    if quarantine:
        table.caption += f"; {len(quarantine)} annotations count for nothing (--json tells each)"
    experts = {expert: asdict(p) for expert, p in now.items()}
    emit(args, {"experts": experts, **totals, "quarantine": [asdict(q) for q in quarantine]}, table)
    return 0


STUDIO_ACTIONS: dict[str, Callable[[argparse.Namespace, Any], int]] = {
    "push": push,
    "pull": pull,
    "watch": watch,
    "close": close,
    "status": status,
}


def _follow(desk: Campaign) -> int:
    """Draw and send what follows from the answers; not every protocol asks on."""
    if not desk.study.experts.statement.asks_on:
        return 0
    from protocols.routing import next_questions, routing_rule_of

    plan = routing_rule_of(desk.study, desk.store, desk.roster)
    new = desk.store.content.add_questions(
        next_questions(plan, desk.store.content.read_items(), (), desk.store.content.read_answers())
    )
    if new:
        desk.push()
    return new


def _told(found: Difference, follow: int) -> str:
    text = f"{found.new} new answers, {found.changed} changed, {found.withdrawn} withdrawn"
    text += f"; {found.answers} in all"
    if found.quarantined:
        text += f"; {found.quarantined} annotations count for nothing, see oversight label status --json"
    return text + (f"; {follow} questions follow from them and were sent" if follow else "")


def _payload(found: Difference, follow: int, now: Mapping[str, QueueProgress], at: Look) -> dict[str, Any]:
    from harness.cli import estimate_to_json

    return {
        **asdict(found),
        "next_questions": follow,
        "experts": {expert: asdict(p) for expert, p in now.items()},
        "share": at.share,
        "slowest": at.slowest,
        "used": at.used,
        "estimates": {name: estimate_to_json(e) for name, e in at.estimates.items()},
        "undefined": at.undefined,
    }


def _lines(now: Mapping[str, QueueProgress], at: Look) -> str:
    wide = max(map(len, now))
    lines = []
    for expert, p in now.items():
        bar = "█" * round(20 * p.answered / p.asked)
        left = "" if p.seconds_left is None else f", about {_span(p.seconds_left)} left"
        lines.append(f"{expert:<{wide}} {bar:<20} {p.answered}/{p.asked}{left}")
    lines += [f"{name}: {estimate}" for name, estimate in at.estimates.items()]
    lines += [f"{name}: no estimate yet ({why})" for name, why in at.undefined.items()]
    if at.slowest and at.estimates:
        lines.append(
            f"estimated from the first {at.share:.0%} of every queue, as far as {at.slowest} has come"
        )
    return "\n".join(lines)


def _span(seconds: float) -> str:
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
