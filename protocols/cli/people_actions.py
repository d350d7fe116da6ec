"""The verbs of ``oversight label`` about open questions: giving them to another expert, and reminders."""

from __future__ import annotations

import argparse
from dataclasses import asdict

from oversight.harness.cli import emit
from oversight.harness.config import Study
from oversight.harness.output import counted
from oversight.harness.store import Store
from oversight.protocols.people import Reassigned, reassign, write_reminders


def hand_over(study: Study, store: Store, giver: str, taker: str, reason: str) -> Reassigned:
    """Reassign open questions; if they are on a server, pull before and push afterwards."""
    queues = store.labelling.read_queues().values()
    if all(queue.closed for queue in queues):
        return reassign(study, store, giver, taker, reason)
    from oversight.protocols.collect import Campaign

    with Campaign(study, store) as campaign:
        campaign.pull()
        done = reassign(study, store, giver, taker, reason)
        campaign.push()
    return done


def tell_reassigned(done: Reassigned, giver: str, taker: str) -> str:
    """Describe in a sentence how many questions were reassigned."""
    text = f"{counted(done.moved, 'open question')} of {giver} went to {taker}"
    if done.repeats:
        text += f"; {done.repeats} of them repeat questions that {taker} already has, and count as repeats"
    return text + "".join(f"; {n} stayed, as {why}" for why, n in done.kept.items())


def run_reassign(args: argparse.Namespace, study: Study) -> None:
    """Reassign the open questions of one expert to another."""
    with Store(study.store_url) as store:
        done = hand_over(study, store, args.expert, args.to, args.reason)
    emit(args, asdict(done), tell_reassigned(done, args.expert, args.to))


def remind(args: argparse.Namespace, study: Study) -> None:
    """Print a text for every expert with open questions."""
    with Store(study.store_url) as store:
        found = write_reminders(study, store, args.expert)
    lines = [
        f"({r.expert} is away{'' if r.away == 'for good' else ' until'} {r.away}: {r.open} open)"
        if r.away
        else f"{f'<{r.email}> ' if r.email else ''}{r.text}"
        for r in found
    ]
    emit(args, {"reminders": [asdict(r) for r in found]}, "\n".join(lines) or "nothing is open")
