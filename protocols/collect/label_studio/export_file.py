"""Read answers from a Label Studio JSON export, for campaigns that were run elsewhere.

The tasks must contain this project's ``question_id``, as tasks sent by `label push` do. Tasks may also be
made from the files of `label export`, in which ids have a prefix and a checksum. Users are identified by
e-mail address if the export contains it. The JSON export of newer versions contains only user numbers. Then
the questions of one expert must have been answered by one user, who answered no other expert's questions. If
`label push` sent the task, this user must be the account of the expert.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from oversight.harness import DataError
from oversight.harness.config import Study
from oversight.harness.output import decode_text, explain_kind, shorten
from oversight.harness.store import Response, Store
from oversight.harness.types import Item, Question
from oversight.protocols.collect.label_studio.accounts import make_account_email, strip_mark
from oversight.protocols.collect.label_studio.adjudication import Reason, adjudicate, read_annotation
from oversight.protocols.collect.question_texts import QuestionTexts
from oversight.protocols.collect.spreadsheets.cells import (
    ASSIGNMENT_PREFIX,
    QUESTION_PREFIX,
    is_same,
    read_id,
    write_cells,
)
from oversight.protocols.routing import Pending, Roster, read_pending, read_roster

SOURCE = "label_studio_export"
_Wrong = Callable[[str, str], DataError]


@dataclass(frozen=True, slots=True)
class SentTask:
    """A task that this study sent to a server: its id there, and the user id of its expert."""

    task_id: int
    user_id: int


def read_label_studio_export(
    files: Sequence[str | Path],
    asked: Sequence[Pending],
    items: Mapping[str, Item],
    roster: Roster,
    *,
    texts: QuestionTexts | None = None,
    sent: Mapping[str, SentTask] | None = None,
    stored: Mapping[str, str] | None = None,
) -> list[Response]:
    """Read the answers in JSON exports of Label Studio; tasks without an annotation are skipped.

    Parameters
    ----------
    files
        The exports.
    asked
        All questions of the study, or all assignments of its panel.
    items
        Item id → item.
    roster
        The experts.
    texts
        Texts around the items; with them, tasks that show another text or question are refused.
    sent
        Question id → task. Only the expert's own user may have answered this task.
    stored
        Question id → stored answer, from which no answer may differ.

    Raises
    ------
    DataError
        If a file is not such an export, a question was never asked or shows another text, an answer is from
        the wrong expert, differs from another answer, or was not offered. The message names the file, the
        task and the field.
    """
    by_id = {a.id: a for a in asked}
    emails = {strip_mark(make_account_email(e, "")): e.name for e in roster.experts}
    reader = _ExportReader(by_id, items, emails, texts, sent or {})
    replies: dict[str, Response] = {}
    for file in files:
        for number, task in enumerate(_tasks(file), start=1):
            reply = reader.read_task(file, number, task)
            if reply is None:
                continue
            first = (stored or {}).get(reply.id, replies.setdefault(reply.id, reply).value)
            if first != reply.value:
                what = "stored" if reply.id in (stored or {}) else "first"
                told = f"question {reply.id!r} has two answers: {reply.value!r}; the {what} one is {first!r}"
                raise DataError(f"task {number}: {told}", file=file, field="annotations")
    return list(replies.values())


def read_study_export(study: Study, store: Store, files: Sequence[str | Path]) -> list[Response]:
    """Read JSON exports of Label Studio with all checks that the study's database allows.

    Raises
    ------
    DataError
        As in `read_label_studio_export`.
    """
    asked, queues = read_pending(study, store), store.labelling.read_queues()
    sent = dict[str, SentTask]()
    for task in store.labelling.read_tasks():
        user_id = queues[task.expert].user_id
        if task.task_id is not None and user_id is not None:
            sent[task.question_id] = SentTask(task.task_id, user_id)
    return read_label_studio_export(
        files,
        asked,
        store.read_shown_items(),
        read_roster(study.path(study.experts.roster)),
        texts=QuestionTexts.of(study),
        sent=sent,
        stored=store.replies(panel=study.experts.is_panel).find_values([a.id for a in asked]),
    )


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


@dataclass(slots=True)
class _ExportReader:
    """Reads tasks of exports, and checks who answered them.

    `users` maps user numbers to experts, and `numbers` maps experts to user numbers.
    """

    by_id: Mapping[str, Pending]
    items: Mapping[str, Item]
    emails: Mapping[str, str]
    texts: QuestionTexts | None
    sent: Mapping[str, SentTask]
    users: dict[int, str] = field(default_factory=dict)
    numbers: dict[str, int] = field(default_factory=dict)

    def read_task(self, file: str | Path, number: int, task: Any) -> Response | None:
        """Return the answer to one task, judged as in a pull; None if the task has no annotation."""

        def wrong(field: str, message: str) -> DataError:
            return DataError(f"task {number}: {message}", file=file, field=field)

        if not isinstance(task, dict) or not isinstance(task.get("data"), dict):
            raise wrong("data", "has no data; choose the export format JSON, not JSON-MIN")
        data = {name.strip("\ufeff "): value for name, value in task["data"].items()}
        given = data.get("question_id", data.get("assignment_id"))
        asked = self.by_id.get(read_id(read_id(str(given), QUESTION_PREFIX), ASSIGNMENT_PREFIX))
        if asked is None:
            raise wrong("data.question_id", f"the question {given!r} was never asked")
        try:
            place = int(task.get("id") or number)
            found = [
                read_annotation({**row}, asked.expert, int(row.get("task") or place), asked.id)
                for row in task["annotations"]
            ]
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise wrong("annotations", f"cannot be read ({type(error).__name__}: {error})") from None
        if not found:
            return None
        self._check_texts(data, asked, wrong)
        author = found[0].author
        if author is None:
            raise wrong("completed_by", "the export does not say who answered")
        self._check_author(author, task["annotations"][0]["completed_by"], place, asked, wrong)
        judged = adjudicate(found, author, asked, self.items[asked.item_id])
        rejected = [(reason, detail) for _, reason, detail in judged.rejected]
        if any(row.get("parent_prediction") for row in task["annotations"]):
            rejected.append((Reason.PRELABELLED, "parent_prediction"))
        if rejected:
            reason, detail = rejected[0]
            raise wrong("annotations", f"{reason.value} ({detail})")
        return Response(asked.id, asked.expert, judged.value or "", SOURCE, judged.comment)

    def _check_texts(self, data: Mapping[str, Any], asked: Pending, wrong: _Wrong) -> None:
        """Raise an error if a task shows another text or question than a push or an export would write."""
        if self.texts is None:
            return
        item = self.items[asked.item_id]
        option = asked.option if isinstance(asked, Question) else None
        written = write_cells(item, option, self.texts.template)
        sent = {"text": item.text, "question": self.texts.ask(item, option)}
        for column in sent.keys() & data.keys():
            said = "" if data[column] is None else str(data[column])
            if not any(is_same(said, text) for text in (sent[column], written.get(column, ""))):
                told = f"{shorten(said)} is not the {column} of the question {asked.id!r}"
                raise wrong(f"data.{column}", f"{told}; the answer may belong to another question")

    def _check_author(self, author: int, told: object, place: int, asked: Pending, wrong: _Wrong) -> None:
        """Raise an error if the user who answered is not the asked expert.

        Users are identified by e-mail address or, if the export has none, by number.
        """
        email = strip_mark(str(told.get("email", ""))) if isinstance(told, Mapping) else ""
        if email and email not in self.emails:
            raise wrong("completed_by", f"the user {email} is not an expert of the roster")
        sent = self.sent.get(asked.id)
        if not email and sent is not None and sent.task_id == place and sent.user_id != author:
            whose = f"the question was put to {asked.expert!r}, who is user {sent.user_id}"
            raise wrong("completed_by", f"{whose}, but user {author} answered")
        expert = self.users.setdefault(author, self.emails.get(email, asked.expert))
        if expert != asked.expert:
            whose = f"the question was put to {asked.expert!r}"
            raise wrong("completed_by", f"{whose}, user {author} is {expert!r}")
        first = self.numbers.setdefault(expert, author)
        if not email and first != author:
            whose = f"questions put to {expert!r} were answered by the users {first} and {author}"
            raise wrong("completed_by", f"{whose}; remove the annotations of other people")
