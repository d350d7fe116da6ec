"""A Label Studio server as labelling needs it: who is there, projects, tasks."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from protocols.collect.label_studio.server.transport import Transport

_FIELDS = "id,description,label_config,task_number"  # all the others cost a query each
_CLOCK = "%Y-%m-%dT%H:%M:%S.%fZ"  # the one form the server's filter reads
_HOOKED = ["ANNOTATION_CREATED", "ANNOTATION_UPDATED", "ANNOTATIONS_DELETED"]
_SETTINGS = {
    # More than one, so that a stranger's answer or a task lock left open does not take a task away
    # from the expert who was asked; at most one answer is accepted anyway.
    "maximum_annotations": 100,
    "sampling": "Sequential sampling",
    "skip_queue": "IGNORE_SKIPPED",
    "show_skip_button": False,
    "enable_empty_annotation": False,
    "show_collab_predictions": False,
}


@dataclass(frozen=True, slots=True)
class Project:
    """A project as it is on the server at present."""

    id: int
    description: str
    page: str
    tasks: int


class Client(Transport):
    """A Label Studio server, as far as labelling needs it."""

    # --- who and what ------------------------------------------------------------------------

    def check_token(self) -> None:
        """Ask whose the token is; one that the server refuses is a `ConfigError`."""
        self.read("users.whoami", patient=False)

    def read_users(self) -> dict[str, int]:
        """E-mail address (lower case) → user id, of all accounts."""
        return {str(u.email).lower(): int(u.id) for u in self.read("users.list")}

    def read_invitation(self) -> str:
        """Address at which an account can be made."""
        link = str(self.read("organizations.invites.get_invite_link").invite_url)
        return link if link.startswith("http") else self.url + link

    # --- projects ----------------------------------------------------------------------------

    def read_projects(self, ids: Sequence[int]) -> dict[int, Project]:
        """The projects of these ids that are there, in one call."""
        if not ids:
            return {}
        rows = self.read_pages("projects.list", ids=",".join(map(str, ids)), include=_FIELDS)
        return {p.id: p for p in map(_project, rows) if p.id in set(ids)}

    def find_project(self, marker: str) -> Project | None:
        """Find the project whose description carries the marker."""
        rows = self.read_pages("projects.list", include=_FIELDS)
        return next((p for p in map(_project, rows) if marker in p.description), None)

    def create_project(self, title: str, page: str, description: str, instructions: str) -> Project:
        """Make a project in which nothing but the task is shown."""
        made = self.write(
            "projects.create",
            title=title,
            label_config=page,
            description=description,
            expert_instruction=instructions,
            show_instruction=bool(instructions),
            **_SETTINGS,
        )
        return Project(int(made.id), description, page, 0)

    def update_project(self, project_id: int, **changes: object) -> None:
        """Change a project's page or settings."""
        self.write("projects.update", id=project_id, **changes)

    def delete_project(self, project_id: int) -> None:
        """Remove a project with all that is in it."""
        self.write("projects.delete", id=project_id)

    # --- hooks -------------------------------------------------------------------------------

    def read_hooks(self, project_id: int, part: str) -> list[int]:
        """Ids of a project's webhooks whose address has the part."""
        found = self.read("webhooks.list", project=str(project_id))
        return [int(hook.id) for hook in found if part in str(hook.url)]

    def add_hook(self, project_id: int, url: str) -> int:
        """Have an address called, without content, whenever an annotation changes."""
        made = self.write(
            "webhooks.create",
            project=project_id,
            url=url,
            actions=_HOOKED,
            send_payload=False,
            send_for_all_actions=False,
        )
        return int(made.id)

    def remove_hook(self, hook_id: int) -> None:
        """Have it called no more."""
        self.write("webhooks.delete", id=hook_id)

    # --- tasks -------------------------------------------------------------------------------

    def import_tasks(self, project_id: int, data: Sequence[Mapping[str, object]]) -> list[int] | None:
        """Send tasks in one request; their ids in order, or None if the server does not tell."""
        request = [{"data": dict(d)} for d in data]
        reply = self.write("projects.import_tasks", id=project_id, request=request, return_task_ids=True)
        ids = [int(i) for i in getattr(reply, "task_ids", None) or ()]
        return ids if len(ids) == len(request) else None

    def delete_task(self, task_id: int) -> None:
        """Remove a task."""
        self.write("tasks.delete", id=str(task_id))

    def read_tasks(self, project_id: int, since: datetime | None = None) -> list[dict[str, Any]]:
        """List tasks with ``id``, ``data`` and all their ``annotations``.

        Parameters
        ----------
        since
            Only tasks changed after this time of the server: answered, edited, skipped, …
        """
        query: dict[str, Any] = {"ordering": ["tasks:id"]}
        if since is not None:
            changed = {"filter": "filter:tasks:updated_at", "operator": "greater", "type": "Datetime"}
            value = since.astimezone(UTC).strftime(_CLOCK)
            query["filters"] = {"conjunction": "and", "items": [{**changed, "value": value}]}
        rows = self.read_pages("tasks.list", project=project_id, query=json.dumps(query), fields="all")
        return [{"id": int(r.id), "data": r.data, "annotations": _annotations(r)} for r in rows]


def _project(row: Any) -> Project:
    return Project(
        int(row.id), str(row.description or ""), str(row.label_config or ""), int(row.task_number or 0)
    )


def _annotations(row: Any) -> list[dict[str, Any]]:
    found = getattr(row, "annotations", None) or ()
    return [a if isinstance(a, dict) else a.model_dump() for a in found]
