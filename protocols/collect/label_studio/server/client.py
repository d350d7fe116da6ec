"""The calls to a Label Studio server that labelling needs: users, projects and tasks."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit

from oversight.protocols.collect.label_studio.server.transport import MissingError, Transport

Digest = Callable[[Mapping[str, object]], str]
# The server's filter reads times only in this format.
_CLOCK = "%Y-%m-%dT%H:%M:%S.%fZ"
_SETTINGS = {
    # Allow many annotations, because another user's answer or lock would hide a task from its expert.
    # This is safe, because `pull` does not accept different answers to one question.
    "maximum_annotations": 100,
    "sampling": "Sequential sampling",
    "skip_queue": "IGNORE_SKIPPED",
    "show_skip_button": False,
    "enable_empty_annotation": False,
    "show_collab_predictions": False,
    # Turn off features that are not needed, or that would show an expert more than the question.
    "evaluate_predictions_automatically": False,
    "model_version": "",
    "overlap_cohort_percentage": 100,
    "reveal_preannotations_interactively": False,
    "show_annotation_history": False,
    "show_ground_truth_first": False,
    "show_overlap_first": False,
}
_TOLD = ("expert_instruction", "show_instruction")
_FIELDS = ",".join(
    ("id", "description", "label_config", "task_number", "total_predictions_number", *_TOLD, *_SETTINGS)
)  # most other fields of a project cost one query each
# Only these fields of tasks and annotations are read, because every further field costs the server a query.
_OF_ANSWERS = (
    "id,data,updated_at,annotations,result,completed_by,updated_by,was_cancelled,lead_time,"
    "parent_prediction,created_at"
)
# Limit the number of id ranges per request, because the request's URL must not become too long.
_RANGES = 20
_ANSWERED = [
    {"filter": f"filter:tasks:{name}", "operator": "greater", "type": "Number", "value": 0}
    for name in ("total_annotations", "cancelled_annotations")
]


@dataclass(frozen=True, slots=True)
class Project:
    """State of a project on the server; `settings` has the current values of settings that a push sets."""

    id: int
    description: str
    page: str
    tasks: int
    predictions: int = 0
    settings: Mapping[str, object] = field(default_factory=dict)

    def find_changed(self, instructions: str) -> dict[str, object]:
        """Return the settings that the next push would change: name → new value."""
        meant = make_settings(instructions)
        return {name: value for name, value in meant.items() if self.settings.get(name, value) != value}


@dataclass(frozen=True, slots=True)
class TaskPrediction:
    """A prediction on a task, with the time of its creation."""

    id: int
    task: int
    created_at: str


def make_settings(instructions: str) -> dict[str, object]:
    """Return the settings of a project, including the text shown before the first question."""
    return {**_SETTINGS, "expert_instruction": instructions, "show_instruction": bool(instructions)}


class Client(Transport):
    """A Label Studio server with the calls that labelling needs."""

    # --- users, projects and tasks -----------------------------------------------------------

    def check_token(self) -> None:
        """Check the token with the server; a refused token raises `ConfigError`."""
        self.call_with_retries("users.whoami", patient=False)

    def read_users(self) -> dict[str, int]:
        """Return user ids of all accounts by e-mail address (lower case)."""
        return {str(u.email).lower(): int(u.id) for u in self.call_with_retries("users.list")}

    def read_invitation(self) -> str:
        """Return the path of the invitation link, with its token, where an account can be created."""
        link = urlsplit(str(self.call_with_retries("organizations.invites.get_invite_link").invite_url))
        return f"{link.path}?{link.query}"

    # --- projects ----------------------------------------------------------------------------

    def read_projects(self, ids: Sequence[int]) -> dict[int, Project]:
        """Return the existing projects with these ids, in one call."""
        if not ids:
            return {}
        rows = self.read_pages("projects.list", ids=",".join(map(str, ids)), include=_FIELDS)
        return {p.id: p for p in map(_project, rows) if p.id in set(ids)}

    def find_projects(self, marker: str) -> list[Project]:
        """Find the projects whose description contains the marker, those with tasks first."""
        rows = self.read_pages("projects.list", include=_FIELDS)
        found = [p for p in map(_project, rows) if marker in p.description]
        return sorted(found, key=lambda p: (not p.tasks, p.id))

    def create_project(self, title: str, page: str, description: str, instructions: str) -> Project:
        """Create a project that shows only the task."""
        made = self.call_once(
            "projects.create",
            title=title,
            label_config=page,
            description=description,
            **make_settings(instructions),
        )
        return Project(int(made.id), description, page, 0)

    def update_project(self, project_id: int, **changes: object) -> None:
        """Change a project's page or settings."""
        self.call_once("projects.update", id=project_id, **changes)

    def delete_project(self, project_id: int) -> None:
        """Delete a project with its content."""
        self.call_once("projects.delete", id=project_id)

    # --- tasks -------------------------------------------------------------------------------

    def import_tasks(self, project_id: int, data: Sequence[Mapping[str, object]]) -> list[int] | None:
        """Send tasks in one request. Returns their ids in order, or None if the server omits them."""
        request = [{"data": dict(d)} for d in data]
        reply = self.call_once("projects.import_tasks", id=project_id, request=request, return_task_ids=True)
        ids = [int(i) for i in getattr(reply, "task_ids", None) or ()]
        return ids if len(ids) == len(request) else None

    def delete_task(self, task_id: int) -> None:
        """Remove a task."""
        self.call_once("tasks.delete", id=str(task_id))

    def drop_task(self, task_id: int) -> None:
        """Delete a task; it may already be deleted."""
        with contextlib.suppress(MissingError):
            self.delete_task(task_id)

    def list_tasks(self, project_id: int) -> list[dict[str, Any]]:
        """Return all tasks with ``id``, ``data`` and the ids of their ``annotations``."""
        ordered = json.dumps({"ordering": ["tasks:id"]})
        wanted = {"fields": "all", "include": "id,data,annotations"}
        return self.read_pages("tasks.list", _keep_task, project=project_id, query=ordered, **wanted)

    def count_tasks_among(self, project_id: int, ranges: Sequence[tuple[int, int]]) -> int:
        """Return the number of tasks whose ids lie in one of the disjoint ranges, which include both ends."""
        total, name = 0, {"filter": "filter:tasks:id", "operator": "in", "type": "Number"}
        for start in range(0, len(ranges), _RANGES):
            items = [
                {**name, "value": {"min": low, "max": high}} for low, high in ranges[start : start + _RANGES]
            ]
            query = json.dumps({"filters": {"conjunction": "or", "items": items}})
            total += self.read_total("tasks.list", project=project_id, query=query, include="id")
        return total

    def read_answered_tasks(self, project_id: int, digest: Digest) -> list[dict[str, Any]]:
        """Return tasks that were answered or skipped, in the form of `read_changed_tasks`."""
        return self._read_tasks(project_id, {"conjunction": "or", "items": _ANSWERED}, digest)

    def read_changed_tasks(self, project_id: int, since: datetime, digest: Digest) -> list[dict[str, Any]]:
        """Return tasks changed after a time on the server's clock, for example by an answer or a skip.

        Returns
        -------
        list of dict
            ``id``, ``digest`` (a hash of the task's data, which are not kept, to save memory), ``updated_at``
            in ISO 8601, and all ``annotations``.
        """
        changed = {"filter": "filter:tasks:updated_at", "operator": "greater", "type": "Datetime"}
        value = since.astimezone(UTC).strftime(_CLOCK)
        return self._read_tasks(
            project_id, {"conjunction": "and", "items": [{**changed, "value": value}]}, digest
        )

    def _read_tasks(
        self, project_id: int, filters: Mapping[str, Any], digest: Digest
    ) -> list[dict[str, Any]]:
        def keep(row: Any) -> dict[str, Any]:
            told = {"digest": digest(row.data), "updated_at": _write_time(row.updated_at)}
            return {"id": int(row.id), **told, "annotations": _annotations(row)}

        query = json.dumps({"ordering": ["tasks:id"], "filters": filters})
        wanted = {"project": project_id, "query": query, "fields": "all"}
        rows = self.read_pages("tasks.list", keep, **wanted, include=_OF_ANSWERS)
        if any("completed_by" not in a for row in rows for a in row["annotations"]):
            rows = self.read_pages(
                "tasks.list", keep, **wanted
            )  # this server cannot select fields of annotations
        return rows

    # --- predictions -------------------------------------------------------------------------

    def read_predictions(self, project_id: int) -> list[TaskPrediction]:
        """Return predictions that somebody added to a project's tasks."""
        found = self.call_with_retries("predictions.list", project=project_id)
        return [TaskPrediction(int(p.id), int(p.task), _write_time(p.created_at)) for p in found]

    def delete_prediction(self, prediction_id: int) -> None:
        """Remove a prediction."""
        self.call_once("predictions.delete", id=prediction_id)


def _write_time(told: object) -> str:
    return told.isoformat() if isinstance(told, datetime) else str(told or "")


def _project(row: Any) -> Project:
    return Project(
        int(row.id),
        str(row.description or ""),
        str(row.label_config or ""),
        int(row.task_number or 0),
        int(getattr(row, "total_predictions_number", 0) or 0),
        {name: getattr(row, name) for name in (*_TOLD, *_SETTINGS) if hasattr(row, name)},
    )


def _keep_task(row: Any) -> dict[str, Any]:
    return {"id": int(row.id), "data": row.data, "annotations": _annotations(row)}


def _annotations(row: Any) -> list[dict[str, Any]]:
    found = getattr(row, "annotations", None) or ()
    return [a if isinstance(a, dict) else a.model_dump() for a in found]
