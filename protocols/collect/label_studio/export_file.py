"""Read answers from a Label Studio JSON export, for campaigns that were run elsewhere.

The tasks must contain this project's ``question_id``, as tasks sent by `label push` do. Tasks may also be
made from the files of `label export`, in which ids have a prefix and a checksum. Users are identified by
e-mail address if the export contains it. The JSON export of newer versions contains only user numbers. Then
the only possible check is that no user number answers the questions of two experts.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from oversight.harness import DataError
from oversight.harness.output import decode_text, explain_kind
from oversight.harness.store import Response
from oversight.harness.types import Item
from oversight.protocols.collect.label_studio.accounts import make_account_email, strip_mark
from oversight.protocols.collect.label_studio.adjudication import adjudicate, read_annotation
from oversight.protocols.collect.spreadsheets.cells import ASSIGNMENT_PREFIX, QUESTION_PREFIX, read_id
from oversight.protocols.routing import Pending, Roster

SOURCE = "label_studio_export"


def read_label_studio_export(
    files: Sequence[str | Path], asked: Sequence[Pending], items: Mapping[str, Item], roster: Roster
) -> list[Response]:
    """Read the answers in JSON exports of Label Studio; tasks without an annotation are skipped.

    Raises
    ------
    DataError
        If a file is not such an export, a question was never asked, an answer is from the wrong expert, or an
        answer was not offered. The message names the file, the task and the field.
    """
    by_id = {a.id: a for a in asked}
    emails = {strip_mark(make_account_email(e, "")): e.name for e in roster.experts}
    replies: dict[str, Response] = {}
    users: dict[int, str] = {}
    for file in files:
        for number, task in enumerate(_tasks(file), start=1):
            reply = _reply(file, number, task, by_id, items, emails, users)
            if reply is not None and replies.setdefault(reply.id, reply).value != reply.value:
                raise DataError(
                    f"question {reply.id!r} has two answers", file=file, line=number, field="annotations"
                )
    return list(replies.values())


def _tasks(file: str | Path) -> list[Any]:
    try:
        data = Path(file).read_bytes()
        if kind := explain_kind(data[:4096], Path(file).name):
            raise DataError(kind, file=file)
        if not data.strip():
            raise DataError("the file is empty", file=file)
        tasks = json.loads(decode_text(data))
    except FileNotFoundError:
        raise DataError("there is no such file", file=file) from None
    except (OSError, ValueError, RecursionError) as error:
        raise DataError(f"not a readable JSON file: {error}", file=file) from None
    if not isinstance(tasks, list):
        raise DataError("a Label Studio export is a list of tasks; choose the format JSON", file=file)
    return tasks


def _reply(
    file: str | Path,
    number: int,
    task: Any,
    by_id: Mapping[str, Pending],
    items: Mapping[str, Item],
    emails: Mapping[str, str],
    users: dict[int, str],
) -> Response | None:
    """Return the answer to one task, judged as in a pull, and record in `users` the author's expert name."""

    def wrong(field: str, message: str) -> DataError:
        return DataError(f"task {number}: {message}", file=file, field=field)

    if not isinstance(task, dict) or not isinstance(task.get("data"), dict):
        raise wrong("data", "has no data; choose the export format JSON, not JSON-MIN")
    data = {name.strip("\ufeff "): value for name, value in task["data"].items()}
    given = data.get("question_id", data.get("assignment_id"))
    asked = by_id.get(read_id(read_id(str(given), QUESTION_PREFIX), ASSIGNMENT_PREFIX))
    if asked is None:
        raise wrong("data.question_id", f"the question {given!r} was never asked")
    try:
        found = [
            read_annotation({**row}, asked.expert, int(row.get("task") or task.get("id") or number), asked.id)
            for row in task["annotations"]
        ]
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise wrong("annotations", f"cannot be read ({type(error).__name__}: {error})") from None
    if not found:
        return None
    author, told = found[0].author, task["annotations"][0].get("completed_by")
    if author is None:
        raise wrong("completed_by", "the export does not say who answered")
    email = strip_mark(str(told.get("email", ""))) if isinstance(told, Mapping) else ""
    if email and email not in emails:
        raise wrong("completed_by", f"the user {email} is not an expert of the roster")
    expert = users.setdefault(author, emails.get(email, asked.expert))
    if expert != asked.expert:
        raise wrong("completed_by", f"the question was put to {asked.expert!r}, user {author} is {expert!r}")
    judged = adjudicate(found, author, asked, items[asked.item_id])
    if judged.rejected:
        _, reason, detail = judged.rejected[0]
        raise wrong("annotations", f"{reason.value} ({detail})")
    return Response(asked.id, asked.expert, judged.value or "", SOURCE, judged.comment)
