"""Undo changes that others made to a project on the server, and find the questions they made invalid."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from oversight.harness.store import (
    SOURCE,
    AuditEvent,
    LabellingRepository,
    Quarantined,
    Queue,
    ReplyRepository,
)
from oversight.protocols.collect.label_studio.adjudication import ASKED_AGAIN
from oversight.protocols.collect.label_studio.push import put_back_settings
from oversight.protocols.collect.label_studio.server import Client, Project
from oversight.protocols.collect.label_studio.task_payload import TaskSheet


@dataclass(frozen=True, slots=True, kw_only=True)
class Mended:
    """Findings in one expert's project: restored settings, removed predictions, tasks from elsewhere."""

    expert: str
    settings: tuple[str, ...] = ()
    predictions: int = 0
    foreign: int = 0


def mend_project(
    client: Client,
    labels: LabellingRepository,
    queue: Queue,
    project: Project,
    sheet: TaskSheet,
    foreign: int,
) -> Mended:
    """Restore settings, and remove predictions.

    Parameters
    ----------
    project
        The project as it is on the server.
    foreign
        Number of its tasks from elsewhere.
    """
    settings = put_back_settings(client, labels, queue, project, sheet.instructions)
    found = client.read_predictions(project.id) if project.predictions else []
    for prediction in found:
        client.delete_prediction(prediction.id)
        told = {"prediction": prediction.id, "task": prediction.task, "made": prediction.created_at}
        labels.record_event(AuditEvent(kind="removed", way=SOURCE, person=queue.expert, detail=told))
    return Mended(
        expert=queue.expert,
        settings=settings,
        predictions=len(found),
        foreign=foreign,
    )


def find_asked_again(labels: LabellingRepository, replies: ReplyRepository) -> dict[str, list[Quarantined]]:
    """Return open questions that their expert can no longer see, with the annotations that do not count."""
    rows: dict[str, list[Quarantined]] = defaultdict(list)
    for row in labels.read_quarantine():
        if row.question_id is not None and not row.over:
            rows[row.question_id].append(row)
    again = sorted(name for name, found in rows.items() if {row.reason for row in found} & set(ASKED_AGAIN))
    answered = replies.find_values(again) if again else {}
    return {name: rows[name] for name in again if name not in answered}
