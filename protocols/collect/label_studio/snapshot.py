"""What is known here before a pull: what was asked, what came another way, what was seen last time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from harness.config import Study
from harness.store import SOURCE, Response, Revision, Store
from harness.types import Item
from protocols.collect.pending import Pending, read_pending


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What is known here before a pull.

    Attributes
    ----------
    asked
        Id → question or assignment.
    items
        Item id → item.
    elsewhere
        Id → reply that came another way, such as a file.
    live
        (expert, task id) → annotation id → its last revision, unless that was its end.
    quarantined
        Expert → ids of tasks with something in quarantine.
    """

    asked: Mapping[str, Pending]
    items: Mapping[str, Item]
    elsewhere: Mapping[str, Response]
    live: Mapping[tuple[str, int], Mapping[int, Revision]]
    quarantined: Mapping[str, frozenset[int]]


def take_snapshot(study: Study, store: Store) -> Snapshot:
    """Read all of it from the study's database."""
    last: dict[tuple[str, int], Revision] = {}
    for revision in store.labelling.read_revisions():
        last[revision.expert, revision.annotation_id] = revision
    live: dict[tuple[str, int], dict[int, Revision]] = defaultdict(dict)
    for revision in last.values():
        if not revision.deleted:
            live[revision.expert, revision.task_id][revision.annotation_id] = revision
    quarantined: dict[str, set[int]] = defaultdict(set)
    for row in store.labelling.read_quarantine():
        quarantined[row.expert].add(row.task_id)
    replies = store.replies(panel=study.experts.is_panel).read_replies()
    return Snapshot(
        asked={a.id: a for a in read_pending(study, store)},
        items={item.id: item for item in store.content.read_items()},
        elsewhere={i: r for i, r in replies.items() if r.source != SOURCE},
        live=live,
        quarantined={expert: frozenset(ids) for expert, ids in quarantined.items()},
    )
