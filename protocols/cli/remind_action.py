"""``oversight label remind``: write reminders without sending them."""

from __future__ import annotations

import argparse
from dataclasses import asdict

from oversight.harness.cli import emit
from oversight.harness.config import Study
from oversight.harness.store import Store
from oversight.protocols.people import write_reminders


def remind(args: argparse.Namespace, study: Study) -> int:
    """Print a reminder for every expert with open questions."""
    with Store(study.store_url) as store:
        found = write_reminders(study, store, args.expert)
    lines = [
        f"({r.expert} is away{'' if r.away == 'for good' else ' until'} {r.away}: {r.open} open)"
        if r.away
        else f"{f'<{r.email}> ' if r.email else ''}{r.text}"
        for r in found
    ]
    emit(args, {"reminders": [asdict(r) for r in found]}, "\n".join(lines) or "nothing is open")
    return 0
