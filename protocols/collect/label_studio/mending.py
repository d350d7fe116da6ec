"""What others did to a project on the server, undone; and the questions that they spoiled."""

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
    """What was found in one expert's project: settings put back, predictions removed, tasks nobody sent."""

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
    """Put settings back and remove predictions.

    Parameters
    ----------
    project
        As it was found.
    foreign
        Number of its tasks that nobody sent.
    """
    settings = put_back_settings(client, labels, queue, project, sheet.instructions)
    found = client.read_predictions(project.id) if project.predictions else []
    for prediction in found:
        client.delete_prediction(prediction.id)
        told = {"prediction": prediction.id, "task": prediction.task, "made": prediction.created_at}
        labels.note(AuditEvent(kind="removed", way=SOURCE, person=queue.expert, detail=told))
    return Mended(
        expert=queue.expert,
        settings=settings,
        predictions=len(found),
        foreign=foreign,
    )


def find_asked_again(labels: LabellingRepository, replies: ReplyRepository) -> dict[str, list[Quarantined]]:
    """Open question that its expert is not served any more → what lies on its task and counts for nothing."""
    rows: dict[str, list[Quarantined]] = defaultdict(list)
    for row in labels.read_quarantine():
        if row.question_id is not None and not row.over:
            rows[row.question_id].append(row)
    again = sorted(name for name, found in rows.items() if {row.reason for row in found} & set(ASKED_AGAIN))
    answered = replies.find_values(again) if again else {}
    return {name: rows[name] for name in again if name not in answered}
