"""What experts said to all that lies in their queues: the study's questions and control questions alike.

Whoever collects answers works with both; whatever estimates reads the study's alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

import sqlalchemy as sa

from oversight.harness.store.audit import AuditEvent
from oversight.harness.store.controls import ControlRepository
from oversight.harness.store.database import Database, split_into_batches
from oversight.harness.store.replies import SORTED, ReplyFields, ReplyRepository, Response


class AllReplies(ReplyRepository):
    """The replies of experts, each kept in the table of what it answers.

    Parameters
    ----------
    database
        The study's database.
    controls
        Its control questions.
    """

    def __init__(self, database: Database, controls: ControlRepository) -> None:
        super().__init__(database, panel=False)
        self._controls = controls

    def read_replies(self) -> dict[str, Response]:
        """Id of what was asked → reply; those to the study's questions first."""
        return super().read_replies() | self._controls.replies.read_replies()

    def find_replies(self, ids: Iterable[str]) -> dict[str, Response]:
        """Reply to each of these."""
        names = list(ids)
        return super().find_replies(names) | self._controls.replies.find_replies(names)

    def find_values(self, names: Sequence[str]) -> dict[str, str]:
        """Id of what was asked → what was said, of these ids."""
        return super().find_values(names) | self._controls.replies.find_values(names)

    def count_replies(self) -> dict[tuple[str, str], int]:
        """Who said it, and what → how often."""
        return dict(Counter(super().count_replies()) + Counter(self._controls.replies.count_replies()))

    def count_arrivals(self, most: int) -> list[dict[str, int]]:
        """As of the study's questions; those to control questions are spread over the same portions.

        The two are numbered apart, and control questions lie at random places among the others.
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
        """Store replies, all or none, a portion at a time; return how many were new. Errors as before."""
        if not self._controls.has_controls():
            return super().add_replies(replies)
        aside = list[ReplyFields]()
        with self._database.together(exclusive=True):
            new = super().add_replies(self._leave_controls(replies, aside))
            return new + self._controls.replies.add_replies(aside)

    def replace_replies(
        self, connection: sa.Connection, ids: Iterable[str], source: str, replies: Sequence[Response]
    ) -> list[AuditEvent]:
        """Take back what came from a source on these, and store what it says now; return what changed."""
        names, events = list(ids), list[AuditEvent]()
        apart = self._controls.pick_controls([*names, *(reply.id for reply in replies)])
        # a table without anything to change is left alone: else the time of an answer would tell its kind
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
        """The replies to the study's questions; the others are put aside."""
        for portion in split_into_batches(replies, SORTED):
            apart = self._controls.pick_controls([reply[0] for reply in portion])
            for reply in portion:
                if reply[0] in apart:
                    aside.append(reply)
                else:
                    yield reply
