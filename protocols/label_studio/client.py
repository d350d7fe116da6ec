"""The one place that talks to a Label Studio server, through its SDK.

Every failure becomes one of this project's errors, with the token cut out. Reading is tried again
while a server restarts; writing is not: whoever wrote looks first what has arrived.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, TypeVar

from harness.errors import ConfigError, LabelStudioError

if TYPE_CHECKING:
    import httpx

    from protocols.label_studio.connection import Connection

T = TypeVar("T")
Sdk = Any  # the generated types do not say what the Community edition answers
PAGE = 500
_CLOCK = "%Y-%m-%dT%H:%M:%S.%fZ"  # the one form the server's filter reads
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
    """What a project is like on the server at present."""

    id: int
    description: str
    page: str
    tasks: int


class Client:
    """A Label Studio server.

    Parameters
    ----------
    connection
        Where, and the token.
    patience
        Seconds for which reading is tried again when the server does not answer.
    timeout
        Seconds to wait for one answer.
    """

    def __init__(self, connection: Connection, *, patience: float = 20.0, timeout: float = 120.0) -> None:
        self.url, self._connection = connection.url, connection
        self._patience, self._timeout = patience, timeout
        self._clock = datetime.now(UTC)

    def close(self) -> None:
        """Close the connection."""
        if "_http" in self.__dict__:
            self._http.close()

    # --- who and what ------------------------------------------------------------------------

    def version(self) -> str:
        """Version of the server."""
        return str(self._read(lambda sdk: sdk.versions.get(), patient=False).release)

    def me(self) -> str:
        """E-mail address of the account that the token belongs to."""
        return str(self._read(lambda sdk: sdk.users.whoami(), patient=False).email)

    def users(self) -> dict[str, int]:
        """E-mail address (lower case) → user id, of all accounts."""
        return {str(u.email).lower(): int(u.id) for u in self._read(lambda sdk: sdk.users.list())}

    def invitation(self) -> str:
        """Address at which an account can be made."""
        reply = self._read(lambda sdk: sdk.organizations.invites.get_invite_link())
        link = str(reply.invite_url)
        return link if link.startswith("http") else self.url + link

    @property
    def clock(self) -> datetime:
        """The server's own time when it last answered."""
        return self._clock

    # --- projects ----------------------------------------------------------------------------

    def projects(self, ids: Sequence[int]) -> dict[int, Project]:
        """The projects of these ids that are there, in one call."""
        if not ids:
            return {}
        numbers = ",".join(map(str, ids))
        rows = self._pages(lambda sdk, n: sdk.projects.list(ids=numbers, page=n, page_size=PAGE))
        return {p.id: p for p in map(_project, rows) if p.id in set(ids)}

    def find_project(self, marker: str) -> Project | None:
        """Find the project whose description carries the marker."""
        rows = self._pages(lambda sdk, n: sdk.projects.list(page=n, page_size=PAGE))
        return next((p for p in map(_project, rows) if marker in p.description), None)

    def create_project(self, title: str, page: str, description: str, instructions: str) -> Project:
        """Make a project in which nothing but the task is shown."""
        made = self._write(
            lambda sdk: sdk.projects.create(
                title=title,
                label_config=page,
                description=description,
                expert_instruction=instructions,
                show_instruction=bool(instructions),
                **_SETTINGS,
            )
        )
        return Project(int(made.id), description, page, 0)

    def update_project(self, project_id: int, **changes: object) -> None:
        """Change a project's page or settings."""
        self._write(lambda sdk: sdk.projects.update(id=project_id, **changes))

    def delete_project(self, project_id: int) -> None:
        """Remove a project with all that is in it."""
        self._write(lambda sdk: sdk.projects.delete(id=project_id))

    # --- tasks -------------------------------------------------------------------------------

    def import_tasks(self, project_id: int, data: Sequence[Mapping[str, str]]) -> list[int] | None:
        """Send tasks in one request; their ids in order, or None if the server does not tell."""
        request: Any = [{"data": dict(d)} for d in data]
        reply = self._write(
            lambda sdk: sdk.projects.import_tasks(id=project_id, request=request, return_task_ids=True)
        )
        ids = [int(i) for i in reply.task_ids or ()]
        return ids if len(ids) == len(request) else None

    def delete_task(self, task_id: int) -> None:
        """Remove a task."""
        self._write(lambda sdk: sdk.tasks.delete(id=str(task_id)))

    def tasks(
        self, project_id: int, since: datetime | None = None, *, answers: bool = True
    ) -> list[dict[str, Any]]:
        """List tasks with ``id`` and ``data`` and, if `answers`, all their ``annotations``.

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
        more: dict[str, Any] = {"fields": "all"} if answers else {"include": "id,data"}
        rows = self._pages(
            lambda sdk, n: sdk.tasks.list(
                project=project_id, query=json.dumps(query), page=n, page_size=PAGE, **more
            )
        )
        return [_task(row) for row in rows]

    # --- plumbing ----------------------------------------------------------------------------

    def _pages(self, page: Callable[[Sdk, int], Any]) -> list[Any]:
        """All pages of a list: as many rows as the server says there are, none twice.

        The list may change while it is read; then it is read again.
        """
        for _ in range(4):
            rows: dict[int, Any] = {}
            number, total, steady = 1, 0, True
            while number == 1 or (len(rows) < total and steady):
                found = self._read(partial(_at, page, number))
                items = list(found.items or ())
                reply = found.response  # two kinds of lists, two names
                count = int(getattr(reply, "total", None) or getattr(reply, "count", 0) or 0)
                steady = bool(items) and (number == 1 or count == total)
                rows |= {int(row.id): row for row in items}
                number, total = number + 1, count
            if len(rows) == total:
                return list(rows.values())
        raise LabelStudioError(
            f"{self.url}: a list has {len(rows)} of {total} entries; run the command again"
        )

    def _read(self, call: Callable[[Sdk], T], *, patient: bool = True) -> T:
        """Call, and again while the server is away; first waits are short, as a restart may be."""
        deadline, wait = time.monotonic() + (self._patience if patient else 0), 0.2
        while True:
            try:
                return self._write(call)
            except _AwayError as error:
                if time.monotonic() + wait > deadline:
                    raise LabelStudioError(str(error)) from None
            time.sleep(wait)
            wait = min(2 * wait, 2.0)

    def _write(self, call: Callable[[Sdk], T]) -> T:
        import httpx
        from label_studio_sdk.core.api_error import ApiError

        try:
            return call(self._sdk)
        except httpx.TimeoutException:
            raise _AwayError(f"{self.url} did not answer within {self._timeout:.0f} s") from None
        except httpx.HTTPError as error:
            raise _AwayError(f"{self.url} cannot be reached: {self._clean(str(error))}") from None
        except ApiError as error:
            raise self._error(error.status_code or 0, error.body) from None
        except ValueError as error:  # not JSON, or not of the expected form
            raise _AwayError(f"{self.url} sent an unreadable answer: {self._clean(str(error))}") from None

    def _error(self, status: int, body: object) -> Exception:
        detail = (
            body.get("detail") or body.get("validation_errors") or body if isinstance(body, dict) else body
        )
        said = self._clean(str(detail))
        if status == 401:
            return ConfigError(
                f"{self.url} refuses the token ({said}): oversight doctor tells what it is and the mend"
            )
        if status == 403:
            return ConfigError(f"{self.url}: the account may not do this ({said}): use the owner's token")
        if status >= 500 or status in (0, 200, 201, 429):
            return _AwayError(f"{self.url} failed with status {status}: {said}")
        return LabelStudioError(f"{self.url} answered with status {status}: {said}")

    def _clean(self, text: str) -> str:
        return " ".join(text.replace(self._connection.token, "[token]").split())[:200]

    def _note_time(self, response: httpx.Response) -> None:
        if "date" in response.headers:
            self._clock = parsedate_to_datetime(response.headers["date"])

    @cached_property
    def _http(self) -> httpx.Client:
        import httpx

        return httpx.Client(
            timeout=self._timeout,
            event_hooks={"response": [self._note_time]},
            follow_redirects=True,
            trust_env=not self._connection.is_local,
        )

    @cached_property
    def _sdk(self) -> Sdk:
        from label_studio_sdk import LabelStudio  # 3 s: only who talks to a server pays

        make: Any = LabelStudio  # it has no types of its own
        return make(base_url=self.url, api_key=self._connection.token, max_retries=0, httpx_client=self._http)


class _AwayError(LabelStudioError):
    """The server is not there, or not itself: another try may help."""


def _at(page: Callable[[Sdk, int], Any], number: int, sdk: Sdk) -> Any:
    return page(sdk, number)


def _project(row: Any) -> Project:
    return Project(
        int(row.id), str(row.description or ""), str(row.label_config or ""), int(row.task_number or 0)
    )


def _task(row: Any) -> dict[str, Any]:
    annotations = [
        a if isinstance(a, dict) else a.model_dump() for a in getattr(row, "annotations", None) or ()
    ]
    return {"id": int(row.id), "data": row.data, "annotations": annotations}
