"""``oversight label reassign``: give an expert's open questions to another, here and on a server."""

from __future__ import annotations

import argparse
from dataclasses import asdict

from oversight.harness.cli import emit
from oversight.harness.config import Study
from oversight.harness.output import counted
from oversight.harness.store import Store
from oversight.protocols.people import Reassigned, reassign


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


def run_reassign(args: argparse.Namespace, study: Study) -> int:
    """Reassign the open questions of one expert to another."""
    with Store(study.store_url) as store:
        done = hand_over(study, store, args.expert, args.to, args.reason)
    emit(args, asdict(done), tell_reassigned(done, args.expert, args.to))
    return 0
