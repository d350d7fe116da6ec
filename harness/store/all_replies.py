"""Replies to all questions in experts' queues: the study's own questions and control questions.

Code that collects answers uses both kinds. Code that estimates uses only replies to the study's questions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

import sqlalchemy as sa

from oversight.harness.store.audit.audit_trail import AuditEvent
from oversight.harness.store.controls.control_questions import ControlRepository
from oversight.harness.store.database import Database, split_into_batches
from oversight.harness.store.replies import SORTED, ReplyFields, ReplyRepository, Response


class AllReplies(ReplyRepository):
    """Experts' replies from two tables: one for the study's questions, one for control questions.

    Parameters
    ----------
    database
        The study's database.
    controls
        The study's control questions.
    """

    def __init__(self, database: Database, controls: ControlRepository) -> None:
        super().__init__(database, "answer")
        self._controls = controls

    def read_replies(self) -> dict[str, Response]:
        """Return all replies by question id; replies to control questions come last."""
        return super().read_replies() | self._controls.replies.read_replies()

    def find_replies(self, ids: Iterable[str]) -> dict[str, Response]:
        """Return the replies to the given questions, by question id."""
        names = list(ids)
        return super().find_replies(names) | self._controls.replies.find_replies(names)

    def find_values(self, names: Sequence[str]) -> dict[str, str]:
        """Return the value of each given question's reply, by question id."""
        return super().find_values(names) | self._controls.replies.find_values(names)

    def count_replies(self) -> dict[tuple[str, str], int]:
        """Count replies by person and answer."""
        return dict(Counter(super().count_replies()) + Counter(self._controls.replies.count_replies()))

    def count_arrivals(self, most: int) -> list[dict[str, int]]:
        """Return each person's number of replies in each of at most `most` portions.

        The portions are consecutive in the order of arrival. Replies to control questions are numbered
        separately. They are spread evenly over the portions of the study's replies, which is a good
        approximation because control questions have random places.
        """
        found, more = super().count_arrivals(most), self._controls.replies.count_arrivals(most)
        if not found or not more:
            return found or more
        for place, portion in enumerate(more):
            into = found[place * len(found) // len(more)]
            for name, n in portion.items():
                into[name] = into.get(name, 0) + n
        return found

    def add_replies(self, replies: Iterable[ReplyFields]) -> int:
        """Store replies, all or none. Returns the number of replies that were not stored before."""
        if not self._controls.has_controls():
            return super().add_replies(replies)
        aside = list[ReplyFields]()
        with self._database.together(exclusive=True):
            new = super().add_replies(self._leave_controls(replies, aside))
            return new + self._controls.replies.add_replies(aside)

    def replace_replies(
        self, connection: sa.Connection, ids: Iterable[str], source: str, replies: Sequence[Response]
    ) -> list[AuditEvent]:
        """Replace the replies to these questions that arrived through the channel `source`.

        Returns the audit events to append.
        """
        names, events = list(ids), list[AuditEvent]()
        apart = self._controls.pick_controls([*names, *(reply.id for reply in replies)])
        for is_control in (False, True):
            asked = [name for name in names if (name in apart) is is_control]
            said = [reply for reply in replies if (reply.id in apart) is is_control]
            if asked or said:
                store = self._controls.replies.replace_replies if is_control else super().replace_replies
                events += store(connection, asked, source, said)
        return events

    def _leave_controls(
        self, replies: Iterable[ReplyFields], aside: list[ReplyFields]
    ) -> Iterator[ReplyFields]:
        """Yield the replies to the study's questions; append the replies to control questions to `aside`."""
        for portion in split_into_batches(replies, SORTED):
            apart = self._controls.pick_controls([reply[0] for reply in portion])
            for reply in portion:
                if reply[0] in apart:
                    aside.append(reply)
                else:
                    yield reply
